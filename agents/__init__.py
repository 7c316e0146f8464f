"""Everything that decides.

An agent is a pure function `act(key, state, player) -> action` of what its player may know, built by a constructor
that takes the env; it can be jitted and vmapped. `make` turns a spec string into one:

    make("random", env)    make("rule:hard,seed", env)    make("rule:level=easy", env)    make("ppo:runs/first", env)
    make("pimc:10,40", env)    make("hp:10,40", env)    make("rollouts:skullking,worlds=32", env)
"""

import importlib
import inspect
from collections.abc import Callable

import chex

from agents.basic import random
from agents.cards import Strength, published, strength
from agents.inference import infer
from agents.predict import hp
from agents.search import network_search, pimc, rollouts
from jaxgames import Env
from jaxgames.env import StateT
from jaxgames.options import UserError

Agent = Callable[[chex.PRNGKey, StateT, chex.Array], chex.Array]

__all__ = [
    "Agent",
    "Strength",
    "UserError",
    "load",
    "make",
    "names",
    "parse",
    "published",
    "random",
    "rule_based",
    "strength",
    "with_networks",
]

NETWORK = "network"  # a constructor's parameter of this name is a run, a checkpoint or the name of a published network


def make(spec: str, env: Env) -> Agent:
    """The agent that a spec names. Unknown names and arguments are refused with what is known."""
    constructor, arguments = _find(spec, env)
    return constructor(*arguments.args, **arguments.kwargs)


def parse(spec: str) -> tuple[str, list[str], dict[str, str]]:
    """(name, positional, named) of `name:value,value,name=value`."""
    name, _, text = spec.partition(":")
    positional, named = [], {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if equals and key.isidentifier():  # a path may hold an equals sign: runs/rate=0.1
            named[key] = value
        elif part:
            positional.append(part)
    return name, positional, named


def with_networks(spec: str, env: Env, replace: Callable[[str], str]) -> str:
    """The spec with `replace(network)` for the network it loads, if it loads one."""
    _, arguments = _find(spec, env)
    if NETWORK not in arguments.arguments:
        return spec
    name, positional, named = parse(spec)
    given = arguments.arguments[NETWORK]
    values = [replace(given) if value == given else value for value in positional]
    values += [f"{key}={replace(given) if key == NETWORK else value}" for key, value in named.items()]
    return f"{name}:{','.join(values)}"


def names(env: Env) -> tuple[str, ...]:
    """Every name that `make` takes for this game."""
    return tuple(_constructors(env))


def rule_based(env: Env, *arguments: object, **options: object) -> Agent:
    """The rule-based player of the game's rules page, with that page's options."""
    return _constructors(env)["rule"](env, *arguments, **options)


def load(path: str, env: Env, greedy: bool = False) -> Agent:
    """The trained network of a run folder (its newest checkpoint) or of one checkpoint folder.

    Refused if it reads what its player may not know.
    """
    from agents import networks

    model, params = networks.load_honest(path, env)
    return networks.network_agent(model, params, greedy)


def _ppo(env: Env, network: str, style: str = "sampled") -> Agent:
    if style not in ("sampled", "greedy"):
        raise UserError(f"agents: a network plays sampled or greedy, got {style!r}")
    return load(network, env, greedy=style == "greedy")


def _worlds(env: Env, network: str, count: str = "16", style: str = "sampled") -> Agent:
    from agents.worlds import worlds

    return worlds(env, network, count, style)


def _find(spec: str, env: Env) -> tuple[Callable[..., Agent], inspect.BoundArguments]:
    """The constructor that a spec names and the arguments to call it with."""
    name, positional, named = parse(spec)
    known = _constructors(env)
    if name not in known:
        raise UserError(f"agents: unknown agent {name!r} for {env.id}; known are {', '.join(known)}")
    signature = inspect.signature(known[name])
    try:
        return known[name], signature.bind(env, *positional, **named)
    except TypeError as error:
        raise UserError(f"agents: {spec!r} has other arguments ({error}); write {_usage(name, signature)}") from error


def _usage(name: str, signature: inspect.Signature) -> str:
    """How the spec of this agent is written: `ppo:<network>,style=sampled`."""
    _, *options = signature.parameters.values()
    texts = [f"<{o.name}>" if o.default is o.empty else f"{o.name}={o.default}" for o in options]
    return name + (":" + ",".join(texts) if texts else "")


def _constructors(env: Env) -> dict[str, Callable[..., Agent]]:
    return {
        "random": random,
        "ppo": _ppo,
        "worlds": _worlds,
        "pimc": pimc,
        "rollouts": rollouts,
        "search": network_search,
        "hp": hp,
        "infer": infer,
        **importlib.import_module(f"agents.{env.id}").AGENTS,
    }
