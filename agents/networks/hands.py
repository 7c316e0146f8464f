"""`hands`: who holds the cards that a player of Schafkopf cannot see (SC-59). It predicts, and plays nothing."""

from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from agents.networks.lstm import SequenceModel, Sequences
from agents.networks.model import Output, Params, hidden_layer
from jaxgames import Env, State
from jaxgames.options import UserError
from jaxgames.schafkopf.cards import NUM_CARDS, NUM_SEATS

PLACES = NUM_SEATS  # the next three seats in turn order, and none of them
NOBODY = PLACES - 1


class Hands(nn.Module):
    """An information vector beside a stack of LSTMs over the cards played, then one layer, then [card, place].

    `width` is that of every layer: 512 in the document. The stack runs over a whole game at once and remembers what it
    knew after every card, so that all decisions of a seat cost one pass.
    """

    width: int = 64
    layers: int = 2
    dtype: str = "float32"

    def setup(self):
        self.info = hidden_layer(self.width, self.dtype)
        self.stack = [nn.RNN(nn.OptimizedLSTMCell(self.width, dtype=self.dtype)) for _ in range(self.layers)]
        self.trunk = hidden_layer(self.width, self.dtype)
        self.places = nn.Dense(NUM_CARDS * PLACES, dtype=self.dtype)

    def remember(self, cards: chex.Array) -> chex.Array:
        """float32[length, width] after 0, 1, .. all of the cards [time, feature]; none is one row of zeros."""
        return jnp.concatenate([self._run(jnp.zeros_like(cards[:1])), self._run(cards)])

    def _run(self, cards: chex.Array) -> chex.Array:
        hidden = cards.astype(jnp.float32)
        for layer in self.stack:
            hidden = layer(hidden)
        return hidden

    def judge(self, info: chex.Array, memory: chex.Array) -> chex.Array:
        """float32[card, place], logits."""
        hidden = jnp.concatenate([nn.relu(self.info(info)), memory], axis=-1)
        logits = self.places(nn.relu(self.trunk(hidden)))
        return logits.reshape(*logits.shape[:-1], NUM_CARDS, PLACES).astype(jnp.float32)

    def __call__(self, view: Sequences) -> chex.Array:
        return self.judge(view.info, self.remember(view.rows[0])[view.lengths[0]])


class HandsModel(SequenceModel):
    """The predictor at the table."""

    plays = False

    def places(self, params: Params, state: State, seat: chex.Array) -> chex.Array:
        """float32[card, place]: how likely each card is in the hand of each of the next seats, or of none of them."""
        return jax.nn.softmax(self._apply(params, "__call__", self.look(state, seat)), axis=-1)

    def remember(self, params: Params, cards: chex.Array) -> chex.Array:
        """float32[length, width] after 0, 1, .. all of the cards [time, feature]."""
        return self._apply(params, "remember", cards)

    def judge(self, params: Params, info: chex.Array, memory: chex.Array) -> chex.Array:
        """float32[..., card, place], logits, from the information and the memory of some decisions."""
        return self._apply(params, "judge", info, memory)

    def _apply(self, params: Params, method: str, *arguments: chex.Array | Sequences) -> chex.Array:
        return self.network.apply(params, *arguments, method=method)  # type: ignore[return-value]

    def read(self, params: Params, view: Sequences) -> Output:
        raise UserError("networks: a network of the kind hands predicts cards and does not play; write hp:10,40,<it>")


def make(env: Env, version: str | None = None, **fields: Any) -> HandsModel:
    """A predictor for Schafkopf, which reads `seq70`."""
    if env.id != "schafkopf" or version not in (None, "seq70"):
        raise UserError(f"networks: hands reads seq70 of schafkopf, got {version!r} of {env.id}")
    return HandsModel(env, Hands(**fields), "seq70")
