"""What is known about the networks that come along: each has a card beside its weights, `card.json` and `card.md`.

`published` and `strength` read them for lists of players. Neither loads weights nor touches a device.
"""

from typing import NamedTuple

from agents import checkpoints

CARD = "card.json"


class Strength(NamedTuple):
    """One measured figure of an agent: `mean` ± `error` (one standard error over deals) of `figure`."""

    agent: str  # the spec that was measured
    figure: str  # the headline of the protocol: wins_percent, cents, points, gold_found_percent ...
    mean: float
    error: float
    against: str  # the spec at the other seats, or of the other side
    protocol: str  # by name, as in train/protocols.py
    games: int

    def __str__(self) -> str:
        name, unit = self.figure.removesuffix("_percent"), " %" if self.figure.endswith("_percent") else ""
        return f"{name.replace('_', ' ')} {self.mean:.1f} ± {self.error:.1f}{unit} against {self.against}"


def published(game: str = "") -> tuple[str, ...]:
    """The names of the networks that come along, of one game or of all: `ppo:<name>` plays them."""
    about = {name: checkpoints.read_manifest(checkpoints.published(name)) for name in checkpoints.published_names()}
    return tuple(name for name in about if game in ("", about[name]["game"]) and plays(about[name]))


def plays(manifest: checkpoints.Json) -> bool:
    """Does the network of a checkpoint play? A predictor of hands does not."""
    return manifest["network"].get("kind") != "hands"


def card(name: str) -> checkpoints.Json:
    """The card of a published network; empty if it has none."""
    path = checkpoints.published(name) / CARD
    try:
        found = checkpoints.read_json(path) if path.exists() else {}
        [Strength(**each) for each in found.get("figures", [])]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise checkpoints.CheckpointError(f"card: {path} is no card of a network ({error})") from error
    return found


def strength(spec: str) -> Strength | None:
    """How strong the agent of a spec is, if its card says so: `ppo:skullking`, `ppo:skullking,greedy` ...

    The first figure of exactly this spec, else the first of its network; None where nothing was measured. `str` of it
    is a line for a list of players.
    """
    _, _, rest = spec.partition(":")
    name = rest.split(",")[0].removeprefix("network=")
    if not name or not checkpoints.is_published(name):
        return None
    figures = [Strength(**each) for each in card(name).get("figures", [])]
    exact = [each for each in figures if each.agent == spec]
    return next(iter(exact + figures), None)
