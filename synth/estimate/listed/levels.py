"""What the noisy table of one column says about the count of every level.

Noise is alike in every level; counts are not. Many levels are empty, and neighbours on an ordered
axis are often alike. Both are prior knowledge about any table, and how far it is true of this one
is to be seen in it. The model, all of whose numbers are those of the largest likelihood:

* Beside every ordered level stands a *base*, a number of records. From level to level it stays, or
  moves by a random factor, at five scales; or it jumps anywhere. A base of zero stays until a jump,
  so that empty levels come in runs.
* A count varies about its base like a Poisson variable, or by 10 or 40 % more; or it *stands out*
  and is anything, without moving the base: a spike.
* Whatever jumps or stands out is drawn from one distribution of counts, with an atom at zero. It is
  smoothed, so that the counts of this very table do not become its only values (expectation,
  maximisation and smoothing; Silverman, Jones, Wilson, Nychka 1990).

Levels without an order all stand out, so they share nothing but that distribution (an empirical
Bayes estimate; Robbins 1956): empty levels are found, and the others left as they are. The base is
a hidden Markov chain on a grid of some two hundred values; forward and backward passes give the
exact posterior (Rabiner 1989). The counts are known to add up to the number of records, which acts
on every count x like a factor exp(t x): the one t is found at which posterior means add up to it.

All of it in `reproducible` arithmetic: sums in a fixed order, the same bits on every processor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.listed.reproducible import exp, log

Floats = NDArray[np.float64]

MOST_LEVELS = 10_000
"""Of more, neighbours are not asked about each other: passes would take minutes. So many are
looked at together."""
MOST_ALONE = 200_000
"""A larger table is only projected onto the numbers >= 0."""
_SPACING = 0.08
"""The grid: from a value to the next one, as a part of it, or of half the noise if that is more."""
_REACHES = (0, 1, 2, 4, 8)
"""Scales of a move: uniform over so many steps of the grid to both sides."""
_ROUGHNESS = (0.0, 0.1, 0.4)
"""Standard deviation of a count about its base beyond Poisson, as a part of the base."""
_ZERO = 0.3
"""Weight of zero in the prior distribution of counts that stand out; it is even on the grid."""
_PRIOR = 2.0
"""How many counts that prior is worth."""
_SMOOTHED = 2
"""Steps of the grid over which the distribution is smoothed, twice."""
_STANDING_OUT = 0.05
_ROUNDS, _FEWEST_ROUNDS = 15, 5
_MOST_WORK, _MOST_WORK_ALONE = 2e9, 2e8
"""Levels times pairs of values of the grid times rounds, or values alone without an order: bounds
the time to some seconds."""
_UNTILTED = 3
"""Rounds before the total is looked at."""
_LARGEST_STEP = 0.5
"""Of the power of the total in one round, by the standard deviation of the noise."""
_LEAST_VARIANCE = 0.25
"""With less noise there is nothing to be gained: counts are whole."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The posterior of the counts. `mean` is >= 0 and sums to the total; units: records."""

    mean: Floats
    variance: Floats


def posterior_of_levels(noisy: Floats, variance: float, total: float, *, ordered: bool) -> Levels:
    """What counts >= 0 with this sum have these noisy values.

    `variance` is that of the noise of every level, which is taken for normal. `ordered`: whether
    levels next to each other are likely to be alike.

    Ensures: deterministic, the same bits on every processor. Without an order, equal noisy values
    get equal means, whatever their places.
    """
    if not 2 <= noisy.size <= MOST_ALONE or variance < _LEAST_VARIANCE or total <= 0.0:
        return Levels(simplex(noisy, total), np.full(noisy.size, variance))
    ordered = ordered and noisy.size <= MOST_LEVELS
    model = _Model(noisy, math.sqrt(variance), ordered)
    most = _MOST_WORK / model.grid.size if ordered else _MOST_WORK_ALONE
    rounds = int(np.clip(most / (noisy.size * model.grid.size), _FEWEST_ROUNDS, _ROUNDS))
    for number in range(rounds):
        found = model.posterior()
        if number + 1 < rounds:
            model.learn()
            if number + 1 >= _UNTILTED:
                model.tilt(total - float(_sum(found.mean)))
    return Levels(_with_total(found.mean, found.variance, total), found.variance)


def simplex(values: Floats, total: float) -> Floats:
    """The nearest numbers >= 0 with this sum: all lowered alike and cut at zero."""
    return _with_total(values, np.ones(values.size), total)


