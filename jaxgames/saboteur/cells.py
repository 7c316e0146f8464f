"""Sets of cells of the grid as bits: uint32[word], the columns one after another, bit y of a column its y-th cell.

A column of the exact grid has 45 cells and so two words. Moving a whole set by one cell is a shift of bits or of
words, which costs a hundredth of touching 2,070 cells one by one: searching the mine, finding the frontier and
testing where a card fits all work on such sets.

The sets of a state have a border, an empty column before the first and one after the last: the cells beside a set are
then slices of it, which compile to vector instructions. What is derived from them by `beside` has no border.
"""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.cards import kth_member
from jaxgames.saboteur.cards import BOTTOM, LEFT, RIGHT, TOP

WORD = 32
BLOCK = 12  # words counted together
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
        """Words of a column."""
        return -(-self.rows // WORD)

    @property
    def goal_cells(self) -> tuple[tuple[int, int], ...]:
        """Column and row of the three goals."""
        return tuple((self.goal_x - self.xmin, y - self.ymin) for y in (-2, 0, 2))

    @functools.cached_property
    def goal_ids(self) -> np.ndarray:
        """int32[goal], the cell ids of the three goals."""
        return np.array([column * self.rows + row for column, row in self.goal_cells], np.int32)

    @functools.cached_property
    def start(self) -> np.ndarray:
        """The set that holds the start alone."""
        return self.cells_at([(-self.xmin, -self.ymin)])

    @functools.cached_property
    def goals(self) -> np.ndarray:
        """The set of the three goals."""
        return self.cells_at(self.goal_cells)

    @functools.cached_property
    def inside(self) -> np.ndarray:
        """Every cell of the grid."""
        return self.cells_at([(column, row) for column in range(self.columns) for row in range(self.rows)])

    def cells_at(self, places) -> np.ndarray:
        """The set of these (column, row) places with its border, on the host."""
        cells = np.zeros((self.columns + 2, self.words), np.uint32)
        for column, row in places:
            cells[column + 1, row // WORD] |= np.uint32(1 << row % WORD)
        return cells.ravel()


@functools.cache
def make_grid(name: str, goal_x: int) -> Grid:
    """The grid of the option `grid`."""
    if name == "exact":
        return Grid(xmin=-22, ymin=-22, columns=46, rows=45, goal_x=goal_x)
    return Grid(xmin=-10, ymin=-10, columns=21, rows=21, goal_x=goal_x)


def only(when: chex.Array, cells: chex.Array) -> chex.Array:
    """`cells` where `when` holds, else the empty set; the axes of `when` come first."""
    return jnp.where(jnp.asarray(when)[..., None], cells, jnp.uint32(0))


def one_cell(grid: Grid, cell: chex.Numeric) -> chex.Array:
    """The set that holds cell id `cell` alone, with its border."""
    word, bit = _place(grid, cell)
    is_word = jnp.arange((grid.columns + 2) * grid.words) == word + grid.words
    return jnp.where(is_word, jnp.uint32(1) << bit, jnp.uint32(0))


def _place(grid: Grid, cell: chex.Numeric) -> tuple[chex.Array, chex.Array]:
    """The word of a cell, int32[...], in a set without border, and its bit there, uint32[...]."""
    column, row = cell // grid.rows, cell % grid.rows
    return column * grid.words + row // WORD, jnp.asarray(row % WORD, jnp.uint32)


def lies_in(grid: Grid, cells: chex.Array, cell: chex.Numeric) -> chex.Array:
    """bool, is the cell in the set? First the axes of sets, [..., word], then those of cell ids."""
    word, bit = _place(grid, cell)
    return (without_border(grid, cells)[..., word] >> bit) & 1 == 1


def without_border(grid: Grid, cells: chex.Array) -> chex.Array:
    """The columns of the grid alone; a set that has no border stays as it is."""
    return inner(grid, cells) if cells.shape[-1] > grid.columns * grid.words else cells


def inner(grid: Grid, cells: chex.Array) -> chex.Array:
    """All but the border of a set that has one."""
    return cells[..., grid.words : -grid.words]


def columns_around(grid: Grid, cells: chex.Array, column: chex.Array) -> chex.Array:
    """One column as a set of its own; its border is the columns beside it."""
    return jax.lax.dynamic_slice_in_dim(jnp.asarray(cells), column * grid.words, 3 * grid.words, axis=-1)


def in_column(cells: chex.Array, row: chex.Array) -> chex.Array:
    """bool[...], is the cell of this row in a set of one column, [..., word]?"""
    return (cells[..., row // WORD] >> (row % WORD).astype(jnp.uint32)) & 1 == 1


def beside(grid: Grid, side: int, cells: chex.Array) -> chex.Array:
    """The cells whose neighbour across `side` is in the set; it has a border, they have none.

    Rows beyond the grid may appear: mask with `inside`.
    """
    words, size = grid.words, cells.shape[-1]
    if side == LEFT:
        return cells[..., : size - 2 * words]
    if side == RIGHT:
        return cells[..., 2 * words :]
    here = cells[..., words : size - words]
    # The number of the word in its column; no table, which a `custom_vmap` (mine.py) under `cond` could not close over.
    number = jnp.arange(here.shape[-1], dtype=jnp.uint32) % words
    if side == TOP:
        above = cells[..., words - 1 : size - words - 1] >> (WORD - 1)
        return here << 1 | above & _all_bits(number > 0)
    assert side == BOTTOM
    below = cells[..., words + 1 : size - words + 1] << (WORD - 1)
    return here >> 1 | below & _all_bits(number < words - 1)


def _all_bits(where: chex.Array) -> chex.Array:
    return jnp.where(where, jnp.uint32(0xFFFFFFFF), jnp.uint32(0))


def is_empty(cells: chex.Array) -> chex.Array:
    """bool[...], no cell in the set."""
    return ~(cells != 0).any(-1)


def count(cells: chex.Array) -> chex.Array:
    """int32[...], the number of cells in the set."""
    return jax.lax.population_count(cells).astype(jnp.int32).sum(-1)


def unpack(grid: Grid, cells: chex.Array) -> chex.Array:
    """The set as bool[..., cell], ascending cell id."""
    return unpack_together(grid, cells[..., None])[..., 0]


def unpack_together(grid: Grid, cells: chex.Array) -> chex.Array:
    """Sets side by side in the last axis, [..., word, n], as bool[..., cell, n]."""
    n = cells.shape[-1]
    cells = jnp.moveaxis(without_border(grid, jnp.moveaxis(cells, -1, -2)), -1, -2)
    bits = (cells[..., None, :] >> jnp.arange(WORD, dtype=jnp.uint32)[:, None]) & 1 == 1
    columns = bits.reshape(*cells.shape[:-2], grid.columns, grid.words * WORD, n)[..., : grid.rows, :]
    return columns.reshape(*cells.shape[:-2], grid.size, n)


def goal_distances(grid: Grid, cells: chex.Array) -> chex.Array:
    """int32[goal], the smallest Manhattan distance from the set to each goal; FAR if it is empty.

    In each column the nearest cell above and below the goal's row is the highest and lowest bit of a masked word.
    """
    words = without_border(grid, cells).reshape(grid.columns, grid.words).T
    distances = []
    for column, row in grid.goal_cells:
        above = words[0] & jnp.uint32((2 << row) - 1)  # the goals lie in the first word of their column
        upwards = jnp.where(above != 0, row - 31 + jax.lax.clz(above).astype(jnp.int32), FAR)
        downwards = jnp.full(grid.columns, FAR, jnp.int32)
        for i in reversed(range(grid.words)):
            below = words[i] >> (row if i == 0 else 0)
            first = jax.lax.population_count((below & -below) - 1).astype(jnp.int32)
            downwards = jnp.where(below != 0, first + max(i * WORD - row, 0), downwards)
        across = jnp.abs(jnp.arange(grid.columns, dtype=jnp.int32) - column)
        distances.append(jnp.minimum(jnp.minimum(upwards, downwards) + across, FAR).min())
    return jnp.stack(distances)


def kth(grid: Grid, cells: chex.Array, k: chex.Array) -> chex.Array:
    """int32[], the cell id with exactly `k` smaller ids in the set; some cell of the grid if there are not so many.

    Words are counted in blocks first: a cumulative sum takes the square of its length.
    """
    cells = without_border(grid, cells)
    in_word = _counted(cells)
    block, k = _find(jnp.cumsum(in_word.sum(-1)), k)
    word, k = _find(jnp.cumsum(in_word[block]), k)
    return _member(grid, cells, block * BLOCK + word, k)


def listed(grid: Grid, cells: chex.Array, most: int) -> chex.Array:
    """int32[most], the cell ids of the set in ascending order, behind the last some cells of the grid: `kth` of each.

    For so many the sums of all blocks cost less than one for each that is asked for.
    """
    cells = without_border(grid, cells)
    ends = jnp.cumsum(_counted(cells), axis=-1)  # [block, word]
    block_ends = jnp.cumsum(ends[:, -1])

    def number(k: chex.Array) -> chex.Array:
        block, k = _find(block_ends, k)
        word, k = _find(ends[block], k)
        return _member(grid, cells, block * BLOCK + word, k)

    return jax.vmap(number)(jnp.arange(most, dtype=jnp.int32))


def _counted(cells: chex.Array) -> chex.Array:
    """int32[block, word], how many cells each word of a set holds."""
    blocks = jnp.pad(cells, (0, -cells.shape[-1] % BLOCK)).reshape(-1, BLOCK)
    return jax.lax.population_count(blocks).astype(jnp.int32)


def _find(ends: chex.Array, k: chex.Array) -> tuple[chex.Array, chex.Array]:
    """Which of the heaps holds the k-th thing of all, and its number there; `ends`, int32[heap], are the numbers of
    things up to each heap and in it."""
    is_before = ends <= k
    heap = jnp.minimum(is_before.sum(), ends.shape[0] - 1)
    return heap, k - jnp.where(is_before, ends, 0).max()


def _member(grid: Grid, cells: chex.Array, word: chex.Array, k: chex.Array) -> chex.Array:
    """int32[], the cell id of the k-th bit of a word."""
    word = jnp.minimum(word, cells.shape[-1] - 1)
    column, row = word // grid.words, word % grid.words * WORD + kth_member(cells[word][None], k)
    return (column * grid.rows + jnp.minimum(row, grid.rows - 1)).astype(jnp.int32)
