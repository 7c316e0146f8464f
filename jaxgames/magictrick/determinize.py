"""Another world that nobody at the table can tell from this one (MT-51 to MT-55)."""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffles
from jaxgames.magictrick.belief import INNER, START, Chains, posterior, prefix_lengths, ways_between
from jaxgames.magictrick.cards import NUM_CARDS, NUM_SLOTS, suit_of
from jaxgames.magictrick.state import State, deal_hands, hands

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv


def determinize(env: "MagicTrickEnv", key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """The state with all hidden values redrawn from the posterior of the deal, and the later hands dealt anew.

    It is the same for all four players: nobody knows a hidden value, not even of the own cards (MT-50). What is
    computed of the position does not depend on the key: under `vmap` over keys alone it is done once for all draws.
    """
    del player
    draw_key, deal_key = jax.random.split(key)
    hand = jnp.arange(env.num_hands)[:, None, None]
    dealt = jnp.where(hand == state.hand_index, draw_hands(draw_key, state), state.dealt)
    if env.num_hands > 1:
        later = deal_hands(shuffles(deal_key, env.num_hands, NUM_CARDS))
        dealt = jnp.where(hand > state.hand_index, later, dealt)
    return state.replace(dealt=dealt)


def draw_hands(key: chex.PRNGKey, state: State) -> chex.Array:
    """int8[seat, slot], cards with the same backs and the same revealed values: an exact draw (MT-52)."""
    uniform = jax.random.uniform(key, (INNER,), jnp.float32)
    boundaries = posterior(state, lambda chains: draw_boundaries(uniform, chains))
    value = (prefix_lengths(boundaries)[:, :, None] <= jnp.arange(NUM_SLOTS)).sum(axis=0)
    drawn = (8 * suit_of(hands(state)) + value).astype(jnp.int8)
    return jnp.where(state.revealed, hands(state), drawn)


def draw_boundaries(uniform: chex.Array, chains: Chains) -> chex.Array:
    """int32[7], p(1) ... p(7) in turn, each with the weight of all chains that go on from it (MT-55).

    `uniform`, float32[7], is the chance of the draw: the key is spent once, however often the chains are made anew.
    """

    def draw(boundary, level):
        points, ways_on, uniform = level
        weight = ways_between(boundary, points) * ways_on
        # Only boundaries with a weight can be hit, and the farthest of them lies beyond every uniform number below 1.
        reach = jnp.where(weight > 0, jnp.cumsum(weight), 0)
        boundary = points[jnp.argmax(reach > uniform * reach.max())]
        return boundary, boundary

    return jax.lax.scan(draw, jnp.int32(START), (chains.points, chains.ways_on, uniform))[1]
