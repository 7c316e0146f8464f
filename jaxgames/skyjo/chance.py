"""Chance: which card comes next. A step never shuffles a deck.

Shuffling 150 cards costs many times a turn, and under `vmap` it would be paid in every step. So a deck is shuffled by
Fisher-Yates only as far as it is needed: a draw makes one exchange, and each step makes two for the deck of the next
round, of which 12n + 1 cards must be ready when it is dealt; a round has at least 10n steps (SJ-21), so 20n exchanges
come before. A refill needs nothing at all: the pool is drawn in random order as it lies. The exchanges are fixed by
hashing (seed, which shuffle, place): the order of a pile is settled before it is drawn, and `draw_order` tells it.

A game made from the page's deal follows its script instead, until a determinization takes the script away.
"""

from typing import TYPE_CHECKING

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import seldom
from jaxgames.skyjo.cards import NUM_CARDS, NUM_SLOTS, VALUES, num_dealt
from jaxgames.skyjo.facts import discard_top
from jaxgames.skyjo.script import has_script

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

EXCHANGES_PER_STEP = 2


def shuffled_start(env: "SkyjoEnv", seed: chex.Array, round_index: int) -> chex.Array:
    """int8[150], a deck whose first cards, those to be dealt, are in their final order."""
    places = jnp.arange(num_dealt(env.num_players))
    words = _words(seed, _deck_stream(jnp.int32(round_index)), places)

    def settle(place, deck):
        return _exchange(deck, words[place], place, NUM_CARDS, when=jnp.bool_(True))

    return jax.lax.fori_loop(0, places.size, settle, jnp.asarray(VALUES))


def prepare_next_deck(env: "SkyjoEnv", state: "State", *, when: chex.Array) -> "State":
    """Two more exchanges for the deck of the next round."""
    needed = num_dealt(env.num_players)
    places = state.next_ready + jnp.arange(EXCHANGES_PER_STEP, dtype=jnp.uint8)
    words = _words(state.seed, _deck_stream(state.round_index + 1), places)
    deck = state.next_deck
    for place, word in zip(places, words, strict=True):
        deck = _exchange(deck, word, place, NUM_CARDS, when=when & (place < needed))
    ready = jnp.minimum(state.next_ready + EXCHANGES_PER_STEP, needed).astype(jnp.uint8)
    return state.replace(next_deck=deck, next_ready=ready)


def reveals_of(env: "SkyjoEnv", seed: chex.Array, round_index: chex.Array) -> chex.Array:
    """int8[seat, 2], the slots that a round's automatic set-up turns up (SJ-7)."""
    words = _words(seed, _reveal_stream(round_index), jnp.arange(env.num_players))
    pair = _below(words, NUM_SLOTS * (NUM_SLOTS - 1))
    first, ahead = pair // (NUM_SLOTS - 1), pair % (NUM_SLOTS - 1)
    second = (first + 1 + ahead) % NUM_SLOTS
    return jnp.stack([first, second], axis=-1).astype(jnp.int8)


def refill(state: "State", *, when: chex.Array) -> "State":
    """SJ-16: the discard pile without its top becomes the draw pile."""

    def turn_over(piles, top):
        _, discard = piles
        return discard, discard.at[0].set(top)  # the draws will mix it

    deck, discard = seldom(turn_over, (state.deck, state.discard), discard_top(state), when=when)
    return state.replace(
        deck=deck,
        deck_pos=jnp.where(when, 0, state.deck_pos),
        deck_end=jnp.where(when, state.discard_size - 1, state.deck_end),
        discard=discard,
        discard_size=jnp.where(when, 1, state.discard_size),
        refills=state.refills + when,
        refilled=state.refilled | when,
    )


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
    both = jnp.stack([here, there])
    return deck.at[both].set(deck[both][::-1])


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
