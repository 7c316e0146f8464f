"""Pictures of positions: what the drawings of all games share, and how they are shown.

A picture is SVG text, 480 units wide, made of shapes and words alone: it asks for no font, no image and no script, and
carries its own style, light or dark as the reader's system is. A page can force one: `data-theme="light"` or `"dark"`
on the picture or on anything around it. Nothing has an id, so any number of pictures can share a page.

How a page listens. Every legal move is one element, and only the viewer who may make it has it:
- `data-action="17"` is a move: a click on it, or Enter, plays action 17. Its title says it in words.
- `data-pick="take"` is a choice before a move: copy it to `data-picked` of the picture. The moves that go with it
  carry `data-with="take"` and are shown only while it is picked.
- `data-seat="2"` on a name: the page may write who sits there.
"""

from jaxgames.pictures.cards import back, button, button_row, chip, choice, empty, face, move
from jaxgames.pictures.replay import replay_html
from jaxgames.pictures.show import Picture, grid, show
from jaxgames.pictures.svg import WIDTH, box, group, how_many, icon, sheet, tag, text_picture, words
from jaxgames.pictures.table import (
    HEADER,
    PLATE_WIDTH,
    ROW,
    TABLE_HEIGHT,
    Drawing,
    around,
    hand_rows,
    headline,
    in_a_row,
    last_trick,
    legal_moves,
    on_host,
    plate,
    seat_name,
    trick_table,
    turn_words,
    winners,
)

__all__ = [
    "HEADER",
    "PLATE_WIDTH",
    "ROW",
    "TABLE_HEIGHT",
    "WIDTH",
    "Drawing",
    "Picture",
    "around",
    "back",
    "box",
    "button",
    "button_row",
    "chip",
    "choice",
    "empty",
    "face",
    "grid",
    "group",
    "hand_rows",
    "headline",
    "how_many",
    "icon",
    "in_a_row",
    "last_trick",
    "legal_moves",
    "move",
    "on_host",
    "plate",
    "replay_html",
    "seat_name",
    "sheet",
    "show",
    "tag",
    "text_picture",
    "trick_table",
    "turn_words",
    "winners",
    "words",
]
