"""The seats around a table, their hands and the trick between them; and what is asked of every position."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np

from jaxgames.pictures.cards import empty
from jaxgames.pictures.svg import WIDTH, box, group, icon, tag, words

if TYPE_CHECKING:
    from jaxgames.env import Env, State, TreeT
    from jaxgames.host import Facts

HEADER = 50  # height of the headline
PLATE_WIDTH, PLATE_HEIGHT = 136, 62
TRICK_CARD = 46, 64
TABLE_HEIGHT = 336
ROW = 52  # height of a row of small cards

Drawing = Callable[[float, float, float, float], str]  # of a card, given x, y, width and height


class Spot(NamedTuple):
    """Where the plate of a seat and the card in front of it lie on the table."""

    plate: tuple[float, float]
    card: tuple[float, float]


_BOTTOM = Spot((172, 272), (217, 204))
_TOP = Spot((172, 2), (217, 68))


def _sides(*rows: tuple[float, float]) -> list[Spot]:
    """Left seats from below, then right seats from above: the way round; a row is (plate, card) from the top."""
    left = [Spot((2, plate), (146, card)) for plate, card in rows]
    right = [Spot((342, plate), (288, card)) for plate, card in reversed(rows)]
    return [*left, *right]


# From the viewer's own seat clockwise, by number of seats.
_LOW, _HIGH, _MIDDLE = (198, 196), (74, 72), (136, 136)
SPOTS = {
    2: [_BOTTOM, _TOP],
    3: [_BOTTOM, *_sides(_HIGH)],
    4: [_BOTTOM, _sides(_MIDDLE)[0], _TOP, _sides(_MIDDLE)[1]],
    5: [_BOTTOM, _sides(_LOW)[0], Spot((76, 2), (146, 68)), Spot((268, 2), (288, 68)), _sides(_LOW)[1]],
    6: [_BOTTOM, *_sides(_LOW, _HIGH)[:2], _TOP, *_sides(_LOW, _HIGH)[2:]],
}


def around(num_players: int, player: int | None) -> list[int]:
    """The seats clockwise from the viewer's own; seat 0 sits at the bottom for whoever sees everything."""
    return [((player or 0) + i) % num_players for i in range(num_players)]


def seat_name(seat: int, player: int | None) -> str:
    return "You" if seat == player else f"Seat {seat}"


def plate(
    x: float,
    y: float,
    seat: int,
    player: int | None,
    *,
    score: object = "",
    lines: Iterable[str] = (),
    extra: str = "",
    is_turn: bool = False,
    is_winner: bool = False,
    w: float = PLATE_WIDTH,
    h: float = PLATE_HEIGHT,
) -> str:
    """What everybody sees of a seat: its name and score, and lines below. The seat to move is framed and pointed at."""
    parts = [box(0.5, 0.5, w - 1, h - 1, "jg-plate jg-to-move" if is_turn else "jg-plate", rx=8)]
    left = 8
    if is_turn or is_winner:
        parts.append(icon("turn" if is_turn else "crown", left + 6, 14, 13, "jg-mark"))
        left += 18
    parts.append(words(left, 19, seat_name(seat, player), "jg-ink jg-bold", size=15, seat=seat, room=w - 44 - left))
    points = str(score).replace("-", "−")
    parts.append(words(w - 8, 19, points, "jg-ink jg-bold", size=16, anchor="end"))
    parts += [words(8, 37 + 17 * i, line, "jg-soft", room=w - 14) for i, line in enumerate(lines)]
    return group(*parts, extra, x=x, y=y)


def trick_table(
    seats: Sequence[int], plates: Mapping[int, Callable[[float, float], str]], cards: Mapping[int, Drawing], leader: int
) -> str:
    """The seats around the open trick, the first at the bottom; a 1 marks the card that leads it, or will."""
    parts = [box(72, 34, WIDTH - 144, 270, "jg-felt", rx=90)]
    for spot, seat in zip(SPOTS[len(seats)], seats, strict=True):
        parts.append(plates[seat](*spot.plate))
        parts.append(cards.get(seat, empty)(*spot.card, *TRICK_CARD))
        if seat == leader:
            x, y = spot.card
            parts.append(tag("circle", cx=x + 2, cy=y + 55, r=10, class_="jg-plate"))
            parts.append(words(x + 2, y + 60, 1, "jg-ink jg-bold", anchor="middle"))
    return "\n".join(parts)


