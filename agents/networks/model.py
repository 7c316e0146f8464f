"""A network at the table: what it reads, what it may choose, what a choice does, and what is kept of a decision.

Everything here is about one decision of one seat; a batch of games is a `vmap`.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import ClassVar, Generic, NamedTuple, TypeAlias

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from agents.networks.policies import Categorical, Policy, categorical
from jaxgames import Env
from jaxgames.cards import members, pack
from jaxgames.env import StateT

Params: TypeAlias = chex.ArrayTree  # of a network


class Output(NamedTuple):
    """What a network says about one view."""

    heads: chex.ArrayTree  # what `Model.policy` makes a distribution of
    value: chex.Array  # float32[]  the return to come
    labels: dict[str, chex.Array]  # {name: float32[size]}, predictions of auxiliary heads; unread, they cost nothing
    hidden: chex.Array  # [width]  what the trunk says to the heads


class Kept(NamedTuple):
    """A decision as a rollout stores it: the view, and the mask in bits."""

    view: chex.ArrayTree
    mask: chex.Array  # uint32[word], 32 actions each


class Decision(NamedTuple):
    """What a model decided."""

    kept: chex.ArrayTree  # what `Model.recall` needs to judge the choice again
    choice: chex.ArrayTree
    action: chex.Array  # int32[]  what the choice does
    log_prob: chex.Array  # float32[]
    value: chex.Array  # float32[]


@dataclasses.dataclass(frozen=True)
class Model(Generic[StateT]):
    """A network for a game: reads the flat observation, and chooses one of the legal actions.

    Networks that read or choose otherwise come with a model of their own.
    """

    plays: ClassVar[bool] = True  # or predicts something else than moves

    env: Env[StateT]
    network: nn.Module
    version: str  # of the observation
    shape: Callable[[StateT, chex.Array], chex.Array] | None = None
    """what a learner leaves of the legal actions while it trains: (state, legal) -> legal; agents play without it"""

    def look(self, state: StateT, seat: chex.Array) -> chex.ArrayTree:
        """The view that the network reads, a pytree."""
        return self.env.observe(state, seat, self.version).astype(jnp.float32)

    def legal(self, state: StateT) -> chex.ArrayTree:
        """What the player to move may choose."""
        legal = self.env.legal_action_mask(state)
        return legal if self.shape is None else self.shape(state, legal)

    def at_turn(self, state: StateT, seat: chex.Array) -> tuple[chex.ArrayTree, chex.ArrayTree]:
        """(view, legal) of the seat to move, where a model finds both at once."""
        return self.look(state, seat), self.legal(state)

    def policy(self, heads: chex.ArrayTree, legal: chex.ArrayTree) -> Policy:
        """The distribution over legal choices."""
        return categorical(heads, legal)

    def act(self, state: StateT, legal: chex.ArrayTree, choice: chex.ArrayTree) -> chex.Array:
        """int32[], the action that a choice stands for."""
        del state, legal
        return choice

    def choice(self, state: StateT, legal: chex.ArrayTree, action: chex.Array) -> chex.ArrayTree:
        """The choice that stands for a legal action; a model with an `act` of its own that has none cannot imitate."""
        del state, legal
        return action

    def merged(self, state: StateT, probability: chex.Array) -> chex.Array:
        """Probabilities of choices, with those of several that do the same given to one of them."""
        del state
        return probability

    def keep(self, state: StateT, seat: chex.Array, view: chex.ArrayTree, legal: chex.ArrayTree) -> chex.ArrayTree:
        """What a rollout stores of a decision."""
        del state, seat
        return Kept(view, pack(legal))

    def recall(self, kept: chex.ArrayTree) -> tuple[chex.ArrayTree, chex.ArrayTree]:
        """(view, legal) of a stored decision."""
        return kept.view, members(kept.mask, self.env.num_actions)

    def arranged(self, state: StateT, seat: chex.Array, hidden: chex.Array) -> chex.Array:
        """Hidden cards for a critic, [card], in the order in which this network reads cards."""
        del state, seat
        return hidden

    def read(self, params: Params, view: chex.ArrayTree) -> Output:
        """What the network says about a view."""
        return self.network.apply(params, view)  # type: ignore[return-value]

    @property
    def player(self) -> "Model[StateT]":
        """The model without what only a training knows: this is what plays and is published."""
        return dataclasses.replace(self, shape=None)

    def player_params(self, params: Params) -> Params:
        """The parameters that `player` needs."""
        return params

    def adopt(self, other: "Model[StateT]", params: Params) -> Params:
        """Parameters of another model for this one, where it can begin with them; else as they are."""
        del other
        return params

    def put_player(self, params: Params, given: Params) -> Params:
        """`params` with those of another player in their place."""
        del params
        return given

    def init(self, key: chex.PRNGKey) -> Params:
        """Parameters that have learned nothing."""
        return self.network.init(key, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self.view_shapes()))

    def view_shapes(self) -> chex.ArrayTree:
        """Shapes and dtypes of a view; nothing is computed."""
        return jax.eval_shape(lambda: self.look(self.env.init(jax.random.key(0)), 0))


def decide(
    model: Model[StateT], params: Params, state: StateT, seat: chex.Array, key: chex.PRNGKey, greedy: bool = False
) -> Decision:
    """The decision of `seat`, who is to move: sampled, or the most likely one."""
    view, legal = model.at_turn(state, seat)
    policy, out = judge(model, params, view, legal)
    choice = likeliest_choice(model, state, policy) if greedy else policy.sample(key)
    return Decision(
        kept=model.keep(state, seat, view, legal),
        choice=choice,
        action=model.act(state, legal, choice),
        log_prob=policy.log_prob(choice),
        value=out.value,
    )


def consider(model: Model[StateT], params: Params, state: StateT, seat: chex.Array) -> tuple[Policy, Output]:
    """What these parameters would do as `seat`, who is to move."""
    return judge(model, params, *model.at_turn(state, seat))


def reconsider(model: Model[StateT], params: Params, kept: chex.ArrayTree) -> tuple[Policy, Output]:
    """What these parameters would do about a stored decision."""
    return judge(model, params, *model.recall(kept))


def judge(model: Model[StateT], params: Params, view: chex.ArrayTree, legal: chex.ArrayTree) -> tuple[Policy, Output]:
    """What a network says about a view."""
    out = model.read(params, view)
    return model.policy(out.heads, legal), out


def likeliest_choice(model: Model[StateT], state: StateT, policy: Policy) -> chex.ArrayTree:
    """The likeliest choice, where those that do the same are one."""
    if not isinstance(policy, Categorical):
        return policy.mode()
    return jnp.argmax(model.merged(state, policy.widths)).astype(jnp.int32)


def network_agent(model: Model[StateT], params: Params, greedy: bool = False):
    """The network as an agent; `params` may be traced, so one compilation serves every stage of a training."""
    model, params = model.player, model.player_params(params)

    def act(key: chex.PRNGKey, state: StateT, player: chex.Array) -> chex.Array:
        return decide(model, params, state, player, key, greedy).action

    return act


def likeliest(
    model: Model[StateT], params: Params, state: StateT, seat: chex.Array, count: int
) -> tuple[chex.Array, chex.Array]:
    """(probability float32[count], action int32[count]) of the likeliest choices, the best first; 0 behind the last.

    Choices that do the same are one.
    """
    policy, _ = consider(model, params, state, seat)
    if not isinstance(policy, Categorical):
        raise TypeError(f"{type(policy).__name__} has no list of choices to rank")
    probability, choices = jax.lax.top_k(model.merged(state, policy.widths / policy.total), count)
    return probability, jax.vmap(lambda choice: model.act(state, model.legal(state), choice))(choices)


def hidden_layer(width: int, dtype: str, name: str | None = None) -> nn.Dense:
    """A layer before a ReLU."""
    return dense_layer(width, dtype, name, math.sqrt(2))


def dense_layer(width: int, dtype: str, name: str | None = None, scale: float = 1.0) -> nn.Dense:
    """A layer with orthogonal weights, for one row or for several rows of a decision (tokens, points)."""
    kernel_init = nn.initializers.orthogonal(scale)
    return nn.Dense(width, kernel_init=kernel_init, dtype=dtype, name=name, dot_general=row_products)


def row_products(
    rows: chex.Array,
    kernel: chex.Array,
    dimensions: jax.lax.DotDimensionNumbers,
    precision: jax.lax.PrecisionLike = None,
) -> chex.Array:
    """`lax.dot_general` as a dense layer calls it; many rows of a batch of decisions become one matrix.

    As it is, the gradient of the kernel is a sum over two axes (decision and row), for which XLA transposes both
    factors on a CPU: 2.5 times the work of the matrix product. The gradient needs a batch: `grad` of a `vmap`.
    """
    if rows.ndim == 1:
        return jax.lax.dot_general(rows, kernel, dimensions, precision)
    return _matrix_product(rows, kernel)


@jax.custom_batching.custom_vmap
def _matrix_product(rows: chex.Array, kernel: chex.Array) -> chex.Array:
    return rows @ kernel


@_matrix_product.def_vmap
def _product_of_batch(axis_size, in_batched, rows, kernel):
    if in_batched[1]:  # several sets of weights: past selves, seeds
        return jax.vmap(jnp.matmul, [0 if each else None for each in in_batched])(rows, kernel), True
    flat = rows.reshape(-1, rows.shape[-1]) @ kernel
    return flat.reshape(*rows.shape[:-1], kernel.shape[-1]), True


class Labels(nn.Module):
    """Auxiliary heads on what the trunk of a network says: {name: float32[size]}."""

    sizes: tuple[tuple[str, int], ...]
    dtype: str = "float32"

    @nn.compact
    def __call__(self, hidden: chex.Array) -> dict[str, chex.Array]:
        return {
            name: nn.Dense(size, dtype=self.dtype, name=name)(hidden).astype(jnp.float32) for name, size in self.sizes
        }
