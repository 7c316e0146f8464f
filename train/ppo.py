"""Proximal policy optimisation at a table of several seats: one update is one compiled program.

`start` makes a learner, `advance` moves it on by some updates under one `lax.scan`; both are pure, so many seeds are
a `jax.vmap` over keys. Everything a game adds comes in through `Task`.
"""

import dataclasses
import math
import typing
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import optax

from agents.networks import Model, Params, reconsider
from jaxgames import Env
from jaxgames.env import TreeT
from train import opponents, replay
from train.advantage import NOBODY, advantage_by_seat
from train.opponents import Mixture, PastSelves, Sides
from train.protocols import Protocol, protocol_of
from train.rollout import Tables, Transition, rollout, seat_players, values_to_move
from train.settings import PPO

Axis = tuple[str, ...]


class Auxiliary(typing.Protocol):
    """Heads that learn what a decision could not know, beside the policy: train/auxiliary_skullking.py has one."""

    @property
    def heads(self) -> tuple[tuple[str, int], ...]: ...

    def note(self, state: chex.ArrayTree, action: chex.Array) -> chex.ArrayTree:
        """Taken down before each step."""

    def labels(self, notes: chex.ArrayTree, seat: chex.Array) -> chex.ArrayTree:
        """Of a rollout, [step, env, ...]."""

    def losses(self, predicted: dict[str, chex.Array], true: chex.ArrayTree) -> dict[str, chex.Array]:
        """Of every head, [row]."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What is learned: the game and the network that plays it (`model`), the opponents, and what the game adds."""

    model: Model
    mixture: Mixture = opponents.SELF_PLAY
    deal_data: Callable[[chex.Array], dict] = lambda updates: {}
    """what `env.init` is given after so many updates: a curriculum without a recompile"""
    auxiliary: Auxiliary | None = None
    """the game's auxiliary heads"""
    priority: Callable[..., chex.Array] | None = None
    """state -> float32[], how often a decision in it is sampled, relative to others"""
    potential: Callable[..., chex.Array] | None = None
    """state -> float32[seat], how good it looks for each seat, in scaled rewards: what a step adds to it is paid at
    once and taken back at the end, so that these hints change no best play (where gamma is 1)"""
    rounds: Callable[..., chex.Array] | None = None
    """state -> int[], which round is played, where rounds pay for themselves: a decision is judged by what its own
    round brings, and the luck of later deals stays out of it"""
    pays: Callable[..., chex.Array] | None = None
    """(before, after) -> float32[seat], what the learner takes a step to pay, if not the game's own rewards"""
    sides: Sides | None = None
    """who plays together: the learner takes one seat against others than itself, or every seat of a side"""
    reward_scale: float = 1.0
    """what the learner takes a reward of one for; returns are reported as the game pays them"""
    measure: str = ""
    """the protocol that measures its strength, by name; without one, the game's first"""

    @property
    def env(self) -> Env:
        return self.model.env

    @property
    def own_decisions(self) -> float:
        """The largest share of all decisions that the learner makes."""
        return self.mixture.own_decisions(1 / self.env.num_players if self.sides is None else self.sides.share)

    @property
    def protocol(self) -> Protocol:
        """How its strength is measured."""
        return protocol_of(self.env, self.measure)


class Learner(NamedTuple):
    """What is learned."""

    params: Params
    optimiser: optax.OptState
    replay_optimiser: optax.OptState  # of the steps on replayed decisions, or ()
    past: PastSelves
    magnet: Params  # a moving average of the parameters, or ()
    updates: chex.Array  # int32[]


class Games(NamedTuple):
    """What is played, and what is random; with several shards, one of these for each: [shard, ...]."""

    tables: Tables
    buffer: replay.Stored | tuple[()]
    key: chex.PRNGKey


class Training(NamedTuple):
    """Everything that moves on; what a checkpoint holds."""

    learner: Learner
    games: Games


