"""Advantages at a table of several seats: a decision is paid by everything until its seat decides again."""

import chex
import jax
import jax.numpy as jnp


def advantage_by_seat(
    seat: chex.Array,
    value: chex.Array,
    reward: chex.Array,
    done: chex.Array,
    bootstrap: chex.Array,
    *,
    gamma: float,
    lam: float,
) -> chex.Array:
    """Generalised advantage of every decision along one environment, float32[step].

    seat int[step] decides with value[step]; reward[step, seat] and done[step] follow from that step; bootstrap[seat]
    is what each seat expects at the cut. A seat may decide twice running, and is paid while others decide.
    """
    seats = jnp.arange(bootstrap.shape[0])

    def back(carry, x):
        seat, value, reward, done = x
        next_value, next_advantage, owed = (jnp.where(done, 0.0, kept) for kept in carry)  # nothing crosses an ending
        owed = owed + reward
        mine = seats == seat
        total = owed + gamma * (next_value + lam * next_advantage)
        advantage = jnp.where(mine, total, 0.0).sum() - value
        carry = (
            jnp.where(mine, value, next_value),
            jnp.where(mine, advantage, next_advantage),
            jnp.where(mine, 0.0, owed),
        )
        return carry, advantage

    start = (bootstrap, jnp.zeros_like(bootstrap), jnp.zeros_like(bootstrap))
    return jax.lax.scan(back, start, (seat, value, reward, done), reverse=True)[1]
