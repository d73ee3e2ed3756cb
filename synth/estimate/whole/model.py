"""The log-linear model of a table that is held, every cell with its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.component_tables import ComponentTables
from synth.estimate.evidence import joint_information, weigh_evidence
from synth.estimate.interactions import Interactions
from synth.estimate.loglinear import (
    LARGEST_DISCOUNT,
    MAX_ORDER,
    LogLinear,
    Schedule,
    Spreads,
    component_deviations,
    first_spreads,
    left_variance,
    noisy_information,
)
from synth.estimate.posterior import CellPosterior
from synth.estimate.solver import Map, inverse
from synth.estimate.sums import NoisyCoefficients, one_way_sums, sandwich, trusted
from synth.estimate.whole.towards_sums import tilt

Floats = NDArray[np.float64]

_STAGE_ITERATIONS = {0: 20, 1: 20, 2: 40, 3: 40}
_EVIDENCE_ROUNDS = 2
_WIDE_DECAY = 0.1
"""Noise of the cells of at least ten records is wide: a fit with pairs goes further, and spreads
are set once. Set from a fit far from its end they come out too narrow there, and a second round
narrows them further."""
_WIDE_STAGE_ITERATIONS = {0: 20, 1: 20, 2: 80, 3: 120}
_WIDE_EVIDENCE_ROUNDS = 1
_EVIDENCE_ITERATIONS = 120
_AGAIN_ITERATIONS = 30
MODEST_SIZE = 500_000
"""Above this number of cells the iterations are cut in proportion, to bound the time."""
_LOG_MEAN_RANGE = (-60.0, 60.0)


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The fitted log mean of every cell, and the same less what its uncertainty exaggerates.

    `theta`, `spread` and `discount` are where another fit can start.
    """

    log_mean: Floats
    discounted: Floats
    steps: tuple[dict[str, Any], ...]
    theta: Floats
    spread: dict[int, float]
    discount: Floats | float


