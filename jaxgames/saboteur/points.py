"""The few cells that a turn can be about, for policies that point at a cell instead of scoring all of them.

Of 2,070 cells at most 24 can be built on, 3 can be looked at and 40 can fall: these are the *points* of a state, each
with features of its surroundings. A *choice* is an action (SB-19) with the number of a point in place of a cell id.
With five players there are 900 choices for 24,936 actions, with the same legal ones.

>>> points = find_points(env, state, player)            # what the policy looks at
>>> choice = policy(points, hand_cards(env, state, player), legal_choices(env, state, points))
>>> state = env.step(state, action_of(env, points, choice))
"""

import functools
from typing import TYPE_CHECKING, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import computed_once
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
from jaxgames.saboteur.cells import Grid, beside, count, inner, lies_in, listed
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
FIRST_ACROSS, FIRST_PLACE = 9, 33  # behind kind and own card; behind what lies across the sides
NUM_ACROSS = 6
SCALE = 0.1  # brings coordinates and distances to the size of the other features
# A feature is a small whole number times its scale: x, y, and of each goal two steps, distance and sixths of a chance.
SCALES = np.array([1] * FIRST_PLACE + [SCALE] * 2 + [SCALE, SCALE, SCALE, 1 / 6, 1] * NUM_GOALS, np.float32)


class Points(NamedTuple):
    """The cells that board actions can name. Full: frontier cells, the three goals, cards that can fall. Paths: the
    frontier alone. Frontier and cards in ascending cell id; what does not exist is padding with a cell in range."""

    cell: jax.Array  # int32[point]  cell id
    exists: jax.Array  # bool[point]  a frontier cell, a face-down goal, a card that can fall
    numbers: jax.Array  # int8[point, feature]  the features as `player` knows them in whole numbers, zeros for padding

    @property
    def features(self) -> jax.Array:
        """float32[point, feature]"""
        return scaled(self.numbers)

    @property
    def is_open(self) -> jax.Array:
        """bool[point, side]  the neighbour across that side is open towards the cell"""
        return self._across[..., 0] | self._across[..., 1]

    @property
    def is_wall(self) -> jax.Array:
        """bool[point, side]  the neighbour across that side shows it a wall"""
        return self._across[..., 2]

    @property
    def _across(self) -> jax.Array:
        """bool[point, side, 6]"""
        return self.numbers[:, FIRST_ACROSS:FIRST_PLACE].reshape(-1, NUM_SIDES, NUM_ACROSS) != 0