def _with_total(values: Floats, variances: Floats, total: float) -> Floats:
    """max(0, value + t variance) for the one t that gives the sum."""
    if total <= 0.0:
        return np.zeros(values.size)
    largest = float(variances.max())
    weights = np.maximum(variances, 1e-9 * largest) if largest > 0.0 else np.ones(values.size)
    empty_at = -values / weights
    order = np.argsort(empty_at, kind="stable")
    power = (total - np.cumsum(values[order])) / np.cumsum(weights[order])
    filled = np.flatnonzero(power > empty_at[order])
    last = int(filled[-1]) if filled.size else 0  # a total that is lost in rounding
    return np.asarray(np.maximum(values + power[last] * weights, 0.0))


def _sum(values: Floats) -> Floats:
    """Over the last axis, one by one: the order of terms is the same everywhere."""
    return np.asarray(np.cumsum(values, axis=-1)[..., -1])


class _Model:
    """The distributions, and what is expected of every level under them.

    Axes: levels, values of the grid. `kinds` are the ways in which a count varies about its base.
    """

    def __init__(self, noisy: Floats, deviation: float, ordered: bool) -> None:
        """Start where moves of all scales are as likely as jumps, and few counts stand out."""
        self._noisy, self._deviation, self._ordered = noisy, deviation, ordered
        self.grid = _grid(max(float(noisy.max()), 0.0) + 2.0 * deviation, deviation)
        size = self.grid.size
        self._prior = np.full(size, (1.0 - _ZERO) / (size - 1))
        self._prior[0] = _ZERO
        self._anywhere = self._prior
        self._roughness = (0.5 * _SPACING, *(_ROUGHNESS if ordered else ()))
        kinds = len(_ROUGHNESS)
        self._kinds = np.array([1.0 - kinds * _STANDING_OUT, *[_STANDING_OUT] * (kinds - 1)])
        self._out = _STANDING_OUT if ordered else 1.0
        self._moves = _moves(size) if ordered else np.zeros((0, size, size))
        self._scales = np.full(len(self._moves) + 1, 1.0 / (len(self._moves) + 1))
        self._power = 0.0
        self._steps: list[tuple[float, float]] = []

    def posterior(self) -> Levels:
        """Means and variances of all counts under the distributions as they are."""
        if not self._ordered:
            self._counts = np.zeros(self.grid.size)
            starts = range(0, self._noisy.size, MOST_LEVELS)
            blocks = [self._posterior_of(slice(each, each + MOST_LEVELS)) for each in starts]
            mean, square = (np.concatenate(part) for part in zip(*blocks, strict=True))
        else:
            mean, square = self._posterior_of(slice(None))
        self._found = Levels(mean, np.maximum(square - mean * mean, 0.0))
        return self._found

    def _posterior_of(self, levels: slice) -> tuple[Floats, Floats]:
        """Means of the counts of these levels and of their squares; adds to what is counted."""
        seen, means, squares = self._seen(self._noisy[levels])
        alone = seen[0] * self._anywhere
        out = _sum(alone)
        alone /= out[:, None]
        mean, square = _sum(alone * means[0]), _sum(alone * squares[0])
        if not self._ordered:
            self._counts += alone.sum(axis=0)
        else:
            about = self._kinds[:, None, None] * seen[1:]
            likely = about.sum(axis=0) + self._out * out[:, None]
            bases = self._passes(likely) / likely
            each = bases * about
            stand_out = self._out * out * _sum(bases)
            mean = _sum((each * means[1:]).sum(axis=0)) + stand_out * mean
            square = _sum((each * squares[1:]).sum(axis=0)) + stand_out * square
            self._shares = _sum(_sum(each)), float(_sum(stand_out))
            self._counts += (stand_out[:, None] * alone).sum(axis=0)
        return mean, square

    def _seen(self, noisy: Floats) -> tuple[Floats, Floats, Floats]:
        """For every kind, level and base: likelihood, and mean of the count and of its square.

        A count about a base b has the variance r = b + (roughness b)^2, so the noisy one r + v,
        and what is expected of the count is b + (noisy - b) r / (r + v).
        """
        base, noise = self.grid, self._deviation * self._deviation
        logs, means, squares = [], [], []
        for roughness in self._roughness:
            varies = base + (roughness * base) * (roughness * base)
            both = varies + noise
            off = noisy[:, None] - base
            left = varies * noise / both
            mean = base + off * (varies / both)
            tilted = self._power * (mean + (0.5 * self._power) * left)
            logs.append(tilted - 0.5 * off * off / both - 0.5 * log(both))
            mean = np.maximum(mean + self._power * left, 0.0)
            means.append(mean)
            squares.append(mean * mean + left)
        stacked = np.array(logs)
        stacked -= stacked.max(axis=(0, 2))[:, None]
        return exp(stacked), np.array(means), np.array(squares)

    def _passes(self, likely: Floats) -> Floats:
        """The posterior of every base; counts what moved how on the way."""
        steps = (self._scales[:-1, None, None] * self._moves).sum(axis=0)
        steps += self._scales[-1] * self._anywhere
        forward, scale = np.empty_like(likely), np.empty(len(likely))
        before = self._anywhere
        for level, here in enumerate(likely):
            if level:
                before = (forward[level - 1][:, None] * steps).sum(axis=0)
            both = before * here
            scale[level] = _sum(both)
            forward[level] = both / scale[level]
        after = np.empty_like(likely)
        after[-1] = 1.0
        moved = np.zeros_like(steps)
        backwards = np.ascontiguousarray(steps.T)
        for level in range(len(likely) - 1, 0, -1):
            told = likely[level] * after[level] / scale[level]
            moved += forward[level - 1][:, None] * told
            after[level - 1] = (backwards * told[:, None]).sum(axis=0)
        jumps = (moved * (self._scales[-1] * self._anywhere)).sum(axis=0)
        kept = [float(_sum((moved * move).sum(axis=0))) for move in self._moves]
        self._moved = np.array([*(self._scales[:-1] * kept), float(_sum(jumps))])
        posterior = forward * after
        posterior /= _sum(posterior)[:, None]
        self._counts = jumps + posterior[0]
        return posterior

    def learn(self) -> None:
        """Take for every distribution what the posterior says of it, and half a case of each."""
        if self._ordered:
            moved = self._moved + 0.5
            self._scales = moved / _sum(moved)
            kinds, out = self._shares
            every = float(_sum(kinds)) + out + 0.5 * (len(kinds) + 1)
            self._kinds, self._out = (kinds + 0.5) / every, (out + 0.5) / every
        counts = self._counts + _PRIOR * self._prior
        smooth = _smoothed(_smoothed(counts[1:]))
        smooth *= _sum(counts[1:]) / _sum(smooth)
        counts = np.concatenate([counts[:1], smooth])
        self._anywhere = counts / _sum(counts)

    def tilt(self, gap: float) -> None:
        """Move the power so that the means add up to `gap` more: by Newton's step, or a secant."""
        reached = float(_sum(self._found.mean))
        slope = float(_sum(self._found.variance))
        if self._steps and self._steps[-1][0] != self._power:
            power, sums = self._steps[-1]
            slope = max(slope, (reached - sums) / (self._power - power))
        self._steps.append((self._power, reached))
        most = _LARGEST_STEP / self._deviation
        self._power += float(np.clip(gap / max(slope, 1e-9), -most, most))


