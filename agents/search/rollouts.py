"""Honest rollouts: each promising action is played to the end of the round, by agents who see their own cards only.

Search in a sampled world usually lets everybody see everything there, and so believes in plans that depend on knowing
the world. Here every seat of every world decides from its own view, so that no such plan exists.
"""

from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp

from agents.search import playout
from jaxgames import Env


def rollouts(
    env: Env,
    policy: Callable[[Any, chex.Array], chex.Array],
    decide: Callable[[Any, chex.PRNGKey], chex.Array],
    worlds: int = 64,
    actions: int = 3,
    margin: float = 1.0,
):
    """The best of the `actions` that `policy(state, player)` (float32[action]) thinks likeliest, by their mean payoff.

    All are tried in the same worlds with the same keys, so that only the action differs. The likeliest one is overruled
    by a gain of more than `margin` standard errors: with few worlds the policy speaks, with many the search does.
    """
    payoff = playout.points(env)

    def act(key: chex.PRNGKey, state: Any, player: chex.Array) -> chex.Array:
        likely, candidates = jax.lax.top_k(policy(state, player), actions)

        def one(key):
            """float32[candidate], what each is worth to the player in one world."""
            world_key, play_key = jax.random.split(key)
            world = env.determinize(world_key, state, player)

            def tried(action):
                end = playout.play_on(env, decide, world, playout.step(env, world, action), play_key)
                return payoff(world, end)[player]

            return jax.vmap(tried)(candidates)

        gain = jax.vmap(one)(jax.random.split(key, worlds))
        gain = gain - gain[:, :1]
        error = jnp.sqrt(gain.var(0) / worlds)
        bound = jnp.where(likely > 0, gain.mean(0) - margin * error, -jnp.inf)
        return candidates[jnp.argmax(bound)].astype(jnp.int32)

    return act
