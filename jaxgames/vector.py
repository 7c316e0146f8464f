"""What a rollout needs around an env: batches of games that restart by themselves."""

import functools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import Env


@functools.partial(jax.jit, static_argnames=("env", "num_envs"))
def reset(env: Env, key: chex.PRNGKey, num_envs: int, **data: Any) -> Any:
    """`num_envs` fresh games, [env, ...]. `data` goes to `env.init` (for example `abilities`)."""
    return jax.vmap(lambda k: env.init(k, **data))(jax.random.split(key, num_envs))


def make_step(env: Env, num_envs: int, pool: int | None = None) -> Callable[..., tuple[Any, Any]]:
    """`step(states, actions, key, **data) -> (states to play next, states just played)` for a batch of games.

    Games that ended restart from `pool` fresh deals at a time, as often as it takes: dealing costs many times a
    step, so it must not run for every game on every step. The second result still shows how the ended games ended
    (rewards, scores) and is equal to the first everywhere else. No two games ever share a deal.
    """
    # Games last some hundred steps, so about this many end at once; a larger pool deals what nobody needs.
    pool = max(1, num_envs // 128) if pool is None else pool
    if not 1 <= pool <= num_envs:
        raise ValueError(f"vector: pool must be in 1..{num_envs} (the number of games), got {pool!r}")

    def step(states: Any, actions: chex.Array, key: chex.PRNGKey, **data: Any) -> tuple[Any, Any]:
        played = jax.vmap(env.step)(states, actions)
        return restart(played, key, **data), played

    def restart(states: Any, key: chex.PRNGKey, **data: Any) -> Any:
        def deal(carry):
            states, waiting, key = carry
            key, deal_key = jax.random.split(key)
            fresh = reset(env, deal_key, pool, **data)
            # The first `pool` waiting games; places beyond them point past the end and are dropped.
            seats = jnp.nonzero(waiting, size=pool, fill_value=num_envs)[0]
            states = jax.tree.map(lambda old, new: old.at[seats].set(new, mode="drop"), states, fresh)
            return states, waiting.at[seats].set(False, mode="drop"), key

        return jax.lax.while_loop(lambda carry: carry[1].any(), deal, (states, states.done, key))[0]

    return step


def random_actions(env: Env, states: Any, key: chex.PRNGKey) -> chex.Array:
    """One uniform legal action for each game of the batch, int32[env]."""
    return jax.vmap(env.random_action)(states, jax.random.bits(key, states.done.shape, jnp.uint32))
