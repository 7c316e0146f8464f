"""The mine as sets of cells: what is joined to the start, where it can grow, and which cards fit (SB-21, SB-22)."""

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames.cards import first_places
from jaxgames.env import computed_once
from jaxgames.saboteur.cards import BOTTOM, LEFT, NUM_SIDES, OPPOSITE, RIGHT, TOP
from jaxgames.saboteur.cells import Grid, beside, columns_around, in_column, inner, lies_in, one_cell, only
from jaxgames.saboteur.state import State

SEARCHED_AT_ONCE = 16  # one game in so many: about one in thirty needs a search
LEAST_AT_ONCE = 64  # fewer games than this cost no less
COUNT_BITS = 5  # a frontier has at most 24 cells
COUNTS_IN_WORD = 6


class Ground(NamedTuple):
    """What a board demands of the next card, sets without border."""

    frontier: jax.Array  # empty cells next to a path edge of a joined card
    admits: tuple[tuple[jax.Array, jax.Array], ...]  # [side][wall, opening]  cells where a card may show that there
    face_down: jax.Array  # goals not turned yet
    loose: jax.Array  # cards that a rockfall can remove


def survey(grid: Grid, state: State) -> Ground:
    """Everything that legal board actions depend on."""
    return _survey(grid, state.open, state.joined, grid.inside, grid.goals, grid.start)


def survey_column(grid: Grid, state: State, column: chex.Array) -> Ground:
    """The same for one column alone: it depends on nothing but the columns beside it."""
    sets = (state.open, state.joined, grid.inside, grid.goals, grid.start)
    return _survey(grid, *(columns_around(grid, cells, column) for cells in sets))


def _survey(grid, open_, joined, inside, goals, start) -> Ground:
    """Face-down goals demand nothing of a card (SB-22)."""
    taken = any_side(open_)
    reached, admits = jnp.uint32(0), []
    for side in range(NUM_SIDES):
        towards = open_[OPPOSITE[side]]
        reached |= beside(grid, side, joined & towards)  # joined cards have no dead ends
        admits.append((~beside(grid, side, towards), ~beside(grid, side, taken & ~towards)))
    face_up, inside, goals, start = (inner(grid, cells) for cells in (taken, inside, goals, start))
    return Ground(
        frontier=reached & inside & ~face_up & ~goals,
        admits=tuple(admits),
        face_down=goals & ~face_up,
        loose=face_up & ~goals & ~start,
    )


def frontier(grid: Grid, state: State) -> chex.Array:
    """SB-21: the empty cells next to a path edge of a joined card."""
    return survey(grid, state).frontier


def fitting_cells(ground: Ground, sides: chex.Array) -> chex.Array:
    """SB-22: the cells where a card with these open sides, bool[..., side], may be laid."""
    cells = ground.frontier
    for side, (wall, opening) in enumerate(ground.admits):
        cells = cells & jnp.where(sides[..., side, None], opening, wall)
    return cells


