"""What must hold in every position of Magic Trick: conservation, the exact posterior, and agents that do not peek."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from jaxgames.magictrick import belief as beliefs
from jaxgames.magictrick.cards import BID, HEARTS, NO_BID, PASS
from jaxgames.magictrick.state import BIDDING, hands
from tests.magictrick_games import (
    BACKWARD,
    FORWARD,
    IN_ORDER,
    arrangements,
    blocks,
    deck_of,
    multiples,
    play_out,
    reference_belief,
    start,
)
from tests.support import checked_random_play, random_states

ENV = jaxgames.make("magictrick")
TWO_HANDS = jaxgames.make("magictrick", num_hands=2, first_leader=-1)
NUM_DRAWS = 2000

belief = jax.jit(beliefs.belief)


@jax.jit
def worlds(key, state):
    """int8[draw, seat, slot], many determinizations of one state."""
    keys = jax.random.split(key, NUM_DRAWS)
    return jax.vmap(lambda key: hands(ENV.determinize(key, state, 0)))(keys)


@jax.jit
def most_boundaries(state):
    """The longest list of boundaries that a position needs."""
    return jax.lax.population_count(beliefs.balanced_cells(state)).sum(axis=-1).max()


@functools.cache
def states_of_play():
    return random_states(ENV, jax.random.key(2), 64, 100)


def state_of(states, i):
    return jax.tree.map(lambda leaf: leaf[i], states)


def facts_hold(state):
    """MT-10, MT-16, MT-20, MT-21: what can be counted in every position."""
    cards = hands(state)
    revealed = state.revealed.sum(axis=-1)
    played_or_bid = (state.bid >= 0) + state.tricks.sum() + 1
    open_cards = (state.trick >= 0).sum()
    each_card_once = (cards.ravel()[:, None] == jnp.arange(56)).sum(axis=0) == 1
    return (
        each_card_once.all()
        & (state.revealed.sum() == 4 * state.tricks.sum() + open_cards + (state.bid >= 0).sum())
        & (revealed <= played_or_bid).all()
        & (state.tricks.sum() <= 13)
        & (state.step_count <= 104 * state.dealt.shape[0])
        & (jax.lax.population_count(state.captured).astype(jnp.int8) <= 4 * state.tricks).all()
    )


def test_mt_21_random_play_stays_in_range_and_keeps_the_facts():
    """MT-10, MT-20, MT-21: no index out of range, no empty mask, no card lost; hands of 56 to 104 steps."""
    error, _, finished, sound = checked_random_play(TWO_HANDS, jax.random.key(0), 128, 640, invariant=facts_hold)
    error.throw()
    assert sound
    assert finished >= 128 * 640 // 208 - 128


def test_mt_52_to_56_belief_is_the_count_of_all_chains():
    """MT-52, MT-53, MT-54, MT-56: against exact counting in plain Python, from the first to the last card."""
    states = states_of_play()
    for i in range(0, 64, 7):
        state = state_of(states, i)
        np.testing.assert_allclose(belief(state), reference_belief(state), atol=2e-6)


def test_e13_belief_at_the_start():
    """E13: 2520 arrangements; slots 0..6 have value v with (7-v)/28, slots 7..13 with v/28."""
    state = start(IN_ORDER)
    low, high = (7 - np.arange(8)) / 28, np.arange(8) / 28
    np.testing.assert_allclose(belief(state), np.tile([[low]] * 7 + [[high]] * 7, (1, 4, 1)).swapaxes(0, 1), atol=1e-6)
    assert len(arrangements(state)) == 2520


def test_e14_two_arrangements():
    """E14, MT-54: weights 1 : 49, and both are drawn as often as they weigh."""
    state = play_out(start(multiples(13, 4)), min, num_steps=33)[33]
    weights = sorted(arrangements(state).values())
    assert weights[1] == 49 * weights[0]
    assert len(weights) == 2
    table = belief(state)
    np.testing.assert_allclose(table[0, 13, 4:6], [0.02, 0.98], atol=1e-6)
    np.testing.assert_allclose(table[1, 7, 4:6], [0.98, 0.02], atol=1e-6)
    assert int(hands(state)[0, 13]) % 8 == 4
    rare = np.mean(np.asarray(worlds(jax.random.key(0), state))[:, 0, 13] % 8 == 4)
    assert abs(rare - 0.02) < 4.5 * np.sqrt(0.02 * 0.98 / NUM_DRAWS)


# From a deal whose suits run up in two hands and down in the others: far more boundaries than any shuffle gave.
HANDS_OF_MANY = blocks([FORWARD, FORWARD, BACKWARD, BACKWARD])


@pytest.mark.parametrize(
    ("revealed", "least", "most"),
    [
        ([], 129, 3375),
        ([(0, 6), (1, 3)], 129, 3375),
        ([(0, 6), (1, 3), (2, 5), (3, 10), (0, 12)], 49, 128),
        ([(seat, slot) for seat in range(4) for slot in (0, 3, 6, 10, 12)], 1, 48),
    ],
)
def test_mt_55_no_list_is_too_short(revealed, least, most):
    """MT-53, MT-55, MT-56: short lists, long lists and the dense form are all exact, and all are reached here."""
    state = start(deck_of(HANDS_OF_MANY))
    for seat, slot in revealed:
        state = state.replace(revealed=state.revealed.at[seat, slot].set(True))
    assert least <= int(most_boundaries(state)) <= most
    expected = reference_belief(state)
    np.testing.assert_allclose(belief(state), expected, atol=2e-6)
    assert_draws_follow(worlds(jax.random.key(3), state), expected)


@pytest.mark.parametrize(("short", "long"), [(0, 0), (-1, 0), (-1, -1)])
def test_mt_55_a_list_that_is_just_long_enough_will_do(monkeypatch, short, long):
    """MT-55: and one that is short by one boundary hands over to the next."""
    state = start(multiples(37, 11))
    needed = int(most_boundaries(state))
    monkeypatch.setattr(beliefs, "SHORT", needed + short)
    monkeypatch.setattr(beliefs, "LONG", needed + long)
    np.testing.assert_allclose(jax.jit(lambda state: beliefs.belief(state))(state), reference_belief(state), atol=2e-6)


def assert_draws_follow(drawn, expected):
    """Every value occurs in every slot as often as it should: within 5 standard errors, and 5 draws for rare ones."""
    counts = (np.asarray(drawn)[..., None] % 8 == np.arange(8)).sum(axis=0)
    error = np.sqrt(len(drawn) * np.clip(expected * (1 - expected), 0, None))
    assert (counts[expected < 1e-12] == 0).all()
    assert (np.abs(counts - len(drawn) * expected) <= 5 * error + 5).all()


def test_mt_55_a_batch_with_one_large_game_is_exact_for_all():
    """MT-55: a game that needs the dense form changes nothing for its neighbours in a batch."""
    batch = [start(deck_of(HANDS_OF_MANY)), start(IN_ORDER), start(multiples(37, 11)), start(multiples(13, 4))]
    together = jax.jit(jax.vmap(beliefs.belief))(jax.tree.map(lambda *leaves: jnp.stack(leaves), *batch))
    for one, state in zip(together, batch, strict=True):
        np.testing.assert_allclose(one, belief(state), atol=1e-6)


def test_mt_50_mt_51_a_world_keeps_what_is_public():
    """MT-50, MT-51: backs, rising values, revealed cards, each card once, all else; own hidden slots change too."""
    states = states_of_play()
    for i in (0, 20, 40, 60):
        state, drawn = state_of(states, i), np.asarray(worlds(jax.random.key(i), state_of(states, i)))
        truth, revealed = np.asarray(hands(state)), np.asarray(state.revealed)
        assert (drawn // 8 == truth // 8).all()
        assert (np.diff(drawn % 8, axis=-1) >= 0).all()
        assert (drawn[:, revealed] == truth[revealed]).all()
        assert (np.sort(drawn.reshape(NUM_DRAWS, 56)) == np.arange(56)).all()
        assert_draws_follow(drawn, reference_belief(state))
        if i == 0:
            assert (drawn != truth).any(axis=(0, 2)).all()


def test_mt_54_every_arrangement_is_drawn_by_its_weight():
    """MT-52, MT-54, MT-55: whole arrangements, not only marginals; uniform draws would fail."""
    checked, uniform_fails = 0, 0
    for i in range(16, 48):
        state = state_of(states_of_play(), i)
        expected = arrangements(state)
        total = sum(expected.values())
        if not 2 <= len(expected) <= 40 or NUM_DRAWS * min(expected.values()) < 5 * total or checked == 6:
            continue
        drawn = np.asarray(worlds(jax.random.key(i), state)).reshape(NUM_DRAWS, 56) % 8
        found, counts = np.unique(drawn, axis=0, return_counts=True)
        seen = {tuple(enumerate(row.tolist())): int(n) for row, n in zip(found, counts, strict=True)}
        assert seen.keys() == expected.keys()
        distance = sum((seen[a] - NUM_DRAWS * w / total) ** 2 / (NUM_DRAWS * w / total) for a, w in expected.items())
        even = NUM_DRAWS / len(expected)
        from_uniform = sum((seen[a] - even) ** 2 / even for a in expected)
        limit = len(expected) - 1 + 5 * np.sqrt(2 * (len(expected) - 1)) + 10
        assert distance < limit
        checked, uniform_fails = checked + 1, uniform_fails + (from_uniform > limit)
    assert checked >= 4
    assert uniform_fails >= checked // 2


def test_belief_and_worlds_do_not_look_at_hidden_values():
    """MT-50: what is drawn from a state and from one of its worlds with the same key is the same, leaf by leaf."""

    @jax.jit
    @jax.vmap
    def twice(state):
        def seat(player):
            world_key, key = jax.random.split(jax.random.fold_in(jax.random.key(player), state.step_count))
            world = TWO_HANDS.determinize(world_key, state, player)
            drawn = TWO_HANDS.determinize(key, state, player)
            again = TWO_HANDS.determinize(jax.random.clone(key), world, player)
            return (drawn, beliefs.belief(state)), (again, beliefs.belief(world))

        return jax.vmap(seat)(jnp.arange(4))

    chex.assert_trees_all_equal(*twice(random_states(TWO_HANDS, jax.random.key(4), 64, 200)))


def test_mt_51_later_hands_are_dealt_anew_and_earlier_ones_stay():
    """MT-51: a world knows nothing of the hands to come."""
    env = jaxgames.make("magictrick", num_hands=3)
    state = env.init(jax.random.key(0)).replace(hand_index=jnp.int8(1))
    redrawn = jax.jit(jax.vmap(lambda key: env.determinize(key, state, 2)))(jax.random.split(jax.random.key(1), 64))
    dealt, truth = np.asarray(redrawn.dealt), np.asarray(state.dealt)
    assert (dealt[:, 0] == truth[0]).all()
    assert (dealt[:, 1] // 8 == truth[1] // 8).all()
    assert len({hand.tobytes() for hand in dealt[:, 2]}) == 64
    assert not (dealt[:, 2] == truth[2]).all(axis=(1, 2)).any()


def plain_bot(state, values, legal):
    """What section 11 says: the action for a position, of which values float64[slot, value] is what is believed."""
    me, suits = int(state.current_player), np.asarray(hands(state))[int(state.current_player)] // 8
    trick = [int(card) for card in state.trick if card >= 0]
    power = [card % 8 + 8 * (card // 8 == trick[0] // 8) + 16 * (card // 8 == HEARTS) for card in trick]
    strength = np.round(values @ np.arange(8) + 8 * (suits == HEARTS), 4)

    def least(slots, worth):
        return min(slots, key=lambda slot: (worth[slot], slot))

    if state.phase == BIDDING:
        hidden = np.flatnonzero(~state.revealed[me])
        goal = state.tricks[me] + (len(trick) == 4 and power[3] == max(power)) + 0.15 * (len(hidden) - 1)
        miss = np.round(values @ abs(np.arange(8)[:, None] - goal), 4)[:, 0]
        slot = least(hidden, miss)
        return BID + slot if len(hidden) <= 2 or (len(hidden) <= 7 and miss[slot] < 0.5) else PASS
    bid = int(state.bid[me])
    wants = state.tricks[me] < (2 if bid == NO_BID else bid)
    if not trick:
        return least(legal, -strength if wants else strength)
    best = trick[int(np.argmax(power))]
    higher = values[:, best % 8 + 1 :].sum(1)
    beats = np.round(np.where(suits == best // 8, higher, 1.0 * ((suits == HEARTS) & (best // 8 != HEARTS))), 4)
    if wants:
        sure = [slot for slot in legal if beats[slot] >= 0.9]
        if len(trick) == 3 and sure:
            return least(sure, strength)
        top = max(beats[legal])
        return least(legal, strength) if top < 0.2 else least([s for s in legal if beats[s] == top], -strength)
    safe = [slot for slot in legal if beats[slot] <= 0.2]
    low = min(beats[legal])
    return least(safe, -strength) if safe else least([s for s in legal if beats[s] == low], strength)


def test_the_rule_bot_does_what_the_rules_page_says_and_does_not_peek():
    """Section 11 in plain Python; an action depends on what is public alone, so a world gets the same answer.

    Half of the positions ask for a bid, early and late: of a game in which everybody passes.
    """
    waiting = [state for state in play_out(start(multiples(37, 11)), max) if state.phase == BIDDING][-32:]
    some = jax.tree.map(lambda leaf: leaf[:32], jax.device_get(states_of_play()))
    states = jax.tree.map(lambda leaf, *each: np.concatenate([leaf, np.stack(each)]), some, *waiting)
    act = agents.make("rule", ENV)

    @jax.jit
    def choices(key, states):
        def one(key, state):
            world = ENV.determinize(key, state, state.current_player)
            values = beliefs.belief(state)[state.current_player]
            chosen = act(key, state, state.current_player)
            return chosen, act(key, world, state.current_player), values, ENV.legal_action_mask(state)

        return jax.vmap(one)(jax.random.split(key, 64), states)

    chosen, in_world, values, masks = jax.device_get(choices(jax.random.key(0), states))
    np.testing.assert_array_equal(chosen, in_world)
    for i, action in enumerate(chosen):
        assert action == plain_bot(state_of(states, i), np.float64(values[i]), np.flatnonzero(masks[i])), i
    assert 4 < (chosen[32:] == PASS).sum() < 28


def test_render_hides_values_from_every_player():
    state = ENV.step(start(IN_ORDER), 3)
    assert "3♠" in ENV.render(state)
    assert "3♠" not in ENV.render(state, player=3)
    assert "(0♥)" in ENV.render(state, player=3)
    assert "seat 0 may bid" in ENV.render(state, player=1)
