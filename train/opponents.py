"""Who sits at the other seats while the learner plays: itself, its past selves, or any agent, drawn for each game."""

from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

import agents
from agents.networks import PolicyValue, masked, sample
from jaxgames import Env
from jaxgames.options import UserError

SELF, PAST = "self", "past"


class Mixture(NamedTuple):
    """Kinds of opponents with the share of games each gets: `self`, `past`, or the spec of an agent."""

    kinds: tuple[str, ...]
    shares: tuple[float, ...]
    early_shares: tuple[float, ...] = ()  # shares before `early_updates` updates, if others
    early_updates: int = 0

    def own_decisions(self, num_players: int) -> float:
        """The largest share of all decisions that the learner makes: every seat against itself, one against others."""
        parts = [1.0 if kind == SELF else 1 / num_players for kind in self.kinds]
        stages = (self.shares, self.early_shares) if self.early_updates else (self.shares,)
        return max(sum(part * share for part, share in zip(parts, stage, strict=True)) for stage in stages)

    def shares_at(self, updates: chex.Array) -> chex.Array:
        """float32[kind] after so many updates: data, so that a change of stage recompiles nothing."""
        shares = jnp.asarray(self.shares, jnp.float32)
        if not self.early_updates:
            return shares
        return jnp.where(updates < self.early_updates, jnp.asarray(self.early_shares, jnp.float32), shares)


SELF_PLAY = Mixture((SELF,), (1.0,))


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
    by_kind = [dict(zip(mixture.kinds, mixture.shares, strict=True)) for mixture in (late, early)]
    shares = [tuple(each.get(kind, 0.0) for kind in kinds) for each in by_kind]
    return Mixture(kinds, *shares, early_updates)


class Lineup(NamedTuple):
    """Who sits where in each game."""

    rival: chex.Array  # int8[env]  kind of the other seats, an index into the mixture
    seat: chex.Array  # int8[env]  the learner's seat against rivals that are not itself


def draw(mixture: Mixture, num_players: int, updates: chex.Array, key: chex.PRNGKey, num_envs: int) -> Lineup:
    """A fresh lineup for every game: the kind by its share, the learner in any seat."""
    kind_key, seat_key = jax.random.split(key)
    ends = jnp.cumsum(mixture.shares_at(updates))[:-1]
    rival = (jax.random.uniform(kind_key, (num_envs, 1)) >= ends).sum(-1).astype(jnp.int8)
    return Lineup(rival, jax.random.randint(seat_key, (num_envs,), 0, num_players, jnp.int8))


def is_learner(mixture: Mixture, lineup: Lineup, player: chex.Array) -> chex.Array:
    """bool[env]: is this player's decision the learner's own?"""
    plays_itself = jnp.isin(lineup.rival, jnp.asarray([i for i, kind in enumerate(mixture.kinds) if kind == SELF]))
    return plays_itself | (lineup.seat == player)


def decide(
    env: Env,
    network: PolicyValue,
    mixture: Mixture,
    lineup: Lineup,
    pool: Any,
    states: Any,
    seen: tuple[chex.Array, chex.Array],
    own: chex.Array,
    key: chex.PRNGKey,
) -> chex.Array:
    """int32[env]: `own` actions where the learner plays itself, the rivals' elsewhere.

    `seen` are the observations and masks of the players to move. Kinds that are not in the mixture cost nothing.
    """
    actions = own
    for i, kind in enumerate(mixture.kinds):
        kind_key = jax.random.fold_in(key, i)
        if kind == SELF:
            continue
        if kind == PAST:
            theirs = past_actions(network, pool, *seen, kind_key)
        else:
            keys = jax.random.split(kind_key, own.shape[0])
            theirs = jax.vmap(agents.make(kind, env))(keys, states, states.current_player)
        actions = jnp.where(lineup.rival == i, theirs.astype(jnp.int32), actions)
    return actions


def past_actions(
    network: PolicyValue, pool: Any, observation: chex.Array, mask: chex.Array, key: chex.PRNGKey
) -> chex.Array:
    """int32[env]: each past self decides for its own share of the games, so the pool costs one forward pass."""
    size = jax.tree.leaves(pool)[0].shape[0]
    dealt_out = observation.reshape(-1, size, observation.shape[-1])
    logits = jax.vmap(lambda params, seen: network.apply(params, seen).logits, (0, 1), 1)(pool, dealt_out)
    return sample(masked(logits.reshape(mask.shape), mask), key)


def make_pool(params: Any, size: int) -> Any:
    """A pool filled with one set of parameters, [pool, ...]."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (size, *leaf.shape)), params)


def remember(pool: Any, params: Any, updates: chex.Array, every: int) -> Any:
    """Every so many updates the present self replaces the oldest past one."""
    size = jax.tree.leaves(pool)[0].shape[0]
    place = (jnp.arange(size) == (updates // every) % size) & (updates % every == 0)
    return jax.tree.map(lambda old, new: jnp.where(place.reshape(-1, *[1] * new.ndim), new, old), pool, params)
