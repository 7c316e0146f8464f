"""What a player may know, in the five encodings of the rules page (section 10).

A version is a NamedTuple; each of its parts is a function of the same name of the state and the player.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import View
from jaxgames.schafkopf.cards import (
    CALLED_ACE,
    CALLED_SUIT,
    NUM_BIDS,
    NUM_CARDS,
    NUM_SEATS,
    NUM_TRICKS,
    SAUSPIEL,
    SOLO,
    TRUMP_SUIT,
    WENZ,
    of_contract,
    unpack,
)
from jaxgames.schafkopf.state import (
    NUM_STAGES,
    State,
    first_player,
    gone,
    num_played,
    player_of_turn,
    seats,
    trick_number,
)
from jaxgames.schafkopf.state import hand as hand_of
from jaxgames.tricks import seats_from

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv

# Suit bit of the contract in the observations: the called suit or the solo suit, -1 for none.
CONTRACT_SUIT = np.where(CALLED_SUIT >= 0, CALLED_SUIT, np.where(np.arange(NUM_BIDS) >= SOLO, TRUMP_SUIT, -1))


class Full(NamedTuple):
    """`full`: `linear342`, the bids and the teams as far as they are known."""

    stage: jax.Array  # bool[stage]        bidding, contra, retour, the eight tricks
    kind: jax.Array  # bool[3]            Sauspiel, Wenz, Solo; none before the contract and in a passed game
    suit: jax.Array  # bool[suit]         called, or of the Solo
    declarer: jax.Array  # bool[seat]         seats are counted from the player, who is the first
    doubled: jax.Array  # bool[2, seat]      who gave contra, who retour
    first: jax.Array  # bool[seat]         who begins every stage
    score: jax.Array  # float32[seat]      card points in complete tricks / 120
    hand: jax.Array  # bool[card]         what the player still holds
    played: jax.Array  # bool[seat, card]   who has played what, the open trick included
    trick: jax.Array  # bool[order, card + seat]  the open trick
    bids: jax.Array  # bool[seat, bid]    none before the bid
    teams: jax.Array  # bool[seat]         the declarer's side as everybody knows it


class Linear342(NamedTuple):
    """`linear342`: no order but that of the open trick."""

    stage: jax.Array
    kind: jax.Array
    suit: jax.Array
    declarer: jax.Array
    doubled: jax.Array
    first: jax.Array
    score: jax.Array
    hand: jax.Array
    played: jax.Array
    trick: jax.Array


class Seq70(NamedTuple):
    """`seq70`: all cards played so far as one sequence."""

    stage: jax.Array
    kind: jax.Array
    suit: jax.Array
    declarer: jax.Array
    doubled: jax.Array
    first: jax.Array
    score: jax.Array
    hand: jax.Array
    cards: jax.Array  # bool[31, 16]  rows of rank, suit and seat in the order of play, zeros after the last
    length: jax.Array  # int32[]       0..31


class Lstm70(NamedTuple):
    """`lstm70`: the cards of the complete tricks and those of the open trick as two sequences."""

    stage: jax.Array
    kind: jax.Array
    suit: jax.Array
    declarer: jax.Array
    doubled: jax.Array
    first: jax.Array
    score: jax.Array
    hand: jax.Array
    history: jax.Array  # bool[28, 16]  rows as of `cards`
    open_cards: jax.Array  # bool[3, 16]
    history_length: jax.Array  # int32[]       0..28
    open_length: jax.Array  # int32[]       0..3


class Lstm55(NamedTuple):
    """`lstm55`: `lstm70` without stage and doublings, but with the teams."""

    kind: jax.Array
    suit: jax.Array
    declarer: jax.Array
    first: jax.Array
    score: jax.Array
    hand: jax.Array
    teams: jax.Array
    history: jax.Array
    open_cards: jax.Array
    history_length: jax.Array
    open_length: jax.Array


VERSIONS: dict[str, type[Any]] = {
    "full": Full,
    "lstm55": Lstm55,
    "lstm70": Lstm70,
    "seq70": Seq70,
    "linear342": Linear342,
}
HONEST = tuple(VERSIONS)


def view(env: "SchafkopfEnv", state: State, player: chex.Array, version: str) -> View:
    """The parts of the version, in order. All zero after the end (SC-36)."""
    del env  # the same under every option
    parts = VERSIONS[version]
    seen = parts(*(PARTS[name](state, player) for name in parts._fields))
    return jax.tree.map(lambda part: jnp.where(state.done, jnp.zeros_like(part), part), seen)


def stage(state: State, player: chex.Array) -> chex.Array:
    """bool[stage]."""
    del player
    return _one_hot(state.stage, NUM_STAGES)


def kind(state: State, player: chex.Array) -> chex.Array:
    """bool[3]: Sauspiel, Wenz or Solo; nothing without a contract."""
    del player
    starts = [state.contract >= first for first in (SAUSPIEL, WENZ, SOLO)]
    return jnp.stack([starts[0] & ~starts[1], starts[1] & ~starts[2], starts[2]])


def suit(state: State, player: chex.Array) -> chex.Array:
    """bool[suit] of the contract: called, or of the Solo."""
    del player
    return _one_hot(of_contract(CONTRACT_SUIT, state.contract), 4)


def declarer(state: State, player: chex.Array) -> chex.Array:
    """bool[seat]; nobody before the contract."""
    return seats_from(player, NUM_SEATS) == state.declarer


def doubled(state: State, player: chex.Array) -> chex.Array:
    """bool[2, seat]: who gave contra, and who retour."""
    return seats_from(player, NUM_SEATS) == jnp.stack([state.contra, state.retour])[:, None]


def first(state: State, player: chex.Array) -> chex.Array:
    """bool[seat]: who begins every stage."""
    return seats_from(player, NUM_SEATS) == first_player(state)


def score(state: State, player: chex.Array) -> chex.Array:
    """float32[seat]: card points in complete tricks / 120."""
    return state.points[seats_from(player, NUM_SEATS)].astype(jnp.float32) / 120


def hand(state: State, player: chex.Array) -> chex.Array:
    """bool[card]: what the player still holds."""
    return unpack(hand_of(state, player))


def played(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, card]. Whoever was dealt a played card has played it, and everybody saw it."""
    return unpack((state.dealt & gone(state))[seats_from(player, NUM_SEATS)])


