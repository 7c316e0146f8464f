"""A table at the terminal: drawn in colour by rich where it is installed and somebody looks, else in plain text; or as
JSON lines for machines."""

import json
import re
import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from jaxgames.options import UserError

if TYPE_CHECKING:
    from jaxgames.host import Game

PROMPT = "Choose an action id: "
WIDEST = 100  # columns; 80 are enough

# What is coloured in the text of each game: a pattern, and a style of rich. Later ones win.
SUITS = {"red": "♥", "bright_blue": "☾", "yellow": "★", "green": "♣", "magenta": "♦", "bright_black": "▲"}
COLOURS: dict[str, dict[str, str]] = {
    "skullking": {
        r"\bR\d+\b": "bold reverse",
        r"\bP\d+\b": "bold green",
        r"\bM\d+\b": "bold magenta",
        r"\bC\d+\b": "bold yellow",
        r"\b(Rosie|Bendt|Roatán|Jade|Harry|Tigress)\b": "bold red",
        r"\b(SkullKing|Kraken|Whale)\b": "bold white on red",
        r"\b(Mermaid|Escape|Loot)\b": "bold cyan",
    },
    "schafkopf": {
        r"\bE[7-9XUOKA]\b": "bold",
        r"\bG[7-9XUOKA]\b": "bold green",
        r"\bH[7-9XUOKA]\b": "bold red",
        r"\bS[7-9XUOKA]\b": "bold yellow",
    },
    "magictrick": {rf"[\d?]{symbol}": colour for colour, symbol in SUITS.items()} | {r"\(\d\S\)": "bold"},
    "skyjo": {
        rf"(?:(?<=\s\s)|(?<=^\s)){value}\b": colour  # on a board there is room between the cards
        for value, colour in {
            r"-\d": "bold bright_blue",
            "0": "bold cyan",
            "[1-4]": "bold green",
            "[5-8]": "bold yellow",
            "(9|1[0-2])": "bold red",
        }.items()
    },
    "saboteur": {r"[╹╺┗╻┃┏┣╸┛━┻┓┫┳╋]": "bold yellow", r"[╵╶└╷│┌├╴┘─┴┐┤┬┼]": "red", r"·": "bright_black"}
    | {r"(?<=[·\s╸-╿])S(?=[·\s╸-╿])": "bold green", r"\$": "bold yellow reverse", r"\bsaboteur\b": "red"},
}


class Screen(Protocol):
    """What a game at the terminal needs of whoever shows it."""

    def position(self, game: "Game", viewer: int | None) -> None:
        """The table, as `viewer` sees it."""

    def turn(self, game: "Game") -> None:
        """The player to move, and what may be done."""

    def moved(self, step: int, seat: int, who: str, words: str, action: int) -> None:
        """A move that was made."""

    def hint(self, spec: str, moves: Mapping[int, str], shares: Mapping[int, float]) -> None:
        """How often an agent would make each move."""

    def say(self, text: str) -> None:
        """A sentence for who sits here."""

    def over(self, game: "Game") -> None:
        """The end."""


def screen(as_json: bool = False) -> Screen:
    """The best screen there is for this output."""
    if as_json:
        return JsonLines()
    if sys.stdout.isatty():
        try:
            return Drawn()
        except ImportError:  # `pip install jaxgames[terminal]` brings rich
            pass
    return Plain()


def ask(show: Screen, legal: Mapping[int, str], others: tuple[str, ...] = ()) -> int | str:
    """A legal id, or one of the `others` ("undo"), asked for until it is one. A move's words will do too."""
    by_words = {words.lower(): action for action, words in legal.items()}
    while True:
        try:
            answer = input("" if isinstance(show, JsonLines) else PROMPT).strip()
        except EOFError:
            raise UserError("the input ended before the game did.") from None
        if answer in {str(action) for action in legal}:
            return int(answer)
        if answer.lower() in by_words:
            return by_words[answer.lower()]
        for other in others:
            if answer.lower() in (other, other[0]):
                return other
        show.say(f"{answer[:80]!r} is not a legal id; please enter one of those listed.")


class Plain:
    """Text as it comes."""

    def position(self, game: "Game", viewer: int | None) -> None:
        print(f"\n{game.render(viewer)}")

    def turn(self, game: "Game") -> None:
        print(f"Player {game.player} to act.")
        print(f"Legal ids: {'; '.join(f'{action} {words}'.rstrip() for action, words in game.moves.items())}")

    def moved(self, step: int, seat: int, who: str, words: str, action: int) -> None:
        print(f"{step:4d}  seat {seat}{f' ({who})' if who else ''}: {words}")

    def hint(self, spec: str, moves: Mapping[int, str], shares: Mapping[int, float]) -> None:
        for action, share in shares.items():
            print(f"{share:6.0%}  {action} {moves[action]}")

    def say(self, text: str) -> None:
        print(text)

    def over(self, game: "Game") -> None:
        print("\nGame over")
        print(f"Final scores: {game.scores}")
        print(f"Winners: {', '.join(f'player {seat}' for seat in game.winners) or 'nobody'}")


