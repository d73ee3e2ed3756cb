"""Evenly spread points, and codes chosen by them."""

import numpy as np
import pytest

from synth.domain.cell_words import code_type
from synth.estimate.listed.support import BUCKETS, Inverse, drawn_points, spread, steady_steps
from synth.estimate.listed.tree import Branch, Tree


def exact_code(law_row, word):
    """The first code whose running sum is above the number."""
    running = np.cumsum(law_row)
    share = running / running[-1]
    above = np.flatnonzero(share * 2.0**64 > float(word))
    return int(above[0]) if above.size else int(np.flatnonzero(law_row)[-1])


LAWS = np.array(
    [
        [0.25, 0.25, 0.5, 0.0, 0.0],
        [0.0, 1e-6, 1e-6, 1 - 3e-6, 1e-6],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.2, 0.2, 0.2, 0.2, 0.2],
    ]
)


def test_numbers_choose_codes_by_the_inverse_of_the_law():
    generator = np.random.default_rng(0)
    words = generator.integers(0, 2**64, 4000, dtype=np.uint64)
    words[:50] = np.arange(50, dtype=np.uint64) * np.uint64(2**64 // BUCKETS // 7)
    rows = generator.integers(0, 4, 4000)
    found = Inverse.of(LAWS).codes(words, rows)
    expected = [exact_code(LAWS[row], word) for row, word in zip(rows, words, strict=True)]
    assert found.tolist() == expected


@pytest.mark.parametrize("row", range(4))
def test_the_first_and_last_numbers_get_codes_that_exist(row):
    words = np.array([0, 1, 2**64 - 1, 2**64 - 2], dtype=np.uint64)
    found = Inverse.of(LAWS[row : row + 1]).codes(words, None)
    assert (LAWS[row][found[2:]] > 0).all()
    assert found.max() < 5


def test_steps_are_many_and_differ():
    steps = steady_steps(60)
    assert len(set(steps)) == 60
    assert all(0 < step < 2**64 for step in steps)


def even_tree(universe, total):
    laws = [np.full((1, size), 1 / size) for size in universe.shape]
    branches = tuple(Branch(axis, None, law) for axis, law in enumerate(laws))
    return Tree(branches, float(total), tuple(law[0] for law in laws))


def test_points_are_more_even_than_chance(make):
    """Mean total variation of all pairs: chance gives 0.5 sum E|binomial - mean| / n."""
    universe, points = make.universe(*[10] * 12), 20_000
    columns = drawn_points(even_tree(universe, points), universe, 3, 0, points)
    ones = [np.abs(np.bincount(c, minlength=10) / points - 0.1).sum() / 2 for c in columns]
    assert max(ones) < 10 * 5 / points
    pairs = []
    for i in range(12):
        for j in range(i):
            joint = np.bincount(columns[i].astype(int) * 10 + columns[j], minlength=100)
            pairs.append(np.abs(joint / points - 0.01).sum() / 2)
    chance = 0.5 * 100 * np.sqrt(2 / np.pi * 0.01 * 0.99 / points)
    assert np.mean(pairs) < 0.7 * chance
    assert max(pairs) < 3 * chance


def test_points_do_not_depend_on_where_they_start(make):
    universe = make.universe(5, 4, 3)
    tree = even_tree(universe, 200_000)
    whole = drawn_points(tree, universe, 8, 0, 150_000)
    part = drawn_points(tree, universe, 8, 70_001, 999)
    for one, other in zip(whole, part, strict=True):
        assert one.dtype == code_type(universe.shape)
        assert one[70_001:71_000].tolist() == other.tolist()
    other_seed = drawn_points(tree, universe, 9, 0, 1000)
    assert any((a[:1000] != b).any() for a, b in zip(whole, other_seed, strict=True))


def test_the_support_has_every_cell_once_and_keeps_listed_counts(make):
    universe = make.universe(6, 5, 4)
    listed = [np.array([0, 2, 5]), np.array([1, 1, 4]), np.array([0, 3, 3])]
    found = spread(
        even_tree(universe, 500), universe, 1, listed=listed, counts=np.array([7.5, 80, 9])
    )
    cells = sum(
        c.astype(np.int64) * s for c, s in zip(found.columns, universe.strides, strict=True)
    )
    assert (np.diff(cells) > 0).all()
    kept = {int(c): v for c, v in zip(cells[found.listed], found.values[found.listed], strict=True)}
    assert kept == {4: 7.5, 47: 80, 119: 9}
    assert found.values[~found.listed].sum() == pytest.approx(500)
    assert (found.values > 0).all()


def test_impossible_cells_are_not_drawn(make):
    from synth.domain import Conjunction
    from synth.domain.counts import is_possible

    rules = (Conjunction({"a0": (0, 1, 2), "a1": (0, 1)}), Conjunction({"a2": (3,)}))
    universe = make.universe(6, 3, 4, impossible=rules)
    none = [np.zeros(0, dtype=np.int64)] * 3
    found = spread(even_tree(universe, 1000), universe, 1, listed=none, counts=np.zeros(0))
    assert is_possible(found.columns, universe).all()
    assert found.values.sum() == pytest.approx(1000)
    assert len(found.values) == universe.possible().sum()
