"""Chance: which card comes next. A step never shuffles a deck.

Shuffling 150 cards costs many times a turn, and under `vmap` it would be paid in every step. So a deck is shuffled by
Fisher-Yates only as far as it is needed: a draw makes one exchange, and each step makes two for the deck of the next
round, of which 12n + 1 cards must be ready when it is dealt; a round has at least 10n steps (SJ-21), so 20n exchanges
come before. A refill needs nothing at all: the pool is drawn in random order as it lies. The exchanges are fixed by
hashing (seed, which shuffle, place): the order of a pile is settled before it is drawn, and `draw_order` tells it.

A game made with `deal=` follows its script instead, until a determinization puts it out of force.
"""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.options import check_deal_keys, check_permutation
from jaxgames.skyjo.cards import NUM_CARDS, NUM_SLOTS, VALUES
from jaxgames.skyjo.options import GAME, Rules
from jaxgames.skyjo.state import Script, State, discard_top, num_dealt

EXCHANGES_PER_STEP = 2


def seed_of(key: chex.PRNGKey) -> chex.Array:
    """uint32[2] from which all chance of a game follows."""
    return jax.random.bits(key, (2,), jnp.uint32)


def shuffled_start(rules: Rules, seed: chex.Array, round_index: int) -> chex.Array:
    """int8[150], a deck whose first cards, those to be dealt, are in their final order."""
    places = jnp.arange(num_dealt(rules.num_players))
    words = _words(seed, _deck_stream(jnp.int32(round_index)), places)

    def settle(place, deck):
        return _exchange(deck, words[place], place, NUM_CARDS, when=jnp.bool_(True))

    return jax.lax.fori_loop(0, places.size, settle, jnp.asarray(VALUES))


def prepare_next_deck(rules: Rules, state: State) -> State:
    """Two more exchanges for the deck of the next round."""
    needed = num_dealt(rules.num_players)
    places = state.next_ready + jnp.arange(EXCHANGES_PER_STEP, dtype=jnp.uint8)
    words = _words(state.seed, _deck_stream(state.round_index + 1), places)
    deck = state.next_deck
    for place, word in zip(places, words, strict=True):
        deck = _exchange(deck, word, place, NUM_CARDS, when=place < needed)
    ready = jnp.minimum(state.next_ready + EXCHANGES_PER_STEP, needed).astype(jnp.uint8)
    return state.replace(next_deck=deck, next_ready=ready)


def next_deck(state: State) -> chex.Array:
    """int8[150], values in dealing order of the round after `state.round_index`."""
    if state.script is None:
        return state.next_deck
    decks = state.script.decks
    return jnp.where(state.script.in_force, decks[state.round_index % decks.shape[0]], state.next_deck)


def next_reveals(rules: Rules, state: State) -> chex.Array:
    """int8[seat, 2], the slots that the next round's automatic set-up turns up (SJ-7)."""
    words = _words(state.seed, _reveal_stream(state.round_index + 1), jnp.arange(rules.num_players))
    pair = _below(words, NUM_SLOTS * (NUM_SLOTS - 1))
    first, ahead = pair // (NUM_SLOTS - 1), pair % (NUM_SLOTS - 1)
    second = (first + 1 + ahead) % NUM_SLOTS
    reveals = jnp.stack([first, second], axis=-1).astype(jnp.int8)
    if state.script is None:
        return reveals
    scripted = state.script.reveals
    return jnp.where(state.script.in_force, scripted[state.round_index % scripted.shape[0]], reveals)


def refill(state: State, *, when: chex.Array) -> State:
    """SJ-16: the discard pile without its top becomes the draw pile."""
    only_the_top = state.discard.at[0].set(discard_top(state))
    return state.replace(
        deck=jnp.where(when, _refill_order(state), state.deck),
        deck_pos=jnp.where(when, 0, state.deck_pos),
        deck_end=jnp.where(when, state.discard_size - 1, state.deck_end),
        discard=jnp.where(when, only_the_top, state.discard),
        discard_size=jnp.where(when, 1, state.discard_size),
        refills=state.refills + when,
        refilled=state.refilled | when,
    )


