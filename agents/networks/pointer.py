"""`pointer`: Saboteur's policy points at the few cells that a turn can be about, and at players.

Every slot and orientation of the hand makes a query, which is compared with every point of the mine and with every
player: a choice is as likely as the two agree. Weights fit any number of players and any board.
"""

from typing import Any, NamedTuple

import chex
import flax.linen as nn
import jax.numpy as jnp

from agents.networks.model import Labels, Model, Output, dense_layer, hidden_layer
from agents.networks.policies import Categorical, categorical
from jaxgames.cards import members, pack
from jaxgames.options import UserError
from jaxgames.saboteur import SaboteurEnv, observe, points
from jaxgames.saboteur.cards import COPIES, NUM_GOALS, NUM_TOOLS
from jaxgames.saboteur.rules import held
from jaxgames.saboteur.state import State

NUM_AIMS = points.MAX_FRONTIER + NUM_GOALS  # points that cards are laid on or looked at; behind them, what can fall


class Mine(NamedTuple):
    """What the network reads. Points and cards come in whole numbers: a rollout stores them as they are."""

    points: chex.Array  # int8[point, 50]
    exists: chex.Array  # bool[point]
    cards: chex.Array  # bool[slot, orientation, 17]
    has_card: chex.Array  # bool[slot]
    players: chex.Array  # float32[seat, 22]  relative seats
    facts: chex.Array  # float32[fact]


class Legal(NamedTuple):
    """What may be chosen, and the cells that choices mean."""

    choices: chex.Array  # bool[choice]
    points: points.Points


class Kept(NamedTuple):
    """A decision as a rollout stores it. The state would take no less, and finding its points again as long as
    half of the network."""

    view: Mine
    cell: chex.Array  # int16[point]
    mask: chex.Array  # uint32[word], 32 choices each


