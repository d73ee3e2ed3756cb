"""Noise of the published law, drawn again in floating point: for simulations, never for a release.

What is drawn here protects nothing. It stands for the noise of measurements that are already made,
of which the law is public and the outcome is not, and it comes from a public seed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from synth.estimate.listed.reproducible import log
from synth.planning.noise_sums import laplace_rate
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

Ints = NDArray[np.int64]

WIDE_SIGMA = 1000.0
"""From here on a rounded normal number is a discrete Gaussian one to within 10^-7 of its law."""


def draw_noise(generator: np.random.Generator, event: TableEvent, cells: int) -> Ints:
    """So many numbers of the law of the event's noise, to eight digits."""
    drawn = _draw_one(generator, event, cells)
    for _ in range(event.summed - 1):
        drawn += _draw_one(generator, event, cells)
    return drawn


def _draw_one(generator: np.random.Generator, event: TableEvent, cells: int) -> Ints:
    """Of the noises that are summed, one in every cell."""
    if event.mechanism != GAUSSIAN:
        rate = laplace_rate(event)
        return _geometric(generator, rate, cells) - _geometric(generator, rate, cells)
    sigma = math.sqrt(event.sigma_squared)
    if sigma >= WIDE_SIGMA:
        return np.rint(generator.normal(0.0, sigma, cells)).astype(np.int64)
    reach = math.ceil(10 * sigma) + 1
    steps = np.arange(-reach, reach + 1)
    cumulative = np.cumsum(np.exp(-((steps / sigma) ** 2) / 2))
    places = np.searchsorted(cumulative, generator.random(cells) * cumulative[-1], side="right")
    drawn: Ints = steps[np.minimum(places, len(steps) - 1)]
    return drawn


def _geometric(generator: np.random.Generator, rate: float, size: int) -> Ints:
    """Numbers k >= 0 with chances in proportion to exp(-rate k), the same on every processor."""
    share = 1.0 - generator.random(size)  # in (0, 1], a multiple of 2^-53
    return np.floor(log(share) * (-1.0 / rate)).astype(np.int64)
