"""A network that sees all cards, played by somebody who does not: on worlds drawn from what its player knows."""

import chex
import jax
import jax.numpy as jnp

from agents import networks
from agents.basic import as_thinker
from agents.networks import Categorical
from jaxgames import Env, State
from jaxgames.options import UserError


def worlds(env: Env, network: str, count: int | str = 16, style: str = "sampled"):
    """The mean over `count` determinizations of what a network would do in each, sampled or its likeliest action."""
    count = _whole_number(count)
    if style not in ("sampled", "greedy"):
        raise UserError(f"agents: a network plays sampled or greedy, got {style!r}")
    model, params = networks.load(network, env)

    def act(key: chex.PRNGKey, state: State, player: chex.Array) -> chex.Array:
        act_key, *world_keys = jax.random.split(key, 1 + count)

        def probabilities(world_key):
            world = env.determinize(world_key, state, player)
            policy, _ = networks.consider(model, params, world, player)
            if not isinstance(policy, Categorical):
                raise TypeError(f"{type(policy).__name__} has no list of choices to average")
            return policy.widths / policy.total

        mean = jax.vmap(probabilities)(jnp.stack(world_keys)).mean(0)
        legal = model.legal(state)
        policy = model.policy(jnp.log(jnp.maximum(mean, 1e-30)), legal)
        return model.act(state, legal, policy.mode() if style == "greedy" else policy.sample(act_key))

    return as_thinker(act)


def _whole_number(text: int | str) -> int:
    if not str(text).isascii() or not str(text).isdigit() or int(text) < 1:
        raise UserError(f"agents: the number of worlds must be a whole number above 0, got {text!r}")
    return int(text)
