"""Agents that look ahead, in worlds that their player cannot tell from the true one."""

from agents.search.guided import network_search
from agents.search.pimc import pimc
from agents.search.rollouts import rollouts

__all__ = ["network_search", "pimc", "rollouts"]
