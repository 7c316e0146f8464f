"""Cards, slots and actions of Magic Trick (MT-1 to MT-9), as numbers and as names."""

import chex
import jax.numpy as jnp

NUM_SEATS = 4
NUM_SUITS = 7
NUM_VALUES = 8
NUM_CARDS = NUM_SUITS * NUM_VALUES
NUM_SLOTS = NUM_CARDS // NUM_SEATS
NUM_TRICKS = NUM_SLOTS - 1  # one card of each hand is its bid (MT-20)

SUIT_NAMES = ("stars", "spades", "moons", "hearts", "diamonds", "clubs", "triangles")
SUIT_SYMBOLS = "★♠☾♥♦♣▲"
HEARTS = 3  # trump, always (MT-3)

NO_CARD = -1
NO_BID = -1

# Actions (MT-6): play a slot, bid with a slot, or pass.
PLAY = 0
BID = NUM_SLOTS
PASS = 2 * NUM_SLOTS
NUM_ACTIONS = PASS + 1


def suit_of(card: chex.Array) -> chex.Array:
    """The suit on the back of a card, 0..6 (MT-1); -1 for NO_CARD."""
    return card >> 3


def value_of(card: chex.Array) -> chex.Array:
    """The value on the face of a card, 0..7 (MT-1); 7 for NO_CARD, so look at the card first."""
    return card & 7


def deal_hands(deck: chex.Array) -> chex.Array:
    """The four hands that a deck gives, int8[..., seat, slot] from int8[..., 56]  (MT-8, MT-9).

    Every hand rises by value, and cards of equal value stay in the order in which they were dealt.
    """
    order_dealt = jnp.arange(NUM_SLOTS, dtype=jnp.int16)
    by_seat = jnp.swapaxes(deck.reshape(*deck.shape[:-1], NUM_SLOTS, NUM_SEATS), -1, -2).astype(jnp.int16)
    sortable = value_of(by_seat) * 1024 + order_dealt * 64 + by_seat
    return (jnp.sort(sortable, axis=-1) & 63).astype(jnp.int8)


def trick_winner(trick: chex.Array) -> chex.Array:
    """Who wins, int8[] as 0 (the leader) to 3, from the four cards in order of play (MT-18)."""
    suit = suit_of(trick)
    power = value_of(trick) + 8 * (suit == suit[0]) + 16 * (suit == HEARTS)
    return jnp.argmax(power).astype(jnp.int8)


def card_name(card: int) -> str:
    """A card as people write it: `5♠`."""
    return f"{value_of(card)}{SUIT_SYMBOLS[suit_of(card)]}"


def action_name(action: int) -> str:
    """An action as people say it: `play slot 3`, `bid slot 3`, `pass`."""
    if action == PASS:
        return "pass"
    return f"bid slot {action - BID}" if action >= BID else f"play slot {action}"
