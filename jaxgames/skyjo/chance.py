"""Chance: which card comes next. A step never shuffles a deck.

Shuffling 150 cards costs many times a turn, and under `vmap` it would be paid in every step. So a deck is shuffled by
Fisher-Yates only as far as it is needed: a draw makes one exchange, and each step makes two for the deck of the next
round, of which 12n + 1 cards must be ready when it is dealt; a round has at least 10n steps (SJ-21), so 20n exchanges
come before. A refill needs nothing at all: the pool is drawn in random order as it lies. The exchanges are fixed by
hashing (seed, which shuffle, place): the order of a pile is settled before it is drawn, and `draw_order` tells it.

A game made from the page's deal follows its script instead, until a determinization takes the script away.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import Deal
from jaxgames.skyjo.cards import (
    MAX_DECKS,
    MAX_REFILLS,
    MIN_VALUE,
    NUM_CARDS,
    NUM_SLOTS,
    NUM_WORDS,
    VALUES,
    num_dealt,
)
from jaxgames.skyjo.facts import discard_top

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

EXCHANGES_PER_STEP = 2
_SHIFTS = np.arange(0, 32, 4, dtype=np.uint32)  # of the eight values in a word


class Script(NamedTuple):
    """A deal given from outside (SJ-6). Every state has the room for one; it is in force if it holds a deck."""

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
    parts = _pack(values), jnp.asarray(deal["reveals"], jnp.int8), jnp.asarray(deal["refills"], jnp.uint8)
    rooms = no_script(env)[:3]
    written = [room.at[: len(part)].set(part) for room, part in zip(rooms, parts, strict=True)]
    return Script(*written, *(jnp.uint8(len(part)) for part in parts))


def has_script(state: "State") -> chex.Array:
    """bool[], the game follows a deal given from outside."""
    return state.script.num_decks > 0


def shuffled_start(env: "SkyjoEnv", seed: chex.Array, round_index: int) -> chex.Array:
    """int8[150], a deck whose first cards, those to be dealt, are in their final order."""
    places = jnp.arange(num_dealt(env.num_players))
    words = _words(seed, _deck_stream(jnp.int32(round_index)), places)

    def settle(place, deck):
        return _exchange(deck, words[place], place, NUM_CARDS, when=jnp.bool_(True))

    return jax.lax.fori_loop(0, places.size, settle, jnp.asarray(VALUES))


def prepare_next_deck(env: "SkyjoEnv", state: "State") -> "State":
    """Two more exchanges for the deck of the next round."""
    needed = num_dealt(env.num_players)
    places = state.next_ready + jnp.arange(EXCHANGES_PER_STEP, dtype=jnp.uint8)
    words = _words(state.seed, _deck_stream(state.round_index + 1), places)
    deck = state.next_deck
    for place, word in zip(places, words, strict=True):
        deck = _exchange(deck, word, place, NUM_CARDS, when=place < needed)
    ready = jnp.minimum(state.next_ready + EXCHANGES_PER_STEP, needed).astype(jnp.uint8)
    return state.replace(next_deck=deck, next_ready=ready)


def next_deck(state: "State", *, when: chex.Array) -> chex.Array:
    """int8[150], values in dealing order of the round after `state.round_index`."""
    script = state.script

    def scripted() -> chex.Array:
        return _unpack(script.decks[state.round_index % jnp.maximum(script.num_decks, 1)])

    return _rarely(when & has_script(state), scripted, state.next_deck)


def next_reveals(env: "SkyjoEnv", state: "State", *, when: chex.Array) -> chex.Array:
    """int8[seat, 2], the slots that the next round's automatic set-up turns up (SJ-7)."""
    words = _words(state.seed, _reveal_stream(state.round_index + 1), jnp.arange(env.num_players))
    pair = _below(words, NUM_SLOTS * (NUM_SLOTS - 1))
    first, ahead = pair // (NUM_SLOTS - 1), pair % (NUM_SLOTS - 1)
    second = (first + 1 + ahead) % NUM_SLOTS
    script = state.script

    def scripted() -> chex.Array:
        return script.reveals[state.round_index % jnp.maximum(script.num_reveals, 1)]

    return _rarely(when & has_script(state), scripted, jnp.stack([first, second], axis=-1).astype(jnp.int8))


def refill(state: "State", *, when: chex.Array) -> "State":
    """SJ-16: the discard pile without its top becomes the draw pile."""
    only_the_top = state.discard.at[0].set(discard_top(state))
    return state.replace(
        deck=jnp.where(when, _refill_order(state, when=when), state.deck),
        deck_pos=jnp.where(when, 0, state.deck_pos),
        deck_end=jnp.where(when, state.discard_size - 1, state.deck_end),
        discard=jnp.where(when, only_the_top, state.discard),
        discard_size=jnp.where(when, 1, state.discard_size),
        refills=state.refills + when,
        refilled=state.refilled | when,
    )


