"""What random play, determinization and the bots of Schafkopf must keep, whatever the cards."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents.schafkopf import choose_bid, shaped_mask
from jaxgames.schafkopf import PEER
from jaxgames.schafkopf.cards import CALLED_ACE, card_set, parse, size
from jaxgames.schafkopf.state import BIDDING, gone
from tests.schafkopf_positions import DEAL_A, DEAL_B, NO_CONTRA, given
from tests.schafkopf_worlds import compare_with_all_deals, draw_and_replay, draw_deals, endgames, mid_game_states
from tests.support import assert_same_dtypes_under_x64, checked_random_play

ENV = jaxgames.make("schafkopf")
NUM_STATES = 256
NUM_DRAWS = 4096


@pytest.fixture(scope="module")
def states():
    """From all over games of random, cowardly and rule-based players."""
    return mid_game_states(ENV, ("random", "random_coward", "rule"), jax.random.key(0), NUM_STATES)


@pytest.fixture(scope="module")
def worlds(states):
    """The same states as the player to move may imagine them."""
    keys = jax.random.split(jax.random.key(13), NUM_STATES)
    return determinize(keys, states, states.current_player)


@jax.jit
@jax.vmap
def determinize(key, state, player):
    return ENV.determinize(key, state, player)


def players(count, seed=1):
    return jax.random.randint(jax.random.key(seed), (count,), 0, 4)


def shy(state, mask):
    """Make Sauspiel common: no Solo and no Wenz in seven games of eight."""
    bold = (jnp.arange(43) >= 4) & (jnp.arange(43) <= 8)
    return jnp.where((state.stage == BIDDING) & (state.dealt[0] % 8 != 0), mask & ~bold, mask)


def is_sound(state):
    """Cards are neither lost nor doubled, nobody plays another's card, and the game is zero-sum."""
    is_partition = (state.dealt.sum(dtype=jnp.uint32) == jnp.uint32(2**32 - 1)) & (size(state.dealt) == 8).all()
    num_played = size(state.dealt & gone(state))
    took_turns = num_played.max() - num_played.min() <= 1
    all_points = jnp.where((state.played >= 0).all(), 120, state.points.sum())
    return is_partition & took_turns & (state.points.sum() == all_points) & (state.rewards.sum() == 0)


def test_a_million_random_steps_stay_in_range_and_zero_sum():
    """SC-20, SC-26, SC-32: under index checks; masks are never empty."""
    error, _, finished, sound = checked_random_play(ENV, jax.random.key(1), 1024, 1000, weigh=shy, invariant=is_sound)
    error.throw()
    assert finished > 20_000
    assert sound


def test_worlds_replay_legally_from_their_deal(states):
    """SC-51, SC-52, SC-53: `python -m tests.long schafkopf` does the same for 20 000 states."""
    legal, differs = draw_and_replay(ENV, jax.random.key(2), states, players(NUM_STATES))
    assert np.asarray(legal).all()
    assert np.asarray(differs).mean() > 0.7


def test_worlds_of_the_peer_preset_replay_legally():
    """SC-52, with the loose discard and the played-out passed game."""
    env = jaxgames.make("schafkopf", **PEER)
    states = mid_game_states(env, ("random_coward", "rule"), jax.random.key(3), NUM_STATES)
    legal, _ = draw_and_replay(env, jax.random.key(4), states, players(NUM_STATES))
    assert np.asarray(legal).all()


def test_endgame_worlds_are_exactly_the_legal_ones(states):
    """SC-53: every legal deal is drawn, no other, and all equally often."""
    chi_square = freedom = 0
    for index, (state, player) in enumerate(endgames(states, jax.random.key(5), 6)):
        _, drawn, outside = compare_with_all_deals(ENV, jax.random.key(index), state, player, NUM_DRAWS)
        assert outside == 0
        assert (drawn > 0).all() or len(drawn) > NUM_DRAWS / 20
        expected = drawn.sum() / len(drawn)
        chi_square += float(((drawn - expected) ** 2 / expected).sum())
        freedom += len(drawn) - 1
    assert freedom > 50
    assert chi_square < freedom + 6 * np.sqrt(2 * freedom)


