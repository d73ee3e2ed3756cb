"""What the page counts: the same as going through the rows one by one."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synth.domain.counts import Counts
from synth.release.page import summary
from synth.release.page.summary import (
    MOST_COMPARED,
    PairSummary,
    cramers_v,
    summarise,
    typical_count,
)

SHAPE = (3, 1, 4, 2)


def listed(cells, values):
    """Counts of cells given by their codes."""
    columns = tuple(np.array(codes, dtype=np.uint32) for codes in zip(*cells, strict=True))
    return Counts(columns, np.array(values, dtype=np.int64))


def made_up(seed=1):
    counts = np.random.default_rng(seed).geometric(0.2, math.prod(SHAPE)) - 1
    return counts.astype(np.int64)


def slow_association(pairs):
    """Cramer's V of pairs of codes with their counts, in fractions until the last root."""
    n = sum(pairs.values())
    rows, columns = {}, {}
    for (row, column), count in pairs.items():
        rows[row] = rows.get(row, 0) + count
        columns[column] = columns.get(column, 0) + count
    chi = Fraction(0)
    for row, column in product(rows, columns):
        expected = Fraction(rows[row] * columns[column], n)
        chi += (pairs.get((row, column), 0) - expected) ** 2 / expected
    r, c = len(rows), len(columns)
    phi = max(Fraction(0), chi / n - Fraction((r - 1) * (c - 1), n - 1))
    smaller = min(size - Fraction((size - 1) ** 2, n - 1) for size in (r, c)) - 1
    return math.sqrt(min(Fraction(1), phi / smaller))


def slow_typical(values):
    """The count of the record in the middle, when all stand in line by the size of their cell."""
    line = sorted((value for value in values for _ in range(value)), reverse=True)
    return line[(len(line) - 1) // 2]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([], 0), ([0, 0], 0), ([1], 1), ([5, 5], 5), ([9, 1, 1, 1], 9), ([2, 1, 1, 1], 1)],
)
def test_half_of_all_records_are_in_cells_of_the_typical_count(counts, expected):
    assert typical_count(np.array(counts, dtype=np.int64)) == expected


def pairs_of(counts, low, high):
    found = {}
    for codes, count in zip(product(*map(range, SHAPE)), counts.tolist(), strict=True):
        if count:
            key = codes[low], codes[high]
            found[key] = found.get(key, 0) + count
    return found


@pytest.mark.parametrize("group", [1, 4, 1 << 8])
@pytest.mark.parametrize("limit", [1 << 22, 10, 1])
def test_columns_and_pairs_are_those_of_the_rows_one_by_one(monkeypatch, limit, group):
    monkeypatch.setattr(summary, "PAIR_TABLE_CELLS", limit)
    monkeypatch.setattr(summary, "GROUP_CELLS", group)
    counts = made_up()
    found = summarise(Counts.of_all(counts, SHAPE), SHAPE)
    for axis, size in enumerate(SHAPE):
        slow = [0] * size
        for codes, count in zip(product(*map(range, SHAPE)), counts.tolist(), strict=True):
            slow[codes[axis]] += count
        assert found.singles[axis] == tuple(slow)
    for high, low in ((2, 0), (3, 0), (3, 2)):
        expected = slow_association(pairs_of(counts, low, high))
        assert found.pairs[high][low].association == pytest.approx(expected, abs=1e-12)
        typical = slow_typical(pairs_of(counts, low, high).values())
        assert found.pairs[high][low].typical_count == typical
    assert found.pairs[1][0].association is None


def test_a_universe_of_any_size_is_summed_from_its_listed_cells():
    shape = (10**5,) * 6
    sparse = listed([(0,) * 6, (99_999,) * 6, (7,) * 6], [4, 5, 6])
    found = summarise(sparse, shape)
    assert found.singles[5][99_999] == 5
    assert sum(found.singles[0]) == 15
    assert [pair.association for pair in found.pairs[5]] == [1.0] * 5
    assert [pair.typical_count for pair in found.pairs[5]] == [5] * 5


def test_many_columns_are_compared_up_to_a_limit():
    shape = (2,) * (MOST_COMPARED + 5)
    sparse = listed([(0,) * len(shape), (1,) * len(shape)], [3, 3])
    assert summarise(sparse, shape).compared == MOST_COMPARED
    assert len(summarise(sparse, shape).singles) == len(shape)


def test_fewer_columns_are_compared_where_that_is_much_work(monkeypatch):
    monkeypatch.setattr(summary, "GROUP_CELLS", 1)
    monkeypatch.setattr(summary, "MOST_VISITS", 20)
    sparse = listed([(0,) * 6, (1,) * 6], [3, 3])
    assert summarise(sparse, (2,) * 6).compared == 4


def test_no_rows_at_all():
    found = summarise(Counts.of_all(np.zeros(6, dtype=np.int64), (2, 3)), (2, 3))
    assert found.singles == ((0, 0), (0, 0, 0))
    assert found.pairs == ((), (PairSummary(None, 0),))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[50, 0], [0, 50]], 1),
        ([[25, 25], [25, 25]], 0),
        ([[10, 90], [0, 0]], None),
        ([[1, 0], [0, 0]], None),
        ([[1, 0], [0, 1]], None),  # two rows say nothing: the correction leaves no degree
    ],
)
def test_the_ends_of_the_scale(table, expected):
    table = np.array(table)
    rows, columns = np.nonzero(table)
    assert cramers_v(rows, columns, table[rows, columns]) == expected


def test_the_order_of_the_cells_changes_no_digit():
    generator = np.random.default_rng(3)
    table = generator.integers(1, 1000, (40, 50))
    rows, columns = np.nonzero(table)
    values = table[rows, columns]
    mixed = generator.permutation(len(values))
    assert cramers_v(rows, columns, values) == cramers_v(rows[mixed], columns[mixed], values[mixed])
