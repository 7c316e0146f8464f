"""Saboteur: hidden roles in a gold mine, and the path-laying game on the same engine. Rules: docs/rules/saboteur.md."""

from jaxgames.saboteur.env import SaboteurEnv

__all__ = ["SaboteurEnv"]
