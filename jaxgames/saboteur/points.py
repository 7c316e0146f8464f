"""The few cells that a turn can be about, for policies that point at a cell instead of scoring all of them.

Of 2,070 cells at most 24 can be built on, 3 can be looked at and 40 can fall: these are the *points* of a state, each
with features of its surroundings. A *choice* is an action (SB-19) with the number of a point in place of a cell id.
With five players there are 900 choices for 24,936 actions, with the same legal ones.

>>> points = find_points(env, state, player)            # what the policy looks at
>>> choice = policy(points, hand_cards(env, state, player), legal_choices(env, state, points))
>>> state = env.step(state, action_of(env, points, choice))
"""

from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.saboteur.cards import (
    COPIES,
    GOLD,
    MAP,
    MAX_HAND,
    NO_CARD,
    NUM_CONNECTED,
    NUM_GOALS,
    NUM_PATH_CARDS,
    NUM_PATHS,
    NUM_SIDES,
    NUM_TYPES,
    OPEN,
    OPPOSITE,
    ROCKFALL,
    STEP_X,
    STEP_Y,
)
from jaxgames.saboteur.cells import Grid, beside, count, inner, kth, lies_in
from jaxgames.saboteur.mine import survey
from jaxgames.saboteur.observe import known_goals
from jaxgames.saboteur.rules import decode, held, may_skip, open_sides, tool_targets
from jaxgames.saboteur.state import State

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv

# The joined cards hang together: a further card takes up one open end of the mine and brings all its sides but one.
# So the start has four ends, each crossing adds two, each fork one, and stones, straights and bends none: 24 at most.
MAX_FRONTIER = NUM_SIDES + int((COPIES["official"][:NUM_CONNECTED] * (OPEN[:NUM_CONNECTED, 0].sum(-1) - 2)).sum())
MAX_LOOSE = NUM_PATH_CARDS
NUM_POINT_FEATURES = 50
NUM_CARD_FEATURES = 17
SCALE = 0.1  # brings coordinates and distances to the size of the other features


class Points(NamedTuple):
    """The cells that board actions can name. Full: frontier cells, the three goals, cards that can fall. Paths: the
    frontier alone. Frontier and cards in ascending cell id; what does not exist is padding with a cell in range."""

    cell: jax.Array  # int32[point]  cell id
    exists: jax.Array  # bool[point]  a frontier cell, a face-down goal, a card that can fall
    is_open: jax.Array  # bool[point, side]  the neighbour across that side is open towards the cell
    is_wall: jax.Array  # bool[point, side]  the neighbour across that side shows it a wall
    features: jax.Array  # float32[point, feature]  as `player` knows them, zeros for padding


def num_points(env: "SaboteurEnv") -> int:
    """Size of the axis `point`."""
    return MAX_FRONTIER + (NUM_GOALS + MAX_LOOSE if env.variant == "full" else 0)


def num_choices(env: "SaboteurEnv") -> int:
    """Size of the axis `choice`: as many as actions, with points for cells."""
    return env.num_actions - env.first_tool_action + _first_tool_choice(env)


def _first_tool_choice(env: "SaboteurEnv") -> int:
    """Choices on the board end here, as actions do at `first_tool_action`."""
    return 2 * MAX_HAND * num_points(env)


def find_points(env: "SaboteurEnv", state: State, player: chex.Numeric) -> Points:
    """The points of a state, told from what `player` knows of the goals.

    Features: kind (3: frontier, goal, card), own card (6: open sides, joins its sides, joined to the start), then for
    each side six bits of what lies across it (path of a joined card, another open side, a wall, a face-down goal that
    may be gold, is known gold, is known stone), x and y, and for each goal five numbers (dx, dy, distance, chance of
    gold, lies face down).
    """
    grid, player = env.cells, jnp.asarray(player, jnp.int32)
    ground = survey(grid, state)
    blocks = [_listed(grid, ground.frontier, MAX_FRONTIER)]
    face_down = lies_in(grid, ground.face_down, grid.goal_ids)
    if env.variant == "full":
        blocks += [(jnp.asarray(grid.goal_ids), face_down), _listed(grid, ground.loose, MAX_LOOSE)]
    cell, exists = (jnp.concatenate(parts) for parts in zip(*blocks, strict=True))
    kind = np.repeat(np.eye(3, dtype=bool)[: len(blocks)], [len(ids) for ids, _ in blocks], axis=0)

    paths = jnp.stack([beside(grid, side, state.joined & state.open[OPPOSITE[side]]) for side in range(NUM_SIDES)])
    own = jnp.concatenate([state.open, state.through[None], state.joined[None]])
    next_to_open, next_to_wall = (~jnp.stack(admitted) for admitted in zip(*ground.admits, strict=True))
    planes = jnp.concatenate([inner(grid, own), paths, next_to_open, next_to_wall])
    column, row = cell // grid.rows, cell % grid.rows
    own, is_path, is_open, is_wall = jnp.split(lies_in(grid, planes, cell).T, (6, 10, 14), axis=-1)

    is_known = known_goals(env, state, player)
    is_gold = is_known & (state.goals[state.round] == GOLD)
    guesses = face_down[:, None] & jnp.stack([~is_known, is_gold, is_known & ~is_gold], axis=-1)  # [goal, guess]
    goal_column, goal_row = np.array(grid.goal_cells, np.int32).T
    is_across = (column[:, None, None] + STEP_X[:, None] == goal_column) & (
        row[:, None, None] + STEP_Y[:, None] == goal_row
    )  # [point, side, goal]
    across = (is_across[..., None] & guesses).any(-2)  # [point, side, guess]
    around = jnp.concatenate([jnp.stack([is_path, is_open & ~is_path, is_wall], axis=-1), across], axis=-1)

    chance = jnp.where(is_gold.any(), is_gold, ~is_known / jnp.maximum((~is_known).sum(dtype=jnp.int32), 1))
    dx, dy = goal_column - column[:, None], goal_row - row[:, None]  # [point, goal]
    way = jnp.stack([dx, dy, jnp.abs(dx) + jnp.abs(dy)], axis=-1) * jnp.float32(SCALE)
    hope = jnp.broadcast_to(jnp.stack([chance, face_down], axis=-1), (*dx.shape, 2))
    place = jnp.stack([column + grid.xmin, row + grid.ymin], axis=-1) * jnp.float32(SCALE)

    parts = (kind, own, around, place, jnp.concatenate([way, hope], axis=-1))
    features = jnp.concatenate([jnp.asarray(part, jnp.float32).reshape(len(cell), -1) for part in parts], axis=-1)
    return Points(cell, exists, is_open, is_wall, jnp.where(exists[:, None], features, 0.0))


