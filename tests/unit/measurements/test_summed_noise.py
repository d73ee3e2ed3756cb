"""Tables that are sums of measured ones: every use of the law of their noise knows how many."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.estimate.gate_limits import spread_limit, sum_limit
from synth.estimate.noise_again import draw_noise
from synth.estimate.sums import cell_table
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.combined_noise import CombinedNoise, summed_noise
from synth.noise import noise_law, noise_variance
from synth.planning import noise_sums
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

SUMMED = 7
LAPLACE_EVENT = TableEvent(("a",), 1000, 1, Fraction(1, 3), summed=SUMMED)
GAUSSIAN_EVENT = TableEvent(
    ("a",), 1000, 1, mechanism=GAUSSIAN, rho=Fraction(1, 6), sensitivity_l2_squared=1, summed=SUMMED
)
EVENTS = [LAPLACE_EVENT, GAUSSIAN_EVENT]
both = pytest.mark.parametrize("event", EVENTS, ids=["laplace", "gaussian"])


@both
def test_the_variance_is_that_of_so_many_noises(event):
    one = replace(event, summed=1)
    assert noise_variance(event) == pytest.approx(SUMMED * noise_variance(one), rel=1e-12)
    assert noise_sums.noise_variance(event) == pytest.approx(noise_variance(event), rel=1e-9)
    assert noise_sums.noise_variances([one, event]) == pytest.approx(
        [noise_variance(one), noise_variance(event)]
    )


@both
def test_a_sum_is_never_drawn_as_protection(event):
    with pytest.raises(ValueError, match="is not measured"):
        noise_law(event)


@both
def test_intervals_are_those_of_so_many_cells(event):
    one = replace(event, summed=1)
    a_cell = CombinedNoise((summed_noise(event, 2, 1),), 1)
    assert a_cell == CombinedNoise((summed_noise(one, 2 * SUMMED, 1),), 1)
    assert event.noise != one.noise


@both
def test_replicates_get_so_many_noises(event):
    drawn = draw_noise(np.random.default_rng(3), event, 200_000)
    assert drawn.var() == pytest.approx(noise_variance(event), rel=0.03)


@both
def test_limits_of_the_gate_hold_for_sums_and_are_not_far(event):
    cells, draws = 50, 4000
    drawn = draw_noise(np.random.default_rng(4), event, cells * draws).reshape(draws, cells)
    miss = 0.01
    sums = np.quantile(np.abs(drawn.sum(axis=1)), 1 - miss)
    spread = np.abs(drawn) if event.epsilon else drawn.astype(float) ** 2
    spreads = np.quantile(spread.sum(axis=1), 1 - miss)
    assert sums <= sum_limit(event, cells, miss) <= 1.5 * sums
    assert spreads <= spread_limit(event, cells, miss) <= 1.5 * spreads


def test_limits_of_thousands_of_noises_are_finite():
    many = replace(LAPLACE_EVENT, summed=100_000)
    assert math.isfinite(spread_limit(many, 1, 1e-9))


def test_a_sum_over_the_whole_universe_is_no_table_with_laplace_noise():
    universe = Universe((Attribute("a", "categorical", tuple(map(str, range(1000)))),))
    for event, found in ((LAPLACE_EVENT, False), (replace(LAPLACE_EVENT, summed=1), True)):
        table = MeasuredTable(event, np.zeros(1000, dtype=np.int64), noise_variance(event))
        measurements = Measurements("r", "0", (table,))
        assert (cell_table(measurements, universe) is not None) == found
