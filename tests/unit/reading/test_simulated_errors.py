"""Redraws: the law of what is drawn, and that nothing but public seeds decides it."""

from fractions import Fraction

import numpy as np
import pytest

from synth.config import load_config
from synth.domain import Margin
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN
from synth.reading.simulated_errors import Redrawing, draw_counts

DRAWS = 200_000


@pytest.mark.parametrize(
    "event",
    [
        TableEvent(("a",), 2, 1, Fraction(1)),
        TableEvent(("a",), 2, 2, Fraction(1, 10)),
        TableEvent(("a",), 2, 1, mechanism=GAUSSIAN, rho=Fraction(1), sensitivity_l2_squared=1),
        TableEvent(
            ("a",), 2, 1, mechanism=GAUSSIAN, rho=Fraction(1, 10**7), sensitivity_l2_squared=1
        ),
    ],
)
def test_noise_has_the_mean_and_variance_of_its_law(event):
    drawn = draw_noise(np.random.default_rng(1), event, DRAWS)
    variance = noise_variance(event)
    # six standard errors; the excess kurtosis of all these laws is below 4
    assert abs(drawn.mean()) < 6 * (variance / DRAWS) ** 0.5
    assert drawn.var() == pytest.approx(variance, rel=6 * (6 / DRAWS) ** 0.5)


@pytest.mark.parametrize("variance", [0.5, 5.4, 1e4, float("inf")])
@pytest.mark.parametrize("mean", [0.0, 0.03, 2.5, 700.0])
def test_counts_keep_the_mean_and_what_noise_leaves_open(mean, variance):
    drawn = draw_counts(np.random.default_rng(2), np.full(DRAWS, mean), variance)
    left = mean if np.isinf(variance) else mean * (1 - mean / max(np.ceil(mean + variance), 1))
    assert drawn.min() >= 0
    assert abs(drawn.mean() - mean) <= 6 * (left / DRAWS) ** 0.5
    assert drawn.var() == pytest.approx(left, rel=0.1, abs=1e-12)


def test_redraws_are_reproducible_differ_and_keep_public_totals(project):
    config = load_config(
        project(
            people=None,
            public_totals=[{"where": {"sex": "Male"}, "total": 90, "source": "a register"}],
        )
    )
    truth = np.random.default_rng(3).integers(0, 9, config.universe.size)
    tables = []
    for event in plan_events(config):
        sums = Margin(event.table, event.coarsening).sums(config.universe, truth)
        noisy = sums + draw_noise(np.random.default_rng(4), event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    measurements = Measurements(config.release.id, config.hash, tuple(tables))
    first, second = (Redrawing(measurements, config) for _ in range(2))
    again = first.redraw(0), second.redraw(0)
    assert np.array_equal(again[0].truth, again[1].truth)
    assert np.array_equal(again[0].errors, again[1].errors)
    other = first.redraw(1)
    assert not np.array_equal(again[0].truth, other.truth)
    male = config.universe.members(config.public_totals[0].where)
    for redraw in (again[0], other):
        assert redraw.truth[male].sum() == redraw.published[male].sum() == 90
        assert redraw.cell_noise.shape == redraw.truth.shape
