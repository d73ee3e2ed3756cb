"""Forecasts of several tables: against the covariance of least squares written out."""

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from synth.config import RangeQueries
from synth.domain import Margin
from synth.planning import forecast
from synth.planning.noise_sums import gaussian_variance, noise_variance
from synth.planning.problem import problem_of
from synth.planning.query_forecast import forecast_queries
from synth.planning.spending import Purse
from synth.privacy import TableEvent

NAMES = ("column-0", "column-1", "column-2")


def design(sizes, table):
    """One row per cell of the table, one column per cell of the universe."""
    cells = np.indices(sizes).reshape(len(sizes), -1)
    axes = [int(name[-1]) for name in table]
    numbers = np.ravel_multi_index([cells[axis] for axis in axes], [sizes[axis] for axis in axes])
    return (numbers == np.arange(numbers.max() + 1)[:, None]).astype(float)


@pytest.mark.parametrize("delta", ["0", "1/1000"])
def test_several_tables_are_forecast_as_their_least_squares(configure, delta):
    sizes = (3, 4, 2)
    tables = (Margin(NAMES, (0, 0, 0)), Margin(NAMES[:1], (0,)), Margin(NAMES[1:], (0, 0)))
    config = configure(sizes, strategy=tables, delta=delta, total=500)
    plan = forecast(config)
    assert len(plan.tables) == 3
    information = sum(
        design(sizes, event.table).T @ design(sizes, event.table) / noise_variance(event)
        for event in plan.tables
    )
    covariance = np.linalg.inv(information)
    assert len(plan.queries) == 7
    for query in (*plan.queries, plan.single_cell):
        rows = design(sizes, query.attributes)
        variances = np.diag(rows @ covariance @ rows.T)
        assert variances == pytest.approx(query.sd_records**2)  # the same for every cell
        assert query.law == "scaled"
        assert query.simultaneous_95 >= query.half_width_95
        assert query.total_variation == pytest.approx(query.l1_records / 1000)


def test_approximate_intervals_cover(configure):
    """Seeded draws: 8,000 of every table. A share of 95 % is then known to half a percent."""
    sizes = (3, 4, 2)
    tables = (Margin(NAMES, (0, 0, 0)), Margin(NAMES[:1], (0,)), Margin(NAMES[1:], (0, 0)))
    plan = forecast(configure(sizes, strategy=tables, epsilon="1/2"))
    generator = np.random.default_rng(20260131)
    designs = [design(sizes, event.table) for event in plan.tables]
    weights = [1 / noise_variance(event) for event in plan.tables]
    information = sum(w * rows.T @ rows for w, rows in zip(weights, designs, strict=True))
    right = 0
    for event, weight, rows in zip(plan.tables, weights, designs, strict=True):
        success = -math.expm1(-float(event.epsilon))
        first, second = generator.geometric(success, (2, 8_000, event.cells))
        right = right + weight * (first - second) @ rows
    errors = np.linalg.solve(information, right.T)
    for query in (*plan.queries, plan.single_cell):
        sums = np.abs(design(sizes, query.attributes) @ errors)
        assert sums.mean() == pytest.approx(query.mean_absolute_error_records, rel=0.06)
        assert 0.94 <= (sums <= query.half_width_95).mean() <= 0.985
        assert (sums <= query.simultaneous_95).all(axis=0).mean() >= 0.945


def test_gaussian_tables_have_normal_errors(configure):
    config = configure((3, 4), strategy=(Margin(NAMES[:2], (0, 0)), Margin(NAMES[:1], (0,))))
    config = replace(config, privacy=replace(config.privacy, delta=Fraction(1, 1000)))
    events = Purse(Fraction(1), "gaussian").events(
        problem_of(config), list(config.strategy), [1.0, 1.0]
    )
    problem = problem_of(config)
    (query,) = forecast_queries(problem, events, problem.questions[:1])
    assert query.law == "normal"
    assert query.half_width_95 == math.ceil(NormalDist().inv_cdf(0.975) * query.sd_records)
    assert query.mean_absolute_error_records == pytest.approx(
        math.sqrt(2 / math.pi) * query.sd_records
    )


def test_unmeasured_queries_are_named_and_have_no_figures(configure):
    plan = forecast(configure((3, 4, 2), strategy=(Margin(NAMES[:2], (0, 0)),), order=2))
    assert [query.attributes for query in plan.queries] == [NAMES[:1], NAMES[1:2], NAMES[:2]]
    assert plan.unanswered == (NAMES[2:], (NAMES[0], NAMES[2]), NAMES[1:])
    assert plan.single_cell is None
    assert plan.noise_sd_per_cell is None
    assert plan.phantom_records_if_clipped is None
    assert {query.law for query in plan.queries} == {"exact"}  # sums of one noisy table
    assert [query.summed_cells for query in plan.queries] == [4, 3, 1]


def test_ranges_are_the_root_mean_variance_of_all_intervals(configure):
    config = configure((5, 2), strategy="identity", order=1)
    first = replace(
        config.universe.attributes[0],
        kind="integer",
        levels=(),
        edges=tuple(map(Fraction, range(6))),
    )
    config = replace(
        config,
        universe=replace(config.universe, attributes=(first, config.universe.attributes[1])),
        workload=replace(
            config.workload,
            ranges=(
                RangeQueries((first.name,), "prefix", Fraction(1)),
                RangeQueries((first.name,), "range", Fraction(1)),
            ),
        ),
    )
    plan = forecast(config)
    variance = noise_variance(plan.tables[0])
    prefix, every = plan.ranges
    assert prefix.cells == 5
    assert prefix.sd_records**2 == pytest.approx(2 * variance * (1 + 2 + 3 + 4 + 5) / 5)
    lengths = [high - low for low in range(5) for high in range(low + 1, 6)]
    assert every.cells == len(lengths) == 15
    assert every.sd_records**2 == pytest.approx(2 * variance * sum(lengths) / 15)
    assert len(plan.queries) == 2


def test_variances_of_both_kinds_of_noise_are_those_of_the_pmf():
    for sigma_squared in (0.05, 0.3, 1.0, 3.9, 4.1, 30.0):
        steps = np.arange(-200, 201)
        weights = np.exp(-(steps**2) / (2 * sigma_squared))
        assert gaussian_variance(sigma_squared) == pytest.approx(
            (weights * steps**2).sum() / weights.sum(), rel=1e-9
        )
    event = TableEvent(("a",), 2, 2, Fraction(1))
    alpha = math.exp(-1 / 2)
    assert noise_variance(event) == pytest.approx(2 * alpha / (1 - alpha) ** 2)
