"""Who sits at the other seats while the learner plays: itself, its past selves, or any agent, drawn for each game."""

import math
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

import agents
from agents.basic import Thinker
from agents.networks import Model, Params, decide
from jaxgames import Env, State
from jaxgames.options import UserError
from train.matches import MANY_ACTIONS, PARTS, fill_in

SELF, PAST = "self", "past"


class Mixture(NamedTuple):
    """Kinds of opponents with the share of games each gets: `self`, `past`, or the spec of an agent."""

    kinds: tuple[str, ...]
    shares: tuple[float, ...]
    early_shares: tuple[float, ...] = ()  # shares before `early_updates` updates, if others
    early_updates: int = 0

    @property
    def stages(self) -> tuple[tuple[float, ...], ...]:
        """The shares of every stage of the training."""
        return (self.shares, self.early_shares) if self.early_updates else (self.shares,)

    def own_decisions(self, against_others: float) -> float:
        """The largest share of all decisions that the learner makes: all against itself, so many against others."""
        parts = [1.0 if kind == SELF else against_others for kind in self.kinds]
        return max(sum(part * share for part, share in zip(parts, stage, strict=True)) for stage in self.stages)

    def shares_at(self, updates: chex.Array) -> chex.Array:
        """float32[kind] after so many updates: data, so that a change of stage recompiles nothing."""
        shares = jnp.asarray(self.shares, jnp.float32)
        if not self.early_updates:
            return shares
        return jnp.where(updates < self.early_updates, jnp.asarray(self.early_shares, jnp.float32), shares)

    def lanes(self, kind: int, num_envs: int) -> slice:
        """The games of a batch in which this kind may sit, at any stage (see `sample_lineup`)."""
        starts, ends = [], []
        for stage in self.stages:
            if stage[kind] > 0:
                starts.append(math.floor(sum(stage[:kind]) * num_envs - 1e-3))
                ends.append(math.ceil(sum(stage[: kind + 1]) * num_envs + 1e-3))
        return slice(max(0, min(starts)), min(num_envs, max(ends)))


SELF_PLAY = Mixture((SELF,), (1.0,))


class Sides(NamedTuple):
    """Who plays together. Against others than itself the learner takes every seat of a side, as it does in a match."""

    of: Callable[..., chex.Array]  # int[seat] of a state: equal for seats on one side
    share: float  # of all decisions, what the side that the learner takes makes
    taken: int | None = None  # the side that it always takes; None for that of a seat drawn at random


def parse(texts: tuple[str, ...]) -> Mixture:
    """`("self=0.5", "past=0.3", "rule:hard=0.2")` as a mixture; shares are scaled to sum to one."""
    kinds, shares = [], []
    for text in texts:
        kind, _, share = text.rpartition("=")
        try:
            shares.append(float(share))
        except ValueError:
            shares.append(-1.0)
        if not kind or not 0 < shares[-1] < float("inf"):
            raise UserError(f"opponents: write each as kind=share with a share above 0 (self=1), got {text!r}")
        kinds.append(kind)
    if not kinds or len(set(kinds)) < len(kinds):
        raise UserError(f"opponents: name at least one kind and each only once, got {texts!r}")
    return Mixture(tuple(kinds), tuple(share / sum(shares) for share in shares))


def check(mixture: Mixture, env: Env) -> None:
    """A UserError that names the first kind of opponent that this game does not have."""
    for kind in mixture.kinds:
        if kind not in (SELF, PAST):
            agents.make(kind, env)


def in_stages(early: Mixture, late: Mixture, early_updates: int) -> Mixture:
    """One mixture for some updates, another from then on."""
    kinds = tuple(dict.fromkeys(early.kinds + late.kinds))
    last, first = (dict(zip(mixture.kinds, mixture.shares, strict=True)) for mixture in (late, early))
    shares, early_shares = (tuple(each.get(kind, 0.0) for kind in kinds) for each in (last, first))
    return Mixture(kinds, shares, early_shares, early_updates)


class Lineup(NamedTuple):
    """Who sits where in each game."""

    rival: chex.Array  # int8[env]  kind of the other seats, an index into the mixture
    seat: chex.Array  # int8[env]  the learner's seat against rivals that are not itself, or one of its side


def sample_lineup(mixture: Mixture, num_players: int, updates: chex.Array, key: chex.PRNGKey, num_envs: int) -> Lineup:
    """A fresh lineup for every game: the learner in any seat, the kind by its share.

    The i-th of n games draws its kind from the i-th of n equal parts of all shares. So every kind gets exactly its
    share on average, and sits in neighbouring games only: it need not decide for the others.
    """
    kind_key, seat_key = jax.random.split(key)
    ends = jnp.cumsum(mixture.shares_at(updates))[:-1]
    point = (jnp.arange(num_envs) + jax.random.uniform(kind_key, (num_envs,))) / num_envs
    rival = (point[:, None] >= ends).sum(-1).astype(jnp.int8)
    return Lineup(rival, jax.random.randint(seat_key, (num_envs,), 0, num_players, jnp.int8))