class JsonLines:
    """One object a line; flushed, so that a program can answer."""

    def position(self, game: "Game", viewer: int | None) -> None:
        self._print("position", step=len(game.actions), seat=viewer, text=game.render(viewer).splitlines())

    def turn(self, game: "Game") -> None:
        self._print("turn", step=len(game.actions), seat=game.player, moves=game.moves, scores=game.scores)

    def moved(self, step: int, seat: int, who: str, words: str, action: int) -> None:
        self._print("move", step=step, seat=seat, player=who, words=words, action=action)

    def hint(self, spec: str, moves: Mapping[int, str], shares: Mapping[int, float]) -> None:
        self._print("hint", agent=spec, shares=shares)

    def say(self, text: str) -> None:
        self._print("error", text=text)

    def over(self, game: "Game") -> None:
        self._print("over", step=len(game.actions), scores=game.scores, winners=game.winners, returns=game.returns)

    def _print(self, kind: str, **fields: object) -> None:
        print(json.dumps({"type": kind, **fields}), flush=True)


class Drawn(Plain):
    """The same in colour, in a frame as wide as the terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(highlight=False)
        self.width = min(self.console.width, WIDEST)

    def position(self, game: "Game", viewer: int | None) -> None:
        from rich.panel import Panel

        title, *lines = game.render(viewer).splitlines()
        body = self._coloured(game.env.id, "\n".join(lines) or title, self.width - 4)
        body.highlight_regex(rf"(?m)^.*\bseat {game.player}\b.*$", "on grey15")  # who is to move
        seats = [name if seat != viewer else "you" for seat, name in enumerate(game.players)]
        names = ", ".join(f"{seat} {name}" for seat, name in enumerate(seats))
        frame = Panel(body, title=f"[bold]{title}[/]", subtitle=names or None, width=self.width, border_style="cyan")
        self.console.print(frame)

    def turn(self, game: "Game") -> None:
        from rich.columns import Columns
        from rich.padding import Padding
        from rich.text import Text

        cells = []
        for shared, moves in alike(game.moves).items():
            if len(moves) == 1:
                ((action, rest),) = moves
                cells.append(
                    Text.assemble((f"{action:>5} ", "bold cyan"), self._coloured(game.env.id, f"{shared}{rest}"))
                )
                continue
            each = [Text.assemble((f"{action} ", "bold cyan"), rest) for action, rest in moves]
            self.console.print(Text(f"      {shared.rstrip()}", style="bold"))
            self.console.print(Padding(Columns(each, padding=(0, 3)), (0, 0, 0, 8)), width=self.width)
        self.console.print(Columns(cells, equal=True, padding=(0, 2)), width=self.width)
        self.console.print("id of your move, its words, undo or hint", style="dim")

    def moved(self, step: int, seat: int, who: str, words: str, action: int) -> None:
        from rich.text import Text

        self.console.print(Text.assemble((f"{step:4d}  ", "dim"), f"seat {seat} ", (who, "dim"), "  ", (words, "bold")))

    def hint(self, spec: str, moves: Mapping[int, str], shares: Mapping[int, float]) -> None:
        from rich.table import Table

        table = Table(title=f"{spec} would play", title_justify="left", box=None, show_header=False)
        for action, share in shares.items():
            table.add_row(
                f"[bold cyan]{action}[/]", moves[action], f"[cyan]{'━' * round(24 * share)}[/]", f"{share:.0%}"
            )
        self.console.print(table, width=self.width)

    def say(self, text: str) -> None:
        self.console.print(text, style="yellow", markup=False)

    def over(self, game: "Game") -> None:
        from rich.table import Table

        table = Table(title="Game over", title_justify="left", title_style="bold")
        for name in ("seat", "player", "score"):
            table.add_column(name)
        players = game.players or ("",) * game.env.num_players
        for seat, (player, score) in enumerate(zip(players, game.scores, strict=True)):
            is_winner = seat in game.winners
            table.add_row(str(seat), player, f"{score:g}", style="bold green" if is_winner else None)
        self.console.print(table)

    def _coloured(self, game: str, text: str, width: int | None = None):
        from rich.text import Text

        if width is not None:
            text = "\n".join(folded(line, width) for line in text.splitlines())
        drawn = Text(text)
        for pattern, style in COLOURS.get(game, {}).items():
            drawn.highlight_regex(re.compile(pattern, re.MULTILINE), style)
        return drawn


MANY = 4  # moves that differ in their last word alone are listed together from here on


def alike(moves: Mapping[int, str]) -> dict[str, list[tuple[int, str]]]:
    """Moves by the words that they share: {"turn up slot ": [(0, "0"), (1, "1"), ...], "pass": [(9, "")]}."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for action, words in moves.items():
        last = re.search(r"(?<= )(\([^)]*\)|\S+)$", words)
        at = last.start() if last else len(words)
        groups.setdefault(words[:at], []).append((action, words[at:]))
    return {
        words: group
        for shared, members in groups.items()
        for words, group in (
            [(shared, members)] if len(members) >= MANY else [(shared + rest, [(i, "")]) for i, rest in members]
        )
    }


def folded(line: str, width: int) -> str:
    """A line that is too long, as several; what follows is indented."""
    if len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return "\n".join(textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False))
