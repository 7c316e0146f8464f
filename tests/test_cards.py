"""What card games share, against plain Python: shuffles, sets of bits and their members, the order of a trick."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import cards, tricks

SETS = ([], [0], [31], [32], [63], [0, 1, 2], [5, 31, 32, 63], [3, 40], [*range(64)])
MASKS = np.stack([np.isin(np.arange(64), each) for each in SETS])


@pytest.fixture(scope="module")
def packed():
    return jax.jit(jax.vmap(cards.pack))(MASKS)  # uint32[set, 2]


def test_a_mask_becomes_bits_and_comes_back(packed):
    expected = [[sum(1 << (i % 32) for i in each if i // 32 == word) for word in range(2)] for each in SETS]
    assert packed.tolist() == expected
    np.testing.assert_array_equal(cards.members(packed, 64), MASKS)
    for size in (1, 33):
        mask = np.arange(size) % 3 == 0
        np.testing.assert_array_equal(cards.members(cards.pack(mask), size), mask)


def test_a_set_holds_each_card_once_and_none_that_is_beyond_its_words():
    found = jax.jit(cards.set_of, static_argnums=1)(np.array([[3, 3, 40, 64, -1], [63, 0, 100, 31, 32]], np.int8), 2)
    assert [np.flatnonzero(each).tolist() for each in cards.members(found, 64)] == [[3, 40], [0, 31, 32, 63]]


def test_members_are_counted_from_the_lowest_and_beyond_the_last_comes_the_last(packed):
    numbers = np.arange(-2, 67)
    found = jax.jit(jax.vmap(jax.vmap(cards.kth_member, (None, 0)), (0, None)))(packed, numbers)
    expected = [[each[min(max(k, 0), len(each) - 1)] if each else 0 for k in numbers] for each in SETS]
    assert found.tolist() == expected


def test_what_is_no_member_is_none_anywhere(packed):
    numbers = np.arange(-40, 100)
    found = jax.jit(jax.vmap(jax.vmap(cards.is_member, (None, 0)), (0, None)))(packed, numbers)
    assert found.tolist() == [[int(i) in each for i in numbers] for each in SETS]


def test_a_word_chooses_evenly_and_the_largest_chooses_the_last():
    """The whole range of words in 12 equal parts, from the middle of each; then both ends."""
    mask = np.isin(np.arange(40), [2, 7, 39])
    words = np.array([int((i + 0.5) * 2**32 / 12) for i in range(12)] + [0, 2**32 - 1], np.uint32)
    found = jax.jit(jax.vmap(cards.choose, (None, 0)))(mask, words)
    assert found.tolist() == [2] * 4 + [7] * 4 + [39] * 4 + [2, 39]
    assert int(cards.choose(np.zeros(40, bool), np.uint32(2**32 - 1))) == 0


def test_places_come_in_order_and_the_length_of_the_mask_stands_for_none():
    mask = np.array([False, True, True, False, True, False])
    assert [cards.first_places(mask, count).tolist() for count in (1, 3, 5)] == [[1], [1, 2, 4], [1, 2, 4, 6, 6]]
    number = np.array([3, 0, 1, 4, 2])  # 0 is none
    assert cards.numbered(number, 0, 2).tolist() == [2, 4]
    assert cards.numbered(number, 2, 3).tolist() == [0, 3, 5]


@pytest.mark.parametrize(("size", "dtype"), [(1, "int8"), (2, "int8"), (70, "int8"), (127, "int8"), (150, "int16")])
def test_a_shuffle_is_an_order_of_all_cards(size, dtype):
    found = jax.jit(cards.shuffles, static_argnums=(1, 2))(jax.random.key(0), 3, size)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.sort(found, axis=-1), np.tile(np.arange(size), (3, 1)))
    assert size < 3 or len({tuple(each) for each in found.tolist()}) == 3


def test_all_orders_are_equally_likely():
    found = jax.jit(cards.shuffles, static_argnums=(1, 2))(jax.random.key(1), 6000, 3).tolist()
    shares = [found.count([*order]) / 6000 for order in itertools.permutations(range(3))]
    np.testing.assert_allclose(shares, 1 / 6, atol=0.02)


def test_seats_are_counted_clockwise_from_a_seat():
    assert tricks.seats_from(2, 5).tolist() == [2, 3, 4, 0, 1]
    assert [int(tricks.seat_after(seat, steps, 5)) for seat, steps in ((4, 1), (0, -1), (3, 12))] == [0, 4, 0]
    assert tricks.play_order(jnp.int8(2), 5).tolist() == [3, 4, 0, 1, 2]


def test_the_strongest_card_wins_and_the_earliest_of_equals():
    """Powers by seat; the second seat has led, so that the first plays last."""
    order = tricks.play_order(jnp.int8(1), 4)  # 3, 0, 1, 2
    for power, expected in (([7, 1, 7, 0], 1), ([7, 1, 0, 3], 3), ([-1, -1, -1, -1], 0), ([100, 100, 100, 101], 2)):
        assert int(tricks.strongest(np.array(power, np.int8), order)) == expected
