"""The state of a game, and the few readings of it that every room needs."""

from typing import NamedTuple

import chex
import jax.numpy as jnp

import jaxgames.env
from jaxgames.skyjo.cards import NUM_CARDS, NUM_SLOTS, UNKNOWN_VALUE, DecisionPhase, Hand, Phase, Slot


class Script(NamedTuple):
    """A deal given from outside (SJ-6). Only states made with `deal=` carry one."""

    decks: chex.Array  # int8[round, 150]      values in dealing order
    reveals: chex.Array  # int8[round, seat, 2]  slots turned up; int8[0, seat, 2] in manual set-up
    refills: chex.Array  # uint8[refill, 150]    orders
    in_force: chex.Array  # bool[]                False in a determinization: its future is drawn afresh


@chex.dataclass(frozen=True)
class State(jaxgames.env.State):
    """One game. `step_count` is the page's `global_step`. Phases are not stored: they follow from the facts."""

    cards: chex.Array  # int8[seat, slot]  value of the card; stays readable after the slot was removed
    status: chex.Array  # int8[seat, slot]  HIDDEN, FACE_UP or REMOVED
    deck: chex.Array  # int8[150]         draw pile: the places deck_pos..deck_end-1; shuffled as it is drawn
    deck_pos: chex.Array  # uint8[]
    deck_end: chex.Array  # uint8[]
    discard: chex.Array  # int8[150]         discard pile, bottom first, in the places below discard_size
    discard_size: chex.Array  # uint8[]
    hand: chex.Array  # int8[]            card taken or drawn in an unfinished turn (decision mode)
    hand_use: chex.Array  # int8[]            EMPTY, FROM_DISCARD, FROM_DECK, KEPT or THROWN (already on the pile)
    scores: chex.Array  # int16[seat]
    round_scores: chex.Array  # int16[seat]       of the round before
    opener: chex.Array  # int8[]            who begins the set-up of this round (SJ-10)
    ender: chex.Array  # int8[]            -1 while nobody has ended the round
    final_turns: chex.Array  # bool[seat]        still to come after the ender (SJ-19)
    reveals_left: chex.Array  # int8[seat]        set-up flips to be made
    clears: chex.Array  # int8[seat]        columns cleared in this round
    turns_in_round: chex.Array  # int32[]
    round_index: chex.Array  # int32[]           from 1
    refills: chex.Array  # int32[]           refills of the game so far
    refilled: chex.Array  # bool[]            in this round
    history: chex.Array  # int16[K + 1, 6]   the last K records (SJ-47), record i in row i % K; row K is never read
    history_size: chex.Array  # int32[]           records in all
    history_in_round: chex.Array  # uint8[]           records of this round, at most K
    seed: chex.Array  # uint32[2]         all chance still to come is a function of it
    next_deck: chex.Array  # int8[150]         deck of the next round, shuffled in its first next_ready places
    next_ready: chex.Array  # uint8[]
    script: Script | None  # a deal given from outside


def num_dealt(num_players: int) -> int:
    """Cards that leave the deck when a round is dealt (SJ-8)."""
    return NUM_SLOTS * num_players + 1


def draw_pile_size(state: State) -> chex.Array:
    """int32[]"""
    return state.deck_end.astype(jnp.int32) - state.deck_pos


def discard_top(state: State) -> chex.Array:
    """int8[], UNKNOWN_VALUE if the pile is empty (only between the steps of a turn)."""
    below = jnp.maximum(state.discard_size, 1) - jnp.uint8(1)
    return jnp.where(state.discard_size > 0, state.discard[below], UNKNOWN_VALUE)


def in_draw_pile(state: State) -> chex.Array:
    """bool[150], the places of `deck` that hold cards to be drawn."""
    place = jnp.arange(NUM_CARDS, dtype=jnp.uint8)
    return (place >= state.deck_pos) & (place < state.deck_end)


def in_setup(state: State) -> chex.Array:
    """bool[], players still choose their opening reveals (SJ-12)."""
    return (state.reveals_left > 0).any()


def round_is_over(state: State) -> chex.Array:
    """bool[], the ender and everyone after had their turn: seen from outside only when the game is over too."""
    return (state.ender >= 0) & ~state.final_turns.any()


def phase(state: State) -> chex.Array:
    """int32[], the phase id of section 6."""
    playing = jnp.where(state.ender >= 0, Phase.ROUND_END, Phase.MAIN)
    return jnp.where(state.terminated, Phase.GAME_OVER, jnp.where(in_setup(state), Phase.SETUP, playing))


def decision_phase(state: State) -> chex.Array:
    """int32[], the decision phase id of SJ-41. After the last turn of a game it keeps its last value."""
    places = round_is_over(state) | (state.hand_use != Hand.EMPTY)
    turn = jnp.where(places, DecisionPhase.CHOOSE_POSITION, DecisionPhase.CHOOSE_SOURCE)
    turn = jnp.where(state.hand_use == Hand.FROM_DECK, DecisionPhase.KEEP_OR_DISCARD, turn)
    return jnp.where(in_setup(state), DecisionPhase.SETUP_REVEAL, turn)


def has_unseen_hand(state: State, player: chex.Array) -> chex.Array:
    """bool[], another player holds a card from the deck that `player` has not seen (SJ-50)."""
    from_deck = (state.hand_use == Hand.FROM_DECK) | (state.hand_use == Hand.KEPT)
    return from_deck & (state.current_player != player)


def known_sums(state: State) -> chex.Array:
    """int32[seat], the sum of each player's face-up cards."""
    return jnp.where(state.status == Slot.FACE_UP, state.cards, 0).sum(-1)


def num_hidden(state: State) -> chex.Array:
    """int32[seat], hidden slots of each player."""
    return (state.status == Slot.HIDDEN).sum(-1)