class Batch(NamedTuple):
    """Decisions to learn from, [row, ...]."""

    transition: Transition
    advantage: chex.Array  # float32[row]
    target: chex.Array  # float32[row]  for the value
    labels: chex.ArrayTree  # of the auxiliary heads, or ()
    weight: chex.Array  # float32[row]  0 for the decisions of other players and for those that are not judged


def start(cfg: PPO, task: Task, key: chex.PRNGKey) -> Training:
    """A new learner and its first games."""
    learner_key, games_key = jax.random.split(key)
    learner = new_learner(cfg, task, learner_key)
    return Training(learner, new_games(cfg, task, learner, games_key))


def new_learner(cfg: PPO, task: Task, key: chex.PRNGKey) -> Learner:
    """A network that has learned nothing."""
    params = task.model.init(key)
    return Learner(
        params=params,
        optimiser=make_optimiser(cfg, cfg.epochs * cfg.minibatches).init(params),
        replay_optimiser=make_optimiser(cfg, cfg.replay_steps).init(params) if cfg.replay else (),
        past=opponents.first_selves(params, cfg.past_selves),
        magnet=params if cfg.magnet_weight else (),
        updates=jnp.int32(0),
    )


def starting(cfg: PPO, task: Task, learner: Learner, player: Params) -> Learner:
    """The learner with the parameters of another player to begin with."""
    params = task.model.put_player(learner.params, player)
    magnet = jax.tree.map(jnp.array, params) if cfg.magnet_weight else ()  # a copy: a call takes what it is given
    return learner._replace(params=params, past=opponents.first_selves(params, cfg.past_selves), magnet=magnet)


def new_games(cfg: PPO, task: Task, learner: Learner, key: chex.PRNGKey) -> Games:
    """The first games."""
    table_key, key = jax.random.split(key)
    tables = seat_players(task, learner.updates, table_key, cfg.envs)
    return Games(tables=tables, buffer=empty_buffer(cfg, task, learner, tables) if cfg.replay else (), key=key)


def empty_buffer(cfg: PPO, task: Task, learner: Learner, tables: Tables) -> replay.Stored:
    """A replay buffer for the rows that this task makes; shapes are taken from a rollout that is never run."""
    rows = jax.eval_shape(
        lambda tables, key: experience(collect(cfg, task, learner, tables, key)[1]), tables, jax.random.key(0)
    )
    row = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), rows)
    return replay.make_buffer(cfg.replay, cfg.rows).init(row)


def advance(
    cfg: PPO, task: Task, training: Training, num_updates: int, axis: Axis = ()
) -> tuple[Training, dict[str, chex.Array]]:
    """Some updates, and what they measured: {name: float32[update]}.

    `axis` names the mapped axes over which other shards play at the same time; gradients are averaged over them.
    """
    return jax.lax.scan(lambda training, _: update(cfg, task, training, axis), training, length=num_updates)


def update(cfg: PPO, task: Task, training: Training, axis: Axis = ()) -> tuple[Training, dict[str, chex.Array]]:
    """Play, judge, learn; then let the value and auxiliary heads learn from replayed decisions."""
    learner, (tables, buffer, key) = training
    key, rollout_key, learn_key, replay_key = jax.random.split(key, 4)
    tables, batch = collect(cfg, task, learner, tables, rollout_key)
    learner, losses = learn(cfg, task, learner, batch, learn_key, axis)
    if cfg.replay:
        learner, buffer, replayed = learn_again(cfg, task, learner, buffer, batch, replay_key, axis)
        losses |= replayed
    return Training(learner, Games(tables, buffer, key)), losses | summarise(batch, axis)


def collect(cfg: PPO, task: Task, learner: Learner, tables: Tables, key: chex.PRNGKey) -> tuple[Tables, Batch]:
    """One rollout, judged: a batch of rows."""
    tables, transitions = rollout(task, learner, tables, key, cfg.steps)
    values, has_choice = values_to_move(task, learner.params, tables.states)
    # The value of a forced move was never learned.
    mover = jnp.where(has_choice, tables.states.current_player, NOBODY)
    return tables, judge(cfg, task, transitions, mover, values)


