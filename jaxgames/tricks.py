"""What trick-taking games share: seats around the table and the order of play."""

import chex
import jax.numpy as jnp


def seat_after(seat: chex.Array, steps: chex.Numeric, num_players: int) -> chex.Array:
    """The seat `steps` places clockwise of `seat`, int8[]. Wrapped here, so that no index can leave the table."""
    return ((jnp.asarray(seat, jnp.int32) + steps) % num_players).astype(jnp.int8)


def play_order(leader: chex.Array, num_players: int) -> chex.Array:
    """int8[seat]: 0 for the leader of the trick, then 1, 2, ... clockwise."""
    behind = jnp.arange(num_players, dtype=jnp.int8) - leader
    return jnp.where(behind < 0, behind + jnp.int8(num_players), behind).astype(jnp.int8)
