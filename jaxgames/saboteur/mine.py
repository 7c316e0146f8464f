"""The mine as sets of cells: what is joined to the start, where it can grow, and which cards fit (SB-21, SB-22)."""

from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxgames.saboteur.cards import BOTTOM, LEFT, NUM_SIDES, OPPOSITE, RIGHT, TOP
from jaxgames.saboteur.cells import Grid, beside, goals_in, only
from jaxgames.saboteur.state import State


class Ground(NamedTuple):
    """What a board demands of the next card, uint32[word, column] each."""

    frontier: jax.Array  # empty cells next to a path edge of a joined card
    next_to_open: jax.Array  # [side, ...]  cells whose neighbour across that side is open towards them
    next_to_wall: jax.Array  # [side, ...]  cells whose neighbour across that side shows them a wall
    face_down: jax.Array  # goals not turned yet
    loose: jax.Array  # cards that a rockfall can remove


def survey(grid: Grid, state: State) -> Ground:
    """Everything that legal board actions depend on. Face-down goals demand nothing (SB-22)."""
    face_up = face_up_cells(state)
    all_goals = jnp.asarray(grid.goals).sum(0, dtype=jnp.uint32)
    next_to_open = jnp.stack([beside(side, state.open[OPPOSITE[side]]) for side in range(NUM_SIDES)])
    next_to_card = jnp.stack([beside(side, face_up) for side in range(NUM_SIDES)])
    return Ground(
        frontier=frontier(grid, state),
        next_to_open=next_to_open,
        next_to_wall=next_to_card & ~next_to_open,
        face_down=all_goals & ~face_up,
        loose=face_up & ~all_goals & ~jnp.asarray(grid.start),
    )


def frontier(grid: Grid, state: State) -> chex.Array:
    """SB-21: the empty cells next to a path edge of a joined card."""
    reached = jnp.zeros_like(state.joined)
    for side in range(NUM_SIDES):
        reached |= beside(side, state.joined & state.open[OPPOSITE[side]])  # joined cards have no dead ends
    taken = face_up_cells(state) | jnp.asarray(grid.goals).sum(0, dtype=jnp.uint32)
    return reached & jnp.asarray(grid.inside) & ~taken


def fitting_cells(ground: Ground, sides: chex.Array) -> chex.Array:
    """SB-22: the cells where a card with these open sides, bool[..., side], may be laid."""
    clash = jnp.zeros_like(ground.frontier)
    for side in range(NUM_SIDES):
        is_open = sides[..., side, None, None]
        clash = clash | jnp.where(is_open, ground.next_to_wall[side], ground.next_to_open[side])
    return ground.frontier & ~clash


def face_up_cells(state: State) -> chex.Array:
    """Start, laid cards and turned goals: every card has an open side."""
    return state.open[TOP] | state.open[RIGHT] | state.open[BOTTOM] | state.open[LEFT]


def turned_goals(grid: Grid, state: State) -> chex.Array:
    """bool[goal], which goals lie face up?"""
    return goals_in(grid, face_up_cells(state))


def join(state: State) -> State:
    """SB-21: let `joined` grow along path edges until nothing new is reached."""
    return state.replace(joined=grow(state.joined, state.open & state.through))


@jax.custom_batching.custom_vmap
def grow(joined: chex.Array, path: chex.Array) -> chex.Array:
    """All cells that path edges, [..., side, word, column], lead to from the set `joined`, [..., word, column].

    Each sweep goes one card further in all directions, so a chain of 31 cards and two stones is the longest search.
    A batch is searched in one loop until its last game is done: sweeps too many change nothing, so no game needs a
    condition of its own.
    """

    def sweep(search):
        joined, _ = search
        grown = joined
        for side in range(NUM_SIDES):
            there = joined & path[..., OPPOSITE[side], :, :]
            grown |= beside(side, there) & path[..., side, :, :]
        return grown, (grown != joined).any()

    return jax.lax.while_loop(lambda search: search[1], sweep, (joined, jnp.bool_(True)))[0]


@grow.def_vmap
def _grow_batch(axis_size, in_batched, *sets):
    joined, path = (
        cells if is_batched else jnp.broadcast_to(cells, (axis_size, *cells.shape))
        for cells, is_batched in zip(sets, in_batched, strict=True)
    )
    return grow(joined, path), True


def lay(state: State, here: chex.Array, sides: chex.Array, is_through: chex.Array | bool, *, when: chex.Array) -> State:
    """A card with these open sides, bool[side], lies on the cell `here`. `join` still has to follow."""
    return state.replace(
        open=state.open | only(when & sides, here),
        through=state.through | only(when & is_through, here),
    )


def remove(grid: Grid, state: State, here: chex.Array, *, when: chex.Array) -> State:
    """SB-32: the card on the cell `here` leaves; the mine has to be searched anew from the start."""
    gone = only(when, here)
    return state.replace(
        open=state.open & ~gone,
        through=state.through & ~gone,
        joined=jnp.where(when, jnp.asarray(grid.start), state.joined),
    )
