"""The moves of a position as a search counts them: few, and in sets of bits.

They are the actions of the game, except in Saboteur: there 900 choices stand for 24,936 actions.
"""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames import Env, State
from jaxgames.cards import choose_member, is_member, pack
from jaxgames.saboteur import SaboteurEnv, points
from jaxgames.saboteur.state import State as SaboteurState

NO_MOVE = -1


class Moves(NamedTuple):
    """What the player to move may do in one state."""

    legal: chex.Array  # uint32[word]  a set of moves
    context: chex.ArrayTree  # what turns a move into an action and back


def moves_of(env: Env, state: State) -> Moves:
    """The legal moves of a running game."""
    if isinstance(env, SaboteurEnv):
        assert isinstance(state, SaboteurState)
        found = points.find_points(env, state, state.current_player)
        return Moves(pack(points.legal_choices(env, state, found)), found)
    # Where the rules have the set at hand, no mask is made and packed again.
    legal_set = getattr(env.rooms.rules, "legal_set", None)
    return Moves(legal_set(env, state) if legal_set else pack(env.legal_action_mask(state)), ())


def draw_action(env: Env, moves: Moves, among: chex.Array, word: chex.Array) -> chex.Array:
    """int32[], the action of a move drawn uniformly from the set `among`, from one random word."""
    move = choose_member(among, word)
    return points.action_of(env, moves.context, move) if isinstance(env, SaboteurEnv) else move


def find_moves(env: Env, moves: Moves, actions: chex.Array) -> chex.Array:
    """int32[n], the moves that these actions int32[n] are in this state, NO_MOVE where an action is not legal."""

    def find(action):
        if isinstance(env, SaboteurEnv):
            move = points.choice_of(env, moves.context, jnp.maximum(action, 0))
            is_same = points.action_of(env, moves.context, move) == action
        else:
            move, is_same = action, jnp.bool_(True)
        return jnp.where(is_same & is_member(moves.legal, move), move, NO_MOVE)

    return jax.vmap(find)(actions)
