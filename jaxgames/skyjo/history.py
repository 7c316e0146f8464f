"""The public history: records of six numbers, of which the state keeps the last K (section 7 of the rules page)."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax.numpy as jnp

from jaxgames.skyjo.cards import HISTORY_UNKNOWN, RECORD_FIELDS

if TYPE_CHECKING:
    from jaxgames.skyjo.state import State


class Records(NamedTuple):
    """Records that one step may write, in the order of SJ-46."""

    rows: chex.Array  # int16[record, 6]
    written: chex.Array  # bool[record], which of them it does write


def record(
    actor: chex.Numeric,
    action_type: chex.Numeric,
    source: chex.Numeric,
    target_pos: chex.Numeric,
    a_value: chex.Numeric,
    b_value: chex.Numeric,
    *,
    when: chex.Array,
) -> Records:
    """One record or, with arguments of one length, that many (SJ-45)."""
    fields = [jnp.asarray(field, jnp.int16) for field in (actor, action_type, source, target_pos, a_value, b_value)]
    rows = jnp.stack(jnp.broadcast_arrays(*fields), axis=-1).reshape(-1, len(RECORD_FIELDS))
    return Records(rows=rows, written=jnp.broadcast_to(when, rows.shape[:1]))


def empty(length: int) -> chex.Array:
    """int16[K + 1, 6] of padding. The last row is for what is not to be kept: no index ever leaves the array."""
    return jnp.full((length + 1, len(RECORD_FIELDS)), HISTORY_UNKNOWN, jnp.int16)


def no_records() -> Records:
    """Where the options leave nothing to write."""
    return Records(rows=empty(0)[:0], written=jnp.zeros(0, bool))


def write(state: "State", records: list[Records], *, deals: chex.Array) -> "State":
    """Append what was written. After `deals` only the last part, the new round's set-up, is of the current round."""
    together = Records(*map(jnp.concatenate, zip(*records, strict=True)))
    history, size = _append(state.history, state.history_size, together)
    in_round = jnp.where(deals, records[-1].rows.shape[0], state.history_in_round + size - state.history_size)
    return state.replace(
        history=history,
        history_size=size,
        history_in_round=jnp.minimum(in_round, capacity(state)).astype(jnp.uint8),
    )


def _append(history: chex.Array, size: chex.Array, part: Records) -> tuple[chex.Array, chex.Array]:
    """The ring with the written rows of one part, and the number of records in all."""
    length, count = history.shape[0] - 1, part.rows.shape[0]
    if count == 0:
        return history, size
    through = part.written.astype(jnp.int32) if count == 1 else jnp.cumsum(part.written, dtype=jnp.int32)
    if length > 0:
        is_kept = part.written & (through > through[-1] - length)  # the rest would be overwritten at once
        row = jnp.where(is_kept, (size + through - 1) % length, length)
        history = history.at[row].set(jnp.where(is_kept[:, None], part.rows, HISTORY_UNKNOWN))
    return history, size + through[-1]


def capacity(state: "State") -> int:
    """K, the records that the state keeps."""
    return state.history.shape[0] - 1


def in_order(state: "State") -> chex.Array:
    """int16[K, 6], the last K records, oldest first, padding in front."""
    length = capacity(state)
    return state.history[(state.history_size + jnp.arange(length)) % max(1, length)]


def is_current_round(state: "State") -> chex.Array:
    """bool[K], rows of `in_order` that belong to this round."""
    length = capacity(state)
    return jnp.arange(length) >= length - state.history_in_round.astype(jnp.int32)


def since_last_turn(state: "State", player: chex.Array) -> chex.Array:
    """bool[K], rows of `in_order` after the second newest record of `player`, within this round (SJ-48)."""
    own = is_current_round(state) & (in_order(state)[:, 0] == player)
    own_from_here = jnp.cumsum(own[::-1], dtype=jnp.int32)[::-1]
    return is_current_round(state) & (own_from_here < 2)
