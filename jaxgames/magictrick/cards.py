"""Cards, slots and actions of Magic Trick (MT-1 to MT-9), as numbers and as names."""

import chex

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


def card_name(card: int) -> str:
    """A card as people write it: `5♠`."""
    return f"{value_of(card)}{SUIT_SYMBOLS[suit_of(card)]}"
