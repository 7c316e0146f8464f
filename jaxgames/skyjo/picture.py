"""A position as a picture: everything, or what one seat may know."""

from typing import TYPE_CHECKING

from jaxgames.pictures import text_picture

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State


def picture(env: "SkyjoEnv", state: "State", player: int | None = None) -> str:
    """SVG text."""
    return text_picture(env.render(state, player))
