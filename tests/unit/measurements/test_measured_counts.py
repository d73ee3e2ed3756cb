"""Counts and intervals from noisy tables, against sums written out."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from synth.domain import Attribute, Conjunction, HierarchyLevel, Margin, Universe
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.measured_counts import MeasuredCounts
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN
from synth.reading.queries import query_of

UNIVERSE = Universe(
    (
        Attribute(
            "a",
            "categorical",
            ("0", "1", "2", "3"),
            hierarchy=(HierarchyLevel("half", (0, 0, 1, 1), ("x", "y")),),
        ),
        Attribute("b", "categorical", ("0", "1", "2")),
        Attribute("c", "categorical", ("0", "1")),
    ),
    (Conjunction({"a": (3,), "c": (1,)}),),
)
FULL = TableEvent(("a", "b", "c"), 24, 1, Fraction(1, 2))
COARSE = TableEvent(("a", "b"), 6, 1, Fraction(1), coarsening=(1, 0))
WIDE = TableEvent(("b",), 3, 1, mechanism=GAUSSIAN, rho=Fraction(1, 20), sensitivity_l2_squared=1)


def measured(generator, truth, events):
    tables = []
    for event in events:
        sums = Margin(event.table, event.coarsening).sums(UNIVERSE, truth)
        noisy = sums + draw_noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return Measurements("test", "", tuple(tables))


def truth():
    counts = np.random.default_rng(5).integers(0, 30, UNIVERSE.size)
    return counts * UNIVERSE.possible()


def test_one_table_is_added_up_without_its_impossible_cells():
    noisy = measured(np.random.default_rng(1), truth(), [FULL])
    counts = noisy.tables[0].noisy_counts.reshape(UNIVERSE.shape)
    possible = UNIVERSE.possible().reshape(UNIVERSE.shape)
    for a, b in product([(0,), (1, 3), (3,)], [(0,), (0, 2)]):
        found = MeasuredCounts(noisy, UNIVERSE).count(
            query_of("", {"a": a, "b": b}, UNIVERSE).where
        )
        cells = [(i, j, k) for i in a for j in b for k in (0, 1) if possible[i, j, k]]
        assert found.estimate == sum(counts[cell] for cell in cells)
        assert found.sd**2 == pytest.approx(len(cells) * noisy.tables[0].variance)


def test_impossible_counts_are_known():
    noisy = measured(np.random.default_rng(1), truth(), [FULL])
    found = MeasuredCounts(noisy, UNIVERSE).count(
        query_of("", {"a": (3,), "c": (1,)}, UNIVERSE).where
    )
    assert (found.estimate, found.sd, found.ends(0.025, 0.025)) == (0, 0, (0, 0))


def test_several_tables_are_weighed_by_their_noise():
    noisy = measured(np.random.default_rng(2), truth(), [FULL, COARSE, WIDE])
    found = MeasuredCounts(noisy, UNIVERSE).count(query_of("", {"b": (1,)}, UNIVERSE).where)
    sums = [
        sum(
            noisy.tables[0].noisy_counts.reshape(4, 3, 2)[i, 1, k]
            for i in range(4)
            for k in range(2)
            if (i, k) != (3, 1)
        ),
        noisy.tables[1].noisy_counts.reshape(2, 3)[:, 1].sum(),
        noisy.tables[2].noisy_counts[1],
    ]
    variances = [
        count * table.variance for count, table in zip((7, 2, 1), noisy.tables, strict=True)
    ]
    best = 1 / sum(1 / v for v in variances)
    assert found.sd**2 <= best * 1.001
    assert abs(found.estimate - np.average(sums, weights=[1 / v for v in variances])) < 20


@pytest.mark.parametrize("codes", [{"b": (1,)}, {"a": (0, 1)}, {"a": (0, 1), "b": (0, 2)}])
def test_the_variance_is_that_of_least_squares_over_all_cells(codes):
    """Oracle: the best linear unbiased estimate from every noisy cell of every table."""
    query = query_of("", codes, UNIVERSE).where
    noisy = measured(np.random.default_rng(6), truth(), [FULL, COARSE, WIDE])
    found = MeasuredCounts(noisy, UNIVERSE).count(query)
    possible = np.flatnonzero(UNIVERSE.possible())
    precision = np.zeros((UNIVERSE.size, UNIVERSE.size))
    seen = np.zeros(UNIVERSE.size)
    for table in noisy.tables:
        margin = Margin(table.event.table, table.event.coarsening)
        rows = np.stack([margin.sums(UNIVERSE, unit) for unit in np.eye(UNIVERSE.size)], axis=1)
        precision += rows.T @ rows / table.variance
        seen += rows.T @ table.noisy_counts / table.variance
    asked = UNIVERSE.members(query)[possible].astype(float)
    solved = np.linalg.solve(precision[np.ix_(possible, possible)], asked)
    # impossible cells make the sums unequal, so sums over in and out lose a little
    assert found.sd**2 == pytest.approx(asked @ solved, rel=0.1)
    assert found.sd**2 >= (asked @ solved) * 0.9999
    assert abs(found.estimate - seen[possible] @ solved) < 3 * found.sd


@pytest.mark.parametrize("columns", [3, 26])
def test_rounding_the_weights_of_hundreds_of_sums_costs_next_to_nothing(columns):
    """Of all pairs of 26 columns each weighs a few thousandths; in 256ths intervals were wider."""
    names = [f"column-{number}" for number in range(columns)]
    universe = Universe(tuple(Attribute(name, "categorical", ("x", "y")) for name in names))
    events = [TableEvent(pair, 4, 1, Fraction(1, 9)) for pair in combinations(names, 2)]
    tables = [
        MeasuredTable(event, np.arange(4, dtype=np.int64), noise_variance(event))
        for event in events
    ]
    found = MeasuredCounts(Measurements("test", "", tuple(tables)), universe)
    for name in (names[0], names[-1]):
        # the pairs that hold the column have 2 cells on either side; the others tell the total
        total = 1 / (4 * tables[0].variance)
        own, others = columns - 1, len(tables) - (columns - 1)
        side = 2 * tables[0].variance / own
        best = side - side**2 / (2 * side + 1 / (others * total))
        sd = found.count(query_of("", {name: (1,)}, universe).where).sd
        assert best * 0.999 <= sd**2 <= best * 1.01


def test_intervals_of_hundreds_of_tables_cover_as_often_as_they_say():
    """One cell has a weight of thousands here, and its noise was nearly always 0 on the grid.

    20,000 draws: two percentage points are seven standard deviations, and more.
    """
    names = [f"column-{number}" for number in range(30)]
    universe = Universe(tuple(Attribute(name, "categorical", tuple("wxyz")) for name in names))
    events = [TableEvent((name,), 4, 1, Fraction(1, 465)) for name in names]
    events += [TableEvent(pair, 16, 1, Fraction(1, 465)) for pair in combinations(names, 2)]
    tables = [
        MeasuredTable(event, np.arange(event.cells, dtype=np.int64), noise_variance(event))
        for event in events
    ]
    counts = MeasuredCounts(Measurements("test", "", tuple(tables)), universe)
    noise = counts.count(query_of("", {names[0]: (1,), names[1]: (2,)}, universe).where).noise
    assert max(part.weight for part in noise.parts) > 10_000
    generator, drawn = np.random.default_rng(1), np.zeros(20_000)
    for part in noise.parts:
        two = generator.negative_binomial(part.count, 1 - np.exp(-part.rate), (2, drawn.size))
        drawn += part.weight * (two[0] - two[1])
    for level in (0.5, 0.8, 0.95, 0.99):
        [width] = noise.half_widths(1 - level)
        assert abs((abs(drawn) <= width).mean() - level) < 0.02


def test_a_table_that_cuts_the_query_does_not_answer():
    noisy = measured(np.random.default_rng(3), truth(), [COARSE])
    counts = MeasuredCounts(noisy, UNIVERSE)
    assert counts.count(query_of("", {"a": (0, 1)}, UNIVERSE).where) is not None
    assert counts.count(query_of("", {"a": (0,)}, UNIVERSE).where) is None
    assert counts.count(query_of("", {"c": (0,)}, UNIVERSE).where) is None


def test_intervals_cover_as_often_as_they_say():
    # 95 % or more of 1,600 draws: fewer than 93 % has a chance below 10^-3 (binomial)
    generator, x = np.random.default_rng(4), truth()
    query = query_of("", {"b": (1,)}, UNIVERSE).where
    true = int(x.reshape(UNIVERSE.shape)[:, 1].sum())
    inside = widths = 0
    for _ in range(1600):
        noisy = measured(generator, x, [COARSE, WIDE])
        low, high = MeasuredCounts(noisy, UNIVERSE).count(query).ends(0.025, 0.025)
        inside += low <= true <= high
        widths += high - low
    assert 0.93 <= inside / 1600 <= 0.985
    assert widths / 1600 < 2 * 2.2 * 3


def test_questions_about_columns_that_are_measured_alike_share_one_law():
    universe = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in "abc"))
    events = [TableEvent(tuple("abc"), 8, 1, Fraction(1, 2))]
    events += [TableEvent((name,), 2, 1, Fraction(1, 6)) for name in "abc"]
    tables = [
        MeasuredTable(event, np.zeros(event.cells, dtype=np.int64), noise_variance(event))
        for event in events
    ]
    counts = MeasuredCounts(Measurements("test", "", tuple(tables)), universe)
    noises = {
        counts.count(query_of("", dict.fromkeys(names, (code,)), universe).where).noise
        for names in ("ab", "ac", "bc")
        for code in (0, 1)
    }
    assert len(noises) == 1
