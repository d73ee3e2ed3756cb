"""Anchoring: where the estimate contradicts the noisy sums, move towards them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from synth.estimate.interactions import Interactions
from synth.estimate.solver import Map, Solution, divided_by, solve
from synth.estimate.sums import NoisyCoefficients, one_way_sums, trusted

Floats = NDArray[np.float64]

_SWEEPS, _SWEEPS_OF_TOTAL = 20, 100
_LARGEST = 30.0
"""The largest logarithm of a factor in one step."""
_LEAST_SHARE = 1e-3
"""Where the values of a sum are surer than this, it is not moved all the way."""
_SETTLED = 1e-9
_MISFIT_DEVIATIONS = 4.0
"""A mean square this many standard deviations above its expectation is a misfit."""
FALSE_ALARM = 0.01
"""How often true sums would be taken for a contradiction, in any of the one-way tables."""


@dataclass(frozen=True, eq=False)
class NoisySums:
    """The noisy table as it is seen by its sums: 0 on impossible cells, equal noise elsewhere."""

    interactions: Interactions
    noisy: Floats
    possible: NDArray[np.bool_]
    noise_variance: float

    def misfit(self, values: Floats) -> float:
        """Mean square of the differences in all sums over up to two attributes, in noise units.

        Measured on the orthonormal coefficients, where the noise of every sum is independent and
        has the variance of a cell: about 1 if the values have the true sums.
        """
        low = self.interactions.order <= 2
        gap = self.interactions.forward(self.noisy - values)[low]
        share = max(1.0 / self.possible.size, float(self.possible.mean()))
        return float((gap * gap).mean()) / (self.noise_variance * share)

    def misfit_limit(self) -> float:
        """What the misfit of true sums exceeds only by a rare accident."""
        coefficients = int((self.interactions.order <= 2).sum())
        return 1.0 + _MISFIT_DEVIATIONS * math.sqrt(2.0 / coefficients)

    def anchor(self, values: Floats, ratio: Floats) -> tuple[Floats, dict[str, Any]]:
        """Rake to the one-way sums that the values contradict; the total stays.

        For a table of k sums with differences d from the noisy ones, in units of their noise, the
        sum of d^2 is about chi-square with k degrees of freedom for true sums. If it is so large
        that this would happen by chance in one of a hundred universes (in any of its tables), what
        the mean of d^2 has above 1 is taken for the error of the values, t^2, and the sums move
        towards the noisy ones by the share t^2 / (t^2 + 1).

        A value is moved by a factor exp(t r), r the `ratio` of its variance to it, the same t for
        all values of a sum: uncertain values bear the difference, certain ones stay (see `tilt`).
        """
        shape = self.interactions.shape
        tables: list[tuple[int, Floats, float]] = []
        for axis, size in enumerate(shape):
            if size < 2:
                continue
            wanted, weight = self._wanted(values, axis)
            if weight > 0.0:
                tables.append((axis, wanted, weight))
        table = values.reshape(shape).copy()
        slope = ratio.reshape(shape)
        for _ in range(_SWEEPS if tables else 0):
            largest = 0.0
            for axis, wanted, _ in tables:
                largest = max(largest, _step(table, slope, wanted, axis))
            if largest < _SETTLED:
                break
        report = {
            "step": "anchor to noisy sums that the fit contradicts",
            "one_way_shares": {str(axis): weight for axis, _, weight in tables},
        }
        return table.reshape(-1), report

    def _wanted(self, values: Floats, axis: int) -> tuple[Floats, float]:
        shape = self.interactions.shape
        now = _one_way(values.reshape(shape), axis)
        cells = _one_way(self.possible.reshape(shape).astype(np.float64), axis)
        noise = np.sqrt(self.noise_variance * np.maximum(cells, 1.0))
        gap = (_one_way(self.noisy.reshape(shape), axis) - now) / noise
        gap[cells == 0.0] = 0.0
        share = share_of(gap, FALSE_ALARM / len(shape))
        wanted = np.maximum(now + share * gap * noise, 0.0)
        total = float(wanted.sum())
        if total <= 0.0:
            return now, 0.0
        return wanted * (float(now.sum()) / total), share


def move_to_total(values: Floats, ratio: Floats, total: float) -> tuple[Floats, dict[str, Any]]:
    """Values moved to a total, in records; `ratio` is that of their variances to them.

    What there is too much is taken from uncertain values, as in `NoisySums.anchor`: there noise was
    taken for records. What there is too little is missing everywhere alike.
    """
    moved, before = values.reshape(1, -1).copy(), float(values.sum())
    slope = np.ones(values.size) if total > before else ratio
    for _ in range(_SWEEPS_OF_TOTAL):
        if _step(moved, slope.reshape(1, -1), np.array([total]), 0) < _SETTLED:
            break
    after = float(moved.sum())
    report = {"step": "move to the number of records", "fitted": before, "moved_to": after}
    return moved.reshape(-1), report


def _one_way(table: Floats, axis: int) -> Floats:
    rest = tuple(i for i in range(table.ndim) if i != axis)
    return np.asarray(table.sum(axis=rest), dtype=np.float64)


def _step(table: Floats, ratio: Floats, wanted: Floats, axis: int) -> float:
    """One step of Newton, in place, towards the wanted sums; how far they were off, relatively.

    For equal ratios the step of a logarithm is exact.
    """
    now = _one_way(table, axis)
    slope = _one_way(table * ratio, axis)
    share = np.divide(slope, now, out=np.ones(now.size), where=now > 0.0)
    aim = np.divide(wanted, now, out=np.ones(now.size), where=now > 0.0)
    if not np.any(aim != 1.0):
        return 0.0
    with np.errstate(divide="ignore"):
        step = np.clip(np.log(aim) / np.maximum(share, _LEAST_SHARE), -_LARGEST, _LARGEST)
    step = step.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
    table *= np.exp(np.clip(step * ratio, -_LARGEST, _LARGEST))
    return float(np.abs(aim - 1.0).max())


def share_of(gap: Floats, false_alarm: float) -> float:
    """How far to move: 0, or the share of the squared gap that noise does not explain."""
    square = float((gap * gap).sum())
    limit = float(chdtri(gap.size, false_alarm))
    mean = square / gap.size
    return (mean - 1.0) / mean if square > limit else 0.0


# The tilt: expected counts that agree with noisy sums as far as both are known.


_ITERATIONS = 200
_TOLERANCE = 1e-5
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
    spread = sums.squares(variance)
    gap = sums.values - sums.of(mean)
    point = np.zeros(sums.places.size)
    for _ in range(_PASSES if weigh else 1):
        precision = trusted(sums, gap, spread).precision if weigh else sums.precision
        unit = np.sqrt(precision)
        solution = _solve(sums, unit, mean, ratio, point / unit)
        point = solution.point * unit
        left = sums.values - sums.of(_tilted(sums, mean, ratio, point))
        gap = left * (1.0 + spread * precision)
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


def _solve(
    sums: NoisyCoefficients, unit: Floats, mean: Floats, ratio: Floats, start: Floats
) -> Solution:
    """The coefficients of t over `unit`, the roots of the precisions p."""

    def field(point: Floats) -> Floats:
        tilted = _tilted(sums, mean, ratio, point * unit)
        return np.asarray(unit * (sums.values - sums.of(tilted)) - point)

    singles = sums.singles

    def divider(point: Floats) -> Map:
        variance = _tilted(sums, mean, ratio, point * unit) * ratio
        if singles is None:
            return divided_by(1.0 + unit * unit * sums.squares(variance))
        single = one_way_sums(variance, sums.interactions.shape)
        return singles.divider_in_units([single[each.axis] for each in singles.axes], unit)

    return solve(
        field,
        start,
        divider,
        max_iterations=_ITERATIONS,
        tolerance=_TOLERANCE,
        overshoot=0.0,
    )
