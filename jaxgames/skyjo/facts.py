"""What follows from a state: the few readings that every room needs."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.skyjo.cards import NUM_CARDS, UNKNOWN_VALUE, DecisionPhase, Hand, Phase, Slot

if TYPE_CHECKING:
    from jaxgames.skyjo.state import State


def draw_pile_size(state: "State") -> chex.Array:
    """int32[]"""
    return state.deck_end.astype(jnp.int32) - state.deck_pos


def discard_top(state: "State") -> chex.Array:
    """int8[], UNKNOWN_VALUE if the pile is empty (only between the steps of a turn)."""
    below = jnp.maximum(state.discard_size, 1) - jnp.uint8(1)
    return jnp.where(state.discard_size > 0, state.discard[below], UNKNOWN_VALUE)


def in_draw_pile(state: "State") -> chex.Array:
    """bool[150], the places of `deck` that hold cards to be drawn."""
    place = jnp.arange(NUM_CARDS, dtype=jnp.uint8)
    return (place >= state.deck_pos) & (place < state.deck_end)


def in_setup(state: "State") -> chex.Array:
    """bool[], players still choose their opening reveals (SJ-12)."""
    return (state.reveals_left > 0).any()


def round_is_over(state: "State") -> chex.Array:
    """bool[], the ender and everyone after had their turn: seen from outside only when the game is over too."""
    return (state.ender >= 0) & ~state.final_turns.any()


def phase(state: "State") -> chex.Array:
    """int32[], the phase id of section 6."""
    playing = jnp.where(state.ender >= 0, jnp.int32(Phase.ROUND_END), Phase.MAIN)
    return jnp.where(state.terminated, Phase.GAME_OVER, jnp.where(in_setup(state), Phase.SETUP, playing))


def decision_phase(state: "State") -> chex.Array:
    """int32[], the decision phase id of SJ-41. After the last turn of a game it keeps its last value."""
    places = round_is_over(state) | (state.hand_use != Hand.EMPTY)
    turn = jnp.where(places, jnp.int32(DecisionPhase.CHOOSE_POSITION), DecisionPhase.CHOOSE_SOURCE)
    turn = jnp.where(state.hand_use == Hand.FROM_DECK, DecisionPhase.KEEP_OR_DISCARD, turn)
    return jnp.where(in_setup(state), DecisionPhase.SETUP_REVEAL, turn)


def has_unseen_hand(state: "State", player: chex.Array) -> chex.Array:
    """bool[], another player holds a card from the deck that `player` has not seen (SJ-50)."""
    from_deck = (state.hand_use == Hand.FROM_DECK) | (state.hand_use == Hand.KEPT)
    return from_deck & (state.current_player != player)


def drawn_value(state: "State", player: chex.Array) -> chex.Array:
    """int8[], the card in hand as `player` may see it: a card from the deck is its drawer's secret (SJ-50)."""
    is_seen = (state.hand_use != Hand.EMPTY) & ~has_unseen_hand(state, player)
    return jnp.where(is_seen, state.hand, UNKNOWN_VALUE)


def known_sums(state: "State") -> chex.Array:
    """int32[seat], the sum of each player's face-up cards."""
    return jnp.where(state.status == Slot.FACE_UP, state.cards, 0).sum(-1, dtype=jnp.int32)


def num_hidden(state: "State") -> chex.Array:
    """int32[seat], hidden slots of each player."""
    return (state.status == Slot.HIDDEN).sum(-1, dtype=jnp.int32)
