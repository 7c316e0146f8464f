"""Proximal policy optimisation at a table of several seats: one update is one compiled program.

`start` makes a learner, `advance` moves it on by some updates under one `lax.scan`; both are pure, so many seeds are
a `jax.vmap` over keys. Everything a game adds comes in through `Task`.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import optax

from agents.networks import PolicyValue, log_prob_and_entropy, observation_size
from jaxgames import Env
from train import opponents, replay
from train.advantage import advantage_by_seat
from train.opponents import Mixture
from train.rollout import Decision, Tables, rollout, seat_players, values_at_cut
from train.settings import PPO

Axis = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Task:
    """What is learned: the game, the network, the opponents, and what the game adds."""

    env: Env
    network: PolicyValue
    mixture: Mixture = opponents.SELF_PLAY
    deal_data: Callable[[chex.Array], dict] = lambda updates: {}
    """what `env.init` is given after so many updates: a curriculum without a recompile"""
    auxiliary: Any = None
    """labels of the game's auxiliary heads: `heads`, `note`, `labels`, `losses` as in train/auxiliary_skullking.py"""
    priority: Callable[[Any], chex.Array] | None = None
    """how often a decision in this state is drawn from a memory, relative to others"""


class Learner(NamedTuple):
    """What is learned."""

    params: Any
    optimiser: Any
    pool: Any  # [pool, ...] past parameters
    updates: chex.Array  # int32[]


class Games(NamedTuple):
    """What is played, and what is random; with several shards, one of these for each: [shard, ...]."""

    tables: Tables
    memory: Any  # the replay buffer, or ()
    key: chex.PRNGKey


class Training(NamedTuple):
    """Everything that moves on; what a checkpoint holds."""

    learner: Learner
    games: Games


class Batch(NamedTuple):
    """Decisions to learn from, [row, ...]."""

    decision: Decision
    advantage: chex.Array  # float32[row]
    target: chex.Array  # float32[row]  for the value
    labels: Any  # of the auxiliary heads, or ()
    weight: chex.Array  # float32[row]  0 for the decisions of other players


def start(cfg: PPO, task: Task, key: chex.PRNGKey) -> Training:
    """A new learner and its first games."""
    learner_key, games_key = jax.random.split(key)
    learner = new_learner(cfg, task, learner_key)
    return Training(learner, new_games(cfg, task, learner, games_key))


def new_learner(cfg: PPO, task: Task, key: chex.PRNGKey) -> Learner:
    """A network that has learned nothing."""
    params = task.network.init(key, jnp.zeros((1, observation_size(task.env))), method="everything")
    pool = opponents.make_pool(params, cfg.pool)
    return Learner(params=params, optimiser=make_optimiser(cfg).init(params), pool=pool, updates=jnp.int32(0))


def new_games(cfg: PPO, task: Task, learner: Learner, key: chex.PRNGKey) -> Games:
    """The first games."""
    table_key, key = jax.random.split(key)
    tables = seat_players(
        task.env, task.mixture, learner.updates, table_key, cfg.envs, **task.deal_data(learner.updates)
    )
    return Games(tables=tables, memory=empty_memory(cfg, task, learner, tables) if cfg.replay else (), key=key)


def empty_memory(cfg: PPO, task: Task, learner: Learner, tables: Tables) -> Any:
    """A replay buffer for the rows that this task makes; shapes are taken from a rollout that is never run."""
    memories = jax.eval_shape(
        lambda tables, key: remembered(play(cfg, task, learner, tables, key)[1]), tables, jax.random.key(0)
    )
    row = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), memories)
    return replay.make_buffer(cfg.replay, cfg.rows).init(row)


def advance(
    cfg: PPO, task: Task, training: Training, num_updates: int, axis: Axis = ()
) -> tuple[Training, dict[str, chex.Array]]:
    """Some updates, and what they measured: {name: float32[update]}.

    `axis` names the mapped axes over which other shards play at the same time; gradients are averaged over them.
    """
    return jax.lax.scan(lambda training, _: update(cfg, task, training, axis), training, length=num_updates)


def update(cfg: PPO, task: Task, training: Training, axis: Axis = ()) -> tuple[Training, dict[str, chex.Array]]:
    """Play, judge, learn; then let the value and auxiliary heads learn from memory."""
    learner, (tables, memory, key) = training
    key, play_key, learn_key, replay_key = jax.random.split(key, 4)
    tables, batch = play(cfg, task, learner, tables, play_key)
    learner, losses = learn(cfg, task, learner, batch, learn_key, axis)
    if cfg.replay:
        learner, memory, replayed = learn_again(cfg, task, learner, memory, batch, replay_key, axis)
        losses |= replayed
    return Training(learner, Games(tables, memory, key)), losses | summarise(batch, axis)


