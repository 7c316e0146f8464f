"""The recorded games of Saboteur, exact: seats, legal actions, rewards, observations, snaps, finals (section 18)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.saboteur.state import MINERS, UNDECIDED
from tests.support import assert_observations_match, assert_steps_match, drawn_words, replay, vectors

RECORDS = vectors("saboteur")


FALLBACKS = ("another", "skip")


@functools.partial(jax.jit, static_argnums=0)
def snap_many(env, states, wishes):
    """Both fallbacks at once, int32[fallback, env]: they share the legal actions, so one compilation is cheaper."""
    return jnp.stack([jax.vmap(lambda s, w, f=f: env.snap(s, w, f))(states, wishes) for f in FALLBACKS])


def assert_snaps_match(record, played):
    """SB-51: every recorded hybrid action snaps to the recorded id."""
    rows = record["snaps"]
    padded = rows + rows[-1:] * (-len(rows) % 32)  # few batch sizes, few compilations
    states = jax.tree.map(lambda leaf: leaf[np.array([row[0] for row in padded])], played.states)
    dtypes = (jnp.int32, jnp.float32, jnp.float32, jnp.int32, jnp.int32)
    columns = zip(*(row[1] for row in padded), strict=True)
    wishes = tuple(jnp.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=True))
    ours = np.asarray(snap_many(played.env, states, wishes))
    for i, (_, wish, fallback, expected) in enumerate(rows):
        assert ours[FALLBACKS.index(fallback), i] == expected, f"{record['config']} {wish} {fallback}"


def assert_final_matches(record, played):
    last = jax.tree.map(jnp.asarray, played.state(-1))
    assert np.asarray(played.env.scores(last)).tolist() == record["final"]["scores"]
    assert bool(played.env.found_gold(last)) == record["final"]["gold_found"]
    won = ["miners" if winner == MINERS else "saboteurs" for winner in last.winners if winner != UNDECIDED]
    assert won == record["final"]["round_winners"]
    assert bool(last.terminated)
    assert not bool(last.truncated)


@pytest.mark.parametrize("index", range(len(RECORDS)))
def test_a_recorded_game_is_played_exactly(index):
    record = RECORDS[index]
    played = replay(record)
    assert_steps_match(record, played)
    assert_observations_match(record, played)
    assert_snaps_match(record, played)
    assert_final_matches(record, played)


TEXT = """\
round 2 of 2, 0 cards in the pile, seat 1 to move; won so far: saboteurs
x from -5 to 6
 -16 ············
 -15 ··┃·········
 -14 ··┃·········
 -13 ··╋┳········
 -12 ··┃·········
 -11 ·┗┻╋········
 -10 ···┫········
  -9 ···┫········
  -8 ···┃········
  -7 ···┗━┓······
  -6 ····┏┫······
  -5 ·····┫······
  -4 ·····┫······
  -3 ·····╋······
  -2 ····━╋┳┓··{}·
  -1 ···┏━╋······
   0 ···┻·S┻┛··{}·
   1 ·····┗······
   2 ··········{}·
   3 ············
seat 0: {}, 0 nuggets: {}
seat 1: {}, 0 nuggets, broken cart: {}
seat 2: {}, 0 nuggets: {}
seat 3: {}, 0 nuggets: {}"""


def test_a_position_in_words_and_as_a_picture():
    """Seat 0 has looked at the first and the third goal; roles and hands are their owners' alone."""
    played = replay(RECORDS[15])
    env, state = played.env, played.state(133)
    assert env.render(state) == TEXT.format(*"$oo", "miner", "", "miner", "mend:cart", "saboteur", "", "miner", "")
    nothing = ("?", "0 cards")
    assert env.render(state, 0) == TEXT.format(*"$?o", "miner", "", "?", "1 cards", *nothing, *nothing)
    assert env.render(state, 1) == TEXT.format(*"???", *nothing, "miner", "mend:cart", *nothing, *nothing)
    legal = np.flatnonzero(played.masks[133])
    assert [env.action_name(state, action, 1) for action in legal] == ["mend:cart on seat 1", "discard mend:cart"]
    assert [env.action_name(state, action, 2) for action in legal] == ["mend:cart on seat 1", "discard a card"]
    assert drawn_words(env.picture(state, 0)) == [
        *("Seat 1: play or discard a card", "Round 2 of 2, 0 cards in the pile, won so far: saboteurs", "?"),
        *("Seat 1", "0", "laid 9, broke 1, discarded 6", "1 card"),
        *("Seat 2", "0", "laid 9, broke 1, discarded 6", "0 cards"),
        *("Seat 3", "0", "1 2", "laid 7, discarded 7", "0 cards"),
        *("You", "0", "1 3", "laid 6, mended 1, felled 1, discarded 6", "miner", "0 cards"),
    ]
