"""What a seat is shown (MT-40 to MT-47): named blocks, flattened in the order of the observation's version."""

from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.magictrick.belief import belief
from jaxgames.magictrick.cards import (
    NUM_CARDS,
    NUM_SEATS,
    NUM_SLOTS,
    NUM_SUITS,
    NUM_VALUES,
    suit_of,
    value_of,
)
from jaxgames.magictrick.rules import hidden_slots
from jaxgames.magictrick.state import State, first_state, hands


def observe(state: State, player: chex.Array, version: str) -> chex.Array:
    """float32[435 (v1, v2), 443 (v3), 569 (v4) or 961 (v5)], seen from `player` (MT-40).

    v1 to v3 show the true values of hidden cards: they are for training with perfect information and for play on
    determinized states. v4 and v5 show public facts only.
    """
    blocks = [BLOCKS[name](state, player).astype(jnp.float32).ravel() for name in VERSIONS[version]]
    return jnp.concatenate(blocks)


def layout(version: str) -> dict[str, slice]:
    """Where each block of an observation sits in the flat vector."""
    state = jax.eval_shape(first_state, np.arange(NUM_CARDS)[None], 0)
    sizes = [jax.eval_shape(BLOCKS[name], state, 0).size for name in VERSIONS[version]]
    ends = np.cumsum(sizes)
    return {
        name: slice(int(end - size), int(end)) for name, size, end in zip(VERSIONS[version], sizes, ends, strict=True)
    }


def seen_from(table: chex.Array, player: chex.Array) -> chex.Array:
    """[seat, ...] with `player` first, then clockwise."""
    return table[(player + jnp.arange(NUM_SEATS)) % NUM_SEATS]


def true_hands(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, card], the cards in hidden slots: perfect information (MT-41)."""
    held = (hands(state)[:, :, None] == jnp.arange(NUM_CARDS)) & ~state.revealed[:, :, None]
    return seen_from(held.any(axis=1), player)


def bids(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, value]; no bit before the bid."""
    return seen_from(state.bid, player)[:, None] == jnp.arange(NUM_VALUES)


def tricks_won(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, count], the last bit is 8 or more."""
    return jnp.minimum(seen_from(state.tricks, player), 8)[:, None] == jnp.arange(9)


def own_backs(state: State, player: chex.Array) -> chex.Array:
    """bool[suit, slot] of `player`, revealed or not."""
    return suit_of(hands(state)[player]) == jnp.arange(NUM_SUITS)[:, None]


def trick(state: State, player: chex.Array) -> chex.Array:
    """bool[3, suit and value], the first three cards of the trick in order of play."""
    del player  # the order of play is the same from every seat
    cards = state.trick[:3, None]
    suits = suit_of(cards) == jnp.arange(NUM_SUITS)
    values = (value_of(cards) == jnp.arange(NUM_VALUES)) & (cards >= 0)
    return jnp.concatenate([suits, values], axis=-1)


def hidden_share(state: State, player: chex.Array) -> chex.Array:
    """float32[1], the share of `player`'s slots that are hidden (MT-43)."""
    return hidden_slots(state, player).sum(keepdims=True) / NUM_SLOTS


def captured_suits(state: State, player: chex.Array) -> chex.Array:
    """bool[suit] that `player` has captured (MT-43)."""
    return (state.captured[player] >> jnp.arange(NUM_SUITS, dtype=jnp.uint8)) & 1


def counts(state: State, player: chex.Array) -> chex.Array:
    """float32[seat, 3]: has bid, bid / 14, tricks / 14 (MT-45)."""
    bid, won = seen_from(state.bid, player), seen_from(state.tricks, player)
    return jnp.stack([bid >= 0, jnp.maximum(bid, 0) / NUM_SLOTS, won / NUM_SLOTS], axis=-1)


def all_backs(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, slot, suit] (MT-45)."""
    return seen_from(suit_of(hands(state)), player)[:, :, None] == jnp.arange(NUM_SUITS)


def ranges(state: State, player: chex.Array) -> chex.Array:
    """float32[seat, slot, low and high], each / 7 (MT-45)."""
    return seen_from(value_ranges(hands(state), state.revealed), player) / (NUM_VALUES - 1)


def shared_belief(state: State, player: chex.Array) -> chex.Array:
    """float32[seat, slot, value], the exact marginals (MT-47)."""
    return seen_from(belief(state), player)


def revealed_flags(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, slot] (MT-47)."""
    return seen_from(state.revealed, player)


BLOCKS: dict[str, Callable[[State, chex.Array], chex.Array]] = {
    "true_hands": true_hands,
    "bids": bids,
    "tricks_won": tricks_won,
    "own_backs": own_backs,
    "trick": trick,
    "hidden_share": hidden_share,
    "captured_suits": captured_suits,
    "counts": counts,
    "all_backs": all_backs,
    "ranges": ranges,
    "belief": shared_belief,
    "revealed_flags": revealed_flags,
}
V1 = ("true_hands", "bids", "tricks_won", "own_backs", "trick")
VERSIONS = {
    "v1": V1,
    "v2": V1,
    "v3": (*V1, "hidden_share", "captured_suits"),
    "v4": ("counts", "all_backs", "ranges", "trick", "hidden_share", "captured_suits"),
    "v5": ("counts", "all_backs", "belief", "revealed_flags", "trick", "hidden_share", "captured_suits"),
}


def value_ranges(cards: chex.Array, revealed: chex.Array) -> chex.Array:
    """int32[seat, slot, 2], the lowest and highest value that a hand's own backs and revealed values allow (MT-46)."""
    suit, value = suit_of(cards), value_of(cards).astype(jnp.int32)
    low = _lowest(suit, value, revealed)
    # Seen from the other end, with values counted from 7 down, a highest value is a lowest one.
    top = NUM_VALUES - 1
    high = top - _lowest(suit[:, ::-1], top - value[:, ::-1], revealed[:, ::-1])[:, ::-1]
    return jnp.stack([low, high], axis=-1)


def _lowest(suit: chex.Array, value: chex.Array, revealed: chex.Array) -> chex.Array:
    """int32[seat, slot]: going up a hand, a suit seen since the last rise means that the value has risen again."""

    def visit(carry, slot):
        lowest, seen = carry
        suit, value, is_revealed = slot
        this_suit = suit[:, None] == jnp.arange(NUM_SUITS)
        repeats = (seen & this_suit).any(axis=-1)
        lowest = lowest + repeats
        jumps = is_revealed & (value > lowest)
        seen = (seen & ~(repeats | jumps)[:, None]) | this_suit
        lowest = jnp.where(is_revealed, value, lowest)
        return (lowest, seen), lowest

    start = (jnp.zeros(NUM_SEATS, jnp.int32), jnp.zeros((NUM_SEATS, NUM_SUITS), bool))
    return jax.lax.scan(visit, start, (suit.T, value.T, revealed.T))[1].T