def judge(cfg: PPO, task: Task, transitions: Transition, mover: chex.Array, mover_value: chex.Array) -> Batch:
    """The decisions of a rollout, [step, env], with their advantages and labels, as rows."""

    # A forced move is no decision: what it brings is owed to the seat's last choice before it.
    had_choice = transitions.decision.log_prob != 0

    def of_one_env(transitions, had_choice, mover, mover_value):
        paid = transitions.reward * task.reward_scale
        return advantage_by_seat(
            jnp.where(had_choice, transitions.seat, NOBODY),
            transitions.decision.value,
            paid if task.potential is None else paid + transitions.hint,
            transitions.settled,
            transitions.truncated,
            mover,
            mover_value,
            gamma=cfg.gamma,
            lam=cfg.lam,
        )

    labels = () if task.auxiliary is None else task.auxiliary.labels(transitions.notes, transitions.seat)
    transitions = transitions._replace(notes=())
    advantage, is_judged = jax.vmap(of_one_env, in_axes=(1, 1, 0, 0), out_axes=1)(
        transitions, had_choice, mover, mover_value
    )
    batch = Batch(
        transition=transitions,
        advantage=advantage,
        target=advantage + transitions.decision.value,
        labels=labels,
        weight=(transitions.is_own & is_judged).astype(jnp.float32),
    )
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)


def learn(
    cfg: PPO, task: Task, learner: Learner, batch: Batch, key: chex.PRNGKey, axis: Axis = ()
) -> tuple[Learner, dict]:
    """All epochs and minibatches on one batch of rows."""
    entropy_weight = entropy_weight_at(cfg, learner.updates)
    optimiser = make_optimiser(cfg, cfg.epochs * cfg.minibatches)

    def step(carry, rows):
        params, state = carry
        rows, weight = rows
        part = jax.tree.map(lambda leaf: leaf[rows], batch)
        part = part._replace(weight=part.weight * weight)
        gradient, losses = jax.grad(loss, argnums=2, has_aux=True)(
            cfg, task, params, part, entropy_weight, axis, learner.magnet
        )
        gradient, losses = across(axis, (gradient, losses))
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), losses | {"gradient_norm": optax.tree.norm(gradient)}

    choose_rows = sample_by_priority if cfg.prioritised else shuffle
    epochs = jax.vmap(lambda k: choose_rows(cfg, task, batch, k))(jax.random.split(key, cfg.epochs))
    rows = jax.tree.map(lambda leaf: leaf.reshape(cfg.epochs * cfg.minibatches, -1), epochs)
    (params, state), losses = jax.lax.scan(step, (learner.params, learner.optimiser), rows)
    updates = learner.updates + 1
    past = opponents.keep_self(learner.past, params, updates, cfg.past_every)
    magnet = (
        jax.tree.map(lambda old, new: old + cfg.magnet_rate * (new - old), learner.magnet, params)
        if cfg.magnet_weight
        else ()
    )
    learner = learner._replace(params=params, optimiser=state, past=past, magnet=magnet, updates=updates)
    return learner, jax.tree.map(jnp.mean, losses)


def shuffle(cfg: PPO, task: Task, batch: Batch, key: chex.PRNGKey) -> tuple[chex.Array, chex.Array]:
    """(rows, weights): the rows that teach in random order, each once.

    As many as the learner makes on average and a little more: rows without weight fill the end, and rows that find no
    room are left out by chance.
    """
    count, is_idle = room(cfg, task), batch.weight == 0
    # One sorted word for each row: idle rows last, then chance, then the number of the row itself.
    number = jnp.uint32((1 << (is_idle.size - 1).bit_length()) - 1)
    chance = (jax.random.bits(key, is_idle.shape, jnp.uint32) >> 1) & ~number
    words = (is_idle.astype(jnp.uint32) << 31) | chance | jnp.arange(is_idle.size, dtype=jnp.uint32)
    rows = (jnp.sort(words)[:count] & number).astype(jnp.int32)
    rows = rows.reshape(-1, cfg.minibatches).T.ravel()  # the filling is shared by all minibatches
    return rows, jnp.ones(count)


