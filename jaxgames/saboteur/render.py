"""A position as text."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from jaxgames.saboteur.cards import (
    BREAKS,
    GOLD,
    MAP,
    MENDS,
    NO_CARD,
    NUM_CONNECTED,
    NUM_GOALS,
    NUM_PATHS,
    NUM_TOOLS,
    OPEN,
    ROCKFALL,
    TOOL_NAMES,
)
from jaxgames.saboteur.cells import unpack
from jaxgames.saboteur.mine import face_up_cells, turned_goals
from jaxgames.saboteur.observe import known_goals
from jaxgames.saboteur.state import MINERS, UNDECIDED, State

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv

# By open sides, top = 1, right = 2, bottom = 4, left = 8: heavy lines are joined, light ones are dead ends.
JOINED = " ╹╺┗╻┃┏┣╸┛━┻┓┫┳╋"
DEAD_END = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"


def render(env: "SaboteurEnv", state: State, player: int | None) -> str:
    """The mine, the hands and the tools: everything, or only what `player` may know."""
    lines = [_headline(env, state), *_mine(env, state, player), *(_seat(env, state, i, player) for i in _seats(env))]
    return "\n".join(lines)


def _seats(env):
    return range(env.num_players)


def _headline(env, state):
    turn = "game over" if bool(state.terminated) else f"seat {int(state.current_player)} to move"
    left = env.num_cards - int(state.drawn)
    won = ["miners" if winner == MINERS else "saboteurs" for winner in np.asarray(state.winners) if winner != UNDECIDED]
    rounds = f"round {int(state.round) + 1} of {env.rules.rounds}, " if env.variant == "full" else ""
    history = f"; won so far: {', '.join(won)}" if won else ""
    return f"{rounds}{left} cards in the pile, {turn}{history}"


def _mine(env, state, player):
    grid = env.cells
    shape = (grid.columns, grid.rows)
    sides = np.asarray(unpack(grid, state.open)).reshape(4, *shape)
    through = np.asarray(unpack(grid, state.through)).reshape(shape)
    face_up = np.asarray(unpack(grid, face_up_cells(state))).reshape(shape)
    marks = np.full(shape, "·", dtype="<U1")
    for column, row in zip(*np.nonzero(face_up), strict=True):
        marks[column, row] = _mark(sides[:, column, row], through[column, row])
    marks[-grid.xmin, -grid.ymin] = "S"
    goals = np.asarray(state.goals[int(state.round)])
    turned = np.asarray(turned_goals(grid, state))
    known = np.ones(NUM_GOALS, bool)
    if player is not None:
        known = np.asarray(known_goals(env, state, jnp.int32(player)))
    for i, place in enumerate(grid.goal_cells):
        if not turned[i]:
            marks[place] = ("$" if goals[i] == GOLD else "o") if known[i] else "?"
        elif goals[i] == GOLD:
            marks[place] = "$"
    columns, rows = np.nonzero(marks != "·")
    top, bottom = max(rows.min() - 1, 0), min(rows.max() + 2, grid.rows)
    left, right = max(columns.min() - 1, 0), min(columns.max() + 2, grid.columns)
    header = f"x from {left + grid.xmin} to {right - 1 + grid.xmin}"
    return [header, *(f"{row + grid.ymin:4d} {''.join(marks[left:right, row])}" for row in range(top, bottom))]


def _mark(sides, is_through):
    return (JOINED if is_through else DEAD_END)[int(sides @ (1, 2, 4, 8))]


def _seat(env, state, seat, player):
    is_open = player is None or seat == player
    hand = [card_name(kind) for kind in _hand(state, seat) if kind != NO_CARD]
    cards = " ".join(hand) if is_open else f"{len(hand)} cards"
    if env.variant == "paths":
        return f"seat {seat}: {cards}"
    role = "?"
    if is_open or int(state.winners[int(state.round)]) != UNDECIDED:  # SB-36
        role = "saboteur" if bool(state.roles[int(state.round), seat]) else "miner"
    broken = [name for name, is_broken in zip(TOOL_NAMES, np.asarray(state.broken[seat]), strict=True) if is_broken]
    tools = f", broken {' '.join(broken)}" if broken else ""
    return f"seat {seat}: {role}, {int(state.nuggets[seat])} nuggets{tools}: {cards}"


def action_name(env: "SaboteurEnv", state: State, action: int, viewer: int | None) -> str:
    """An action in words, cells as (x, y). Its player is also told what makes it unique: the slot of a card that he
    holds twice, and that a card is turned where it looks the same; others see no card that is discarded."""
    if env.variant == "paths" and action >= env.first_tool_action:
        return "skip"
    grid, actor = env.cells, int(state.current_player)
    is_own = viewer is None or viewer == actor
    hand = _hand(state, actor)
    if action >= env.first_discard:
        slot = action - env.first_discard
        return f"discard {_own_card(hand, slot)}" if is_own else "discard a card"
    if action >= env.first_tool_action:
        slot, tool_and_seat = divmod(action - env.first_tool_action, NUM_TOOLS * env.num_players)
        tool, target = divmod(tool_and_seat, env.num_players)
        card = _own_card(hand, slot) if is_own else card_name(hand[slot])
        whose = f"seat {(actor + target) % env.num_players}"
        has_choice = MENDS[hand[slot]].sum() > 1
        return f"{card} on the {TOOL_NAMES[tool]} of {whose}" if has_choice else f"{card} on {whose}"
    slot_and_cell, orientation = divmod(action, 2)
    slot, cell = divmod(slot_and_cell, grid.size)
    column, row = divmod(cell, grid.rows)
    card = _own_card(hand, slot, orientation) if is_own else card_name(hand[slot], orientation)
    return f"{card} at ({column + grid.xmin}, {row + grid.ymin})"


def _own_card(hand: list[int], slot: int, orientation: int = 0) -> str:
    """A card as its holder tells it from the others of his hand."""
    kind = hand[slot]
    name = card_name(kind, orientation)
    looks_same = orientation == 1 and name == card_name(kind)
    turned = " turned" if looks_same else ""
    number = f" (slot {slot})" if kind != NO_CARD and hand.count(kind) > 1 else ""
    return f"{name}{turned}{number}"


def _hand(state: State, seat: int) -> list[int]:
    """The card types in the slots of a hand, NO_CARD in empty ones."""
    deck = np.asarray(state.deck)[int(state.round)]
    return [int(deck[place]) if place >= 0 else NO_CARD for place in np.asarray(state.hand)[seat]]


def card_name(kind: int, orientation: int = 0) -> str:
    """A card type in a word: a path card as its picture, an action card by what it does."""
    if kind == NO_CARD:
        return "nothing"
    if kind < NUM_PATHS:
        return _mark(OPEN[kind, orientation], kind < NUM_CONNECTED)
    if kind in (MAP, ROCKFALL):
        return "map" if kind == MAP else "rockfall"
    verb, tools = ("break", BREAKS[kind]) if BREAKS[kind].any() else ("mend", MENDS[kind])
    return f"{verb}:{'/'.join(name for name, is_on in zip(TOOL_NAMES, tools, strict=True) if is_on)}"