class Pointer(nn.Module):
    """Encoders for points, cards and players; what they say together; queries.

    The cards that can fall are many and matter to one kind of card: they get one narrow layer.
    """

    is_full: bool  # tools and discards, or the skip of `paths`
    width: int = 64
    auxiliary: tuple[tuple[str, int], ...] = ()
    dtype: str = "float32"

    @nn.compact
    def __call__(self, view: Mine) -> Output:
        def encoded(x, name, layers=2):
            for i in range(layers):
                x = nn.relu(hidden_layer(self.width, self.dtype, f"{name}_{i}")(x))
            return x

        def dense(size, name, scale=1.0):
            return dense_layer(size, self.dtype, name, scale)

        lies, features = view.exists[:, None], points.scaled(view.points)
        card = encoded(view.cards.astype(jnp.float32), "card")  # [slot, orientation, width]
        player = encoded(view.players, "player")
        hand = jnp.where(view.has_card[:, None, None], card, 0)
        point = jnp.where(lies[:NUM_AIMS], encoded(features[:NUM_AIMS], "point"), 0)
        together = [point.max(0), point.sum(0) / jnp.maximum(lies[:NUM_AIMS].sum(), 1)]
        together += [hand.max((0, 1)), hand.mean((0, 1)), player[0]]
        if self.is_full:
            loose = nn.relu(hidden_layer(self.width // 2, self.dtype, "loose")(features[NUM_AIMS:]))
            together += [player[1:].max(0), player[1:].mean(0), jnp.where(lies[NUM_AIMS:], loose, 0).max(0)]
        context = encoded(jnp.concatenate([*together, view.facts]), "context")

        asks = nn.relu(dense(self.width, "card_and_context")(card) + dense(self.width, "context_for_cards")(context))
        scale = 1 / jnp.sqrt(jnp.float32(self.width))
        board = jnp.einsum("sod,pd->spo", dense(self.width, "point_query", 0.1)(asks), point) * scale
        if self.is_full:
            asks = asks[:, 0]  # only path cards can be turned
            rockfall = jnp.einsum("sd,pd->sp", dense(self.width // 2, "loose_query", 0.1)(asks), loose) * scale
            board = jnp.concatenate([board, jnp.broadcast_to(rockfall[..., None], (*rockfall.shape, 2))], axis=1)
            tool_query = dense(NUM_TOOLS * self.width, "tool_query", 0.1)(asks).reshape(-1, NUM_TOOLS, self.width)
            tools = jnp.einsum("std,qd->stq", tool_query, player) * scale
            rest = [tools.ravel(), dense(1, "discard", 0.01)(asks)[:, 0]]
        else:
            rest = [dense(1, "skip", 0.01)(context)]
        logits = jnp.concatenate([board.ravel(), *rest]).astype(jnp.float32)
        value = dense(1, "value")(context).astype(jnp.float32)[0]
        return Output(logits, value, Labels(self.auxiliary, self.dtype, name="labels")(context), context)


class PointerModel(Model[State]):
    """A choice is an action with the number of a point in place of a cell."""

    env: SaboteurEnv

    def look(self, state: State, seat: chex.Array) -> Mine:
        return self._view(state, seat, points.find_points(self.env, state, seat))

    def legal(self, state: State) -> Legal:
        return self._legal(state, points.find_points(self.env, state, state.current_player))

    def at_turn(self, state: State, seat: chex.Array) -> tuple[Mine, Legal]:
        found = points.find_points(self.env, state, seat)
        return self._view(state, seat, found), self._legal(state, found)

    def _view(self, state: State, seat: chex.Array, found: points.Points) -> Mine:
        env, seat = self.env, jnp.asarray(seat, jnp.int32)
        return Mine(
            points=found.numbers,
            exists=found.exists,
            cards=points.hand_cards(env, state, seat).astype(bool),
            has_card=held(state, seat) >= 0,
            players=player_facts(env, state, seat),
            facts=facts(env, state, seat),
        )

    def _legal(self, state: State, found: points.Points) -> Legal:
        choices = points.legal_choices(self.env, state, found)
        return Legal(choices if self.shape is None else self.shape(state, choices), found)

    def policy(self, heads: chex.Array, legal: Legal) -> Categorical:
        return categorical(heads, legal.choices)

    def act(self, state: State, legal: Legal, choice: chex.Array) -> chex.Array:
        del state
        return points.action_of(self.env, legal.points, choice)

    def choice(self, state: State, legal: Legal, action: chex.Array) -> chex.Array:
        del state
        return points.choice_of(self.env, legal.points, action)

    def merged(self, state: State, probability: chex.Array) -> chex.Array:
        return points.merged(self.env, state, probability)

    def keep(self, state: State, seat: chex.Array, view: Mine, legal: Legal) -> Kept:
        del state, seat
        return Kept(view, legal.points.cell.astype(jnp.int16), pack(legal.choices))

    def recall(self, kept: Kept) -> tuple[Mine, Legal]:
        found = points.Points(kept.cell.astype(jnp.int32), kept.view.exists, kept.view.points)
        return kept.view, Legal(members(kept.mask, points.num_choices(self.env)), found)


def player_facts(env: SaboteurEnv, state: State, seat: chex.Array) -> chex.Array:
    """float32[seat, 22]: what everybody knows of each player, and what it and the observer did to each other and in all
    with tools; the observer is the first."""
    n = env.num_players
    seats = (seat + jnp.arange(n)) % n
    rows = [observe.player_rows(env, state)[seats]]
    for first, last in ((observe.BROKEN, observe.REPAIR), (observe.REPAIR, observe.MAP)):
        done = observe.card_counts(env, state, first, last, on_seats=True)[seats][:, seats] / 3
        rows.append(jnp.stack([done[0], done[:, 0], done.sum(0), done.sum(1)], axis=-1))
    return jnp.concatenate(rows, axis=-1).astype(jnp.float32)


def facts(env: SaboteurEnv, state: State, seat: chex.Array) -> chex.Array:
    """float32[fact]: pile, skips, own role, round, goals, and which cards the player has accounted for."""
    known = observe.known_goals(env, state, seat)
    is_gold = known & (state.goals[state.round] == observe.GOLD)
    accounted = observe.type_counts(state, observe.known_places(env, state, seat)) / COPIES[env.rules.deck]
    parts = [
        ((env.num_cards - state.drawn) / env.num_cards)[None],
        (state.skips / env.num_players)[None],
        state.roles[state.round, seat][None],
        jnp.arange(observe.MAX_ROUNDS) == state.round,
        known,
        is_gold,
        accounted,
    ]
    return jnp.concatenate([part.astype(jnp.float32) for part in parts])


def make(env: SaboteurEnv, version: str | None = None, **fields: Any) -> Model:
    """A pointer network for either variant of Saboteur."""
    if env.id != "saboteur" or version not in (None, env.observation_versions[0]):
        raise UserError(f"networks: pointer reads the points of saboteur, got {env.id} {version or ''}")
    return PointerModel(env, Pointer(env.variant == "full", **fields), env.observation_versions[0])
