"""How well abilities are used (section 13), counted along a game."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.skullking import rules
from jaxgames.skullking.cards import ABILITY_BENDT_2, ABILITY_HARRY, ABILITY_ROSIE, CHANGE, LEAD
from jaxgames.skullking.rewards import discard_terms
from jaxgames.skullking.state import State

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv


class Counts(NamedTuple):
    """Raw counts, each [seat]. A Rosie, Bendt or Harry decision counts when it is made, a bet at scoring."""

    rosie: chex.Array  # int32  decisions
    rosie_strategic: chex.Array  # int32  the user got what it wanted: a trick, or none
    rosie_self: chex.Array  # int32  chose oneself
    rosie_self_won: chex.Array  # int32  and won the next trick
    bendt: chex.Array  # int32  uses
    bendt_terms: chex.Array  # float32  sum of the `seed_ability` discard terms
    roatan: chex.Array  # int32  bets above 0
    roatan_hit: chex.Array  # int32  of them: bid exact
    harry: chex.Array  # int32  decisions
    harry_changed: chex.Array  # int32  with a change
    harry_savable: chex.Array  # int32  off by one before the decision
    harry_saved: chex.Array  # int32  and exact after it


def start(env: "SkullKingEnv") -> Counts:
    """Nothing counted yet."""
    none = np.zeros(env.num_players, np.int32)
    return Counts(*[none] * 12)._replace(bendt_terms=np.zeros(env.num_players, np.float32))


def update(env: "SkullKingEnv", counts: Counts, before: State, action: chex.Array) -> Counts:
    """The counts after one more step; illegal actions and finished games count nothing."""
    action = jnp.asarray(action, jnp.int32)
    counted = env.is_legal(before, action) & ~before.done
    _, events = rules.play_with_events(env, before, jnp.clip(action, 0, env.num_actions - 1))
    seats = jnp.arange(env.num_players)
    mover = (seats == before.current_player) & counted
    wants = before.won < before.bids

    asks_rosie = mover & (before.phase == ABILITY_ROSIE)
    # Until the next trick is over the user has not won it; the count is put right when it does.
    got_trick = (seats == before.rosie_user) & (seats == events.winner) & events.trick_done & counted
    strategic = (asks_rosie & ~wants).astype(jnp.int32) + jnp.where(got_trick, jnp.where(wants, 1, -1), 0)
    throws = mover & (before.phase == ABILITY_BENDT_2)
    scored = events.round_done & counted
    bets = (events.bets > 0) & scored
    exact = events.won == events.final_bids
    asks_harry = mover & (before.phase == ABILITY_HARRY)
    new = Counts(
        rosie=asks_rosie,
        rosie_strategic=strategic,
        rosie_self=asks_rosie & (action == LEAD),
        rosie_self_won=got_trick & (before.leader == before.rosie_user),
        bendt=throws,
        bendt_terms=jnp.where(throws, discard_terms(before, action), 0.0),
        roatan=bets,
        roatan_hit=bets & exact,
        harry=asks_harry,
        harry_changed=asks_harry & (action != CHANGE + 1),
        harry_savable=asks_harry & (jnp.abs(before.won - before.bids) == 1),
        harry_saved=asks_harry & (before.won != before.bids) & exact,
    )
    return Counts(*[total + more for total, more in zip(counts, new, strict=True)])


def watch(env: "SkullKingEnv") -> tuple[Counts, Callable[[Counts, State, chex.Array, State], Counts]]:
    """(start, update) as `train.matches.play` takes it."""
    return start(env), lambda counts, before, action, after: update(env, counts, before, action)


# Each metric is a ratio of two counts; Bendt's is in units of 0.2.
RATIOS = {
    "rosie_strategic_rate": ("rosie_strategic", "rosie", 1.0),
    "rosie_self_win_rate": ("rosie_self_won", "rosie_self", 1.0),
    "bendt_discard_quality": ("bendt_terms", "bendt", 5.0),
    "roatan_bet_accuracy": ("roatan_hit", "roatan", 1.0),
    "harry_save_rate": ("harry_saved", "harry_changed", 1.0),
    "harry_savable_rate": ("harry_saved", "harry_savable", 1.0),
}


def rates(counts: Counts) -> dict[str, float]:
    """The metrics of section 13 over all games and seats in `counts`; nan where nothing was counted."""
    return {name: rate for name, (rate, _) in rates_with_errors(counts).items()}


def rates_with_errors(counts: Counts) -> dict[str, tuple[float, float]]:
    """Each metric with its standard error over the first axis of the counts (independent games or deals)."""
    result = {}
    for name, (part, whole, unit) in RATIOS.items():
        parts, wholes = (by_game(getattr(counts, field)) for field in (part, whole))
        total = wholes.sum()
        if total == 0:
            result[name] = (float("nan"), float("nan"))
            continue
        rate = unit * parts.sum() / total
        # A ratio of sums: its error is that of the mean residual.
        error = np.sqrt(((unit * parts - rate * wholes) ** 2).sum()) / total
        result[name] = (float(rate), float(error))
    return result


def by_game(count: chex.Array) -> np.ndarray:
    """float64[game]: a count summed over everything but its first axis."""
    values = np.asarray(count, np.float64)
    return values.reshape(len(values), -1).sum(-1)
