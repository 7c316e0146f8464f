"""Distributions over choices, each of one decision; a batch is a `vmap`.

Every policy has `sample(key)`, `mode()`, `log_prob(choice)`, `entropy()` and `kl(other)`.
"""

import math
from typing import NamedTuple, Protocol, Self

import chex
import jax
import jax.numpy as jnp


class Policy(Protocol):
    """What the learner needs of a distribution over choices; a choice is any pytree of arrays."""

    def sample(self, key: chex.PRNGKey) -> chex.ArrayTree: ...

    def mode(self) -> chex.ArrayTree: ...

    def log_prob(self, choice: chex.ArrayTree) -> chex.Array: ...

    def entropy(self) -> chex.Array: ...

    def kl(self, other: Self) -> chex.Array: ...


class Categorical(NamedTuple):
    """One of some entries, int32[]. Everything is computed from one exponential a logit, forward and back."""

    below: chex.Array  # float32[entry]  logits below the largest; the lowest finite number for what is not legal
    widths: chex.Array  # float32[entry]  their exponentials
    total: chex.Array  # float32[]  the sum of the widths

    def sample(self, key: chex.PRNGKey) -> chex.Array:
        """From one random number, where the Gumbel trick needs one for every entry.

        Probabilities become whole numbers first: sums of floats depend on their order, and a place of width zero could
        open up between two of them.
        """
        whole = (jnp.exp(self.below - jnp.log(self.total)) * 2**24).astype(jnp.int32)
        ends = jax.lax.associative_scan(jnp.add, whole, axis=-1)
        point = (jax.random.uniform(key, (1,)) * ends[-1:]).astype(jnp.int32)
        return (ends <= point).sum(dtype=jnp.int32)

    def mode(self) -> chex.Array:
        return jnp.argmax(self.below).astype(jnp.int32)

    def log_prob(self, choice: chex.Array) -> chex.Array:
        return self.below[choice] - jnp.log(self.total)

    def entropy(self) -> chex.Array:
        return jnp.log(self.total) - (self.widths * self.below).sum() / self.total

    def kl(self, other: "Categorical") -> chex.Array:
        """Of this distribution from another over the same entries."""
        probability = self.widths / self.total
        mine, theirs = (each.below - jnp.log(each.total) for each in (self, other))
        return jnp.where(probability > 0, probability * (mine - theirs), 0.0).sum()


def categorical(logits: chex.Array, legal: chex.Array) -> Categorical:
    """Over the legal entries. The lowest finite number, not -inf: an empty row stays finite."""
    cut = jnp.where(legal, logits, jnp.finfo(logits.dtype).min)
    below = cut - jax.lax.stop_gradient(cut.max(-1, keepdims=True))
    widths = jnp.exp(below)
    return Categorical(below, widths, widths.sum(-1))


class Gaussian(NamedTuple):
    """A point with independent coordinates of one fixed deviation, float32[axis]."""

    mean: chex.Array  # float32[axis]
    deviation: chex.Array  # float32[]

    def sample(self, key: chex.PRNGKey) -> chex.Array:
        return self.mean + self.deviation * jax.random.normal(key, self.mean.shape)

    def mode(self) -> chex.Array:
        return self.mean

    def log_prob(self, choice: chex.Array) -> chex.Array:
        squares = ((choice - self.mean) / self.deviation) ** 2
        return -(squares / 2 + jnp.log(self.deviation) + 0.5 * math.log(2 * math.pi)).sum()

    def entropy(self) -> chex.Array:
        return self.mean.size * (0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(self.deviation))

    def kl(self, other: "Gaussian") -> chex.Array:
        ratio = (self.deviation / other.deviation) ** 2
        apart = ((self.mean - other.mean) / other.deviation) ** 2
        return 0.5 * (ratio - 1 - jnp.log(ratio) + apart).sum()


class Joint(NamedTuple):
    """Several choices made independently of each other: a tuple of them."""

    parts: tuple[Policy, ...]

    def sample(self, key: chex.PRNGKey) -> tuple[chex.ArrayTree, ...]:
        keys = jax.random.split(key, len(self.parts))
        return tuple(part.sample(each) for part, each in zip(self.parts, keys, strict=True))

    def mode(self) -> tuple[chex.ArrayTree, ...]:
        return tuple(part.mode() for part in self.parts)

    def log_prob(self, choice: tuple[chex.ArrayTree, ...]) -> chex.Array:
        return sum((part.log_prob(each) for part, each in zip(self.parts, choice, strict=True)), jnp.float32(0))

    def entropy(self) -> chex.Array:
        return sum((part.entropy() for part in self.parts), jnp.float32(0))

    def kl(self, other: "Joint") -> chex.Array:
        return sum((part.kl(each) for part, each in zip(self.parts, other.parts, strict=True)), jnp.float32(0))
