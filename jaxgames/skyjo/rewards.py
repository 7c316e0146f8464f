"""Who wins, and what a step pays (section 8 of the rules page)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.skyjo.facts import round_is_over

if TYPE_CHECKING:
    from jaxgames.skyjo.env import SkyjoEnv
    from jaxgames.skyjo.state import State

WORST_ROUND = 284  # ten twelves and two elevens, doubled


def scores(env: "SkyjoEnv", state: "State") -> chex.Array:
    """int16[seat], low is good."""
    return state.scores


def winners(env: "SkyjoEnv", state: "State") -> chex.Array:
    """bool[seat], who won; nobody before the end, nor after an illegal action or a cut (SJ-35 to SJ-37)."""
    return _lowest(env, state.scores) & state.terminated & round_is_over(state)


def payment(env: "SkyjoEnv", before: "State", action: chex.Array, after: "State") -> chex.Array:
    """float32[seat], paid by the step that ends a round; nothing by all others."""
    ends_game = after.terminated
    ends_round = ends_game | (after.round_index > before.round_index)
    paid = round_rewards(env, after.scores, after.round_scores, ends_game)
    return jnp.where(ends_round, paid, jnp.float32(0))


def round_rewards(env: "SkyjoEnv", scores: chex.Array, round_scores: chex.Array, ends: chex.Array) -> chex.Array:
    """float32[seat] of the step that ends a round; `ends` says whether it also ends the game."""
    going_on = jnp.zeros(env.num_players, jnp.float32)
    if env.reward_mode in ("mixed", "round_score"):
        going_on = -round_scores.astype(jnp.float32)
    if env.reward_mode == "round_score":
        return going_on
    if env.reward_mode == "score_margin":
        own = scores.astype(jnp.float32)
        final = ((own.sum() - own) / (env.num_players - 1) - own) / env.score_limit
    else:
        final = jnp.where(_lowest(env, scores), jnp.float32(1), jnp.float32(-1))
    return jnp.where(ends, final, going_on)


def illegal_penalty(env: "SkyjoEnv") -> float:
    """What an illegal action costs: never less than the worst that could have come of a legal one (SJ-36)."""
    if env.reward_mode == "win_loss":
        return 1.0
    if env.reward_mode == "score_margin":
        return (env.score_limit + WORST_ROUND) / env.score_limit
    return float(WORST_ROUND)


def _lowest(env: "SkyjoEnv", scores: chex.Array) -> chex.Array:
    """bool[seat], lowest score wins (SJ-35)."""
    lowest = scores == scores.min()
    if env.tie_rule == "shared":
        return lowest
    return jnp.arange(env.num_players) == jnp.argmax(lowest)
