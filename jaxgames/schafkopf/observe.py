"""What a player may know, in the five encodings of the rules page (section 10)."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

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
    FIRST_TRICK,
    NUM_STAGES,
    State,
    first_player,
    first_state,
    gone,
    hand,
    num_played,
    player_of_turn,
    seats,
    trick_number,
)

VERSIONS = ("full", "lstm55", "lstm70", "seq70", "linear342")

# Suit bit of the contract in the observations: the called suit or the solo suit, -1 for none.
CONTRACT_SUIT = np.where(CALLED_SUIT >= 0, CALLED_SUIT, np.where(np.arange(NUM_BIDS) >= SOLO, TRUMP_SUIT, -1))


class Lstm(NamedTuple):
    """`lstm55`, `lstm70`: what stays, the cards of the complete tricks, the cards of the open trick."""

    info: jax.Array  # float32[55 or 70]
    history: jax.Array  # float32[28, 16]   card rows in the order of play, zeros after the last
    trick: jax.Array  # float32[3, 16]
    history_length: jax.Array  # int32[]  0..28
    trick_length: jax.Array  # int32[]  0..3


class Sequence(NamedTuple):
    """`seq70`: what stays, and all cards played so far."""

    info: jax.Array  # float32[70]
    cards: jax.Array  # float32[31, 16]   card rows in the order of play, zeros after the last
    length: jax.Array  # int32[]  0..31


class Linear(NamedTuple):
    """`linear342`: no order but that of the open trick."""

    info: jax.Array  # float32[70]
    played: jax.Array  # float32[seat, card]      by whom, me first
    trick: jax.Array  # float32[order, card + seat]


class Full(NamedTuple):
    """`full`: `linear342`, the bids and the teams as far as they are known."""

    info: jax.Array  # float32[70]
    played: jax.Array  # float32[seat, card]
    trick: jax.Array  # float32[order, card + seat]
    bids: jax.Array  # float32[seat, bid]   me first, zeros before the bid
    teams: jax.Array  # float32[seat]


def observe(state: State, player: chex.Array, version: str) -> chex.Array:
    """float32[size of the version]: the parts one after another."""
    return jnp.concatenate([part.astype(jnp.float32).ravel() for part in observe_parts(state, player, version)])


def observe_parts(state: State, player: chex.Array, version: str) -> Lstm | Sequence | Linear | Full:
    """The observation as named parts, for networks that read sequences. All zero after the end (SC-36)."""
    player = jnp.asarray(player, jnp.int8)
    parts = {"lstm55": _lstm55, "lstm70": _lstm70, "seq70": _seq70, "linear342": _linear342, "full": _full}
    seen = parts[version](state, player)
    return jax.tree.map(lambda part: jnp.where(state.done, jnp.zeros_like(part), part), seen)


def layout(version: str) -> dict[str, slice]:
    """Where each part sits in the flat vector of `observe`."""
    parts = jax.eval_shape(lambda: observe_parts(first_state(jnp.arange(NUM_CARDS), jnp.int8(0)), 0, version))
    ends = np.cumsum([part.size for part in parts])
    return {
        name: slice(int(end - part.size), int(end)) for name, part, end in zip(parts._fields, parts, ends, strict=True)
    }


def _lstm55(state: State, player: chex.Array) -> Lstm:
    info = [_game(state), _who(state, player), _first(state, player), _score(state, player)]
    info += [_hand(state, player), _teams(state, player)]
    return _tricks(state, player, jnp.concatenate(info))


def _lstm70(state: State, player: chex.Array) -> Lstm:
    return _tricks(state, player, _info70(state, player))


def _seq70(state: State, player: chex.Array) -> Sequence:
    rows = _card_rows(state, player).reshape(NUM_CARDS, -1)
    return Sequence(info=_info70(state, player), cards=rows[: NUM_CARDS - 1], length=num_played(state))


def _linear342(state: State, player: chex.Array) -> Linear:
    me_first = (player + seats()) % NUM_SEATS
    cards = _open(state, state.played)
    lies = (cards >= 0)[:, None]
    card_bits = cards[:, None] == jnp.arange(NUM_CARDS)
    seat_bits = lies & _one_hot(_relative(_open(state, player_of_turn(state)), player), NUM_SEATS)
    return Linear(
        info=_info70(state, player),
        # Whoever was dealt a played card has played it, and everybody saw it.
        played=_floats(unpack((state.dealt & gone(state))[me_first])),
        trick=_floats(jnp.concatenate([card_bits, seat_bits], axis=-1)),
    )


def _full(state: State, player: chex.Array) -> Full:
    me_first = (player + seats()) % NUM_SEATS
    bids = _floats(_one_hot(state.bids[me_first], NUM_BIDS))
    return Full(**_linear342(state, player)._asdict(), bids=bids, teams=_teams(state, player))


def _info70(state: State, player: chex.Array) -> chex.Array:
    stage = _floats(_one_hot(state.stage, NUM_STAGES))
    doubled = jnp.stack([_seat_bits(state.contra, player), _seat_bits(state.retour, player)]).ravel()
    return jnp.concatenate(
        [
            stage,
            _game(state),
            _who(state, player),
            doubled,
            _first(state, player),
            _score(state, player),
            _hand(state, player),
        ]
    )


def _tricks(state: State, player: chex.Array, info: chex.Array) -> Lstm:
    """The cards of the complete tricks and those of the open one, beside `info`."""
    rows = _card_rows(state, player)
    is_complete = (jnp.arange(NUM_TRICKS) < trick_number(state))[:, None, None]
    history = jnp.where(is_complete, rows, 0.0).reshape(NUM_CARDS, -1)
    history_length = NUM_SEATS * trick_number(state).astype(jnp.int32)
    return Lstm(
        info=info,
        history=history[: NUM_CARDS - NUM_SEATS],
        trick=_open(state, rows)[: NUM_SEATS - 1],
        history_length=history_length,
        trick_length=num_played(state) - history_length,
    )


def _card_rows(state: State, player: chex.Array) -> chex.Array:
    """float32[trick, order, 16]: rank, suit and player of each played card, zeros where none lies yet."""
    lies = (state.played >= 0)[..., None]
    rank = _one_hot(state.played >> 2, 8)
    suit = _one_hot(state.played & 3, 4)
    seat = _one_hot(_relative(player_of_turn(state), player), NUM_SEATS)
    return _floats(lies & jnp.concatenate([rank, suit, seat], axis=-1))


def _game(state: State) -> chex.Array:
    """Type [Sauspiel, Wenz, Solo] and suit of the contract; zeros without one."""
    kinds = [state.contract >= SAUSPIEL, state.contract >= WENZ, state.contract >= SOLO]
    sauspiel, wenz, solo = kinds[0] & ~kinds[1], kinds[1] & ~kinds[2], kinds[2]
    suit = _one_hot(of_contract(CONTRACT_SUIT, state.contract), 4)
    return _floats(jnp.concatenate([jnp.stack([sauspiel, wenz, solo]), suit]))


def _who(state: State, player: chex.Array) -> chex.Array:
    return _seat_bits(state.declarer, player)


def _first(state: State, player: chex.Array) -> chex.Array:
    return _seat_bits(first_player(state), player)


def _score(state: State, player: chex.Array) -> chex.Array:
    me_first = (player + seats()) % NUM_SEATS
    return state.points[me_first].astype(jnp.float32) / 120


def _hand(state: State, player: chex.Array) -> chex.Array:
    return _floats(unpack(hand(state, player)))


def _teams(state: State, player: chex.Array) -> chex.Array:
    """The declarer's side as everybody knows it: in Sauspiel nothing until the called ace lies on the table."""
    me_first = (player + seats()) % NUM_SEATS
    ace = of_contract(CALLED_ACE, state.contract)
    has_shown_ace = ((state.dealt & gone(state)) & ace) != 0
    is_known = (state.contract >= WENZ) | has_shown_ace.any()
    side = is_known & ((seats() == state.declarer) | has_shown_ace)
    return _floats(side[me_first])


def _open(state: State, by_trick: chex.Array) -> chex.Array:
    """The row of the open trick of [trick, ...]."""
    return by_trick[jnp.clip(state.stage - FIRST_TRICK, 0, NUM_TRICKS - 1)]


def _relative(seat: chex.Array, player: chex.Array) -> chex.Array:
    """Seats counted from the observer, who is 0."""
    return (seat - player) % NUM_SEATS


def _seat_bits(seat: chex.Array, player: chex.Array) -> chex.Array:
    """float32[seat], the bit of one seat, me first; zeros for NO_SEAT."""
    return _floats((seat >= 0) & _one_hot(_relative(seat, player), NUM_SEATS))


def _one_hot(values: chex.Array, length: int) -> chex.Array:
    """bool[..., length]; no bit for values outside 0..length-1."""
    return values[..., None] == jnp.arange(length, dtype=jnp.int8)


def _floats(bits: chex.Array) -> chex.Array:
    return bits.astype(jnp.float32)
