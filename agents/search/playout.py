"""Playing a world on: how far, by whom, and what it is worth to every seat."""

from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from jaxgames import Env, State, pick
from jaxgames.env import StateT
from jaxgames.options import UserError
from jaxgames.saboteur import SaboteurEnv
from jaxgames.saboteur.state import SABOTEURS
from jaxgames.skullking import SkullKingEnv

Payoff = Callable[[State, State], chex.Array]  # (root, end) -> float32[seat]
Choose = Callable[[State, chex.PRNGKey, chex.Array], chex.Array]  # (state, key of the playout, number of the turn)

# What counts as one stretch of play. Beyond it lie deals that nobody can know, and that decide nothing now.
STRETCH = {"skullking": "round", "skyjo": "round_index", "saboteur": "round", "magictrick": "hand_index"}  # its number

SWING = 20.0  # points of Skull King: a seat's round of c cards has a standard deviation of about 14 sqrt(c)


def is_over(env: Env, root: State, state: State) -> chex.Array:
    """bool[]: the game has ended, or the round in which `root` lies."""
    stretch = STRETCH.get(env.id)
    return state.done if stretch is None else state.done | (getattr(state, stretch) != getattr(root, stretch))


def points(env: Env) -> Payoff:
    """What a stretch of play is worth: the game's own points gained in it, less the others' mean. Schafkopf pays.

    In the paths of Saboteur all dig for the same gold, and what it brings the others is not taken off.
    """
    if env.id == "schafkopf":
        return lambda root, end: env.rooms.rewards.payment(env, end, jnp.int32(0), end)
    sign = -1.0 if env.id == "skyjo" else 1.0
    is_shared = isinstance(env, SaboteurEnv) and env.variant == "paths"

    def gained(root, end):
        own = sign * (env.scores(end).astype(jnp.float32) - env.scores(root).astype(jnp.float32))
        return own if is_shared else own - (own.sum() - own) / max(1, env.num_players - 1)

    return gained


def wins(env: Env) -> Payoff:
    """What a stretch of play is worth to those who want to win: the share of the win that is to be expected after it.

    Skull King: while rounds are left, the difference of two seats will still change by about `SWING` times the root of
    the cards that each will be dealt. Saboteur: a round is won or lost by all who share a role.
    """
    if isinstance(env, SaboteurEnv) and env.variant == "full":
        return lambda root, end: wins_of_roles(env, root, end)
    if not isinstance(env, SkullKingEnv):
        raise UserError(
            f"{env.id}: aim=wins needs rounds that are won (saboteur) or a known number of them (skullking)"
        )
    cards_left = np.append(np.cumsum(env.hand_sizes[::-1])[::-1], 0)  # [round], with this round

    def expected(root, end):
        scores = env.scores(end).astype(jnp.float32)
        lead = scores[:, None] - scores[None, :]
        swing = SWING * jnp.sqrt(jnp.asarray(cards_left, jnp.float32)[end.round])
        ahead = jnp.where(jnp.eye(env.num_players, dtype=bool), 1.0, norm.cdf(lead / jnp.maximum(swing, 1)))
        winners = env.winners(end)
        return jnp.where(end.done, winners / jnp.maximum(winners.sum(), 1), ahead.prod(axis=-1))

    return expected


def wins_of_roles(env: SaboteurEnv, root: Any, end: Any) -> chex.Array:
    """float32[seat]: 1 where the role of the seat has won the round of `root`, whoever took the gold."""
    saboteurs_won = end.winners[root.round] == SABOTEURS
    return (root.roles[root.round, : env.num_players] == saboteurs_won).astype(jnp.float32)


def step(env: Env, state: StateT, action: chex.Array) -> StateT:
    """`env.step` for an action that is known to be legal, without asking again and without paying for it."""
    return env.rooms.rules.play(env, state, action).replace(step_count=state.step_count + 1)


def play_on(env: Env, choose: Choose, root: StateT, state: StateT, key: chex.PRNGKey) -> StateT:
    """The state in which the stretch of `root` is over, `choose` deciding for every seat until then."""

    def turn(carry):
        number, state = carry
        return number + 1, step(env, state, choose(state, key, number))

    start = (jnp.uint32(0), state)
    return jax.lax.while_loop(lambda carry: ~is_over(env, root, carry[1]), turn, start)[1]


def play_on_at(
    env: Env, player: chex.Array, own: Choose, others: Choose, root: StateT, state: StateT, key: chex.PRNGKey
) -> StateT:
    """As `play_on`, `own` deciding for the player and its side (`side_of`) and `others` for everybody else.

    Worlds wait for each other until all are at the player's turn, so that a network in one seat is asked once a turn.
    """
    is_own = side_of(env, root, player)

    def is_theirs(carry):
        _, state = carry
        return ~is_over(env, root, state) & ~is_own[state.current_player]

    def their_turn(carry):
        number, state = carry
        return number + 1, step(env, state, others(state, key, number))

    def turns(carry):
        number, state = jax.lax.while_loop(is_theirs, their_turn, carry)
        mine = step(env, state, own(state, key, number))
        return number + 1, pick(is_over(env, root, state), state, mine)

    start = (jnp.uint32(0), state)
    return jax.lax.while_loop(lambda carry: ~is_over(env, root, carry[1]), turns, start)[1]


def side_of(env: Env, root: Any, player: chex.Array) -> chex.Array:
    """bool[seat]: who is no rival of the player in the world `root`: itself, in Saboteur all of its role."""
    if isinstance(env, SaboteurEnv) and env.variant == "full":
        roles = root.roles[root.round, : env.num_players]
        return roles == roles[player]
    return jnp.arange(env.num_players) == player


def random_choice(env: Env) -> Choose:
    """Uniform over the legal actions."""
    return lambda state, key, number: env.random_action(state, random_word(key, number))


def agent_choice(agent: Callable[[chex.PRNGKey, State, chex.Array], chex.Array]) -> Choose:
    """As an agent decides."""
    return lambda state, key, number: agent(jax.random.fold_in(key, number), state, state.current_player)


def random_word(key: chex.PRNGKey, number: chex.Array) -> chex.Array:
    """uint32[], the `number`-th random word of a key.

    A hash of both with good avalanche. JAX's own generator would take longer than a move does, and a search draws
    millions of words of which none is kept.
    """
    word = jax.random.key_data(key).sum(dtype=jnp.uint32) + number.astype(jnp.uint32) * jnp.uint32(0x9E3779B9)
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)
