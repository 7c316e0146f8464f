"""A deal given from outside, in the page's form (SJ-6): what it says replaces what the seed would have said.

Every state has room for one, so that all states have the same tree; a game from a key has it empty.
"""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Deal, seldom
from jaxgames.skyjo.cards import MAX_DECKS, MAX_REFILLS, MIN_VALUE, NUM_CARDS, VALUES, num_dealt

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

NUM_WORDS = -(-NUM_CARDS // 8)  # of 32 bits, for the values of a deck
SHIFTS = np.arange(0, 32, 4, dtype=np.uint32)  # of the eight values in a word


class Script(NamedTuple):
    """It is in force if it holds a deck."""

    decks: chex.Array  # uint32[round, 19]    values in dealing order, eight to a word
    reveals: chex.Array  # int8[round, seat, 2] slots turned up
    refills: chex.Array  # uint8[refill, 150]   orders
    num_decks: chex.Array  # uint8[]              how many rows of each are given: past the last, the first comes again
    num_reveals: chex.Array  # uint8[]
    num_refills: chex.Array  # uint8[]


def no_script(env: "SkyjoEnv") -> Script:
    """Chance comes from the seed."""
    return Script(
        decks=jnp.zeros((MAX_DECKS, NUM_WORDS), jnp.uint32),
        reveals=jnp.zeros((MAX_DECKS, env.num_players, 2), jnp.int8),
        refills=jnp.zeros((MAX_REFILLS, NUM_CARDS), jnp.uint8),
        num_decks=jnp.uint8(0),
        num_reveals=jnp.uint8(0),
        num_refills=jnp.uint8(0),
    )


def write_script(env: "SkyjoEnv", deal: Deal) -> Script:
    """The script of the page's deal, as `read_deal` gives it."""
    values = jnp.asarray(VALUES)[jnp.asarray(deal["decks"], jnp.int32)]
    parts = pack(values), jnp.asarray(deal["reveals"], jnp.int8), jnp.asarray(deal["refills"], jnp.uint8)
    rooms = no_script(env)[:3]
    written = [room.at[: len(part)].set(part) for room, part in zip(rooms, parts, strict=True)]
    return Script(*written, *(jnp.uint8(len(part)) for part in parts))


def has_script(state: "State") -> chex.Array:
    """bool[], the game follows a deal given from outside."""
    return state.script.num_decks > 0


def follow_script(env: "SkyjoEnv", state: "State", *, draws: chex.Array, when: chex.Array) -> "State":
    """In a game with a script: its deck and reveals for the next round, and its order for a refill that is due.

    A new round begins with `next_ready` = 0. A refill draws the discard pile as it lies, so its order is put there.
    """
    deals = when & (state.next_ready == 0)
    refills = draws & (state.deck_pos == state.deck_end)

    def read(chance, script, round_index, refills_before, discard_size):
        deck, reveals, discard = chance
        given_deck, given_reveals = next_round(script, round_index)
        return (
            jnp.where(deals, given_deck, deck),
            jnp.where(deals, given_reveals, reveals),
            jnp.where(refills, refill_order(script, refills_before, discard, discard_size), discard),
        )

    deck, reveals, discard = seldom(
        read,
        (state.next_deck, state.next_reveals, state.discard),
        *(state.script, state.round_index, state.refills, state.discard_size),
        when=has_script(state) & (deals | refills),
    )
    ready = jnp.where(has_script(state), jnp.uint8(num_dealt(env.num_players)), state.next_ready)
    return state.replace(next_deck=deck, next_reveals=reveals, next_ready=ready, discard=discard)


def next_round(script: Script, round_index: chex.Array) -> tuple[chex.Array, chex.Array]:
    """(int8[150] values in dealing order, int8[seat, 2] slots to be turned up) of the round after this one."""
    deck = script.decks[round_index % jnp.maximum(script.num_decks, 1)]
    reveals = script.reveals[round_index % jnp.maximum(script.num_reveals, 1)]
    return unpack(deck), reveals


def refill_order(script: Script, refills: chex.Array, discard: chex.Array, discard_size: chex.Array) -> chex.Array:
    """int8[150], the discard pile with all but its top in the order in which it is to be drawn (SJ-16)."""
    order = script.refills[refills % jnp.maximum(script.num_refills, 1)]
    in_pool = order < discard_size.astype(jnp.int32) - 1
    place = jnp.where(in_pool, jnp.cumsum(in_pool, dtype=jnp.int32) - 1, NUM_CARDS)
    return discard.at[place].set(discard[order], mode="drop")


def pack(values: chex.Array) -> chex.Array:
    """uint32[..., 19] of the values of 150 cards: four bits each."""
    padding = [(0, 0)] * (values.ndim - 1) + [(0, 8 * NUM_WORDS - NUM_CARDS)]
    index = jnp.pad((values - MIN_VALUE).astype(jnp.uint32), padding).reshape(*values.shape[:-1], NUM_WORDS, 8)
    return (index << SHIFTS).sum(-1, dtype=jnp.uint32)


def unpack(words: chex.Array) -> chex.Array:
    """int8[150], the values in uint32[19]."""
    index = (words[:, None] >> SHIFTS) & 15
    return index.ravel()[:NUM_CARDS].astype(jnp.int8) + jnp.int8(MIN_VALUE)
