"""Worlds to search in: how they are drawn, and how much each of them counts."""

from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp

from agents.search.playout import Choose
from jaxgames import Env, State
from jaxgames.skullking import SkullKingEnv
from jaxgames.skullking.cards import BID, BIDDING

# draw(key, state, player) -> (world, log weight float32[]). A world is one that `player` cannot tell from `state`; its
# weight says how much likelier it is than the draw makes it. A pure function of what the player knows.
Draw = Callable[[chex.PRNGKey, State, chex.Array], tuple[State, chex.Array]]


def legal(env: Env, **how: chex.Array) -> Draw:
    """Every world that the rules allow, as likely as `env.determinize` makes it; `how` is handed to it."""
    return lambda key, state, player: (env.determinize(key, state, player, **how), jnp.float32(0))


def sensible(env: Env, draw: Draw, choose: Choose) -> Draw:
    """`draw`, but what others have chosen in secret is what `choose` would have, with what they hold in that world.

    The rules allow any bid that is not revealed yet; nobody expects any. Chosen with the world, it needs no weight.
    """
    if not isinstance(env, SkullKingEnv):
        return draw

    def drawn(key: chex.PRNGKey, state: Any, player: chex.Array):
        world_key, bid_key = jax.random.split(key)
        world: Any
        world, log_weight = draw(world_key, state, player)
        seats = jnp.arange(env.num_players, dtype=world.bids.dtype)

        def bid(seat):
            asked = world.replace(current_player=seat, bids=world.bids.at[seat].set(-1))
            return (choose(asked, bid_key, seat) - BID).astype(world.bids.dtype)

        is_bidding = state.phase == BIDDING
        is_secret = is_bidding & (state.bids >= 0) & (seats != player)
        bids = jnp.where(is_secret, jax.vmap(bid)(seats), world.bids)
        return world.replace(bids=bids), jnp.where(is_bidding, 0.0, log_weight)

    return drawn


def several(
    draw: Draw, key: chex.PRNGKey, state: State, player: chex.Array, count: int, candidates: int = 1
) -> tuple[State, chex.Array]:
    """(worlds [world, ...], weights float32[world] with mean 1): `count` worlds of a player.

    With several candidates for each, they are chosen by their weights and count alike from then on.
    """
    draw_key, choose_key = jax.random.split(key)
    keys = jax.random.split(draw_key, count * candidates)
    draw_all = jax.vmap(draw, in_axes=(0, None, None))
    again = jax.random.clone(keys)
    worlds, log_weights = draw_all(keys, state, player)
    weights = jnp.exp(log_weights - log_weights.max())
    if candidates == 1:
        return worlds, weights / weights.mean()  # exactly 1 where all are alike
    share = weights / weights.sum()
    # A comb with `count` teeth over the shares laid end to end: nobody is taken more often than its share rounded up.
    teeth = (jnp.arange(count) + jax.random.uniform(choose_key)) / count
    chosen = (jnp.cumsum(share) <= teeth[:, None]).sum(-1)
    chosen = jnp.minimum(chosen, count * candidates - 1)  # sums of floats may end below 1
    # Drawn again: of the many nothing is computed but what their weights need.
    return draw_all(again[chosen], state, player)[0], jnp.ones(count, jnp.float32)