def sample_by_priority(cfg: PPO, task: Task, batch: Batch, key: chex.PRNGKey) -> tuple[chex.Array, chex.Array]:
    """(rows, weights): the rows that teach with replacement, by priority; by choice weighed back."""
    priority = batch.transition.priority * batch.weight
    ends = jnp.cumsum(priority)
    points = jax.random.uniform(key, (room(cfg, task),)) * ends[-1]
    rows = jnp.minimum(jnp.searchsorted(ends, points, side="right"), priority.shape[0] - 1)
    probability = priority[rows] / jnp.maximum(ends[-1], 1e-6)
    weight = replay.importance(jnp.maximum(probability, 1e-9), batch.weight.sum())
    return rows, weight if cfg.importance else jnp.ones_like(weight)


def room(cfg: PPO, task: Task) -> int:
    """How many rows an epoch takes: the learner's choices among all moves and a tenth more, in whole minibatches."""
    share = min(1.0, 1.1 * task.own_decisions * cfg.choices)
    return math.ceil(share * cfg.rows) * cfg.minibatches


def learn_again(
    cfg: PPO,
    task: Task,
    learner: Learner,
    buffer_state: replay.Stored,
    batch: Batch,
    key: chex.PRNGKey,
    axis: Axis = (),
) -> tuple[Learner, replay.Stored, dict]:
    """Store some of the newest decisions, then train value and auxiliary heads on stored ones."""
    buffer, optimiser = replay.make_buffer(cfg.replay, cfg.rows), make_optimiser(cfg, cfg.replay_steps)
    order_key, sample_key = jax.random.split(key)
    rows = shuffle(cfg, task, batch, order_key)[0][: cfg.rows]
    newest = jax.tree.map(lambda leaf: leaf[rows], batch)
    buffer_state = replay.add(buffer, buffer_state, experience(newest), newest.transition.priority)

    def step(carry, key):
        params, state = carry
        sampled = buffer.sample(buffer_state, key)
        count = jnp.where(buffer_state.is_full, cfg.replay, buffer_state.current_index)
        weight = replay.importance(sampled.probabilities, count) if cfg.importance else jnp.ones(cfg.rows)
        loss, gradient = jax.value_and_grad(
            lambda params: replay.replay_loss(cfg, task, params, learner.params, sampled.experience, weight)
        )(params)
        loss, gradient = across(axis, (loss, gradient))
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), loss

    keys = jax.random.split(sample_key, cfg.replay_steps)
    (params, state), losses = jax.lax.scan(step, (learner.params, learner.replay_optimiser), keys)
    return learner._replace(params=params, replay_optimiser=state), buffer_state, {"replay_loss": losses.mean()}


def experience(batch: Batch) -> replay.Experience:
    """Rows as the replay buffer stores them."""
    return replay.Experience(batch.transition.decision.kept, batch.target, batch.weight, batch.labels)


