"""What must hold of Skull King in any game: no card lost, nothing leaked, worlds that fit what was seen."""

import functools
import itertools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from jaxgames.skullking import cards as c
from jaxgames.skullking import metrics, observe
from jaxgames.skullking.cards import (
    ABILITY_BENDT_1,
    ABILITY_BENDT_2,
    BIDDING,
    NO_CARD,
    NUM_CARDS,
    NUM_PHASES,
    PIRATES,
    suit_of,
)
from jaxgames.skullking.determinize import arrangements, subsets
from tests.skullking_positions import play, start
from tests.support import checked_random_play

SHORT = (3, 6, 9)  # rounds in which everything happens


def card_counts(state):
    """int[card]: how often each card lies somewhere this round, the stock left out."""
    cards = jnp.arange(NUM_CARDS)
    finished = observe.has_discarded(state)
    held = (state.hand.reshape(-1, 1) == cards).sum(0)
    played = (state.played.reshape(-1, 1) == cards).sum(0)
    return held + played + jnp.where(finished, (state.discards[:, None] == cards).sum(0), 0)


def is_sound(env, state):
    """No card twice, none from outside the deck, hand sizes right, slots ascending."""
    counts = card_counts(state)
    deck = jnp.asarray(env.in_deck)
    size = jnp.asarray(env.hand_sizes)[state.round]
    drawn = (state.bendt >= 0) * 2
    located = counts.sum()
    ascending = (jnp.diff(state.hand.astype(jnp.int32), axis=-1) >= 0).all()
    return (counts <= deck).all() & (located == env.num_players * size + drawn) & ascending


@pytest.mark.parametrize("num_players", [2, 4, 6])
def test_random_games_stay_in_range_and_lose_no_card(num_players):
    """SK-1, SK-7: random play under index checks; every card of the deck is accounted for after every step."""
    env = jaxgames.make("skullking", num_players=num_players, hand_sizes=SHORT)
    invariant = functools.partial(is_sound, env)
    error, _, finished, sound = checked_random_play(env, jax.random.key(0), 64, 150, invariant=invariant)
    error.throw()
    assert sound
    assert finished > 0


@functools.partial(jax.jit, static_argnums=0)
def imagine(env, keys, states, players):
    return jax.vmap(env.determinize)(keys, states, players)


@functools.partial(jax.jit, static_argnums=(0, 2))
def positions(env, key, count):
    """Positions of random play with many pirates, all phases equally often, and finished games: [position, ...]."""

    def game(key, wanted, earliest):
        starter_key, deck_key, play_key = jax.random.split(key, 3)
        noise = jax.random.uniform(deck_key, (len(env.hand_sizes), NUM_CARDS))
        decks = jnp.argsort(noise - 0.5 * np.isin(np.arange(NUM_CARDS), PIRATES), axis=-1)

        def turn(state, word):
            is_reached = (state.phase == wanted) & (state.step_count >= earliest)
            following = env.step(state, env.random_action(state, word))
            return jaxgames.pick(is_reached | state.done, state, following), None

        starter = jax.random.randint(starter_key, (), 0, env.num_players)
        first = env.init(key, deal={"starter": starter, "decks": decks})
        return jax.lax.scan(turn, first, jax.random.bits(play_key, (env.max_steps,), jnp.uint32))[0]

    number = jnp.arange(count)  # the last "phase" never comes: that game is played to its end
    return jax.vmap(game)(
        jax.random.split(key, count), number % (NUM_PHASES + 1), number * env.max_steps // (2 * count)
    )


def make_worlds(env, seed, count):
    """(states, players, worlds): a determinization of many positions for each of their seats."""
    states = positions(env, jax.random.key(seed), count)
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf, env.num_players, axis=0), states)
    players = jnp.tile(jnp.arange(env.num_players), count)
    keys = jax.random.split(jax.random.key(seed + 1), len(players))
    return states, players, imagine(env, keys, states, players)


@functools.cache
def worlds(num_players):
    env = jaxgames.make("skullking", num_players=num_players, hand_sizes=SHORT)
    return env, *make_worlds(env, 1, 144)