def num_fitting(ground: Ground) -> chex.Array:
    """int32[16], on how many cells a card may be laid, by its open sides read as a binary number, TOP first.

    All of them together cost less than the cards of a hand one by one: six counts are summed up in one word.
    """
    counts = [jnp.uint32(0)] * -(-(2**NUM_SIDES) // COUNTS_IN_WORD)
    for number, (top, right, bottom, left) in enumerate(itertools.product(*ground.admits)):
        cells = jax.lax.population_count(ground.frontier & top & right & bottom & left)
        counts[number // COUNTS_IN_WORD] += cells << COUNT_BITS * (number % COUNTS_IN_WORD)
    # Held, because XLA makes vector instructions of a loop over words, but not of a sum with the loop inside.
    sums = jnp.stack([computed_once(count).sum(-1, dtype=jnp.uint32) for count in counts])
    shifts = COUNT_BITS * jnp.arange(COUNTS_IN_WORD, dtype=jnp.uint32)
    return ((sums[:, None] >> shifts) % 2**COUNT_BITS).astype(jnp.int32).ravel()[: 2**NUM_SIDES]


def any_side(open_: chex.Array) -> chex.Array:
    """The cells with a face-up card, from its open sides, [side, ...]: every card has one."""
    return open_[TOP] | open_[RIGHT] | open_[BOTTOM] | open_[LEFT]


def face_up_cells(state: State) -> chex.Array:
    """Start, laid cards and turned goals."""
    return any_side(state.open)


def turned_goals(grid: Grid, state: State) -> chex.Array:
    """bool[goal], which goals lie face up?"""
    return lies_in(grid, face_up_cells(state), grid.goal_ids)


def lay(
    grid: Grid, state: State, cell: chex.Numeric, sides: chex.Array, is_through: chex.Numeric, *, when: chex.Array
) -> State:
    """A card with these open sides, bool[side], lies on a cell of the frontier. Where it `leads_on`, `join` follows."""
    here = one_cell(grid, cell)
    passage = only(when & is_through, here)
    return state.replace(
        open=state.open | only(when & sides, here),
        through=state.through | passage,
        joined=state.joined | passage,
    )


def remove(grid: Grid, state: State, cell: chex.Array, *, when: chex.Array) -> State:
    """SB-32: the card on the cell leaves. If it was joined, what is joined has to be found anew by `join`."""
    gone = only(when, one_cell(grid, cell))
    was_joined = when & lies_in(grid, state.joined, cell)
    return state.replace(
        open=state.open & ~gone,
        through=state.through & ~gone,
        joined=jnp.where(was_joined, jnp.asarray(grid.start), state.joined),
    )


def leads_on(grid: Grid, state: State, cell: chex.Array, sides: chex.Array) -> chex.Array:
    """bool[], would a passage with these open sides on this cell meet one that a rockfall has cut off?"""
    column, row = cell // grid.rows, cell % grid.rows
    open_, through, joined = (
        columns_around(grid, cells, column) for cells in (state.open, state.through, state.joined)
    )
    cut_off = through & ~joined
    meets = jnp.stack([beside(grid, side, cut_off & open_[OPPOSITE[side]]) for side in range(NUM_SIDES)])
    return (sides & in_column(meets, row)).any()


def join(grid: Grid, state: State, *, when: chex.Numeric = True) -> State:
    """SB-21: let `joined` grow along path edges until nothing new is reached, `when` it could."""
    searched = make_search(grid)(state.joined, state.open, state.through, jnp.asarray(when))
    return state.replace(joined=searched)


@functools.cache
def make_search(grid: Grid) -> Callable[..., chex.Array]:
    """`search(joined, open, through, when)`: all cells that path edges lead to from the set `joined`.

    It searches one game, or games on leading axes. A search costs as much as several steps and few games need one:
    those are taken out of the batch, a part at a time.
    """

    @jax.custom_batching.custom_vmap
    def search(joined: chex.Array, open_: chex.Array, through: chex.Array, when: chex.Array) -> chex.Array:
        if when.ndim == 0:
            return grow(grid, joined, open_ & through, when)
        games = when.size
        sets = [cells.reshape(games, *cells.shape[when.ndim :]) for cells in (joined, open_, through)]
        at_once = min(games, max(LEAST_AT_ONCE, games // SEARCHED_AT_ONCE))

        def search_some(carry):
            joined, waiting = carry
            places = first_places(waiting, at_once)
            start, sides, passages = (cells.at[places].get(mode="clip") for cells in (joined, *sets[1:]))
            grown = grow(grid, start, sides & passages[:, None])
            # Places beyond the waiting games point past the batch: they are dropped.
            return joined.at[places].set(grown, mode="drop"), waiting.at[places].set(False, mode="drop")

        searched = jax.lax.while_loop(lambda carry: carry[1].any(), search_some, (sets[0], when.ravel()))[0]
        return searched.reshape(joined.shape)

    @search.def_vmap
    def search_batch(axis_size, in_batched, *arguments):
        batched = (
            value if is_batched else jnp.broadcast_to(value, (axis_size, *jnp.shape(value)))
            for value, is_batched in zip(arguments, in_batched, strict=True)
        )
        return search(*batched), True

    return search


def grow(grid: Grid, joined: chex.Array, path: chex.Array, when: chex.Numeric = True) -> chex.Array:
    """`joined`, [..., word], with all cells that path edges, [..., side, word], lead to.

    Each sweep goes one card further in all directions, so a chain of 31 cards and two stones is the longest search.
    Several games are searched until the last is done: sweeps too many change nothing.
    """
    border = [(0, 0)] * (joined.ndim - 1) + [(grid.words, grid.words)]

    def sweep(carry):
        joined, _ = carry
        reached = jnp.uint32(0)
        for side in range(NUM_SIDES):
            reached |= beside(grid, side, joined & path[..., OPPOSITE[side], :]) & inner(grid, path[..., side, :])
        grown = joined | jnp.pad(reached, border)
        return grown, (grown != joined).any()

    return jax.lax.while_loop(lambda carry: carry[1], sweep, (joined, jnp.asarray(when)))[0]