def play(cfg: PPO, task: Task, learner: Learner, tables: Tables, key: chex.PRNGKey) -> tuple[Tables, Batch]:
    """One rollout, judged."""
    note = task.auxiliary.note if task.auxiliary is not None else None
    tables, played = rollout(
        task.env,
        task.network,
        task.mixture,
        learner.params,
        learner.pool,
        learner.updates,
        tables,
        key,
        cfg.steps,
        note=note,
        priority=task.priority,
        **task.deal_data(learner.updates),
    )
    return tables, judge(cfg, task, learner.params, tables.states, played)


def judge(cfg: PPO, task: Task, params: Any, states: Any, played: Decision) -> Batch:
    """The decisions of a rollout with their advantages and labels, as rows."""
    bootstrap = values_at_cut(task.env, task.network, params, states)

    def of_one(*args):
        return advantage_by_seat(*args, gamma=cfg.gamma, lam=cfg.lam)

    by_env = jax.vmap(of_one, in_axes=(1, 1, 1, 1, 0), out_axes=1)
    advantage = by_env(played.seat, played.value, played.reward, played.done, bootstrap)
    batch = Batch(
        decision=played._replace(notes=()),
        advantage=advantage,
        target=advantage + played.value,
        labels=() if task.auxiliary is None else task.auxiliary.labels(played.notes, played.seat),
        weight=played.is_own.astype(jnp.float32),
    )
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)


def learn(
    cfg: PPO, task: Task, learner: Learner, batch: Batch, key: chex.PRNGKey, axis: Axis = ()
) -> tuple[Learner, dict]:
    """All epochs and minibatches on one batch of rows."""
    progress = learner.updates / cfg.updates
    entropy_weight = cfg.entropy_weight + progress * (cfg.final_entropy_weight - cfg.entropy_weight)
    optimiser = make_optimiser(cfg)

    def step(carry, rows):
        params, state = carry
        rows, weight = rows
        part = jax.tree.map(lambda leaf: leaf[rows], batch)
        part = part._replace(weight=part.weight * weight)
        gradient, losses = jax.grad(loss, argnums=2, has_aux=True)(cfg, task, params, part, entropy_weight, axis)
        gradient, losses = across(axis, (gradient, losses))
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), losses | {"gradient": optax.tree.norm(gradient)}

    choose_rows = draw_by_priority if cfg.prioritised else shuffle
    epochs = jax.vmap(lambda k: choose_rows(cfg, task, batch, k))(jax.random.split(key, cfg.epochs))
    rows = jax.tree.map(lambda leaf: leaf.reshape(cfg.epochs * cfg.minibatches, -1), epochs)
    (params, state), losses = jax.lax.scan(step, (learner.params, learner.optimiser), rows)
    updates = learner.updates + 1
    pool = opponents.remember(learner.pool, params, updates, cfg.remember_every)
    learner = learner._replace(params=params, optimiser=state, pool=pool, updates=updates)
    return learner, jax.tree.map(jnp.mean, losses)


def shuffle(cfg: PPO, task: Task, batch: Batch, key: chex.PRNGKey) -> tuple[chex.Array, chex.Array]:
    """(rows, weights): the learner's own decisions in random order, each once.

    As many as it makes on average and a little more: the rows of other players that fill the end weigh nothing, and
    own rows that find no room are left out by chance.
    """
    count, others = room(cfg, task), ~batch.decision.is_own
    # One sorted word for each row: other players' rows last, then chance, then the number of the row itself.
    number = jnp.uint32((1 << (others.size - 1).bit_length()) - 1)
    chance = (jax.random.bits(key, others.shape, jnp.uint32) >> 1) & ~number
    words = (others.astype(jnp.uint32) << 31) | chance | jnp.arange(others.size, dtype=jnp.uint32)
    rows = (jnp.sort(words)[:count] & number).astype(jnp.int32)
    rows = rows.reshape(-1, cfg.minibatches).T.ravel()  # the filling is spread over all minibatches
    return rows, jnp.ones(count)


def draw_by_priority(cfg: PPO, task: Task, batch: Batch, key: chex.PRNGKey) -> tuple[chex.Array, chex.Array]:
    """(rows, weights): the learner's own decisions with replacement, by priority; by choice weighed back."""
    priority = batch.decision.priority * batch.decision.is_own
    ends = jnp.cumsum(priority)
    draws = jax.random.uniform(key, (room(cfg, task),)) * ends[-1]
    rows = jnp.minimum(jnp.searchsorted(ends, draws, side="right"), priority.shape[0] - 1)
    probability = priority[rows] / jnp.maximum(ends[-1], 1e-6)
    weight = replay.importance(jnp.maximum(probability, 1e-9), batch.decision.is_own.sum())
    return rows, weight if cfg.importance else jnp.ones_like(weight)


def room(cfg: PPO, task: Task) -> int:
    """How many rows an epoch takes: the learner's share of all decisions and a tenth more, in whole minibatches."""
    share = min(1.0, 1.1 * task.mixture.own_decisions(task.env.num_players))
    return math.ceil(share * cfg.rows) * cfg.minibatches