def loss(
    cfg: PPO, task: Task, params: Params, batch: Batch, entropy_weight: chex.Array, axis: Axis = (), magnet: Params = ()
) -> tuple[chex.Array, dict]:
    """The clipped objective with value and entropy terms over the rows that teach, and the pull of the magnet.

    Averaged over all shards it is the mean over all their rows, however these fall on the shards.
    """
    weight = batch.weight
    total = jnp.maximum(across(axis, weight.sum()), 1e-6)

    def mean(x):
        return (x * weight).sum() / total

    def reconsidered(kept, choice):
        policy, out = reconsider(task.model, params, kept)
        pull = policy.kl(reconsider(task.model, magnet, kept)[0]) if cfg.magnet_weight else ()
        return policy.log_prob(choice), policy.entropy(), pull, out.value, out.labels

    decision = batch.transition.decision
    log_prob, entropy, pull, value, predicted = jax.vmap(reconsidered)(decision.kept, decision.choice)
    log_ratio = log_prob - decision.log_prob
    ratio = jnp.exp(log_ratio)
    centred = batch.advantage - across(axis, mean(batch.advantage))
    advantage = centred / (jnp.sqrt(across(axis, mean(centred**2))) + 1e-6)
    clipped = jnp.clip(ratio, 1 - cfg.clip, 1 + cfg.clip)
    losses = {
        "policy_loss": -mean(jnp.minimum(ratio * advantage, clipped * advantage)),
        "value_loss": 0.5 * mean((value - batch.target) ** 2),
        "entropy": mean(entropy),
    }
    labels = {} if task.auxiliary is None else task.auxiliary.losses(predicted, batch.labels)
    label_losses = {f"{name}_loss": mean(each) for name, each in labels.items()}
    total_loss = losses["policy_loss"] + cfg.value_weight * losses["value_loss"] - entropy_weight * losses["entropy"]
    total_loss += cfg.auxiliary_weight * sum(label_losses.values())
    if cfg.magnet_weight:
        losses["magnet_kl"] = mean(pull)
        total_loss += cfg.magnet_weight * losses["magnet_kl"]
    measured = {
        "loss": total_loss,
        "approx_kl": mean(ratio - 1 - log_ratio),
        "clip_fraction": mean(jnp.abs(ratio - 1) > cfg.clip),
        "ratio_error": jnp.max(jnp.abs(ratio - 1) * (weight > 0)),
    }
    return total_loss, measured | losses | label_losses


def summarise(batch: Batch, axis: Axis = ()) -> dict[str, chex.Array]:
    """Scalars of a rollout: finished games are counted by masked sums."""
    transition, weight = batch.transition, batch.weight
    error = batch.target - transition.decision.value
    sums = {
        "games": (transition.terminated | transition.truncated).sum(),
        "return": transition.final_return.sum(),
        "rows": weight.sum(),
        "error": (error**2 * weight).sum(),
        "target": (batch.target * weight).sum(),
        "target_squared": (batch.target**2 * weight).sum(),
    }
    sums = jax.tree.map(lambda x: jax.lax.psum(x, axis) if axis else x, sums)
    rows = jnp.maximum(sums["rows"], 1)
    variance = sums["target_squared"] / rows - (sums["target"] / rows) ** 2
    return {
        "games": sums["games"].astype(jnp.float32),
        "return": sums["return"] / jnp.maximum(sums["games"], 1),
        "explained_variance": 1 - sums["error"] / rows / jnp.maximum(variance, 1e-6),
        "own_decisions": across(axis, transition.is_own.mean()),
    }


def across(axis: Axis, tree: TreeT) -> TreeT:
    """The mean over all shards."""
    return jax.lax.pmean(tree, axis) if axis else tree


def entropy_weight_at(cfg: PPO, updates: chex.Array) -> chex.Array:
    """float32[], on a straight line from the first update to the end of the run."""
    return cfg.entropy_weight + updates / cfg.updates * (cfg.final_entropy_weight - cfg.entropy_weight)


def make_optimiser(cfg: PPO, steps_an_update: int) -> optax.GradientTransformation:
    """Adam under a linear schedule over the whole run, with gradients cut to length."""
    rate = optax.linear_schedule(cfg.learning_rate, cfg.final_learning_rate, cfg.updates * steps_an_update)
    return optax.chain(optax.clip_by_global_norm(cfg.max_gradient), optax.adam(rate, eps=1e-5))