def _grid(largest: float, deviation: float) -> Floats:
    """Values from zero to beyond the largest, the next one further off the larger they are."""
    values = [0.0]
    while values[-1] < largest:
        last = values[-1]
        values.append(last + _SPACING * math.sqrt(last * last + 0.25 * deviation * deviation))
    return np.array([*values, 2.0 * values[-1] - values[-2]])


def _moves(size: int) -> Floats:
    """For every reach the chances of moving from one value of the grid (rows) to another.

    What would fall below zero is zero, which never moves; what would leave the grid is lost.
    """
    found = np.zeros((len(_REACHES), size, size))
    places = np.arange(size)
    for table, reach in zip(found, _REACHES, strict=True):
        near = np.abs(places[:, None] - places) <= reach
        table[near] = 1.0 / (2 * reach + 1)
        table[:, 0] = np.maximum(reach + 1 - places, 0) / (2 * reach + 1)
        table[0] = places == 0
    return found


def _smoothed(values: Floats) -> Floats:
    """The mean over `_SMOOTHED` values to both sides; beyond the ends the last one."""
    padded = np.pad(values, _SMOOTHED, mode="edge")
    width = 2 * _SMOOTHED + 1
    parts = [padded[start : start + values.size] for start in range(width)]
    return np.asarray(np.array(parts).sum(axis=0) / width)
