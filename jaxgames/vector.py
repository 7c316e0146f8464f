"""What a rollout needs around an env: batches of games that restart by themselves, on one device or on many."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxgames.cards import first_places
from jaxgames.env import Env, StateT, TreeT, computed_once

ResultT = TypeVar("ResultT")  # what is measured of the games, any pytree
PART = 4096  # games that a core plays at a time: from there on larger batches gain nothing, and leave the cache


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
        played = jax.vmap(env.step)(states, computed_once(actions))
        return restart(played, key, **data), played

    def restart(states: StateT, key: chex.PRNGKey, **data: chex.Array) -> StateT:
        size = states.done.shape[0]
        # About as many games as end at once: a larger pool deals what nobody needs, a smaller one deals several times.
        fresh_deals = min(size, pool or max(1, (num_envs or size) // env.usual_steps))

        def deal(carry):
            states, waiting, key = carry
            keys = jax.random.split(key, 1 + fresh_deals)  # at once: each split is a loop of its own on a CPU
            fresh = jax.vmap(lambda k: env.init(k, **data))(keys[1:])
            # The first waiting games, as many as there are deals; places beyond them point past the batch: dropped.
            places = first_places(waiting, fresh_deals)
            states = jax.tree.map(lambda old, new: old.at[places].set(new, mode="drop"), states, fresh)
            return states, waiting.at[places].set(False, mode="drop"), keys[0]

        return jax.lax.while_loop(lambda carry: carry[1].any(), deal, (states, states.done, key))[0]

    return step


def random_actions(env: Env[StateT], states: StateT, key: chex.PRNGKey) -> chex.Array:
    """One uniform legal action for each game of the batch, int32[env]."""
    words = computed_once(jax.random.bits(key, states.done.shape, jnp.uint32))
    return jax.vmap(env.random_action)(states, words)


def shard(
    play: Callable[..., tuple[TreeT, ResultT]], shards: int | None = None, devices: Sequence[jax.Device] | None = None
) -> Callable[..., tuple[TreeT, ResultT]]:
    """`play(states, key) -> (states, results)` with the games in so many parts, which devices play at the same time.
    States may be any tree with one row for each game.

    Every part has its own random stream; results come back as [shard, ...]. They depend on the key and on the number of
    parts, which is `usual_parts` of the batch unless given, not on how many devices play them.
    """
    devices = jax.devices() if devices is None else devices
    if shards is not None and shards < 1:
        raise ValueError(f"vector: shards must be at least 1, got {shards!r}")

    def of_one_device(states: TreeT, keys: chex.PRNGKey) -> tuple[TreeT, ResultT]:
        """Part after part, each put back where it lay: a `lax.map` would write all of them to another place."""

        def next_part(states: TreeT, turn: tuple[chex.Array, chex.PRNGKey]) -> tuple[TreeT, ResultT]:
            i, key = turn
            part, results = play(jax.tree.map(lambda leaf: leaf[i], states), key)
            put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=i, axis=0)
            return jax.tree.map(put, states, part), results

        return jax.lax.scan(next_part, states, (jnp.arange(keys.shape[0]), keys))

    def played(states: TreeT, key: chex.PRNGKey) -> tuple[TreeT, ResultT]:
        size = jax.tree.leaves(states)[0].shape[0]
        parts = usual_parts(size, devices) if shards is None else shards
        if size % parts:
            raise ValueError(f"vector: {size} games must divide by the number of shards, {parts}")
        used = max(n for n in range(1, len(devices) + 1) if parts % n == 0)
        mesh = Mesh(np.asarray(devices[:used]), ("device",))
        on_all = jax.shard_map(of_one_device, mesh=mesh, in_specs=P("device"), out_specs=P("device"), check_vma=False)
        cut = jax.tree.map(lambda leaf: leaf.reshape(parts, -1, *leaf.shape[1:]), states)
        cut, results = on_all(cut, jax.random.split(key, parts))
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), cut), results

    return played


def usual_parts(num_envs: int, devices: Sequence[jax.Device] | None = None) -> int:
    """Into how many parts `shard` cuts so many games: one for each device, and on a CPU more where a part has over
    PART games, so that what a part plays stays in the cache."""
    devices = jax.devices() if devices is None else devices
    parts = len(devices)
    if devices[0].platform == "cpu":
        while num_envs > parts * PART and num_envs % (2 * parts) == 0:
            parts *= 2
    return parts


def use_cores(number: int | None = None) -> int:
    """Let every core of the CPU be a device, or so many of them; returns how many there are now.

    One device keeps several cores busy only inside large operations, and those of a step are small. This must come
    before anything that starts JAX; who has set `jax_num_cpu_devices` already is not overruled.
    """
    name = "jax_num_cpu_devices"
    if getattr(jax.config, name) < 1:
        jax.config.update(name, number or num_cores())
    return int(getattr(jax.config, name))


def num_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
