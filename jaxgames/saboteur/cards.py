"""The cards: what lies on them, how many there are, and which ids a deal gives them (SB-1 to SB-7).

Tables are numpy; they become constants where a function uses them.
"""

import numpy as np

# SB-1: sides in this order; y grows downwards.
TOP, RIGHT, BOTTOM, LEFT = range(4)
NUM_SIDES = 4
OPPOSITE = (BOTTOM, LEFT, TOP, RIGHT)
STEP_X = np.array([0, 1, 0, -1], np.int32)  # [side] where the neighbour across that side lies
STEP_Y = np.array([-1, 0, 1, 0], np.int32)

# SB-2, SB-3: card types.
NUM_CONNECTED = 7  # types 0..6 join all their open sides, 7..15 are dead ends
NUM_PATHS = 16
NUM_TOOLS = 3  # pickaxe, lantern, cart
BROKEN = 16  # 16 + tool
REPAIR = 19  # 19 + tool; 22..24 mend one of two
MAP = 25
ROCKFALL = 26
NUM_TYPES = 27
NO_CARD = -1
TOOL_NAMES = ("pickaxe", "lantern", "cart")

_OPEN_SIDES = ["TRBL", "TRB", "TRL", "TB", "RL", "RB", "BL", "TRBL", "RBL", "TRB", "TB", "RL", "RB", "BL", "T", "R"]


def _sides(letters: str) -> list[bool]:
    return [side in letters for side in "TRBL"]


# bool[type, orientation, side]: the open sides of a path card. Orientation 1 is turned by 180 degrees.
_UPRIGHT = np.array([_sides(letters) for letters in _OPEN_SIDES])
OPEN = np.stack([_UPRIGHT, np.roll(_UPRIGHT, 2, axis=-1)], axis=1)

# bool[type, tool]: what an action card breaks, and what it can mend.
BREAKS = np.zeros((NUM_TYPES, NUM_TOOLS), bool)
MENDS = np.zeros((NUM_TYPES, NUM_TOOLS), bool)
for _tool in range(NUM_TOOLS):
    BREAKS[BROKEN + _tool, _tool] = MENDS[REPAIR + _tool, _tool] = True
for _kind, _pair in ((22, (0, 1)), (23, (0, 2)), (24, (1, 2))):
    MENDS[_kind, list(_pair)] = True

# SB-2, SB-3: copies of each type.
_ACTION_COPIES = [3, 3, 3, 2, 2, 2, 1, 1, 1, 6, 3]
COPIES = {
    "official": np.array([5, 5, 5, 4, 3, 4, 5] + [1] * 9 + _ACTION_COPIES, np.int32),
    "seed": np.array([5, 5, 5, 3, 4, 4, 5] + [1] * 9 + _ACTION_COPIES, np.int32),
}
NUM_PATH_CARDS = 40
NUM_CARDS = 67
MAX_HAND = 6

# SB-5: the type of every card id of a deal.
TYPE_OF_ID = {deck: np.repeat(np.arange(NUM_TYPES), copies).astype(np.int8) for deck, copies in COPIES.items()}

# SB-4: goal cards. A turned stone shows an open side to the card that reached it (SB-25).
GOLD, STONE_A, STONE_B = range(3)
NUM_GOALS = 3
GOAL_OF_ID = {  # int8[goal id]: with the seed deck both stones are stone A
    "official": np.array([GOLD, STONE_A, STONE_B], np.int8),
    "seed": np.array([GOLD, STONE_A, STONE_A], np.int8),
}
_GOAL_SIDES = [_sides("TRBL"), _sides("BL"), _sides("RB")]


def _turned(sides: list[bool], towards: int) -> list[bool]:
    return sides if sides[towards] else list(np.roll(sides, 2))


# bool[goal card, side of the goal that was reached, side]: its open sides once it is turned over.
GOAL_OPEN = np.array([[_turned(sides, towards) for towards in range(NUM_SIDES)] for sides in _GOAL_SIDES])

# SB-6: nuggets of every gold card id.
NUGGETS_OF_ID = np.repeat(np.arange(1, 4), [16, 8, 4]).astype(np.int8)
NUM_GOLD_CARDS = 28

# SB-7, SB-13: by number of players.
SABOTEURS = {3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4}
HAND_SIZE = {3: 6, 4: 6, 5: 6, 6: 5, 7: 5, 8: 4, 9: 4, 10: 4}
