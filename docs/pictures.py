"""Draws the pictures of the pages: `python docs/pictures.py` plays the games of pictures/positions.jsonl and writes an
SVG for each, as the player to move sees it, and one of three tables for the front.
"""

import pathlib

from jaxgames import records
from jaxgames.host import Game
from jaxgames.pictures import WIDTH, tag
from jaxgames.pictures.show import placed

FOLDER = pathlib.Path(__file__).parent / "pictures"
FRONT = ("skullking", "saboteur", "skyjo")
GAP = 16


def main() -> None:
    drawn = {}
    for record in records.stream(FOLDER / "positions.jsonl"):
        game = Game.from_record(record)
        drawn[record.game] = game.env.picture(game.state, game.player, moves=False)
    drawn["front"] = side_by_side([drawn[name] for name in FRONT])
    for name, svg in drawn.items():
        (FOLDER / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")


def side_by_side(pictures: list[str]) -> str:
    """One picture of several, their middles in a row."""
    heights = [float(svg.split('viewBox="', 1)[1].split('"', 1)[0].split()[3]) for svg in pictures]
    tallest, width = max(heights), (WIDTH + GAP) * len(pictures) - GAP
    parts = [
        placed(svg, i * (WIDTH + GAP), (tallest - height) / 2, WIDTH, height)
        for i, (svg, height) in enumerate(zip(pictures, heights, strict=True))
    ]
    view = f"0 0 {width:g} {tallest:g}"
    return tag("svg", *parts, xmlns="http://www.w3.org/2000/svg", class_="jg", viewBox=view, role="img")


if __name__ == "__main__":
    main()
