"""Playing: a batch of games moves on, and every decision is written down for the learner."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp

from agents.networks import Decision, Params, consider, decide
from jaxgames import Env, State, pick, vector
from jaxgames.env import StateT
from train import opponents
from train.opponents import Lineup

if TYPE_CHECKING:
    from train.ppo import Learner, Task


STAGGER = 400  # random moves that carry a game of any length away from its start


class Tables(NamedTuple):
    """The games being played."""

    states: State  # [env, ...]
    lineup: Lineup
    returns: chex.Array  # float32[env, seat], rewards of the running game


class Transition(NamedTuple):
    """One decision and what followed from it; a rollout is [step, env, ...]."""

    decision: Decision  # the learner's, whoever moved
    seat: chex.Array  # int8[]  who moved
    is_own: chex.Array  # bool[]  it was the learner: only these decisions are learned from
    action: chex.Array  # int32[]  what was played
    reward: chex.Array  # float32[seat]  as the task pays, or else the game
    hint: chex.ArrayTree  # float32[seat]  what the step added to the task's potential, or ()
    terminated: chex.Array  # bool[]
    truncated: chex.Array  # bool[]
    settled: chex.Array  # bool[]  nothing decided so far matters later: the end of the game, or of a round that pays
    final_return: chex.Array  # float32[]  a learner's mean return over the game that ended here, else 0
    priority: chex.Array  # float32[]  how often the decision is sampled, relative to others
    notes: chex.ArrayTree  # what the auxiliary heads' `note(state, action)` saw before the step


def seat_players(task: "Task", updates: chex.Array, key: chex.PRNGKey, num_envs: int) -> Tables:
    """Games with their players, somewhere between first and last move: together they show every stage of a game."""
    env, data = task.env, task.deal_data(updates)
    deal_key, seat_key, stage_key = jax.random.split(key, 3)
    return Tables(
        states=stagger(env, vector.reset(env, deal_key, num_envs, **data), stage_key, **data),
        lineup=opponents.sample_lineup(task.mixture, env.num_players, updates, seat_key, num_envs),
        returns=jnp.zeros((num_envs, env.num_players), jnp.float32),
    )


def stagger(env: Env, states: StateT, key: chex.PRNGKey, **data: chex.Array) -> StateT:
    """The games after different numbers of random moves. Games that start together would stay together."""
    num_envs = states.done.shape[0]
    step = vector.make_step(env, num_envs)
    longest = min(env.max_steps, STAGGER)
    stops = jnp.arange(num_envs) * longest // num_envs

    def turn(states, x):
        i, key = x
        act_key, deal_key = jax.random.split(key)
        following, _ = step(states, vector.random_actions(env, states, act_key), deal_key, **data)
        return jax.vmap(pick)(i < stops, following, states), None

    return jax.lax.scan(turn, states, (jnp.arange(longest), jax.random.split(key, longest)))[0]


def rollout(
    task: "Task", learner: "Learner", tables: Tables, key: chex.PRNGKey, num_steps: int
) -> tuple[Tables, Transition]:
    """`num_steps` decisions in every game, [step, env]. Games that end restart, with deals and opponents for this
    stage of the training."""
    env, model, mixture = task.env, task.model, task.mixture
    num_envs, data = tables.returns.shape[0], task.deal_data(learner.updates)
    step = vector.make_step(env, num_envs)

    def turn(tables, key):
        act_key, rival_key, seat_key, deal_key = jax.random.split(key, 4)
        states, lineup = tables.states, tables.lineup
        seat = states.current_player
        decision = jax.vmap(lambda state, seat, key: decide(model, learner.params, state, seat, key))(
            states, seat, jax.random.split(act_key, num_envs)
        )
        own_seats = opponents.own_seats(mixture, task.sides, lineup, states)  # [env, seat]
        is_own = jnp.take_along_axis(own_seats, seat[:, None].astype(jnp.int32), axis=-1)[:, 0]
        action = opponents.rival_actions(
            model, mixture, learner.past, lineup, states, decision.action, is_own, rival_key
        )
        following, played = step(states, action, deal_key, **data)

        returns = tables.returns + played.rewards
        transition = Transition(
            decision=decision,
            seat=seat,
            is_own=is_own,
            action=action,
            reward=played.rewards if task.pays is None else jax.vmap(task.pays)(states, played),
            hint=() if task.potential is None else jax.vmap(task.potential)(states),
            terminated=played.terminated,
            truncated=played.truncated,
            settled=settled(task, states, played),
            final_return=jnp.where(played.done, own_return(returns, own_seats), 0.0),
            priority=jnp.ones(num_envs) if task.priority is None else jax.vmap(task.priority)(states),
            notes=() if task.auxiliary is None else jax.vmap(task.auxiliary.note)(states, action),
        )
        if mixture.kinds != opponents.SELF_PLAY.kinds:  # alone with itself the learner sits in every seat
            fresh = opponents.sample_lineup(mixture, env.num_players, learner.updates, seat_key, num_envs)
            lineup = Lineup(*(jnp.where(played.done, new, old) for new, old in zip(fresh, lineup, strict=True)))
        returns = jax.vmap(pick)(played.done, jnp.zeros_like(returns), returns)
        return Tables(following, lineup, returns), transition

    tables, transitions = jax.lax.scan(turn, tables, jax.random.split(key, num_steps))
    if task.potential is not None:
        last = jax.vmap(task.potential)(tables.states)
        transitions = transitions._replace(
            hint=hints(transitions.hint, last, transitions.settled | transitions.truncated)
        )
    return tables, transitions


def settled(task: "Task", states: State, played: State) -> chex.Array:
    """bool[env]: the game is over, or a round of the task that pays for itself."""
    if task.rounds is None:
        return played.terminated
    before, after = (jax.vmap(task.rounds)(each) for each in (states, played))
    return played.terminated | (before != after)


def own_return(returns: chex.Array, own_seats: chex.Array) -> chex.Array:
    """float32[env]: the mean over the learner's seats; 0 where the side that it takes was dealt to nobody."""
    return (returns * own_seats).sum(-1) / jnp.maximum(own_seats.sum(-1), 1)


def hints(before: chex.Array, last: chex.Array, over: chex.Array) -> chex.Array:
    """float32[step, env, seat]: the change of the potential, which is zero after the end, of a round or of the game.

    What a step leaves is what the next one finds, so each state is judged once: `before` the steps, and the `last`.
    """
    after = jnp.concatenate([before[1:], last[None]])
    return jnp.where(over[..., None], 0.0, after) - before


def values_to_move(task: "Task", params: Params, states: State) -> tuple[chex.Array, chex.Array]:
    """(float32[env], bool[env]): what the seats to move expect, and whether they have a choice."""

    def of_one(state):
        policy, out = consider(task.model, params, state, state.current_player)
        return out.value, policy.log_prob(policy.mode()) != 0

    return jax.vmap(of_one)(states)
