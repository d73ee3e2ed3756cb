"""Noise on every cell and what is usually done with it; the law of the noise.

All yardsticks of this folder draw two-sided geometric noise where whole counts are measured: at a
large budget it has less variance than the continuous Laplace noise of the papers, so nobody
is made worse than published. Drawn in floating point with a seed: for a benchmark only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines import simplex_projection

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def discrete_laplace(
    generator: np.random.Generator, epsilon: float, size: int | tuple[int, ...]
) -> Ints:
    """P(k) in proportion to exp(-epsilon |k|)."""
    success = -np.expm1(-epsilon)
    return generator.geometric(success, size) - generator.geometric(success, size)


def variance(epsilon: float) -> float:
    """The variance of `discrete_laplace`: 2 a / (1 - a)^2 with a = exp(-epsilon)."""
    return float(0.5 / np.sinh(0.5 * epsilon) ** 2)


def identity(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """Noisy cells as they are, negative ones included."""
    return (truth + discrete_laplace(generator, epsilon, truth.shape)).astype(np.float64)


def clipped(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """Noisy cells, negative ones set to zero."""
    return np.maximum(identity(truth, epsilon, generator), 0.0)


def simplex(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """The nearest non-negative table with the noisy total."""
    noisy = identity(truth, epsilon, generator)
    return simplex_projection(noisy.reshape(-1)).reshape(truth.shape)