def test_a_runaway_is_found_out():
    """SC-52 D5, D6, worked example 15."""
    _, state = given(DEAL_A, f"0 2 0 0 {NO_CONTRA} GK G7 GX H7 SX S7 EK SA S9 SK")
    deals = np.asarray(draw_deals(ENV, jax.random.key(6), state, 2, NUM_DRAWS))
    gras, schellen = card_set(parse("G8 G9 GA")), card_set(parse("S8"))
    assert (deals[:, 0] & gras == gras).all()
    assert (deals[:, 1] & schellen == 0).all()
    assert (deals[:, 3] & gras == 0).all()
    assert len(np.unique(deals, axis=0)) > 100


@pytest.mark.parametrize(("retour", "owners"), [("10 10 10 10", {0, 3}), ("9 10 10 10", {0}), ("10 9 10 10", {0, 3})])
def test_who_answers_contra_with_retour_tells_who_he_is(retour, owners):
    """SC-52 D4: seat 2 has doubled the Sauspiel of seat 1. A retour of seat 0 can only be that of the ace's owner; one
    of the declarer, or none, leaves the ace with seat 0 or seat 3."""
    _, state = given(DEAL_A, f"0 2 0 0 10 10 9 10 {retour}")
    deals = np.asarray(draw_deals(ENV, jax.random.key(8), state, 2, NUM_DRAWS))
    assert set((deals & CALLED_ACE[2]).argmax(axis=1).tolist()) == owners


def test_before_the_trick_is_complete_both_stories_are_possible():
    """SC-52 D5: the leader of a called card has run away, or searches for the ace of a seat that has not played."""
    _, state = given(DEAL_A, f"0 2 0 0 {NO_CONTRA} GK")
    same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (NUM_STATES, *leaf.shape)), state)
    observers = jnp.full(NUM_STATES, 1, jnp.int8)
    world = determinize(jax.random.split(jax.random.key(7), NUM_STATES), same, observers)
    owner = np.asarray(world.dealt & CALLED_ACE[2]).argmax(axis=1)
    assert set(owner.tolist()) == {0, 2, 3}
    np.testing.assert_array_equal(world.ran_away, owner == 0)
    held = np.asarray(size(world.dealt[:, 0] & card_set(parse("GK G8 G9 GX"))))
    assert (held[owner == 0] >= 3).all()
    assert (held[owner != 0] < 3).any()


@pytest.mark.parametrize("consistency", ["legal", "none"])
def test_the_sampler_never_looks_at_the_hidden_hands(states, consistency):
    """SC-53: from two states that look alike to the player, the same key draws the same world, leaf by leaf."""

    @jax.jit
    @jax.vmap
    def twice(state):
        def seat(player):
            draw = functools.partial(ENV.determinize, player=player, consistency=consistency)
            world_key, key = jax.random.split(jax.random.fold_in(jax.random.key(8), state.step_count))
            world = draw(world_key, state)
            return draw(key, state), draw(jax.random.clone(key), world)

        return jax.vmap(seat)(jnp.arange(4))

    chex.assert_trees_all_equal(*twice(states))


def test_no_dtype_of_a_careless_world_depends_on_x64():
    """The contract knows of the others."""

    def world(key):
        return ENV.determinize(key, ENV.init(key), 1, consistency="none")

    assert_same_dtypes_under_x64(world, jax.random.key(0))


