"""The long form of the property tests, for one game: many steps under index checks, many determinizations.

python -m tests.soak skullking --steps 1000000 --worlds 20000 --option num_players=6
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from tests.support import checked_random_play, random_states


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=jaxgames.games())
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("--option", action="append", default=[], help="name=value, as of make()")
    args = parser.parse_args()
    options = dict(option.split("=", 1) for option in args.option)
    env = jaxgames.make(args.game, **{name: json.loads(value) for name, value in options.items()})
    if args.steps:
        walk(env, args.steps)
    if args.worlds:
        imagine(env, args.worlds)


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
    versions = [v for v in env.observation_versions if env.id != "magictrick" or v in ("v4", "v5")]

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


if __name__ == "__main__":
    main()
