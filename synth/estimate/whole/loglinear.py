"""The model: a log-linear mean for every cell, its interactions shrunk by the evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.estimate.evidence import joint_information, prior_variance, weigh_evidence
from synth.estimate.interactions import Interactions
from synth.estimate.posterior import CellPosterior
from synth.estimate.solver import Map, solve
from synth.estimate.sums import NoisyCoefficients, one_way_sums, trusted
from synth.estimate.whole.towards_sums import tilt

Floats = NDArray[np.float64]

MAX_ORDER = 3
"""Interactions of up to this many attributes enter the model."""

_FIRST_SPREAD = {0: 3.0, 1: 2.0, 2: 0.2, 3: 0.05}
"""Standard deviation of an interaction's effect on the log mean, before any evidence."""
_STAGE_ITERATIONS = {0: 20, 1: 20, 2: 40, 3: 40}
_EVIDENCE_ROUNDS = 2
_WIDE_DECAY = 0.1
"""Noise of the cells of at least ten records is wide: a fit with pairs goes further, and spreads
are set once. Set from a fit far from its end they come out too narrow there, and a second round
narrows them further (docs/estimation.md)."""
_WIDE_STAGE_ITERATIONS = {0: 20, 1: 20, 2: 80, 3: 120}
_WIDE_EVIDENCE_ROUNDS = 1
_EVIDENCE_ITERATIONS = 120
_TOLERANCE = 0.1
MODEST_SIZE = 500_000
"""Above this number of cells the iterations are cut in proportion, to bound the time."""
_SHAPE = 20.0
"""About the shape of the prior's mixture: a count varies around its mean by 1 / sqrt(20) more."""
_LARGEST_DISCOUNT = 5.0
_LOG_MEAN_RANGE = (-60.0, 60.0)


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The fitted log mean of every cell, and the same less what its uncertainty exaggerates."""

    log_mean: Floats
    discounted: Floats
    steps: tuple[dict[str, Any], ...]


class LogLinearModel:
    """log m = base + sum over interactions of order at most MAX_ORDER; see docs/estimation.md.

    The coefficients of the interaction of attributes A are independent normal, with mean zero and
    such a variance that the effect on log m has standard deviation spread(A). They solve

        forward(E(y, m exp(-discount)) - m) = coefficient / prior variance:

    the table of means has the sums of the table of posterior means, but for the shrinkage.
    """

    def __init__(
        self,
        interactions: Interactions,
        posterior: CellPosterior | None,
        sums: NoisyCoefficients | None,
        possible: NDArray[np.bool_],
        *,
        noise_variance: float,
        base: float,
        discount: float,
    ) -> None:
        """Set up; `discount` is the share of the uncertainty that is discounted (see `fit`)."""
        self.interactions = interactions
        self.posterior = posterior
        self.sums = sums
        self._gain: Gain | None = None
        self.impossible = np.flatnonzero(~possible)
        self.noise_variance = noise_variance
        self.base = base
        self.max_order = max((self._order(c) for c in self._components()), default=0)
        self._share = discount
        self._discount: Floats | float = 0.0
        self._steps: list[dict[str, Any]] = []
        self._effort = min(1.0, MODEST_SIZE / interactions.size)

    def fit(self) -> LogLinearFit:
        """Main effects first, then pairs, then triples; then spreads set by the evidence.

        Spread by the evidence (MacKay 1992): spread^2 = |coefficients|^2 / gamma, where gamma
        counts the coefficients that the noisy table, not the prior, determines. With it comes the
        discount: the mean that the posterior of a cell is given is lowered by a share of the
        variance of its log mean, since the most probable log mean of an uncertain cell
        exaggerates what its noise suggests; all are then raised so that their total stays.
        """
        spread = {c: _FIRST_SPREAD[min(self._order(c), MAX_ORDER)] for c in self._components()}
        theta = self._start()
        first = min(1, self.max_order) if self.sums is None else min(2, self.max_order)
        is_wide = self.posterior is not None and self.posterior.decay <= _WIDE_DECAY
        is_wide = is_wide and self.max_order > 1
        stage_iterations = _WIDE_STAGE_ITERATIONS if is_wide else _STAGE_ITERATIONS
        rounds = _WIDE_EVIDENCE_ROUNDS if is_wide else _EVIDENCE_ROUNDS
        rounds = rounds if self.max_order else 0
        orders = range(first, self.max_order + 1)
        parts = len(orders) + rounds
        for part, order in enumerate(orders, start=1):
            stage = {c: value for c, value in spread.items() if self._order(c) <= order}
            name = f"fit interactions of up to {order} attributes"
            iterations = stage_iterations[min(order, MAX_ORDER)]
            with progress.stage(progress.Stage.ESTIMATION, part=part, parts=parts):
                theta = self._solve(theta, stage, iterations, name)
        for part in range(len(orders) + 1, parts + 1):
            with progress.stage(progress.Stage.ESTIMATION, part=part, parts=parts):
                spread = self._weigh_evidence(theta, spread)
                name = "spreads set by the evidence"
                theta = self._solve(theta, spread, _EVIDENCE_ITERATIONS, name)
        log_mean = self._log_mean(theta)
        return LogLinearFit(log_mean, log_mean - self._discount, tuple(self._steps))

    def _start(self) -> Floats:
        """The coefficients of the table of largest entropy that fits the noisy sums."""
        if self.sums is None:
            return np.zeros(self.interactions.size)
        even = self._mean(np.full(self.interactions.size, self.base))
        low = self.interactions.order[self.sums.places] <= 1
        variance = self.sums.interactions.squares(even)[self.sums.places]
        # a function that is 0 on every possible cell has no variance, and nothing to start from
        enough = np.divide(30.0, variance, out=np.zeros(variance.size), where=variance > 0.0)
        firm = replace(
            self.sums,
            places=self.sums.places[low],
            values=self.sums.values[low],
            precision=np.maximum(self.sums.precision, enough)[low],
        )
        fitted, report = tilt(firm, even, even, weigh=False)
        self._steps.append({**report, "step": "start from the noisy sums"})
        ratio = np.divide(fitted, even, out=np.ones(even.size), where=even > 0.0)
        return self.interactions.forward(np.log(np.maximum(ratio, 1e-12)))

    def _components(self) -> list[int]:
        """The components in the model: of low order, and only what some table speaks about."""
        interactions = self.interactions
        measured = set() if self.sums is None else set(interactions.component[self.sums.places])
        if self.posterior is not None:
            every = np.unique(interactions.component[interactions.order <= MAX_ORDER])
            measured |= set(every)
        return sorted(int(c) for c in measured)

    def _order(self, component: int) -> int:
        return self.interactions.component_order(component)

    def _log_mean(self, theta: Floats) -> Floats:
        log_mean = self.interactions.inverse(theta)
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
        """About what a noisy cell says of its log mean: m^2 / (m + noise variance)."""
        if self.posterior is None:
            return np.zeros(mean.size)
        return np.asarray(mean * (mean / (mean + self.noise_variance)))

    def posterior_variance(self, log_mean: Floats) -> Floats:
        """The variance of every count, once its noisy count is known."""
        if self.posterior is None:
            return self._mean(log_mean)
        mean = self.expected(log_mean)
        prior = mean + mean * mean / _SHAPE
        return np.asarray(prior * (self.noise_variance / (prior + self.noise_variance)))

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

    def _solve(self, theta: Floats, spread: dict[int, float], iterations: int, name: str) -> Floats:
        interactions, sums = self.interactions, self.sums
        variance = np.zeros(interactions.component_count)
        for component, value in spread.items():
            variance[component] = prior_variance(interactions, component, value)
        scale = np.sqrt(variance)[interactions.component]
        active = np.flatnonzero(scale)
        unit = scale[active]

        def coefficients(point: Floats) -> Floats:
            full = np.zeros(interactions.size)
            full[active] = point * unit
            return full

        def field(point: Floats) -> Floats:
            log_mean = self._log_mean(coefficients(point))
            mean = self._mean(log_mean)
            expected = self.expected(log_mean - self._discount)
            if self._gain is not None:
                expected = self._gain.move(expected)
            pull = interactions.forward(expected - mean)
            return np.asarray(pull[active] * unit - point)

        def curvature(point: Floats) -> Floats:
            log_mean = self._log_mean(coefficients(point))
            self._weigh_sums(log_mean)
            mean = self._mean(log_mean)
            information = interactions.squares(self._information(mean))
            if sums is not None:
                places = sums.places
                information[places] = joint_information(
                    interactions.squares(mean)[places], information[places], sums.precision
                )
            return np.asarray(1.0 + unit * unit * information[active])

        solution = solve(
            field,
            theta[active] / unit,
            curvature,
            max_iterations=max(5, round(iterations * self._effort)),
            tolerance=_TOLERANCE,
        )
        self._steps.append(
            {
                "step": name,
                "coefficients": int(active.size),
                "iterations": solution.iterations,
                "stop": solution.stop,
                "promised_gain_nats": solution.promise,
            }
        )
        return coefficients(solution.point)

    def _weigh_evidence(self, theta: Floats, spread: dict[int, float]) -> dict[int, float]:
        """Renew every spread, and the discount of every cell."""
        mean = self._mean(self._log_mean(theta))
        evidence = weigh_evidence(
            self.interactions,
            theta,
            spread,
            mean=mean,
            information=self._information(mean),
            sums=self.sums,
        )
        discount = np.minimum(0.5 * self._share * evidence.uncertainty, _LARGEST_DISCOUNT)
        total = float(mean.sum())
        if total > 0.0:
            discount += math.log(float((mean * np.exp(-discount)).sum()) / total)
        self._discount = discount
        return evidence.spread


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
    spread = sums.interactions.squares(variance)[sums.places]
    firm = trusted(sums, sums.values - sums.of(expected), spread)
    noise = 1.0 / firm.precision
    if not sums.is_one_way or sums.places.size > _SMALL_MATRIX:
        weight = 1.0 / (spread + noise)
        return Gain(sums, _ratio(variance, expected), lambda gap: weight * gap)
    matrix = np.diag(noise) + _common_variance(sums, variance)
    inverse = _inverse(matrix)
    return Gain(
        sums, _ratio(variance, expected), lambda gap: np.asarray((inverse * gap).sum(axis=1))
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
                block = _sandwich(functions, pairs[axis, other], others)
            elif axis > other:
                block = _sandwich(others, pairs[other, axis], functions).T
            else:
                block = _sandwich(functions, np.diag(single[axis]), others)
            matrix[np.ix_(rows, columns)] = block
    return matrix


def _sandwich(left: Floats, table: Floats, right: Floats) -> Floats:
    """The product left @ table @ right.T, summed in an order that no number of threads changes."""
    half = (left[:, :, None] * table[None, :, :]).sum(axis=1)
    return np.asarray((half[:, None, :] * right[None, :, :]).sum(axis=2))


def plain_gain(sums: NoisyCoefficients, expected: Floats) -> Gain:
    """The gain where only the sums are known: the slope of their likelihood, for Poisson counts."""
    precision = sums.precision
    return Gain(sums, _ratio(expected, expected), lambda gap: gap * precision)


def _ratio(variance: Floats, expected: Floats) -> Floats:
    return np.divide(variance, expected, out=np.zeros(variance.size), where=expected > 0)


def _inverse(matrix: Floats) -> Floats:
    """The inverse of a positive definite matrix, by elimination in a fixed order of operations.

    Not LAPACK: its last digits depend on the number of threads.
    """
    work = np.concatenate([matrix, np.eye(len(matrix))], axis=1)
    for row in range(len(matrix)):
        work[row] /= work[row, row]
        factors = work[:, row].copy()
        factors[row] = 0.0
        work -= factors[:, None] * work[row]
    return work[:, len(matrix) :]
