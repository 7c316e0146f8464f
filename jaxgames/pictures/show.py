"""Pictures where people look at them: in a notebook, one or many."""

import os
import pathlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

from jaxgames.pictures.svg import SHOWN, tag

if TYPE_CHECKING:
    from jaxgames.env import Env, State


class Picture:
    """SVG text that a notebook shows."""

    def __init__(self, svg: str):
        self.svg = svg

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Inline, so that the notebook's own light or dark theme is followed."""
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")


def show(env: "Env", state: "State", player: int | None = None) -> Picture:
    """A state in a notebook: everything, or what `player` may know. A batch of states is shown as a grid."""
    return grid(env, state, player) if np.ndim(state.terminated) else Picture(env.picture(state, player))


def grid(env: "Env", states: "State", player: int | None = None, columns: int = 3, most: int = 12) -> Picture:
    """The first `most` states of a batch (axes in front) or of a sequence, side by side in one picture."""
    drawn = [env.picture(state, player, moves=False) for state in first_states(states, most)]
    columns = max(1, min(columns, len(drawn)))
    sizes = [[float(size) for size in svg.split('viewBox="', 1)[1].split('"', 1)[0].split()[2:]] for svg in drawn]
    gap, parts, y = 12, [], 0.0
    width = max((w for w, _ in sizes), default=0.0)
    for first in range(0, len(drawn), columns):
        for place in range(first, min(first + columns, len(drawn))):
            w, h = sizes[place]
            parts.append(placed(drawn[place], (width + gap) * (place - first), y, w, h))
        y += max(h for _, h in sizes[first : first + columns]) + gap
    across, down = (width + gap) * columns - gap, max(y - gap, 0.0)
    shown = min(SHOWN * columns / 2, 1200)
    return Picture(
        tag(
            "svg",
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            class_="jg",
            viewBox=f"0 0 {across:g} {down:g}",
            width=round(shown),
            height=round(shown * down / max(across, 1.0)),
            role="img",
            aria_label=f"{len(drawn)} positions of {env.id}",
        )
    )


def first_states(states: "State", most: int) -> "list[State]":
    """The first states of a batch or of a sequence, on the host."""
    if isinstance(states, Sequence):
        return [jax.device_get(state) for state in states[:most]]
    axes = np.ndim(states.terminated)
    flat = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *np.shape(leaf)[axes:]), jax.device_get(states))
    return [jax.tree.map(lambda leaf, i=i: leaf[i], flat) for i in range(min(most, len(flat.terminated)))]


def placed(svg: str, x: float, y: float, w: float, h: float) -> str:
    """A picture as a part of another."""
    opening, rest = svg.split(">", 1)
    kept = re.sub(r' (xmlns|width|height)="[^"]*"', "", opening)
    return f'{kept} x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}">{rest}'
