"""A position as a picture: everything, or what one seat may know."""

from typing import TYPE_CHECKING

from jaxgames.pictures import text_picture

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv
    from jaxgames.magictrick.state import State


def picture(env: "MagicTrickEnv", state: "State", player: int | None = None) -> str:
    """SVG text."""
    return text_picture(env.render(state, player))