@functools.partial(jax.jit, static_argnums=0)
@functools.partial(jax.vmap, in_axes=(None, 0, 0, 0))
def faults(env, state, player, world):
    """{what: bool}: what is wrong with a world for this player, by SK-42 (a), (b), (c), (e)."""
    hidden = ("hand", "dealt", "top", "bids", "discards")
    suits = suit_of(world.hand)[..., None] == jnp.arange(1, 5)
    other = jnp.arange(env.num_players) != player
    known, known_there = (observe.known_cards(env, each, player) for each in (state, world))
    bendt_drew = (state.bendt >= 0) & ((state.phase == ABILITY_BENDT_1) | (state.phase == ABILITY_BENDT_2))
    top_held = (world.top[state.round][:, None] == world.hand[jnp.clip(state.bendt, 0)]).any(-1).all()
    seen = {v: (env.observe(state, player, v) != env.observe(world, player, v)).any() for v in env.observation_versions}
    return seen | {
        "public facts": ~jnp.stack([jnp.all(world[name] == state[name]) for name in state if name not in hidden]).all(),
        "hand sizes": ((world.hand != NO_CARD).sum(-1) != (state.hand != NO_CARD).sum(-1)).any(),
        "voids": (suits & world.voids[:, None, :] & other[:, None, None]).any(),
        "range of bids": (world.bids > jnp.asarray(env.hand_sizes)[state.round]).any(),
        "bids": (world.bids != state.bids).any() & (state.phase != BIDDING),
        "Jade": (known_there.jade != known.jade).any(),
        "cards": ~is_sound(env, world),
        "Bendt's draw": bendt_drew & ~top_held,
    }


def repeated_deals(states, made):
    """bool[world]: is some other round, before or after, dealt as in truth?"""
    other = np.arange(states.dealt.shape[1]) != np.asarray(states.round)[:, None]
    same_deal = (np.asarray(made.dealt) == np.asarray(states.dealt)).all((2, 3))
    same_top = (np.asarray(made.top) == np.asarray(states.top)).all(2)
    return ((same_deal | same_top) & other).any(-1)


@pytest.mark.parametrize("num_players", [2, 5])
def test_sk_42_worlds_fit_what_the_player_knows(num_players):
    """SK-42 (a), (b), (c), (e): observations equal, public facts equal, voids and Jade's look respected."""
    found = jax.device_get(faults(*worlds(num_players)))
    assert {what for what, where in found.items() if where.any()} == set()


@pytest.mark.parametrize("num_players", [2, 5])
def test_sk_42_other_rounds_are_drawn_anew(num_players):
    """SK-42 (d): later rounds differ, rounds gone by too; the deal of this round is one that could have led here."""
    env, states, _, made = worlds(num_players)
    assert repeated_deals(states, made).mean() < 0.01  # two cards of the stock may be the same by chance
    dealt = np.asarray(made.dealt)
    for index, number in enumerate(np.asarray(states.round)):
        hands = dealt[index, number]
        cards = hands[hands != NO_CARD]
        assert len(cards) == len(set(cards.tolist())) == env.num_players * env.hand_sizes[number]


@pytest.mark.parametrize("num_players", [2, 5])
def test_sk_42_worlds_depend_on_nothing_hidden(num_players):
    """SK-42: drawn with the same key from the position and from another of the player's worlds, a world is the same."""
    env, states, players, made = worlds(num_players)
    keys = jax.random.split(jax.random.key(2), len(players))
    other = imagine(env, jax.random.split(jax.random.key(7), len(players)), states, players)
    for hidden in (other, jax.vmap(without_secrets)(states, players)):
        again = imagine(env, keys, hidden, players)
        assert [name for name in made if (np.asarray(made[name]) != np.asarray(again[name])).any()] == []
    # The positions are those that matter: all phases, the end, and both orders of Bendt and Jade, seen by everybody.
    assert set(np.asarray(states.phase).tolist()) == set(range(NUM_PHASES))
    assert np.asarray(states.terminated).any()
    both = np.asarray((states.bendt >= 0) & (states.jade >= 0))
    first = np.asarray(jax.vmap(observe.drew_before_jade)(states))
    for role in (states.jade == players, states.bendt == players, (states.jade != players) & (states.bendt != players)):
        seen = both & np.asarray(role)
        assert num_players == 2 or ((seen & first).any() and (seen & ~first).any())


