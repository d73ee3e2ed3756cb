"""The posterior mean of every count, given its noisy value and its mean under the model."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from synth.estimate.solver import inverse

Floats = NDArray[np.float64]

_LOWEST = -20.0
_STEP = 0.1
"""The grid of log m: its lowest point and its step."""
_TAIL = 24.0
"""exp(-24) is 4e-11: counts this many noise scales above the cut carry no weight."""
_CHUNK = 1 << 14
"""Cells that are looked up together, so that what is needed for them stays in the cache."""
_LARGEST_DECAY = 300.0
"""At this decay there is no noise left to speak of (e^-300), and no function overflows yet."""


class CellPosterior:
    """Exact discrete Laplace likelihood, and the mixture of `prior` around the model's mean.

    A cell with mean m has count x with P(x) = sum_j w_j P_j(x), and its noisy value y has
    P(y | x) = (1-a)/(1+a) a^|y-x|, a = exp(-decay). The posterior mean is

        E(y, m) = sum_x x P(x) P(y | x) / sum_x P(x) P(y | x).

    It is tabulated once on a grid of log m for y = 0 ... cut, by two running sums over x, and
    looked up by linear interpolation in log m. For y <= 0 it is that of y = 0: the likelihood of
    every x >= 0 falls by the same factor. A value above the cut of 20 noise scales is not noise:
    there P_j(y), its variance enlarged by that of the noise, says which component explains the
    cell, and E is y plus the noise variance times the slope of log P_j (Tweedie's formula), the
    slope bounded by half the decay.
    """

    def __init__(
        self, noisy_counts: NDArray[np.int64], *, decay: float, cells: int | None = None
    ) -> None:
        """Tabulate for these noisy counts; `decay` is epsilon over sensitivity.

        `cells` is the size of the universe, if these are only some of its counts.
        """
        self.decay = min(decay, _LARGEST_DECAY)
        self.cut = max(64, math.ceil(20.0 / self.decay))
        self._spike = spike_weight(noisy_counts.size if cells is None else cells)
        self.mixture = USUAL
        self._large = np.flatnonzero(noisy_counts > self.cut)
        self._large_counts = noisy_counts[self._large].astype(np.float64)
        self._rows, starts, self._mean = self._tabulate()
        self._rise = np.diff(self._mean, append=0.0)
        self._starts = starts
        # The table holds the grid points of one run of noisy values after those of another.
        run = np.searchsorted(starts, np.clip(noisy_counts, 0, self.cut), side="right") - 1
        self._run = run.astype(np.int64) * self._rows

    def mean(self, log_mean: Floats) -> Floats:
        """The posterior mean of every cell."""
        mean = np.empty(log_mean.size)
        for start in range(0, mean.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            place = self.place(log_mean[part])
            np.clip(place, 0.0, self._rows - 1.000001, out=place)
            row = place.astype(np.int64)
            place -= row
            row += self._run[part]
            place *= self._rise.take(row)
            np.add(place, self._mean.take(row), out=mean[part])
        if self._large.size:
            mean[self._large] = self.large_mean(self._large_counts, log_mean[self._large])
        return mean

    @property
    def table(self) -> tuple[NDArray[np.int64], Floats]:
        """Where the runs of noisy counts start, with the end of the last, and their means.

        Shapes: one row of means per run, one column per point of the grid of log means.
        """
        return self._starts, self._mean.reshape(-1, self._rows)

    def place(self, log_mean: Floats) -> Floats:
        """Where log means lie on the grid, in steps from its lowest point."""
        return (log_mean - _LOWEST) * (1.0 / _STEP)

    def learned(self, log_mean: Floats, possible: NDArray[np.bool_]) -> CellPosterior:
        """The same with the mixture under which the noisy counts are likeliest, given log means.

        Cells count together by their noisy count and the nearest log mean of the grid; `possible`
        are those that count.
        """
        place = np.rint(self.place(log_mean))
        np.clip(place, 0, self._rows - 1, out=place)
        index = place.astype(np.int64) + self._run
        is_large = np.zeros(possible.size, dtype=bool)
        is_large[self._large] = True
        number = np.bincount(index[possible & ~is_large], minlength=self._mean.size)
        large = possible[self._large]
        return self.learned_from(number, self._large_counts[large], log_mean[self._large[large]])

    def learned_from(
        self, number: NDArray[np.int64], large_counts: Floats, large_means: Floats
    ) -> CellPosterior:
        """The same from the numbers of cells at every entry of `table`.

        Of counts beyond it, each has its own log mean. The shapes are those of `WIDER`.
        """
        before = self.mixture if self.mixture.shapes == WIDER.shapes else WIDER
        seen = np.flatnonzero(number)
        logs = self._large_logs(before.shapes, large_counts, large_means)
        logs -= logs.max(axis=0, initial=-np.inf)
        likelihoods = [self._noisy_likelihood(shape).reshape(-1)[seen] for shape in before.shapes]
        likelihood = np.concatenate([np.stack(likelihoods), np.exp(logs)], axis=1)
        often = np.append(number.reshape(-1)[seen], np.ones(large_counts.size)).astype(np.float64)
        return self.mixed(before.learned(likelihood, often))

    def mixed(self, mixture: Mixture) -> CellPosterior:
        """The same with another mixture."""
        found = copy.copy(self)
        found.mixture = mixture
        found._rows, _, found._mean = found._tabulate()
        found._rise = np.diff(found._mean, append=0.0)
        return found

    def _parts(self) -> list[tuple[float, float]]:
        """The shape and the weight of every part but the spike."""
        parts = zip(self.mixture.shapes, self.mixture.weights, strict=True)
        return [(shape, (1.0 - self._spike) * weight) for shape, weight in parts]

    def _grid(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Where runs of counts start, the count in the middle of each, and the log means."""
        last = self.cut + math.ceil(_TAIL / self.decay)
        rows = math.ceil((math.log(4.0 * last) - _LOWEST) / _STEP) + 1
        grid: Floats = np.linspace(_LOWEST, _LOWEST + _STEP * (rows - 1), rows)[None, :]
        starts = starts_of_runs(last, self.decay)
        count = (starts[:-1] + 0.5 * (np.diff(starts) - 1))[:, None]
        return starts, count, grid

    def _noisy_likelihood(self, shape: float) -> Floats:
        """The probability of every noisy count on the grid, but for one factor, for one shape."""
        starts, count, grid = self._grid()
        probability = np.exp(log_probability(count, grid, shape)) * np.diff(starts)[:, None]
        return blur(probability, *self._fading(starts, count))

    def _fading(self, starts: NDArray[np.int64], count: Floats) -> tuple[Floats, int]:
        values = int(np.searchsorted(starts, self.cut, side="right"))
        return np.exp(-self.decay * np.diff(count[:, 0])), values

    def _tabulate(self) -> tuple[int, NDArray[np.int64], Floats]:
        starts, count, grid = self._grid()
        log = np.full((count.size, grid.size), -np.inf)
        for shape, weight in self._parts():
            np.logaddexp(log, log_probability(count, grid, shape) + math.log(weight), out=log)
        spike = log_spike(count[1:]) + math.log(self._spike)
        np.logaddexp(log[1:], spike, out=log[1:])
        log += np.log(np.diff(starts))[:, None]
        log -= log.max(axis=0)
        probability = np.exp(log, out=log)
        fading, values = self._fading(starts, count)
        total = blur(probability, fading, values)
        probability *= count
        mean = blur(probability, fading, values) / total
        return grid.size, starts[: values + 1], mean.reshape(-1)

    def large_mean(self, noisy_counts: Floats, log_mean: Floats) -> Floats:
        """The posterior mean of cells with noisy counts above the cut."""
        y, parts = noisy_counts, self._parts()
        logs = self._large_logs([shape for shape, _ in parts], y, log_mean)
        half = 0.5 * self.decay
        means = []
        for shape, _ in parts:
            tilt = np.clip(slope(y, log_mean, shape), -half, half)
            means.append(y + self._noise_variance * tilt)
        weights = np.array([*(weight for _, weight in parts), self._spike])
        _, share = _mix(np.concatenate([logs, log_spike(y)[None]]), weights[:, None])
        share *= np.stack([*means, y])
        return np.asarray(share.sum(axis=0), dtype=np.float64)

    @property
    def _noise_variance(self) -> float:
        return 0.5 / math.sinh(0.5 * self.decay) ** 2  # 2 a / (1 - a)^2

    def _large_logs(self, shapes: Sequence[float], y: Floats, log_mean: Floats) -> Floats:
        """For every shape the log probability of counts y, with the variance of the noise."""
        relative = self._noise_variance / (y * y)
        return np.stack(
            [log_probability(y, log_mean, 1.0 / (1.0 / shape + relative)) for shape in shapes]
        )


def _mix(logs: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The log of the weighted sum over the first axis, and the share of every part."""
    weighted = logs + np.log(weights)
    peak = weighted.max(axis=0)
    parts = np.exp(weighted - peak)
    total = parts.sum(axis=0)
    return np.asarray(peak + np.log(total)), np.asarray(parts / total)


def starts_of_runs(last: int, decay: float) -> NDArray[np.int64]:
    """Where runs of counts start that are summed as one, from 0 to beyond `last`.

    Single counts as long as 2 % of the noise's scale is less than two records. For smaller budgets
    runs of up to that length, and of up to a quarter of a Poisson deviation.
    """
    starts = [0]
    while starts[-1] <= last:
        longest = min(0.25 * math.sqrt(starts[-1]), 0.02 / decay)
        starts.append(starts[-1] + max(1, math.floor(longest)))
    return np.array(starts, dtype=np.int64)


def blur(weights: Floats, fading: Floats, values: int) -> Floats:
    """For every noisy value: the sum over counts of the weight times exp(-decay * distance).

    `fading[i]` is exp(-decay * distance) of the runs i and i + 1; the first `values` runs are kept.
    """
    out = np.empty((values, weights.shape[1]))
    above = np.zeros(weights.shape[1])
    for x in range(weights.shape[0] - 1, -1, -1):
        if x < values:
            out[x] = above
        above += weights[x]
        if x:
            above *= fading[x - 1]
    below = np.zeros(weights.shape[1])
    for y in range(values):
        if y:
            below *= fading[y - 1]
        below += weights[y]
        out[y] += below
    return out


# The prior of one count, given its mean under the model: a mixture of simple laws.


SHAPES = (math.inf, 32.0, 8.0, 2.0, 0.5)
"""The shapes r of the negative-binomial components: variance m + m^2 / r, Poisson for infinity."""

WEIGHTS = (0.9, 0.05, 0.03, 0.015, 0.005)
"""What each shape weighs: mostly Poisson, with enough of the others not to distrust a cell that the
model expected too low."""


@dataclass(frozen=True)
class Mixture:
    """Shapes of negative binomials, and what each weighs."""

    shapes: tuple[float, ...]
    weights: tuple[float, ...]

    def learned(self, likelihood: Floats, number: Floats) -> Mixture:
        """The same shapes, weighed so that what was seen is likely.

        `likelihood` has a row for each shape, but for factors that its columns have in common;
        `number` says how often every column was seen. The weights maximize the likelihood times a
        Dirichlet density around those of before, a concave problem, by Newton's method.
        """
        remembered = _REMEMBERED_CELLS * np.array(self.weights)
        weights = np.array(self.weights)

        def value(w: Floats) -> float:
            mixed = (w[:, None] * likelihood).sum(axis=0)
            return float((number * np.log(np.maximum(mixed, 1e-300))).sum()) + float(
                (remembered * np.log(w)).sum()
            )

        now = value(weights)
        for _ in range(_LEARNING_ROUNDS):
            mixed = np.maximum((weights[:, None] * likelihood).sum(axis=0), 1e-300)
            parts = likelihood / mixed
            slope_of = (number * parts).sum(axis=1) + remembered / weights
            bend = np.einsum("jn,kn->jk", number * parts, parts)
            over = inverse(bend + np.diag(remembered / weights**2))
            step = (over * slope_of).sum(axis=1)
            ones = over.sum(axis=1)
            step -= ones * (step.sum() / ones.sum())
            gain = float((step * slope_of).sum())
            if gain < _LEARNED:
                break
            falling = step < 0.0
            size = min(1.0, 0.95 * float((weights[falling] / -step[falling]).min(initial=2.0)))
            while (then := value(weights + size * step)) < now + 1e-4 * size * gain and size > 1e-6:
                size *= 0.5
            weights, now = weights + size * step, then
        return Mixture(self.shapes, tuple((weights / weights.sum()).tolist()))


_LEARNING_ROUNDS, _LEARNED = 50, 1e-3
_REMEMBERED_CELLS = 10.0
"""Learned weights count as many cells that were seen before as well."""
USUAL = Mixture(SHAPES, WEIGHTS)
WIDER = Mixture((*SHAPES, 0.125, 0.03, 0.008), (0.6, 0.05, 0.05, 0.1, 0.1, 0.05, 0.03, 0.02))
"""Where it is learned how far counts vary around what a model of few columns expects."""


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
