"""The forecast: planned events, and errors that simulation by enumeration confirms."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synth.config import PersonUnit
from synth.errors import ConfigError
from synth.planning import compare, forecast, plan_events
from synth.planning.noise_sums import NoiseSum
from synth.privacy import total_budget

ADULT = (2, 5, 7, 6, 2, 16, 9)


@pytest.mark.parametrize(
    ("neighbours", "unit", "sensitivity"),
    [
        ("add-remove", "record", 1),
        ("replace-one", "record", 2),
        ("add-remove", PersonUnit("id", 4), 4),
        ("replace-one", PersonUnit("id", 4), 8),
    ],
)
def test_one_table_over_the_universe_gets_the_whole_budget(
    configure, neighbours, unit, sensitivity
):
    config = configure((2, 3), epsilon="1/3", neighbours=neighbours, unit=unit)
    (event,) = plan_events(config)
    assert event.table == ("column-0", "column-1")
    assert event.cells == 6
    assert event.sensitivity_l1 == sensitivity
    spent = total_budget([event], delta=Fraction(0))
    assert spent.epsilon == config.privacy.epsilon == Fraction(1, 3)
    plan = forecast(config)
    assert plan.noise_scale_records == pytest.approx(3 * sensitivity)
    alpha = math.exp(-1 / (3 * sensitivity))
    assert plan.noise_sd_per_cell == pytest.approx(math.sqrt(2 * alpha) / (1 - alpha))


def test_variances_quoted_in_the_documentation():
    for epsilon, variance in [(0.1, 199.8), (0.5, 7.84), (1, 1.84), (2, 0.362), (5, 0.0137)]:
        assert NoiseSum(epsilon, 1).sd ** 2 == pytest.approx(variance, rel=4e-3)


def test_every_query_sums_the_cells_it_should(configure):
    sizes = (2, 3, 4)
    plan = forecast(configure(sizes, order=3))
    assert [query.attributes for query in plan.queries][:4] == [
        ("column-0",),
        ("column-1",),
        ("column-2",),
        ("column-0", "column-1"),
    ]
    for query in plan.queries:
        cells = math.prod(sizes[int(name[-1])] for name in query.attributes)
        assert query.cells == cells
        assert query.summed_cells == 24 // cells
        assert query.sd_records == pytest.approx(math.sqrt(24 / cells) * plan.noise_sd_per_cell)
        assert query.l1_records == query.cells * query.mean_absolute_error_records
    finest = plan.queries[-1]
    assert plan.single_cell == replace(finest, kind="cells")
    assert plan.single_cell.half_width_95 == 3  # P(|noise| > 3) = 2a^4/(1+a) = 0.027, a = 1/e
    assert 2 * math.exp(-4) / (1 + math.exp(-1)) <= 0.05 < 2 * math.exp(-3) / (1 + math.exp(-1))


def test_errors_are_those_of_every_possible_noise(configure):
    """All noises of a 2 x 2 universe from -12 to 12, each with its exact probability."""
    plan = forecast(configure((2, 2), epsilon="2", order=1))
    alpha = math.exp(-2)
    steps = np.arange(-12, 13)
    pmf = (1 - alpha) / (1 + alpha) * alpha ** abs(steps)
    mean_absolute = variance = clipped = 0.0
    for first, second in product(range(len(steps)), repeat=2):
        probability = pmf[first] * pmf[second]
        error = steps[first] + steps[second]
        mean_absolute += probability * abs(error)
        variance += probability * error**2
        clipped += probability * (max(0, steps[first]) + max(0, steps[second]))
    query = plan.queries[0]
    assert query.mean_absolute_error_records == pytest.approx(mean_absolute, rel=1e-6)
    assert query.sd_records**2 == pytest.approx(variance, rel=1e-6)
    assert plan.phantom_records_if_clipped == pytest.approx(2 * clipped, rel=1e-6)


def test_phantoms_count_possible_cells_only(configure):
    plan = forecast(configure((2, 6), impossible=[{"column-0": (1,), "column-1": (0, 3)}]))
    assert plan.universe_size == 12
    assert plan.possible_cells == 10
    alpha = math.exp(-1)
    assert plan.phantom_records_if_clipped == pytest.approx(10 * alpha / (1 - alpha**2))
    assert alpha / (1 - alpha**2) == pytest.approx(0.4255, abs=1e-4)
    assert plan.queries[0].summed_cells == 6  # the noisy table holds impossible cells too


def test_total_variation_needs_a_declared_total(configure):
    without = forecast(configure((2, 3)))
    assert without.declared_total is None
    assert all(query.total_variation is None for query in without.queries)
    with_total = forecast(configure((2, 3), total=1000))
    assert with_total.declared_total == 1000
    for query in with_total.queries:
        assert query.total_variation == pytest.approx(query.l1_records / 2000)


def test_another_epsilon_is_forecast_as_if_configured(configure):
    plain = forecast(configure((2, 3), epsilon="1/2"))
    assert forecast(configure((2, 3)), Fraction(1, 2)) == plain
    assert [plan.epsilon for plan in compare(configure((2, 3)), [Fraction(1), Fraction(1, 2)])] == [
        1,
        Fraction(1, 2),
    ]
    assert compare(configure((2, 3)), [Fraction(1, 2)]) == [plain]


@pytest.mark.parametrize("epsilon", [0, -1])
def test_an_epsilon_that_is_not_positive_is_refused(configure, epsilon):
    with pytest.raises(ValueError, match="positive"):
        forecast(configure((2, 3)), Fraction(epsilon))


def test_the_forecast_is_that_of_noise_on_a_real_shape(configure):
    """A seeded draw of the whole noisy table: its errors are near the forecast ones.

    The draw is fixed, so this can fail only by a wrong forecast. Allowed: 5 % for the spread of
    all 2,016 or more cells of the widest tables together, as the contract of the plan says.
    """
    plan = forecast(configure(ADULT, total=48_842))
    generator = np.random.default_rng(20260131)
    success = 1 - math.exp(-1)
    noise = (generator.geometric(success, ADULT) - generator.geometric(success, ADULT)).astype(int)
    checked = covered = 0
    for query in plan.queries:
        axes = [int(name[-1]) for name in query.attributes]
        others = tuple(axis for axis in range(len(ADULT)) if axis not in axes)
        errors = noise.sum(axis=others).ravel()
        if query.cells >= 500:
            assert np.abs(errors).mean() == pytest.approx(
                query.mean_absolute_error_records, rel=0.05
            )
            assert errors.std() == pytest.approx(query.sd_records, rel=0.05)
            assert (np.abs(errors) > query.half_width_95).mean() <= 0.08
            checked += 1
        covered += np.abs(errors).max() <= query.simultaneous_95
    assert checked >= 4
    assert covered >= 0.95 * len(plan.queries)


@pytest.mark.parametrize(
    ("epsilon", "why"), [("401", "a larger epsilon promises nothing"), ("0.0007", "but noise")]
)
def test_a_budget_that_no_configuration_may_have_is_refused(configure, epsilon, why):
    config = configure((2, 3), unit=PersonUnit("person", 4), neighbours="replace-one")
    compare(config, [Fraction(400), Fraction("0.0008")])
    with pytest.raises(ConfigError, match=why) as refusal:
        compare(config, [Fraction(1), Fraction(epsilon)])
    assert refusal.value.name == "--epsilon"
