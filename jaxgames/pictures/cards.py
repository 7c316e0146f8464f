"""Cards, signs and buttons, and the way a move is marked."""

import html
from collections.abc import Mapping

from jaxgames.pictures.svg import WIDTH, box, group, icon, tag, words


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
        parts.append(words(middle, 0.91 * h, label, f"{tone} jg-bold", anchor="middle", room=w - 4))
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


def chip(x: float, y: float, symbol: str, tone: str, size: float = 18, *, crossed: bool = False, hint: str = "") -> str:
    """A small round sign on paper, its left edge at x, in the middle of the line at y. `hint` says what it means."""
    r = size / 2
    parts = [tag("circle", cx=x + r, cy=y, r=r, class_="jg-face"), icon(symbol, x + r, y, 0.66 * size, tone)]
    if crossed:
        line = f"M{x + 2:.1f} {y + r - 2:.1f}L{x + size - 2:.1f} {y - r + 2:.1f}"
        parts.append(tag("path", d=line, class_="jg-strike"))
    return tag("g", tag("title", html.escape(hint)), *parts) if hint else "".join(parts)


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
    rows = -(-len(shown) // in_a_row)
    drawn = []
    for row in range(rows):
        line = shown[len(shown) * row // rows : len(shown) * (row + 1) // rows]
        each = min(w / len(line), most)
        left = x + (w - each * len(line)) / 2
        for place, action in enumerate(line):
            drawing = button(left + place * each + 2, y + 42 * row, each - 4, 38, *labels[action])
            drawn.append(move(drawing, action, moves[action]))
    return "\n".join(drawn)
