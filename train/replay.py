"""Replay where it is sound (SK-61): value and auxiliary heads learn again from past decisions, the policy does not.

A ring buffer on the device (flashbax) holds decisions with their value targets and labels; rare ones are drawn more
often. While the heads learn, a divergence term holds the policy where PPO left it.
"""

from typing import Any, NamedTuple

import chex
import flashbax
import jax
import jax.numpy as jnp

from agents.networks import masked


class Memory(NamedTuple):
    """One remembered decision; in the buffer [row, ...]."""

    observation: chex.Array  # float32[size]
    mask: chex.Array  # bool[action]
    target: chex.Array  # float32[]  for the value
    is_own: chex.Array  # bool[]
    labels: Any


def make_buffer(capacity: int, rows: int):
    """A prioritised ring of `capacity` decisions, drawn `rows` at a time with replacement."""
    return flashbax.make_prioritised_item_buffer(
        max_length=capacity,
        min_length=1,
        sample_batch_size=rows,
        add_sequences=True,
        priority_exponent=1.0,
        device=jax.default_backend(),
    )


def remember(buffer: Any, state: Any, memories: Memory, priority: chex.Array) -> Any:
    """Write the newest decisions over the oldest, each with its own priority [row]; other players' weigh nothing."""
    capacity = state.experience.target.shape[1]
    places = (state.current_index + jnp.arange(priority.shape[0])) % capacity
    state = buffer.add(state, memories)
    return buffer.set_priorities(state, places, jnp.where(memories.is_own, priority, 0.0))


def importance(probability: chex.Array, count: chex.Array) -> chex.Array:
    """Weights 1 / (n P) that undo the priorities, [row]."""
    return 1 / (count * probability)


def replay_loss(task: Any, params: Any, now: Any, memory: Memory, weight: chex.Array, cfg: Any) -> chex.Array:
    """Value and labels of remembered decisions, with the policy held to that of the parameters `now`."""
    out, predicted = task.network.apply(params, memory.observation, method="everything")
    held = jax.lax.stop_gradient(task.network.apply(now, memory.observation).logits)
    drift = masked(held, memory.mask).kl_divergence(masked(out.logits, memory.mask))
    loss = cfg.value_weight * 0.5 * (out.value - memory.target) ** 2 + drift
    if task.auxiliary is not None:
        loss += cfg.auxiliary_weight * sum(task.auxiliary.losses(predicted, memory.labels).values())
    return (loss * weight).sum() / jnp.maximum(weight.sum(), 1e-6)
