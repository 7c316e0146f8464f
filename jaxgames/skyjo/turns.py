"""The turn: transitions from drawing a card to passing on (section 4 of the rules page)."""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax.numpy as jnp

from jaxgames.skyjo import chance
from jaxgames.skyjo.cards import (
    HISTORY_UNKNOWN,
    NUM_CARDS,
    NUM_COLUMNS,
    NUM_ROWS,
    SOURCE_DECK,
    SOURCE_DISCARD,
    UNKNOWN_VALUE,
    Hand,
    Record,
    Slot,
)
from jaxgames.skyjo.facts import discard_top, known_sums
from jaxgames.skyjo.history import Records, no_records, record

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State


class Move(NamedTuple):
    """What an action does."""

    sets_up: chex.Array  # bool[]   turns up one of the two opening cards
    draws: chex.Array  # bool[]
    takes: chex.Array  # bool[]   the top of the discard pile
    keeps: chex.Array  # bool[]   the drawn card
    discards: chex.Array  # bool[]   the drawn card
    completes: chex.Array  # bool[]   the turn, by using the card in hand at `position`
    position: chex.Array  # int32[]  in range for every action


def draw_card(state: "State", *, when: chex.Array) -> "State":
    """The top of the draw pile comes to hand; an empty pile is refilled only now (SJ-16)."""
    state = chance.refill(state, when=when & (state.deck_pos == state.deck_end))
    state, card = chance.draw(state, when=when)
    return state.replace(
        hand=jnp.where(when, card, state.hand),
        hand_use=jnp.where(when, Hand.FROM_DECK, state.hand_use),
    )


def take_discard(state: "State", *, when: chex.Array) -> "State":
    """The top of the discard pile comes to hand, and must be placed (SJ-15)."""
    return state.replace(
        discard_size=state.discard_size - when.astype(jnp.uint8),
        hand=jnp.where(when, discard_top(state), state.hand),
        hand_use=jnp.where(when, Hand.FROM_DISCARD, state.hand_use),
    )


def keep_card(state: "State", *, when: chex.Array) -> "State":
    """The drawn card will be placed."""
    return state.replace(hand_use=jnp.where(when, Hand.KEPT, state.hand_use))


def discard_card(state: "State", *, when: chex.Array) -> "State":
    """The drawn card goes on the discard pile (in `use_card`); a hidden card will be turned up."""
    return state.replace(hand_use=jnp.where(when, Hand.THROWN, state.hand_use))


def use_card(state: "State", move: Move) -> tuple["State", Records]:
    """SJ-14: the card in hand replaces the one at `position`, or that one is turned up; in set-up only the latter.

    One card goes on the discard pile at most: the drawn one, or the one that was replaced.
    """
    place = (state.current_player, move.position)
    old = state.cards[place]
    hand, use = state.hand, state.hand_use
    acts = move.sets_up | move.completes
    places = move.completes & (use != Hand.THROWN)
    from_discard = use == Hand.FROM_DISCARD
    drawn_type = jnp.where(use == Hand.THROWN, Record.DRAW_DECK_DISCARD_AND_FLIP, Record.DRAW_DECK_KEEP_AND_REPLACE)
    turn_type = jnp.where(from_discard, Record.TAKE_DISCARD_AND_REPLACE, drawn_type)
    source = jnp.where(from_discard, SOURCE_DISCARD, SOURCE_DECK)
    written = record(
        actor=state.current_player,
        action_type=jnp.where(move.sets_up, Record.SETUP_FLIP, turn_type),
        source=jnp.where(move.sets_up, HISTORY_UNKNOWN, source),
        target_pos=move.position,
        a_value=jnp.where(move.sets_up, old, hand),
        b_value=jnp.where(move.sets_up, HISTORY_UNKNOWN, old),
        when=acts,
    )
    state = push(state, jnp.where(move.discards, hand, old), when=move.discards | places)
    used = state.replace(
        cards=state.cards.at[place].set(jnp.where(places, hand, old)),
        status=state.status.at[place].set(jnp.where(acts, Slot.FACE_UP, state.status[place])),
        hand=jnp.where(move.completes, UNKNOWN_VALUE, hand),
        hand_use=jnp.where(move.completes, Hand.EMPTY, use),
    )
    return used, written


