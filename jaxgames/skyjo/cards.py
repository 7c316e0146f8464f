"""The cards, the board, and what the numbers of actions, phases and records mean."""

import enum

import numpy as np

NUM_CARDS = 150
NUM_VALUES = 15
MIN_VALUE = -2
COPIES = np.array([5, 10, 15] + [10] * 12, np.int16)  # of each value index (value + 2); SJ-1
VALUES = np.repeat(np.arange(NUM_VALUES) + MIN_VALUE, COPIES).astype(np.int8)  # value of each card id; SJ-2

NUM_ROWS, NUM_COLUMNS = 3, 4
NUM_SLOTS = NUM_ROWS * NUM_COLUMNS  # slot = 4 * row + column; SJ-3

UNKNOWN_VALUE = -99  # a hidden card, no top of the discard pile, no drawn card; SJ-4
HISTORY_UNKNOWN = -127  # an unused field of a record, and padding of the history; SJ-4


class Slot(enum.IntEnum):
    """What a place of a board may be."""

    HIDDEN = 0
    FACE_UP = 1
    REMOVED = 2


class Phase(enum.IntEnum):
    """Of a round (section 6)."""

    SETUP = 0
    MAIN = 1
    ROUND_END = 2  # final turns
    GAME_OVER = 3


class DecisionPhase(enum.IntEnum):
    """Of a turn in decision mode (SJ-41)."""

    SETUP_REVEAL = 0
    CHOOSE_SOURCE = 1
    KEEP_OR_DISCARD = 2
    CHOOSE_POSITION = 3


class Macro(enum.IntEnum):
    """Macro mode: action = 12 * macro + slot (SJ-40)."""

    TAKE_DISCARD_AND_REPLACE = 0
    DRAW_DECK_KEEP_AND_REPLACE = 1
    DRAW_DECK_DISCARD_AND_FLIP = 2
    SETUP_FLIP = 3


class Decision(enum.IntEnum):
    """Decision mode: four words, then a slot as FIRST_POSITION + slot (SJ-41)."""

    CHOOSE_DECK = 0
    CHOOSE_DISCARD = 1
    KEEP_DRAWN = 2
    DISCARD_DRAWN = 3
    FIRST_POSITION = 4


NO_ACTION = -1  # nobody moves: a step with it changes nothing that is `guarded`
NUM_MACRO_ACTIONS = len(Macro) * NUM_SLOTS
NUM_DECISION_ACTIONS = Decision.FIRST_POSITION + NUM_SLOTS


class Hand(enum.IntEnum):
    """What the player to move has in hand between the steps of a turn, and what will become of it."""

    EMPTY = 0
    FROM_DISCARD = 1  # to be placed
    FROM_DECK = 2  # not yet decided
    KEPT = 3  # from the deck, to be placed
    THROWN = 4  # from the deck, already on the discard pile: a hidden card is to be turned up


class Record(enum.IntEnum):
    """The action types of public records (SJ-45)."""

    SETUP_FLIP = 0
    TAKE_DISCARD_AND_REPLACE = 1
    DRAW_DECK_KEEP_AND_REPLACE = 2
    DRAW_DECK_DISCARD_AND_FLIP = 3
    COLUMN_CLEARED = 4
    ROUND_END = 5


# A deal given from outside has this much room in a state; longer ones are refused.
MAX_DECKS, MAX_REFILLS = 8, 8

RECORD_FIELDS = ("actor", "action_type", "source", "target_pos", "a_value", "b_value")  # SJ-47
SOURCE_DECK, SOURCE_DISCARD = 0, 1


def num_dealt(num_players: int) -> int:
    """Cards that leave the deck when a round is dealt (SJ-8)."""
    return NUM_SLOTS * num_players + 1


def macro_to_action(name: str, position: int) -> int:
    """The macro action id of a turn's name and slot (SJ-40)."""
    if name not in Macro.__members__:
        raise ValueError(f"skyjo: macro action must be one of {', '.join(Macro.__members__)}, got {name!r}")
    if not _is_int(position) or not 0 <= position < NUM_SLOTS:
        raise ValueError(f"skyjo: position must be an integer in 0..{NUM_SLOTS - 1}, got {position!r}")
    return Macro[name] * NUM_SLOTS + int(position)


def action_to_macro(action: int) -> tuple[str, int]:
    """The turn's name and slot of a macro action id (SJ-40)."""
    if not _is_int(action) or not 0 <= action < NUM_MACRO_ACTIONS:
        raise ValueError(f"skyjo: action id must be an integer in 0..{NUM_MACRO_ACTIONS - 1}, got {action!r}")
    macro, position = divmod(int(action), NUM_SLOTS)
    return Macro(macro).name, position


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
