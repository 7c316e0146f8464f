"""A critic that sees what is hidden, while it trains: the policy reads its player's view alone.

`with_critic` puts a layer beside the trunk of any network. It reads what the trunk says and the secrets of the
position, and what it finds is added to the value. Policy and trunk are those of the network, which plays and is
published without it. Its last weights are zero at first: a training begins as one without it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp

from agents.networks import Model, Output, Params, Policy
from agents.networks.model import hidden_layer
from jaxgames import Env, State
from jaxgames.cards import members, set_of
from jaxgames.saboteur import cards as saboteur_cards
from jaxgames.saboteur.rules import held
from jaxgames.schafkopf import cards as schafkopf_cards
from jaxgames.schafkopf import state as schafkopf_state
from jaxgames.skullking import cards as skullking_cards
from jaxgames.skyjo import chance
from jaxgames.tricks import seats_from


class Seen(NamedTuple):
    """A player's view, and what it may not know."""

    view: chex.ArrayTree
    secrets: chex.Array  # [secret], small numbers


class Seeing(nn.Module):
    """A network with a critic beside it."""

    network: nn.Module
    width: int

    @nn.compact
    def __call__(self, seen: Seen) -> Output:
        out = self.network(seen.view)
        known = jnp.concatenate([out.hidden, seen.secrets.astype(jnp.float32)], axis=-1)
        hidden = nn.relu(hidden_layer(self.width, "float32", "secrets")(known))
        more = nn.Dense(1, kernel_init=nn.initializers.zeros, use_bias=False, name="more")(hidden)[..., 0]
        return out._replace(value=out.value + more)


@dataclasses.dataclass(frozen=True)
class SeeingModel(Model):
    """A model whose value knows the secrets; `inner` is the one that plays."""

    inner: Model = None  # type: ignore[assignment]  # a field behind one with a default needs one

    def look(self, state: State, seat: chex.Array) -> Seen:
        return Seen(self.inner.look(state, seat), self.secrets(state, seat))

    def secrets(self, state: State, seat: chex.Array) -> chex.Array:
        return self.inner.arranged(state, seat, secrets_of(self.env, state, seat))

    def legal(self, state: State) -> chex.ArrayTree:
        return self.inner.legal(state)

    def at_turn(self, state: State, seat: chex.Array) -> tuple[Seen, chex.ArrayTree]:
        view, legal = self.inner.at_turn(state, seat)
        return Seen(view, self.secrets(state, seat)), legal

    def policy(self, heads: chex.ArrayTree, legal: chex.ArrayTree) -> Policy:
        return self.inner.policy(heads, legal)

    def act(self, state: State, legal: chex.ArrayTree, choice: chex.ArrayTree) -> chex.Array:
        return self.inner.act(state, legal, choice)

    def choice(self, state: State, legal: chex.ArrayTree, action: chex.Array) -> chex.ArrayTree:
        return self.inner.choice(state, legal, action)

    def keep(
        self, state: State, seat: chex.Array, view: Seen, legal: chex.ArrayTree
    ) -> tuple[chex.ArrayTree, chex.Array]:
        return self.inner.keep(state, seat, view.view, legal), view.secrets

    def recall(self, kept: tuple[chex.ArrayTree, chex.Array]) -> tuple[Seen, chex.ArrayTree]:
        view, legal = self.inner.recall(kept[0])
        return Seen(view, kept[1]), legal

    def init(self, key: chex.PRNGKey) -> Params:
        """The player begins as it would without the critic."""
        params = super().init(jax.random.fold_in(key, 1))
        return {"params": params["params"] | {"network": self.inner.init(key)["params"]}}

    @property
    def player(self) -> Model:
        return self.inner.player

    def player_params(self, params: Params) -> Params:
        return {"params": params["params"]["network"]}

    def put_player(self, params: Params, given: Params) -> Params:
        player = self.inner.put_player(self.player_params(params), given)
        return {"params": params["params"] | {"network": player["params"]}}


def with_critic(model: Model, width: int) -> Model:
    """The model with a critic of so many units that sees its game's secrets; with none of them the model itself."""
    return SeeingModel(model.env, Seeing(model.network, width), model.version, inner=model) if width else model


def secrets_of(env: Env, state: State, seat: chex.Array) -> chex.Array:
    """What `seat` may not know of a state, seats counted from it; what it may know can be among it."""
    return SECRETS[env.id](env, state, jnp.asarray(seat, jnp.int32))


def _skull_king(env: Any, state: Any, seat: chex.Array) -> chex.Array:
    """bool: the cards in the other hands."""
    others = seats_from(seat, env.num_players)[1:]
    return members(set_of(state.hand[others], 3), skullking_cards.NUM_CARDS).ravel()


def _schafkopf(env: Any, state: Any, seat: chex.Array) -> chex.Array:
    """bool: the cards in the other hands."""
    others = seats_from(seat, env.num_players)[1:]
    hands = jax.vmap(lambda other: schafkopf_state.hand(state, other))(others)
    return members(hands[:, None], schafkopf_cards.NUM_CARDS).ravel()


def _skyjo(env: Any, state: Any, seat: chex.Array) -> chex.Array:
    """float16: every card of every board, and the card on top of the deck."""
    seats = (seat + jnp.arange(env.num_players)) % env.num_players
    _, top = chance.draw(state, when=state.deck_pos < state.deck_end)  # the deck is shuffled as it is drawn
    return (jnp.append(state.cards[seats].ravel(), top) / 12).astype(jnp.float16)


def _saboteur(env: Any, state: Any, seat: chex.Array) -> chex.Array:
    """int8: the other roles, where the gold is, and how many cards of each type the others hold."""
    others = (seat + jnp.arange(1, env.num_players)) % env.num_players
    kinds = jax.vmap(lambda other: held(state, other))(others)  # [other, slot]
    counts = (kinds[..., None] == jnp.arange(saboteur_cards.NUM_TYPES)).sum(1)
    is_gold = state.goals[state.round] == saboteur_cards.GOLD
    parts = (state.roles[state.round, others], is_gold, counts.ravel())
    return jnp.concatenate([part.astype(jnp.int8) for part in parts])


def _magic_trick(env: Any, state: Any, seat: chex.Array) -> chex.Array:
    """The document's observation with all values in it."""
    return env.observe(state, seat, "v1").astype(jnp.float16)


SECRETS: dict[str, Callable[..., chex.Array]] = {
    "skullking": _skull_king,
    "schafkopf": _schafkopf,
    "skyjo": _skyjo,
    "saboteur": _saboteur,
    "magictrick": _magic_trick,
}
