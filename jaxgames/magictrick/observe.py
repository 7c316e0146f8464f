"""What a seat is shown (MT-40 to MT-47).

A version is a NamedTuple; each of its parts is a function of the same name of the state and the player.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames.env import View
from jaxgames.magictrick import belief as beliefs
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
from jaxgames.magictrick.state import State, hands
from jaxgames.tricks import seats_from

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv


class V1(NamedTuple):
    """`v1` and `v2`, 435 values with the true values of hidden cards (MT-41, MT-42)."""

    true_hands: jax.Array  # bool[seat, card]   seats are counted from the player, who is the first
    bids: jax.Array  # bool[seat, value]
    tricks_won: jax.Array  # bool[seat, count]
    own_backs: jax.Array  # bool[suit, slot]
    trick: jax.Array  # bool[3, suit + value]


class V3(NamedTuple):
    """`v3`, 443 values, true ones among them (MT-43)."""

    true_hands: jax.Array
    bids: jax.Array
    tricks_won: jax.Array
    own_backs: jax.Array
    trick: jax.Array
    hidden_share: jax.Array  # float32[]
    captured_suits: jax.Array  # bool[suit]


class V4(NamedTuple):
    """`v4`, 569 values, public facts only (MT-45)."""

    counts: jax.Array  # float32[seat, 3]
    all_backs: jax.Array  # bool[seat, slot, suit]
    ranges: jax.Array  # float32[seat, slot, low and high]
    trick: jax.Array
    hidden_share: jax.Array
    captured_suits: jax.Array


class V5(NamedTuple):
    """`v5`, 961 values, public facts and what follows from them (MT-47)."""

    counts: jax.Array
    all_backs: jax.Array
    belief: jax.Array  # float32[seat, slot, value]
    revealed: jax.Array  # bool[seat, slot]
    trick: jax.Array
    hidden_share: jax.Array
    captured_suits: jax.Array


# v1 to v3 are for training with perfect information and for play on determinized states.
VERSIONS: dict[str, type[Any]] = {"v4": V4, "v5": V5, "v1": V1, "v2": V1, "v3": V3}
HONEST = ("v4", "v5")


def view(env: "MagicTrickEnv", state: State, player: chex.Array, version: str) -> View:
    """The parts of the version, in order, seen from `player` (MT-40)."""
    del env  # the same under every option
    parts = VERSIONS[version]
    return parts(*(PARTS[name](state, player) for name in parts._fields))


def seen_from(table: chex.Array, player: chex.Array) -> chex.Array:
    """[seat, ...] with `player` first, then clockwise."""
    return table[seats_from(player, NUM_SEATS)]


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
    """float32[], the share of `player`'s slots that are hidden (MT-43)."""
    return hidden_slots(state, player).sum(dtype=jnp.float32) / NUM_SLOTS


def captured_suits(state: State, player: chex.Array) -> chex.Array:
    """bool[suit] that `player` has captured (MT-43)."""
    return (state.captured[player] >> jnp.arange(NUM_SUITS, dtype=jnp.uint8)) & 1 == 1


def counts(state: State, player: chex.Array) -> chex.Array:
    """float32[seat, 3]: has bid, bid / 14, tricks / 14 (MT-45)."""
    bid, won = (seen_from(table, player).astype(jnp.float32) for table in (state.bid, state.tricks))
    return jnp.stack([bid >= 0, jnp.maximum(bid, 0) / NUM_SLOTS, won / NUM_SLOTS], axis=-1)


def all_backs(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, slot, suit] (MT-45)."""
    return seen_from(suit_of(hands(state)), player)[:, :, None] == jnp.arange(NUM_SUITS)


def ranges(state: State, player: chex.Array) -> chex.Array:
    """float32[seat, slot, low and high], each / 7 (MT-45)."""
    ranges = value_ranges(hands(state), state.revealed).astype(jnp.float32)
    return seen_from(ranges, player) / TOP


def belief(state: State, player: chex.Array) -> chex.Array:
    """float32[seat, slot, value], the exact marginals (MT-47)."""
    return seen_from(beliefs.belief(state), player)


def revealed(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, slot] (MT-47)."""
    return seen_from(state.revealed, player)


PARTS: dict[str, Callable[[State, chex.Array], chex.Array]] = {
    part.__name__: part
    for part in (
        true_hands,
        bids,
        tricks_won,
        own_backs,
        trick,
        hidden_share,
        captured_suits,
        counts,
        all_backs,
        ranges,
        belief,
        revealed,
    )
}


# A slot as one number, so that a walk along the hands carries little: the bit of its suit, its value, is it revealed?
SUIT_BITS, VALUE_AT, REVEALED_AT = (1 << NUM_SUITS) - 1, NUM_SUITS, NUM_SUITS + 3
TOP = NUM_VALUES - 1


def value_ranges(cards: chex.Array, revealed: chex.Array) -> chex.Array:
    """int32[seat, slot, 2], the lowest and highest value that a hand's own backs and revealed values allow (MT-46)."""
    suit, value = suit_of(cards).astype(jnp.int32), value_of(cards).astype(jnp.int32)
    slots = (1 << suit) | (value << VALUE_AT) | (revealed.astype(jnp.int32) << REVEALED_AT)
    # Seen from the other end, with values counted from 7 down (all three bits turned), a highest value is a lowest one.
    mirrored = (slots ^ (TOP << VALUE_AT))[:, ::-1]
    lowest = _lowest(jnp.concatenate([slots, mirrored]))
    low, high = lowest[:NUM_SEATS], TOP - lowest[NUM_SEATS:, ::-1]
    return jnp.stack([low, high], axis=-1)


def _lowest(slots: chex.Array) -> chex.Array:
    """int32[hand, slot]: going up a hand, a suit seen since the last rise means that the value has risen again."""

    def visit(carry, slot):
        seen, lowest = carry & SUIT_BITS, carry >> VALUE_AT
        this_suit, value, is_revealed = slot & SUIT_BITS, (slot >> VALUE_AT) & TOP, (slot >> REVEALED_AT) > 0
        repeats = (seen & this_suit) != 0
        lowest = lowest + repeats
        rises = repeats | (is_revealed & (value > lowest))
        seen = jnp.where(rises, 0, seen) | this_suit
        lowest = jnp.where(is_revealed, value, lowest)
        return seen | (lowest << VALUE_AT), lowest

    return jax.lax.scan(visit, jnp.zeros(len(slots), jnp.int32), slots.T)[1].T