def _refill_order(state: "State", *, when: chex.Array) -> chex.Array:
    """int8[150], the pool in the order of the script's permutation; without one as it lies, the draws will mix it."""
    script = state.script

    def scripted() -> chex.Array:
        order = script.refills[state.refills % jnp.maximum(script.num_refills, 1)]
        size = state.discard_size.astype(jnp.int32) - 1
        in_pool = order < size
        # The rest of the permutation follows behind the pool, where nothing is drawn.
        behind = size + jnp.cumsum(~in_pool, dtype=jnp.int32) - 1
        place = jnp.where(in_pool, jnp.cumsum(in_pool, dtype=jnp.int32) - 1, jnp.clip(behind, 0, NUM_CARDS - 1))
        return jnp.zeros_like(state.deck).at[place].set(state.discard[order])

    return _rarely(when & has_script(state), scripted, state.discard)


def draw(state: "State", *, when: chex.Array) -> tuple["State", chex.Array]:
    """(the draw pile without its first card, int8[] that card)."""
    deck = _settle(state, state.deck, state.deck_pos, when=when)
    card = deck[jnp.minimum(state.deck_pos, NUM_CARDS - 1)]
    return state.replace(deck=deck, deck_pos=state.deck_pos + when.astype(jnp.uint8)), card


def draw_order(state: "State") -> chex.Array:
    """int8[150] whose places deck_pos..deck_end-1 hold the draw pile in its true order, next card first."""

    def settle(place, deck):
        return _settle(state, deck, place, when=(place >= state.deck_pos) & (place < state.deck_end))

    return jax.lax.fori_loop(0, NUM_CARDS, settle, state.deck)


def _settle(state: "State", deck: chex.Array, place: chex.Array, *, when: chex.Array) -> chex.Array:
    """The deck with the right card in `place`, if all places before are settled. A scripted deck always is."""
    when = when & ~has_script(state)
    stream = jnp.where(state.refilled, _refill_stream(state.refills), _deck_stream(state.round_index))
    return _exchange(deck, _words(state.seed, stream, place), place, state.deck_end, when=when)


def _exchange(
    deck: chex.Array, word: chex.Array, place: chex.Numeric, end: chex.Numeric, *, when: chex.Array
) -> chex.Array:
    """One step of Fisher-Yates: the card in `place` changes with a uniform one of place..end-1."""
    here = jnp.minimum(jnp.asarray(place, jnp.int32), NUM_CARDS - 1)  # past the end only without `when`
    span = jnp.where(when, end - here, 0)
    there = here + _below(word, span)
    return deck.at[jnp.stack([here, there])].set(deck[jnp.stack([there, here])])


def _deck_stream(round_index: chex.Array) -> chex.Array:
    return 3 * round_index.astype(jnp.uint32)


def _reveal_stream(round_index: chex.Array) -> chex.Array:
    return 3 * round_index.astype(jnp.uint32) + 1


def _refill_stream(refills: chex.Array) -> chex.Array:
    return 3 * refills.astype(jnp.uint32) + 2


def _words(seed: chex.Array, stream: chex.Array, index: chex.Array) -> chex.Array:
    """Random words, uint32 of the shape of `index`: a hash of (seed, stream, index), much cheaper than a key a word."""
    golden = jnp.uint32(0x9E3779B9)
    low = _mix(seed[0] + stream * golden)
    high = _mix(seed[1] ^ low)
    return _mix(_mix(low + jnp.asarray(index, jnp.uint32) * golden) ^ high)


def _below(word: chex.Array, count: chex.Numeric) -> chex.Array:
    """int32, a number in 0..count-1, count <= 255. 24 bits times 8 fit a word: uniform to one part in 10^5."""
    return (((word >> 8) * jnp.asarray(count, jnp.uint32)) >> 24).astype(jnp.int32)


def _mix(word: chex.Array) -> chex.Array:
    """A bijection of 32-bit words in which every input bit moves every output bit."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)


def _rarely(when: chex.Array, compute: Callable[[], chex.Array], otherwise: chex.Array) -> chex.Array:
    """`compute()` where `when` holds, else `otherwise`.

    Under `vmap` a `cond` would compute it for every game in every step. A loop of at most one turn does not run at all
    unless some game of the batch asks for it.
    """
    return jax.lax.while_loop(lambda carry: carry[0], lambda _: (jnp.bool_(False), compute()), (when, otherwise))[1]


def _pack(values: chex.Array) -> chex.Array:
    """uint32[..., 19] of the values of 150 cards: four bits each."""
    padding = [(0, 0)] * (values.ndim - 1) + [(0, 8 * NUM_WORDS - NUM_CARDS)]
    index = jnp.pad((values - MIN_VALUE).astype(jnp.uint32), padding).reshape(*values.shape[:-1], NUM_WORDS, 8)
    return (index << _SHIFTS).sum(-1, dtype=jnp.uint32)


def _unpack(words: chex.Array) -> chex.Array:
    """int8[150], the values in uint32[19]."""
    index = (words[:, None] >> _SHIFTS) & 15
    return index.ravel()[:NUM_CARDS].astype(jnp.int8) + jnp.int8(MIN_VALUE)
