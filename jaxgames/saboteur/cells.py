"""Sets of cells of the grid as bits: uint32[word, column], where bit y of a column is its y-th cell from the top.

A column of the exact grid has 45 cells and so two words. Moving a whole set by one cell is a shift of bits or of
columns, which costs a hundredth of touching 2,070 cells one by one: searching the mine, finding the frontier and
testing where a card fits all work on such sets.
"""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.saboteur.cards import BOTTOM, LEFT, NUM_GOALS, RIGHT, TOP

WORD = 32
FAR = 99  # further than any two cells are apart; the distance from an empty set


@dataclasses.dataclass(frozen=True)
class Grid:
    """SB-8: the cells that exist, numbered column by column; SB-9: where start and goals lie."""

    xmin: int
    ymin: int
    columns: int
    rows: int
    goal_x: int

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.columns * self.rows

    @property
    def words(self) -> int:
        return -(-self.rows // WORD)

    @property
    def goal_cells(self) -> tuple[tuple[int, int], ...]:
        """Column and row of the three goals."""
        return tuple((self.goal_x - self.xmin, y - self.ymin) for y in (-2, 0, 2))

    @functools.cached_property
    def start(self) -> np.ndarray:
        """The set that holds the start alone."""
        return self.cells_at([(-self.xmin, -self.ymin)])

    @functools.cached_property
    def goals(self) -> np.ndarray:
        """One set for each goal, uint32[goal, word, column]."""
        return np.stack([self.cells_at([place]) for place in self.goal_cells])

    @functools.cached_property
    def inside(self) -> np.ndarray:
        """Every cell of the grid."""
        return self.cells_at([(column, row) for column in range(self.columns) for row in range(self.rows)])

    def cells_at(self, places) -> np.ndarray:
        """The set of these (column, row) places, on the host."""
        cells = np.zeros((self.words, self.columns), np.uint32)
        for column, row in places:
            cells[row // WORD, column] |= np.uint32(1 << row % WORD)
        return cells


@functools.cache
def make_grid(name: str, goal_x: int) -> Grid:
    """The grid of the option `grid`."""
    if name == "exact":
        return Grid(xmin=-22, ymin=-22, columns=46, rows=45, goal_x=goal_x)
    return Grid(xmin=-10, ymin=-10, columns=21, rows=21, goal_x=goal_x)


def only(when: chex.Array, cells: chex.Array) -> chex.Array:
    """`cells` where `when` holds, else the empty set; the axes of `when` come first."""
    return jnp.where(jnp.asarray(when)[..., None, None], cells, jnp.uint32(0))


def one_cell(grid: Grid, cell: chex.Array) -> chex.Array:
    """The set that holds cell id `cell` alone."""
    column, row = cell // grid.rows, cell % grid.rows
    is_word = jnp.arange(grid.words)[:, None] == row // WORD
    is_column = jnp.arange(grid.columns) == column
    return jnp.where(is_word & is_column, jnp.uint32(1) << (row % WORD).astype(jnp.uint32), jnp.uint32(0))


def beside(side: int, cells: chex.Array) -> chex.Array:
    """The cells whose neighbour across `side` is in the set. Rows beyond the grid may appear: mask with `inside`."""
    if side == TOP:
        carry = cells >> (WORD - 1)
        return (cells << 1) | jnp.concatenate([jnp.zeros_like(carry[..., :1, :]), carry[..., :-1, :]], axis=-2)
    if side == BOTTOM:
        carry = cells << (WORD - 1)
        return (cells >> 1) | jnp.concatenate([carry[..., 1:, :], jnp.zeros_like(carry[..., :1, :])], axis=-2)
    edge = jnp.zeros_like(cells[..., :1])
    if side == LEFT:
        return jnp.concatenate([edge, cells[..., :-1]], axis=-1)
    assert side == RIGHT
    return jnp.concatenate([cells[..., 1:], edge], axis=-1)


def is_empty(cells: chex.Array) -> chex.Array:
    """bool[...], no cell in the set."""
    return ~(cells != 0).any((-2, -1))


def count(cells: chex.Array) -> chex.Array:
    """int32[...], the number of cells in the set."""
    return jax.lax.population_count(cells).astype(jnp.int32).sum((-2, -1))


def holds(grid: Grid, cells: chex.Array, place: int) -> chex.Array:
    """bool[...], is goal number `place` in the set?"""
    column, row = grid.goal_cells[place]
    return (cells[..., row // WORD, column] >> (row % WORD)) & 1 == 1


def goals_in(grid: Grid, cells: chex.Array) -> chex.Array:
    """bool[..., goal], which of the three goal cells are in the set?"""
    return jnp.stack([holds(grid, cells, place) for place in range(NUM_GOALS)], axis=-1)


def unpack(grid: Grid, cells: chex.Array) -> chex.Array:
    """The set as bool[..., cell], ascending cell id."""
    return unpack_together(grid, cells[..., None])[..., 0]


def unpack_together(grid: Grid, cells: chex.Array) -> chex.Array:
    """Sets side by side in the last axis, [..., word, column, n], as bool[..., cell, n]."""
    rows = [jnp.arange(min(WORD, grid.rows - i * WORD), dtype=jnp.uint32)[:, None] for i in range(grid.words)]
    bits = [(cells[..., i, :, None, :] >> rows[i]) & 1 == 1 for i in range(grid.words)]
    return jnp.concatenate(bits, axis=-2).reshape(*cells.shape[:-3], grid.size, cells.shape[-1])


def goal_distances(grid: Grid, cells: chex.Array) -> chex.Array:
    """int32[goal], the smallest Manhattan distance from the set to each goal; FAR if it is empty.

    In each column the nearest cell above and below the goal's row is the highest and lowest bit of a masked word.
    """
    distances = []
    for column, row in grid.goal_cells:
        above = cells[0] & jnp.uint32((2 << row) - 1)  # the goals lie in the first word of their column
        upwards = jnp.where(above != 0, row - 31 + jax.lax.clz(above).astype(jnp.int32), FAR)
        downwards = jnp.full(grid.columns, FAR)
        for i in reversed(range(grid.words)):
            below = cells[i] >> (row if i == 0 else 0)
            first = jax.lax.population_count((below & -below) - 1).astype(jnp.int32)
            downwards = jnp.where(below != 0, first + max(i * WORD - row, 0), downwards)
        across = jnp.abs(jnp.arange(grid.columns) - column)
        distances.append(jnp.minimum(jnp.minimum(upwards, downwards) + across, FAR).min())
    return jnp.stack(distances)


def kth(grid: Grid, cells: chex.Array, k: chex.Array) -> chex.Array:
    """int32[], the cell id with exactly `k` smaller ids in the set; some cell of the grid if there are not so many."""
    in_column = jax.lax.population_count(cells).astype(jnp.int32).sum(0)
    ends = jnp.cumsum(in_column)
    column = jnp.minimum((ends <= k).sum(), grid.columns - 1)
    is_column = jnp.arange(grid.columns) == column
    k = k - jnp.where(is_column, ends - in_column, 0).sum()
    words = jnp.where(is_column, cells, 0).sum(-1, dtype=jnp.uint32)  # [word], the column alone
    up_to = jnp.asarray((2 << np.arange(WORD, dtype=np.uint64)) - 1, jnp.uint32)  # bits 0..row of a word
    counts = jax.lax.population_count(words[:, None] & up_to).astype(jnp.int32)  # [word, row]
    for i in range(1, grid.words):
        counts = counts.at[i].add(counts[i - 1, -1])
    row = jnp.minimum((counts <= k).sum(), grid.rows - 1)
    return (column * grid.rows + row).astype(jnp.int32)
