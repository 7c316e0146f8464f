"""Agents that fit every game."""

import chex
import jax
import jax.numpy as jnp

from jaxgames import Env


def random(env: Env):
    """Uniform over the legal actions."""

    def act(key: chex.PRNGKey, state, player):
        del player  # legal actions are those of the player to move, who is the one asked
        return env.random_action(state, jax.random.bits(key, (), jnp.uint32))

    return act
