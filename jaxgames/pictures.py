"""What the drawings of all games share: the sheet, the cards, the seats, and the way a move is marked.

A picture is SVG text, 480 units wide, made of shapes and words alone: it asks for no font, no image and no script, and
carries its own style, light or dark as the reader's system is. A page can force one: `data-theme="light"` or `"dark"`
on the picture or on anything around it. Nothing has an id, so any number of pictures can share a page.

How a page listens. Every legal move is one element, and only the viewer who may make it has it:
- `data-action="17"` is a move: a click on it, or Enter, plays action 17. Its title says it in words.
- `data-pick="take"` is a choice before a move: copy it to `data-picked` of the picture. The moves that go with it
  carry `data-with="take"` and are shown only while it is picked.
- `data-seat="2"` on a name: the page may write who sits there.
"""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from jaxgames.icons import ICONS

if TYPE_CHECKING:
    from jaxgames.env import Env
    from jaxgames.host import Facts

WIDTH = 480  # units; words are 14 units or more, which is 11 pixels on a phone that is 390 wide
SHOWN = 600  # pixels wide where nothing else is said
HEADER = 50  # height of the headline

# -- words of SVG ------------------------------------------------------------------------------------------------------


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element. `class_` is class and `data_action` is data-action; what is None is left out."""
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{_written(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(inside)}</{name}>" if inside else f"<{name}{given}/>"


def _written(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.1f}".removesuffix(".0")
    return html.escape(str(value))


def group(*inside: str, x: float = 0, y: float = 0, class_: str | None = None) -> str:
    """Elements moved to (x, y)."""
    move = f"translate({_written(float(x))} {_written(float(y))})" if x or y else None
    return tag("g", *inside, class_=class_, transform=move)


def box(x: float, y: float, w: float, h: float, class_: str, rx: float = 6) -> str:
    return tag("rect", class_=class_, x=x, y=y, width=w, height=h, rx=rx)


def words(
    x: float,
    y: float,
    what: object,
    class_: str = "jg-ink",
    *,
    size: float = 14,
    anchor: str | None = None,
    room: float | None = None,
    seat: int | None = None,
) -> str:
    """A line of text with its baseline at `y`; where it might not fit in `room` it is set smaller, at last narrower."""
    said, squeezed = str(what), None
    if room is not None and said:
        fits = room / (size * _ems(said, "jg-bold" in class_))
        size *= min(1.0, max(fits, 0.86))
        squeezed = room if fits < 0.86 else None
    return tag(
        "text",
        html.escape(said),
        class_=class_,
        x=x,
        y=y,
        font_size=size,
        text_anchor=anchor,
        data_seat=seat,
        textLength=squeezed,
        lengthAdjust="spacingAndGlyphs" if squeezed else None,
    )


def _ems(said: str, is_bold: bool) -> float:
    """About how wide a line is, in the widest of common fonts, for a size of 1."""
    thin, broad = sum(letter in "iljtfr.,:; ()" for letter in said), sum(letter in "mwMW" for letter in said)
    return (0.62 * len(said) - 0.24 * thin + 0.3 * broad) * (1.12 if is_bold else 1.0)


def icon(name: str, x: float, y: float, size: float, class_: str = "jg-ink") -> str:
    """A drawing of `jaxgames.icons`, `size` units wide, in the middle of (x, y)."""
    solid, cut = ICONS[name]
    place = f"translate({_written(float(x))} {_written(float(y))}) scale({size / 20:.3g})"
    shapes = tag("path", d=solid, class_=class_), tag("path", d=cut, class_="jg-paper") if cut else ""
    return tag("g", *shapes, transform=place)


# -- cards -------------------------------------------------------------------------------------------------------------


def face(
    x: float,
    y: float,
    w: float,
    h: float,
    value: object,
    symbol: str,
    tone: str,
    label: str = "",
    covered: bool = False,
) -> str:
    """A card face up: its value above its symbol, or its symbol above its name.

    `covered` is a card that lies face down for the players, seen by somebody who sees everything.
    """
    middle, unit = w / 2, min(w, 0.75 * h)
    parts = [box(0.5, 0.5, w - 1, h - 1, "jg-face jg-edge" + (" jg-covered" if covered else ""), rx=w / 9)]
    if value != "":
        size = max(15.0, 0.4 * unit)
        parts.append(words(middle, 0.04 * h + 0.88 * size, value, f"{tone} jg-bold", size=size, anchor="middle"))
        parts.append(icon(symbol, middle, 0.7 * h, 0.44 * unit, tone))
    elif label:
        parts.append(icon(symbol, middle, 0.36 * h, 0.56 * unit, tone))
        size = 14 if w > 40 else 12
        parts.append(words(middle, 0.91 * h, label, f"{tone} jg-bold", size=size, anchor="middle", room=w - 4))
    else:
        parts.append(icon(symbol, middle, h / 2, 0.62 * unit, tone))
    return group(*parts, x=x, y=y)


def back(x: float, y: float, w: float, h: float, label: object = "") -> str:
    """A card face down, with a word on it if one is given."""
    inset = w / 9
    lozenge = (
        f"M{w / 2:.1f} {h * 0.22:.1f}L{w * 0.76:.1f} {h / 2:.1f}L{w / 2:.1f} {h * 0.78:.1f}L{w * 0.24:.1f} {h / 2:.1f}Z"
    )
    parts = [
        box(0.5, 0.5, w - 1, h - 1, "jg-back jg-edge", rx=w / 9),
        box(inset, inset, w - 2 * inset, h - 2 * inset, "jg-back-line", rx=w / 14),
        tag("path", d=lozenge, class_="jg-back-line"),
    ]
    if label != "":
        parts.append(tag("circle", cx=w / 2, cy=h / 2, r=max(11.0, 0.26 * w), class_="jg-back"))
        parts.append(words(w / 2, h / 2 + 5.5, label, "jg-on-back jg-bold", size=16, anchor="middle"))
    return group(*parts, x=x, y=y)


def empty(x: float, y: float, w: float, h: float, class_: str = "jg-empty") -> str:
    """A place where a card may lie."""
    return box(x + 0.5, y + 0.5, w - 1, h - 1, class_, rx=w / 9)


def chip(x: float, y: float, symbol: str, tone: str, size: float = 18, crossed: bool = False) -> str:
    """A small round sign on paper, its left edge at x, in the middle of the line at y; crossed out if so."""
    r = size / 2
    parts = [tag("circle", cx=x + r, cy=y, r=r, class_="jg-face"), icon(symbol, x + r, y, 0.66 * size, tone)]
    if crossed:
        parts.append(
            tag("path", d=f"M{x + 2:.1f} {y + r - 2:.1f}L{x + size - 2:.1f} {y - r + 2:.1f}", class_="jg-strike")
        )
    return "".join(parts)


# -- moves -------------------------------------------------------------------------------------------------------------

# The picks of all games (see above): Skyjo's three kinds of turn; Saboteur's slots, upright and turned.
PICKS = ("take", "keep", "flip", *(f"{slot}{turned}" for slot in range(6) for turned in ("", "t")))


def move(drawing: str, action: int, name: str, pick: str | None = None) -> str:
    """A drawing that plays `action`; with `pick` it is there only while that is picked."""
    return _pressable(drawing, name, "jg-move", data_action=action, data_with=pick)


def choice(drawing: str, pick: str, name: str) -> str:
    """A drawing that is picked before a move."""
    return _pressable(drawing, name, "jg-move jg-pick", data_pick=pick)


def _pressable(drawing: str, name: str, class_: str, **data: object) -> str:
    title = tag("title", html.escape(name))
    return tag("g", title, drawing, class_=class_, **data, role="button", tabindex=0, aria_label=name)


def button(x: float, y: float, w: float, h: float, label: object, symbol: str = "", tone: str = "jg-ink") -> str:
    """A plate to press, with a word, a symbol, or both."""
    said = str(label)
    parts = [box(x + 1, y + 1, w - 2, h - 2, "jg-button jg-edge", rx=8)]
    middle, across = y + h / 2, x + w / 2
    if symbol and said:
        parts.append(chip(x + w - 27, middle, symbol, tone, 22))
        across = x + (w - 26) / 2
    elif symbol:
        parts.append(chip(across - 12, middle, symbol, tone, 24))
    if said:
        room = w - (36 if symbol else 10)
        parts.append(words(across, middle + 5.5, said, "jg-ink jg-bold", size=16, anchor="middle", room=room))
    return "".join(parts)


def button_row(
    y: float,
    moves: Mapping[int, str],
    labels: Mapping[int, tuple[str, str, str]],
    *,
    x: float = 4,
    w: float = WIDTH - 8,
    in_a_row: int = 11,
    most: float = 116,
) -> str:
    """A button for each of `labels` (action: label, symbol, tone) that is a move, centred, as many rows as needed."""
    shown = [action for action in labels if action in moves]
    drawn = []
    for row, first in enumerate(range(0, len(shown), in_a_row)):
        line = shown[first : first + in_a_row]
        each = min(w / len(line), most)
        left = x + (w - each * len(line)) / 2
        for place, action in enumerate(line):
            drawing = button(left + place * each + 2, y + 42 * row, each - 4, 38, *labels[action])
            drawn.append(move(drawing, action, moves[action]))
    return "\n".join(drawn)


def on_host(state: Any) -> Any:
    """The same state in numpy: what is drawn from it costs no device."""
    return jax.tree.map(np.asarray, jax.device_get(state))


def legal_moves(env: "Env", state: Any, player: int | None) -> dict[int, str]:
    """The moves that this viewer may make, with their names: those of the player to move, for itself or for whoever
    sees everything; none after the end."""
    if state.terminated or state.truncated or player not in (None, int(state.current_player)):
        return {}
    return {
        int(action): env.action_name(state, int(action), player) for action in np.flatnonzero(_facts(env, state).mask)
    }


def winners(env: "Env", state: Any) -> np.ndarray:
    """bool[seat] on the host; nobody while the game goes on."""
    if not (state.terminated or state.truncated):
        return np.zeros(env.num_players, bool)
    return _facts(env, state).winners


def _facts(env: "Env", state: Any) -> "Facts":
    from jaxgames.host import compiled  # the games are drawn by this module, and it drives them: not at import

    return compiled(env).facts(state)


# -- seats -------------------------------------------------------------------------------------------------------------

PLATE_WIDTH, PLATE_HEIGHT = 136, 62
TRICK_CARD = 46, 64
TABLE_HEIGHT = 336


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
    text_room: float | None = None,
) -> str:
    """What everybody sees of a seat: its name and score, and lines below. The seat to move is framed and pointed at."""
    parts = [box(0.5, 0.5, w - 1, h - 1, "jg-plate jg-to-move" if is_turn else "jg-plate", rx=8)]
    left = 8
    if is_turn or is_winner:
        parts.append(icon("turn" if is_turn else "crown", left + 6, 14, 13, "jg-mark"))
        left += 18
    parts.append(words(left, 19, seat_name(seat, player), "jg-ink jg-bold", size=15, seat=seat, room=w - 44 - left))
    parts.append(words(w - 8, 19, score, "jg-ink jg-bold", size=16, anchor="end"))
    parts += [words(8, 37 + 17 * i, line, "jg-soft", room=text_room or w - 14) for i, line in enumerate(lines)]
    return group(*parts, extra, x=x, y=y)


Drawing = Callable[[float, float, float, float], str]  # of a card, given x, y, width and height


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
            parts.append(tag("circle", cx=x + 2, cy=y + 4, r=10, class_="jg-plate"))
            parts.append(words(x + 2, y + 9, 1, "jg-ink jg-bold", anchor="middle"))
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


ROW = 52  # height of a row of small cards


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


def headline(env: "Env", state: Any, player: int | None, task: str, detail: str) -> str:
    """Two lines: who has to do what, or who has won; and where the game stands."""
    return "".join(
        [
            words(8, 21, turn_words(env, state, player, task), "jg-ink jg-bold", size=18, room=WIDTH - 16),
            words(8, 41, detail, "jg-soft", size=15, room=WIDTH - 16),
        ]
    )


def turn_words(env: "Env", state: Any, player: int | None, task: str) -> str:
    if not (state.terminated or state.truncated):
        mover = int(state.current_player)
        return f"{'Your turn' if mover == player else seat_name(mover, player)}: {task}"
    names = [seat_name(int(seat), player) for seat in np.flatnonzero(winners(env, state))]
    if not names:
        return "The game was cut off" if state.truncated else "The game is over, nobody wins"
    if len(names) == 1:
        return f"Game over: {names[0]} {'win' if names[0] == 'You' else 'wins'}"
    return f"Game over: {', '.join(names[:-1])} and {names[-1]} win"


# -- the sheet ---------------------------------------------------------------------------------------------------------

_LIGHT = """--jg-bg:#f3f0e8;--jg-ink:#1c2127;--jg-soft:#525b65;--jg-plate:#fffefa;--jg-line:#c9c1b1;--jg-felt:#dce7df;\
--jg-mark:#0067a3;--jg-glow:#d7eaf6;--jg-face:#fffdf6;--jg-dim:.45"""
_DARK = """--jg-bg:#12161b;--jg-ink:#eceae4;--jg-soft:#a8b0b9;--jg-plate:#20262d;--jg-line:#414b56;--jg-felt:#1a2723;\
--jg-mark:#6cc0f0;--jg-glow:#173a52;--jg-face:#efeadd;--jg-dim:.5"""
_TONES = {  # dark enough on paper for words; every suit has a shape of its own as well
    "black": "#1c1c1c",
    "blue": "#0064a0",
    "green": "#006b52",
    "red": "#b3430a",
    "purple": "#8f3a78",
    "ochre": "#7d5700",
    "grey": "#5b5f64",
}