def _listed(grid: Grid, cells: chex.Array, most: int) -> tuple[chex.Array, chex.Array]:
    """The ids of a set of cells in ascending order, int32[most], and which of them are not padding."""
    order = jnp.arange(most, dtype=jnp.int32)
    return jax.vmap(lambda k: kth(grid, cells, k))(order), order < count(cells)


def hand_cards(env: "SaboteurEnv", state: State, player: chex.Numeric) -> chex.Array:
    """float32[slot, orientation, 17], what each card would bring: open sides as it would lie, joins its sides, is a
    path card, and the kind of an action card one-hot (upright alone)."""
    kinds = held(state, jnp.asarray(player, jnp.int32))[:, None]
    is_turned = jnp.array([False, True])
    is_path = jnp.broadcast_to((kinds >= 0) & (kinds < NUM_PATHS), (MAX_HAND, 2))
    sides = open_sides(kinds, is_turned)
    is_action = (kinds[..., None] == jnp.arange(NUM_PATHS, NUM_TYPES)) & ~is_turned[:, None]
    parts = [sides, (is_path & (kinds < NUM_CONNECTED))[..., None], is_path[..., None], is_action]
    return jnp.concatenate(parts, axis=-1).astype(jnp.float32)


def legal_choices(env: "SaboteurEnv", state: State, points: Points) -> chex.Array:
    """bool[choice] for the player to move (SB-20); all True after the end, as in the mask of actions."""
    kinds = held(state, state.current_player)
    is_path = (kinds >= 0) & (kinds < NUM_PATHS) & ~state.broken[state.current_player].any()  # SB-30
    sides = open_sides(kinds[:, None], jnp.array([False, True]))  # [slot, orientation, side]
    wall, opening = points.is_wall[:MAX_FRONTIER, None], points.is_open[:MAX_FRONTIER, None]
    fits = ~jnp.where(sides[:, None], wall, opening).any(-1)  # SB-22: [slot, point, orientation]
    board = [is_path[:, None, None] & fits]
    if env.variant == "full":
        upright = jnp.array([True, False])
        board += [
            jnp.broadcast_to((kinds == kind)[:, None, None] & upright, (MAX_HAND, most, 2))
            for kind, most in ((MAP, NUM_GOALS), (ROCKFALL, MAX_LOOSE))
        ]
    on_board = jnp.concatenate(board, axis=1) & points.exists[:, None]
    if env.variant == "full":
        rest = [tool_targets(env, state, kinds).ravel(), kinds != NO_CARD]
    else:
        rest = [may_skip(env, ~on_board.any())[None]]
    return jnp.concatenate([on_board.ravel(), *rest]) | state.done


def action_of(env: "SaboteurEnv", points: Points, choice: chex.Numeric) -> chex.Array:
    """int32[], the action that a choice stands for; always in range."""
    choice = jnp.asarray(choice, jnp.int32)
    on_board = choice < _first_tool_choice(env)
    slot_and_point, orientation = divmod(jnp.where(on_board, choice, 0), 2)
    slot, point = divmod(slot_and_point, num_points(env))
    board = (slot * env.cells.size + points.cell[point]) * 2 + orientation
    return jnp.where(on_board, board, choice - _first_tool_choice(env) + env.first_tool_action)


def choice_of(env: "SaboteurEnv", points: Points, action: chex.Numeric) -> chex.Array:
    """int32[], the choice that stands for a legal action; for others some choice in range."""
    action = jnp.asarray(action, jnp.int32)
    move = decode(env, action)
    point = jnp.argmax(points.exists & (points.cell == move.cell)).astype(jnp.int32)
    board = (move.slot * num_points(env) + point) * 2 + move.orientation
    return jnp.where(move.on_board, board, action - env.first_tool_action + _first_tool_choice(env))