def without_secrets(state, player):
    """The state with nonsense in place of all that the player does not know."""
    mine = jnp.arange(state.won.shape[0]) == player
    some_card = jnp.int8(20)
    knows_deal = (state.jade == player) | (state.bendt == player)
    now = (jnp.arange(len(state.dealt)) == state.round) & knows_deal
    return state.replace(
        hand=jnp.where(mine[:, None] | (state.hand == NO_CARD), state.hand, some_card),
        bids=jnp.where(mine | (state.phase != BIDDING) | (state.bids < 0), state.bids, jnp.int8(0)),
        discards=jnp.where((state.bendt == player) | (state.discards == NO_CARD), state.discards, some_card),
        dealt=jnp.where(now[:, None, None], state.dealt, some_card),
        top=jnp.where(now[:, None], state.top, some_card),
    )


def test_sk_42_hidden_hands_really_change():
    """SK-42: two worlds of one position are different worlds, and not the true one."""
    env, states, players, made = worlds(5)
    again = imagine(env, jax.random.split(jax.random.key(99), len(players)), states, players)
    held = (np.asarray(states.hand) != NO_CARD).sum((1, 2)) > 12
    assert ((np.asarray(made.hand) != np.asarray(states.hand)).any((1, 2)) | ~held).all()
    assert ((np.asarray(made.hand) != np.asarray(again.hand)).any((1, 2)) | ~held).all()


def test_sk_41_text_tells_no_secrets():
    """SK-40, SK-41: a position reads the same to a player in all of its worlds, in every phase."""
    env, states, players, made = jax.device_get(worlds(5))
    late = [np.flatnonzero((states.phase == phase) & ~states.terminated)[-5:] for phase in range(NUM_PHASES)]
    for i in np.concatenate(late):  # each phase, each seat
        state, world = (jax.tree.map(lambda leaf, i=i: leaf[i], each) for each in (states, made))
        text = env.render(state, int(players[i]))
        assert env.render(world, int(players[i])) == text
        assert env.render(state) != text


@pytest.mark.parametrize("spec", ["rule", "rule:easy,random", "rule:hard,strength"])
def test_agents_do_not_peek(spec):
    """An agent acts the same in a world that its player cannot tell from the true one."""
    env, states, _, _ = worlds(5)
    act = agents.make(spec, env)

    @jax.jit
    def both(keys, states):
        def one(key, state):
            player = state.current_player.astype(jnp.int32)
            world = env.determinize(key, state, player)
            return act(key, state, player), act(key, world, player), env.is_legal(state, act(key, state, player))

        return jax.vmap(one)(keys, states)

    running = jax.tree.map(lambda leaf: leaf[:: env.num_players], states)
    here, there, legal = both(jax.random.split(jax.random.key(5), len(running.done)), running)
    assert (np.asarray(here) == np.asarray(there)).all()
    assert np.asarray(legal | running.done).all()


def test_switched_off_abilities_never_ask():
    """SK-20, SK-60: with all abilities off only bidding and playing happen."""
    env = jaxgames.make("skullking", num_players=4, hand_sizes=SHORT, kraken=False, loot=False)
    init = jax.vmap(lambda key: env.init(key, abilities=np.zeros(5, bool)))

    def turn(states, key):
        masks = jax.vmap(env.legal_action_mask)(states)
        actions = jax.random.categorical(key, jnp.where(masks, 0.0, jnp.finfo(jnp.float32).min))
        return jax.vmap(env.step)(states, actions), states.phase

    run = jax.jit(lambda keys: jax.lax.scan(turn, init(keys[:32]), keys[32:]))
    last, phases = run(jax.random.split(jax.random.key(3), 32 + env.max_steps))
    assert np.asarray(last.terminated).all()
    assert set(np.unique(np.asarray(phases)).tolist()) == {0, 1}