def clear_column(env: "SkyjoEnv", state: "State", position: chex.Array, *, when: chex.Array) -> tuple["State", Records]:
    """SJ-17: three equal face-up cards leave the board. Only the column just changed can have become such a one."""
    if env.rules.max_clears_per_round == 0:
        return state, no_records()
    actor, column = state.current_player, position % NUM_COLUMNS
    places = (actor, column + NUM_COLUMNS * jnp.arange(NUM_ROWS))
    cards, status, value = state.cards[places], state.status[places], state.cards[actor, position]
    matches = ((status == Slot.FACE_UP) & (cards == value)).all()
    clears = when & matches & (state.clears[actor] < env.rules.max_clears_per_round)
    written = record(
        actor=state.current_player,
        action_type=Record.COLUMN_CLEARED,
        source=HISTORY_UNKNOWN,
        target_pos=column,
        a_value=value,
        b_value=0,
        when=clears,
    )
    if env.rules.cleared_cards == "discard":
        state = push(state, value, when=clears, copies=NUM_ROWS)
    cleared = state.replace(
        status=state.status.at[places].set(jnp.where(clears, Slot.REMOVED, status)),
        clears=state.clears.at[actor].add(clears.astype(jnp.int8)),
    )
    return cleared, written


def pass_turn(env: "SkyjoEnv", state: "State", *, sets_up: chex.Array, completes: chex.Array) -> "State":
    """Who is next: in set-up after two flips (SJ-12), else after every turn, until all followed the ender (SJ-19)."""
    is_actor = jnp.arange(env.num_players) == state.current_player
    reveals_left = state.reveals_left - (is_actor & sets_up).astype(jnp.int8)
    is_set_up = sets_up & ~(is_actor & (reveals_left > 0)).any()

    goes_out = completes & (state.ender < 0) & ~(state.status[state.current_player] == Slot.HIDDEN).any()
    ender = jnp.where(goes_out, state.current_player, state.ender)
    # In numbers: as the booleans (a | b) & ~(c & d) LLVM fails on CPUs with AVX-512 for five seats and more.
    waiting = jnp.where(goes_out, jnp.int8(1), state.final_turns.astype(jnp.int8))
    final_turns = jnp.where(completes & is_actor, jnp.int8(0), waiting) > 0
    is_last_turn = (ender >= 0) & ~final_turns.any()

    following = (state.current_player + 1) % env.num_players
    current_player = jnp.where(is_set_up | (completes & ~is_last_turn), following, state.current_player)
    starts = is_set_up & ~(reveals_left > 0).any()
    first = starter(env, known_sums(state), state.round_index, state.opener)
    return state.replace(
        reveals_left=reveals_left,
        final_turns=final_turns,
        ender=ender,
        turns_in_round=state.turns_in_round + completes,
        current_player=jnp.where(starts, first, current_player),
    )


def starter(env: "SkyjoEnv", sums: chex.Array, round_index: chex.Array, opener: chex.Array) -> chex.Array:
    """int8[], who takes the first turn, given the sums of the face-up cards (SJ-13)."""
    highest = jnp.argmax(sums).astype(jnp.int8)  # the first of equals
    if env.rules.later_start == "highest_sum":
        return highest
    return jnp.where(round_index >= 2, opener, highest)


def push(state: "State", card: chex.Array, *, when: chex.Array, copies: int = 1) -> "State":
    """`card`, `copies` times, on top of the discard pile."""
    place = jnp.minimum(state.discard_size + jnp.arange(copies), NUM_CARDS - 1)  # the pile never holds all cards
    return state.replace(
        discard=state.discard.at[place].set(jnp.where(when, card, state.discard[place])),
        discard_size=state.discard_size + copies * when.astype(jnp.uint8),
    )
