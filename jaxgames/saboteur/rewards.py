"""What a step pays (SB-43 to SB-48), read off the states before and after it."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.saboteur.cards import GOLD
from jaxgames.saboteur.cells import FAR, goal_distances
from jaxgames.saboteur.mine import frontier, turned_goals
from jaxgames.saboteur.state import MINERS, UNDECIDED, State

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv

MAX_DISTANCE = 8


def payment(env: "SaboteurEnv", before: State, action: chex.Array, after: State) -> chex.Array:
    """float32[seat], paid by the step from `before` to `after`."""
    del action  # everything that pays can be seen on the table
    pay = {"seed": _seed, "gold": _gold, "team": _team, "win": _win}[env.rules.reward]
    return pay(env, before, after).astype(jnp.float32)


def illegal_penalty(env: "SaboteurEnv") -> float:
    """SB-48."""
    rounds = env.rules.rounds
    return float({"seed": 20, "gold": 6 * rounds, "team": rounds, "win": 1}[env.rules.reward])


def scores(env: "SaboteurEnv", state: State) -> chex.Array:
    """SB-47: float32[seat], nuggets; in `paths` the final rewards."""
    points = state.nuggets if env.variant == "full" else finish_rewards(env, state)
    return points.astype(jnp.float32)


def winners(env: "SaboteurEnv", state: State) -> chex.Array:
    """bool[seat]. Full: the most nuggets after the last round, ties share the win (SB-37).

    Paths: the first of the final ranking, who reached the gold or with `rank_from="seat"` sits first (SB-43); nobody
    where the gold was not reached. Where `final_reward_winner` makes the ranks equal, they share the win.
    """
    points = scores(env, state)
    is_decided = state.winners[-1] != UNDECIDED if env.variant == "full" else found_gold(env, state)
    return (points == points.max()) & is_decided


def found_gold(env: "SaboteurEnv", state: State) -> chex.Array:
    """bool[], does the gold of this round lie face up?"""
    return (turned_goals(env.cells, state) & (state.goals[state.round] == GOLD)).any()


def finish_rewards(env: "SaboteurEnv", state: State) -> chex.Array:
    """SB-43: float32[seat], the ranking once the gold is reached; the finisher is still the current player."""
    seats = jnp.arange(env.num_players)
    rank = (seats - state.current_player) % env.num_players if env.rank_from == "finisher" else seats
    return jnp.where(found_gold(env, state), jnp.maximum(1.0, env.final_reward_winner - rank), 0.0)


def _seed(env, before, after):
    final = finish_rewards(env, after)
    if env.dist_reward_scale == 0.0:
        return final
    was, now = digging_distance(env, before), digging_distance(env, after)
    closer = (was - now) * env.dist_reward_scale / jnp.maximum(now, 1)  # a skip moves nothing
    is_actor = jnp.arange(env.num_players) == before.current_player
    return jnp.where(after.terminated, final, jnp.where(is_actor, closer, 0.0))


def digging_distance(env: "SaboteurEnv", state: State) -> chex.Array:
    """SB-43: int32[], D, at most 8; 0 without a frontier or a face-down goal."""
    face_down = ~turned_goals(env.cells, state)
    nearest = jnp.where(face_down, goal_distances(env.cells, frontier(env.cells, state)), FAR).min()
    return jnp.where(nearest == FAR, 0, jnp.minimum(nearest, MAX_DISTANCE))


def _gold(env, before, after):
    return after.nuggets - before.nuggets


def _team(env, before, after):
    winner = after.winners[before.round]  # of the round that was being played
    is_saboteur = before.roles[before.round, : env.num_players]
    has_won = is_saboteur != (winner == MINERS)
    return jnp.where(winner == UNDECIDED, 0, jnp.where(has_won, 1, -1))


def _win(env, before, after):
    most = after.nuggets == after.nuggets.max()
    return jnp.where(after.terminated & ~most.all(), jnp.where(most, 1, -1), 0)