def in_a_row(drawings: Sequence[Drawing], y: float, *, most: float = 56, h: float = 78) -> str:
    """The own hand: cards side by side in the middle, narrower where there are many."""
    if not drawings:
        return ""
    w = min(most, (WIDTH - 6) / len(drawings) - 3)
    left = (WIDTH - (w + 3) * len(drawings) + 3) / 2
    return "\n".join(drawing(left + (w + 3) * place, y, w, h) for place, drawing in enumerate(drawings))


def hand_rows(hands: Mapping[int, Sequence[Drawing]], y: float, mover: int | None, most: float = 36) -> str:
    """Hands of several seats, a row of small cards each."""
    parts = []
    for seat, drawings in hands.items():
        tone = "jg-ink jg-bold" if seat == mover else "jg-soft"
        parts.append(words(4, y + 29, seat_name(seat, None), tone, room=46, seat=seat))
        w = min(most, (WIDTH - 58) / max(len(drawings), 1) - 3)
        parts += [drawing(54 + (w + 3) * place, y, w, ROW - 4) for place, drawing in enumerate(drawings)]
        y += ROW
    return "\n".join(parts)


def last_trick(cards: Mapping[int, Drawing], y: float, winner: int | None = None) -> str:
    """The trick before: small cards, each with the seat that played it; the winner's is framed."""
    if not cards:
        return ""
    parts = [words(4, y + 29, "Last trick", "jg-soft")]
    each = min(66.0, (WIDTH - 84) / len(cards))
    for place, (seat, drawing) in enumerate(cards.items()):
        x = 84 + each * place
        parts.append(words(x + 12, y + 29, seat, "jg-ink jg-bold" if seat == winner else "jg-soft", anchor="end"))
        parts.append(drawing(x + 16, y, 36, ROW - 4))
        if seat == winner:
            parts.append(box(x + 14, y - 2, 40, ROW, "jg-won", rx=6))
    return "\n".join(parts)


def headline(env: "Env", state: "State", player: int | None, task: str, detail: str) -> str:
    """Two lines: who has to do what, or who has won; and where the game stands."""
    return "".join(
        [
            words(8, 21, turn_words(env, state, player, task), "jg-ink jg-bold", size=18, room=WIDTH - 16),
            words(8, 41, detail, "jg-soft", size=15, room=WIDTH - 16),
        ]
    )


def turn_words(env: "Env", state: "State", player: int | None, task: str) -> str:
    if not (state.terminated or state.truncated):
        mover = int(state.current_player)
        return f"{'Your turn' if mover == player else seat_name(mover, player)}: {task}"
    names = [seat_name(int(seat), player) for seat in np.flatnonzero(winners(env, state))]
    if not names:
        return "The game was cut off" if state.truncated else "The game is over, nobody wins"
    if len(names) == 1:
        return f"Game over: {names[0]} {'win' if names[0] == 'You' else 'wins'}"
    return f"Game over: {', '.join(names[:-1])} and {names[-1]} win"


def on_host(state: "TreeT") -> "TreeT":
    """The same state in numpy: what is drawn from it costs no device."""
    return jax.tree.map(np.asarray, jax.device_get(state))


def legal_moves(env: "Env", state: "State", player: int | None) -> dict[int, str]:
    """The moves that this viewer may make, with their names: those of the player to move, for itself or for whoever
    sees everything; none after the end."""
    if state.terminated or state.truncated or player not in (None, int(state.current_player)):
        return {}
    return {
        int(action): env.action_name(state, int(action), player) for action in np.flatnonzero(_facts(env, state).mask)
    }


def winners(env: "Env", state: "State") -> np.ndarray:
    """bool[seat] on the host; nobody while the game goes on."""
    if not (state.terminated or state.truncated):
        return np.zeros(env.num_players, bool)
    return _facts(env, state).winners


def _facts(env: "Env", state: "State") -> "Facts":
    from jaxgames.host import compiled  # the games are drawn by this module, and it drives them: not at import

    return compiled(env).facts(state)
