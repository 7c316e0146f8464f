"""Every recorded game of tests/data/magictrick.jsonl.gz, played again step by step."""

import dataclasses
import functools

import chex
import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.magictrick.belief import belief
from tests.support import assert_observations_match, assert_steps_match, replay, vectors

RECORDS = vectors("magictrick")


@functools.cache
def played(index):
    """The game, played with the default leader: the deal fixes it, and fewer options are fewer compilations."""
    record = RECORDS[index]
    config = {option: value for option, value in record["config"].items() if option != "first_leader"}
    return replay({**record, "config": config})


def one_hand(states):
    """States [step, ...] of games of one hand, the one being played: then all games share one compilation."""
    step = np.arange(len(states.hand_index))
    return states.replace(
        dealt=states.dealt[step, states.hand_index][:, None], hand_index=np.zeros_like(states.hand_index)
    )


@pytest.mark.parametrize("index", range(len(RECORDS)))
def test_seats_legal_actions_rewards_and_observations(index):
    record, game = RECORDS[index], played(index)
    assert_steps_match(record, game)
    same = dataclasses.replace(game, env=jaxgames.make("magictrick"), states=one_hand(game.states))
    assert_observations_match(record, same)


@pytest.mark.parametrize("index", range(0, len(RECORDS), 3))
def test_the_recorded_options_start_the_same_game(index):
    """MT-11: a deal names its leader, whether the option names one too or leaves it to chance."""
    record = RECORDS[index]
    env = jaxgames.make("magictrick", **record["config"])
    chex.assert_trees_all_equal(env.init(jax.random.key(1), deal=record["deal"]), played(index).state(0))


@pytest.mark.parametrize("index", range(len(RECORDS)))
def test_the_end(index):
    """MT-20 to MT-27, MT-31, MT-32: points of every hand, totals, prestige and winners."""
    final, game = RECORDS[index]["final"], played(index)
    last = game.state(-1)
    assert bool(last.terminated)
    assert last.scores.tolist() == final["scores"]
    assert last.prestige.tolist() == final["prestige"]
    assert np.flatnonzero(game.env.winners(last)).tolist() == final["winners"]
    by_step = np.diff(game.states.scores, axis=0)
    assert by_step[by_step.any(axis=-1)].tolist() == final["hand_points"]
    assert bool(last.revealed.all()) == (not final["illegal"])


def test_belief_of_every_recorded_position():
    """MT-52 to MT-56: the exact posterior, to 1e-5."""
    rows = [(index, *row) for index, record in enumerate(RECORDS) for row in record["belief"]]
    states = [jax.tree.map(lambda leaf, i=i: leaf[i], one_hand(played(index).states)) for index, i, _ in rows]
    ours = jax.jit(jax.vmap(belief))(jax.tree.map(lambda *leaves: np.stack(leaves), *states))
    for (index, i, entries), state, probabilities in zip(rows, states, np.asarray(ours), strict=True):
        theirs = np.zeros(4 * 14 * 8)
        for position, probability in entries:
            theirs[position] = probability
        hidden = ~state.revealed[:, :, None]
        np.testing.assert_allclose(
            np.where(hidden, probabilities, 0), theirs.reshape(4, 14, 8), atol=1e-5, err_msg=f"game {index} step {i}"
        )
