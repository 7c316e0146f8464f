"""The words of SVG that pictures are made of, their style, and the sheet that holds them."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxgames.pictures.icons import ICONS

if TYPE_CHECKING:
    from jaxgames.env import Env, State

WIDTH = 480  # units; words are 14 units or more, which is 11 pixels on a phone that is 390 wide
SHOWN = 600  # pixels wide where nothing else is said
# The picks of all games (see above): Skyjo's three kinds of turn; Saboteur's slots, upright and turned.
PICKS = ("take", "keep", "flip", *(f"{slot}{turned}" for slot in range(6) for turned in ("", "t")))


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


def how_many(number: object, thing: str) -> str:
    """1 card, 2 cards."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


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
        ".jg-move .jg-back{fill:#3f83b8}",
        ".jg-move:hover .jg-edge,.jg-move:focus-visible .jg-edge{stroke-width:5}",
        f"{picked}{{stroke-width:6}}",
        ".jg [data-with]{display:none}",
        f"{shown}{{display:inline}}",
        f"{turned}{{transform:rotate(180deg);transform-box:fill-box;transform-origin:center}}",
    ]
    return "".join(rules)


STYLE = _style()


def sheet(env: "Env", state: "State", player: int | None, height: float, parts: Sequence[str]) -> str:
    """The picture: its parts on a background, one a line; for those who cannot see it, the position in words."""
    seen = "all cards open" if player is None else f"as seat {player} sees it"
    title = f"{env.id}, {seen}"
    body = "\n".join(part for part in parts if part)
    return tag(
        "svg",
        f"\n<style>{STYLE}</style>\n",
        tag("title", html.escape(title)),
        tag("desc", html.escape(env.render(state, player))),
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
