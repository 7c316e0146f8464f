"""The cards, the actions and the contracts of Schafkopf (SC-1..5, SC-16). Sets of cards are uint32, one bit a card."""

from collections.abc import Iterable

import chex
import jax
import jax.numpy as jnp
import numpy as np

NUM_SEATS = 4
NUM_CARDS = 32
HAND_SIZE = 8
NUM_TRICKS = 8

# SC-1, SC-2: card id = 4 * rank + suit. U = Unter, O = Ober, K = König, X = ten, A = Sau (ace).
SUIT_LETTERS = "SHGE"
RANK_LETTERS = "789UOKXA"
NAMES = tuple(suit + rank for rank in RANK_LETTERS for suit in SUIT_LETTERS)
SUIT_NAMES = ("Schellen", "Herz", "Gras", "Eichel")
SCHELLEN, HERZ, GRAS, EICHEL = range(4)
UNTER, OBER, KOENIG, TEN, ACE = 3, 4, 5, 6, 7
RANK_POINTS = (0, 0, 0, 2, 3, 4, 10, 11)  # SC-3, by rank

NO_CARD = -1
NO_SEAT = -1
NO_BID = -1

# SC-4: the 43 actions. Sauspiel calls Schellen, Gras or Eichel; Solo follows the order of the suits.
PASS, SAUSPIEL, WENZ, SOLO = 0, 1, 4, 5
DOUBLE, NO_DOUBLE = 9, 10
FIRST_CARD = 11
NUM_BIDS = 9
NUM_ACTIONS = FIRST_CARD + NUM_CARDS
SAUSPIEL_SUITS = (SCHELLEN, GRAS, EICHEL)  # by bid, from SAUSPIEL on
CONTRACT_NAMES = (
    "no game",
    *(f"Sauspiel on {SUIT_NAMES[suit]}" for suit in SAUSPIEL_SUITS),
    "Wenz",
    *(f"Solo {name}" for name in SUIT_NAMES),
)


def card_set(cards: Iterable[int]) -> np.uint32:
    """The set of these card ids, uint32."""
    return np.uint32(sum(1 << int(card) for card in cards))


def parse(text: str) -> list[int]:
    """Card ids of a text such as "EO GX S7"."""
    return [NAMES.index(name) for name in text.split()]


RANKS = np.array([card_set(range(4 * rank, 4 * rank + 4)) for rank in range(8)])  # uint32[rank]
SUITS = np.array([card_set(range(suit, NUM_CARDS, 4)) for suit in range(4)])  # uint32[suit]
COURT = RANKS[UNTER] | RANKS[OBER]  # trumps without a suit, except the Ober in Wenz
PLAIN = SUITS & ~COURT  # uint32[suit]  what makes a suit callable (SC-9)
ACES = SUITS & RANKS[ACE]  # uint32[suit]
LOW = PLAIN & ~ACES  # uint32[suit]  7 8 9 K X: the "called cards" of the called suit

# Contracts (SC-5) are the bids 0..8; a passed game that is played out has the trumps of Wenz (SC-21).
TYPE_RANK = np.array([-1, 0, 0, 0, 1, 2, 2, 2, 2], np.int8)  # int8[contract]
CALLED_SUIT = np.array([-1, *SAUSPIEL_SUITS, -1, -1, -1, -1, -1], np.int8)  # int8[contract]  -1: nothing is called
TRUMP_SUIT = np.array([-1, HERZ, HERZ, HERZ, -1, SCHELLEN, HERZ, GRAS, EICHEL], np.int8)  # int8[contract]
TRUMPS = np.where(TRUMP_SUIT >= 0, COURT | SUITS[TRUMP_SUIT], RANKS[UNTER])  # uint32[contract]
CALLED_ACE = np.where(CALLED_SUIT >= 0, ACES[CALLED_SUIT], np.uint32(0))  # uint32[contract]
CALLED_CARDS = np.where(CALLED_SUIT >= 0, LOW[CALLED_SUIT], np.uint32(0))  # uint32[contract]


def _trumps_from_the_top(contract: int) -> list[int]:
    """SC-16 backwards: Obers, Unters, then the trump suit; Wenz has the Unters alone."""
    suit = int(TRUMP_SUIT[contract])
    if suit < 0:
        return parse("EU GU HU SU")
    tail = [4 * rank + suit for rank in (ACE, TEN, KOENIG, 2, 1, 0)]
    return parse("EO GO HO SO EU GU HU SU") + tail


NUM_TRUMPS = np.array([len(_trumps_from_the_top(contract)) for contract in range(NUM_BIDS)], np.int8)
# int8[contract, place]: padded with the last trump, so that every entry is a card.
TOP_TRUMPS = np.array([(order + 14 * order[-1:])[:14] for order in map(_trumps_from_the_top, range(NUM_BIDS))], np.int8)


def bit(card: chex.Array) -> chex.Array:
    """The set that holds only `card`, uint32 of the same shape; NO_CARD gives the empty set."""
    one = jnp.uint32(1) << (card.astype(jnp.uint32) & 31)
    return jnp.where(card >= 0, one, jnp.uint32(0))


def unpack(cards: chex.Array) -> chex.Array:
    """A set as bool[..., card]."""
    return ((cards[..., None] >> jnp.arange(NUM_CARDS, dtype=jnp.uint32)) & 1).astype(bool)


def size(cards: chex.Array) -> chex.Array:
    """How many cards a set holds, int32."""
    return jax.lax.population_count(cards).astype(jnp.int32)


def union(sets: chex.Array) -> chex.Array:
    """The union of sets that share no card, along the last axis: for those a sum is an or."""
    return sets.sum(axis=-1, dtype=jnp.uint32)


def of_contract(table: np.ndarray, contract: chex.Array) -> chex.Array:
    """The row of a table by contract; a contract is always 0..8."""
    return jnp.asarray(table)[contract]
