"""The trick on the table: what it asks for, who wins it and what it is worth (SK-11, SK-14 .. SK-18)."""

import chex
import jax.numpy as jnp

from jaxgames.skullking.cards import (
    FREE,
    KRAKEN,
    NO_CARD,
    ROGER,
    SKULL_KING,
    WHALE,
    is_escape,
    is_mermaid,
    is_pirate,
    number_of,
    suit_of,
)
from jaxgames.skullking.state import State
from jaxgames.tricks import play_order, seat_after, strongest


def table(state: State) -> chex.Array:
    """int8[seat]: the card each seat has in the open trick, NO_CARD if none (always so between tricks)."""
    last = state.played.shape[1] - 1
    return jnp.where(state.tricks <= last, state.played[:, jnp.minimum(state.tricks, last)], NO_CARD)


def lead_of(state: State) -> chex.Array:
    """SK-11: the suit to follow (1..4), FREE for a trick without one, 0 while nothing has decided. int8[]"""
    cards = table(state)
    order = play_order(state.leader, cards.shape[0])
    decides = (cards != NO_CARD) & ~is_escape(cards, state.tigress_is_pirate)
    card = card_played_first(cards, order, decides)
    suit = suit_of(card)
    return jnp.where(card == NO_CARD, 0, jnp.where(suit > 0, suit, FREE)).astype(jnp.int8)


def next_leader(cards: chex.Array, leader: chex.Array, tigress_is_pirate: chex.Array) -> chex.Array:
    """SK-14..16: who leads after a complete trick, int8[seat]: its winner, or who the rules name without one. int8[]"""
    order = play_order(leader, cards.shape[0])
    suit, number = suit_of(cards), number_of(cards)
    has_number = number > 0
    has_king = (cards == SKULL_KING).any()
    led = suit_of(card_played_first(cards, order, has_number))
    power = jnp.where(has_number & (suit == led), 20 + number, 0).astype(jnp.int16)
    power = jnp.where(suit == ROGER, 50 + number, power)
    power = jnp.where(is_mermaid(cards), jnp.where(has_king, 400, 100), power)
    power = jnp.where(is_pirate(cards, tigress_is_pirate), 200, power)
    power = jnp.where(cards == SKULL_KING, 300, power)
    # Below every escape, the Whale above the Kraken: who leads when nothing else lies there (SK-15).
    power = jnp.where(cards == WHALE, -1, jnp.where(cards == KRAKEN, -2, power))
    # Under the Whale only numbers count; where there is none, her own seat leads.
    under_whale = jnp.where(has_number, number, jnp.where(cards == WHALE, 0, -1)).astype(jnp.int16)
    whale_rules = when_played(WHALE, cards, order) > when_played(KRAKEN, cards, order)
    best = jnp.where(whale_rules, strongest(under_whale, order), strongest(power, order))
    return seat_after(leader, best, cards.shape[0])


def nobody_wins(cards: chex.Array, leader: chex.Array) -> chex.Array:
    """SK-15, SK-16: bool[], the Kraken has power over the complete trick, or the Whale over one without a number."""
    order = play_order(leader, cards.shape[0])
    whale, kraken = when_played(WHALE, cards, order), when_played(KRAKEN, cards, order)
    return (kraken > whale) | ((whale > kraken) & ~(number_of(cards) > 0).any())


def when_played(card: int, cards: chex.Array, order: chex.Array) -> chex.Array:
    """int8[]: the place of the card in the order of play, -1 if it is not there."""
    return jnp.where(cards == card, order, -1).max()


def trick_bonus(cards: chex.Array, winning_card: chex.Array, tigress_is_pirate: chex.Array) -> chex.Array:
    """SK-18: bonus points that a won trick is worth to its winner, int16[]."""
    number, suit = number_of(cards), suit_of(cards)
    fourteens = jnp.where(number == 14, jnp.where(suit == ROGER, 20, 10), 0).sum()
    mermaids = is_mermaid(cards).sum()
    pirates = is_pirate(cards, tigress_is_pirate).sum()
    king = (cards == SKULL_KING).any()
    captures = jnp.where(is_pirate(winning_card, tigress_is_pirate), 20 * mermaids, 0)
    captures = jnp.where(winning_card == SKULL_KING, 30 * pirates, captures)
    captures = jnp.where(is_mermaid(winning_card) & king, 40, captures)
    return (fourteens + captures).astype(jnp.int16)


def card_played_first(cards: chex.Array, order: chex.Array, among: chex.Array) -> chex.Array:
    """int8[]: the earliest of the cards in `among`, NO_CARD if there is none."""
    first = jnp.where(among, order, len(cards)).min()
    return jnp.where(among & (order == first), cards, NO_CARD).min()
