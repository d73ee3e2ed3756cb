"""The posterior of one count, given its noisy value and its mean under the model."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

Floats = NDArray[np.float64]

_LOWEST = -20.0
_STEP = 0.1
"""The grid of log m: its lowest point and its step."""
_TAIL = 36.0
"""exp(-36) is below the resolution of float64: noise beyond 36 scales carries no weight."""


SHAPES = (math.inf, 32.0, 8.0, 2.0, 0.5)
"""The shapes of the prior's components, from Poisson to very heavy tails."""


class CellPosterior:
    """The exact discrete Laplace likelihood of a table, with a mixture of priors on the counts.

    A cell with mean m has count x with P(x) = sum_j w_j P_j(x); P_j is negative binomial with mean
    m and variance m + m^2 / r_j (Poisson for infinite r_j). The noisy value y has
    P(y | x) = (1-a)/(1+a) a^|y-x|, a = exp(-decay). Then

        L_j(y | m) = sum_x P_j(x) P(y | x),     L = sum_j w_j L_j,
        E_j(y, m) = sum_x x P_j(x) P(y | x) / L_j,     E = sum_j w_j L_j E_j / L,
        d log L / d log m = sum_j (w_j L_j / L) (E_j - m) r_j / (r_j + m).

    All are tabulated once on a grid of log m for y = 0 ... cut, by two running sums over x, and
    looked up by linear interpolation. For y <= 0 the posterior is that of y = 0 (the likelihood of
    every x >= 0 falls by the same factor). Above the cut, log P_j is expanded to second order
    around its most probable count, where it is smooth on the scale of the noise.
    """

    def __init__(self, noisy_counts: NDArray[np.int64], *, decay: float) -> None:
        self.decay = decay
        self.cut = max(64, math.ceil(20.0 / decay))
        self._level = np.clip(noisy_counts, 0, self.cut).astype(np.int64)
        self._large = np.flatnonzero(noisy_counts > self.cut)
        self._large_counts = noisy_counts[self._large].astype(np.float64)
        self._parts = self._tabulate()
        self.reweigh(np.full(len(SHAPES), 1.0 / len(SHAPES)))

    def _tabulate(self) -> list[tuple[Floats, Floats, Floats]]:
        """Log likelihood, posterior mean and derivative of every component, on the grid."""
        last = self.cut + math.ceil(_TAIL / self.decay)
        self._rows = math.ceil((math.log(4.0 * last) - _LOWEST) / _STEP) + 1
        grid = _LOWEST + _STEP * np.arange(self._rows)
        count = np.arange(last + 1, dtype=np.float64)
        a = math.exp(-self.decay)
        parts = []
        for shape in SHAPES:
            log_prior = log_prior_of(count[None, :], grid[:, None], shape)
            peak = log_prior.max(axis=1)
            prior = np.exp(log_prior - peak[:, None])
            weight = _convolve(prior, self.decay, self.cut)
            mean = _convolve(prior * count, self.decay, self.cut) / weight
            log = np.log(weight) + (peak + math.log((1.0 - a) / (1.0 + a)))
            parts.append((log, mean, (mean - np.exp(grid)) / (1.0 + np.exp(grid) / shape)))
        return parts

    def reweigh(self, weights: Floats) -> None:
        """Set the weights of the components."""
        self.weights = weights
        log = np.full(self._parts[0][0].shape, -np.inf)
        for weight, (part, _, _) in zip(weights, self._parts, strict=True):
            if weight > 0.0:
                log = np.logaddexp(log, part + math.log(weight))
        mean, slope = np.zeros(log.shape), np.zeros(log.shape)
        for weight, (part, part_mean, part_slope) in zip(weights, self._parts, strict=True):
            share = weight * np.exp(part - log)
            mean += share * part_mean
            slope += share * part_slope
        self._log, self._mean, self._slope = log.reshape(-1), mean.reshape(-1), slope.reshape(-1)

    def evaluate(self, log_mean: Floats) -> tuple[Floats, Floats, Floats]:
        """Log likelihood (up to a constant of each cell), its derivative, and posterior mean."""
        row, place = self._locate(log_mean)
        out = []
        for table in (self._log, self._slope, self._mean):
            low = table[row]
            out.append(low + (table[row + 1] - low) * place)
        log, slope, mean = out
        below = log_mean < _LOWEST
        if below.any():
            factor = np.exp(np.maximum(log_mean[below], -700.0) - _LOWEST)
            slope[below] *= factor
            mean[below] *= factor
        top = _LOWEST + _STEP * (self._rows - 1)
        above = log_mean > top
        if above.any():
            excess = np.expm1(log_mean[above] - top)
            log[above] += slope[above] * excess
            slope[above] *= 1.0 + excess
        if self._large.size:
            logs, slopes, means = self._large_parts(log_mean[self._large])
            total, share = _mix(logs, self.weights)
            log[self._large] = total
            slope[self._large] = (share * slopes).sum(axis=0)
            mean[self._large] = (share * means).sum(axis=0)
        return log, slope, mean

    def responsibilities(self, log_mean: Floats, cells: NDArray[np.int64]) -> Floats:
        """How many of the given cells each component explains, under the present weights."""
        row, _ = self._locate(log_mean)
        small = np.ones(log_mean.size, dtype=bool)
        small[self._large] = False
        chosen = np.zeros(log_mean.size, dtype=bool)
        chosen[cells] = True
        at = row[small & chosen]
        logs = np.stack([log.reshape(-1)[at] for log, _, _ in self._parts])
        counted = _mix(logs, self.weights)[1].sum(axis=1)
        kept = chosen[self._large]
        if kept.any():
            logs = self._large_parts(log_mean[self._large])[0][:, kept]
            counted += _mix(logs, self.weights)[1].sum(axis=1)
        return counted

    def _locate(self, log_mean: Floats) -> tuple[NDArray[np.int64], Floats]:
        place = (log_mean - _LOWEST) * (1.0 / _STEP)
        np.clip(place, 0.0, self._rows - 1.000001, out=place)
        row = place.astype(np.int64)
        place -= row
        row += self._level * self._rows
        return row, place

    def _large_parts(self, log_mean: Floats) -> tuple[Floats, Floats, Floats]:
        parts = [_expand(self._large_counts, log_mean, self.decay, shape) for shape in SHAPES]
        logs, means = (np.stack(column) for column in zip(*parts, strict=True))
        expected = np.exp(log_mean)
        slopes = np.stack(
            [(m - expected) / (1.0 + expected / r) for m, r in zip(means, SHAPES, strict=True)]
        )
        return logs, slopes, means


