"""Cell numbers beyond 64 bits, against Python's whole numbers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.domain.counts import (
    LARGEST_WORD,
    cell_order,
    cell_words,
    code_type,
    find_cells,
    goes_back,
    new_cells,
    word_axes,
)

SHAPES = [(3, 2), (10,) * 30, (2,) * 200, (1, 2**31, 2**31, 2, 3), (70_000,) * 6]


def numbers(columns, shape):
    """The cell numbers by their definition."""
    found = [0] * len(columns[0])
    for column, size in zip(columns, shape, strict=True):
        found = [number * size + int(code) for number, code in zip(found, column, strict=True)]
    return found


def some_cells(shape, count, seed):
    """Cells that often agree in their first attributes, and some that are there twice."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, min(size, 3), count) for size in shape]
    again = generator.integers(0, count, count)
    return [column[again] for column in columns]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_words_order_cells_as_their_numbers_do(shape, seed):
    columns = some_cells(shape, 60, seed)
    expected = numbers(columns, shape)
    words = cell_words(columns, shape)
    assert len(words) == len(word_axes(shape))
    order = cell_order(words)
    assert order.tolist() == sorted(range(60), key=lambda i: (expected[i], i))
    ordered = [word[order] for word in words]
    in_order = [expected[i] for i in order]
    assert new_cells(ordered).tolist() == [True] + [a != b for a, b in pairwise(in_order)]
    assert goes_back(words).tolist() == [b < a for a, b in pairwise(expected)]


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_are_found_where_they_are(shape):
    have = some_cells(shape, 50, 1)
    words = cell_words(have, shape)
    first = cell_order(words)
    first = first[new_cells([word[first] for word in words])]
    have = [column[first] for column in have]
    wanted = some_cells(shape, 80, 2)
    known = {number: place for place, number in enumerate(numbers(have, shape))}
    expected = [known.get(number, -1) for number in numbers(wanted, shape)]
    assert -1 in expected or len(shape) < 3
    found = find_cells(cell_words(have, shape), cell_words(wanted, shape))
    assert found.tolist() == expected
    assert find_cells(cell_words(have, shape), cell_words(have, shape)).tolist() == [
        *range(len(first))
    ]


def test_nothing_is_found_among_no_cells():
    none = [np.zeros(0, dtype=np.int64)] * 3
    some = [np.arange(2)] * 3
    shape = (2, 2, 2)
    assert find_cells(cell_words(none, shape), cell_words(some, shape)).tolist() == [-1, -1]
    assert find_cells(cell_words(some, shape), cell_words(none, shape)).size == 0


@given(st.lists(st.integers(1, 2**33), min_size=1, max_size=12))
def test_every_attribute_is_in_one_word_that_fits(shape):
    runs = word_axes(shape)
    assert [axis for first, end in runs for axis in range(first, end)] == [*range(len(shape))]
    for first, end in runs:
        product = 1
        for size in shape[first:end]:
            product *= size
        assert product <= LARGEST_WORD


def test_codes_get_the_narrowest_type():
    assert code_type((2, 256)) is np.uint8
    assert code_type((257, 2)) is np.uint16
    assert code_type((65_537,)) is np.uint32
