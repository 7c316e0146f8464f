"""Whole games between agents, batched: the ground under every table of results.

Every agent sits in every seat of the same deals, so that neither the cards nor the seat decide a comparison.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from agents.basic import Either, Thinker
from jaxgames import Env, State, pick, vector
from jaxgames.env import StateT, TreeT

MANY_ACTIONS = 1024  # from here on, to see that a move is forced costs more than to let an agent find it
PARTS = 8  # games are decided in parts of this share of the batch

# What is collected along a game: the first log, and log(log, before, action, after).
Watch = tuple[chex.ArrayTree, Callable]


class Played(NamedTuple, Generic[StateT]):
    """Finished games: [deal, rotation, ...]."""

    states: StateT  # the last state of each game
    returns: chex.Array  # float32[deal, rotation, seat], the sum of all rewards
    lineup: chex.Array  # int[rotation, seat], which agent sat where
    log: chex.ArrayTree  # what `watch` collected: [deal, rotation, ...]


def rotations(lineup: Sequence[int]) -> np.ndarray:
    """Every cyclic shift of a table of agents, int[rotation, seat]: each agent visits each seat."""
    return np.stack([np.roll(lineup, shift) for shift in range(len(lineup))])


def play(
    env: Env,
    agents: Sequence[Callable],
    lineup: np.ndarray,
    key: chex.PRNGKey,
    num_deals: int,
    batch: int = 256,
    watch: Watch | None = None,
) -> Played:
    """Play `num_deals` deals once with each row of `lineup` (int[rotation, seat], indices into `agents`).

    Deals come from their own stream of keys, so they are the same whoever plays. `watch = (start, update)` collects
    along each game: `log = update(log, before, action, after)`, frozen once the game is over.
    """
    lineup = np.atleast_2d(np.asarray(lineup, np.int32))
    deal_key, act_key = jax.random.split(key)
    deal_keys = jax.random.split(deal_key, num_deals)
    run = jax.jit(functools.partial(play_batch, env, tuple(agents), watch))
    batch, parts = min(batch, num_deals), []
    for start in range(0, num_deals, batch):
        chunk = deal_keys[jnp.minimum(jnp.arange(start, start + batch), num_deals - 1)]
        part = run(chunk, jnp.asarray(lineup), jax.random.fold_in(act_key, start))
        parts.append(jax.tree.map(np.asarray, part))
    states, returns, log = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:num_deals], *parts)
    return Played(states=states, returns=returns, lineup=lineup, log=log)


def play_in_shards(env, agents, watch, shards, deal_keys, lineup, key, devices=None):
    """All games of one batch, [deal, rotation], in so many parts, which devices play at the same time.

    What is played depends on the key and the number of parts, not on how many devices there are.
    """
    if shards == 1:
        return play_batch(env, agents, watch, deal_keys, lineup, key)

    def play_part(deal_keys: chex.PRNGKey, key: chex.PRNGKey) -> tuple[chex.PRNGKey, tuple]:
        return deal_keys, play_batch(env, agents, watch, deal_keys, lineup, key)

    _, played = vector.shard(play_part, shards, devices)(deal_keys, key)  # [shard, deal, rotation, ...]
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), played)


def play_batch(env, agents, watch, deal_keys, lineup, key):
    """All games of one batch, [deal, rotation]; they run until the last one is over."""
    rotation_count = lineup.shape[0]
    dealt = jax.vmap(env.init)(deal_keys)
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf, rotation_count, axis=0), dealt)
    table = jnp.tile(lineup, (deal_keys.shape[0], 1))
    num_games = table.shape[0]
    start, update = watch if watch is not None else ((), lambda log, *_: log)
    log = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (num_games, *jnp.shape(leaf))), start)

    def turn(carry):
        states, returns, log, key = carry
        key, act_key = jax.random.split(key)
        actions = decide(env, agents, table, states, act_key)
        after = jax.vmap(env.step)(states, actions)
        log = jax.vmap(pick)(states.done, log, jax.vmap(update)(log, states, actions, after))
        return after, returns + after.rewards, log, key

    carry = (states, jnp.zeros((num_games, env.num_players), jnp.float32), log, key)
    states, returns, log, _ = jax.lax.while_loop(lambda carry: ~carry[0].done.all(), turn, carry)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, rotation_count, *leaf.shape[1:]), (states, returns, log))


def decide(env: Env, agents: Sequence[Callable], table: chex.Array, states: State, key: chex.PRNGKey) -> chex.Array:
    """int32[game]: what the agents of `table` [game, seat] do now.

    An agent is asked only about games in which it is to move and has a choice, and thinks only where it is not sure:
    others would cost as much.
    """
    num_games = len(table)
    keys = jax.random.split(key, num_games)
    player = states.current_player
    mover = jnp.take_along_axis(table, player[:, None].astype(jnp.int32), axis=-1)[:, 0]
    waits, actions = ~states.done, jnp.zeros(num_games, jnp.int32)
    if env.num_actions <= MANY_ACTIONS:
        legal = jax.vmap(env.legal_action_mask)(states)
        waits &= legal.sum(-1) > 1
        actions = jnp.argmax(legal, axis=-1).astype(jnp.int32)
    size = -(-num_games // PARTS)
    for agent, its_turn in deciders(agents, mover, states, player):
        asks = waits & its_turn
        if isinstance(agent, Thinker):
            said = (actions, jnp.zeros(num_games, bool))
            actions, is_sure = fill_in(jax.vmap(agent.glance), asks, (states, player), said, size)
            asks, agent = asks & ~is_sure, agent.think
        actions = fill_in(jax.vmap(agent), asks, (keys, states, player), actions, size)
    return actions


def deciders(
    agents: Sequence[Callable], mover: chex.Array, states: State, player: chex.Array
) -> list[tuple[Callable, chex.Array]]:
    """[(agent, bool[game])]: who decides where. An agent that sits at the table in several ways is asked once."""
    turns: dict[Callable, chex.Array] = {}
    for index, agent in enumerate(agents):
        here = mover == index
        if isinstance(agent, Either):
            is_second = jax.vmap(agent.is_second)(states, player)
            parts = [(agent.first, here & ~is_second), (agent.second, here & is_second)]
        else:
            parts = [(agent, here)]
        for each, where in parts:
            turns[each] = turns.get(each, False) | where
    return list(turns.items())


def fill_in(function: Callable, where: chex.Array, inputs: tuple, values: TreeT, size: int) -> TreeT:
    """`values` [game, ...] with `function(*inputs)` where asked for: as many calls on `size` games as it takes."""
    num_games = len(where)
    order = jnp.argsort(~where, stable=True)  # those to fill come first
    order = jnp.pad(order, (0, size), constant_values=num_games)
    count = where.sum()

    def part(carry):
        start, values = carry
        games = jax.lax.dynamic_slice(order, (start,), (size,))
        found = function(*jax.tree.map(lambda leaf: leaf.at[games].get(mode="clip"), inputs))
        target = jnp.where(start + jnp.arange(size) < count, games, num_games)
        put = lambda value, new: value.at[target].set(new.astype(value.dtype), mode="drop")  # noqa: E731
        return start + size, jax.tree.map(put, values, found)

    return jax.lax.while_loop(lambda carry: carry[0] < count, part, (jnp.int32(0), values))[1]


def mean_and_error(by_deal: np.ndarray) -> tuple[float, float]:
    """Mean and standard error over independent deals; average over rotations first, they share their cards."""
    values = np.asarray(by_deal, np.float64)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def shared_wins(winners: chex.Array) -> chex.Array:
    """Each seat's share of the win, ties split, nothing where nobody won: float32[..., seat]."""
    return winners / jnp.maximum(winners.sum(axis=-1, keepdims=True, dtype=jnp.float32), 1)
