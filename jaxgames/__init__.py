"""Hidden-information card games as pure JAX functions.

>>> import jax, jaxgames
>>> env = jaxgames.make("skullking", num_players=4)
>>> state = env.init(jax.random.key(0))
"""

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any, Literal, overload

from jaxgames.checked import checked
from jaxgames.env import Env, Part, State, flatten, pick
from jaxgames.options import UserError

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv
    from jaxgames.saboteur.env import SaboteurEnv
    from jaxgames.schafkopf.env import SchafkopfEnv
    from jaxgames.skullking.env import SkullKingEnv
    from jaxgames.skyjo.env import SkyjoEnv

__version__ = "0.2.0"
__all__ = ["Env", "Part", "State", "__version__", "checked", "flatten", "games", "make", "pick"]

# Modules are imported on use, so that one game never pays for the others.
_GAMES = {
    "magictrick": "jaxgames.magictrick.env:MagicTrickEnv",
    "saboteur": "jaxgames.saboteur.env:SaboteurEnv",
    "schafkopf": "jaxgames.schafkopf.env:SchafkopfEnv",
    "skullking": "jaxgames.skullking.env:SkullKingEnv",
    "skyjo": "jaxgames.skyjo.env:SkyjoEnv",
}


def games() -> tuple[str, ...]:
    """The names that `make` knows, in alphabetical order."""
    return tuple(_GAMES)


@overload
def make(game: Literal["magictrick"], **options: object) -> "MagicTrickEnv": ...
@overload
def make(game: Literal["saboteur"], **options: object) -> "SaboteurEnv": ...
@overload
def make(game: Literal["schafkopf"], **options: object) -> "SchafkopfEnv": ...
@overload
def make(game: Literal["skullking"], **options: object) -> "SkullKingEnv": ...
@overload
def make(game: Literal["skyjo"], **options: object) -> "SkyjoEnv": ...
@overload
def make(game: str, **options: object) -> Env[State]: ...
def make(game: str, **options: object) -> Env[Any]:
    """The environment of one game. A bad name or option is a UserError that says what is allowed."""
    if game not in _GAMES:
        raise UserError(f"jaxgames: unknown game {game!r}; the games are {', '.join(games())}")
    module, name = _GAMES[game].split(":")
    cls = getattr(importlib.import_module(module), name)
    known = [field.name for field in dataclasses.fields(cls)]
    for option, value in options.items():
        if option not in known:
            raise UserError(f"{game}: unknown option {option!r} (given {value!r}); options are {', '.join(known)}")
    return cls(**options)
