"""`mlp`: layers over the flat observation, all heads side by side in one matrix product."""

from collections.abc import Sequence
from typing import Any

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from agents.networks.model import Labels, Model, Output, Params, hidden_layer
from jaxgames import Env
from jaxgames.env import StateT, View, flatten
from jaxgames.options import check_choice

# Named heads of a game, in the order of its flat actions; actions behind them are forced and need no output.
HEADS = {"skullking": (("bid", 11), ("card", 13), ("rosie", 6), ("bendt", 13), ("roatan", 3), ("harry", 3))}


class MLP(nn.Module):
    """A shared encoder with one policy head for each kind of decision and one for the value (SK-63).

    A phase needs no branch: its legal mask leaves exactly the entries of its head. With `head_widths`, policy and
    value have layers of their own between encoder and output (SC-60).
    """

    num_actions: int
    heads: tuple[tuple[str, int], ...]
    widths: tuple[int, ...] = (256, 256)
    head_widths: tuple[int, ...] = ()
    auxiliary: tuple[tuple[str, int], ...] = ()
    reads_mask: bool = False  # the legal mask follows on the observation (MT-44)
    parts: tuple[str, ...] = ()  # of the observation, by name, in the order they are read; none for all of it
    dtype: str = "float32"  # of the products; parameters, logits and values stay float32

    def setup(self):
        self.layers = [hidden_layer(width, self.dtype) for width in self.widths]
        self.policy_layers = [hidden_layer(width, self.dtype) for width in self.head_widths]
        self.value_layers = [hidden_layer(width, self.dtype) for width in self.head_widths]
        num_logits = sum(size for _, size in self.heads)
        if self.head_widths:
            self.logits = nn.Dense(num_logits, kernel_init=nn.initializers.orthogonal(0.01), dtype=self.dtype)
            self.value = nn.Dense(1, kernel_init=nn.initializers.orthogonal(1.0), dtype=self.dtype)
        else:
            self.outputs = nn.Dense(num_logits + 1, kernel_init=first_outputs, dtype=self.dtype)
        self.labels = Labels(self.auxiliary, self.dtype)

    def __call__(self, view: chex.Array) -> Output:
        hidden = through(self.layers, view)
        if self.head_widths:
            logits = self.logits(through(self.policy_layers, hidden)).astype(jnp.float32)
            value = self.value(through(self.value_layers, hidden)).astype(jnp.float32)[..., 0]
        else:
            out = self.outputs(hidden).astype(jnp.float32)
            logits, value = out[..., :-1], out[..., -1]
        forced = self.num_actions - logits.shape[-1]
        logits = jnp.pad(logits, [(0, 0)] * (logits.ndim - 1) + [(0, forced)])
        return Output(logits, value, self.labels(hidden), hidden)


class FlatModel(Model[StateT]):
    """The flat observation or some of its parts, by choice with the legal mask behind it."""

    def look(self, state: StateT, seat: chex.Array) -> chex.Array:
        view = self.view(state, seat)
        seen = flatten(getattr(view, name) for name, _ in self.inputs).astype(jnp.float32)
        if not self.network.reads_mask:
            return seen
        # What others may do would tell of their hands.
        return jnp.append(seen, self.legal(state) & (seat == state.current_player))

    def view(self, state: StateT, seat: chex.Array) -> View:
        """The parts of the observation as the network reads them."""
        return self.env.view(state, seat, self.version)

    @property
    def inputs(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every part that is read, in order."""
        layout = self.env.layout(self.version)
        return [(name, layout[name].shape) for name in self.network.parts or layout]

    def adopt(self, other: Model, params: Params) -> Params:
        """Where the other reads the first parts of what this one reads, in no wider layers: see `widened`."""
        if not isinstance(other, FlatModel) or other.network.reads_mask != self.network.reads_mask:
            return params
        first = self.inputs if self.network.reads_mask else self.inputs[: len(other.inputs)]  # a mask follows on all
        return widened(params, self) if other.inputs == first else params


def widened(params: Params, model: Model) -> Params:
    """Parameters of a network with fewer inputs or units for one of this model, which begins by saying the same.

    Inputs that are new count nothing, units that are new listen as they would in a new network, and nobody listens to
    them yet. Parameters that do not fit are left as they are.
    """
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    given, like = (jax.tree.leaves_with_path(tree) for tree in (params, shapes))
    if [path for path, _ in given] != [path for path, _ in like]:
        return params
    sizes = [(np.shape(old), new.shape) for (_, old), (_, new) in zip(given, like, strict=True)]
    if all(old == new for old, new in sizes) or any(np.greater(old, new).any() for old, new in sizes):
        return params

    def placed(old: chex.Array, new: chex.Array) -> np.ndarray:
        wide = np.array(new)
        wide[..., : old.shape[-1]] = 0
        wide[tuple(slice(size) for size in old.shape)] = old
        return wide

    return jax.tree.map(placed, params, model.init(jax.random.key(0)))


def moved(shows: chex.Array, values: chex.Array) -> chex.Array:
    """[..., place] of values [..., thing], where `shows`, bool[place, thing], has one thing in each place."""
    return jnp.where(shows, values[..., None, :], jnp.zeros((), values.dtype)).sum(-1, dtype=values.dtype)


def through(layers: Sequence[nn.Dense], hidden: chex.Array) -> chex.Array:
    for layer in layers:
        hidden = nn.relu(layer(hidden))
    return hidden


def first_outputs(key: chex.PRNGKey, shape: Sequence[int], dtype: jax.typing.DTypeLike = jnp.float32) -> chex.Array:
    """Small policy columns, so that play starts near uniform; a value column of ordinary size."""
    policy_key, value_key = jax.random.split(key)
    policy = nn.initializers.orthogonal(0.01)(policy_key, (shape[0], shape[1] - 1), dtype)
    return jnp.concatenate([policy, nn.initializers.orthogonal(1.0)(value_key, (shape[0], 1), dtype)], axis=-1)


def make(env: Env, version: str | None = None, **fields: Any) -> Model:
    """The network for a game: its named heads, or one head for all its actions."""
    heads, version = HEADS.get(env.id, (("action", env.num_actions),)), version or env.observation_versions[0]
    for name in fields.get("parts", ()):
        check_choice(env.id, f"parts of {version}", name, tuple(env.layout(version)))
    return FlatModel(env, MLP(env.num_actions, heads, **fields), version)
