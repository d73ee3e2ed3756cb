"""The log-linear model of a table that is held, every cell with its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.component_tables import ComponentTables
from synth.estimate.evidence import information_of_codes, joint_information, weigh_evidence
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
from synth.estimate.one_way_matrix import Singles
from synth.estimate.posterior import CellPosterior, Mixture
from synth.estimate.solver import Map, inverse
from synth.estimate.sums import NoisyCoefficients, one_way_sums, sandwich, trusted
from synth.estimate.whole.towards_sums import tilt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STAGES = Schedule([(0, 20), (1, 20), (2, 40), (3, 40)], [120, 120])
_WIDE_STAGES = Schedule([(0, 20), (1, 20), (2, 80), (3, 120)], [120])
"""Noise of the cells of at least ten records is wide: a fit with pairs goes further, and spreads
are set once. Set from a fit far from its end they come out too narrow there, and a second round
narrows them further."""
_WIDE_DECAY = 0.1
_LEARNING_STAGES = Schedule([(1, 30)], [40, 40, 40])
"""Of main effects alone; see `main_effects.suffice`."""
_AGAIN_ITERATIONS = 30
MODEST_SIZE = 500_000
"""Above this number of cells the iterations are cut in proportion, to bound the time."""
_LOG_MEAN_RANGE = (-60.0, 60.0)


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The fitted log mean of every cell, and the same less what its uncertainty exaggerates.

    `theta`, `spread`, `discount` and `mixture` are where another fit can start.
    """

    log_mean: Floats
    discounted: Floats
    steps: tuple[dict[str, Any], ...]
    theta: Floats
    spread: dict[int, float]
    discount: Floats | float
    mixture: Mixture | None
    """Of the prior of a count, where cells were measured."""


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
        main_effects: Floats | None = None,
    ) -> None:
        """Set up; `discount` is the share of the uncertainty that is discounted (see `fit`).

        One column always starts from the noisy sums; more of them where `starts_from_sums` says so.
        If `main_effects` are given for every cell, they are where the fit starts, and no others are
        fitted; how far counts vary around them is learned, in place of the discount.
        """
        super().__init__()
        self.interactions = interactions
        self._learns = main_effects is not None
        self.posterior = posterior
        self.sums = sums
        self._gain: Gain | None = None
        self.possible = possible
        self.impossible = np.flatnonzero(~possible)
        self.noise_variance = noise_variance
        self.base = base
        self._components = self._components_of_model()
        self._tables = ComponentTables(interactions, self._components)
        self.max_order = max(map(interactions.component_order, self._components), default=0)
        self._main_effects = main_effects
        self._starts_from_sums = starts_from_sums or self.max_order <= 1
        self.doubts_itself = self._starts_from_sums
        self._share = 0.0 if self._learns else discount
        self._discount: Floats | float = 0.0
        self._effort = min(1.0, MODEST_SIZE / interactions.size)

    def fit(self) -> LogLinearFit:
        """Main effects first, then pairs, triples; then spreads and a discount set by evidence.

        Where no cells were measured the base has the main effects, and pairs come first.
        """
        first_spread = first_spreads(self.interactions, self._components)
        start = self._start()
        self._learn(start)
        theta, [spread] = self.climb(start, [first_spread], self._schedule())
        return self._fit(theta, spread)

    def _schedule(self) -> Schedule:
        first = min(2 if self.posterior is None else 1, self.max_order)
        is_wide = self.posterior is not None and self.posterior.decay <= _WIDE_DECAY
        full = _WIDE_STAGES if is_wide and self.max_order > 1 else _STAGES
        if self._learns:
            full = _LEARNING_STAGES
        iterations_of = dict(full.stages)
        return Schedule(
            [
                (order, self._bounded(iterations_of[min(order, MAX_ORDER)]))
                for order in range(first, self.max_order + 1)
            ],
            [self._bounded(iterations) for iterations in full.rounds] if self.max_order else [],
        )

    def fit_again(self, before: LogLinearFit) -> LogLinearFit:
        """The same from where the fit to tables that were much the same ended.

        Its spreads, its discount and what it learned stay.
        """
        self._discount = before.discount
        if self.posterior is not None and before.mixture is not None:
            self.posterior = self.posterior.mixed(before.mixture)
        iterations = self._bounded(_AGAIN_ITERATIONS)
        theta = self.climb_again(before.theta, [before.spread], iterations)
        return self._fit(theta, before.spread)

    def _fit(self, theta: Floats, spread: dict[int, float]) -> LogLinearFit:
        log_mean = self._log_mean(theta)
        discounted = log_mean - self._discount
        mixture = None if self.posterior is None else self.posterior.mixture
        steps, discount = tuple(self.steps), self._discount
        return LogLinearFit(log_mean, discounted, steps, theta, spread, discount, mixture)

    def _learn(self, theta: Floats) -> None:
        if self.posterior is not None and self._learns:
            self.posterior = self.posterior.learned(self._log_mean(theta), self.possible)
            self.note_learned(self.posterior.mixture)

    def _bounded(self, iterations: int) -> int:
        return max(5, round(iterations * self._effort))

    def _start(self) -> Floats:
        """The coefficients of the table of largest entropy that fits the noisy sums.

        Of one column and its groups the sums tell nearly all. Of more columns main effects that
        noise has drowned would lead the pairs astray. Where no cells were measured the base has
        the sums.
        """
        if self._main_effects is not None:
            return self._tables.forward(self._main_effects)
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
            order = 1 if self._learns else MAX_ORDER
            measured |= set(np.unique(interactions.component[interactions.order <= order]))
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
            variance = self.posterior_variance(log_mean)
            weigh = self.doubts_itself and not self._learns
            self._gain = joint_gain(self.sums, expected, variance, weigh=weigh)

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

    def divider(self, theta: Floats, active: Ints, unit: Floats) -> Map:
        """Of main effects alone by their codes; see `LogLinear`."""
        axes = range(len(self.interactions.shape))
        singles = Singles.of([(self.interactions, active, axes)])
        if not self._learns or singles is None:
            return super().divider(theta, active, unit)
        log_mean = self._log_mean(theta)
        self._weigh_sums(log_mean)
        mean = self._mean(log_mean)
        shape, precision = self.interactions.shape, np.zeros(self.interactions.size)
        if self.sums is not None:
            precision[self.sums.places] = self.sums.precision
        weights = information_of_codes(
            singles,
            one_way_sums(mean, shape).__getitem__,
            one_way_sums(self._information(mean), shape).__getitem__,
            precision[active],
        )
        return singles.divider_in_units(weights, unit)

    def weigh_evidence(self, theta: Floats, spreads: Spreads) -> Spreads:
        """Renew the spreads, and the discount of every cell; the total of all means stays.

        Where it is learned: the mixture of the prior instead of the discount.
        """
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
        self._learn(theta)
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


def joint_gain(
    sums: NoisyCoefficients, expected: Floats, variance: Floats, *, weigh: bool = True
) -> Gain:
    """The gain where the counts are known too, with these means and variances.

    By the Gaussian rule a difference d in the sums moves the counts by
    variance * S' (S variance S' + 1 / precision)^-1 d. For one-way tables the matrix is inverted
    while it is small; larger ones of attributes without groups are taken as `Singles` does, of
    others its diagonal stands for it. With `weigh` the counts may be less certain than they say.
    """
    spread = sums.squares(variance)
    firm = trusted(sums, sums.values - sums.of(expected), spread) if weigh else sums
    noise = 1.0 / firm.precision
    if sums.singles is not None and sums.places.size > _SMALL_MATRIX:
        single = one_way_sums(variance, sums.interactions.shape)
        weights = [single[each.axis] for each in sums.singles.axes]
        return Gain(sums, _ratio(variance, expected), sums.singles.divider(weights, noise))
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
