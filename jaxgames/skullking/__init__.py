"""Skull King: bid tricks, then take exactly as many (docs/rules/skullking.md)."""

from jaxgames.skullking.env import SkullKingEnv

__all__ = ["SkullKingEnv"]
