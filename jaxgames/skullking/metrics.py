"""How well abilities are used (section 13), counted along a game."""

from typing import TYPE_CHECKING, Any, NamedTuple

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
    _, events = rules.step(env, before, jnp.clip(action, 0, env.num_actions - 1))
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


def watch(env: "SkullKingEnv") -> tuple[Counts, Any]:
    """(start, update) as `train.matches.play` takes it."""
    return start(env), lambda counts, before, action, after: update(env, counts, before, action)


def rates(counts: Any) -> dict[str, float]:
    """The metrics of section 13 from counts summed over games and seats; nan where nothing was counted."""
    total = {name: float(np.sum(value)) for name, value in counts._asdict().items()}

    def share(part: float, whole: float) -> float:
        return part / whole if whole else float("nan")

    return {
        "rosie_strategic_rate": share(total["rosie_strategic"], total["rosie"]),
        "rosie_self_win_rate": share(total["rosie_self_won"], total["rosie_self"]),
        "bendt_discard_quality": share(total["bendt_terms"] / 0.2, total["bendt"]),
        "roatan_bet_accuracy": share(total["roatan_hit"], total["roatan"]),
        "harry_save_rate": share(total["harry_saved"], total["harry_changed"]),
        "harry_savable_rate": share(total["harry_saved"], total["harry_savable"]),
    }
