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

from agents.networks import PolicyValue, masked, observation_size
from jaxgames import Env
from train import opponents
from train.advantage import advantage_by_seat
from train.opponents import Mixture
from train.rollout import Decision, Tables, rollout, seat_players, values_at_cut


@dataclasses.dataclass(frozen=True)
class PPO:
    """Sizes and coefficients of the learner. Relations between them are checked when it is made."""

    total_steps: int = 8_000_000
    """decisions to play in all; rounded up to whole updates"""
    envs: int = 512
    """games at a time"""
    steps: int = 128
    """decisions in every game between updates"""
    epochs: int = 2
    """passes over the decisions of an update"""
    minibatches: int = 16
    """gradient steps in a pass"""
    learning_rate: float = 1e-3
    """of Adam, at the start"""
    final_learning_rate: float = 1e-4
    """and at the end: the schedule is linear"""
    max_gradient: float = 0.5
    """longest gradient; longer ones are scaled down"""
    gamma: float = 0.99
    """discount from one decision of a seat to its next"""
    lam: float = 0.95
    """lambda of the generalised advantage"""
    clip: float = 0.2
    """how far the policy may move from the one that played"""
    value_weight: float = 0.5
    """weight of the value loss"""
    entropy_weight: float = 0.01
    """weight of the entropy bonus at the start"""
    final_entropy_weight: float = 0.001
    """and at the end: the schedule is linear"""
    pool: int = 8
    """past selves that are remembered"""
    remember_every: int = 10
    """updates between them"""

    def __post_init__(self):
        for name in ("total_steps", "envs", "steps", "epochs", "minibatches", "pool", "remember_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"config: {name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("learning_rate", "final_learning_rate", "max_gradient", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"config: {name} must be above 0, got {getattr(self, name)!r}")
        for name in ("gamma", "lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"config: {name} must be in 0..1, got {getattr(self, name)!r}")
        if self.envs * self.steps % self.minibatches:
            raise ValueError(
                f"config: envs * steps = {self.envs * self.steps} decisions must divide by minibatches = "
                f"{self.minibatches}"
            )
        if self.envs % self.pool:
            raise ValueError(
                f"config: envs = {self.envs} must divide by pool = {self.pool}: past selves share the games"
            )

    @property
    def updates(self) -> int:
        return -(-self.total_steps // (self.envs * self.steps))


@dataclasses.dataclass(frozen=True)
class Task:
    """What is learned: the game, the network, the opponents, and what the game adds."""

    env: Env
    network: PolicyValue
    mixture: Mixture = opponents.SELF_PLAY
    deal_data: Callable[[chex.Array], dict] = lambda updates: {}
    """what `env.init` is given after so many updates: a curriculum without a recompile"""


class Learner(NamedTuple):
    """What is learned."""

    params: Any
    optimiser: Any
    pool: Any  # [pool, ...] past parameters
    updates: chex.Array  # int32[]


class Training(NamedTuple):
    """Everything that moves on; what a checkpoint holds."""

    learner: Learner
    tables: Tables
    key: chex.PRNGKey


class Batch(NamedTuple):
    """Decisions to learn from, [row, ...]."""

    decision: Decision
    advantage: chex.Array  # float32[row]
    target: chex.Array  # float32[row]  for the value


def start(cfg: PPO, task: Task, key: chex.PRNGKey) -> Training:
    """A new learner and its first games."""
    network_key, table_key, key = jax.random.split(key, 3)
    params = task.network.init(network_key, jnp.zeros((1, observation_size(task.env))))
    updates = jnp.int32(0)
    learner = Learner(params, make_optimiser(cfg).init(params), opponents.make_pool(params, cfg.pool), updates)
    tables = seat_players(task.env, task.mixture, table_key, cfg.envs, **task.deal_data(updates))
    return Training(learner, tables, key)


def advance(cfg: PPO, task: Task, training: Training, num_updates: int) -> tuple[Training, dict[str, chex.Array]]:
    """Some updates, and what they measured: {name: float32[update]}."""
    return jax.lax.scan(lambda training, _: update(cfg, task, training), training, length=num_updates)


def update(cfg: PPO, task: Task, training: Training) -> tuple[Training, dict[str, chex.Array]]:
    """Play, judge, learn."""
    learner, tables, key = training
    key, play_key, learn_key = jax.random.split(key, 3)
    data = task.deal_data(learner.updates)
    tables, played = rollout(
        task.env, task.network, task.mixture, learner.params, learner.pool, tables, play_key, cfg.steps, **data
    )
    batch = judge(cfg, task, learner.params, tables.states, played)
    learner, losses = learn(cfg, task, learner, batch, learn_key)
    return Training(learner, tables, key), losses | summarise(batch)


def judge(cfg: PPO, task: Task, params: Any, states: Any, played: Decision) -> Batch:
    """The decisions of a rollout with their advantages, as rows."""
    bootstrap = values_at_cut(task.env, task.network, params, states)

    def of_one(*args):
        return advantage_by_seat(*args, gamma=cfg.gamma, lam=cfg.lam)

    by_env = jax.vmap(of_one, in_axes=(1, 1, 1, 1, 0), out_axes=1)
    advantage = by_env(played.seat, played.value, played.reward, played.done, bootstrap)
    batch = Batch(played, advantage, advantage + played.value)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)


def learn(cfg: PPO, task: Task, learner: Learner, batch: Batch, key: chex.PRNGKey) -> tuple[Learner, dict]:
    """All epochs and minibatches on one batch of rows."""
    progress = learner.updates / cfg.updates
    entropy_weight = cfg.entropy_weight + progress * (cfg.final_entropy_weight - cfg.entropy_weight)
    optimiser = make_optimiser(cfg)

    def step(carry, rows):
        params, state = carry
        part = jax.tree.map(lambda leaf: leaf[rows], batch)
        gradient, losses = jax.grad(loss, argnums=2, has_aux=True)(cfg, task, params, part, entropy_weight)
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), losses | {"gradient": optax.tree.norm(gradient)}

    epochs = jax.vmap(lambda k: order(cfg, task, batch, k))(jax.random.split(key, cfg.epochs))
    rows = epochs.reshape(cfg.epochs * cfg.minibatches, -1)
    (params, state), losses = jax.lax.scan(step, (learner.params, learner.optimiser), rows)
    updates = learner.updates + 1
    pool = opponents.remember(learner.pool, params, updates, cfg.remember_every)
    return Learner(params, state, pool, updates), jax.tree.map(jnp.mean, losses)


def order(cfg: PPO, task: Task, batch: Batch, key: chex.PRNGKey) -> chex.Array:
    """int32[row]: the learner's own decisions, shuffled. As many as it makes on average and a little more: the rows
    of other players that fill the end weigh nothing, and rows that find no room are left out by chance."""
    is_own = batch.decision.is_own
    room = min(1.0, 1.1 * task.mixture.own_decisions(task.env.num_players)) * is_own.shape[0]
    room = math.ceil(room / cfg.minibatches) * cfg.minibatches
    shuffled = jnp.argsort(jax.random.uniform(key, is_own.shape) + 2.0 * ~is_own)[:room]
    return shuffled.reshape(-1, cfg.minibatches).T.ravel()  # the filling is spread over all minibatches


def loss(cfg: PPO, task: Task, params: Any, batch: Batch, entropy_weight: chex.Array) -> tuple[chex.Array, dict]:
    """The clipped objective with value and entropy terms over the learner's own rows."""
    decision = batch.decision
    weight = decision.is_own.astype(jnp.float32)
    total = jnp.maximum(weight.sum(), 1.0)

    def mean(x):
        return (x * weight).sum() / total

    out = task.network.apply(params, decision.observation)
    policy = masked(out.logits, decision.mask)
    log_ratio = policy.log_prob(decision.action) - decision.log_prob
    ratio = jnp.exp(log_ratio)
    centred = batch.advantage - mean(batch.advantage)
    advantage = centred / (jnp.sqrt(mean(centred**2)) + 1e-6)
    clipped = jnp.clip(ratio, 1 - cfg.clip, 1 + cfg.clip)
    policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
    value_loss = 0.5 * mean((out.value - batch.target) ** 2)
    entropy = mean(policy.entropy())
    total_loss = policy_loss + cfg.value_weight * value_loss - entropy_weight * entropy
    return total_loss, {
        "loss": total_loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "divergence": mean(ratio - 1 - log_ratio),
        "clipped": mean(jnp.abs(ratio - 1) > cfg.clip),
        "ratio_error": jnp.max(jnp.abs(ratio - 1) * weight),
    }


def summarise(batch: Batch) -> dict[str, chex.Array]:
    """Scalars of a rollout: finished games are counted by masked sums."""
    played = batch.decision
    games = played.done.sum()
    own = played.is_own
    left_over = jnp.var(batch.target - played.value, where=own)
    return {
        "games": games.astype(jnp.float32),
        "return": played.final_return.sum() / jnp.maximum(games, 1),
        "explained": 1 - left_over / jnp.maximum(jnp.var(batch.target, where=own), 1e-6),
        "own_decisions": own.mean(),
    }


def make_optimiser(cfg: PPO) -> optax.GradientTransformation:
    """Adam under a linear schedule, with gradients cut to length."""
    gradient_steps = cfg.updates * cfg.epochs * cfg.minibatches
    rate = optax.linear_schedule(cfg.learning_rate, cfg.final_learning_rate, gradient_steps)
    return optax.chain(optax.clip_by_global_norm(cfg.max_gradient), optax.adam(rate, eps=1e-5))
