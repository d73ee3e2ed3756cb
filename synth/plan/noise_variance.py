"""The variance of the noise of one event, as a number for forecasts."""

from __future__ import annotations

import math

from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

LARGEST_RATE = 256.0
"""Above this rate the sampler draws the noise of 256."""
SMALL_SIGMA_SQUARED = 4.0
"""From here on the discrete Gaussian has the variance sigma^2 to 30 digits."""


def noise_variance(event: TableEvent) -> float:
    """The variance in records squared: exact for Laplace noise and for Gaussian noise."""
    if event.mechanism == GAUSSIAN:
        return gaussian_variance(float(event.sigma_squared))
    return 1 / (2 * math.sinh(min(float(1 / event.noise_scale_records), LARGEST_RATE) / 2) ** 2)


def gaussian_variance(sigma_squared: float) -> float:
    """The variance of P(k) ~ exp(-k^2 / (2 sigma^2)) on whole numbers: a little below sigma^2."""
    if sigma_squared >= SMALL_SIGMA_SQUARED:
        return sigma_squared
    weights = [math.exp(-(k**2) / (2 * sigma_squared)) for k in range(30)]
    squares = sum(k**2 * weight for k, weight in enumerate(weights))
    return max(2 * squares / (2 * sum(weights) - 1), 1e-110)
