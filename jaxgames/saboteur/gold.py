"""The end of a round: who won it, and the nuggets (SB-33 to SB-38)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp
import numpy as np

from jaxgames.saboteur.state import MINERS, SABOTEURS, State

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv

# SB-35: nuggets for each saboteur, by the number of saboteurs among the players.
SABOTEUR_PAY = np.array([0, 4, 3, 3, 2], np.int8)


def settle(env: "SaboteurEnv", state: State, found_gold: chex.Array, *, when: chex.Array) -> State:
    """The round is over: nuggets go to the side that won it."""
    is_saboteur = state.roles[state.round, : env.num_players]
    shares, num_drawn = miner_shares(env, state, is_saboteur)
    pay = jnp.where(is_saboteur, jnp.asarray(SABOTEUR_PAY)[is_saboteur.sum()], 0)
    won = jnp.where(found_gold, shares, pay)
    this_round = jnp.arange(env.rules.rounds) == state.round
    winner = jnp.where(found_gold, MINERS, SABOTEURS)
    return state.replace(
        nuggets=jnp.where(when, state.nuggets + won, state.nuggets).astype(jnp.int8),
        gold_drawn=jnp.where(when & found_gold, state.gold_drawn + num_drawn, state.gold_drawn).astype(jnp.int8),
        winners=jnp.where(when & this_round, winner, state.winners).astype(jnp.int8),
    )


def miner_shares(env: "SaboteurEnv", state: State, is_saboteur: chex.Array) -> tuple[chex.Array, chex.Array]:
    """SB-34, SB-38: nuggets of every seat, int32[seat], and the number of gold cards drawn, int32[].

    Cards go round counter-clockwise from the finder, the most valuable first: the k-th best card goes to the
    miner with rank k mod (number of eligible miners).
    """
    n = env.num_players
    eligible = ~is_saboteur
    if not env.sabotaged_get_gold:
        eligible &= ~state.broken.any(-1)
    num_eligible = eligible.sum()
    num_drawn = jnp.where(num_eligible > 0, env.gold_per_round, 0)

    place = jnp.arange(state.gold.shape[0]) - state.gold_drawn
    is_drawn = (place >= 0) & (place < num_drawn)
    num_threes, num_twos = (is_drawn & (state.gold == 3)).sum(), (is_drawn & (state.gold == 2)).sum()
    k = jnp.arange(env.gold_per_round)
    best_first = 1 + (k < num_threes + num_twos) + (k < num_threes)
    best_first = jnp.where(k < num_drawn, best_first, 0)

    seats = jnp.arange(n)
    turn = (state.current_player - seats) % n  # 0 for the finder, 1 for his right neighbour ...
    rank = (eligible & (turn < turn[:, None])).sum(-1)
    is_mine = k % jnp.maximum(num_eligible, 1) == rank[:, None]
    return jnp.where(eligible, (is_mine * best_first).sum(-1), 0), num_drawn