def test_without_consistency_only_the_numbers_are_kept(states):
    """SC-58's `consistency="none"`: right counts, own hand, public cards; the declarer may get the ace he called."""

    def draw(key, state, player):
        world = ENV.determinize(key, state, player, consistency="none")
        shown = (world.dealt & gone(world)) == (state.dealt & gone(state))
        counts = (size(world.dealt) == 8).all() & (world.dealt.sum(dtype=jnp.uint32) == jnp.uint32(2**32 - 1))
        return shown.all() & counts & (world.dealt[player] == state.dealt[player])

    keys = jax.random.split(jax.random.key(9), NUM_STATES)
    assert np.asarray(jax.jit(jax.vmap(draw))(keys, states, players(NUM_STATES))).all()
    _, state = given(DEAL_B, "2 0 0 0", dealer=0)
    world = jax.jit(jax.vmap(lambda key: ENV.determinize(key, state, 2, consistency="none")))(keys)
    assert np.asarray(world.dealt[:, 1] & CALLED_ACE[2]).any()
    with pytest.raises(ValueError, match="schafkopf: consistency must be one of 'legal', 'none', got 'some'"):
        ENV.determinize(keys[0], state, 2, consistency="some")


INFO70 = {"stage": 0, "kind": 11, "suit": 14, "declarer": 18, "doubled": 22, "first": 30, "score": 34, "hand": 38}
INFO55 = {"kind": 0, "suit": 3, "declarer": 7, "first": 11, "score": 15, "hand": 19, "teams": 51}
LSTM55 = {"history": 55, "open_cards": 503, "history_length": 551, "open_length": 552}
LSTM70 = {"history": 70, "open_cards": 518, "history_length": 566, "open_length": 567}


@pytest.mark.parametrize(
    ("version", "length", "offsets"),
    [
        ("lstm55", 553, INFO55 | LSTM55),
        ("lstm70", 568, INFO70 | LSTM70),
        ("seq70", 567, INFO70 | {"cards": 70, "length": 566}),
        ("linear342", 342, INFO70 | {"played": 70, "trick": 198}),
        ("full", 382, INFO70 | {"played": 70, "trick": 198, "bids": 342, "teams": 378}),
    ],
)
def test_every_part_lies_where_the_page_says(version, length, offsets):
    """The table of section 10."""
    assert {name: part.slice.start for name, part in ENV.layout(version).items()} == offsets
    assert list(ENV.layout(version)) == list(offsets)
    assert ENV.observation_shape(version) == (length,)


@pytest.mark.parametrize("spec", ["random", "random_coward", "rule", "rule:fewest", "rule:random"])
def test_bots_play_legally_and_do_not_peek(states, worlds, spec):
    """SC-54, SC-55, SC-56: the same action when the hidden cards are dealt anew."""
    act = agents.make(spec, ENV)

    @jax.jit
    @jax.vmap
    def ask(key, state):
        action = act(key, state, state.current_player)
        return action, ENV.is_legal(state, action)

    keys = jax.random.split(jax.random.key(10), NUM_STATES)
    actions, legal = ask(keys, states)
    assert np.asarray(legal).all()
    np.testing.assert_array_equal(actions, ask(keys, worlds)[0])


def test_random_is_uniform_over_legal_actions():
    """SC-54."""
    _, state = given(DEAL_A)
    assert choices("random", state) == {0, 1, 3, 4, 5, 6, 7, 8}


def test_the_coward_bids_low_and_never_doubles():
    """SC-55."""
    _, state = given(DEAL_A)
    assert choices("random_coward", state) == {0, 1, 3}
    _, state = given(DEAL_B, "2 0 0 0 10", dealer=0)
    assert choices("random_coward", state) == {10}


@pytest.mark.parametrize(
    ("hand_text", "pick", "bids"),
    [
        ("EO GO SO EU SU HA HX G7", "last", {6}),  # seven trumps with Herz
        ("EO GO SO EU SU HU GU S7", "last", {5}),  # seven without a suit, and Schellen comes first
        ("EU GU SA SK GA GX EA H7", "last", {4}),  # one loose card
        ("EU GU SA SK GA GX HO H7", "last", {0}),  # two loose cards; four trumps, but no ace to call
        ("EO GO HO H7 S7 S8 G7 E7", "last", {3}),
        ("EO GO HO H7 S7 S8 G7 E7", "fewest", {2}),
        ("EO GO HO H7 S7 S8 G7 E7", "random", {1, 2, 3}),
        ("EO GO HO S9 S7 S8 G7 E7", "last", {0}),  # three trumps
    ],
)
def test_the_rule_based_bid(hand_text, pick, bids):
    """SC-56."""
    cards = jnp.uint32(card_set(parse(hand_text)))
    keys = jax.random.split(jax.random.key(11), 32)
    assert set(np.asarray(jax.vmap(lambda key: choose_bid(cards, pick, key))(keys)).tolist()) == bids


