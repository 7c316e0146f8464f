"""Another world that a player cannot tell from this one (section 9 of the rules page)."""

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import shuffle
from jaxgames.skyjo.cards import NUM_CARDS, VALUES, Slot
from jaxgames.skyjo.chance import seed_of
from jaxgames.skyjo.options import Rules
from jaxgames.skyjo.state import State, has_unseen_hand, in_draw_pile, num_dealt


def determinize(rules: Rules, key: chex.PRNGKey, state: State, player: chex.Array) -> State:
    """SJ-52: hidden cards change places, the future is drawn afresh, nothing else changes."""
    cards_key, seed_key, deck_key = jax.random.split(key, 3)
    hidden = (state.status == Slot.HIDDEN).ravel()
    in_pile = jnp.append(in_draw_pile(state), has_unseen_hand(state, player))
    # After a refill the composition of the pile is known: it must not mix with the boards.
    group = jnp.concatenate([hidden * 1, in_pile * jnp.where(state.refilled, 2, 1)])
    cards = jnp.concatenate([state.cards.ravel(), state.deck, state.hand[None]])
    cards = permute_within(cards_key, cards, group)
    on_boards, in_deck, in_hand = jnp.split(cards, [hidden.size, hidden.size + NUM_CARDS])
    return state.replace(
        cards=on_boards.reshape(state.cards.shape),
        deck=in_deck,
        hand=in_hand[0],
        seed=seed_of(seed_key),
        next_deck=jnp.asarray(VALUES)[shuffle(deck_key, NUM_CARDS)],
        next_ready=jnp.uint8(num_dealt(rules.num_players)),
        script=None if state.script is None else state.script._replace(in_force=jnp.bool_(False)),
    )


def permute_within(key: chex.PRNGKey, cards: chex.Array, group: chex.Array) -> chex.Array:
    """`cards` with the members of each group 1, 2, ... in a uniform new order; group 0 stays where it is."""
    noise = jax.random.bits(key, cards.shape, jnp.uint32) >> 2
    place = jnp.arange(cards.size, dtype=jnp.uint32)
    # Sorted by group, then by chance (group 0: by place); the places likewise, but in their own order.
    order = group.astype(jnp.uint32) << 30
    _, drawn = jax.lax.sort((order | jnp.where(group == 0, place, noise), cards), num_keys=1)
    places = jnp.argsort(order | place)
    return jnp.zeros_like(cards).at[places].set(drawn)
