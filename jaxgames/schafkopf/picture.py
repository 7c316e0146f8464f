"""A position as a picture: everything, or what one seat may know."""

from typing import TYPE_CHECKING

from jaxgames.pictures import text_picture

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv
    from jaxgames.schafkopf.state import State


def picture(env: "SchafkopfEnv", state: "State", player: int | None = None) -> str:
    """SVG text."""
    return text_picture(env.render(state, player))
