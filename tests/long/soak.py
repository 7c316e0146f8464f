"""Any game: many steps under index checks, many determinizations.

python -m tests.long soak skullking --steps 1000000 --worlds 20000 --option num_players=6
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from jaxgames.options import read_option
from tests.support import checked_random_play, random_states


def soak(game: tyro.conf.Positional[str], option: tuple[str, ...] = (), steps: int = 1_000_000, worlds: int = 20_000):
    """Random play under index checks, and determinizations that nobody can tell from the truth.

    Args:
        game: its name.
        option: options of the game, each as name=value.
        steps: random steps.
        worlds: determinizations.
    """
    env = jaxgames.make(game, **dict(read_option(text) for text in option))
    if steps:
        walk(env, steps)
    if worlds:
        imagine(env, worlds)


def walk(env, steps):
    """Random play under index checks."""
    begin, batch, seed, done, finished = time.time(), 256, 0, 0, 0
    length = min(500, -(-steps // batch))
    while done < steps:
        error, _, ended, sound = checked_random_play(env, jax.random.key(seed), batch, length)
        error.throw()
        assert sound, "an empty legal mask before the end"
        done, finished, seed = done + batch * length, finished + ended, seed + 1
    print(f"{env.id}: {done:,} random steps, {finished:,} games finished, no index error ({time.time() - begin:.0f} s)")


def imagine(env, worlds):
    """Determinizations from all over the game, for every seat: every honest observation must stay the same."""
    chunk = 512
    versions = env.honest_versions

    @jax.jit
    def differ(key, states, players):
        def one(key, state, player):
            world = env.determinize(key, state, player)
            seen = [
                (a != b).any()
                for version in versions
                for a, b in zip(
                    jax.tree.leaves(env.observe(world, player, version)),
                    jax.tree.leaves(env.observe(state, player, version)),
                    strict=True,
                )
            ]
            mine = player == state.current_player
            mask = (env.legal_action_mask(world) != env.legal_action_mask(state)).any() & mine
            leaves = zip(jax.tree.leaves(world), jax.tree.leaves(state), strict=True)
            changed = jnp.stack([(a != b).any() for a, b in leaves if not jnp.issubdtype(a.dtype, jax.dtypes.prng_key)])
            return jnp.stack([*seen, mask]), changed.any()

        return jax.vmap(one)(jax.random.split(key, chunk), states, players)

    begin, total, bad, moved = time.time(), 0, 0, 0
    for seed in range(-(-worlds // chunk)):
        states = random_states(env, jax.random.key(seed), chunk, min(env.max_steps, 400))
        players = (jnp.arange(chunk) + seed) % env.num_players
        leaks, changed = differ(jax.random.key(10_000 + seed), states, players)
        total, bad = total + chunk, bad + int(np.asarray(leaks).any(-1).sum())
        moved += int(np.asarray(changed).sum())
    assert bad == 0, f"{bad} of {total} determinizations can be told from the truth"
    print(
        f"{env.id}: {total:,} determinizations, {', '.join(versions)} and own masks equal in all of them, "
        f"{moved:,} differ from the truth somewhere ({time.time() - begin:.0f} s)"
    )
