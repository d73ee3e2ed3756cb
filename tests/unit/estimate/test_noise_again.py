"""Noise drawn again in floating point: the mean and variance of the published law."""

from fractions import Fraction

import numpy as np
import pytest

from synth.estimate.noise_again import draw_noise
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

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
