"""Skyjo: `SkyjoEnv` is the functional environment; `jaxgames.skyjo.classic` has the class with a seed and dicts."""

from jaxgames.skyjo.env import SkyjoEnv
from jaxgames.skyjo.observe import Flat, Tokens
from jaxgames.skyjo.state import State

__all__ = ["Flat", "SkyjoEnv", "State", "Tokens"]
