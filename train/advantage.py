"""Advantages at a table of several seats: a decision is paid by everything until its seat decides again."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

NOBODY = -1  # the seat of a step that was no decision


class Following(NamedTuple):
    """What is known, looking back from some step, of each seat's next decision."""

    value: chex.Array  # float32[seat]  of that decision
    advantage: chex.Array  # float32[seat]  of that decision
    owed: chex.Array  # float32[seat]  rewards that no decision has been paid with yet
    is_known: chex.Array  # bool[seat]  the rollout shows it, or shows that there is none


def advantage_by_seat(
    seat: chex.Array,
    value: chex.Array,
    reward: chex.Array,
    terminated: chex.Array,
    truncated: chex.Array,
    mover: chex.Array,
    mover_value: chex.Array,
    *,
    gamma: float,
    lam: float,
) -> tuple[chex.Array, chex.Array]:
    """(advantage float32[step], is_judged bool[step]) of every decision along one environment.

    seat int[step] decides with value[step]; reward[step, seat], terminated[step] and truncated[step] follow from that
    step; after the last one `mover` is to decide, with `mover_value`. A seat may decide twice running, and is paid
    while others decide. A step of NOBODY is judged by no one; it pays like any other.

    Where the rollout is cut, or a game is cut short, no network is asked what the seats that are not to move expect: it
    has only ever seen their own turns. Their last decision is not judged, and its value stands for what follows.
    """
    seats = jnp.arange(reward.shape[-1])

    def back(following, x):
        seat, value, reward, terminated, truncated = x
        # Nothing crosses an ending; after a regular one nothing follows, after a cut what follows is unknown.
        next_value, next_advantage, owed = (jnp.where(terminated | truncated, 0.0, each) for each in following[:3])
        is_known = terminated | (following.is_known & ~truncated)
        owed = owed + reward
        mine = seats == seat
        is_judged = (mine & is_known).any()
        total = owed + gamma * (next_value + lam * next_advantage)
        advantage = jnp.where(is_judged, jnp.where(mine, total, 0.0).sum() - value, 0.0)
        following = Following(
            value=jnp.where(mine, value, next_value),
            advantage=jnp.where(mine, advantage, next_advantage),
            owed=jnp.where(mine, 0.0, owed),
            is_known=mine | is_known,
        )
        return following, (advantage, is_judged)

    nothing, moves = jnp.zeros(seats.shape), seats == mover
    end = Following(jnp.where(moves, mover_value, 0.0), nothing, nothing, moves)
    return jax.lax.scan(back, end, (seat, value, reward, terminated, truncated), reverse=True)[1]
