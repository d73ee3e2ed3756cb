"""Tables of sums taken together, and the shares of single attributes."""

import numpy as np
import pytest

from synth.domain import Attribute, HierarchyLevel, Universe
from synth.estimate.listed.tables import (
    SumTable,
    combined,
    one_way,
    simplex,
)


def of(universe, *tables):
    return [SumTable.of(table, universe) for table in tables]


@pytest.mark.parametrize("seed", range(6))
def test_the_simplex_projection_is_the_nearest_point(seed):
    """Against bisection for the common fall."""
    generator = np.random.default_rng(seed)
    values, total = generator.normal(3, 10, 20), 25.0
    low, high = -100.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if np.maximum(values - middle, 0).sum() > total else (low, middle)
        )
    assert simplex(values, total) == pytest.approx(np.maximum(values - low, 0), abs=1e-9)
    assert simplex(values, 0.0).tolist() == [0.0] * 20


def test_sums_of_several_tables_are_combined_by_their_variances(make):
    universe = make.universe(3, 2, 4)
    columns = make.chain((3, 2, 4), 500, 1)
    one = make.sums(universe, columns, (0,), epsilon="1/2", seed=1)
    two = make.sums(universe, columns, (0, 2), epsilon="1/3", seed=2)
    ((view, sums, variance),) = [
        each for each in combined(of(universe, one, two), 1) if each[0] == ((0, 0),)
    ]
    assert view == ((0, 0),)
    other = two.noisy_counts.reshape(3, 4).sum(axis=1)
    weights = 1 / one.variance, 1 / (4 * two.variance)
    expected = (one.noisy_counts * weights[0] + other * weights[1]) / sum(weights)
    assert sums == pytest.approx(expected)
    assert variance == pytest.approx(1 / sum(weights))


def test_shares_follow_exact_tables_at_every_level(make):
    level = HierarchyLevel("half", (0, 0, 1, 1), ("low", "high"))
    universe = Universe(
        (
            Attribute("a0", "categorical", tuple("pqrs"), hierarchy=(level,)),
            Attribute("a1", "categorical", tuple("xyz")),
        )
    )
    columns = [np.array([0] * 10 + [1] * 20 + [2] * 30 + [3] * 40), np.arange(100) % 3]
    fine = make.sums(universe, columns, (0,))
    coarse = make.sums(universe, columns, (0,), coarsening=(1,))
    exact, even = one_way(of(universe, fine, coarse), universe, 100.0)
    assert exact.shares == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert even.shares == pytest.approx([1 / 3] * 3)
    assert (exact.step, even.step) == (0, None)
    groups, _ = one_way(of(universe, coarse), universe, 100.0)
    assert groups.shares == pytest.approx([0.15, 0.15, 0.35, 0.35], abs=1e-4)
    assert groups.step == 1
