"""A deal given from outside, in the page's form (SJ-6): what it says replaces what the seed would have said.

Every state has room for one, so that all states have the same tree; a game from a key has it empty.
"""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Deal, computed_once
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


def follow_script(env: "SkyjoEnv", state: "State", *, draws: chex.Array) -> "State":
    """In a game with a script: its deck and reveals for the next round, and its order for a refill that is due.

    A new round begins with `next_ready` = 0. A refill draws the discard pile as it lies, so its order is put there.
    Under `vmap` a `cond` would read the script for every game in every step. A loop of at most one turn does not run at
    all unless some game of the batch asks for it.
    """
    deals = state.next_ready == 0
    refills = draws & (state.deck_pos == state.deck_end)

    def read(carry):
        asked, *_ = carry
        # Tied to the loop: XLA would compute what does not depend on it before, and always.
        _, given = computed_once((asked, state))
        deck, reveals = next_round(given)
        return (
            jnp.zeros_like(asked),
            jnp.where(deals, deck, given.next_deck),
            jnp.where(deals, reveals, given.next_reveals),
            jnp.where(refills, refill_order(given), given.discard),
        )

    asked = has_script(state) & (deals | refills)
    carry = (asked, state.next_deck, state.next_reveals, state.discard)
    _, deck, reveals, discard = jax.lax.while_loop(lambda carry: carry[0], read, carry)
    ready = jnp.where(has_script(state), jnp.uint8(num_dealt(env.num_players)), state.next_ready)
    return state.replace(next_deck=deck, next_reveals=reveals, next_ready=ready, discard=discard)


def next_round(state: "State") -> tuple[chex.Array, chex.Array]:
    """(int8[150] values in dealing order, int8[seat, 2] slots to be turned up) of the round after this one."""
    script = state.script
    deck = script.decks[state.round_index % jnp.maximum(script.num_decks, 1)]
    reveals = script.reveals[state.round_index % jnp.maximum(script.num_reveals, 1)]
    return unpack(deck), reveals


def refill_order(state: "State") -> chex.Array:
    """int8[150], the discard pile with all but its top in the order in which it is to be drawn (SJ-16)."""
    order = state.script.refills[state.refills % jnp.maximum(state.script.num_refills, 1)]
    in_pool = order < state.discard_size.astype(jnp.int32) - 1
    place = jnp.where(in_pool, jnp.cumsum(in_pool, dtype=jnp.int32) - 1, NUM_CARDS)
    return state.discard.at[place].set(state.discard[order], mode="drop")


def pack(values: chex.Array) -> chex.Array:
    """uint32[..., 19] of the values of 150 cards: four bits each."""
    padding = [(0, 0)] * (values.ndim - 1) + [(0, 8 * NUM_WORDS - NUM_CARDS)]
    index = jnp.pad((values - MIN_VALUE).astype(jnp.uint32), padding).reshape(*values.shape[:-1], NUM_WORDS, 8)
    return (index << SHIFTS).sum(-1, dtype=jnp.uint32)


def unpack(words: chex.Array) -> chex.Array:
    """int8[150], the values in uint32[19]."""
    index = (words[:, None] >> SHIFTS) & 15
    return index.ravel()[:NUM_CARDS].astype(jnp.int8) + jnp.int8(MIN_VALUE)