class WholeModel(LogLinear):
    """The fit to a table that is held: sums over its cells are transforms of it."""

    def __init__(
        self,
        interactions: Interactions,
        posterior: CellPosterior | None,
        sums: NoisyCoefficients | None,
        possible: NDArray[np.bool_],
        *,
        noise_variance: float,
        base: Floats | float,
        discount: float,
        starts_from_sums: bool = False,
    ) -> None:
        """Set up; `discount` is the share of the uncertainty that is discounted (see `fit`).

        One column always starts from the noisy sums; more of them where `starts_from_sums` says so.
        """
        super().__init__()
        self.interactions = interactions
        self.posterior = posterior
        self.sums = sums
        self._gain: Gain | None = None
        self.impossible = np.flatnonzero(~possible)
        self.noise_variance = noise_variance
        self.base = base
        self._components = self._components_of_model()
        self._tables = ComponentTables(interactions, self._components)
        self.max_order = max(map(interactions.component_order, self._components), default=0)
        self._starts_from_sums = starts_from_sums or self.max_order <= 1
        self._share = discount
        self._discount: Floats | float = 0.0
        self._effort = min(1.0, MODEST_SIZE / interactions.size)

    def fit(self) -> LogLinearFit:
        """Main effects first, then pairs, triples; then spreads and a discount set by evidence.

        Where no cells were measured the base has the main effects, and pairs come first.
        """
        first = min(2 if self.posterior is None else 1, self.max_order)
        is_wide = self.posterior is not None and self.posterior.decay <= _WIDE_DECAY
        is_wide = is_wide and self.max_order > 1
        iterations = _WIDE_STAGE_ITERATIONS if is_wide else _STAGE_ITERATIONS
        rounds = _WIDE_EVIDENCE_ROUNDS if is_wide else _EVIDENCE_ROUNDS
        schedule = Schedule(
            [
                (order, self._bounded(iterations[min(order, MAX_ORDER)]))
                for order in range(first, self.max_order + 1)
            ],
            [self._bounded(_EVIDENCE_ITERATIONS)] * (rounds if self.max_order else 0),
        )
        first_spread = first_spreads(self.interactions, self._components)
        theta, [spread] = self.climb(self._start(), [first_spread], schedule)
        return self._fit(theta, spread)

    def fit_again(self, before: LogLinearFit) -> LogLinearFit:
        """The same from where the fit to tables that were much the same ended.

        Its spreads and its discount stay.
        """
        self._discount = before.discount
        iterations = self._bounded(_AGAIN_ITERATIONS)
        theta = self.climb_again(before.theta, [before.spread], iterations)
        return self._fit(theta, before.spread)

    def _fit(self, theta: Floats, spread: dict[int, float]) -> LogLinearFit:
        log_mean = self._log_mean(theta)
        discounted = log_mean - self._discount
        return LogLinearFit(log_mean, discounted, tuple(self.steps), theta, spread, self._discount)

    def _bounded(self, iterations: int) -> int:
        return max(5, round(iterations * self._effort))

    def _start(self) -> Floats:
        """The coefficients of the table of largest entropy that fits the noisy sums.

        Of one column and its groups the sums tell nearly all. Of more columns main effects that
        noise has drowned would lead the pairs astray. Where no cells were measured the base has
        the sums.
        """
        if not self._starts_from_sums or self.sums is None or self.posterior is None:
            return np.zeros(self.interactions.size)
        even = self._mean(np.full(self.interactions.size, self.base))
        low = self.interactions.order[self.sums.places] <= 1
        variance = self.sums.squares(even)
        # a function that is 0 on every possible cell has no variance, and nothing to start from
        enough = np.divide(30.0, variance, out=np.zeros(variance.size), where=variance > 0.0)
        firm = replace(
            self.sums,
            places=self.sums.places[low],
            values=self.sums.values[low],
            precision=np.maximum(self.sums.precision, enough)[low],
        )
        fitted, report = tilt(firm, even, even, weigh=False)
        self.steps.append({**report, "step": "start from the noisy sums"})
        ratio = np.divide(fitted, even, out=np.ones(even.size), where=even > 0.0)
        return self._tables.forward(np.log(np.maximum(ratio, 1e-12)))

    def _components_of_model(self) -> list[int]:
        """The components in the model: of low order, and only what some table speaks about."""
        interactions = self.interactions
        measured = set() if self.sums is None else set(interactions.component[self.sums.places])
        if self.posterior is not None:
            every = np.unique(interactions.component[interactions.order <= MAX_ORDER])
            measured |= set(every)
        return sorted(int(c) for c in measured)

    def _log_mean(self, theta: Floats) -> Floats:
        log_mean = self._tables.inverse(theta)
        log_mean += self.base
        return np.clip(log_mean, *_LOG_MEAN_RANGE, out=log_mean)

    def _mean(self, log_mean: Floats) -> Floats:
        mean = np.exp(log_mean)
        mean[self.impossible] = 0.0
        return mean

    def expected(self, log_mean: Floats) -> Floats:
        """The posterior mean of every count, given its noisy count and this log mean."""
        if self.posterior is None:
            return self._mean(log_mean)
        expected = self.posterior.mean(log_mean)
        expected[self.impossible] = 0.0
        return expected

    def _information(self, mean: Floats) -> Floats:
        """What a noisy cell says of its log mean; nothing where cells were not measured."""
        if self.posterior is None:
            return np.zeros(mean.size)
        return noisy_information(mean, self.noise_variance)

    def posterior_variance(self, log_mean: Floats) -> Floats:
        """The variance of every count, once its noisy count is known."""
        if self.posterior is None:
            return self._mean(log_mean)
        return left_variance(self.expected(log_mean), self.noise_variance)

    def _weigh_sums(self, log_mean: Floats) -> None:
        """Renew how a difference in the noisy sums moves the expected counts."""
        if self.sums is None:
            return
        log_mean = log_mean - self._discount
        expected = self.expected(log_mean)
        if self.posterior is None:
            self._gain = plain_gain(self.sums, expected)
        else:
            self._gain = joint_gain(self.sums, expected, self.posterior_variance(log_mean))

    def deviations(self, spreads: Spreads, order: int | None) -> Floats:
        """By coefficient; see `LogLinear`."""
        [spread] = spreads
        by_component = component_deviations(self.interactions, spread, order)
        return by_component[self.interactions.component]

    def pull(self, theta: Floats) -> Floats:
        """Expected counts, moved by the noisy sums, less means; see `LogLinear`."""
        log_mean = self._log_mean(theta)
        mean = self._mean(log_mean)
        expected = self.expected(log_mean - self._discount)
        if self._gain is not None:
            expected = self._gain.move(expected)
        return self._tables.forward(expected - mean)

    def information(self, theta: Floats) -> Floats:
        """Of the cells and the noisy sums together; see `LogLinear`."""
        log_mean = self._log_mean(theta)
        self._weigh_sums(log_mean)
        mean = self._mean(log_mean)
        information = self._tables.squares(self._information(mean))
        if self.sums is not None:
            places = self.sums.places
            information[places] = joint_information(
                self.sums.squares(mean), information[places], self.sums.precision
            )
        return information

    def weigh_evidence(self, theta: Floats, spreads: Spreads) -> Spreads:
        """Renew the spreads, and the discount of every cell; the total of all means stays."""
        [spread] = spreads
        mean = self._mean(self._log_mean(theta))
        evidence = weigh_evidence(
            self.interactions,
            theta,
            spread,
            mean=mean,
            information=self._information(mean),
            sums=self.sums,
        )
        discount = np.minimum(0.5 * self._share * evidence.uncertainty, LARGEST_DISCOUNT)
        total = float(mean.sum())
        if total > 0.0:
            discount += math.log(float((mean * np.exp(-discount)).sum()) / total)
        self._discount = discount
        return [evidence.spread]


