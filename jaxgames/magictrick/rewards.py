"""What the end of a hand pays (MT-28 to MT-30)."""

import chex
import jax.numpy as jnp

SCHEMES = ("v1", "v2", "points")
DIVISOR_OF_LOSS = 14.0


def hand_rewards(points: chex.Array, scheme: str) -> chex.Array:
    """float32[seat] from the points int[seat] of a finished hand; zeros pay zeros.

    A finished hand is never worth 0 (MT-24), so the change of the scores tells a hand that ended from all other steps.
    """
    points = points.astype(jnp.float32)
    if scheme == "points":
        return points
    gain = points / 3
    if scheme == "v2":
        num_positive = (points > 0).sum()
        gain = points / jnp.maximum(points.max() * num_positive, 1)
    return jnp.where(points > 0, gain, points / DIVISOR_OF_LOSS)


def illegal_penalty(scheme: str) -> float:
    """What an illegal action costs (MT-32)."""
    return 14.0 if scheme == "points" else 1.0
