"""`hybrid`: the three-headed policy of Saboteur's design document: a card, a point of the plane, an orientation.

It reads the 2,332 features of the `seed` observation and acts through `env.snap` (SB-51), which turns a wish into the
nearest legal action.
"""

from typing import Any, NamedTuple

import chex
import flax.linen as nn
import jax.numpy as jnp

from agents.networks.mlp import through
from agents.networks.model import Labels, Model, Output, hidden_layer
from agents.networks.policies import Gaussian, Joint, categorical
from jaxgames import Env
from jaxgames.options import UserError
from jaxgames.saboteur import SaboteurEnv
from jaxgames.saboteur.cards import MAX_HAND
from jaxgames.saboteur.rules import held
from jaxgames.saboteur.state import State

REACH = 10.0  # SB-51 looks at points within -10..10


class Wishes(NamedTuple):
    """The three heads."""

    card: chex.Array  # float32[7]  the slots, and the skip
    point: chex.Array  # float32[2]  mean of x and y
    deviation: chex.Array  # float32[]  of both
    orientation: chex.Array  # float32[2]


class Kept(NamedTuple):
    """The state itself: a third of what the network reads of it."""

    state: State
    seat: chex.Array


class Hybrid(nn.Module):
    """Layers, then three heads and the value side by side."""

    widths: tuple[int, ...] = (256, 128)
    deviation: float = 1.0  # of the point, in cells; not learned
    auxiliary: tuple[tuple[str, int], ...] = ()
    dtype: str = "float32"

    @nn.compact
    def __call__(self, view: chex.Array) -> Output:
        layers = [hidden_layer(width, self.dtype, f"layers_{i}") for i, width in enumerate(self.widths)]
        hidden = through(layers, view)

        def head(size, name, scale):
            layer = nn.Dense(size, kernel_init=nn.initializers.orthogonal(scale), dtype=self.dtype, name=name)
            return layer(hidden).astype(jnp.float32)

        wishes = Wishes(
            card=head(MAX_HAND + 1, "card", 0.01),
            point=REACH * jnp.tanh(head(2, "point", 0.01)),
            deviation=jnp.float32(self.deviation),
            orientation=head(2, "orientation", 0.01),
        )
        return Output(
            wishes, head(1, "value", 1.0)[0], Labels(self.auxiliary, self.dtype, name="labels")(hidden), hidden
        )


class HybridModel(Model[State]):
    """A choice is (card, point, orientation); the rollout keeps the state."""

    env: SaboteurEnv

    def legal(self, state: State) -> chex.Array:
        """bool[7]: slots with a card, and the skip (always, or only when stuck: then the wish is granted otherwise)."""
        legal = jnp.append(held(state, state.current_player) >= 0, True) | state.done
        return legal if self.shape is None else self.shape(state, legal)

    def policy(self, heads: Wishes, legal: chex.Array) -> Joint:
        both = jnp.ones(2, bool)
        point = Gaussian(heads.point, heads.deviation)
        return Joint((categorical(heads.card, legal), point, categorical(heads.orientation, both)))

    def act(self, state: State, legal: chex.Array, choice: tuple) -> chex.Array:
        del legal
        card, (x, y), orientation = choice
        return self.env.snap(state, (card, x, y, orientation))

    def keep(self, state: State, seat: chex.Array, view: chex.Array, legal: chex.Array) -> Kept:
        del view, legal
        return Kept(state, seat)

    def recall(self, kept: Kept) -> tuple[chex.Array, chex.Array]:
        return self.look(kept.state, kept.seat), self.legal(kept.state)


def make(env: Env, version: str | None = None, **fields: Any) -> Model:
    """The document's policy, for the variant it was made for."""
    if env.id != "saboteur" or env.options["variant"] != "paths" or version not in (None, "seed"):
        raise UserError(f"networks: hybrid plays the paths variant of saboteur on 'seed', got {env.id} {version or ''}")
    return HybridModel(env, Hybrid(**fields), "seed")
