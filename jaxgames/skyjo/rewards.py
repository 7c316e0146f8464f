"""Who wins, and what a step pays (section 8 of the rules page)."""

import chex
import jax.numpy as jnp

from jaxgames.skyjo.options import Rules
from jaxgames.skyjo.state import State, round_is_over

WORST_ROUND = 284  # ten twelves and two elevens, doubled


def winners(rules: Rules, scores: chex.Array) -> chex.Array:
    """bool[seat], lowest score wins (SJ-35)."""
    lowest = scores == scores.min()
    if rules.shared_wins:
        return lowest
    return jnp.arange(rules.num_players) == jnp.argmax(lowest)


def game_winners(rules: Rules, state: State) -> chex.Array:
    """bool[seat], all False unless the game was played to its end (SJ-36, SJ-37)."""
    return winners(rules, state.scores) & state.terminated & round_is_over(state)


def round_rewards(rules: Rules, scores: chex.Array, round_scores: chex.Array, ends: chex.Array) -> chex.Array:
    """float32[seat] of the step that ends a round; `ends` says whether it also ends the game."""
    going_on = jnp.zeros(rules.num_players, jnp.float32)
    if rules.reward_mode in ("mixed", "round_score"):
        going_on = -round_scores.astype(jnp.float32)
    if rules.reward_mode == "round_score":
        return going_on
    if rules.reward_mode == "score_margin":
        own = scores.astype(jnp.float32)
        final = ((own.sum() - own) / (rules.num_players - 1) - own) / rules.score_limit
    else:
        final = jnp.where(winners(rules, scores), 1.0, -1.0)
    return jnp.where(ends, final, going_on)


def illegal_penalty(rules: Rules) -> float:
    """What an illegal action costs: never less than the worst that could have come of a legal one (SJ-36)."""
    if rules.reward_mode == "win_loss":
        return 1.0
    if rules.reward_mode == "score_margin":
        return (rules.score_limit + WORST_ROUND) / rules.score_limit
    return float(WORST_ROUND)
