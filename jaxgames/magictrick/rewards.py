"""What the end of a hand pays, and who has won the game (MT-26, MT-28 to MT-30)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.magictrick.state import State

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv

SCHEMES = ("v1", "v2", "points")
DIVISOR_OF_LOSS = 14.0


def payment(env: "MagicTrickEnv", before: State, action: chex.Array, after: State) -> chex.Array:
    """float32[seat], paid by the step that ends a hand.

    A finished hand is never worth 0 (MT-24), so the change of the scores tells a hand that ended from all other steps.
    """
    del action
    return hand_rewards(after.scores - before.scores, env.reward)


def hand_rewards(points: chex.Array, scheme: str) -> chex.Array:
    """float32[seat] from the points int[seat] of a finished hand; zeros pay zeros (MT-28 to MT-30)."""
    points = points.astype(jnp.float32)
    if scheme == "points":
        return points
    gain = points / 3
    if scheme == "v2":
        num_positive = (points > 0).sum(dtype=jnp.float32)
        gain = points / jnp.maximum(points.max() * num_positive, 1)
    return jnp.where(points > 0, gain, points / DIVISOR_OF_LOSS)


def illegal_penalty(env: "MagicTrickEnv") -> float:
    """What an illegal action costs: 1, or 14 where rewards are points (MT-32)."""
    return 14.0 if env.reward == "points" else 1.0


def scores(env: "MagicTrickEnv", state: State) -> chex.Array:
    """int16[seat], points of the finished hands (MT-25)."""
    del env
    return state.scores


def winners(env: "MagicTrickEnv", state: State) -> chex.Array:
    """bool[seat], who has won: the most points, then the most prestige, then shared (MT-26).

    Nobody before the last card of the last hand lies open, so nobody in a game that an illegal action ended.
    """
    del env
    most = state.scores == state.scores.max()
    prestige = jnp.where(most, state.prestige, -1)
    return most & (prestige == prestige.max()) & state.terminated & state.revealed.all()
