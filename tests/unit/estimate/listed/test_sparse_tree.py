"""The tree, the shares of single attributes and the shrinkage of pairs."""

import numpy as np
import pytest

from synth.domain import Attribute, HierarchyLevel, Universe
from synth.estimate.listed.tables import (
    LARGEST_SIDE,
    SumTable,
    combined,
    kept_share,
    noisy_total,
    one_way,
    shrunk,
    simplex,
)
from synth.estimate.listed.tree import fit_tree


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
    total = noisy_total(of(universe, one, two))
    by_total = 1 / (3 * one.variance), 1 / (12 * two.variance)
    assert total == pytest.approx(
        (one.noisy_counts.sum() * by_total[0] + two.noisy_counts.sum() * by_total[1])
        / sum(by_total)
    )
    assert noisy_total([]) is None


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
    assert exact == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert even == pytest.approx([1 / 3] * 3)
    groups, _ = one_way(of(universe, coarse), universe, 100.0)
    assert groups == pytest.approx([0.15, 0.15, 0.35, 0.35], abs=1e-4)


def test_without_noise_the_tree_is_the_one_that_made_the_records(make):
    sizes = (3, 4, 3, 5)
    universe, columns = make.universe(*sizes), make.chain(sizes, 20_000, 3)
    every = [(i,) for i in range(4)] + [(i, j) for j in range(4) for i in range(j)]
    tables = of(universe, *(make.sums(universe, columns, axes) for axes in every))
    tree = fit_tree(tables, universe, 20_000.0)
    assert {frozenset((b.axis, b.parent)) for b in tree.branches if b.parent is not None} == {
        frozenset((i, i + 1)) for i in range(3)
    }
    cells = tuple(universe.codes(np.arange(universe.size)))
    table = np.exp(tree.log_probability(cells)).reshape(sizes)
    assert table.sum() == pytest.approx(1)
    for i in range(3):
        rest = tuple(axis for axis in range(4) if axis not in (i, i + 1))
        joint = np.bincount(columns[i] * sizes[i + 1] + columns[i + 1], minlength=1)
        fitted = table.sum(axis=rest).reshape(-1)
        assert 0.5 * np.abs(fitted[: joint.size] - joint / 20_000).sum() < 0.01


def test_pairs_without_dependence_are_no_edges(make):
    universe = make.universe(6, 6, 6)
    generator = np.random.default_rng(4)
    columns = [generator.integers(0, 6, 30_000) for _ in range(3)]
    every = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    tables = [make.sums(universe, columns, axes, epsilon="1/60", seed=5) for axes in every]
    tree = fit_tree(of(universe, *tables), universe, 30_000.0)
    cells = tuple(universe.codes(np.arange(universe.size)))
    table = np.exp(tree.log_probability(cells))
    assert 0.5 * np.abs(table - 1 / 216).sum() < 0.05


def test_a_level_without_records_stays_empty_and_nothing_divides_by_zero(make):
    universe = make.universe(4, 3)
    columns = [np.array([0, 1, 1, 3] * 50), np.array([0, 1, 0, 1] * 50)]
    tables = of(universe, *(make.sums(universe, columns, axes) for axes in [(0,), (1,), (0, 1)]))
    tree = fit_tree(tables, universe, 200.0)
    chance = np.exp(tree.log_probability(tuple(universe.codes(np.arange(12))))).reshape(4, 3)
    assert chance.sum() == pytest.approx(1)
    assert chance[2] == pytest.approx([0] * 3)
    assert chance[:, 2] == pytest.approx([0] * 4)
    empty = fit_tree(tables, universe, 0.0)
    assert np.isfinite(np.exp(empty.log_probability(tuple(universe.codes(np.arange(12)))))).all()


@pytest.mark.parametrize("rank", [1, 2])
def test_shrinkage_finds_a_dependence_of_few_dimensions(rank):
    generator = np.random.default_rng(rank)
    truth = sum(
        np.outer(generator.normal(0, 20, 12), generator.normal(0, 3, 10)) for _ in range(rank)
    )
    truth = truth - truth.mean(axis=0)
    truth -= truth.mean(axis=1, keepdims=True)
    noisy = truth + generator.normal(0, 10, truth.shape)
    error = np.square(shrunk(noisy, 10.0) - truth).sum()
    scaled = np.square(noisy * kept_share(noisy, 10.0) - truth).sum()
    assert error < 0.6 * np.square(noisy - truth).sum()
    assert error < scaled


def test_noise_alone_is_shrunk_to_next_to_nothing():
    generator = np.random.default_rng(9)
    for shape in [(10, 10), (5, 40), (LARGEST_SIDE + 1, 10), (200,), (4, 4, 4)]:
        noise = generator.normal(0, 7, shape)
        assert np.square(shrunk(noise, 7.0)).sum() < 0.15 * np.square(noise).sum()
    assert shrunk(np.zeros((4, 4)), 1.0).tolist() == np.zeros((4, 4)).tolist()
    assert kept_share(np.zeros(3), 1.0) == 0.0