# The gain: how a difference in the noisy sums moves the expected counts of a fit.


_SMALL_MATRIX = 200
"""Up to this many coefficients of one-way tables their common uncertainty is a full matrix."""


@dataclass(frozen=True, eq=False)
class Gain:
    """Counts move by variance * S' weigh(d), d the difference in the noisy sums.

    S is the map from counts to the measured coefficients; the variance of a count is `ratio` times
    its expectation, so that a count of 0 stays 0 while the expected counts change.
    """

    sums: NoisyCoefficients
    ratio: Floats
    weigh: Map

    def move(self, expected: Floats) -> Floats:
        """The expected counts, moved by what the noisy sums say."""
        gap = self.sums.values - self.sums.of(expected)
        return expected * (1.0 + self.ratio * self.sums.expand(self.weigh(gap)))


def joint_gain(sums: NoisyCoefficients, expected: Floats, variance: Floats) -> Gain:
    """The gain where the counts are known too, with these means and variances.

    By the Gaussian rule a difference d in the sums moves the counts by
    variance * S' (S variance S' + 1 / precision)^-1 d. For one-way tables the matrix is inverted
    while it is small; else its diagonal stands for it.
    """
    spread = sums.squares(variance)
    firm = trusted(sums, sums.values - sums.of(expected), spread)
    noise = 1.0 / firm.precision
    if not sums.is_one_way or sums.places.size > _SMALL_MATRIX:
        weight = 1.0 / (spread + noise)
        return Gain(sums, _ratio(variance, expected), lambda gap: weight * gap)
    matrix = np.diag(noise) + _common_variance(sums, variance)
    divided = inverse(matrix)
    return Gain(
        sums, _ratio(variance, expected), lambda gap: np.asarray((divided * gap).sum(axis=1))
    )


def _common_variance(sums: NoisyCoefficients, variance: Floats) -> Floats:
    """S variance S' for one-way tables: from the two-way tables of the variance."""
    interactions = sums.interactions
    single = one_way_sums(variance, interactions.shape)
    matrix = np.zeros((sums.places.size, sums.places.size))
    pairs: dict[tuple[int, ...], Floats] = {}
    depths = tuple(basis.depth for basis in interactions.axes)
    for component, table in interactions.tables(variance, 2):
        levels = interactions.levels(component)
        axes = tuple(axis for axis, level in enumerate(levels) if level)
        if len(axes) == 2 and all(levels[axis] == depths[axis] for axis in axes):
            pairs[axes] = table.reshape([interactions.shape[axis] for axis in axes])
    for axis, functions, rows in sums.one_way:
        for other, others, columns in sums.one_way:
            if axis < other:
                block = sandwich(functions, pairs[axis, other], others)
            elif axis > other:
                block = sandwich(others, pairs[other, axis], functions).T
            else:
                block = sandwich(functions, np.diag(single[axis]), others)
            matrix[np.ix_(rows, columns)] = block
    return matrix


def plain_gain(sums: NoisyCoefficients, expected: Floats) -> Gain:
    """The gain where only the sums are known: the slope of their likelihood, for Poisson counts."""
    precision = sums.precision
    return Gain(sums, _ratio(expected, expected), lambda gap: gap * precision)


def _ratio(variance: Floats, expected: Floats) -> Floats:
    return np.divide(variance, expected, out=np.zeros(variance.size), where=expected > 0)
