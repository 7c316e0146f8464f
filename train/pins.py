"""Networks that a run meets are the same for all its days: found once, and held to by their SHA-256.

A run against `ppo:runs/other` plays the checkpoint that was the newest one when it began, also after a `--resume`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import agents
from agents import checkpoints
from jaxgames import Env
from jaxgames.options import UserError


class Pin(NamedTuple):
    """One checkpoint."""

    network: str  # its folder, or the name of a network that comes along
    sha256: str


Pins = dict[str, Pin]  # by the text that the user wrote


def read(stored: Any) -> Pins:
    """Pins as JSON has them; a ValueError if they are none."""
    try:
        found = {name: Pin(**each) for name, each in stored.items()}
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no networks with their SHA-256: {error}") from error
    for name, each in found.items():
        if not all(isinstance(part, str) for part in each):
            raise ValueError(f"no network and SHA-256 for {name}")
    return found


def pin(networks: Iterable[str]) -> Pins:
    """What these texts mean today."""
    pins = {}
    for network in networks:
        folder = checkpoints.find(network)
        name = network if checkpoints.is_published(network) else folder.as_posix()
        pins[network] = Pin(name, checkpoints.identity(folder))
    return pins


def check(pins: Pins) -> None:
    """A UserError if one of them is gone or is no longer the same."""
    for network, sha256 in pins.values():
        try:
            found = checkpoints.identity(checkpoints.find(network))
        except checkpoints.CheckpointError as error:
            raise UserError(f"resume: the run was begun with the network {network}, which is gone ({error})") from error
        if found != sha256:
            raise UserError(
                f"resume: the network {network} is another one than the run was begun with; put the old one back, or "
                "start a new run"
            )


def networks_of(specs: Iterable[str], env: Env) -> list[str]:
    """The networks that these agents load."""
    found: list[str] = []

    def note(network: str) -> str:
        found.append(network)
        return network

    for spec in specs:
        agents.with_networks(spec, env, note)
    return found


def pinned(spec: str, env: Env, pins: Pins) -> str:
    """The agent's spec with the checkpoint it is held to."""
    return agents.with_networks(spec, env, lambda network: held_to(network, pins))


def held_to(network: str, pins: Pins) -> str:
    """The checkpoint that stands for this text; the text itself in a run that was begun without pins."""
    return pins[network].network if network in pins else network
