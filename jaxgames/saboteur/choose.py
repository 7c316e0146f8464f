"""Choosing an action without the flat mask: at random, or by a card and a point of the plane (SB-51)."""

from typing import TYPE_CHECKING

import chex
import jax.numpy as jnp

from jaxgames.cards import kth_member, pack
from jaxgames.saboteur.cards import MAP, MAX_HAND, NO_CARD, NUM_TOOLS, ROCKFALL
from jaxgames.saboteur.cells import count, is_empty, kth, unpack
from jaxgames.saboteur.mine import Ground, num_fitting, survey
from jaxgames.saboteur.rules import held, legal_factors, may_skip, open_sides, playable_cells, playable_tools
from jaxgames.saboteur.state import State

if TYPE_CHECKING:
    from jaxgames.saboteur.env import SaboteurEnv


def random_action(env: "SaboteurEnv", state: State, word: chex.Array) -> chex.Array:
    """A uniform legal action, int32[], from one random uint32 word; some action after the end.

    Counting every slot and orientation first leaves a single set of cells to search.
    """
    grid = env.cells
    kinds = held(state, state.current_player)
    ground = survey(grid, state)
    num_cells = num_playable(env, state, ground, kinds).ravel()
    if env.variant == "paths":
        others = may_skip(env, num_cells.sum() == 0).astype(jnp.uint32)[None]
    else:
        others = jnp.append(playable_tools(env, state, kinds), pack(kinds != NO_CARD))
    counts = jnp.append(num_cells, count(others))
    ends = jnp.cumsum(counts)
    uniform = (word >> 8).astype(jnp.float32) * jnp.float32(2**-24)
    k = jnp.floor(uniform * ends[-1].astype(jnp.float32)).astype(jnp.int32)
    k = jnp.minimum(k, ends[-1] - 1)  # after the end there may be nothing to choose from

    group = (ends <= k).sum()
    k -= jnp.where(jnp.arange(counts.shape[0]) == group, ends - counts, 0).sum()
    on_board = group < 2 * MAX_HAND
    slot, orientation = jnp.where(on_board, group // 2, 0), group % 2
    cell = kth(grid, playable_cells(env, state, ground, kinds[slot], orientation == 1), k)
    row, bit = divmod(kth_member(others, k), 32)  # a row for the tools of each slot, one for the discards
    other = env.first_tool_action + row * NUM_TOOLS * env.num_players + bit
    return jnp.where(on_board, (slot * grid.size + cell) * 2 + orientation, other).astype(jnp.int32)


def num_playable(env: "SaboteurEnv", state: State, ground: Ground, kinds: chex.Array) -> chex.Array:
    """int32[slot, orientation], how many cells `playable_cells` has for every card of a hand."""
    is_turned = jnp.array([False, True])
    sides = open_sides(kinds[:, None], is_turned)
    number = (sides * jnp.array([8, 4, 2, 1])).sum(-1)  # 0 for all but path cards: that fits nowhere
    can_dig = ~state.broken[state.current_player].any()  # SB-30
    num_cells = jnp.where(can_dig, num_fitting(ground)[number], 0)
    if env.variant == "full":
        upright = ~is_turned
        num_cells += jnp.where((kinds == MAP)[:, None] & upright, count(ground.face_down), 0)
        num_cells += jnp.where((kinds == ROCKFALL)[:, None] & upright, count(ground.loose), 0)
    return num_cells


def snap(env: "SaboteurEnv", state: State, wish: chex.Array, fallback: str) -> chex.Array:
    """SB-51: the legal action nearest to `wish` = (card, x, y, orientation, target), int32[]."""
    card, x, y, orientation, target = wish
    card, target = jnp.asarray(card, jnp.int32), jnp.asarray(target, jnp.int32)
    orientation = jnp.asarray(orientation != 0, jnp.int32)
    legal = legal_factors(env, state)
    has_cell = ~is_empty(legal.cells)  # [slot, orientation]
    has_tool = legal.tools.any((1, 2))
    can_play = has_cell | has_tool[:, None]

    is_slot = (card >= 0) & (card < MAX_HAND)
    first = jnp.where(is_slot, card, 0)
    # The wish itself, then slot by slot from there, each in the wished orientation first.
    slots = (first + jnp.repeat(jnp.arange(MAX_HAND), 2)) % MAX_HAND
    orientations = (orientation + jnp.tile(jnp.arange(2), MAX_HAND)) % 2
    tries_others = fallback == "another" or (env.variant == "paths" and env.skip_rule == "stuck")
    may_try = jnp.full(2 * MAX_HAND, tries_others).at[0].set(is_slot | tries_others)
    possible = can_play[slots, orientations] & may_try
    choice = jnp.argmax(possible)
    slot, turned = slots[choice], orientations[choice]

    cells = legal.cells[slot, turned]
    board = (slot * env.cells.size + nearest_cell(env, cells, x, y)) * 2 + turned
    tool = env.first_tool_action + slot * NUM_TOOLS * env.num_players + first_tool(env, legal.tools[slot], target)
    played = jnp.where(has_cell[slot, turned], board, tool)
    if env.variant == "paths":
        passes = legal.skip & (card == MAX_HAND)
        return jnp.where(possible.any() & ~passes, played, env.first_tool_action).astype(jnp.int32)
    discard = env.first_discard + jnp.where(legal.discards[first] & is_slot, first, 0)
    return jnp.where(possible.any() & (target != env.num_players), played, discard).astype(jnp.int32)


def nearest_cell(env: "SaboteurEnv", cells: chex.Array, x: chex.Array, y: chex.Array) -> chex.Array:
    """int32[], the cell of the set nearest to the point, ties to the smallest id. Distances are whole 64ths."""
    grid = env.cells
    x, y = (jnp.clip(jnp.nan_to_num(jnp.asarray(v, jnp.float32), nan=0.0), -10, 10) for v in (x, y))
    x, y = jnp.round(64 * x).astype(jnp.int32), jnp.round(64 * y).astype(jnp.int32)
    columns = (64 * (jnp.arange(grid.columns) + grid.xmin) - x) ** 2
    rows = (64 * (jnp.arange(grid.rows) + grid.ymin) - y) ** 2
    far = jnp.iinfo(jnp.int32).max
    return jnp.argmin(jnp.where(unpack(grid, cells), (columns[:, None] + rows).ravel(), far)).astype(jnp.int32)


def first_tool(env: "SaboteurEnv", tools: chex.Array, target: chex.Array) -> chex.Array:
    """int32[], tool * num_players + seat: the first seat from `target` on with a legal tool, its lowest tool."""
    n = env.num_players
    seats = (target + jnp.arange(n)) % n
    seat = seats[jnp.argmax(tools.any(0)[seats])]
    return jnp.argmax(tools[:, seat]) * n + seat
