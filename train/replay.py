"""Replay where it is sound (SK-61): value and auxiliary heads learn again from past decisions, the policy does not.

A ring buffer on the device (flashbax) holds decisions with their value targets and labels; rare ones are sampled more
often. While the heads learn, a divergence term holds the policy where PPO left it.
"""

from typing import TYPE_CHECKING, NamedTuple

import chex
import flashbax
import jax
import jax.numpy as jnp
from flashbax.buffers.prioritised_trajectory_buffer import PrioritisedTrajectoryBuffer
from flashbax.buffers.prioritised_trajectory_buffer import PrioritisedTrajectoryBufferState as Stored

from agents.networks import Params, reconsider

if TYPE_CHECKING:
    from train.ppo import Task
    from train.settings import PPO


class Experience(NamedTuple):
    """One decision in the buffer, [row, ...]."""

    kept: chex.ArrayTree  # what the model's `recall` needs
    target: chex.Array  # float32[]  for the value
    weight: chex.Array  # float32[]  0 for decisions that nothing is learned from
    labels: chex.ArrayTree


def make_buffer(capacity: int, rows: int) -> PrioritisedTrajectoryBuffer:
    """A prioritised ring of `capacity` decisions, sampled `rows` at a time with replacement."""
    return flashbax.make_prioritised_item_buffer(
        max_length=capacity,
        min_length=1,
        sample_batch_size=rows,
        add_sequences=True,
        priority_exponent=1.0,
        device=jax.default_backend(),
    )


def add(buffer: PrioritisedTrajectoryBuffer, state: Stored, newest: Experience, priority: chex.Array) -> Stored:
    """Write the newest decisions over the oldest, each with its own priority [row]; without weight it is none."""
    capacity = state.experience.target.shape[1]
    places = (state.current_index + jnp.arange(priority.shape[0])) % capacity
    state = buffer.add(state, newest)
    return buffer.set_priorities(state, places, priority * newest.weight)


def importance(probability: chex.Array, count: chex.Array) -> chex.Array:
    """Weights 1 / (n P) that undo the priorities, [row]."""
    return 1 / (count * probability)


def replay_loss(
    cfg: "PPO", task: "Task", params: Params, present: Params, experience: Experience, weight: chex.Array
) -> chex.Array:
    """Value and labels of stored decisions, with the policy held to that of the `present` parameters."""

    def of_one(kept):
        held, _ = reconsider(task.model, present, kept)
        policy, out = reconsider(task.model, params, kept)
        return jax.lax.stop_gradient(held).kl(policy), out.value, out.labels

    drift, value, predicted = jax.vmap(of_one)(experience.kept)
    loss = cfg.value_weight * 0.5 * (value - experience.target) ** 2 + drift
    if task.auxiliary is not None:
        loss += cfg.auxiliary_weight * sum(task.auxiliary.losses(predicted, experience.labels).values())
    return (loss * weight).sum() / jnp.maximum(weight.sum(), 1e-6)
