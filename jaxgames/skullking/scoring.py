"""Points at the end of a round (SK-25, SK-30 .. SK-33)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.skullking.state import State

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv


def bids_after_harry(state: State, change: chex.Array) -> chex.Array:
    """SK-25: int8[seat]; only the seat with Harry armed may change its bid, never below zero."""
    seats = jnp.arange(state.bids.shape[0])
    return jnp.maximum(jnp.where(seats == state.harry, state.bids + change, state.bids), 0)


def round_points(env: "SkullKingEnv", state: State, final_bids: chex.Array, size: chex.Array) -> chex.Array:
    """SK-30..33: points of every seat for the round, int16[seat]. A zero bid is worth the size of the round."""
    bid, bonus, size = final_bids.astype(jnp.int16), state.bonus, size.astype(jnp.int16)
    off = jnp.abs(state.won.astype(jnp.int16) - bid)
    exact = off == 0
    if env.scoring == "skull_king":
        zero = jnp.where(exact, 10 * size, -10 * size)
        points = jnp.where(bid == 0, zero, jnp.where(exact, 20 * bid + bonus, -10 * off))
    else:
        points = jnp.where(exact, 10 * size + bonus, jnp.where(off == 1, 5 * size + bonus // 2, 0))
    points += jnp.where(exact, state.bets, -state.bets)
    seats = jnp.arange(bid.shape[0])
    player, winner = seats == state.loot_player[:, None], seats == state.loot_winner[:, None]  # bool[loot, seat]
    holds = (player & exact).any(-1) & (winner & exact).any(-1)
    points += 20 * (holds[:, None] & (player | winner)).sum(0, dtype=jnp.int16)
    return points.astype(jnp.int16)
