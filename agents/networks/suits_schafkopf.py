"""Which suit of Schafkopf is seen in which place, by the network `suits`.

With the plain cards of two suits exchanged, and the bids that name them, a position is the same. The network sees the
longest suit of its hand always in one place, the called suit in another, the trump of a Solo in a third, and what it
chooses is carried back.
"""

import chex
import jax.numpy as jnp
import numpy as np

from agents.networks.mlp import FlatModel, moved
from jaxgames.env import View
from jaxgames.schafkopf.cards import (
    CALLED_SUIT,
    EICHEL,
    FIRST_CARD,
    GRAS,
    HERZ,
    NUM_ACTIONS,
    NUM_BIDS,
    NUM_CARDS,
    OBER,
    SAUSPIEL,
    SAUSPIEL_SUITS,
    SCHELLEN,
    SOLO,
    TRUMP_SUIT,
    UNTER,
    WENZ,
    unpack,
)
from jaxgames.schafkopf.state import BIDDING, State

FREE = -1
LONG_HERZ = NUM_BIDS  # stands for bidding with a hand for Solo Herz; the other rows are contracts
ENOUGH = 7  # trumps in it (SC-57)


def _places() -> tuple[np.ndarray, np.ndarray]:
    """(int8[row, suit], int8[row, number]): the place of a suit with a part of its own, else FREE; and the places of
    the others, for the longest suit first."""
    fixed = np.full((NUM_BIDS + 1, 4), FREE, np.int8)
    fixed[:WENZ, HERZ] = HERZ  # trump of every Sauspiel; while bids are made, every one is possible
    fixed[LONG_HERZ, HERZ] = GRAS
    for contract in range(SAUSPIEL, WENZ):
        fixed[contract, CALLED_SUIT[contract]] = EICHEL
    for contract in range(SOLO, NUM_BIDS):
        fixed[contract, TRUMP_SUIT[contract]] = GRAS
    left = np.zeros((NUM_BIDS + 1, 4), np.int8)
    for row, taken in zip(left, fixed, strict=True):
        places = [place for place in (GRAS, SCHELLEN, EICHEL, HERZ) if place not in taken]
        row[: len(places)] = places
    return fixed, left


FIXED, LEFT = _places()
RANK = np.arange(8)
IS_COURT = (RANK == UNTER) | (RANK == OBER)
# bool[row, rank]: cards that belong to the suit printed on them; Unter and Ober are trumps by an order of their own.
PLAIN = np.stack([~IS_COURT | ((RANK == OBER) & (row == WENZ)) for row in range(NUM_BIDS + 1)])


class Places:
    """Which suit is seen in which place, for one seat of one state.

    Suits without a part of their own come in the order of what the seat was dealt of them: more cards, or higher ones.
    """

    def __init__(self, state: State, seat: chex.Array):
        cards = unpack(state.dealt[seat]).reshape(8, 4)  # [rank, suit], played ones too: the order lasts all play
        trumps = (cards & (jnp.asarray(IS_COURT)[:, None] | (jnp.arange(4) == HERZ))).sum()
        self.is_long_herz = (state.stage == BIDDING) & (trumps >= ENOUGH)
        row = jnp.where(self.is_long_herz, LONG_HERZ, state.contract)
        self.is_plain = jnp.asarray(PLAIN)[row][:, None]
        length = jnp.where(cards & self.is_plain, 256 + (1 << jnp.asarray(RANK))[:, None], 0).sum(0)
        fixed, left = jnp.asarray(FIXED)[row], jnp.asarray(LEFT)[row]
        suits, is_free = jnp.arange(4), fixed == FREE
        is_longer = (length[:, None] > length) | ((length[:, None] == length) & (suits[:, None] < suits))
        number = (is_longer & is_free[:, None]).sum(0)  # of free suits that come before this one
        place = jnp.where(is_free, left[number & 3], fixed)  # [suit]
        self.shows = suits[:, None] == place  # bool[place, suit]
        # Nobody calls Herz: a call on the suit that is seen in its place is seen where Herz is.
        called = jnp.where(suits == HERZ, HERZ, jnp.where(place == HERZ, place[HERZ], place))
        self.calls = suits[:, None] == called

    def suits(self, values: chex.Array) -> chex.Array:
        """[..., suit] as [..., place]."""
        return moved(self.shows, values)

    def cards(self, values: chex.Array) -> chex.Array:
        """[..., card], each card at the place of its suit."""
        by_rank = values.reshape(*values.shape[:-1], 8, 4)
        return jnp.where(self.is_plain, moved(self.shows, by_rank), by_rank).reshape(values.shape)

    def bids(self, values: chex.Array) -> chex.Array:
        """[..., bid], calls and Solos at the places of their suits."""
        calls = jnp.zeros((*values.shape[:-1], 4), values.dtype)
        calls = calls.at[..., SAUSPIEL_SUITS].set(values[..., SAUSPIEL:WENZ])
        parts = (
            values[..., :SAUSPIEL],
            moved(self.calls, calls)[..., SAUSPIEL_SUITS],
            values[..., WENZ:SOLO],
            self.suits(values[..., SOLO:NUM_BIDS]),
        )
        return jnp.concatenate(parts, axis=-1)

    def actions(self, values: chex.Array) -> chex.Array:
        """[action], each at the choice that stands for it."""
        parts = (self.bids(values[:NUM_BIDS]), values[NUM_BIDS:FIRST_CARD], self.cards(values[FIRST_CARD:]))
        return jnp.concatenate(parts)


class SuitModel(FlatModel[State]):
    """Reads and chooses by place; what it plays has the names again."""

    def view(self, state: State, seat: chex.Array) -> View:
        seen, places = super().view(state, seat), Places(state, seat)
        trick = jnp.concatenate([places.cards(seen.trick[:, :NUM_CARDS]), seen.trick[:, NUM_CARDS:]], axis=-1)
        changed = {
            # Before the contract this part is empty: it tells where Herz is, if not in its own place.
            "suit": places.suits(seen.suit) | (places.is_long_herz & (jnp.arange(4) == GRAS)),
            "hand": places.cards(seen.hand),
            "played": places.cards(seen.played),
            "trick": trick,
        }
        if "bids" in seen._fields:
            changed["bids"] = places.bids(seen.bids)
        return seen._replace(**changed)

    def legal(self, state: State) -> chex.Array:
        return Places(state, state.current_player).actions(super().legal(state))

    def act(self, state: State, legal: chex.Array, choice: chex.Array) -> chex.Array:
        return _actions(state)[choice]

    def choice(self, state: State, legal: chex.Array, action: chex.Array) -> chex.Array:
        return jnp.argmax(_actions(state) == action).astype(jnp.int32)

    def arranged(self, state: State, seat: chex.Array, hidden: chex.Array) -> chex.Array:
        return Places(state, seat).cards(hidden.reshape(-1, NUM_CARDS)).reshape(hidden.shape)


def _actions(state: State) -> chex.Array:
    """int32[choice]: the action that each choice of the player to move stands for."""
    return Places(state, state.current_player).actions(jnp.arange(NUM_ACTIONS, dtype=jnp.int32))
