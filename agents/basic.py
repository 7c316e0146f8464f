"""Agents that fit every game."""

import dataclasses
from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp

from jaxgames import Env, State


def random(env: Env):
    """Uniform over the legal actions."""

    def act(key: chex.PRNGKey, state, player):
        del player  # legal actions are those of the player to move, who is the one asked
        return env.random_action(state, jax.random.bits(key, (), jnp.uint32))

    return act


@dataclasses.dataclass(frozen=True)
class Thinker:
    """An agent that knows most answers at once. Whoever plays many games asks it to think only about the others."""

    glance: Callable[[State, chex.Array], tuple[chex.Array, chex.Array]]  # (state, player) -> (action, is it sure)
    think: Callable[[chex.PRNGKey, State, chex.Array], chex.Array]  # (key, state, player) -> action

    def __call__(self, key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        action, is_sure = self.glance(state, player)
        return jnp.where(is_sure, action, self.think(key, state, player))


@dataclasses.dataclass(frozen=True)
class Either:
    """One agent or another, by what a state is: who plays by role changes with the deal.

    Whoever plays many games asks each of the two only where it is the one.
    """

    is_second: Callable[[State, chex.Array], chex.Array]  # (state, player) -> bool[]
    first: Callable[[chex.PRNGKey, State, chex.Array], chex.Array]
    second: Callable[[chex.PRNGKey, State, chex.Array], chex.Array]

    def __call__(self, key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        return jnp.where(self.is_second(state, player), self.second(key, state, player), self.first(key, state, player))


def as_thinker(agent: Callable[[chex.PRNGKey, State, chex.Array], chex.Array]) -> Thinker:
    """Any agent as one that may know its answer at once; most never do."""
    if isinstance(agent, Thinker):
        return agent
    return Thinker(lambda state, player: (jnp.int32(0), jnp.bool_(False)), agent)
