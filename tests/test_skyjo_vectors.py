"""Every recorded game, replayed exactly: seats, legal actions, rewards, observations, full states, finals."""

import functools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.skyjo.classic import full_state
from tests.support import drawn_words, vectors

RECORDS = vectors("skyjo")
LONGEST = max(len(record["steps"]) for record in RECORDS)


def name(record):
    config = record["config"]
    return "-".join(str(config.get(key, "")) for key in ("num_players", "setup_mode", "action_mode", "ruleset"))


@functools.partial(jax.jit, static_argnums=0)
def replay(env, deal, actions, rows, seats):
    """A whole game from its deal, and the observations of (row, seat) in both versions: one compilation a config."""

    def turn(state, action):
        return env.step(state, action), (state, env.legal_action_mask(state))

    first = env.init(jax.random.key(0), deal)
    _, (states, masks) = jax.lax.scan(turn, first, actions)
    seen = jax.tree.map(lambda leaf: leaf[rows], states)
    observed = {
        version: jax.vmap(functools.partial(env.observe, version=version))(seen, seats)
        for version in env.observation_versions
    }
    return states, masks, observed


@functools.cache
def played(index):
    """(env, and what `replay` gives) of a recorded game."""
    record = RECORDS[index]
    env = jaxgames.make("skyjo", **record["config"])
    deal = env.rooms.state.read_deal(env, record["deal"])
    actions = np.zeros(LONGEST + 1, np.int32)
    actions[: len(record["steps"])] = [action for _, _, action in record["steps"]]
    rows, seats = (np.array([row[i] for row in record["obs"]], np.int32) for i in (0, 1))
    return env, *jax.device_get(replay(env, deal, actions, rows, seats))


@pytest.mark.parametrize("index", range(len(RECORDS)), ids=[name(record) for record in RECORDS])
def test_recorded_game(index):
    record = RECORDS[index]
    env, states, masks, observed = played(index)
    steps = record["steps"]
    assert states.current_player[: len(steps)].tolist() == [seat for seat, _, _ in steps]
    assert not states.done[: len(steps)].any()
    assert states.done[len(steps)]
    for i, (_, legal, _) in enumerate(steps):
        assert np.flatnonzero(masks[i]).tolist() == legal, i

    paid = np.zeros((len(steps) + 1, env.num_players), np.float32)
    for i, amounts in record["rewards"]:
        paid[i + 1] = amounts
    np.testing.assert_allclose(states.rewards[: len(steps) + 1], paid, atol=1e-5)

    for k, (i, seat, version, entries) in enumerate(record["obs"]):
        expected = np.zeros(observed[version].shape[1])
        expected[[index for index, _ in entries]] = [value for _, value in entries]
        np.testing.assert_allclose(observed[version][k], expected, atol=1e-5, err_msg=f"{version} {i} {seat}")

    def state(i):
        return jax.tree.map(lambda leaf: leaf[i], states)

    for i, expected in record["states"]:
        assert full_state(env, state(i)) == expected, i
    assert final(env, state(len(steps))) == record["final"]


def final(env, last):
    winners = np.flatnonzero(env.winners(last)).tolist()
    return {
        "scores": last.scores.tolist(),
        "round_scores": last.round_scores.tolist(),
        "winners": winners,
        "terminated": bool(last.terminated),
        "truncated": bool(last.truncated),
        "illegal": bool(last.terminated) and not winners,
        "round_index": int(last.round_index),
        "global_step": int(last.step_count),
        "history_size": int(last.history_size),
        "refills": int(last.refills),
    }


TEXT = """\
Round 2, ROUND_END, player 0 to move, KEEP_OR_DISCARD
Discard pile: 11 (45 cards), draw pile: 59 cards
{card} drawn, to be kept or discarded

P0: 26             P1*: 33            P2: 96             P3: 31
  x  {a}  5   3      9   4   6   6      2   8   0   5      7   2   3  {c}
  x   0   3   3      3   2  12   6      3   1   7   1      7  10   3   7
  x  {b}  4  -1      1   3   2   3      5   6   4  -2      1   2  10  10"""
HIDDEN = {"a": " . ", "b": " . ", "c": " ."}


def test_a_position_in_words_and_as_a_picture():
    """SJ-50: seat 0 has drawn a card that nobody else sees, and nobody knows what lies face down, the owner neither."""
    env, states, masks, _ = played(2)
    state = jax.tree.map(lambda leaf: leaf[351], states)
    assert env.render(state) == TEXT.format(card="The -1", a="[5]", b="[1]", c="[2]")
    assert env.render(state, 0) == TEXT.format(card="The -1", **HIDDEN)
    assert env.render(state, 1) == TEXT.format(card="A card", **HIDDEN)
    assert [env.action_name(state, action, 1) for action in np.flatnonzero(masks[351])] == [
        "keep the card",
        "discard the card",
    ]
    assert drawn_words(env.picture(state, 3)) == [
        *("Seat 0: keep the card, or discard it", "Round 2, to 100 points, seat 1 turned up the last card"),
        *("Seat 0", "26", "shows 17, 2 hidden", "5", "3", "0", "3", "3", "4", "−1"),
        *("Seat 1", "33", "shows 57, 0 hidden", "9", "4", "6", "6", "3", "2", "12", "6", "1", "3", "2", "3"),
        *("Seat 2", "96", "shows 40, 0 hidden", "2", "8", "0", "5", "3", "1", "7", "1", "5", "6", "4", "−2"),
        *("You", "31", "shows 62, 1 hidden", "7", "2", "3", "7", "10", "3", "7", "1", "2", "10", "10"),
        *("59", "11", "draw pile", "45 discards", "?", "in hand", "You took 7 from the discards, put away 11"),
    ]
    drawn = drawn_words(env.picture(state, 0, moves=False))
    assert drawn[drawn.index("45 discards") + 1] == "−1", "the drawer sees the card"


def test_the_steps_of_a_turn_in_words():
    """The card on the discard pile is seen by all, also once it is taken; places are counted from 0."""
    env, states, masks, _ = played(2)
    source, place = (jax.tree.map(lambda leaf, i=i: leaf[i], states) for i in (348, 349))
    assert [env.action_name(source, action, 0) for action in np.flatnonzero(masks[348])] == [
        "draw a card",
        "take the 7",
    ]
    assert "The 7 taken from the discard pile, to be placed" in env.render(place, 0)
    names = [env.action_name(place, action, 0) for action in np.flatnonzero(masks[349])]
    assert names == [f"put it on slot {slot}" for slot in range(12)]
