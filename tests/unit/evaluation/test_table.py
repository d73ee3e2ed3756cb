"""Tables of filled cells against lists of records."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from synth.domain.counts import Counts
from synth.evaluation import comparisons as tables
from synth.evaluation.comparisons import same_cells, shares, table_of
from tests.unit.evaluation.made_up import made_up, table, universe

OVER = universe(3, 4, 2)


@pytest.fixture(params=[1 << 22, 1], ids=["held", "only filled cells"])
def held(request, monkeypatch):
    monkeypatch.setattr(tables, "HELD_CELLS", request.param)


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("axes", [a for n in (1, 2, 3) for a in combinations(range(3), n)])
def test_shares_are_those_of_the_records(axes):
    lists = [made_up(OVER, 40, 1), made_up(OVER, 25, 2)]
    found = shares([table(OVER, rows) for rows in lists], axes)
    counters = [Counter(tuple(row[a] for a in axes) for row in rows) for rows in lists]
    cells = sorted(set(counters[0]) | set(counters[1]))
    expected = [
        [counter[cell] / len(rows) for cell in cells]
        for counter, rows in zip(counters, lists, strict=True)
    ]
    filled = (found[0] > 0) | (found[1] > 0)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got[filled], wanted, rtol=1e-12)


def test_counts_of_the_same_cells_in_another_table():
    first, second = made_up(OVER, 30, 3), made_up(OVER, 50, 4)
    found = same_cells(table(OVER, first), table(OVER, second))
    assert found.tolist() == [second.count(cell) for cell in sorted(set(first))]
    assert same_cells(table(OVER, []), table(OVER, second)).tolist() == []
    assert same_cells(table(OVER, first), table(OVER, [])).tolist() == [0] * len(set(first))


def test_published_counts_give_the_table_of_their_rows():
    rows = made_up(OVER, 30, 5)
    expected = table(OVER, rows)
    dense = np.zeros(OVER.size, dtype=np.int64)
    for row in rows:
        dense[OVER.cell(row)] += 1
    found = table_of(OVER, Counts.of_all(dense, OVER.shape))
    assert [codes.tolist() for codes in found.codes] == [c.tolist() for c in expected.codes]
    assert found.counts.tolist() == expected.counts.tolist()


def test_a_sample_of_everything_is_everything_and_halves_are_a_partition():
    rows = made_up(OVER, 30, 6)
    whole = table(OVER, rows)
    generator = np.random.default_rng(7)
    assert sorted(map(tuple, whole.sample(99, generator).tolist())) == sorted(rows)
    some = Counter(map(tuple, whole.sample(12, generator).tolist()))
    assert some.total() == 12
    assert some <= Counter(rows)
    first, second = whole.halves(generator)
    assert (first.counts + second.counts).tolist() == whole.counts.tolist()
    assert 0 < first.records < 30
    assert whole.resample(17, generator).records == 17
    assert table(OVER, []).sample(5, generator).shape == (0, 3)
    assert table(OVER, []).resample(5, generator).records == 0
