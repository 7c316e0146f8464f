"""Which suit of Magic Trick is seen in which place, by the network `suits`.

Six suits are alike: only hearts are trumps. The suit that was led is always seen first, the others in the order of how
many hidden cards the player has of them. Behind the observation follows what it only hints at: which slots are
revealed, and how many cards of each suit are hidden in each hand.
"""

import chex
import jax.numpy as jnp

from agents.networks.mlp import FlatModel, moved, widened
from agents.networks.model import Model, Params
from jaxgames.env import View, flatten
from jaxgames.magictrick.cards import HEARTS, NUM_SLOTS, NUM_SUITS, suit_of
from jaxgames.magictrick.state import State

REVEALED = "v5"  # the observation that has the revealed slots; what costs time in it is not computed
MANY = 8  # cards of a suit


def places(state: State, view: View, hidden: chex.Array) -> chex.Array:
    """bool[place, suit], for the player whose view this is; hidden int32[seat, suit]. Hearts keep their own place."""
    led = (suit_of(state.trick[0]) == jnp.arange(NUM_SUITS)) & (state.trick[0] >= 0)
    # No two suits share a slot: only of suits that the player never had may several be equal.
    slots = (view.all_backs[0] << jnp.arange(NUM_SLOTS)[:, None]).sum(0)
    order = (led << 26) + (hidden[0] << 22) + (slots << 8) + hidden.sum(0)
    suits, hearts = jnp.arange(NUM_SUITS), jnp.arange(NUM_SUITS) == HEARTS
    is_before = (order[:, None] > order) | ((order[:, None] == order) & (suits[:, None] < suits))
    number = (is_before & ~hearts[:, None]).sum(0)  # of the other suits that come before this one
    place = jnp.where(hearts, HEARTS, number + (number >= HEARTS))
    return suits[:, None] == place


class SuitModel(FlatModel[State]):
    """Reads suits by their places. What it chooses are slots, which have no suit in their names."""

    def view(self, state: State, seat: chex.Array) -> View:
        seen, shows, _, _ = self.by_places(state, seat)
        return seen._replace(
            all_backs=moved(shows, seen.all_backs),
            trick=_in_rows(shows, seen.trick),
            captured_suits=moved(shows, seen.captured_suits),
        )

    def by_places(self, state: State, seat: chex.Array) -> tuple[View, chex.Array, chex.Array, chex.Array]:
        """(the view by names, the places, revealed slots, hidden cards as int32[seat, suit])."""
        seen, revealed = super().view(state, seat), self.env.view(state, seat, REVEALED).revealed
        hidden = (seen.all_backs & ~revealed[..., None]).sum(1, dtype=jnp.int32)
        return seen, places(state, seen, hidden), revealed, hidden

    def look(self, state: State, seat: chex.Array) -> chex.Array:
        """The view and the legal mask; behind them the revealed slots, and how many cards of each suit are hidden."""
        _, shows, revealed, hidden = self.by_places(state, seat)
        return jnp.concatenate([super().look(state, seat), revealed.ravel(), moved(shows, hidden).ravel() / MANY])

    def adopt(self, other: Model, params: Params) -> Params:
        """From a network that reads view and mask alone, too: what is new counts nothing at first."""
        if isinstance(other, SuitModel) or not isinstance(other, FlatModel):
            return super().adopt(other, params)
        return widened(params, self) if other.network.reads_mask and other.inputs == self.inputs else params

    def arranged(self, state: State, seat: chex.Array, hidden: chex.Array) -> chex.Array:
        """Of `v1`, which a critic reads here: values at the places of their suits."""
        layout = self.env.layout("v1")
        at = {name: hidden[part.slice].reshape(part.shape) for name, part in layout.items()}
        shows = self.by_places(state, seat)[1]
        by_suit = at["true_hands"].reshape(-1, NUM_SUITS, at["true_hands"].shape[-1] // NUM_SUITS)
        at["true_hands"] = jnp.swapaxes(moved(shows, jnp.swapaxes(by_suit, 1, 2)), 1, 2)
        at["own_backs"] = moved(shows, at["own_backs"].T).T
        at["trick"] = _in_rows(shows, at["trick"])
        return flatten(list(at.values())).astype(hidden.dtype)


def _in_rows(shows: chex.Array, rows: chex.Array) -> chex.Array:
    """Rows that begin with the bits of a suit."""
    return jnp.concatenate([moved(shows, rows[..., :NUM_SUITS]), rows[..., NUM_SUITS:]], axis=-1)
