"""What trick-taking games share: seats around the table, the order of play, and who wins a trick."""

import chex
import jax.numpy as jnp


def seat_after(seat: chex.Array, steps: chex.Numeric, num_players: int) -> chex.Array:
    """The seat `steps` places clockwise of `seat`, int8[]. Wrapped here, so that no index can leave the table."""
    return ((jnp.asarray(seat, jnp.int32) + steps) % num_players).astype(jnp.int8)


def seats_from(player: chex.Array, num_players: int) -> chex.Array:
    """int8[seat]: all seats, `player` first, then clockwise: the order in which a view shows them."""
    return seat_after(player, jnp.arange(num_players, dtype=jnp.int32), num_players)


def play_order(leader: chex.Array, num_players: int) -> chex.Array:
    """int8[seat]: 0 for the leader of the trick, then 1, 2, ... clockwise."""
    behind = jnp.arange(num_players, dtype=jnp.int8) - leader
    return jnp.where(behind < 0, behind + jnp.int8(num_players), behind).astype(jnp.int8)


def strongest(power: chex.Array, order: chex.Array) -> chex.Array:
    """int32[], the place in the order of play (0..7) of the card with the highest power, the earliest of equals.

    `order` is the place of each card. It rides in the low bits of the power: no argmax, which is slow on a CPU.
    """
    return 7 - ((power.astype(jnp.int32) * 8 + (7 - order)).max() & 7)
