"""What a rollout needs around an env: batches of games that restart by themselves."""

import functools
from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import Env, StateT


@functools.partial(jax.jit, static_argnames=("env", "num_envs"))
def reset(env: Env[StateT], key: chex.PRNGKey, num_envs: int, **data: chex.Array) -> StateT:
    """`num_envs` fresh games, [env, ...]. `data` goes to `env.init` (for example `abilities`)."""
    return jax.vmap(lambda k: env.init(k, **data))(jax.random.split(key, num_envs))


def make_step(
    env: Env[StateT], num_envs: int | None = None, pool: int | None = None
) -> Callable[..., tuple[StateT, StateT]]:
    """`step(states, actions, key, **data) -> (states to play next, states just played)` for a batch of games.

    Games that ended restart from `pool` fresh deals at a time, as often as it takes: dealing costs many times a
    step, so it must not run for every game on every step. The second result still shows how the ended games ended
    (rewards, scores) and is equal to the first everywhere else. No two games ever share a deal.

    Any batch can be stepped. `num_envs`, the number of games there usually are, only sets the size of the pool; left
    out, the batch sets it.
    """
    if num_envs is not None and num_envs < 1:
        raise ValueError(f"vector: num_envs must be at least 1, got {num_envs!r}")
    if pool is not None and not 1 <= pool <= (num_envs or pool):
        most = "" if num_envs is None else f"..{num_envs} (the number of games)"
        raise ValueError(f"vector: pool must be in 1{most}, got {pool!r}")

    def step(states: StateT, actions: chex.Array, key: chex.PRNGKey, **data: chex.Array) -> tuple[StateT, StateT]:
        played = jax.vmap(env.step)(states, actions)
        return restart(played, key, **data), played

    def restart(states: StateT, key: chex.PRNGKey, **data: chex.Array) -> StateT:
        size = states.done.shape[0]
        # Games last some hundred steps, so about this many end at once; a larger pool deals what nobody needs.
        fresh_deals = min(size, pool or max(1, (num_envs or size) // 128))

        def deal(carry):
            states, waiting, key = carry
            key, deal_key = jax.random.split(key)
            fresh = reset(env, deal_key, fresh_deals, **data)
            # The first waiting games, as many as there are deals; places beyond them point past the batch: dropped.
            places = jnp.nonzero(waiting, size=fresh_deals, fill_value=size)[0]
            states = jax.tree.map(lambda old, new: old.at[places].set(new, mode="drop"), states, fresh)
            return states, waiting.at[places].set(False, mode="drop"), key

        return jax.lax.while_loop(lambda carry: carry[1].any(), deal, (states, states.done, key))[0]

    return step


def random_actions(env: Env[StateT], states: StateT, key: chex.PRNGKey) -> chex.Array:
    """One uniform legal action for each game of the batch, int32[env]."""
    return jax.vmap(env.random_action)(states, jax.random.bits(key, states.done.shape, jnp.uint32))
