"""The properties of Saboteur at full size; the test suite runs the same checks on a few games."""

import jax
import numpy as np

from tests.support import random_states
from tests.test_saboteur_properties import checked_play, count_wrong_joined_sets, leaks, make

PLAYED = [{"variant": "paths", "num_players": n} for n in range(1, 7)] + [{"num_players": n} for n in range(3, 11)]


def saboteur(steps: int = 1_000_000, games: int = 2_000, worlds: int = 20_000):
    """Cards conserved, the joined set against a flood fill, no leaks.

    Args:
        steps: random steps under index checks.
        games: games whose joined sets are compared.
        worlds: states that are determinized for every seat.
    """
    batch = 256
    length = -(-steps // (batch * len(PLAYED)))
    finished = 0
    for options in PLAYED:
        error, is_sound, ended = checked_play(make(**options), jax.random.key(0), batch, length)
        error.throw()
        assert np.asarray(is_sound).all(), options
        finished += int(ended.sum())
        print(f"{options}: {batch * length} steps sound", flush=True)
    print(f"index checks and conservation: {batch * length * len(PLAYED)} steps, {finished} games finished", flush=True)

    env, states, wrong = make(num_players=3, rounds=1), 0, 0
    for i in range(games // 50):
        more, bad = count_wrong_joined_sets(env, jax.random.key(i), 50)
        states, wrong = states + more, wrong + bad
    print(f"joined set: {states} states of {games} games, {wrong} differ from the flood fill", flush=True)
    assert wrong == 0

    for options in ({"num_players": 3}, {"num_players": 5}, {"variant": "paths", "num_players": 4}):
        env, leaking, seen = make(**options), 0, 0
        for i in range(worlds // 3 // 200 + 1):
            states = random_states(env, jax.random.key(i), 200, min(env.max_steps, 200))
            leaking += int(leaks(env, jax.random.key(-i - 1), states).sum())
            seen += 200
        print(f"determinize {options}: {seen} states, every seat: {leaking} leaks", flush=True)
        assert leaking == 0