def learn_again(
    cfg: PPO, task: Task, learner: Learner, memory: Any, batch: Batch, key: chex.PRNGKey, axis: Axis = ()
) -> tuple[Learner, Any, dict]:
    """Remember some of the newest decisions, then train value and auxiliary heads on remembered ones."""
    buffer, optimiser, now = replay.make_buffer(cfg.replay, cfg.rows), make_optimiser(cfg), learner.params
    order_key, sample_key = jax.random.split(key)
    rows = shuffle(cfg, task, batch, order_key)[0][: cfg.rows]
    newest = jax.tree.map(lambda leaf: leaf[rows], batch)
    memory = replay.remember(buffer, memory, remembered(newest), newest.decision.priority)

    def step(carry, key):
        params, state = carry
        drawn = buffer.sample(memory, key)
        count = jnp.where(memory.is_full, cfg.replay, memory.current_index)
        weight = replay.importance(drawn.probabilities, count) if cfg.importance else jnp.ones(cfg.rows)
        loss, gradient = jax.value_and_grad(
            lambda params: replay.replay_loss(task, params, now, drawn.experience, weight, cfg)
        )(params)
        loss, gradient = across(axis, (loss, gradient))
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), loss

    keys = jax.random.split(sample_key, cfg.replay_steps)
    (params, state), losses = jax.lax.scan(step, (learner.params, learner.optimiser), keys)
    return learner._replace(params=params, optimiser=state), memory, {"replay_loss": losses.mean()}


def remembered(batch: Batch) -> replay.Memory:
    """Rows as the replay buffer keeps them."""
    decision = batch.decision
    return replay.Memory(decision.observation, decision.mask, batch.target, decision.is_own, batch.labels)


def loss(
    cfg: PPO, task: Task, params: Any, batch: Batch, entropy_weight: chex.Array, axis: Axis = ()
) -> tuple[chex.Array, dict]:
    """The clipped objective with value and entropy terms over the learner's own rows.

    Averaged over all shards it is the mean over all their rows, however these fall on the shards.
    """
    decision = batch.decision
    weight = batch.weight
    total = jnp.maximum(across(axis, weight.sum()), 1e-6)

    def mean(x):
        return (x * weight).sum() / total

    out, predicted = task.network.apply(params, decision.observation, method="everything")
    log_prob, entropy = log_prob_and_entropy(out.logits, decision.mask, decision.action)
    log_ratio = log_prob - decision.log_prob
    ratio = jnp.exp(log_ratio)
    centred = batch.advantage - across(axis, mean(batch.advantage))
    advantage = centred / (jnp.sqrt(across(axis, mean(centred**2))) + 1e-6)
    clipped = jnp.clip(ratio, 1 - cfg.clip, 1 + cfg.clip)
    policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
    value_loss = 0.5 * mean((out.value - batch.target) ** 2)
    spread = mean(entropy)
    total_loss = policy_loss + cfg.value_weight * value_loss - entropy_weight * spread
    labels = {} if task.auxiliary is None else task.auxiliary.losses(predicted, batch.labels)
    label_losses = {f"{name}_loss": mean(each) for name, each in labels.items()}
    total_loss += cfg.auxiliary_weight * sum(label_losses.values())
    return total_loss, label_losses | {
        "loss": total_loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": spread,
        "divergence": mean(ratio - 1 - log_ratio),
        "clipped": mean(jnp.abs(ratio - 1) > cfg.clip),
        "ratio_error": jnp.max(jnp.abs(ratio - 1) * (weight > 0)),
    }


def summarise(batch: Batch, axis: Axis = ()) -> dict[str, chex.Array]:
    """Scalars of a rollout: finished games are counted by masked sums."""
    played, own = batch.decision, batch.weight
    error = batch.target - played.value
    sums = {
        "games": played.done.sum(),
        "return": played.final_return.sum(),
        "own": own.sum(),
        "error": (error**2 * own).sum(),
        "target": (batch.target * own).sum(),
        "target_squared": (batch.target**2 * own).sum(),
    }
    sums = jax.tree.map(lambda x: jax.lax.psum(x, axis) if axis else x, sums)
    own_rows = jnp.maximum(sums["own"], 1)
    spread = sums["target_squared"] / own_rows - (sums["target"] / own_rows) ** 2
    return {
        "games": sums["games"].astype(jnp.float32),
        "return": sums["return"] / jnp.maximum(sums["games"], 1),
        "explained": 1 - sums["error"] / own_rows / jnp.maximum(spread, 1e-6),
        "own_decisions": across(axis, own.mean()),
    }


def across(axis: Axis, tree: Any) -> Any:
    """The mean over all shards."""
    return jax.lax.pmean(tree, axis) if axis else tree


def make_optimiser(cfg: PPO) -> optax.GradientTransformation:
    """Adam under a linear schedule, with gradients cut to length."""
    gradient_steps = cfg.updates * (cfg.epochs * cfg.minibatches + (cfg.replay_steps if cfg.replay else 0))
    rate = optax.linear_schedule(cfg.learning_rate, cfg.final_learning_rate, gradient_steps)
    return optax.chain(optax.clip_by_global_norm(cfg.max_gradient), optax.adam(rate, eps=1e-5))