def trick(state: State, player: chex.Array) -> chex.Array:
    """bool[order, card + seat]: the open trick, zeros where no card lies yet."""
    cards = state.played[trick_number(state)]
    lies = (cards >= 0)[:, None]
    card_bits = cards[:, None] == jnp.arange(NUM_CARDS, dtype=jnp.int8)
    seat_bits = lies & (player_of_turn(state)[trick_number(state)][:, None] == seats_from(player, NUM_SEATS))
    return jnp.concatenate([card_bits, seat_bits], axis=-1)


def bids(state: State, player: chex.Array) -> chex.Array:
    """bool[seat, bid]; none before the bid."""
    return _one_hot(state.bids[seats_from(player, NUM_SEATS)], NUM_BIDS)


def teams(state: State, player: chex.Array) -> chex.Array:
    """bool[seat]: the declarer's side as everybody knows it; in Sauspiel nothing until the called ace lies there."""
    ace = of_contract(CALLED_ACE, state.contract)
    has_shown_ace = ((state.dealt & gone(state)) & ace) != 0
    is_known = (state.contract >= WENZ) | has_shown_ace.any()
    side = is_known & ((seats() == state.declarer) | has_shown_ace)
    return side[seats_from(player, NUM_SEATS)]


def cards(state: State, player: chex.Array) -> chex.Array:
    """bool[31, 16]: all cards played so far in order; the 32nd ends the game."""
    return _card_rows(state, player).reshape(NUM_CARDS, -1)[:-1]


def length(state: State, player: chex.Array) -> chex.Array:
    """int32[], of `cards`."""
    del player
    return num_played(state)


def history(state: State, player: chex.Array) -> chex.Array:
    """bool[28, 16]: the cards of the complete tricks."""
    is_complete = jnp.arange(NUM_TRICKS) < trick_number(state)
    rows = is_complete[:, None, None] & _card_rows(state, player)
    return rows[:-1].reshape(NUM_CARDS - NUM_SEATS, -1)


def open_cards(state: State, player: chex.Array) -> chex.Array:
    """bool[3, 16]: the cards of the open trick; the fourth completes it."""
    return _card_rows(state, player)[trick_number(state)][:-1]


def history_length(state: State, player: chex.Array) -> chex.Array:
    """int32[]."""
    del player
    return NUM_SEATS * trick_number(state).astype(jnp.int32)


def open_length(state: State, player: chex.Array) -> chex.Array:
    """int32[]."""
    return num_played(state) - history_length(state, player)


PARTS: dict[str, Callable[[State, chex.Array], chex.Array]] = {
    part.__name__: part
    for part in (
        stage,
        kind,
        suit,
        declarer,
        doubled,
        first,
        score,
        hand,
        played,
        trick,
        bids,
        teams,
        cards,
        length,
        history,
        open_cards,
        history_length,
        open_length,
    )
}


def _card_rows(state: State, player: chex.Array) -> chex.Array:
    """bool[trick, order, 16]: rank, suit and seat of each played card, zeros where none lies yet."""
    lies = (state.played >= 0)[..., None]
    rank = _one_hot(state.played >> 2, 8)
    suit = _one_hot(state.played & 3, 4)
    seat = player_of_turn(state)[..., None] == seats_from(player, NUM_SEATS)
    return lies & jnp.concatenate([rank, suit, seat], axis=-1)


def _one_hot(values: chex.Array, length: int) -> chex.Array:
    """bool[..., length]; no bit for values outside 0..length-1."""
    return values[..., None] == jnp.arange(length, dtype=jnp.int8)
