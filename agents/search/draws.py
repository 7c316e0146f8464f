"""Worlds to search in: how they are drawn, and how much each of them counts."""

from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp

from jaxgames import Env, State

# draw(key, state, player) -> (world, log weight float32[]). A world is one that `player` cannot tell from `state`; its
# weight says how much likelier it is than the draw makes it. A pure function of what the player knows.
Draw = Callable[[chex.PRNGKey, State, chex.Array], tuple[State, chex.Array]]


def legal(env: Env, **how: chex.Array) -> Draw:
    """Every world that the rules allow, as likely as `env.determinize` makes it; `how` is handed to it."""
    return lambda key, state, player: (env.determinize(key, state, player, **how), jnp.float32(0))


def several(
    draw: Draw, key: chex.PRNGKey, state: State, player: chex.Array, count: int, candidates: int = 1
) -> tuple[State, chex.Array]:
    """(worlds [world, ...], weights float32[world] with mean 1): `count` worlds of a player.

    With several candidates for each, they are chosen by their weights and count alike from then on.
    """
    draw_key, choose_key = jax.random.split(key)
    keys = jax.random.split(draw_key, count * candidates)
    worlds, log_weights = jax.vmap(draw, in_axes=(0, None, None))(keys, state, player)
    weights = jnp.exp(log_weights - log_weights.max())
    if candidates == 1:
        return worlds, weights / weights.mean()  # exactly 1 where all are alike
    share = weights / weights.sum()
    # A comb with `count` teeth over the shares laid end to end: nobody is taken more often than its share rounded up.
    teeth = (jnp.arange(count) + jax.random.uniform(choose_key)) / count
    chosen = (jnp.cumsum(share) <= teeth[:, None]).sum(-1)
    chosen = jnp.minimum(chosen, count * candidates - 1)  # sums of floats may end below 1
    return jax.tree.map(lambda leaf: leaf[chosen], worlds), jnp.ones(count, jnp.float32)
