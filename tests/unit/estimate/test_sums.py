"""Noisy sums as coefficients, against generalised least squares with explicit matrices."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate import sums as module
from synth.estimate.interactions import Interactions
from synth.estimate.sums import NoisyCoefficients, noisy_coefficients, trusted
from synth.measurements import MeasuredTable

Levels = tuple[tuple[int, ...], ...]
Measure = Callable[..., MeasuredTable]
MakeUniverse = Callable[..., Universe]
Explicit = Callable[..., tuple[NDArray[np.float64], list[int]]]

BALANCED: list[tuple[int, Levels]] = [
    (8, ((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2, 3, 3))),
    (3, ()),
    (4, ((0, 0, 1, 1),)),
]
UNEVEN: list[tuple[int, Levels]] = [(5, ((0, 0, 0, 1, 1),)), (3, ())]

Tables = list[tuple[tuple[str, ...], tuple[int, ...], Fraction]]
FAMILIES: list[Tables] = [
    [(("a0",), (0,), Fraction(1, 2))],
    [((), (), Fraction(1, 4))],
    [
        (("a2",), (1,), Fraction(1, 4)),
        (("a0",), (0,), Fraction(1, 9)),
        (("a0",), (1,), Fraction(2)),
    ],
    [(("a0", "a1"), (0, 0), Fraction(1, 2)), (("a0",), (0,), Fraction(1, 30))],
    [
        (("a0", "a1"), (1, 0), Fraction(1, 8)),
        (("a0", "a2"), (2, 1), Fraction(1, 2)),
        (("a1", "a2"), (0, 0), Fraction(1, 50)),
        (("a0",), (0,), Fraction(1, 3)),
    ],
    [
        ((), (), Fraction(1, 4)),
        (("a2",), (1,), Fraction(1)),
        (("a2",), (1,), Fraction(1, 9)),
        (("a0", "a1", "a2"), (0, 0, 0), Fraction(1, 99)),
    ],
]


def measured(
    universe: Universe, family: Tables, measure: Measure
) -> tuple[NDArray[np.int64], list[MeasuredTable]]:
    counts = np.random.default_rng(1).poisson(6.0, size=universe.size)
    return counts, [
        measure(universe, names, counts, coarsening=steps, rho=rho, seed=i)
        for i, (names, steps, rho) in enumerate(family)
    ]


def combined(universe: Universe, tables: list[MeasuredTable]) -> NoisyCoefficients:
    found = noisy_coefficients(tables, Interactions.of(universe), universe)
    assert found is not None
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_coefficients_are_generalised_least_squares_where_groups_are_equal(
    family: Tables, make_deep_universe: MakeUniverse, measure: Measure, explicit_axis: Explicit
) -> None:
    universe = make_deep_universe(BALANCED)
    _, tables = measured(universe, family, measure)
    found = combined(universe, tables)

    basis = reduce(np.kron, [explicit_axis(*axis)[0] for axis in BALANCED])
    unit = np.eye(universe.size)
    normal = np.zeros((universe.size, universe.size))
    right = np.zeros(universe.size)
    for table in tables:
        margin = Margin(table.event.table, table.event.coarsening)
        sums = np.array([margin.sums(universe, cell) for cell in unit]).T
        normal += sums.T @ sums / table.variance
        right += sums.T @ table.noisy_counts / table.variance
    covariance = np.linalg.pinv(normal, rcond=1e-10)
    known = np.linalg.norm(basis @ normal, axis=1) > 1e-9
    assert found.places.tolist() == np.flatnonzero(known).tolist()
    functions = basis[found.places]
    assert np.allclose(found.values, functions @ covariance @ right)
    assert np.allclose(np.diag(1.0 / found.precision), functions @ covariance @ functions.T)


def test_coefficients_of_unequal_groups_have_the_stated_precision(
    make_deep_universe: MakeUniverse, measure: Measure, explicit_axis: Explicit
) -> None:
    universe = make_deep_universe(UNEVEN)
    basis = reduce(np.kron, [explicit_axis(*axis)[0] for axis in UNEVEN])
    counts = np.arange(15)
    table = measure(universe, ("a0", "a1"), counts, coarsening=(1, 0), rho=Fraction(2), seed=None)
    found = combined(universe, [table])
    assert np.allclose(found.values, (basis @ counts)[found.places])
    # From a cell of the margin to the coefficients: the function's value there, noise as it is.
    group = np.repeat([0, 0, 0, 1, 1], 3) * 3 + np.tile(range(3), 5)
    on_sums = np.array([basis[found.places][:, group == g][:, 0] for g in range(6)])
    assert np.allclose(1.0 / found.precision, 0.25 * (on_sums**2).sum(axis=0))


@pytest.mark.parametrize("family", FAMILIES)
def test_expand_is_the_transpose_of_the_coefficients_of_a_table(
    family: Tables, make_deep_universe: MakeUniverse, measure: Measure, explicit_axis: Explicit
) -> None:
    universe = make_deep_universe(BALANCED)
    basis = reduce(np.kron, [explicit_axis(*axis)[0] for axis in BALANCED])
    _, tables = measured(universe, family, measure)
    found = combined(universe, tables)
    cells = np.random.default_rng(2).normal(size=universe.size)
    assert np.allclose(found.of(cells), (basis @ cells)[found.places])
    coefficients = np.random.default_rng(3).normal(size=found.places.size)
    assert np.allclose(found.expand(coefficients), coefficients @ basis[found.places])


def test_long_attributes_take_the_way_of_all_other_tables(
    make_deep_universe: MakeUniverse, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    universe = make_deep_universe(BALANCED)
    _, tables = measured(universe, FAMILIES[2], measure)
    short = combined(universe, tables)
    assert short.is_one_way
    monkeypatch.setattr(module, "_LONGEST", 7)
    long = combined(universe, tables)
    assert not long.is_one_way
    cells = np.random.default_rng(5).normal(size=universe.size)
    assert np.allclose(long.of(cells), short.of(cells))
    coefficients = np.random.default_rng(6).normal(size=short.places.size)
    assert np.allclose(long.expand(coefficients), short.expand(coefficients))


def test_margins_inside_others_are_not_summed_again(
    make_deep_universe: MakeUniverse, measure: Measure
) -> None:
    universe = make_deep_universe(BALANCED)

    def margins(*tables: tuple[tuple[str, ...], tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        counts = np.zeros(universe.size, dtype=np.int64)
        family = [measure(universe, n, counts, coarsening=c, rho=Fraction(1)) for n, c in tables]
        return combined(universe, family).margins

    assert margins((("a0",), (0,)), (("a0",), (1,)), (("a1",), (0,))) == ((3, 0, 0), (0, 1, 0))
    assert margins((("a0", "a1"), (2, 0)), (("a0",), (1,))) == ((1, 1, 0), (2, 0, 0))
    assert margins((("a0", "a1"), (1, 0)), (("a0",), (1,)), ((), ())) == ((2, 1, 0),)
    assert margins((("a2",), (1,)), (("a2",), (1,))) == ((0, 0, 1),)


def test_no_tables_say_nothing_and_no_noise_is_no_division_by_zero(
    make_deep_universe: MakeUniverse, measure: Measure
) -> None:
    universe = make_deep_universe(UNEVEN)
    interactions = Interactions.of(universe)
    assert noisy_coefficients([], interactions, universe) is None
    counts = np.arange(15)
    exact = MeasuredTable(measure(universe, ("a0",), counts, rho=Fraction(1)).event, counts[:5], 0)
    found = combined(universe, [exact])
    assert np.all(np.isfinite(found.values))
    assert np.all(np.isfinite(found.precision))


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("off_by", [0.1, 1.0, 3.0, 40.0])
def test_excess_makes_the_squared_differences_as_large_as_expected(
    size: int, off_by: float
) -> None:
    generator = np.random.default_rng(4)
    for _ in range(20):
        variance, noise = generator.gamma(1.0, 3.0, size=(2, size)) + 0.01
        gap = off_by * generator.normal(size=size) * np.sqrt(variance + noise)
        excess = module._excess(gap**2, variance, noise)
        share = float((gap**2 / (excess * variance + noise)).mean())
        assert 1.0 <= excess <= module._LARGEST_EXCESS
        if excess == 1.0:
            assert share <= 1.0
        elif excess < 0.999 * module._LARGEST_EXCESS:
            assert share == pytest.approx(1.0, abs=1e-6)
        else:
            assert share > 0.99


def test_differences_that_chance_explains_are_no_excess() -> None:
    noise = np.random.default_rng(0).normal(size=200)
    noise *= np.sqrt(1.25 / (noise**2).mean())  # 2.5 standard deviations of a mean square above 1
    narrow, wide = np.full(200, 0.01), np.ones(200)
    assert module._excess(noise**2, narrow, wide) > 10.0
    assert module._excess(noise**2, narrow, wide, doubt=3.0) == 1.0
    assert module._excess(1.1 * noise**2, narrow, wide, doubt=3.0) > 10.0


def one_way_sums_of(columns: int, make_deep_universe: MakeUniverse) -> NoisyCoefficients:
    """The total and the one difference of every binary column, all as precise."""
    universe = make_deep_universe([(2, ())] * columns)
    interactions = Interactions.of(universe)
    places = np.flatnonzero(interactions.order <= 1)
    margins = tuple(tuple(int(i == j) for i in range(columns)) for j in range(columns))
    even = np.ones(places.size)
    return NoisyCoefficients(interactions, places, 0.0 * even, even, margins)


def test_trust_is_set_for_each_component_and_never_below_what_the_noise_allows(
    make_deep_universe: MakeUniverse,
) -> None:
    found = one_way_sums_of(10, make_deep_universe)
    variance = np.full(found.places.size, 2.0)
    gap = np.full(found.places.size, 0.5) * np.sqrt(variance + 1.0)
    gap[4] = 40.0 * np.sqrt(variance[4] + 1.0)
    firm = trusted(found, gap, variance)
    others = np.arange(gap.size) != 4
    assert np.array_equal(firm.precision[others], found.precision[others])
    assert 10.0 < firm.precision[4] < module._LARGEST_EXCESS
    assert np.array_equal(firm.values, found.values)


def test_one_coefficient_alone_is_hardly_trusted_more_for_a_difference_that_noise_explains(
    make_deep_universe: MakeUniverse,
) -> None:
    found = one_way_sums_of(10, make_deep_universe)
    noise = np.random.default_rng(0).normal(size=found.places.size)
    noise *= np.sqrt(1.01 / (noise**2).mean())
    firm = trusted(found, noise, np.full(found.places.size, 0.01))
    uncertain = 0.01 * firm.precision.max()
    assert noise.max() ** 2 > 1.5
    assert uncertain / (uncertain + 1.0) < 0.1


def test_single_columns_that_cells_tell_as_well_are_not_trusted_more_by_chance(
    make_deep_universe: MakeUniverse,
) -> None:
    """Noise far wider than the counts are uncertain: a little chance would look like much error."""
    known = one_way_sums_of(10, make_deep_universe)
    gap = np.full(known.places.size, 1.1)
    variance = np.full(known.places.size, 0.01)
    drowned = trusted(replace(known, cells_variance=0.5), gap, variance)
    assert np.array_equal(drowned.precision, known.precision)
    assert np.all(trusted(replace(known, cells_variance=2.0), gap, variance).precision > 10.0)
    assert np.all(trusted(replace(known, cells_variance=0.5), 9 * gap, variance).precision > 10.0)


def test_a_drowned_column_takes_no_trust_from_one_that_is_known_well(
    make_deep_universe: MakeUniverse,
) -> None:
    known = one_way_sums_of(10, make_deep_universe)
    precision = np.where(np.arange(known.places.size) % 2 == 0, 10.0, 0.1)
    known = replace(known, precision=precision, cells_variance=2.0)
    variance = np.full(known.places.size, 0.1)
    gap = np.sqrt(2.0 * (variance + 1.0 / precision))
    firm = trusted(known, gap, variance)
    drowned = precision < 1.0
    assert np.array_equal(firm.precision[drowned], precision[drowned])
    assert np.all(firm.precision[~drowned] > 1.5 * precision[~drowned])


def test_what_all_components_of_an_order_are_off_by_raises_the_trust_of_each(
    make_deep_universe: MakeUniverse,
) -> None:
    found = one_way_sums_of(10, make_deep_universe)
    variance = np.full(found.places.size, 0.5)
    gap = np.sqrt(9.0 * variance + 1.0)
    gap[3] = 0.0
    firm = trusted(found, gap, variance)
    assert firm.precision[3] == pytest.approx(firm.precision[5], rel=0.1)
    assert 6.0 < firm.precision[3] < 9.0
