"""The model: a log-linear mean for every cell, its interactions shrunk by the evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.ascent import climb
from synth.estimate.interactions import Interactions
from synth.estimate.posterior import CellPosterior

Floats = NDArray[np.float64]

# Standard deviation of an interaction's effect on the log mean, by order, before any evidence.
# Wide: main effects of e^3, pairs of e^2; triples start small and are widened by the evidence.
_FIRST_SPREAD = {0: 3.0, 1: 3.0, 2: 2.0, 3: 0.2}
_SMALLEST_SPREAD = 0.003
_STAGE_ITERATIONS = {1: 20, 2: 40, 3: 80}
_EVIDENCE_ITERATIONS = 50
_GAIN_TOLERANCE = 0.1
_LOWEST, _HIGHEST = -60.0, 60.0


@dataclass(frozen=True)
class LogLinearFit:
    """The fitted log mean of every cell (impossible cells included, without meaning)."""

    log_mean: Floats
    posterior_mean: Floats
    log_likelihood: float
    steps: tuple[dict[str, Any], ...]


class LogLinearModel:
    """log m = base + sum over interactions of order at most `max_order`.

    The coefficients of the interaction of attributes A are independent normal with mean zero
    and such a variance that the effect on log m has standard deviation spread(A) in a cell. The
    fit maximises log likelihood plus log prior: first main effects alone, then with pairs, then
    with triples, each stage starting from the last. Then every spread is set by the evidence
    (MacKay 1992): spread^2 = |coefficients|^2 / gamma, where gamma counts the coefficients that
    the measurements, not the prior, determine; and the fit is continued once.
    """

    def __init__(
        self,
        interactions: Interactions,
        posterior: CellPosterior,
        possible: NDArray[np.bool_],
        *,
        noise_variance: float,
        base: float,
        max_order: int,
        effort: float = 1.0,
    ) -> None:
        self.interactions = interactions
        self.posterior = posterior
        self.impossible = np.flatnonzero(~possible)
        self.noise_variance = noise_variance
        self.base = base
        self.max_order = min(max_order, int(interactions.order.max(initial=0)))
        self.effort = effort

    def fit(self) -> LogLinearFit:
        """Run the stages described above."""
        sets = self._sets()
        spread = {s: _FIRST_SPREAD[s.bit_count()] for s in sets}
        theta = np.zeros(self.interactions.size)
        steps: list[dict[str, Any]] = []
        for order in range(min(1, self.max_order), self.max_order + 1):
            stage = {s: v for s, v in spread.items() if s.bit_count() <= order}
            iterations = _STAGE_ITERATIONS.get(order, 20)
            theta = self._climb(theta, stage, iterations, f"interactions up to {order}", steps)
        if self.max_order:
            self._weigh(theta, steps)
            spread = self._spread_by_evidence(theta, spread)
            theta = self._climb(theta, spread, _EVIDENCE_ITERATIONS, "spreads by evidence", steps)
        log_mean = self._log_mean(theta)
        log, _, mean = self.posterior.evaluate(log_mean)
        log[self.impossible] = 0.0
        mean[self.impossible] = 0.0
        return LogLinearFit(log_mean, mean, float(log.sum()), tuple(steps))

    def _weigh(self, theta: Floats, steps: list[dict[str, Any]]) -> None:
        log_mean = self._log_mean(theta)
        informed = np.ones(self.interactions.size, dtype=bool)
        informed[self.impossible] = False
        cells = np.flatnonzero(informed & (log_mean > -4.0))
        for _ in range(20):
            counted = self.posterior.responsibilities(log_mean, cells) + 1.0
            self.posterior.reweigh(counted / counted.sum())
        steps.append(
            {"step": "prior weights", "weights": [float(w) for w in self.posterior.weights]}
        )

    def _sets(self) -> list[int]:
        order = self.interactions.order
        chosen = self.interactions.subset[order <= self.max_order]
        return [int(s) for s in np.unique(chosen)]

    def _log_mean(self, theta: Floats) -> Floats:
        log_mean = self.interactions.inverse(theta) + self.base
        return np.clip(log_mean, _LOWEST, _HIGHEST, out=log_mean)

    def _scale(self, spread: dict[int, float]) -> Floats:
        """The prior standard deviation of every coefficient; 0 outside the given sets."""
        by_set = np.zeros(1 << len(self.interactions.shape))
        for subset, value in spread.items():
            cells = self.interactions.size / max(1, self.interactions.dimension(subset))
            by_set[subset] = value * math.sqrt(cells)
        return by_set[self.interactions.subset]

    def _information(self, log_mean: Floats) -> Floats:
        """About what a noisy cell says of its log mean: m^2 / (m + noise variance)."""
        mean = np.exp(log_mean)
        variance = mean + self.noise_variance
        information = mean * mean / variance
        information[self.impossible] = 0.0
        return information

    def _climb(
        self,
        theta: Floats,
        spread: dict[int, float],
        iterations: int,
        name: str,
        steps: list[dict[str, Any]],
    ) -> Floats:
        scale = self._scale(spread)
        active = np.flatnonzero(scale)
        unit = scale[active]

        def spread_out(point: Floats) -> Floats:
            full = np.zeros(self.interactions.size)
            full[active] = point * unit
            return full

        def objective(point: Floats) -> tuple[float, Floats]:
            log, pull, _ = self.posterior.evaluate(self._log_mean(spread_out(point)))
            log[self.impossible] = 0.0
            pull[self.impossible] = 0.0
            gradient = self.interactions.forward(pull)[active] * unit - point
            return float(log.sum()) - 0.5 * float((point * point).sum()), gradient

        def curvature(point: Floats) -> Floats:
            information = self._information(self._log_mean(spread_out(point)))
            return 1.0 + unit * unit * self.interactions.squares(information)[active]

        result = climb(
            objective,
            theta[active] / unit,
            curvature,
            max_iterations=max(3, round(iterations * self.effort)),
            gain_tolerance=_GAIN_TOLERANCE,
        )
        steps.append(
            {
                "step": name,
                "coefficients": int(active.size),
                "iterations": result.iterations,
                "stop": result.stop,
                "expected_gain_nats": result.expected_gain,
            }
        )
        return spread_out(result.point)

    def _spread_by_evidence(self, theta: Floats, spread: dict[int, float]) -> dict[int, float]:
        interactions = self.interactions
        information = self._information(self._log_mean(theta))
        energy = np.bincount(interactions.subset, weights=theta * theta)
        renewed = dict(spread)
        for subset, table in interactions.tables(information, self.max_order):
            dimension = interactions.dimension(subset)
            cells = interactions.cells(subset)
            prior_variance = spread[subset] ** 2 * interactions.size / dimension
            known = table * (cells / interactions.size)
            share = known / (known + 1.0 / prior_variance)
            determined = float(share.sum()) * dimension / cells
            variance = float(energy[subset]) / max(determined, 1e-9)
            value = math.sqrt(variance * dimension / interactions.size)
            renewed[subset] = min(max(value, _SMALLEST_SPREAD), 10.0)
        return renewed
