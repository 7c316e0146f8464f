"""The table of Skyjo as a picture: everything, or what one seat may know."""

from typing import TYPE_CHECKING

from jaxgames import pictures
from jaxgames.pictures import WIDTH, box, button, choice, group, move, words
from jaxgames.skyjo.cards import NUM_COLUMNS, NUM_ROWS, NUM_SLOTS, Decision, Hand, Macro, Record, Slot

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

GAP = 3  # between the cards of a board
OWN_CARD = 58, 66
PILE_CARD = 68, 92
PLATE = 44  # height of the plate over a board
PICKS = {Macro.TAKE_DISCARD_AND_REPLACE: "take", Macro.DRAW_DECK_KEEP_AND_REPLACE: "keep"}
PICKS[Macro.DRAW_DECK_DISCARD_AND_FLIP] = "flip"
TASKS = {
    Hand.EMPTY: "draw, or take the discard",
    Hand.FROM_DISCARD: "choose a place for the card",
    Hand.FROM_DECK: "keep the card, or discard it",
    Hand.KEPT: "choose a place for the card",
    Hand.THROWN: "turn up a hidden card",
}


def picture(env: "SkyjoEnv", state: "State", player: int | None = None, moves: bool = True) -> str:
    """SVG; `moves` marks what the viewer may do now."""
    state = pictures.on_host(state)
    legal = pictures.legal_moves(env, state, player) if moves else {}
    task = "turn up a card" if (state.reveals_left > 0).any() else TASKS[Hand(int(state.hand_use))]
    detail = f"Round {int(state.round_index)}, to {env.score_limit} points"
    if state.ender >= 0:
        detail += f", {pictures.seat_name(int(state.ender), player).lower()} turned up the last card"
    seats = pictures.around(env.num_players, player)
    parts = [pictures.headline(env, state, player, task, detail)]
    drawn, y = others(env, state, player, seats[1:], legal)
    parts += [
        drawn,
        seat_board(env, state, player, seats[0], 6, y, *OWN_CARD, legal),
        piles(env, state, player, y, legal),
    ]
    y += PLATE + 6 + (OWN_CARD[1] + GAP) * NUM_ROWS
    parts.append(words(8, y + 18, last_record(state, player), "jg-soft", room=WIDTH - 16))
    return pictures.sheet(env, state, player, y + 28, parts)


def others(
    env: "SkyjoEnv", state: "State", player: int | None, seats: list[int], legal: dict[int, str]
) -> tuple[str, float]:
    """(drawing, where it ends): the other boards, smaller the more there are."""
    per_row, w, h = (2, 46, 54) if len(seats) <= 2 else (4, 25, 34) if len(seats) in (4, 7) else (3, 35, 44)
    across, down = (w + GAP) * NUM_COLUMNS - GAP, PLATE + 4 + (h + GAP) * NUM_ROWS + 8
    parts, y = [], float(pictures.HEADER)
    for first in range(0, len(seats), per_row):
        row = seats[first : first + per_row]
        space = (WIDTH - across * len(row)) / (len(row) + 1)
        for place, seat in enumerate(row):
            x = space + (across + space) * place
            parts.append(seat_board(env, state, player, seat, x, y, w, h, legal))
        y += down
    return "\n".join(parts), y


def seat_board(
    env: "SkyjoEnv",
    state: "State",
    player: int | None,
    seat: int,
    x: float,
    y: float,
    w: float,
    h: float,
    legal: dict[int, str],
) -> str:
    """A seat's plate and the twelve places below it."""
    is_up, is_hidden = state.status[seat] == Slot.FACE_UP, state.status[seat] == Slot.HIDDEN
    shown = str(state.cards[seat][is_up].sum()).replace("-", "−")
    parts = [
        pictures.plate(
            x,
            y,
            seat,
            player,
            score=int(state.scores[seat]),
            lines=[f"shows {shown}" + (f", {int(is_hidden.sum())} hidden" if w > 30 else "")],
            is_turn=not (state.terminated or state.truncated) and int(state.current_player) == seat,
            is_winner=bool(pictures.winners(env, state)[seat]),
            w=(w + GAP) * NUM_COLUMNS - GAP,
            h=PLATE,
        )
    ]
    mine = legal if seat == int(state.current_player) else {}
    for place in range(NUM_SLOTS):
        row, column = divmod(place, NUM_COLUMNS)
        at = x + (w + GAP) * column, y + PLATE + 4 + (h + GAP) * row, w, h
        parts.append(slot(state, seat, place, player is None, mine, env.action_mode == "decision", at))
    return "\n".join(parts)