_VALUES = {"low": "#005a8f", "zero": "#a9d6f0", "few": "#9fd8c4", "some": "#f5e68a", "many": "#efa27a"}


def _style() -> str:
    light_around = ",".join(f"{theme} .jg" for theme in ("[data-theme=light]", "[data-jp-theme-light=true]"))
    dark_around = ",".join(f"{theme} .jg" for theme in ("[data-theme=dark]", "[data-jp-theme-light=false]"))
    shown = ",".join(f'.jg[data-picked="{pick}"] [data-with="{pick}"]' for pick in PICKS)
    picked = ",".join(f'.jg[data-picked="{pick}"] [data-pick="{pick}"] .jg-edge' for pick in PICKS)
    turned = ",".join(f'.jg[data-picked="{slot}t"] [data-turns="{slot}"]' for slot in range(6))
    rules = [
        f".jg{{{_LIGHT}}}",
        f"@media (prefers-color-scheme:dark){{.jg{{{_DARK}}}}}",
        f".jg[data-theme=light],{light_around}{{{_LIGHT}}}",
        f".jg[data-theme=dark],{dark_around}{{{_DARK}}}",
        ".jg{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;max-width:100%;"
        "height:auto}",
        ".jg text{user-select:none;-webkit-user-select:none}",
        ".jg-bold{font-weight:700}",
        *(f".jg-{name}{{fill:var(--jg-{name})}}" for name in ("bg", "ink", "soft", "mark")),
        *(f".jg-{name}{{fill:{colour}}}" for name, colour in _TONES.items()),
        ".jg-face,.jg-paper{fill:var(--jg-face)}",
        ".jg-face{stroke:#8d8778;stroke-width:1}",
        *(f".jg-value-{name}{{fill:{colour}}}" for name, colour in _VALUES.items()),
        ".jg-covered{fill:#d3d6d6;stroke-dasharray:3 2}",
        ".jg-back{fill:#35556f;stroke:#1d3140;stroke-width:1}",
        ".jg-back-line{fill:none;stroke:#a9c3d6;stroke-width:1}",
        ".jg-on-back{fill:#fff}",
        ".jg-rock{fill:#6d5b49;stroke:#2c241c;stroke-width:1}",
        ".jg-tunnel{fill:none;stroke:#f3dfb3;stroke-linejoin:round}",
        ".jg-cave{fill:#f3dfb3}",
        ".jg-felt{fill:var(--jg-felt)}",
        ".jg-plate{fill:var(--jg-plate);stroke:var(--jg-line);stroke-width:1}",
        ".jg-to-move{stroke:var(--jg-mark);stroke-width:3}",
        ".jg-empty{fill:none;stroke:var(--jg-line);stroke-width:1.5;stroke-dasharray:4 3}",
        ".jg-won{fill:none;stroke:var(--jg-ink);stroke-width:2}",
        ".jg-spot{fill:none;stroke:var(--jg-mark);stroke-width:1.5;stroke-dasharray:4 3}",
        ".jg-strike{stroke:#b3430a;stroke-width:2.5;fill:none}",
        ".jg-dim{opacity:var(--jg-dim)}",
        ".jg-button{fill:var(--jg-glow)}",
        ".jg-target{fill:var(--jg-mark);fill-opacity:.2}",
        ".jg-move{cursor:pointer;outline:none}",
        ".jg-move .jg-edge{stroke:var(--jg-mark);stroke-width:3;stroke-dasharray:none}",
        ".jg-move:hover .jg-edge,.jg-move:focus-visible .jg-edge{stroke-width:5}",
        f"{picked}{{stroke-width:6}}",
        ".jg [data-with]{display:none}",
        f"{shown}{{display:inline}}",
        f"{turned}{{transform:rotate(180deg);transform-box:fill-box;transform-origin:center}}",
    ]
    return "".join(rules)


