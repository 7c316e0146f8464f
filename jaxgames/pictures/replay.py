"""A recorded game as one HTML file to step through, with nothing fetched from anywhere."""

import html
import json
import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxgames.env import Env, State
    from jaxgames.records import Record

PAGE = pathlib.Path(__file__).with_name("replay.html")


def replay_html(record: "Record", player: int | None = None) -> str:
    """The page of a recorded game: slider, arrow keys, autoplay, the log in words.

    Without `player` it shows everything, and the table from every chair. With one it holds what that seat may know
    and nothing else.
    """
    from jaxgames.host import Game  # games are drawn by this package and driven by that module: not at import

    game: Game[Any] = Game.from_record(record)
    env, states = game.env, game.states
    viewers = [None, *range(env.num_players)] if player is None else [env._viewer(player)]
    shared = Lines()
    views = [
        {
            "name": "everything" if viewer is None else f"seat {viewer}",
            "frames": [shared.places(env.picture(state, viewer, moves=False)) for state in states],
            "log": log(env, states, game.actions, viewer),
        }
        for viewer in viewers
    ]
    names = [f"Seat {seat}: {name}" for seat, name in enumerate(record.players)]
    data = {"lines": shared.lines, "views": views, "players": names}
    title = f"{env.id}, {len(game.actions)} moves"
    return (
        PAGE.read_text(encoding="utf-8").replace("{{title}}", html.escape(title)).replace("{{data}}", as_script(data))
    )


class Lines:
    """Each line of many pictures once: from frame to frame most of a table stays as it is."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._place: dict[str, int] = {}

    def places(self, text: str) -> list[int]:
        """Where the lines of the text stand in `lines`."""
        found = []
        for line in text.split("\n"):
            if line not in self._place:
                self._place[line] = len(self.lines)
                self.lines.append(line)
            found.append(self._place[line])
        return found


def log(env: "Env", states: "list[State]", actions: list[int], viewer: int | None) -> list[str]:
    """Every move in words, as the viewer may know it."""
    return [
        f"Seat {int(state.current_player)}: {env.action_name(state, action, viewer)}"
        for state, action in zip(states, actions, strict=False)
    ]


def as_script(data: object) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
