"""The prior of one count, given its mean under the model: a mixture of simple laws."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]

SHAPES = (math.inf, 32.0, 8.0, 2.0, 0.5)
"""The shapes r of the negative-binomial components: variance m + m^2 / r, Poisson for infinity."""

WEIGHTS = (0.9, 0.05, 0.03, 0.015, 0.005)
"""What each shape weighs: mostly Poisson, with enough of the others not to distrust a cell that the
model expected too low."""


def spike_weight(cells: int) -> float:
    """The weight of the spike: about one cell of a universe is beyond any model, 1 % at most."""
    return 1.0 / (cells + 100.0)


def log_probability(count: Floats, log_mean: Floats, shape: float | Floats) -> Floats:
    """Log P(count) of the negative binomial with this mean and shape (Poisson for infinity).

    P(x) = Gamma(x + r) / (x! Gamma(r)) (1 + m / r)^-r (m / (m + r))^x.
    """
    mean = np.exp(log_mean)
    if isinstance(shape, float) and math.isinf(shape):
        return np.asarray(count * log_mean - mean - gammaln(count + 1.0), dtype=np.float64)
    log = gammaln(count + shape) - gammaln(count + 1.0) - gammaln(shape)
    log = log - shape * np.log1p(mean / shape) + count * (log_mean - np.log(mean + shape))
    return np.asarray(log, dtype=np.float64)


def slope(count: Floats, log_mean: Floats, shape: float) -> Floats:
    """The derivative of log P with respect to the count, for counts well above 1."""
    mean = np.exp(log_mean)
    rise = np.log1p((count - 0.5) / shape) - np.log(count + 0.5)
    tilt = log_mean - np.log1p(mean / shape) + rise
    return np.asarray(tilt, dtype=np.float64)


def log_spike(count: Floats) -> Floats:
    """The spike: P(x) = 1 / (x (x + 1)) for x >= 1, whatever the mean; no scale of its own."""
    return np.asarray(-np.log(count * (count + 1.0)), dtype=np.float64)
