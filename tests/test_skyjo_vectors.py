"""Every recorded game, replayed exactly: seats, legal actions, rewards, observations, full states, finals."""

import functools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.skyjo.classic import full_state
from tests.support import vectors

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


@pytest.mark.parametrize("record", RECORDS, ids=name)
def test_recorded_game(record):
    env = jaxgames.make("skyjo", **record["config"])
    deal = env.rooms.state.read_deal(env, record["deal"])
    steps = record["steps"]
    actions = np.zeros(LONGEST + 1, np.int32)
    actions[: len(steps)] = [action for _, _, action in steps]
    rows, seats = (np.array([row[i] for row in record["obs"]], np.int32) for i in (0, 1))
    states, masks, observed = jax.device_get(replay(env, deal, actions, rows, seats))

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