def test_explicit_deal_is_the_random_game():
    """SK-3: `init(key)` is `init(key, deal=env.deal(key))`."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(2, 3))
    key = jax.random.key(8)
    deal = jax.tree.map(np.asarray, env.deal(key))
    chex.assert_trees_all_equal(
        env.init(key), env.init(key, deal={"starter": int(deal["starter"]), "decks": deal["decks"]})
    )


@functools.cache
def jade_then_bendt():
    """(env, states): seat 0 looks through the stock, then seat 1 draws two cards of it and throws P5 and P6 away."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(4,), reward="seed_ability")
    dealt = start(env, ["Jade P1 P2 P3", "Bendt P4 P5 P6", "P7 P8 P9 P10"], top="SkullKing R1")
    actions = [0, 0, 0]  # bids
    actions += [c.PLAY, c.PLAY + 1, c.PLAY, c.ACKNOWLEDGE]  # Jade wins; seat 1 gives P4, seat 2 P7
    actions += [c.PLAY, c.PLAY, c.PLAY]  # P1, Bendt, P8: Bendt wins and draws the Skull King and R1
    actions += [c.DISCARD + 2, c.DISCARD + 3]  # P5 and P6 go
    actions += [c.PLAY]  # the Skull King is played
    return env, play(env, dealt, actions)


def test_sk_42_jade_then_bendt():
    """SK-42 (b): who looked through the stock knows that two of its cards went to the seat that drew afterwards."""
    env, states = jade_then_bendt()
    jade = np.flatnonzero(np.asarray(observe.known_cards(env, states[7], jnp.int32(0)).jade))
    assert len(jade) == 74 - 12
    make = worlds_of(env)
    look = jax.jit(jax.vmap(lambda world: env.observe(world, 0, "full")))
    seen_with_bendt = set()
    for state in states[10:]:  # drawn, first choice made, both gone, one of them played
        made = jax.tree.map(np.asarray, make(jax.random.key(0), state, 0))
        assert (np.asarray(look(made)) == np.asarray(env.observe(state, 0, "full"))).all()
        finished = bool(observe.has_discarded(state))
        for hand, discards, played in zip(made.hand[:, 1], made.discards, made.played[:, 1], strict=True):
            with_bendt = {*hand.tolist(), *played.tolist(), *(discards.tolist() if finished else [])} - {NO_CARD}
            assert len(with_bendt & set(jade.tolist())) == 2
            seen_with_bendt |= with_bendt
        others = {*made.hand[:, 2].ravel().tolist()} - {NO_CARD}
        assert not others & set(jade.tolist())
    assert len(seen_with_bendt & set(jade.tolist())) > 30  # any two of the stock


def test_sk_53_the_stock_that_jade_saw_is_shown_until_its_cards_are_found():
    """SK-53: the Skull King and R1 were drawn from it; the one has been played since, the other may lie anywhere."""
    env, states = jade_then_bendt()
    jade = jax.jit(lambda state: env.view(state, 0, "full").jade)
    at_first, at_last = (np.asarray(jade(state))[[c.SKULL_KING, 10]].tolist() for state in (states[7], states[-1]))
    assert (at_first, at_last) == ([True, True], [False, True])


@functools.cache
def worlds_of(env):
    """(key, state, player) -> 1024 worlds of one position."""
    make = jax.vmap(env.determinize, in_axes=(0, None, None))
    return jax.jit(lambda key, state, player: make(jax.random.split(key, 1024), state, player))


