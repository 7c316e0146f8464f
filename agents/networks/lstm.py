"""`lstm`: an information vector beside sequences of cards with their lengths (SC-60)."""

from typing import Any, NamedTuple

import chex
import flax.linen as nn
import jax.numpy as jnp

from agents.networks.mlp import through
from agents.networks.model import Labels, Model, Output, hidden_layer
from jaxgames import Env, State
from jaxgames.env import flatten
from jaxgames.options import UserError

# Sequences in the views of games, each with the part that holds its length.
LENGTHS = {"history": "history_length", "open_cards": "open_length", "cards": "length"}


class Sequences(NamedTuple):
    """A view in two kinds of parts."""

    info: chex.Array  # float32[size]  everything that is not a sequence
    rows: tuple[chex.Array, ...]  # each [time, feature], zeros behind the last row
    lengths: tuple[chex.Array, ...]  # int32[] each


class LSTM(nn.Module):
    """Each sequence goes through its own stack of LSTMs, whose last output joins the information vector.

    `width` is that of every layer: 512 in the document, for which a GPU is needed.
    """

    num_actions: int
    width: int = 64
    layers: int = 2  # LSTMs on top of each other
    head_widths: tuple[int, ...] = (64,)
    auxiliary: tuple[tuple[str, int], ...] = ()
    dtype: str = "float32"

    @nn.compact
    def __call__(self, view: Sequences) -> Output:
        parts = [nn.relu(hidden_layer(self.width, self.dtype, "info")(view.info))]
        for i, (rows, length) in enumerate(zip(view.rows, view.lengths, strict=True)):
            hidden = rows.astype(jnp.float32)
            for j in range(self.layers):
                cell = nn.OptimizedLSTMCell(self.width, dtype=self.dtype, name=f"lstm_{i}_{j}")
                hidden = nn.RNN(cell)(hidden)
            # What comes behind the last row is never read; of an empty sequence, one row of zeros (section 10).
            parts.append(hidden[jnp.maximum(length, 1) - 1])
        hidden = nn.relu(hidden_layer(self.width, self.dtype, "trunk")(jnp.concatenate(parts)))
        branches = [
            through(
                [hidden_layer(width, self.dtype, f"{name}_{i}") for i, width in enumerate(self.head_widths)], hidden
            )
            for name in ("policy", "value")
        ]
        logits, value = (
            nn.Dense(size, kernel_init=nn.initializers.orthogonal(scale), dtype=self.dtype, name=name)(branch)
            for branch, (name, size, scale) in zip(
                branches, (("logits", self.num_actions, 0.01), ("values", 1, 1.0)), strict=True
            )
        )
        labels = Labels(self.auxiliary, self.dtype, name="labels")(hidden)
        return Output(logits.astype(jnp.float32), value.astype(jnp.float32)[0], labels, hidden)


class SequenceModel(Model):
    """Reads the view of a version with sequences in it."""

    def look(self, state: State, seat: chex.Array) -> Sequences:
        view = self.env.view(state, seat, self.version)._asdict()
        rows = {name: view.pop(name) for name in LENGTHS if name in view}
        lengths = tuple(view.pop(LENGTHS[name]) for name in rows)
        return Sequences(flatten(list(view.values())).astype(jnp.float32), tuple(rows.values()), lengths)


def make(env: Env, version: str | None = None, **fields: Any) -> Model:
    """An LSTM for a version whose view has sequences; by default the first of them."""
    known = [name for name in env.observation_versions if set(env.layout(name)) & set(LENGTHS)]
    if not known or version not in (None, *known):
        raise UserError(f"networks: lstm reads sequences; {env.id} has {', '.join(known) or 'none'}, got {version!r}")
    return SequenceModel(env, LSTM(env.num_actions, **fields), version or known[0])
