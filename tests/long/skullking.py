"""The properties of Skull King at full size; the test suite runs the same checks on a few games."""

import functools
import time

import jax

import jaxgames
from tests.support import checked_random_play
from tests.test_skullking_properties import faults, is_sound, make_worlds, repeated_deals

SEATS = range(2, 7)


def skullking(steps: int = 1_000_000, worlds: int = 20_000):
    """Cards accounted for, worlds that fit what the player knows, futures drawn anew; 2 to 6 seats.

    Args:
        steps: random steps under index checks.
        worlds: determinizations.
    """
    batch, chunk = 256, 180
    length = -(-steps // (batch * len(SEATS)))
    for num_players in SEATS:
        began = time.time()
        env = jaxgames.make("skullking", num_players=num_players)
        error, _, finished, sound = checked_random_play(
            env, jax.random.key(num_players), batch, length, invariant=functools.partial(is_sound, env)
        )
        error.throw()
        assert sound
        print(
            f"{num_players} seats: {batch * length:,} random steps, {finished:,} games finished, no index error, every "
            f"card accounted for ({time.time() - began:.0f} s)",
            flush=True,
        )
    for num_players in SEATS:
        began, made, bad, repeated = time.time(), 0, {}, 0
        env = jaxgames.make("skullking", num_players=num_players)
        while made * len(SEATS) < worlds:
            states, players, imagined = make_worlds(env, 1000 + made, chunk)
            for what, where in jax.device_get(faults(env, states, players, imagined)).items():
                bad[what] = bad.get(what, 0) + int(where.sum())
            repeated += int(repeated_deals(states, imagined).sum())
            made += len(players)
        print(
            f"{num_players} seats: {made:,} worlds, {sum(bad.values())} faults of {', '.join(bad)}, "
            f"{repeated} with another round as in truth ({time.time() - began:.0f} s)",
            flush=True,
        )
        assert not any(bad.values())
