"""Who can be chosen as an opponent, and how strong each is, in a phrase.

Figures of bots are those of docs/results; a published network has them on its card.
"""

from typing import NamedTuple

import jaxgames
from agents import cards, checkpoints

# By game and spec, the weakest first.
STRENGTHS: dict[str, dict[str, str]] = {
    "skullking": {
        "random": "wins 0.4 % against three rule:hard",
        "rule:easy": "wins 87 % against three random",
        "rule:medium": "three of it leave rule:hard 28 % of the wins",
        "rule:hard": "wins 94 % against three random",
    },
    "skyjo": {
        "random": "never beats rule",
        "rule": "beats random always",
    },
    "saboteur": {
        "random": "never finds the gold",
        "rule": "finds the gold in 69 % against random, 33 % against itself",
    },
    "schafkopf": {
        "random": "loses 120 cents a game to rule",
        "random_coward": "loses 5 cents a game to rule",
        "rule": "wins 120 cents a game from random",
        "pimc:10,40": "searches; wins about 20 cents a game from rule",
    },
    "magictrick": {
        "random": "wins 10 % against three rule",
        "rule": "wins 50 % against three random",
    },
}


class Offer(NamedTuple):
    """An agent to choose."""

    spec: str
    strength: str
    num_players: int | None = None  # what a network was trained for; None: any number
    options: dict[str, object] = {}  # noqa: RUF012  likewise, where it is not the game's default


def offers(game: str) -> list[Offer]:
    """The agents of a game that can be named without a path: bots and searches, then published networks."""
    found = [Offer(spec, phrase) for spec, phrase in STRENGTHS.get(game, {"random": ""}).items()]
    for name in cards.published(game):
        manifest = checkpoints.read_manifest(checkpoints.published(name))
        phrase = str(cards.strength(f"ppo:{name}") or "a trained network")
        found.append(network(f"ppo:{name}", phrase, manifest))
    return found


def network(spec: str, phrase: str, manifest: checkpoints.Json) -> Offer:
    """A network with what it needs of the game. How it was rewarded is nobody's business at a table."""
    usual = jaxgames.make(manifest["game"]).options
    given = {name: value for name, value in manifest["options"].items() if not name.startswith("reward")}
    number = given.pop("num_players", None)
    return Offer(spec, phrase, number, {name: value for name, value in given.items() if value != _listed(usual[name])})


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
