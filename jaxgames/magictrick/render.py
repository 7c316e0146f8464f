"""A position as text, host side."""

from typing import TYPE_CHECKING

import numpy as np

from jaxgames.magictrick.cards import (
    BID,
    NO_BID,
    NUM_SEATS,
    NUM_SUITS,
    PASS,
    SUIT_NAMES,
    SUIT_SYMBOLS,
    card_name,
    suit_of,
)
from jaxgames.magictrick.state import BIDDING, State

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv


def render(env: "MagicTrickEnv", state: State, player: int | None = None) -> str:
    """The table, two lines a seat, slots in order. A hidden slot shows its back alone to everybody at the table."""
    del env
    open_values = player is None
    cards = np.asarray(state.dealt)[int(state.hand_index)]
    lines = [f"Magic Trick, hand {int(state.hand_index) + 1} of {state.dealt.shape[0]}", _turn(state), _trick(state)]
    for seat in range(NUM_SEATS):
        slots = [
            _slot(int(card), bool(turned), open_values)
            for card, turned in zip(cards[seat], np.asarray(state.revealed)[seat], strict=True)
        ]
        lines += [f"seat {seat}  {_standing(state, seat)}", f"  {' '.join(slots)}"]
    return "\n".join(lines)


def action_name(env: "MagicTrickEnv", state: State, action: int, viewer: int | None = None) -> str:
    """An action as its player says it: `play slot 3`, `bid slot 3`, `pass`. Nobody knows the card before (MT-50)."""
    del env, state, viewer
    if action == PASS:
        return "pass"
    return f"bid slot {action - BID}" if action >= BID else f"play slot {action}"


def _turn(state: State) -> str:
    if bool(state.terminated):
        return "the game is over"
    question = "may bid" if int(state.phase) == BIDDING else "plays"
    return f"seat {int(state.current_player)} {question}"


def _trick(state: State) -> str:
    cards = [card_name(int(card)) for card in np.asarray(state.trick) if card >= 0]
    return f"trick   {' '.join(cards) if cards else '-'}"


def _slot(card: int, is_revealed: bool, open_values: bool) -> str:
    """`(5♠)` is revealed, ` 5♠ ` and ` ?♠ ` are hidden."""
    if is_revealed:
        return f"({card_name(card)})"
    return f" {card_name(card)} " if open_values else f" ?{SUIT_SYMBOLS[suit_of(card)]} "


def _standing(state: State, seat: int) -> str:
    bid = int(state.bid[seat])
    captured = [SUIT_NAMES[suit] for suit in range(NUM_SUITS) if int(state.captured[seat]) >> suit & 1]
    return (
        f"bid {'-' if bid == NO_BID else bid}, tricks {int(state.tricks[seat])}"
        f" ({', '.join(captured) or 'no suits'}), score {int(state.scores[seat])},"
        f" prestige {int(state.prestige[seat])}"
    )