def own_seats(mixture: Mixture, sides: Sides | None, lineup: Lineup, states: State) -> chex.Array:
    """bool[env, seat]: who is the learner? Everybody where it plays itself, else its seat or its whole side."""
    plays_itself = jnp.isin(lineup.rival, jnp.asarray([i for i, kind in enumerate(mixture.kinds) if kind == SELF]))
    seats = jnp.broadcast_to(jnp.arange(states.rewards.shape[-1]), states.rewards.shape)
    side = seats if sides is None else jax.vmap(sides.of)(states)
    own = jnp.take_along_axis(side, lineup.seat[:, None].astype(jnp.int32), axis=-1)
    if sides is not None and sides.taken is not None:
        own = jnp.full_like(own, sides.taken)
    return plays_itself[:, None] | (side == own)


class PastSelves(NamedTuple):
    """Parameters of the learner as it once was."""

    params: Params  # [self, ...]
    updates: chex.Array  # int32[self]  when each was the present one


def rival_actions(
    model: Model,
    mixture: Mixture,
    past: PastSelves,
    lineup: Lineup,
    states: State,
    own: chex.Array,
    is_own: chex.Array,
    key: chex.PRNGKey,
) -> chex.Array:
    """int32[env]: what is played: the learner's `own` actions where it is to move, else those of its rivals.

    A kind decides only for the games in which it may sit; one that costs more than the learner, a search or a bot that
    tries many actions, only for those in which it is to move.
    """
    actions, num_envs = own, own.shape[0]
    for i, kind in enumerate(mixture.kinds):
        if kind == SELF:
            continue
        lanes = mixture.lanes(i, num_envs)
        if kind == PAST:
            lanes = widened(lanes, past.updates.shape[0], num_envs)
        theirs = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], states)
        keys = jax.random.split(jax.random.fold_in(key, i), lanes.stop - lanes.start)
        asks, others = (lineup.rival[lanes] == i) & ~is_own[lanes], actions[lanes]  # two kinds may share a lane
        if kind == PAST:
            chosen = jnp.where(asks, past_actions(model, past, theirs, keys), others)
        else:
            agent, asked = agents.make(kind, model.env), (keys, theirs, theirs.current_player)
            is_dear = isinstance(agent, Thinker) or model.env.num_actions > MANY_ACTIONS
            if is_dear:
                chosen = fill_in(jax.vmap(agent), asks, asked, others, -(-len(keys) // PARTS))
            else:
                chosen = jnp.where(asks, jax.vmap(agent)(*asked).astype(jnp.int32), others)
        actions = actions.at[lanes].set(chosen)
    return actions


def widened(lanes: slice, multiple: int, num_envs: int) -> slice:
    """As few games as possible more, so that their number divides by `multiple`, as `num_envs` does."""
    size = -(-(lanes.stop - lanes.start) // multiple) * multiple
    start = min(lanes.start, num_envs - size)
    return slice(start, start + size)


def past_actions(model: Model, past: PastSelves, states: State, keys: chex.PRNGKey) -> chex.Array:
    """int32[env]: each past self decides for its own part of the games, so all of them cost one forward pass."""
    count = past.updates.shape[0]

    def of_one(params, states, keys):
        return jax.vmap(lambda state, key: decide(model, params, state, state.current_player, key).action)(states, keys)

    dealt_out = jax.tree.map(lambda leaf: leaf.reshape(-1, count, *leaf.shape[1:]), (states, keys))
    return jax.vmap(of_one, (0, 1, 1), 1)(past.params, *dealt_out).ravel()


def first_selves(params: Params, count: int) -> PastSelves:
    """The beginning: all past selves are the present one."""
    copies = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *jnp.shape(leaf))), params)
    return PastSelves(copies, jnp.zeros(count, jnp.int32))


def keep_self(past: PastSelves, params: Params, updates: chex.Array, every: int) -> PastSelves:
    """Every so many updates the present self takes the place of a past one: of the one that is missed least.

    That is the one whose neighbours in time, the present included, are nearest to each other. What remains is spread
    over the whole run.
    """
    order = jnp.argsort(past.updates)
    times = jnp.append(past.updates[order], updates)
    apart = jnp.append(jnp.iinfo(jnp.int32).max, times[2:] - times[:-2])  # the first self is held on to
    place = (jnp.arange(order.size) == order[jnp.argmin(apart)]) & (updates % every == 0)
    kept = jax.tree.map(lambda old, new: jnp.where(place.reshape(-1, *[1] * new.ndim), new, old), past.params, params)
    return PastSelves(kept, jnp.where(place, updates, past.updates))
