"""The round: how it is dealt, and how it is scored (sections 3 and 5 of the rules page)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.env import pick
from jaxgames.skyjo import chance
from jaxgames.skyjo.cards import (
    HISTORY_UNKNOWN,
    NUM_CARDS,
    NUM_COLUMNS,
    NUM_ROWS,
    NUM_SLOTS,
    VALUES,
    Record,
    Slot,
    num_dealt,
)
from jaxgames.skyjo.history import Records, no_records, record
from jaxgames.skyjo.turns import starter

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State


def open_round(env: "SkyjoEnv", state: "State", *, when: chex.Array) -> "State":
    """What is counted begins anew, with the cards as `lay_out` has laid them; the ender of the round before opens."""
    opened = state.replace(
        deck_pos=jnp.uint8(num_dealt(env.num_players)),
        deck_end=jnp.uint8(NUM_CARDS),
        discard_size=jnp.uint8(1),
        opener=state.ender,
        ender=jnp.int8(-1),
        final_turns=jnp.zeros_like(state.final_turns),
        reveals_left=jnp.full_like(state.reveals_left, 2 if env.manual_setup else 0),
        clears=jnp.zeros_like(state.clears),
        turns_in_round=jnp.int32(0),
        round_index=state.round_index + 1,
        refilled=jnp.bool_(False),
        next_ready=jnp.uint8(0),
    )
    return pick(when, opened, state)


def lay_out(env: "SkyjoEnv", state: "State", *, when: chex.Array) -> tuple["State", Records]:
    """SJ-8 to SJ-13: the cards of a new round from the next deck, and who is to move."""
    n = env.num_players
    deck, reveals = state.next_deck, state.next_reveals
    cards = deck[: n * NUM_SLOTS].reshape(n, NUM_SLOTS)
    dealt = state.replace(
        cards=cards,
        status=jnp.zeros_like(state.status),
        deck=deck,
        discard=state.discard.at[0].set(deck[n * NUM_SLOTS]),
        current_player=state.ender,
        next_deck=jnp.asarray(VALUES),
        next_reveals=chance.reveals_of(env, state.seed, state.round_index + 2),
    )
    if env.manual_setup:
        return pick(when, dealt, state), no_records()
    is_shown = (jnp.arange(NUM_SLOTS, dtype=jnp.int8) == reveals[:, :, None]).any(1)
    shown = jnp.take_along_axis(cards, reveals, axis=1)  # [seat, 2]
    dealt = dealt.replace(status=jnp.where(is_shown, jnp.int8(Slot.FACE_UP), Slot.HIDDEN))
    dealt = dealt.replace(current_player=starter(env, shown.sum(1), state.round_index + 1, opener=state.ender))
    flips = record(
        actor=np.repeat(np.arange(n), 2),  # SJ-11: each player's first slot, then the second
        action_type=Record.SETUP_FLIP,
        source=HISTORY_UNKNOWN,
        target_pos=reveals.ravel(),
        a_value=shown.ravel(),
        b_value=HISTORY_UNKNOWN,
        when=when,
    )
    return pick(when, dealt, state), flips


def turn_all_up(env: "SkyjoEnv", state: "State") -> tuple["State", Records]:
    """SJ-30: hidden cards are turned up at the end of a round, and columns that match then are cleared."""
    if not env.rules.final_reveal_clears:
        return state, no_records()
    status = jnp.where(state.status == Slot.HIDDEN, Slot.FACE_UP, state.status)
    columns = state.cards.reshape(-1, NUM_ROWS, NUM_COLUMNS)
    is_there = (status == Slot.FACE_UP).reshape(columns.shape).all(1)  # [seat, column]
    matches = is_there & (columns == columns[:, :1]).all(1)
    room = env.rules.max_clears_per_round - state.clears
    cleared = matches & (jnp.cumsum(matches, axis=1, dtype=jnp.int8) <= room[:, None])
    values = columns[:, 0].ravel()
    written = record(
        actor=np.repeat(np.arange(env.num_players), NUM_COLUMNS),
        action_type=Record.COLUMN_CLEARED,
        source=HISTORY_UNKNOWN,
        target_pos=np.tile(np.arange(NUM_COLUMNS), env.num_players),
        a_value=values,
        b_value=0,
        when=cleared.ravel(),
    )
    if env.rules.cleared_cards == "discard":
        state = _push_columns(state, values, cleared.ravel())
    turned = state.replace(
        status=jnp.where(jnp.tile(cleared, (1, NUM_ROWS)), Slot.REMOVED, status),
        clears=state.clears + cleared.sum(1, dtype=jnp.int8),
    )
    return turned, written


def _push_columns(state: "State", values: chex.Array, cleared: chex.Array) -> "State":
    """Three cards of each cleared column on the discard pile, in the order of the columns."""
    before = NUM_ROWS * (jnp.cumsum(cleared, dtype=jnp.int32) - cleared)
    height = jnp.arange(NUM_CARDS)[:, None] - (state.discard_size + before)  # [place, column]
    lies_here = cleared & (height >= 0) & (height < NUM_ROWS)
    return state.replace(
        discard=jnp.where(lies_here.any(1), jnp.where(lies_here, values, 0).sum(1, dtype=jnp.int8), state.discard),
        discard_size=state.discard_size + NUM_ROWS * cleared.sum(dtype=jnp.uint8),
    )


def score_round(env: "SkyjoEnv", state: "State") -> tuple["State", Records]:
    """SJ-31 to SJ-34: hidden cards count, a failed ender's total is doubled, and the limit ends the game."""
    sums = jnp.where(state.status == Slot.REMOVED, 0, state.cards).sum(1, dtype=jnp.int16)
    round_scores = after_doubling(env, sums, state.ender)
    scores = state.scores + round_scores
    written = record(
        actor=state.ender,
        action_type=Record.ROUND_END,
        source=HISTORY_UNKNOWN,
        target_pos=HISTORY_UNKNOWN,
        a_value=scores.min(),
        b_value=scores.max(),
        when=jnp.bool_(True),
    )
    ends = (scores >= env.score_limit).any()
    return state.replace(scores=scores, round_scores=round_scores, terminated=ends), written


def after_doubling(env: "SkyjoEnv", sums: chex.Array, ender: chex.Array) -> chex.Array:
    """int16[seat], the round's scores: an ender who is not lower than all others pays double (SJ-32)."""
    is_ender = jnp.arange(env.num_players) == ender
    lowest_other = jnp.where(is_ender, jnp.iinfo(jnp.int16).max, sums).min()
    fails = sums >= lowest_other if env.rules.ender_tie_doubles else sums > lowest_other
    is_penalty = (sums > 0) | (env.rules.ender_double == "any")
    return jnp.where(is_ender & fails & is_penalty, 2 * sums, sums)