def test_bad_bot_options_are_refused():
    """SC-56."""
    with pytest.raises(ValueError, match="schafkopf: sauspiel_pick must be one of 'last', 'fewest', 'random', got 'x'"):
        agents.rule_based(ENV, sauspiel_pick="x")


@pytest.mark.parametrize(
    ("deal", "dealer", "actions", "expected"),
    [
        (DEAL_A, 3, "0 2 0 0 " + NO_CONTRA, "EO HA"),  # the owner leads trump, from the bottom or from the top
        (DEAL_A, 1, "0 0 0 2 " + NO_CONTRA, "GX"),  # an opponent searches
        (DEAL_A, 2, "0 0 2 0 " + NO_CONTRA, "E8 E9 S8 SK SX"),  # or leads plain, with neither the suit nor an ace
        (DEAL_A, 3, "0 2 0 0 " + NO_CONTRA + "S7", "HX"),  # ruffs a fresh suit with the ten
        (DEAL_B, 0, "2 0 0 0 " + NO_CONTRA + "EU", "SU HU H9"),  # trump led: follows as it comes
        (DEAL_A, 0, "0 0 5 0 " + NO_CONTRA + "G7 GX", "SX"),  # so does the declarer of a Solo
        (DEAL_A, 0, "0 0 5 0 " + NO_CONTRA, "G7 GO HO SO EU GU HX EK"),  # against a Solo anything goes
        (DEAL_A, 2, "5 0 0 0 " + NO_CONTRA, "SX"),  # the Solo is led from the top
        (DEAL_A, 2, "4 0 0 0 " + NO_CONTRA, "SX"),  # Wenz without an Unter: the highest of the lowest suit
        (DEAL_A, 3, "0 0 0 4 " + NO_CONTRA + "G8 G7 GX", "E8"),  # following: the lowest of the highest suit
    ],
)
def test_the_rule_based_card(deal, dealer, actions, expected):
    """SC-56."""
    _, state = given(deal, actions, dealer=dealer)
    assert choices("rule", state) == {11 + card for card in parse(expected)}


def test_the_rule_based_player_doubles_on_six_trumps():
    """SC-56: Sauspiel trumps, whatever the contract."""
    _, state = given(DEAL_A, "8 0 0 0 10")
    assert choices("rule", state) == {9}
    _, state = given(DEAL_A, "8 0 0 0 10 10")
    assert choices("rule", state) == {10}


def test_action_shaping():
    """SC-57: Wenz goes before Solo, and only bids are shaped."""
    solo = "EO GO SO EU HU HA HX H9 | G7 G8 G9 GK GX SK SX S9 | GA SA EA EX HO GU SU HK | S7 S8 E7 E8 E9 EK H7 H8"
    both = "EU GU HU SU EO GO GA EA | G7 G8 G9 GK GX SK SX S9 | HO SA HA EX SO HX H9 HK | S7 S8 E7 E8 E9 EK H7 H8"
    for hands, expected in ((solo, [6]), (both, [4]), (DEAL_A, [0, 1, 3, 4, 5, 6, 7, 8])):
        _, state = given(hands)
        assert np.flatnonzero(shaped_mask(ENV, state)).tolist() == expected
    _, state = given(solo, "0 0 0 5")
    np.testing.assert_array_equal(shaped_mask(ENV, state), ENV.legal_action_mask(state))


@functools.cache
def actor(spec):
    act = agents.make(spec, ENV)
    keys = jax.random.split(jax.random.key(12), 256)
    return jax.jit(lambda state: jax.vmap(lambda key: act(key, state, state.current_player))(keys))


def choices(spec, state):
    """Every action that the agent may take, over many keys."""
    return set(np.asarray(actor(spec)(state)).tolist())