def _refill_order(state: State) -> chex.Array:
    """int8[150], the pool in the order of the script's permutation; without one as it lies, the draws will mix it."""
    if state.script is None:
        return state.discard
    orders = state.script.refills
    order = orders[state.refills % orders.shape[0]]
    size = state.discard_size.astype(jnp.int32) - 1
    in_pool = order < size
    # The rest of the permutation follows behind the pool, where nothing is drawn.
    behind = size + jnp.cumsum(~in_pool, dtype=jnp.int32) - 1
    place = jnp.where(in_pool, jnp.cumsum(in_pool, dtype=jnp.int32) - 1, jnp.clip(behind, 0, NUM_CARDS - 1))
    scripted = jnp.zeros_like(state.deck).at[place].set(state.discard[order])
    return jnp.where(state.script.in_force, scripted, state.discard)


def draw(state: State, *, when: chex.Array) -> tuple[State, chex.Array]:
    """(the draw pile without its first card, int8[] that card)."""
    deck = _settle(state, state.deck, state.deck_pos, when=when)
    card = deck[jnp.minimum(state.deck_pos, NUM_CARDS - 1)]
    return state.replace(deck=deck, deck_pos=state.deck_pos + when.astype(jnp.uint8)), card


def draw_order(state: State) -> chex.Array:
    """int8[150] whose places deck_pos..deck_end-1 hold the draw pile in its true order, next card first."""

    def settle(place, deck):
        return _settle(state, deck, place, when=(place >= state.deck_pos) & (place < state.deck_end))

    return jax.lax.fori_loop(0, NUM_CARDS, settle, state.deck)


def _settle(state: State, deck: chex.Array, place: chex.Array, *, when: chex.Array) -> chex.Array:
    """The deck with the right card in `place`, if all places before are settled. A scripted deck always is."""
    if state.script is not None:
        when = when & ~state.script.in_force
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


def read_deal(rules: Rules, deal: Any) -> Script:
    """The script of a deal object (SJ-6): host data is checked, traced arrays are taken as they come."""
    check_deal_keys(GAME, deal, ("decks", "reveals", "refills"))
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(deal)):
        check_deal(rules, deal)
    decks = jnp.asarray(VALUES)[jnp.asarray(deal["decks"], jnp.int32)]
    reveals = jnp.asarray(deal["reveals"], jnp.int8).reshape(-1, rules.num_players, 2)
    return Script(
        decks=decks,
        reveals=reveals,
        refills=jnp.asarray(deal["refills"], jnp.uint8),
        in_force=jnp.bool_(True),
    )


def check_deal(rules: Rules, deal: dict[str, Any]) -> None:
    for name in ("decks", "refills"):
        if len(deal[name]) == 0:
            raise ValueError(f"{GAME}: deal {name} must hold at least 1 permutation of 0..{NUM_CARDS - 1}, got []")
        for i, order in enumerate(deal[name]):
            check_permutation(GAME, f"deal {name}[{i}]", order, range(NUM_CARDS))
    if rules.manual_setup and len(deal["reveals"]) == 0:
        return
    if len(deal["reveals"]) == 0:
        raise ValueError(f"{GAME}: deal reveals must hold at least 1 round in auto set-up, got []")
    for i, pairs in enumerate(deal["reveals"]):
        try:
            given = np.asarray(pairs)
            is_good = given.shape == (rules.num_players, 2) and given.dtype.kind in "iu"
        except ValueError:  # rows of different lengths
            is_good = False
        if not is_good or not ((given >= 0) & (given < NUM_SLOTS)).all() or (given[:, 0] == given[:, 1]).any():
            raise ValueError(
                f"{GAME}: deal reveals[{i}] must hold two different slots in 0..{NUM_SLOTS - 1} for each of "
                f"{rules.num_players} players, got {pairs!r}"
            )
