"""A position as text, for people: everything, or what one seat may know."""

from typing import TYPE_CHECKING

import jax
import numpy as np

from jaxgames.skullking.cards import (
    BET,
    BID,
    BIDDING,
    CHANGE,
    DISCARD,
    LEAD,
    NO_CARD,
    PHASE_NAMES,
    PLAY,
    PLAY_TIGRESS_AS_ESCAPE,
    PLAY_TIGRESS_AS_PIRATE,
    SUIT_NAMES,
    TIGRESS,
    card_name,
)
from jaxgames.skullking.observe import known_cards

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv
    from jaxgames.skullking.state import State


def render(env: "SkullKingEnv", state: "State", player: int | None = None) -> str:
    """The whole position, or only what `player` may know."""
    state = jax.tree.map(np.asarray, state)
    size, table = env.hand_sizes[int(state.round)], open_trick(state)
    lines = [
        f"Skull King, round {int(state.round) + 1} of {len(env.hand_sizes)} ({size} cards), "
        f"trick {min(int(state.tricks) + 1, size)}, {PHASE_NAMES[int(state.phase)]}"
        + (", game over" if state.terminated else f", seat {int(state.current_player)} to act")
    ]
    for seat in range(env.num_players):
        shows = player is None or player == seat
        cards = [card_name(int(card)) for card in state.hand[seat] if card != NO_CARD]
        bid = int(state.bids[seat])
        known_bid = bid >= 0 and (shows or state.phase != BIDDING)
        notes = [
            f"total {int(state.total[seat]):4d}",
            f"bid {bid if known_bid else '?' if bid >= 0 else '-'}",
            f"won {int(state.won[seat])}",
            "hand " + (" ".join(cards) if shows else f"{len(cards)} cards"),
        ]
        if table[seat] != NO_CARD:
            notes.append("plays " + table_name(int(table[seat]), bool(state.tigress_is_pirate)))
        if state.bets[seat]:
            notes.append(f"bet {int(state.bets[seat])}")
        if state.harry == seat:
            notes.append("Harry armed")
        if state.voids[seat].any():
            notes.append("void in " + ", ".join(np.array(SUIT_NAMES)[state.voids[seat]]))
        lines.append(f"  {'>' if state.leader == seat else ' '} seat {seat}: " + " | ".join(notes))
    for loot_player, winner in zip(state.loot_player, state.loot_winner, strict=True):
        if loot_player >= 0:
            lines.append(f"  alliance: seats {int(loot_player)} and {int(winner)}")
    lines += secrets(env, state, player)
    return "\n".join(lines)


def secrets(env: "SkullKingEnv", state: "State", player: int | None) -> list[str]:
    """What only Bendt's and Jade's users know."""
    lines = []
    thrown = [card_name(int(card)) for card in state.discards if card != NO_CARD]
    if thrown and player in (None, int(state.bendt)):
        lines.append("  discarded with Bendt: " + " ".join(thrown))
    if state.jade >= 0 and player in (None, int(state.jade)):
        seen = np.flatnonzero(np.asarray(known_cards(env, state, int(state.jade)).jade))
        lines.append("  Jade saw in the stock: " + " ".join(card_name(int(card)) for card in seen))
    return lines


def open_trick(state: "State") -> np.ndarray:
    """int[seat]: cards of the open trick."""
    trick = int(state.tricks)
    return state.played[:, trick] if trick < state.played.shape[1] else np.full(len(state.won), NO_CARD)


def table_name(card: int, tigress_is_pirate: bool) -> str:
    if card == TIGRESS:
        return "Tigress as " + ("pirate" if tigress_is_pirate else "escape")
    return card_name(card)


def action_name(env: "SkullKingEnv", state: "State", action: int, viewer: int | None = None) -> str:
    """An action in words, as the viewer sees it done: another seat's bid and discards stay face down."""
    player = int(state.current_player)
    is_own = viewer is None or viewer == player
    hand = [int(card) for card in np.asarray(state.hand)[player]]
    if action < PLAY:
        return f"bid {action - BID}" if is_own else "bid"
    if action in (PLAY_TIGRESS_AS_PIRATE, PLAY_TIGRESS_AS_ESCAPE):
        return "play " + table_name(TIGRESS, action == PLAY_TIGRESS_AS_PIRATE)
    if action < LEAD:
        return "play " + slot_name(hand, action - PLAY, numbered=is_own)
    if action < DISCARD:
        return f"seat {(player + action - LEAD) % env.num_players} leads"
    if action < BET:
        return "discard " + slot_name(hand, action - DISCARD, numbered=True) if is_own else "discard a card"
    if action < CHANGE:
        return f"bet {10 * (action - BET)}"
    return {CHANGE: "bid one less", CHANGE + 1: "keep the bid", CHANGE + 2: "bid one more"}.get(
        action, "look at the stock"
    )


def slot_name(hand: list[int], slot: int, *, numbered: bool) -> str:
    """The card in a slot. Cards that look alike are numbered for who holds them: Escape, Escape 2, ..."""
    names = [card_name(card) for card in hand]
    if slot >= len(names):
        return "-"
    copies = names[:slot].count(names[slot])
    return f"{names[slot]} {copies + 1}" if numbered and copies else names[slot]
