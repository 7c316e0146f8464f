"""Everything that decides.

An agent is a pure function `act(key, state, player) -> action` of what its player may know, built by a constructor
that takes the env; it can be jitted and vmapped. `make` turns a spec string into one:

    make("random", env)    make("rule", env)    make("rule:hard,strength", env)    make("ppo:runs/first", env)
"""

import importlib
from collections.abc import Callable
from typing import Any

import chex

from agents.basic import random
from jaxgames import Env

Agent = Callable[[chex.PRNGKey, Any, chex.Array], chex.Array]

__all__ = ["Agent", "load", "make", "names", "random", "rule_based"]


def make(spec: str, env: Env) -> Agent:
    """The agent that a spec names: `name` or `name:argument,argument`. Unknown names are refused with a list."""
    name, _, arguments = spec.partition(":")
    known = _constructors(env)
    if name not in known:
        raise ValueError(f"agents: unknown agent {name!r} for {env.id}; known are {', '.join(known)}")
    return known[name](env, *(argument for argument in arguments.split(",") if argument))


def names(env: Env) -> tuple[str, ...]:
    """Every name that `make` takes for this game."""
    return tuple(_constructors(env))


def rule_based(env: Env, *arguments: Any, **options: Any) -> Agent:
    """The rule-based player of the game's rules page, with that page's options."""
    return _constructors(env)["rule"](env, *arguments, **options)


def load(path: str, env: Env, greedy: bool = False) -> Agent:
    """The trained network of a run folder (its newest checkpoint) or of one checkpoint folder."""
    from agents.networks import load_network, network_agent

    network, params = load_network(path, env)
    return network_agent(env, network, params, greedy)


def _ppo(env: Env, path: str, style: str = "sampled") -> Agent:
    if style not in ("sampled", "greedy"):
        raise ValueError(f"agents: a network plays sampled or greedy, got {style!r}")
    return load(path, env, greedy=style == "greedy")


def _constructors(env: Env) -> dict[str, Callable[..., Agent]]:
    return {"random": random, "ppo": _ppo, **importlib.import_module(f"agents.{env.id}").AGENTS}