def scaled(numbers: chex.Array) -> chex.Array:
    """float32[..., feature], the features that whole numbers stand for."""
    return numbers.astype(jnp.float32) * jnp.asarray(SCALES)


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
    cell, exists = computed_once(tuple(jnp.concatenate(parts) for parts in zip(*blocks, strict=True)))
    kind = np.repeat(np.eye(3, dtype=np.int8)[: len(blocks)], [len(ids) for ids, _ in blocks], axis=0)

    paths = jnp.stack([beside(grid, side, state.joined & state.open[OPPOSITE[side]]) for side in range(NUM_SIDES)])
    own = jnp.concatenate([state.open, state.through[None], state.joined[None]])
    next_to_open, next_to_wall = (~jnp.stack(admitted) for admitted in zip(*ground.admits, strict=True))
    planes = jnp.concatenate([inner(grid, own), paths, next_to_open, next_to_wall])
    own, is_path, is_open, is_wall = jnp.split(lies_in(grid, planes, cell).T, (6, 10, 14), axis=-1)

    is_known = known_goals(env, state, player)
    is_gold = is_known & (state.goals[state.round] == GOLD)
    guess = jnp.where(is_known, jnp.where(is_gold, 2, 4), 1) * face_down  # one of three bits for each goal
    is_across = cell[:, None, None] == jnp.asarray(_cells_beside_goals(grid))  # [point, side, goal]
    across = is_path | (is_open & ~is_path) << 1 | is_wall << 2 | jnp.where(is_across, guess, 0).sum(-1) << 3
    across = computed_once(across)[..., None] >> jnp.arange(NUM_ACROSS) & 1  # [point, side, 6]

    sixths = jnp.where(is_gold.any(), 6 * is_gold, ~is_known * (6 // jnp.maximum((~is_known).sum(dtype=jnp.int32), 1)))
    hope = jnp.pad(jnp.stack([sixths, face_down], axis=-1), ((0, 0), (3, 0)))  # [goal, 5]
    place = jnp.asarray(_place_numbers(grid))[cell] + jnp.pad(hope.ravel(), (2, 0))

    # Held before they are put together: XLA would work all of them out again for each of the features.
    parts = [computed_once(part.reshape(len(cell), -1).astype(jnp.int8)) for part in (own, across, place)]
    numbers = jnp.concatenate([jnp.asarray(kind), *parts], axis=-1)
    return Points(cell, exists, jnp.where(exists[:, None], numbers, jnp.int8(0)))


def _listed(grid: Grid, cells: chex.Array, most: int) -> tuple[chex.Array, chex.Array]:
    """The ids of a set of cells in ascending order, int32[most], and which of them are not padding."""
    return listed(grid, cells, most), jnp.arange(most) < count(cells)


def _cells_beside_goals(grid: Grid) -> np.ndarray:
    """int32[side, goal], the cell from which each goal lies across that side."""
    column, row = np.array(grid.goal_cells, np.int32).T
    return ((column - STEP_X[:, None]) * grid.rows + row - STEP_Y[:, None]).astype(np.int32)


@functools.cache
def _place_numbers(grid: Grid) -> np.ndarray:
    """int8[cell, 17], x and y, and for each goal dx, dy, distance and room for what is known of it."""
    column, row = np.divmod(np.arange(grid.size), grid.rows)
    goal_column, goal_row = np.array(grid.goal_cells).T
    dx, dy = goal_column - column[:, None], goal_row - row[:, None]  # [cell, goal]
    way = np.stack([dx, dy, np.abs(dx) + np.abs(dy), 0 * dx, 0 * dx], axis=-1)
    numbers = [column[:, None] + grid.xmin, row[:, None] + grid.ymin, way.reshape(grid.size, -1)]
    return np.concatenate(numbers, axis=-1).astype(np.int8)


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
    # A bit for each side: [slot, 1, orientation] and [point, 1].
    sides, wall, opening = computed_once(
        tuple(_as_bits(each) for each in (sides[:, None], points.is_wall[:, None], points.is_open[:, None]))
    )
    misfits = sides & wall[:MAX_FRONTIER] | ~sides & opening[:MAX_FRONTIER]  # SB-22: [slot, point, orientation]
    board = [is_path[:, None, None] & (misfits == 0)]
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


def merged(env: "SaboteurEnv", state: State, values: chex.Array) -> chex.Array:
    """float32[choice], with the values of choices that do the same (SB-20) summed up in the first of them.

    Equal cards in different slots do the same, and so do both orientations of a card that looks alike turned.
    """
    kinds = held(state, state.current_player)
    is_first = jnp.argmax(kinds[:, None] == kinds, axis=-1)[:, None] == jnp.arange(MAX_HAND)  # [slot, first like it]
    is_alike = (open_sides(kinds, jnp.array(False)) == open_sides(kinds, jnp.array(True))).all(-1)[:, None, None]
    first_tool = _first_tool_choice(env)
    board = values[:first_tool].reshape(MAX_HAND, -1, 2)
    both = jnp.stack([board.sum(-1), jnp.zeros_like(board[..., 0])], axis=-1)
    parts = [jnp.where(is_alike, both, board)]
    if env.variant == "full":
        tools, discards = jnp.split(values[first_tool:], [env.first_discard - env.first_tool_action])
        parts += [tools.reshape(MAX_HAND, -1), discards[:, None]]
    together = [jnp.einsum("sf,s...->f...", is_first.astype(values.dtype), part).ravel() for part in parts]
    return jnp.concatenate(together if env.variant == "full" else [*together, values[first_tool:]])


def _as_bits(sides: chex.Array) -> chex.Array:
    """int32[...], a set of sides, bool[..., side], as bits of one number."""
    return (sides << jnp.arange(NUM_SIDES)).sum(-1)


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
