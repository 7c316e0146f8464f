"""Schafkopf: called ace, Wenz and Solo for four players (docs/rules/schafkopf.md)."""

from jaxgames.schafkopf.env import PEER, SchafkopfEnv
from jaxgames.schafkopf.state import State

__all__ = ["PEER", "SchafkopfEnv", "State"]
