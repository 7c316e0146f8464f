"""Another world that a player cannot tell from this one (section 9 of the rules page)."""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffle
from jaxgames.skyjo.cards import MIN_VALUE, NUM_CARDS, VALUES, Slot, num_dealt
from jaxgames.skyjo.chance import reveals_of
from jaxgames.skyjo.facts import has_unseen_hand, in_draw_pile
from jaxgames.skyjo.script import no_script
from jaxgames.skyjo.state import draw_deal

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State


def determinize(env: "SkyjoEnv", key: chex.PRNGKey, state: "State", player: chex.Array) -> "State":
    """SJ-52: the cards that `player` has not seen are laid out anew, the future is drawn afresh, all else stays."""
    cards_key, seed_key, deck_key = jax.random.split(key, 3)
    hidden = (state.status == Slot.HIDDEN).ravel()
    in_pile = in_draw_pile(state)
    in_pile_or_hand = jnp.append(in_pile, has_unseen_hand(state, player))
    # After a refill the composition of the pile is known: it must not mix with the boards.
    group = jnp.concatenate([hidden * 1, in_pile_or_hand * jnp.where(state.refilled, 2, 1)])
    cards = jnp.concatenate([state.cards.ravel(), state.deck, state.hand[None]])
    cards = lay_out_anew(cards_key, cards, group)
    seed = draw_deal(env, seed_key)["seed"]
    on_boards, in_deck, in_hand = jnp.split(cards, [hidden.size, hidden.size + NUM_CARDS])
    return state.replace(
        cards=on_boards.reshape(state.cards.shape),
        # Places outside the piles still hold what was dealt face down, or the order of a refill.
        deck=jnp.where(in_pile, in_deck, 0),
        hand=in_hand[0],
        discard=jnp.where(jnp.arange(NUM_CARDS) < state.discard_size, state.discard, 0),
        seed=seed,
        next_deck=jnp.asarray(VALUES)[shuffle(deck_key, NUM_CARDS)],
        next_ready=jnp.uint8(num_dealt(env.num_players)),
        next_reveals=reveals_of(env, seed, state.round_index + 1),
        script=no_script(env),
    )


def lay_out_anew(key: chex.PRNGKey, cards: chex.Array, group: chex.Array) -> chex.Array:
    """`cards` with those of each group 1, 2 on uniformly drawn places of that group; group 0 stays where it is.

    The cards of a group are taken in ascending order, so that nothing depends on where they truly lie.
    """
    group = group.astype(jnp.uint32) << 30
    place = jnp.arange(cards.size, dtype=jnp.uint32)
    noise = (
        jax.random.bits(key, cards.shape, jnp.uint32) >> 10 << 8
    )  # between the two bits of a group, eight of a place
    places = jnp.sort(group | noise | place) & 255
    index = (cards - MIN_VALUE).astype(jnp.uint32) & 255
    ascending = (jnp.sort(group | index) & 255).astype(jnp.int8) + jnp.int8(MIN_VALUE)
    return jnp.where(group == 0, cards, jnp.zeros_like(cards).at[places].set(ascending))
