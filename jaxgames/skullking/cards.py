"""The 74 cards, the 8 phases and the 50 actions (SK-1, SK-4, SK-5)."""

import chex
import jax.numpy as jnp
import numpy as np

NUM_CARDS = 74
NO_CARD = 74  # sorts behind every card, and indexes the last, empty row of the tables

SKULL_KING, WHALE, KRAKEN = 0, 1, 2
MERMAIDS = (3, 4)
ROSIE, BENDT, ROATAN, JADE, HARRY = PIRATES = (5, 6, 7, 8, 9)
FIRST_NUMBERED, LAST_NUMBERED = 10, 65
ESCAPES = (66, 67, 68, 69, 70)
TIGRESS = 71
LOOTS = (72, 73)

# Suits are 1..4 so that 0 can mean "no number"; FREE is the lead of a trick without a suit to follow (SK-11).
NO_SUIT, ROGER, PARROT, MAP, CHEST, FREE = range(6)
SUIT_NAMES = ("Roger", "Parrot", "Map", "Chest")
FOURTEENS = (23, 37, 51, 65)
ABILITIES = ("rosie", "bendt", "roatan", "jade", "harry")  # options, in the order of the pirates' ids

MAX_PLAYERS = 6
MAX_HAND = 10  # cards in PLAYING; Bendt's draw makes it 11 for two decisions
MAX_SLOTS = 11

# Phases (SK-4).
BIDDING, PLAYING, ABILITY_ROSIE, ABILITY_BENDT_1, ABILITY_BENDT_2, ABILITY_ROATAN, ABILITY_JADE, ABILITY_HARRY = range(
    8
)
NUM_PHASES = 8
PHASE_NAMES = ("bidding", "playing", "Rosie", "Bendt (1st)", "Bendt (2nd)", "Roatán", "Jade", "Harry")
# The ability of the pirate with id ROSIE + j asks in this phase; Harry only arms, his question comes after the round.
PIRATE_PHASES = np.array([ABILITY_ROSIE, ABILITY_BENDT_1, ABILITY_ROATAN, ABILITY_JADE, PLAYING], np.int8)

# Actions: the first id of each head, and how many it has (SK-5).
NUM_ACTIONS = 50
BID, NUM_BIDS = 0, 11
PLAY, NUM_PLAYS = 11, 13
PLAY_TIGRESS_AS_PIRATE, PLAY_TIGRESS_AS_ESCAPE = PLAY + 11, PLAY + 12
LEAD, NUM_LEADS = 24, 6
DISCARD, NUM_DISCARDS = 30, 13
BET, NUM_BETS = 43, 3
CHANGE, NUM_CHANGES = 46, 3
ACKNOWLEDGE = 49


def suit_of(card: chex.Array) -> chex.Array:
    """1..4 for Roger, Parrot, Map, Chest; 0 for a card without a number. Same shape and dtype as `card`."""
    steps = sum((card >= first).astype(card.dtype) for first in (10, 24, 38, 52))
    return jnp.where(card <= LAST_NUMBERED, steps, 0)


def number_of(card: chex.Array) -> chex.Array:
    """1..14, or 0 for a card without a number. Same shape and dtype as `card`."""
    suit = suit_of(card)
    return jnp.where(suit > 0, card - 14 * suit + 5, 0)


def is_pirate(card: chex.Array, tigress_is_pirate: chex.Array) -> chex.Array:
    """Does the card act as a pirate? (SK-1; `tigress_is_pirate` is how she was declared.)"""
    return ((card >= ROSIE) & (card <= HARRY)) | ((card == TIGRESS) & tigress_is_pirate)


def is_escape(card: chex.Array, tigress_is_pirate: chex.Array) -> chex.Array:
    """Does the card act as an escape? Escapes, Loots, and the Tigress declared as one."""
    return (card >= ESCAPES[0]) & (card <= LOOTS[1]) & ~((card == TIGRESS) & tigress_is_pirate)


def is_mermaid(card: chex.Array) -> chex.Array:
    return (card == MERMAIDS[0]) | (card == MERMAIDS[1])


def card_name(card: int) -> str:
    """Short name: R5, P14, Rosie, Escape ..."""
    if FIRST_NUMBERED <= card <= LAST_NUMBERED:
        return "RPMC"[(card - 10) // 14] + str((card - 10) % 14 + 1)
    names = {SKULL_KING: "SkullKing", WHALE: "Whale", KRAKEN: "Kraken", TIGRESS: "Tigress", NO_CARD: "-"}
    names |= dict(zip(PIRATES, ("Rosie", "Bendt", "Roatán", "Jade", "Harry"), strict=True))
    names |= dict.fromkeys(MERMAIDS, "Mermaid") | dict.fromkeys(ESCAPES, "Escape") | dict.fromkeys(LOOTS, "Loot")
    return names[card]


def _bid_table() -> np.ndarray:
    """SK-70: what a card is worth in hundredths of a trick, int16[card + 1]; 0 for NO_CARD."""
    worth = np.zeros(NUM_CARDS + 1, np.int16)
    worth[SKULL_KING], worth[WHALE], worth[KRAKEN], worth[TIGRESS] = 90, 20, 15, 35
    worth[list(MERMAIDS)], worth[list(PIRATES)], worth[list(LOOTS)] = 40, 60, 5
    for card in range(FIRST_NUMBERED, LAST_NUMBERED + 1):
        number = (card - 10) % 14 + 1
        if card < 24:
            worth[card] = 70 if number >= 10 else 40 if number >= 6 else 20
        else:
            worth[card] = 30 if number >= 12 else 15 if number >= 8 else 0
    return worth


BID_TABLE = _bid_table()