def test_sk_42_worlds_are_equally_likely():
    """SK-42: cards fall where there is room, also beside a void and Jade's look; counted by hand, to five errors."""
    env, states = jade_then_bendt()
    key = jax.random.key(6)
    void = states[3].replace(voids=states[3].voids.at[1, 1].set(True))
    made = jax.tree.map(np.asarray, worlds_of(env)(key, void, 0))
    # Seat 0 misses 11 of 14 Parrots among 70 cards; seat 1 has four others, so seat 2 has 4 of 66 with the 11.
    assert not ((made.hand[:, 1] >= 24) & (made.hand[:, 1] <= 37)).any()
    parrots = ((made.hand[:, 2] >= 24) & (made.hand[:, 2] <= 37)).sum(-1)
    assert abs(parrots.mean() - 4 * 11 / 66) < 5 * 0.75 / 32
    # Two of Jade's 62 cards lie in seat 1's hand of two or under its two discards: one in each in 4 of 6 cases.
    made = jax.tree.map(np.asarray, worlds_of(env)(key, states[12], 0))
    jade = np.flatnonzero(np.asarray(observe.known_cards(env, states[12], jnp.int32(0)).jade))
    in_hand = np.isin(made.hand[:, 1], jade).sum(-1)
    assert np.bincount(in_hand) / 1024 == pytest.approx([1 / 6, 4 / 6, 1 / 6], abs=5 * 0.47 / 32)
    # The stock has no order that could be known.
    top = np.asarray(worlds_of(env)(key, states[3], 0).top)[:, 0]
    assert abs((top[:, 0] < top[:, 1]).mean() - 1 / 2) < 5 * 0.5 / 32


def test_sk_42_bids_that_nobody_has_seen_are_any_of_them():
    """SK-42 (c): seats 0 and 1 have bid 0 on four cards; to seat 0 the other one's bid may be 0, 1, 2, 3 or 4."""
    env, states = jade_then_bendt()
    assert states[2].bids.tolist() == [0, 0, -1]
    bids = np.asarray(worlds_of(env)(jax.random.key(7), states[2], 0).bids)
    assert np.bincount(bids[:, 1]) / 1024 == pytest.approx([1 / 5] * 5, abs=5 * 0.4 / 32)
    assert (bids[:, 0] == 0).all()
    assert (bids[:, 2] == -1).all()


@pytest.mark.parametrize(("ways", "count"), [(arrangements, math.perm), (subsets, math.comb)])
def test_ways_to_lay_cards_out(ways, count):
    for n, k in itertools.product(range(6), range(3)):
        assert int(ways(jnp.int32(n), jnp.int32(k))) == count(n, k)
    assert int(ways(jnp.int32(5), jnp.int32(-1))) == 0


@pytest.mark.parametrize("player", [0, 1, 2])
def test_sk_42_what_hidden_discards_paid_is_hidden(player):
    """SK-41, SK-42: under `seed_ability` the reward of Bendt's user tells what it threw away: nobody else may know."""
    env, states = jade_then_bendt()
    state = states[12]  # P5 and P6 are gone, worth nothing; the bid was 0
    assert not np.asarray(state.rewards).any()
    made = jax.tree.map(np.asarray, worlds_of(env)(jax.random.key(4), state, player))
    high = {*range(10), *(i for i in range(10, 66) if (i - 10) % 14 >= 9)} - {1, 2}
    worth = [0.1 * sum(int(card) in high for card in discards) for discards in made.discards]
    np.testing.assert_allclose(made.rewards, np.outer(worth, [0, 1, 0]), atol=1e-6)
    assert (player == 1) != (np.ptp(worth) > 0)


@pytest.mark.parametrize("reward", ["score", "placement", "seed"])
def test_types_stay_under_x64(reward):
    """With JAX's 64-bit types switched on no leaf changes its type, whatever is paid."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(2,), reward=reward, scoring="rascal")
    key, act = jax.random.key(0), agents.make("rule:easy,strength", env)

    def everything(state):
        views = [env.view(state, 0, version) for version in env.observation_versions]
        counted = metrics.update(env, metrics.start(env), state, 0)
        paid = env.rooms.rewards.payment(env, state, jnp.int32(0), state)
        worlds = env.determinize(key, state, 0)
        return views, counted, paid, worlds, env.step(state, 0), env.step_with_events(state, 0), act(key, state, 0)

    first = jax.eval_shape(env.init, key)
    types = jax.eval_shape(everything, first)
    try:
        jax.config.update("jax_enable_x64", True)
        chex.assert_trees_all_equal_shapes_and_dtypes(jax.eval_shape(env.init, key), first)
        chex.assert_trees_all_equal_shapes_and_dtypes(jax.eval_shape(everything, first), types)
    finally:
        jax.config.update("jax_enable_x64", False)
