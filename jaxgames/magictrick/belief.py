"""What everybody knows about the hidden values: the exact posterior of the deal (MT-50 to MT-56).

An arrangement of values is a chain of *boundaries* p(0) <= p(1) <= ... <= p(8): p_i(v) counts the cards of hand i with
a value below v. Every boundary is *balanced*: the four prefixes together show each suit exactly v times (MT-53). A
chain weighs as much as there are ways to deal it: for each value 7! / (d_0! d_1! d_2! d_3!), where hand i has d_i of
the seven cards of that value (MT-54, times a constant).

The balanced boundaries of a value are few, so they are listed and summed over in pairs. Lists have a fixed room. A
position that needs more is seen and done again with more room, at last in a dense form that has no limit.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.env import computed_once, of_few, seldom
from jaxgames.magictrick.cards import NUM_SLOTS, NUM_SUITS, NUM_VALUES, suit_of, value_of
from jaxgames.magictrick.state import State, hands

# Boundaries a value in the lists. At the start of a hand one deal in a hundred needs more than 48, none of 150,000 more
# than 118; with every revealed card they become fewer: of all positions of random play one in twenty is above 16.
BRIEF, SHORT, LONG = 16, 48, 128
# Of a batch, how many positions are done again at once: so many that a sum is compiled alike for every usual batch.
ONE_IN, AT_LEAST = 16, 64

INNER = NUM_VALUES - 1  # p(1) ... p(7); p(0) and p(8) are the two ends of the hands
LENGTHS = NUM_SLOTS + 1  # a prefix has 0..14 slots
PLACES = np.arange(LENGTHS, dtype=np.int32)  # of the bits of a word, a prefix each
ONE_OF_EACH_SUIT = 0x1111111  # suits are counted in four bits each
OUT_OF_BOX = 1 << 28  # a count with this in it never balances; four of them still fit in 31 bits

# A boundary as one number: p_0, p_1 and p_2 in five bits each; p_3 follows, as a boundary of value v has the sum 7v.
FIELD = 5
FIELDS = (2 * FIELD, FIELD, 0)
START, END = 0, sum(NUM_SLOTS << shift for shift in FIELDS)

# All cells (p_0, p_1, p_2), p_2 running fastest; and p_3 for v = 1..7 by the sum of these: LENGTHS where there is none.
CELLS = np.indices((LENGTHS,) * 3).reshape(3, -1).astype(np.int32)
LAST = NUM_SUITS * np.arange(1, NUM_VALUES)[:, None] - np.arange(3 * NUM_SLOTS + 1)
LAST = np.where((LAST >= 0) & (LAST < LENGTHS), LAST, LENGTHS).astype(np.int32)


def _ways_to_share() -> tuple[np.ndarray, np.ndarray]:
    """All shares (d_0, d_1, d_2) of seven cards, int32[share, 3], and the ways to deal each with d_3 = the rest."""
    shares = np.indices((NUM_SUITS + 1,) * 3).reshape(3, -1).T
    shares = shares[shares.sum(axis=-1) <= NUM_SUITS]
    factorial = np.array([math.factorial(d) for d in range(NUM_SUITS + 1)])
    ways = factorial[-1] / factorial[shares].prod(axis=-1) / factorial[NUM_SUITS - shares.sum(axis=-1)]
    return shares.astype(np.int32), ways.astype(np.float32)


SHARES, WAYS_TO_SHARE = _ways_to_share()
WAYS = np.zeros(1 << 3 * FIELD, np.float32)  # by the difference of two boundaries
WAYS[(SHARES << np.array(FIELDS)).sum(axis=-1)] = WAYS_TO_SHARE


class Chains(NamedTuple):
    """The boundaries p(1) ... p(7), with the number of ways to deal the chains through them."""

    points: chex.Array  # int32[7, point]    boundaries as numbers; without meaning where there are no ways
    ways_to: chex.Array  # float32[7, point]  from p(0) to here
    ways_on: chex.Array  # float32[7, point]  from here to p(8)


class Cells(NamedTuple):
    """A position, for its belief."""

    words: chex.Array  # int32[7, row]  its balanced cells
    most: chex.Array  # int32[]  boundaries of a value
    found: chex.Array  # float32[seat, slot, value]  the marginals


def belief(state: State) -> chex.Array:
    """float32[seat, slot, value], the probability of each value in each slot; revealed slots are one-hot (MT-56)."""
    known = jnp.arange(NUM_VALUES) == value_of(hands(state))[..., None]
    return jnp.where(state.revealed[..., None], known.astype(jnp.float32), hidden_values(balanced_cells(state)))


def hidden_values(words: chex.Array) -> chex.Array:
    """float32[seat, slot, value], the marginals over all chains through these cells."""

    def done_again(cells: Cells, room: int, longer: Callable[[chex.Array], Chains]) -> Cells:
        # A loop that does not run for a position by itself, for which `of_few` would compute every form.
        again = seldom(lambda _, words: marginals(longer(words)), cells.found, cells.words, when=cells.most > room)
        return cells._replace(found=again)

    cells = Cells(words, most_boundaries(words), marginals(listed(words, BRIEF)))
    for room, longer in ((BRIEF, SHORT), (SHORT, LONG)):
        change = functools.partial(done_again, room=room, longer=functools.partial(listed, room=longer))
        cells = of_few(change, cells, when=cells.most > room, one_in=ONE_IN, at_least=AT_LEAST)
    return done_again(cells, LONG, dense).found  # hand-made deals alone


def marginals(chains: Chains) -> chex.Array:
    """float32[seat, slot, value]: the value of a slot is at least v where the boundary p(v) lies before it."""
    through = chains.ways_to * chains.ways_on
    # At least one way: a list that is too short may hold no chain at all, and its result is replaced.
    probability = through / jnp.maximum(through.sum(axis=-1, keepdims=True), 1)
    before = prefix_lengths(chains.points)[:, :, None] <= jnp.arange(NUM_SLOTS)[:, None]  # [7, seat, slot, point]
    at_least = jnp.where(before, probability[:, None, None], 0).sum(axis=-1)
    at_least = jnp.pad(at_least, ((1, 0), (0, 0), (0, 0)), constant_values=1)
    at_least = jnp.pad(at_least, ((0, 1), (0, 0), (0, 0)))
    # The difference of two sums may fall below zero or rise above one by rounding.
    return jnp.moveaxis(jnp.clip(at_least[:-1] - at_least[1:], 0, 1), 0, -1)


def prefix_lengths(points: chex.Array) -> chex.Array:
    """int32[7, seat, ...], the four prefixes of boundaries int32[7, ...]."""
    first = [(points >> shift) & ((1 << FIELD) - 1) for shift in FIELDS]
    v = np.arange(1, NUM_VALUES, dtype=np.int32).reshape(INNER, *[1] * (points.ndim - 1))
    return jnp.stack([*first, NUM_SUITS * v - sum(first)], axis=1)


def ways_between(start: chex.Array, end: chex.Array) -> chex.Array:
    """float32[...], ways to deal the cards between a boundary and the next; 0 where a prefix would shrink (MT-54).

    A negative share leaves 18 or more in its five bits of the difference, where the table says zero.
    """
    return jnp.asarray(WAYS)[(end - start) & (WAYS.size - 1)]


def posterior(state: State, use: Callable[[Chains], chex.Array]) -> chex.Array:
    """`use(chains)` of a position, from the shortest lists that hold all its boundaries."""
    words = balanced_cells(state)
    most = most_boundaries(words)
    result = use(listed(words, SHORT))
    result = seldom(lambda _, words: use(listed(words, LONG)), result, words, when=(most > SHORT) & (most <= LONG))
    return seldom(lambda _, words: use(dense(words)), result, words, when=most > LONG)


def most_boundaries(words: chex.Array) -> chex.Array:
    """int32[], how long the list of a value must be."""
    return jax.lax.population_count(words).sum(axis=-1, dtype=jnp.int32).max()


def balanced_cells(state: State) -> chex.Array:
    """int32[7, row], the cells that are boundaries p(1) ... p(7) for the backs and revealed values (MT-53).

    Bit p_2 of row 15 p_0 + p_1. Hidden values are never looked at.
    """
    counts = prefix_counts(state)
    missing = counts - ONE_OF_EACH_SUIT * np.arange(1, NUM_VALUES)[:, None, None]  # enough to count it once
    last = jnp.pad(missing[:, 3], ((0, 0), (0, 1)), constant_values=OUT_OF_BOX)
    last = computed_once(jnp.take_along_axis(last, jnp.asarray(LAST), axis=-1))  # [7, p_0 + p_1 + p_2]
    # What hands 1 and 3 show depends on p_1 and on p_0 + p_2: the slice from p_2 on has a row for each p_0.
    two = [counts[:, 1, p, None] + last[:, p : p + 2 * NUM_SLOTS + 1] for p in range(LENGTHS)]
    two_hands = computed_once(jnp.stack(two, axis=-1))  # [7, p_0 + p_2, p_1]
    words = jnp.int32(0)
    for p in range(LENGTHS):
        total = two_hands[:, p : p + LENGTHS] + counts[:, 0, :, None] + counts[:, 2, p, None, None]
        words |= jnp.where(total == 0, jnp.int32(1 << p), 0)
    return computed_once(words.reshape(INNER, -1))


def prefix_counts(state: State) -> chex.Array:
    """int32[7, seat, length], cards of each suit in a prefix of a hand, four bits each; OUT_OF_BOX where it cannot be
    the boundary of the value."""
    suit, value = suit_of(hands(state)).astype(jnp.int32), value_of(hands(state))
    in_prefix = np.arange(NUM_SLOTS) < np.arange(LENGTHS)[:, None]  # [length, slot]
    shown = jnp.where(in_prefix, jnp.int32(1) << (4 * suit[:, None, :]), 0)  # [seat, length, slot]
    # A revealed slot lies before the boundary p(v) exactly if its value is below v.
    belongs = value[:, None, :] < np.arange(1, NUM_VALUES)[:, None, None, None]  # [7, seat, 1, slot]
    in_box = (~state.revealed[:, None, :] | (in_prefix == belongs)).all(axis=-1)
    return computed_once(jnp.where(in_box, shown.sum(axis=-1, dtype=jnp.int32), OUT_OF_BOX))


def listed(words: chex.Array, room: int) -> Chains:
    """The chains over the first `room` boundaries of each value: all of them, or the result is wrong."""
    points, alive = _first_points(words, room)

    def step_on(ways_to, level):
        points, following, alive = level
        ways = ways_between(points[:, None], following[None, :]) * ways_to[:, None]
        ways_to = jnp.where(alive, ways.sum(axis=0), 0)
        return ways_to, ways_to

    def step_back(ways_on, level):
        points, following, alive = level
        ways = ways_between(points[None, :], following[:, None]) * ways_on[:, None]
        ways_on = jnp.where(alive, ways.sum(axis=0), 0)
        return ways_on, ways_on

    first = jnp.where(alive[0], ways_between(START, points[0]), 0)
    last = jnp.where(alive[-1], ways_between(points[-1], END), 0)
    _, ways_to = jax.lax.scan(step_on, first, (points[:-1], points[1:], alive[1:]))
    _, ways_on = jax.lax.scan(step_back, last, (points[:-1], points[1:], alive[:-1]), reverse=True)
    return Chains(
        points=points,
        ways_to=jnp.concatenate([first[None], ways_to]),
        ways_on=jnp.concatenate([ways_on, last[None]]),
    )


def _first_points(words: chex.Array, room: int) -> tuple[chex.Array, chex.Array]:
    """The first `room` set cells of each value as boundaries, int32[7, point], and which of them there are, bool.

    The k-th one is found by its row, then by its bit in the row: far cheaper than `nonzero`.
    """
    k = jnp.arange(room, dtype=jnp.int32)
    counts = jax.lax.population_count(words)
    ends = jnp.cumsum(counts, axis=-1)
    row = jax.vmap(lambda ends: jnp.searchsorted(ends, k, side="right"))(ends)
    row = jnp.minimum(row, words.shape[-1] - 1).astype(jnp.int32)
    word, count, end = (jnp.take_along_axis(table, row, axis=-1) for table in (words, counts, ends))
    rank = k - (end - count)
    up_to = word[..., None] & ((2 << PLACES) - 1)  # [7, point, length]
    bit = (jax.lax.population_count(up_to) <= rank[..., None]).sum(axis=-1, dtype=jnp.int32)
    bit = jnp.minimum(bit, LENGTHS - 1)
    points = (row // LENGTHS << FIELDS[0]) + (row % LENGTHS << FIELDS[1]) + bit
    return points, k < ends[:, -1:]


def dense(words: chex.Array) -> Chains:
    """The chains over all cells of a 15 x 15 x 15 table, without limit: all shares of seven cards, one by one."""
    cube = (LENGTHS,) * 3
    balanced = ((words[..., None] >> PLACES) & 1).reshape(INNER, *cube).astype(jnp.float32)
    shares = (jnp.asarray(SHARES), jnp.asarray(WAYS_TO_SHARE))

    def shifted(table, start):
        def add(total, share):
            d, ways = share
            return total + ways * jax.lax.dynamic_slice(table, start(d), cube), None

        return jax.lax.scan(add, jnp.zeros(cube, jnp.float32), shares)[0]

    def step_on(ways_to, balanced):
        ways_to = balanced * shifted(jnp.pad(ways_to, (NUM_SUITS, 0)), lambda d: NUM_SUITS - d)
        return ways_to, ways_to

    def step_back(ways_on, balanced):
        ways_on = balanced * shifted(jnp.pad(ways_on, (0, NUM_SUITS)), lambda d: d)
        return ways_on, ways_on

    _, ways_to = jax.lax.scan(step_on, jnp.zeros(cube, jnp.float32).at[0, 0, 0].set(1), balanced)
    _, ways_on = jax.lax.scan(step_back, jnp.zeros(cube, jnp.float32).at[-1, -1, -1].set(1), balanced, reverse=True)
    points = (CELLS << np.array(FIELDS)[:, None]).sum(axis=0).astype(np.int32)
    return Chains(
        # Read off the table: what follows from constants alone would be computed before the loop around this, always.
        points=jnp.where(balanced.reshape(INNER, -1) > 0, jnp.asarray(points), 0),
        ways_to=ways_to.reshape(INNER, -1),
        ways_on=ways_on.reshape(INNER, -1),
    )