def slot(
    state: "State",
    seat: int,
    place: int,
    sees_hidden: bool,
    legal: dict[int, str],
    looks_first: bool,
    at: tuple[float, float, float, float],
) -> str:
    """A place of a board, and what the player to move may do with it."""
    status, value = Slot(int(state.status[seat, place])), int(state.cards[seat, place])
    if status == Slot.REMOVED:
        return pictures.empty(*at)
    if status == Slot.HIDDEN and not sees_hidden:
        drawing = pictures.back(*at)
    else:
        drawing = draw(value, *at, covered=status == Slot.HIDDEN)
    if looks_first:
        action = Decision.FIRST_POSITION + place
        return move(drawing, action, legal[action]) if action in legal else drawing
    flip = Macro.SETUP_FLIP * NUM_SLOTS + place
    if flip in legal:
        return move(drawing, flip, legal[flip])
    # Three kinds of turn name this place: each has a frame that is there while its kind is picked.
    frames = [
        move(box(at[0] + 1, at[1] + 1, at[2] - 2, at[3] - 2, "jg-target jg-edge"), action, legal[action], pick)
        for macro, pick in PICKS.items()
        if (action := macro * NUM_SLOTS + place) in legal
    ]
    return drawing + "".join(frames)


def draw(value: int, x: float, y: float, w: float, h: float, covered: bool = False) -> str:
    """A number card; its colour follows the number, from blue (good) to orange (bad)."""
    shade = "low" if value < 0 else "zero" if value == 0 else "few" if value < 5 else "some" if value < 9 else "many"
    size = max(15.0, 0.44 * w)
    ink = "jg-on-back" if shade == "low" and not covered else "jg-black"
    return group(
        box(0.5, 0.5, w - 1, h - 1, f"jg-face jg-value-{shade} jg-edge" + (" jg-covered" if covered else ""), rx=w / 9),
        words(w / 2, h / 2 + 0.36 * size, str(value).replace("-", "−"), f"{ink} jg-bold", size=size, anchor="middle"),
        x=x,
        y=y,
    )


def piles(env: "SkyjoEnv", state: "State", player: int | None, y: float, legal: dict[int, str]) -> str:
    """The draw pile, the discard pile, a card in hand, and the choices that begin a turn."""
    (w, h), left, right = PILE_CARD, 284, 396
    size = int(state.discard_size)
    top = int(state.discard[size - 1]) if size else None
    deck = pictures.back(left, y, w, h, int(state.deck_end) - int(state.deck_pos))
    discard = pictures.empty(right, y, w, h) if top is None else draw(top, right, y, w, h)
    below = y + h + 28
    if env.action_mode == "decision":
        deck, discard = (
            move(pile, int(action), legal[action]) if action in legal else pile
            for pile, action in ((deck, Decision.CHOOSE_DECK), (discard, Decision.CHOOSE_DISCARD))
        )
        turn = card_in_hand(state, player, left, below, legal)
    else:
        is_turn = any(action < Macro.SETUP_FLIP * NUM_SLOTS for action in legal)
        turn = kinds_of_turn(top, below) if is_turn else ""
    captions = [(left, "draw pile"), (right, pictures.how_many(size, "discard"))]
    return "\n".join(
        [deck, discard, *(words(x + w / 2, y + h + 17, said, "jg-soft", anchor="middle") for x, said in captions), turn]
    )


def kinds_of_turn(top: int | None, y: float) -> str:
    """Macro mode: what kind of turn it will be; then a place."""
    labels = {"take": f"take the {top}".replace("-", "−"), "keep": "draw and keep", "flip": "draw and flip"}
    return "".join(
        choice(button(272, y + 43 * i, 200, 40, label), pick, label) for i, (pick, label) in enumerate(labels.items())
    )


def card_in_hand(state: "State", player: int | None, x: float, y: float, legal: dict[int, str]) -> str:
    """Decision mode: the card between the steps of a turn; from the deck only its drawer sees it (SJ-50)."""
    (w, h), use = PILE_CARD, Hand(int(state.hand_use))
    if use in (Hand.EMPTY, Hand.THROWN):
        return ""
    is_seen = use == Hand.FROM_DISCARD or player in (None, int(state.current_player))
    parts = [draw(int(state.hand), x, y, w, h) if is_seen else pictures.back(x, y, w, h, "?")]
    labels = {Decision.KEEP_DRAWN: "keep it", Decision.DISCARD_DRAWN: "discard it"}
    buttons = [
        move(button(x + w + 8, y + 46 * i, 112, 42, label), int(action), legal[action])
        for i, (action, label) in enumerate(labels.items())
        if action in legal
    ]
    return "".join(parts + (buttons or [words(x + w + 12, y + 50, "in hand", "jg-soft")]))


def last_record(state: "State", player: int | None) -> str:
    """The newest entry of the public history in words (SJ-45)."""
    rows, size = state.history.shape[0] - 1, int(state.history_size)
    if rows == 0 or size == 0:
        return ""
    actor, kind, _, _, a, b = (int(field) for field in state.history[(size - 1) % rows])
    said = {
        Record.SETUP_FLIP: f"turned up {a}",
        Record.TAKE_DISCARD_AND_REPLACE: f"took {a} from the discards, put away {b}",
        Record.DRAW_DECK_KEEP_AND_REPLACE: f"drew {a} and kept it, put away {b}",
        Record.DRAW_DECK_DISCARD_AND_FLIP: f"drew {a}, put it away, turned up {b}",
        Record.COLUMN_CLEARED: f"cleared a column of {a}",
        Record.ROUND_END: f"ended the round, scores {a} to {b}",
    }[Record(kind)]
    return f"{pictures.seat_name(actor, player)} {said}".replace("-", "−")
