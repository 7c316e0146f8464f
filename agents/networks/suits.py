"""`suits`: an `mlp` that reads suits by the part they play, not by their names.

The rules know suits by trump, by call, by what is led and by the cards in them; with two others exchanged a position is
the same. A network that reads suits by name has to learn each game of them anew, and what it did not happen to try
early (a Solo in Schellen) it may never learn. Each game says which suit is seen in which place: suits_schafkopf.py,
suits_magictrick.py.
"""

from typing import Any

from agents.networks import suits_magictrick, suits_schafkopf
from agents.networks.mlp import MLP, FlatModel
from jaxgames import Env
from jaxgames.options import UserError

# By game: the model, the observations that it can read, and whether the legal mask follows on them.
GAMES: dict[str, tuple[type[FlatModel], tuple[str, ...], bool]] = {
    "schafkopf": (suits_schafkopf.SuitModel, ("full", "linear342"), False),
    "magictrick": (suits_magictrick.SuitModel, ("v4",), True),
}


class SuitMLP(MLP):
    """The layers of `mlp`."""


def sit(env: Env, network: SuitMLP, version: str) -> FlatModel:
    """The network at the table of its game."""
    if version not in GAMES.get(env.id, (None, ()))[1]:
        known = "; ".join(f"{' or '.join(versions)} of {game}" for game, (_, versions, _) in GAMES.items())
        raise UserError(f"networks: suits reads {known}, got {version!r} of {env.id}")
    return GAMES[env.id][0](env, network, version)


def make(env: Env, version: str | None = None, **fields: Any) -> FlatModel:
    """The network for a game with suits."""
    reads_mask = GAMES[env.id][2] if env.id in GAMES else False
    fields = {"reads_mask": reads_mask} | fields
    network = SuitMLP(env.num_actions, (("action", env.num_actions),), **fields)
    return sit(env, network, version or env.observation_versions[0])
