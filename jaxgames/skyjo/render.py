"""The position as text. Host side."""

from typing import TYPE_CHECKING

import numpy as np

from jaxgames.skyjo.cards import (
    NUM_COLUMNS,
    NUM_ROWS,
    UNKNOWN_VALUE,
    Decision,
    DecisionPhase,
    Hand,
    Macro,
    Phase,
    Slot,
    action_to_macro,
)
from jaxgames.skyjo.facts import decision_phase, discard_top, draw_pile_size, drawn_value, phase

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

GAP = "   "
DECISION_NAMES = {
    Decision.CHOOSE_DECK: "CHOOSE_SOURCE_DECK",
    Decision.CHOOSE_DISCARD: "CHOOSE_SOURCE_DISCARD",
    Decision.KEEP_DRAWN: "KEEP_DRAWN",
    Decision.DISCARD_DRAWN: "DISCARD_DRAWN",
}
COMPLETED = {
    Hand.EMPTY: Macro.SETUP_FLIP,
    Hand.FROM_DISCARD: Macro.TAKE_DISCARD_AND_REPLACE,
    Hand.KEPT: Macro.DRAW_DECK_KEEP_AND_REPLACE,
    Hand.THROWN: Macro.DRAW_DECK_DISCARD_AND_FLIP,
}
ACTION_WORDS = {
    "SETUP_FLIP": "turn up slot {slot}",
    "TAKE_DISCARD_AND_REPLACE": "take the {top}, put it on slot {slot}",
    "DRAW_DECK_KEEP_AND_REPLACE": "draw a card, put it on slot {slot}",
    "DRAW_DECK_DISCARD_AND_FLIP": "draw a card, discard it, turn up slot {slot}",
    "CHOOSE_SOURCE_DECK": "draw a card",
    "CHOOSE_SOURCE_DISCARD": "take the {top}",
    "KEEP_DRAWN": "keep the card",
    "DISCARD_DRAWN": "discard the card",
}
# In decision mode the card is already in hand, or on the pile.
LAST_STEPS = dict.fromkeys(("TAKE_DISCARD_AND_REPLACE", "DRAW_DECK_KEEP_AND_REPLACE"), "put it on slot {slot}")
LAST_STEPS |= dict.fromkeys(("DRAW_DECK_DISCARD_AND_FLIP", "SETUP_FLIP"), "turn up slot {slot}")
HAND_WORDS = {
    Hand.FROM_DISCARD: "taken from the discard pile, to be placed",
    Hand.FROM_DECK: "drawn, to be kept or discarded",
    Hand.KEPT: "drawn and kept, to be placed",
    Hand.THROWN: "drawn and discarded, a hidden card is to be turned up",
}


def render(env: "SkyjoEnv", state: "State", player: int | None = None) -> str:
    """Everything, with hidden cards in brackets; or only what `player` may know, with hidden cards as dots."""
    n = env.num_players
    top = int(discard_top(state))
    lines = [
        f"Round {int(state.round_index)}, {Phase(int(phase(state))).name}, player {int(state.current_player)} to move"
        + (f", {DecisionPhase(int(decision_phase(state))).name}" if env.action_mode == "decision" else ""),
        f"Discard pile: {'empty' if top == UNKNOWN_VALUE else top} ({int(state.discard_size)} cards), "
        f"draw pile: {int(draw_pile_size(state))} cards",
    ]
    if int(state.hand_use) != Hand.EMPTY:
        seen = int(state.hand) if player is None else int(drawn_value(state, np.int32(player)))
        card = "A card" if seen == UNKNOWN_VALUE else f"The {seen}"
        lines.append(f"{card} {HAND_WORDS[Hand(int(state.hand_use))]}")
    boards = [
        _board(np.asarray(state.cards[seat]), np.asarray(state.status[seat]), player is None) for seat in range(n)
    ]
    width = len(boards[0][0])
    names = [f"P{seat}{'*' if int(state.ender) == seat else ''}: {int(state.scores[seat])}" for seat in range(n)]
    lines += ["", GAP.join(name.ljust(width) for name in names).rstrip()]
    lines += [GAP.join(board[row] for board in boards).rstrip() for row in range(NUM_ROWS)]
    return "\n".join(lines)


def action_name(env: "SkyjoEnv", state: "State", action: int, viewer: int | None = None) -> str:
    """A legal action in words. Everybody sees what is done and what lies on the discard pile, not what is drawn."""
    name, position = name_and_position(env, state, action)
    is_last_step = env.action_mode == "decision" and name in Macro.__members__
    words = LAST_STEPS[name] if is_last_step else ACTION_WORDS[name]
    return words.format(top=int(discard_top(state)), slot=position)


def name_and_position(env: "SkyjoEnv", state: "State", action: int) -> tuple[str, int]:
    """The name of a legal action and its slot, -1 if it names none. The last step of a turn has the turn's name."""
    if env.action_mode == "macro":
        return action_to_macro(action)
    if action < Decision.FIRST_POSITION:
        return DECISION_NAMES[Decision(action)], -1
    return COMPLETED[Hand(int(state.hand_use))].name, action - Decision.FIRST_POSITION


def _board(cards: np.ndarray, status: np.ndarray, show_hidden: bool) -> list[str]:
    """Three lines of equal width."""
    words = []
    for card, slot in zip(cards, status, strict=True):
        hidden = f"[{card}]" if show_hidden else ". "
        words.append({Slot.HIDDEN: hidden, Slot.FACE_UP: f"{card} ", Slot.REMOVED: "x "}[Slot(slot)].rjust(4))
    return ["".join(words[NUM_COLUMNS * row : NUM_COLUMNS * (row + 1)]) for row in range(NUM_ROWS)]
