"""Agents that fit every game."""

import chex

from jaxgames import Env
from jaxgames.cards import random_action


def random(env: Env):
    """Uniform over the legal actions."""

    def act(key: chex.PRNGKey, state, player):
        del player  # the mask is that of the player to move, who is the one asked
        return random_action(key, env.legal_action_mask(state))

    return act
