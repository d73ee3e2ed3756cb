"""The model: a log-linear mean for every cell, its interactions shrunk by the evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.interactions import Interactions
from synth.estimate.posterior import CellPosterior
from synth.estimate.solver import solve

Floats = NDArray[np.float64]

MAX_ORDER = 3
"""Interactions of up to this many attributes enter the model."""

_FIRST_SPREAD = {0: 3.0, 1: 2.0, 2: 0.2, 3: 0.05}
"""Standard deviation of an interaction's effect on the log mean, before any evidence."""
_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.003, 10.0
_STAGE_ITERATIONS = {0: 20, 1: 20, 2: 40, 3: 40}
_EVIDENCE_ROUNDS = 2
_EVIDENCE_ITERATIONS = 120
_TOLERANCE = 0.1
_MODEST_SIZE = 2_000_000
"""Above this number of cells the iterations are cut in proportion, to bound the time."""
_LARGEST_DISCOUNT = 5.0
_LOG_MEAN_RANGE = (-60.0, 60.0)


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The fitted log mean of every cell and the posterior mean of its count."""

    log_mean: Floats
    posterior_mean: Floats
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
        posterior: CellPosterior,
        possible: NDArray[np.bool_],
        *,
        noise_variance: float,
        base: float,
        discount: float,
    ) -> None:
        """Set up; `discount` is the share of the uncertainty that is discounted (see `fit`)."""
        self.interactions = interactions
        self.posterior = posterior
        self.impossible = np.flatnonzero(~possible)
        self.noise_variance = noise_variance
        self.base = base
        self.max_order = min(MAX_ORDER, int(interactions.order.max(initial=0)))
        self._share = discount
        self._discount: Floats | float = 0.0
        self._steps: list[dict[str, Any]] = []
        self._effort = min(1.0, _MODEST_SIZE / interactions.size)

    def fit(self) -> LogLinearFit:
        """Main effects first, then pairs, then triples; then spreads set by the evidence, twice.

        Spread by the evidence (MacKay 1992): spread^2 = |coefficients|^2 / gamma, where gamma
        counts the coefficients that the noisy table, not the prior, determines. With it comes the
        discount: the mean that the posterior of a cell is given is lowered by a share of the
        variance of its log mean, since the most probable log mean of an uncertain cell
        exaggerates what its noise suggests; all are then raised so that their total stays.
        """
        sets = [int(s) for s in np.unique(self.interactions.subset)]
        spread = {s: _FIRST_SPREAD[s.bit_count()] for s in sets if s.bit_count() <= self.max_order}
        theta = np.zeros(self.interactions.size)
        for order in range(min(1, self.max_order), self.max_order + 1):
            stage = {s: value for s, value in spread.items() if s.bit_count() <= order}
            name = f"fit interactions of up to {order} attributes"
            theta = self._solve(theta, stage, _STAGE_ITERATIONS[order], name)
        for _ in range(_EVIDENCE_ROUNDS if self.max_order else 0):
            spread = self._weigh_evidence(theta, spread)
            theta = self._solve(theta, spread, _EVIDENCE_ITERATIONS, "spreads set by the evidence")
        log_mean = self._log_mean(theta)
        mean = self.posterior.mean(log_mean - self._discount)
        mean[self.impossible] = 0.0
        return LogLinearFit(log_mean, mean, tuple(self._steps))

    def _log_mean(self, theta: Floats) -> Floats:
        log_mean = self.interactions.inverse(theta)
        log_mean += self.base
        return np.clip(log_mean, *_LOG_MEAN_RANGE, out=log_mean)

    def _information(self, log_mean: Floats) -> Floats:
        """About what a noisy cell says of its log mean: m^2 / (m + noise variance)."""
        mean = np.exp(log_mean)
        information = mean * (mean / (mean + self.noise_variance))
        information[self.impossible] = 0.0
        return information

    def _prior_variance(self, subset: int, spread: float) -> float:
        cells = self.interactions.size / max(1, self.interactions.dimension(subset))
        return spread * spread * cells

    def _solve(self, theta: Floats, spread: dict[int, float], iterations: int, name: str) -> Floats:
        interactions = self.interactions
        variance = np.zeros(1 << len(interactions.shape))
        for subset, value in spread.items():
            variance[subset] = self._prior_variance(subset, value)
        scale = np.sqrt(variance)[interactions.subset]
        active = np.flatnonzero(scale)
        unit = scale[active]

        def coefficients(point: Floats) -> Floats:
            full = np.zeros(interactions.size)
            full[active] = point * unit
            return full

        def field(point: Floats) -> Floats:
            log_mean = self._log_mean(coefficients(point))
            pull = self.posterior.mean(log_mean - self._discount)
            pull -= np.exp(log_mean)
            pull[self.impossible] = 0.0
            return np.asarray(interactions.forward(pull)[active] * unit - point)

        def curvature(point: Floats) -> Floats:
            information = self._information(self._log_mean(coefficients(point)))
            return np.asarray(1.0 + unit * unit * interactions.squares(information)[active])

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
        interactions = self.interactions
        log_mean = self._log_mean(theta)
        energy = np.bincount(interactions.subset, weights=theta * theta)
        renewed = dict(spread)
        uncertainty = np.zeros(interactions.shape)
        information = self._information(log_mean)
        for subset, table in interactions.tables(information, self.max_order):
            dimension, cells = interactions.dimension(subset), interactions.cells(subset)
            known = table * (cells / interactions.size)
            precision = 1.0 / self._prior_variance(subset, spread[subset])
            determined = float((known / (known + precision)).sum()) * dimension / cells
            variance = float(energy[subset]) / max(determined, 1e-9) * dimension
            value = math.sqrt(variance / interactions.size)
            value = min(max(value, _SMALLEST_SPREAD), _LARGEST_SPREAD)
            renewed[subset] = value
            precision = 1.0 / self._prior_variance(subset, value)
            part = (dimension / interactions.size) / (known + precision)
            uncertainty += part.reshape(
                [n if subset >> axis & 1 else 1 for axis, n in enumerate(interactions.shape)]
            )
        discount = np.minimum(0.5 * self._share * uncertainty.reshape(-1), _LARGEST_DISCOUNT)
        mean = np.exp(log_mean)
        mean[self.impossible] = 0.0
        total = float(mean.sum())
        if total > 0.0:
            discount += math.log(float((mean * np.exp(-discount)).sum()) / total)
        self._discount = discount
        return renewed
