"""Playing: a batch of games moves on, and every decision is written down for the learner."""

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from agents.networks import PolicyValue, masked, sample
from jaxgames import Env, pick, vector
from train import opponents
from train.opponents import Lineup, Mixture


class Tables(NamedTuple):
    """The games being played."""

    states: Any  # [env, ...]
    lineup: Lineup
    returns: chex.Array  # float32[env, seat], rewards of the running game


class Decision(NamedTuple):
    """One decision of one player and what followed from it; a rollout is [step, env, ...]."""

    observation: chex.Array  # float32[size]
    mask: chex.Array  # bool[action]
    seat: chex.Array  # int8[]
    is_own: chex.Array  # bool[]  the learner decided: only these are learned from
    action: chex.Array  # int32[]
    log_prob: chex.Array  # float32[]
    value: chex.Array  # float32[]
    reward: chex.Array  # float32[seat]
    done: chex.Array  # bool[]
    final_return: chex.Array  # float32[]  a learner's mean return over the game that ended here, else 0
    priority: chex.Array  # float32[]  how often the decision is drawn from a memory, relative to others
    notes: Any  # what `note(state, action)` saw before the step


def seat_players(
    env: Env, mixture: Mixture, updates: chex.Array, key: chex.PRNGKey, num_envs: int, **data: Any
) -> Tables:
    """Games with their players, somewhere between first and last move: together they show every stage of a game."""
    deal_key, seat_key, stage_key = jax.random.split(key, 3)
    return Tables(
        states=spread_out(env, vector.reset(env, deal_key, num_envs, **data), stage_key, **data),
        lineup=opponents.draw(mixture, env.num_players, updates, seat_key, num_envs),
        returns=jnp.zeros((num_envs, env.num_players), jnp.float32),
    )


def spread_out(env: Env, states: Any, key: chex.PRNGKey, **data: Any) -> Any:
    """The games after different numbers of random moves. Games that start together would stay together."""
    num_envs = states.done.shape[0]
    step = vector.make_step(env, num_envs)
    stops = jnp.arange(num_envs) * env.max_steps // num_envs

    def turn(states, x):
        i, key = x
        act_key, deal_key = jax.random.split(key)
        following, _ = step(states, vector.random_actions(env, states, act_key), deal_key, **data)
        return jax.vmap(pick)(i < stops, following, states), None

    keys = jax.random.split(key, env.max_steps)
    return jax.lax.scan(turn, states, (jnp.arange(env.max_steps), keys))[0]


def rollout(
    env: Env,
    network: PolicyValue,
    mixture: Mixture,
    params: Any,
    pool: Any,
    updates: chex.Array,
    tables: Tables,
    key: chex.PRNGKey,
    num_steps: int,
    note: Any = None,
    priority: Any = None,
    **data: Any,
) -> tuple[Tables, Decision]:
    """`num_steps` decisions in every game, [step, env]. Games that end restart, `data` going to `env.init`, with
    opponents for this stage of the training (`updates`)."""
    num_envs = tables.returns.shape[0]
    step = vector.make_step(env, num_envs)

    def turn(tables, key):
        act_key, rival_key, seat_key, deal_key = jax.random.split(key, 4)
        states, lineup = tables.states, tables.lineup
        seat = states.current_player
        observation = jax.vmap(lambda state, player: env.observe(state, player).astype(jnp.float32))(states, seat)
        mask = jax.vmap(env.legal_action_mask)(states)
        out = network.apply(params, observation)
        policy = masked(out.logits, mask)
        own_action = sample(policy, act_key)
        is_own = opponents.is_learner(mixture, lineup, seat)
        seen = (observation, mask)
        theirs = opponents.decide(env, network, mixture, lineup, pool, states, seen, own_action, rival_key)
        action = jnp.where(is_own, own_action, theirs)
        following, played = step(states, action, deal_key, **data)

        returns = tables.returns + played.rewards
        own_seats = jax.vmap(lambda s: opponents.is_learner(mixture, lineup, s), out_axes=1)(
            jnp.arange(env.num_players)
        )
        decision = Decision(
            observation=observation,
            mask=mask,
            seat=seat,
            is_own=is_own,
            action=action,
            log_prob=policy.log_prob(own_action),
            value=out.value,
            reward=played.rewards,
            done=played.done,
            final_return=jnp.where(played.done, jnp.mean(returns, -1, where=own_seats), 0.0),
            priority=jnp.ones(num_envs) if priority is None else jax.vmap(priority)(states),
            notes=() if note is None else jax.vmap(note)(states, action),
        )
        fresh = opponents.draw(mixture, env.num_players, updates, seat_key, num_envs)
        lineup = Lineup(*(jnp.where(played.done, new, old) for new, old in zip(fresh, lineup, strict=True)))
        returns = jax.vmap(pick)(played.done, jnp.zeros_like(returns), returns)
        return Tables(following, lineup, returns), decision

    return jax.lax.scan(turn, tables, jax.random.split(key, num_steps))


def values_at_cut(env: Env, network: PolicyValue, params: Any, states: Any) -> chex.Array:
    """float32[env, seat]: what every seat expects from here, by its own observation."""
    seats = jnp.arange(env.num_players)
    look = jax.vmap(lambda state: jax.vmap(lambda seat: env.observe(state, seat).astype(jnp.float32))(seats))
    return network.apply(params, look(states)).value