def _mix(logs: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The log of the weighted sum over the first axis, and the share of every part."""
    with np.errstate(divide="ignore"):
        weighted = logs + np.log(weights)[:, None]
    peak = weighted.max(axis=0, initial=-np.inf)
    parts = np.exp(weighted - peak)
    total = parts.sum(axis=0)
    return peak + np.log(total), parts / total


def _expand(y: Floats, log_mean: Floats, decay: float, shape: float) -> tuple[Floats, Floats]:
    """Log likelihood and posterior mean for large noisy values, one component.

    log P is expanded around the most probable count, which is the noisy value itself unless the
    prior falls faster than the noise there. What remains is two half normals, left and right of
    the noisy value.
    """
    mean = np.exp(log_mean)
    # The slope of log P at x is log_ratio + log(1 + x / shape) - log(x).
    log_ratio = log_mean - np.log1p(mean / shape)
    falling = _slope_root(log_ratio, -decay, shape)
    rising = _slope_root(log_ratio, decay, shape)
    centre = np.maximum(np.clip(y, rising, falling), 0.5)
    at_centre = log_prior_of(centre, log_mean, shape)
    slope = log_ratio + np.log1p(centre / shape) - np.log(centre + 0.5)
    curvature = np.maximum(1.0 / centre - 1.0 / (centre + shape), 1e-12)
    away = y - centre
    at_value = at_centre + away * (slope - 0.5 * curvature * away)
    slope -= curvature * away
    width = 1.0 / np.sqrt(curvature)
    right, shift_right = _half_normal((slope - decay) * width)
    left, shift_left = _half_normal(-(slope + decay) * width)
    total = np.logaddexp(right, left)
    shift = width * (np.exp(right - total) * shift_right - np.exp(left - total) * shift_left)
    scale = np.log(width) + math.log(math.tanh(0.5 * decay))
    return at_value + total + scale, np.maximum(y + shift, 0.0)


def _slope_root(log_ratio: Floats, target: float, shape: float) -> Floats:
    """The count at which log P has this slope: log_ratio + log(1 + x / shape) - log(x) = target."""
    inverse = np.exp(np.clip(target - log_ratio, -700.0, 700.0))  # 1 / x + 1 / shape
    rest = inverse - 1.0 / shape
    return np.divide(1.0, rest, out=np.full(rest.shape, np.inf), where=rest > 0.0)


def _half_normal(tilt: Floats) -> tuple[Floats, Floats]:
    """Log integral and mean of exp(tilt t - t^2 / 2) over t > 0."""
    near = np.maximum(tilt, -1e3)
    log_integral = 0.5 * near * near + 0.5 * math.log(2.0 * math.pi) + log_ndtr(near)
    mean = near + np.exp(-log_integral)  # the hazard of the normal distribution at -tilt
    far = tilt < -1e3
    steep = np.where(far, -tilt, 1.0)
    return np.where(far, -np.log(steep), log_integral), np.where(far, 1.0 / steep, mean)


def log_prior_of(count: Floats, log_mean: Floats, shape: float) -> Floats:
    """The log probability of a count under the Poisson or negative-binomial prior."""
    mean = np.exp(log_mean)
    if math.isinf(shape):
        return np.asarray(count * log_mean - mean - gammaln(count + 1.0))
    return np.asarray(
        gammaln(count + shape)
        - gammaln(count + 1.0)
        - math.lgamma(shape)
        + shape * (math.log(shape) - np.log(mean + shape))
        + count * (log_mean - np.log(mean + shape))
    )


def _convolve(weights: Floats, decay: float, cut: int) -> Floats:
    """For y = 0 ... cut (first axis): the sum over x of weights[:, x] exp(-decay |y - x|)."""
    a = math.exp(-decay)
    columns = np.ascontiguousarray(weights.T)
    out = np.empty((cut + 1, columns.shape[1]))
    above = np.zeros(columns.shape[1])
    for x in range(columns.shape[0] - 1, -1, -1):
        if x <= cut:
            out[x] = above
        above += columns[x]
        above *= a
    below = np.zeros(columns.shape[1])
    for y in range(cut + 1):
        below *= a
        below += columns[y]
        out[y] += below
    return out
