"""The tilt: expected counts that agree with noisy sums as far as both are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.solver import Solution, solve
from synth.estimate.sums import NoisyCoefficients, trusted

Floats = NDArray[np.float64]

_ITERATIONS = 200
_TOLERANCE = 1e-5
_LARGEST = 30.0
_PASSES = 4


def tilt(
    sums: NoisyCoefficients, mean: Floats, variance: Floats, *, weigh: bool = True
) -> tuple[Floats, dict[str, Any]]:
    """Move counts with these means and variances towards the noisy sums.

    If a noisy sum with precision p differs by d from the true one, its likelihood is exp(-p d^2/2).
    At the most probable sums this acts on every count x like the factor exp(t x), with
    t = p (noisy sum - expected sum). That moves a mean by t times the variance; here by the
    factor exp(t variance / mean), which is the same for small t, exact for Poisson counts, and
    never negative. The coefficients of t solve t / p = noisy - expected(t).
    """
    ratio = np.divide(variance, mean, out=np.zeros(mean.size), where=mean > 0.0)
    spread = sums.interactions.squares(variance)[sums.places]
    gap = sums.values - sums.of(mean)
    point = np.zeros(sums.places.size)
    for _ in range(_PASSES if weigh else 1):
        firm = trusted(sums, gap, spread) if weigh else sums
        solution = _solve(firm, mean, ratio, point / np.sqrt(firm.precision))
        point = solution.point * np.sqrt(firm.precision)
        left = sums.values - sums.of(_tilted(firm, mean, ratio, point))
        gap = left * (1.0 + spread * firm.precision)
    report = {
        "step": "tilt towards the noisy sums",
        "coefficients": int(sums.places.size),
        "iterations": solution.iterations,
        "stop": solution.stop,
        "promised_gain_nats": solution.promise,
    }
    return _tilted(sums, mean, ratio, point), report


def _tilted(sums: NoisyCoefficients, mean: Floats, ratio: Floats, power: Floats) -> Floats:
    exponent = sums.expand(power) * ratio
    return np.asarray(mean * np.exp(np.clip(exponent, -_LARGEST, _LARGEST)))


def _solve(sums: NoisyCoefficients, mean: Floats, ratio: Floats, start: Floats) -> Solution:
    unit = np.sqrt(sums.precision)

    def field(point: Floats) -> Floats:
        tilted = _tilted(sums, mean, ratio, point * unit)
        return np.asarray(unit * (sums.values - sums.of(tilted)) - point)

    def curvature(point: Floats) -> Floats:
        tilted = _tilted(sums, mean, ratio, point * unit)
        return np.asarray(
            1.0 + sums.precision * sums.interactions.squares(tilted * ratio)[sums.places]
        )

    return solve(
        field,
        start,
        curvature,
        max_iterations=_ITERATIONS,
        tolerance=_TOLERANCE,
        overshoot=0.0,
    )