STYLE = _style()


def sheet(env: "Env", height: float, about: str, parts: Sequence[str], player: int | None) -> str:
    """The picture: its parts on a background, with a title for those who cannot see it."""
    seen = "all cards open" if player is None else f"as seat {player} sees it"
    title = f"{env.id}, {seen}"
    body = "\n".join(part for part in parts if part)
    return tag(
        "svg",
        tag("title", html.escape(title)),
        tag("desc", html.escape(about)),
        f"<style>{STYLE}</style>\n",
        box(0, 0, WIDTH, height, "jg-bg", rx=10),
        f"\n{body}\n",
        xmlns="http://www.w3.org/2000/svg",
        class_=f"jg jg-{env.id}",
        viewBox=f"0 0 {WIDTH} {_written(float(height))}",
        width=SHOWN,
        height=round(SHOWN * height / WIDTH),
        role="group" if "data-action" in body else "img",  # the parts of an image cannot be pressed
        aria_label=title,
    )


def text_picture(text: str) -> str:
    """Lines of text as a picture: enough for a game that has no drawings yet."""
    lines = text.splitlines()
    spans = "".join(tag("tspan", html.escape(line) or " ", x=10, dy=18) for line in lines)
    width, height = 9 * max(map(len, lines)) + 20, 18 * len(lines) + 16
    return tag(
        "svg",
        tag("title", html.escape(lines[0])),
        f"<style>{STYLE}</style>",
        box(0, 0, width, height, "jg-bg", rx=10),
        tag("text", spans, class_="jg-ink", font_size=14, style="font-family:monospace;white-space:pre"),
        xmlns="http://www.w3.org/2000/svg",
        class_="jg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )
