"""The mine of Saboteur and the miners around it as a picture: everything, or what one seat may know."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxgames import pictures
from jaxgames.pictures import WIDTH, box, button, chip, choice, group, icon, move, tag, words
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
from jaxgames.saboteur.cells import WORD, inner
from jaxgames.saboteur.state import FACE_DOWN, MINERS, UNDECIDED

if TYPE_CHECKING:
    from jaxgames.saboteur.cells import Grid
    from jaxgames.saboteur.env import SaboteurEnv
    from jaxgames.saboteur.state import State

MINE_HEIGHT = 336
UPRIGHT = 1.12  # height of a cell over its width
HAND_CARD = 74, 88
SMALL_CARD = 34, 38
SIDE_NAMES = ("top", "right", "bottom", "left")


def picture(env: "SaboteurEnv", state: "State", player: int | None = None, moves: bool = True) -> str:
    """SVG; `moves` marks what the viewer may do now. A card is picked first, then its place, turned or not."""
    state = pictures.on_host(state)
    legal = pictures.legal_moves(env, state, player) if moves else {}
    task = "play or discard a card" if env.variant == "full" else "lay a card, or skip"
    detail = round_words(env, state)
    mine = survey(env, state)
    parts = [
        pictures.headline(env, state, player, task, detail),
        group(draw_mine(env, state, mine, player, legal), y=pictures.HEADER),
    ]
    y = float(pictures.HEADER + MINE_HEIGHT + 6)
    drawn, height = seats(env, state, player, legal)
    parts.append(group(drawn, y=y))
    y += height
    shown = int(state.current_player) if player is None else player
    parts.append(group(draw_hand(env, state, shown, legal), y=y))
    y += HAND_CARD[1] + 72 if env.variant == "full" else HAND_CARD[1] + 82
    parts.append(group(draw_frames(env, state, mine, legal), y=pictures.HEADER))  # over everything else
    return pictures.sheet(env, state, player, y, parts)


def round_words(env: "SaboteurEnv", state: "State") -> str:
    left = f"{env.num_cards - int(state.drawn)} cards in the pile"
    if env.variant == "paths":
        return left
    won = ["miners" if winner == MINERS else "saboteurs" for winner in state.winners if winner != UNDECIDED]
    history = f", won so far: {', '.join(won)}" if won else ""
    return f"Round {int(state.round) + 1} of {env.rules.rounds}, {left}{history}"


# -- the mine ----------------------------------------------------------------------------------------------------------


def spread(grid: "Grid", cells: np.ndarray) -> np.ndarray:
    """A set of cells as bool[..., column, row]."""
    bits = np.asarray(inner(grid, cells))[..., None] >> np.arange(WORD, dtype=np.uint32) & 1
    return bits.reshape(*cells.shape[:-1], grid.columns, -1)[..., : grid.rows].astype(bool)


class Mine(NamedTuple):
    """What lies on the board, and where on the sheet."""

    sides: np.ndarray  # bool[side, column, row]  open sides of the cards that lie face up
    through: np.ndarray  # bool[column, row]
    joined: np.ndarray  # bool[column, row]
    is_taken: np.ndarray  # bool[column, row]  a card or a goal lies there
    corner: tuple[float, float]  # of cell (0, 0), in units
    size: tuple[float, float]  # of a cell

    def at(self, column: int, row: int) -> tuple[float, float, float, float]:
        """x, y, width and height of a cell."""
        (x, y), (w, h) = self.corner, self.size
        return x + column * w, y + row * h, w, h


def survey(env: "SaboteurEnv", state: "State") -> Mine:
    """The part of the grid where cards lie, and a cell around it, as large as the sheet allows."""
    grid = env.cells
    sides = spread(grid, state.open)
    is_taken = np.array(sides.any(0))
    for cell in grid.goal_cells:
        is_taken[cell] = True
    columns, rows = np.nonzero(is_taken)
    left, right = max(int(columns.min()) - 1, 0), min(int(columns.max()) + 2, grid.columns)
    top, bottom = max(int(rows.min()) - 1, 0), min(int(rows.max()) + 2, grid.rows)
    w = min((WIDTH - 8) / (right - left), MINE_HEIGHT / (bottom - top) / UPRIGHT)
    h = UPRIGHT * w
    corner = (WIDTH - w * (left + right)) / 2, (MINE_HEIGHT - h * (top + bottom)) / 2
    return Mine(sides, spread(grid, state.through), spread(grid, state.joined), is_taken, corner, (w, h))


def draw_mine(env: "SaboteurEnv", state: "State", mine: Mine, player: int | None, legal: dict[int, str]) -> str:
    """The cards that lie there, and a mark where a card of the hand may be laid."""
    grid = env.cells
    face_up = np.array(mine.sides.any(0))
    parts = [box(2, 0, WIDTH - 4, MINE_HEIGHT, "jg-felt", rx=10)]
    for column, row in np.argwhere(face_up):
        card = tunnels(*mine.at(column, row), mine.sides[:, column, row], bool(mine.through[column, row]))
        is_cut_off = mine.through[column, row] and not mine.joined[column, row]  # by a rockfall
        parts.append(group(card, class_="jg-dim") if is_cut_off else card)
    x, y, w, h = mine.at(-grid.xmin, -grid.ymin)
    parts.append(icon("ladder", x + w / 2, y + h / 2, 0.5 * w, "jg-black"))
    for goal, cell in enumerate(grid.goal_cells):
        parts.append(draw_goal(state, player, goal, mine.at(*cell), bool(face_up[cell])))
    cells = {divmod(action // 2 % grid.size, grid.rows) for action in legal if action < env.first_tool_action}
    parts += [pictures.empty(*mine.at(*cell), "jg-spot") for cell in sorted(cells) if not mine.is_taken[cell]]
    return "\n".join(parts)


def draw_frames(env: "SaboteurEnv", state: "State", mine: Mine, legal: dict[int, str]) -> str:
    """Every way to play a card on the board."""
    frames = []
    for action, name in legal.items():
        if action < env.first_tool_action:
            slot, rest = divmod(action, 2 * env.cells.size)
            cell, turned = divmod(rest, 2)
            at = mine.at(*divmod(cell, env.cells.rows))
            frames.append(frame(at, action, name, slot, turned, kind_of(state, slot)))
    return "\n".join(frames)


def frame(at: tuple[float, float, float, float], action: int, name: str, slot: int, turned: int, kind: int) -> str:
    """Where a picked card may go: a path card shows how it would lie."""
    x, y, w, h = at
    if kind < NUM_PATHS:
        drawing = tunnels(x, y, w, h, OPEN[kind, turned], kind < NUM_CONNECTED)
    else:
        drawing = box(x + 1, y + 1, w - 2, h - 2, "jg-target jg-edge", rx=w / 10)
    return move(drawing, action, name, f"{slot}t" if turned else str(slot))


def tunnels(x: float, y: float, w: float, h: float, sides: np.ndarray, is_through: bool) -> str:
    """A path card: tunnels from its open sides that meet in the middle, or end before it."""
    ends = ((w / 2, 1.0), (w - 1, h / 2), (w / 2, h - 1), (1.0, h / 2))
    reach, wide = 1.0 if is_through else 0.42, 0.32 * w
    lines = [
        f"M{ex:.1f} {ey:.1f}L{ex + (w / 2 - ex) * reach:.1f} {ey + (h / 2 - ey) * reach:.1f}"
        for (ex, ey), is_open in zip(ends, sides, strict=True)
        if is_open
    ]
    parts = [
        box(0.5, 0.5, w - 1, h - 1, "jg-rock jg-edge", rx=w / 10),
        tag("path", d="".join(lines), class_="jg-tunnel", stroke_width=wide),
    ]
    if is_through:
        parts.append(tag("circle", cx=w / 2, cy=h / 2, r=wide / 2, class_="jg-cave"))
    return group(*parts, x=x, y=y)


def draw_goal(
    state: "State", player: int | None, goal: int, at: tuple[float, float, float, float], is_turned: bool
) -> str:
    """A goal: what lies there if it is turned, a back if not, with a sign for those who have looked at it."""
    x, y, w, h = at
    is_gold = int(state.goals[int(state.round), goal]) == GOLD
    symbol, tone = ("gold", "jg-ochre") if is_gold else ("stone", "jg-grey")
    if is_turned:
        return chip(x + 0.2 * w, y + h / 2, symbol, tone, 0.6 * w)
    back = pictures.back(*at)
    if player is None or has_looked(state, player, goal):
        return back + chip(x + 0.15 * w, y + h / 2, symbol, tone, 0.7 * w)
    return back + words(x + w / 2, y + h / 2 + 6, "?", "jg-on-back jg-bold", size=18, anchor="middle")


def has_looked(state: "State", seat: int, goal: int) -> bool:
    """Has the seat played a map on that goal in this round? Everybody has seen it do so (SB-31)."""
    is_map = state.deck[int(state.round)] == MAP
    return bool((is_map & (state.played_by == seat) & (state.played_on == goal)).any())


# -- the seats ---------------------------------------------------------------------------------------------------------


def seats(env: "SaboteurEnv", state: "State", player: int | None, legal: dict[int, str]) -> tuple[str, float]:
    """(drawing, height): a plate for each seat, the viewer's last, which is nearest to the hand."""
    is_full = env.variant == "full"
    in_a_row = 2 if is_full else 3
    w, h = (WIDTH - 4) / in_a_row, 76 if is_full else 50
    if player is None:
        h += SMALL_CARD[1] + 6
    order = pictures.around(env.num_players, player)
    order = order[1:] + order[:1] if player is not None else order
    parts = []
    for i, seat in enumerate(order):
        x, y = 2 + w * (i % in_a_row), h * (i // in_a_row)
        parts.append(group(seat_plate(env, state, player, seat, w - 4, h - 4, legal), x=x + 2, y=y))
    return "\n".join(parts), h * -(-env.num_players // in_a_row) + 2


def seat_plate(
    env: "SaboteurEnv", state: "State", player: int | None, seat: int, w: float, h: float, legal: dict[int, str]
) -> str:
    """A seat with its tools and nuggets, what it has looked at, and its role where that is known."""
    cards = int((state.hand[seat] != NO_CARD).sum())
    extra, held = [], pictures.how_many(cards, "card")
    if env.variant == "full":
        extra = public_signs(env, state, seat, w, legal)
        if player in (None, seat) or state.winners[int(state.round)] != UNDECIDED:  # SB-36
            symbol, role = ("bomb", "saboteur") if state.roles[int(state.round), seat] else ("helmet", "miner")
            extra += [chip(w - 94, 42, symbol, "jg-black", 20), words(w - 71, 47, role, "jg-ink", room=66)]
    if player is None:
        kinds, below = [kind_of(state, slot, seat) for slot in range(cards)], h - SMALL_CARD[1] - 4
        extra += [draw_card(kind, 6 + (SMALL_CARD[0] + 3) * i, below, *SMALL_CARD) for i, kind in enumerate(kinds)]
    is_turn = not state.terminated and int(state.current_player) == seat
    is_winner = bool(pictures.winners(env, state)[seat])
    extra.append(words(8, 46 if env.variant == "full" else 38, held, "jg-soft"))
    return pictures.plate(0, 0, seat, player, extra="".join(extra), is_turn=is_turn, is_winner=is_winner, w=w, h=h)


def public_signs(env: "SaboteurEnv", state: "State", seat: int, w: float, legal: dict[int, str]) -> list[str]:
    """Nuggets and tools; the goals that the seat has looked at; what it did."""
    nuggets = int(state.nuggets[seat])
    looked = " ".join(str(goal + 1) for goal in range(NUM_GOALS) if has_looked(state, seat, goal))
    eye = [chip(72, 41, "eye", "jg-black", 20, hint=f"looked at goal {looked}"), words(96, 46, looked, "jg-soft")]
    return [
        chip(88, 15, "gold", "jg-ochre", 20, hint=pictures.how_many(nuggets, "nugget")),
        words(112, 20, nuggets, "jg-ink jg-bold", size=16),
        *(draw_tool(env, state, seat, tool, w - 94 + 31 * tool, 17, legal) for tool in range(NUM_TOOLS)),
        *(eye if looked else ()),
        words(8, 65, deeds(state, seat), "jg-soft", room=w - 14),
    ]


def deeds(state: "State", seat: int) -> str:
    """What everybody has seen the seat do in this round."""
    is_own, is_open = state.played_by == seat, state.played_on != FACE_DOWN
    played = state.deck[int(state.round)][is_own & is_open]
    counts = {
        "laid": int((played < NUM_CONNECTED).sum()),
        "blocked": int(((played >= NUM_CONNECTED) & (played < NUM_PATHS)).sum()),
        "broke": int(BREAKS[played].any(-1).sum()),
        "mended": int(MENDS[played].any(-1).sum()),
        "felled": int((played == ROCKFALL).sum()),
        "discarded": int((is_own & ~is_open).sum()),
    }
    return ", ".join(f"{deed} {count}" for deed, count in counts.items() if count)


def draw_tool(
    env: "SaboteurEnv", state: "State", seat: int, tool: int, x: float, y: float, legal: dict[int, str]
) -> str:
    """A tool, crossed out if it is broken, and a frame for each card in hand that may be played on it."""
    is_broken = bool(state.broken[seat, tool])
    hint = f"{TOOL_NAMES[tool]}, {'broken' if is_broken else 'whole'}"
    parts = [chip(x, y, TOOL_NAMES[tool], "jg-red" if is_broken else "jg-green", 28, crossed=is_broken, hint=hint)]
    target = (seat - int(state.current_player)) % env.num_players
    for slot in range(state.hand.shape[1]):
        action = env.first_tool_action + (slot * NUM_TOOLS + tool) * env.num_players + target
        if env.variant == "full" and action in legal:
            drawing = tag("circle", cx=x + 14, cy=y, r=14, class_="jg-target jg-edge")
            parts.append(move(drawing, action, legal[action], str(slot)))
    return "".join(parts)


# -- the hand ----------------------------------------------------------------------------------------------------------


def kind_of(state: "State", slot: int, seat: int | None = None) -> int:
    """The card type in a slot of a hand, by default of the player to move; NO_CARD if it is empty."""
    place = int(state.hand[int(state.current_player) if seat is None else seat, slot])
    return int(state.deck[int(state.round), place]) if place >= 0 else NO_CARD


def draw_hand(env: "SaboteurEnv", state: "State", seat: int, legal: dict[int, str]) -> str:
    """The cards of a seat; below them the ways to turn and to discard each, or to skip."""
    w, h = HAND_CARD
    picks = playable(env, legal)
    parts, below = [], 38 if env.variant == "full" else 4
    for slot in range(int((state.hand[seat] != NO_CARD).sum())):
        kind, x = kind_of(state, slot, seat), 6 + (w + 5) * slot
        drawing = tag("g", draw_card(kind, x, 2, w, h), data_turns=slot)
        if str(slot) in picks:
            parts.append(choice(drawing, str(slot), f"slot {slot}: {describe(kind)}"))
        else:
            parts.append(group(drawing, class_="jg-dim") if legal else drawing)
        if f"{slot}t" in picks:
            turn = button(x, h + below, w, 32, "turn")
            parts.append(choice(turn, f"{slot}t", f"slot {slot}: {describe(kind)}, turned"))
        discard = env.first_discard + slot
        if env.variant == "full" and discard in legal:
            parts.append(move(button(x, h + 4, w, 32, "discard"), discard, legal[discard]))
    if env.variant == "paths":
        parts.append(pictures.button_row(h + 40, legal, {env.first_tool_action: ("skip", "", "")}))
    return "\n".join(parts)


def playable(env: "SaboteurEnv", legal: dict[int, str]) -> set[str]:
    """The picks (slot, and whether it is turned) that lead to a move."""
    board = {divmod(action, 2 * env.cells.size) for action in legal if action < env.first_tool_action}
    picks = {f"{slot}t" if rest % 2 else str(slot) for slot, rest in board}
    if env.variant == "full":
        tools = range(env.first_tool_action, env.first_discard)
        picks |= {str((action - tools.start) // (NUM_TOOLS * env.num_players)) for action in legal if action in tools}
    return picks


def draw_card(kind: int, x: float, y: float, w: float, h: float) -> str:
    """A card of the deck, upright."""
    if kind < NUM_PATHS:
        return tunnels(x, y, w, h, OPEN[kind, 0], kind < NUM_CONNECTED)
    label = action_word(kind) if w > 40 else ""
    if not (BREAKS[kind] | MENDS[kind]).any():
        symbol, tone = ("map", "jg-purple") if kind == MAP else ("rockfall", "jg-black")
        return pictures.face(x, y, w, h, "", symbol, tone, label)
    breaks = bool(BREAKS[kind].any())
    tone = "jg-red" if breaks else "jg-green"
    tools = np.flatnonzero(BREAKS[kind] | MENDS[kind])
    size, middle = (0.52 if len(tools) == 1 else 0.4) * w, y + (0.4 if label else 0.5) * h
    parts = [box(x + 0.5, y + 0.5, w - 1, h - 1, "jg-face jg-edge", rx=w / 10)]
    for i, tool in enumerate(tools):
        parts.append(icon(TOOL_NAMES[tool], x + w * (i + 1) / (len(tools) + 1), middle, size, tone))
    if breaks:
        parts.append(
            tag(
                "path",
                d=f"M{x + 0.2 * w:.1f} {middle + 0.28 * w:.1f}l{0.6 * w:.1f} {-0.56 * w:.1f}",
                class_="jg-strike",
            )
        )
    if label:
        parts.append(words(x + w / 2, y + 0.92 * h, label, f"{tone} jg-bold", size=15, anchor="middle", room=w - 6))
    return "".join(parts)


def action_word(kind: int) -> str:
    if kind == MAP:
        return "map"
    return "break" if BREAKS[kind].any() else "mend" if MENDS[kind].any() else "rockfall"


def describe(kind: int) -> str:
    """A card in words."""
    if kind >= NUM_PATHS:
        tools = [name for name, is_on in zip(TOOL_NAMES, BREAKS[kind] | MENDS[kind], strict=True) if is_on]
        return " ".join([action_word(kind), " or ".join(tools)]).strip()
    open_sides = [name for name, is_open in zip(SIDE_NAMES, OPEN[kind, 0], strict=True) if is_open]
    return f"{'tunnel' if kind < NUM_CONNECTED else 'dead end'} {', '.join(open_sides)}"
