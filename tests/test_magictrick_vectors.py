"""Every recorded game of tests/data/magictrick.jsonl.gz, played again step by step."""

import dataclasses
import functools
import re

import chex
import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.magictrick.belief import belief
from tests.support import assert_observations_match, assert_steps_match, drawn_words, replay, vectors

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


TEXT = """\
Magic Trick, hand 2 of 2
seat 3 may bid
trick   0♦ 7▲ 2♦
seat 0  bid 3, tricks 0 (no suits), score -3, prestige 0
  (1▲) (1♦) (2♠) (2★) (3♥) (3♦) (3♠)  4♣   4♠   4★   5★   6♦   7♦   7♠{space}
seat 1  bid -, tricks 2 (stars, moons, hearts), score -3, prestige 0
  (0♠) (0♦) (0♥)  0♣   1★  (2☾) (2▲)  3★   3☾  (4☾)  5♦   6♠   7♣  (7♥)
seat 2  bid -, tricks 2 (stars, hearts, diamonds, triangles), score -4, prestige 0
  (0▲)  1♣  (1☾) (1♥)  2♣   3▲   3♣  (4♥) (5☾) (5♥)  5▲   6★  (7▲)  7★{space}
seat 3  bid -, tricks 2 (spades, moons, diamonds, triangles), score 3, prestige 0
  (0★) (0☾)  1♠  (2♥) (2♦)  4▲   4♦   5♣   5♠   6☾  (6♥)  6♣  (6▲) (7☾)""".format(space=" ")


def test_a_position_in_words_and_as_a_picture():
    """Seat 3 has played to the trick that seat 1 led and may bid; no seat sees a hidden value, its own neither."""
    game = played(3)
    env, state = game.env, game.state(124)
    assert env.render(state) == TEXT
    head, tables = TEXT.split("seat 0", 1)
    for player in (0, 1):
        assert env.render(state, player) == head + "seat 0" + re.sub(r" \d([♠♣♦♥★☾▲]) ", r" ?\1 ", tables)
    names = [env.action_name(state, action, 0) for action in np.flatnonzero(game.masks[124])]
    assert names == [*(f"bid slot {slot}" for slot in (2, 5, 6, 7, 8, 9, 11)), "pass"]
    assert drawn_words(env.picture(state, 1)) == [
        *("Seat 3: bid a card, or pass", "Hand 2 of 2, trick 7 of 13, hearts are trump"),
        *("You", "−3", "won 2, no bid", "0", "1", "Seat 2", "−4", "won 2, no bid", "7"),
        *("Seat 3", "3", "won 2, no bid", "2", "Seat 0", "−3", "won 0 of 3, 7 left"),
        *("Seat 2", *"0114557", "Seat 3", *"0022667", "Seat 0", *"1122333", *"0002247"),
    ]
