"""Honest rollouts: each promising action is played to the end of the round, by players who see their own cards only.

Search in a sampled world usually lets everybody see everything there, and so believes in plans that depend on knowing
the world. Here every seat of every world decides from its own view, so that no such plan exists.
"""

from typing import Any

import chex
import jax
import jax.numpy as jnp

from agents.search import playout
from jaxgames import Env
from jaxgames.options import check_float, read_int


def rollouts(env: Env, network: str, worlds: str | int = 64, actions: str | int = 3, margin: str | float = 1.0):
    """A network that thinks: the best of its likeliest `actions`, by their mean payoff in `worlds` sampled worlds.

    All are tried in the same worlds with the same keys, so that only the action differs. The likeliest one is overruled
    by a gain of more than `margin` standard errors: with few worlds the network speaks, with many the search does.
    """
    from agents import networks

    num_worlds = read_int(env.id, "worlds", worlds, 2, 100_000)
    num_actions = read_int(env.id, "actions", actions, 1, min(env.num_actions, 64))
    errors = check_float(env.id, "margin", float(margin), 0.0)
    model, params = networks.load(network, env)
    payoff = playout.points(env)

    def decide(state, key):
        return networks.decide(model, params, state, state.current_player, key).action

    def act(key: chex.PRNGKey, state: Any, player: chex.Array) -> chex.Array:
        likely, candidates = networks.likeliest(model, params, state, player, num_actions)

        def one(key):
            """float32[candidate], what each is worth to the player in one world."""
            world_key, play_key = jax.random.split(key)
            world = env.determinize(world_key, state, player)

            def tried(action):
                end = playout.play_on(env, decide, world, playout.step(env, world, action), play_key)
                return payoff(world, end)[player]

            return jax.vmap(tried)(candidates)

        worth = jax.vmap(one)(jax.random.split(key, num_worlds))
        gain = worth - worth[:, :1]
        error = jnp.sqrt(gain.var(0) / num_worlds)
        bound = jnp.where(likely > 0, gain.mean(0) - errors * error, -jnp.inf)
        return candidates[jnp.argmax(bound)].astype(jnp.int32)

    return act
