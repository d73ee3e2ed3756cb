"""Latent classes fitted to noisy tables, against the mixtures that the records came from."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synth.domain import Attribute, HierarchyLevel, Universe
from synth.estimate.listed.class_fit import MOST_CLASSES, USUAL_CLASSES, fit_classes
from synth.estimate.listed.classes import ONE, Classes, whole_shares
from synth.estimate.listed.penalty import PLAIN
from synth.estimate.listed.tables import SumTable


def of(universe, *tables):
    return [SumTable.of(table, universe) for table in tables]


def joint(model, axes=None):
    """The chances of all cells over some attributes, by their definition."""
    axes = range(len(model.laws)) if axes is None else axes
    found = 0.0
    for k, share in enumerate(model.shares / ONE):
        part = share
        for axis in axes:
            part = np.multiply.outer(part, model.laws[axis][k] / ONE)
        found = found + part
    return found


def empirical(columns, sizes, axes):
    shape = tuple(sizes[axis] for axis in axes)
    cells = np.ravel_multi_index(tuple(columns[axis] for axis in axes), shape)
    return np.bincount(cells, minlength=np.prod(shape)).reshape(shape) / len(columns[0])


def distance(one, other):
    return 0.5 * float(np.abs(one - other).sum())


def mixed(sizes, records, seed, classes=3):
    """Records of a few classes."""
    generator = np.random.default_rng([8, seed])
    own = generator.integers(0, classes, records)
    columns = []
    for size in sizes:
        running = np.cumsum(generator.dirichlet(np.full(size, 0.3), classes), axis=1)
        codes = (generator.random(records)[:, None] > running[own]).sum(axis=1)
        columns.append(np.minimum(codes, size - 1))
    return columns


def every(number, *orders):
    return [axes for order in orders for axes in combinations(range(number), order)]


def test_whole_shares_sum_to_one_and_are_next_to_the_real_ones():
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(17, 0.05), 200) * 7.0
    whole = whole_shares(shares)
    assert (whole.sum(axis=1) == ONE).all()
    assert (whole >= 0).all()
    assert np.abs(whole / ONE - shares / 7.0).max() <= 1 / ONE
    assert whole_shares(np.array([[0.0, 3.0], [1.0, 1.0]])).tolist() == [[0, ONE], [ONE // 2] * 2]


def test_the_log_probability_of_a_cell_is_that_of_the_mixture(make):
    universe = make.universe(3, 4, 2)
    generator = np.random.default_rng(1)
    laws = [generator.dirichlet(np.ones(size), 5) for size in universe.shape]
    laws[0][:, 1] = 0.0
    model = Classes.of(generator.dirichlet(np.ones(5)), laws, 10.0)
    cells = tuple(universe.codes(np.arange(universe.size)))
    found = np.exp(model.log_probability(cells))
    assert found == pytest.approx(joint(model).reshape(-1))
    assert found.sum() == pytest.approx(1)
    assert (found.reshape(universe.shape)[1] == 0).all()
    for axes in every(3, 1, 2):
        assert model.table(axes) == pytest.approx(joint(model, axes).reshape(-1))
    assert model.log_probability([column[:0] for column in cells]).shape == (0,)


def test_pairs_recover_the_mixture_with_tables_that_nobody_measured(make):
    sizes = (4, 5, 3, 6, 4, 5)
    universe, columns = make.universe(*sizes), mixed(sizes, 6_000, 1)
    tables = [make.sums(universe, columns, axes, epsilon="5/2") for axes in every(6, 1, 2)]
    model = fit_classes(of(universe, *tables), universe, 6_000.0)
    assert model.shares.sum() == ONE
    for law, size in zip(model.laws, sizes, strict=True):
        assert law.shape == (model.shares.size, size)
        assert (law.sum(axis=1) == ONE).all()
    singles = [distance(joint(model, a), empirical(columns, sizes, a)) for a in every(6, 1)]
    triples = [distance(joint(model, a), empirical(columns, sizes, a)) for a in every(6, 3)]
    assert max(singles) < 0.003
    assert np.mean(triples) < 0.03
    apart = []
    for a, b, c in every(6, 3):
        parts = [empirical(columns, sizes, (axis,)) for axis in (a, b, c)]
        even = np.einsum("i,j,k->ijk", *parts)
        apart.append(distance(even, empirical(columns, sizes, (a, b, c))))
    assert np.mean(apart) > 8 * np.mean(triples)


@pytest.mark.parametrize("epsilon", ["1/60", "1/400"])
def test_noise_alone_leaves_attributes_independent(make, epsilon):
    universe = make.universe(6, 6, 6, 6)
    generator = np.random.default_rng(4)
    columns = [generator.integers(0, 6, 30_000) for _ in range(4)]
    tables = [make.sums(universe, columns, axes, epsilon=epsilon) for axes in every(4, 1, 2)]
    model = fit_classes(of(universe, *tables), universe, 30_000.0)
    for axes in every(4, 2):
        table = joint(model, axes)
        even = np.outer(table.sum(axis=1), table.sum(axis=0))
        noise = 18 * np.sqrt(tables[-1].variance) / 30_000  # half of 36 cells, one deviation each
        assert distance(table, even) < 0.1 * noise


def test_tables_of_single_attributes_make_one_class(make):
    universe = make.universe(5, 4, 3)
    columns = make.chain((5, 4, 3), 500, 1)
    tables = of(universe, *(make.sums(universe, columns, (axis,)) for axis in range(3)))
    model = fit_classes(tables, universe, 500.0)
    assert model.shares.tolist() == [ONE]
    for axis, law in enumerate(model.laws):
        assert law[0] / ONE == pytest.approx(empirical(columns, (5, 4, 3), (axis,)))
    nothing = fit_classes([], universe, 500.0)
    assert [law[0] / ONE for law in nothing.laws] == [
        pytest.approx(np.full(size, 1 / size)) for size in universe.shape
    ]


def test_the_same_tables_give_the_same_whole_numbers(make):
    sizes = (4, 5, 3, 6)
    universe, columns = make.universe(*sizes), mixed(sizes, 2_000, 2)
    tables = of(universe, *(make.sums(universe, columns, a, epsilon=1) for a in every(4, 2, 3)))
    one, other = (fit_classes(tables, universe, 2_000.0) for _ in range(2))
    assert one.shares.tolist() == other.shares.tolist()
    assert all((a == b).all() for a, b in zip(one.laws, other.laws, strict=True))
    again = fit_classes(tables, universe, 2_000.0, start=one)
    assert distance(joint(again), joint(one)) < 0.02


def test_coarse_tables_are_fitted_at_their_resolution(make):
    """One pair is known between halves only: that it is met, and the codes inside them follow."""
    level = HierarchyLevel("half", (0, 1, 0, 1), ("even", "odd"))
    universe = make.universe(4, 3, 3)
    first = replace(universe.attributes[0], hierarchy=(level,))
    universe = Universe((first, *universe.attributes[1:]))
    generator = np.random.default_rng(3)
    second = generator.integers(0, 3, 20_000)
    odd = generator.random(20_000) < np.array([0.1, 0.5, 0.9])[second]
    columns = [2 * generator.integers(0, 2, 20_000) + odd, second, generator.integers(0, 3, 20_000)]
    tables = [make.sums(universe, columns, (axis,), epsilon=1) for axis in range(3)]
    tables += [
        make.sums(universe, columns, (0, 1), epsilon=1, coarsening=(1, 0)),
        make.sums(universe, columns, (0, 2), epsilon=1),
        make.sums(universe, columns, (1, 2), epsilon=1),
        make.sums(universe, columns, (0,), epsilon=1, coarsening=(1,)),
    ]
    model = fit_classes(of(universe, *tables), universe, 20_000.0)
    for axes in every(3, 1, 2):
        assert distance(joint(model, axes), empirical(columns, (4, 3, 3), axes)) < 0.02


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 1, 2, 3)])
def test_a_table_of_three_or_more_brings_what_no_pair_shows(make, axes):
    """The third is the exclusive or of two coins: every pair is independent."""
    generator = np.random.default_rng(5)
    one, two, four = (generator.integers(0, 2, 4_000) for _ in range(3))
    columns = [one, two, one ^ two, four]
    universe = make.universe(2, 2, 2, 2)
    tables = [make.sums(universe, columns, a, epsilon="5/2") for a in every(4, 2)]
    truth = empirical(columns, (2,) * 4, (0, 1, 2))
    before = fit_classes(of(universe, *tables), universe, 4_000.0)
    assert distance(joint(before, (0, 1, 2)), truth) > 0.45
    tables.append(make.sums(universe, columns, axes, epsilon="5/2"))
    after = fit_classes(of(universe, *tables), universe, 4_000.0)
    assert distance(joint(after, (0, 1, 2)), truth) < 0.02


def test_many_triples_are_looked_at_in_turn(make):
    sizes = (3, 4, 2, 3, 4, 2)
    universe, columns = make.universe(*sizes), mixed(sizes, 4_000, 6)
    tables = of(universe, *(make.sums(universe, columns, a, epsilon="5/2") for a in every(6, 3)))
    model = fit_classes(tables, universe, 4_000.0, severities=(PLAIN,))
    triples = [distance(joint(model, a), empirical(columns, sizes, a)) for a in every(6, 3)]
    assert np.mean(triples) < 0.01


def test_tables_of_several_columns_tell_their_pairs_as_well_as_tables_of_pairs_do(make):
    """With hardly any noise; all pairs are in tables of six columns, which have 560 triples."""
    generator = np.random.default_rng(9)
    hidden = np.cumsum(generator.normal(size=(4_000, 24)), axis=1)
    columns = list((hidden > generator.normal(size=24)).astype(np.int64).T)
    universe = make.universe(*[2] * 24)
    groups = np.arange(24).reshape(8, 3)
    joined = [tuple(np.sort(np.concatenate(two)).tolist()) for two in combinations(groups, 2)]
    off = {}
    for name, tables in (("pairs", every(24, 2)), ("joined", joined)):
        sums = of(universe, *(make.sums(universe, columns, axes) for axes in tables))
        model = fit_classes(sums, universe, 4_000.0, severities=(PLAIN,))
        truth = (empirical(columns, (2,) * 24, axes) for axes in every(24, 2))
        found = (model.table(axes).reshape(2, 2) for axes in every(24, 2))
        off[name] = np.mean([distance(*two) for two in zip(found, truth, strict=True)])
    assert off["joined"] < 2 * off["pairs"]


@pytest.mark.parametrize("total", [-50.0, 0.0, 0.4, 3.0, 60.0])
def test_few_records_and_none_at_all(make, total):
    """Fewer records than classes, and noisy counts that say there are less than none."""
    universe = make.universe(3, 4, 1, 2)
    columns = mixed((3, 4, 1, 2), max(0, round(total)), 7)
    tables = [make.sums(universe, columns, a, epsilon=1, seed=8) for a in every(4, 1, 2)]
    model = fit_classes(of(universe, *tables), universe, total)
    assert model.total == max(0.0, total)
    assert model.shares.size < USUAL_CLASSES
    assert joint(model).sum() == pytest.approx(1)
    lowered = [replace(table, noisy_counts=table.noisy_counts - 100) for table in tables]
    model = fit_classes(of(universe, *lowered), universe, total)
    assert joint(model).sum() == pytest.approx(1)


def test_one_column_and_a_column_of_one_code(make):
    universe = make.universe(5)
    columns = [np.arange(1000) % 5]
    alone = fit_classes(of(universe, make.sums(universe, columns, (0,))), universe, 1000.0)
    assert alone.laws[0][0] / ONE == pytest.approx([0.2] * 5)
    universe = make.universe(1, 4, 4)
    columns = [np.zeros(9000, dtype=np.int64), *make.chain((4, 4), 9000, 2)]
    tables = [make.sums(universe, columns, a, epsilon=1) for a in every(3, 1, 2)]
    model = fit_classes(of(universe, *tables), universe, 9000.0)
    assert (model.laws[0] == ONE).all()
    assert distance(joint(model, (1, 2)), empirical(columns, (1, 4, 4), (1, 2))) < 0.01


def test_neighbouring_bins_borrow_from_each_other(make):
    """Two amounts that rise together: told that bins have an order, the fit is nearer to them."""
    generator = np.random.default_rng(9)
    columns = [np.clip(generator.normal(16, 6, 20_000), 0, 31.9)]
    for _ in range(3):
        columns.append(np.clip(0.8 * columns[0] + generator.normal(3, 3.5, 20_000), 0, 31.9))
    columns = [column.astype(np.int64) for column in columns]
    plain = make.universe(*[32] * 4)
    edges = tuple(map(Fraction, range(33)))
    ordered = Universe(tuple(Attribute(name, "number", edges=edges) for name in plain.names))
    tables = [make.sums(plain, columns, a, epsilon="1/40") for a in every(4, 1, 2)]
    errors = []
    for universe in (plain, ordered):
        model = fit_classes(of(universe, *tables), universe, 20_000.0, severities=(PLAIN,))
        errors.append(
            np.mean(
                [distance(joint(model, a), empirical(columns, [32] * 4, a)) for a in every(4, 2)]
            )
        )
    assert errors[1] < 0.95 * errors[0]


@pytest.mark.parametrize(
    ("epsilon", "classes"), [("1/400", USUAL_CLASSES), ("1/4", None), ("5", MOST_CLASSES)]
)
def test_what_is_known_better_gets_more_classes(make, epsilon, classes):
    sizes = (4, 5, 3)
    universe, columns = make.universe(*sizes), mixed(sizes, 50_000, 3)
    tables = of(universe, *(make.sums(universe, columns, a, epsilon=epsilon) for a in every(3, 2)))
    records = 50_000 if classes else 5_000
    model = fit_classes(tables, universe, float(records))
    assert model.shares.size == (classes or records // 20)
