"""A position as text."""

from typing import TYPE_CHECKING

import numpy as np

from jaxgames.schafkopf.cards import (
    CONTRACT_NAMES,
    DOUBLE,
    FIRST_CARD,
    NAMES,
    NO_DOUBLE,
    NO_SEAT,
    NUM_CARDS,
    NUM_SEATS,
    NUM_TRUMPS,
    PASS,
    TOP_TRUMPS,
)
from jaxgames.schafkopf.state import BIDDING, CONTRA, FIRST_TRICK, RETOUR, State

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv

STAGE_NAMES = {BIDDING: "bidding", CONTRA: "contra", RETOUR: "retour"}


def render(env: "SchafkopfEnv", state: State, player: int | None = None) -> str:
    """Everything on the table, and all hands or only that of `player`."""
    del env
    stage = int(state.stage)
    title = STAGE_NAMES.get(stage, f"trick {stage - FIRST_TRICK}")
    lines = [f"Schafkopf, {title}, {_contract(state)}"]
    for seat in range(NUM_SEATS):
        marks = ">" if seat == int(state.current_player) and not bool(state.done) else " "
        shown = player is None or player == seat
        cards = " ".join(_hand(state, seat)) if shown else f"{len(_hand(state, seat))} cards"
        lines.append(f"{marks} seat {seat}  {int(state.points[seat]):3d} points  {_said(state, seat):24s}  {cards}")
    lines += [_trick(state, trick) for trick in range(len(state.leaders)) if int(state.played[trick, 0]) >= 0]
    if bool(state.done):
        lines.append("over, paid " + " ".join(f"{amount:+.0f}" for amount in np.asarray(state.rewards)))
    return "\n".join(lines)


def action_name(env: "SchafkopfEnv", state: State, action: int, viewer: int | None = None) -> str:
    """An action in words, as its player would say it; whatever is said or played, everybody hears and sees (SC-50)."""
    del env, viewer
    if action >= FIRST_CARD:
        return f"play {NAMES[action - FIRST_CARD]}"
    if action in (DOUBLE, NO_DOUBLE):
        doubling = STAGE_NAMES.get(int(state.stage), "double")
        return doubling if action == DOUBLE else f"no {doubling}"
    return "pass" if action == PASS else f"bid {CONTRACT_NAMES[action]}"


def _contract(state: State) -> str:
    first = f"seat {int(state.leaders[0])} begins"
    if int(state.declarer) == NO_SEAT:
        return first
    doubled = [f"{name} by seat {int(giver)}" for name, giver in _doublings(state) if int(giver) != NO_SEAT]
    game = f"{CONTRACT_NAMES[int(state.contract)]} of seat {int(state.declarer)}"
    return ", ".join([first, game, *doubled])


def _doublings(state: State):
    return (("contra", state.contra), ("retour", state.retour))


def _said(state: State, seat: int) -> str:
    bid = int(state.bids[seat])
    return {-1: "", 0: "passed"}.get(bid, f"bid {CONTRACT_NAMES[bid]}")


def _hand(state: State, seat: int) -> list[str]:
    """The cards in hand: trumps first, then suit by suit, each from the highest."""
    gone = set(np.asarray(state.played).ravel().tolist())
    contract = int(state.contract)
    trumps = TOP_TRUMPS[contract][: NUM_TRUMPS[contract]].tolist()
    plain = [card for card in sorted(range(NUM_CARDS), key=lambda card: (card % 4, card))[::-1] if card not in trumps]
    dealt = int(state.dealt[seat])
    return [NAMES[card] for card in trumps + plain if dealt >> card & 1 and card not in gone]


def _trick(state: State, trick: int) -> str:
    leader = int(state.leaders[trick])
    cards = [NAMES[card] for card in np.asarray(state.played[trick]).tolist() if card >= 0]
    return f"  trick {trick}, led by seat {leader}: " + " ".join(cards)
