"""The log-linear fit: stage after stage, its interactions shrunk by the evidence.

    log m = base + sum over interactions of at most MAX_ORDER attributes

The coefficients of an interaction of attributes A are independent normal, with mean zero and such a
variance that the effect on log m has standard deviation spread(A). They solve

    inner products of (E(y, m exp(-discount)) - m) = coefficient / prior variance:

the table of means has the sums of the table of posterior means, but for the shrinkage. This is the
whole of the algorithm; how the cells are held, and so how sums over them are found, is told by
`whole.model` (one table) and `blocks.model` (block by block).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.estimate.evidence import prior_variance
from synth.estimate.interactions import Interactions
from synth.estimate.posterior import Mixture
from synth.estimate.solver import MEMORY, Map, divided_by, solve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Spreads = list[dict[int, float]]
"""For every part of the model: the spread of each of its components."""

MAX_ORDER = 3
"""Interactions of up to this many attributes enter the model."""
SHAPE = 20.0
"""About the shape of the prior's mixture: a count varies around its mean by 1 / sqrt(20) more."""
LARGEST_DISCOUNT = 5.0
_FIRST_SPREAD = (3.0, 2.0, 0.2, 0.05)
"""Standard deviation of an effect on the log mean by its order, before any evidence."""
_TOLERANCE = 0.1


@dataclass(frozen=True)
class Schedule:
    """How far the fit goes: (order, iterations) of every stage, iterations after every evidence."""

    stages: Sequence[tuple[int, int]]
    rounds: Sequence[int]


class LogLinear(ABC):
    """The algorithm; a backend answers for the sums over its cells."""

    shortening = 0.5
    """How much of a step that goes too far is kept at least; see `solve`."""
    carries_scale = False
    """Whether a stage starts with steps scaled as they were at the end of the one before."""
    tolerance = 0.0
    """Promised gain in nats for each coefficient, that is not worth a step; or 0.1 for all."""
    memory = MEMORY
    """How many steps the solver remembers; see `solve`."""
    is_complete = True
    """Whether all interactions are fitted, as they are from the last stage on."""
    doubts_itself = False
    """Whether noisy sums count for more where the expected counts are off by more than they say
    (`trusted`). A fit that does not start from the sums begins with that when spreads are set by
    the evidence: before, it is off everywhere, and would take noise for what it lacks."""

    def __init__(self) -> None:
        """Nothing is fitted yet."""
        self.steps: list[dict[str, Any]] = []
        self._scale = 1.0

    @abstractmethod
    def deviations(self, spreads: Spreads, order: int | None) -> Floats:
        """The prior's standard deviation of every coefficient; 0 beyond an order that is given."""

    @abstractmethod
    def pull(self, theta: Floats) -> Floats:
        """Inner products of all basis functions with expected counts less means."""

    @abstractmethod
    def information(self, theta: Floats) -> Floats:
        """About what the noisy tables say of every coefficient; renews the weight of noisy sums."""

    def divider(self, theta: Floats, active: Ints, unit: Floats) -> Map:
        """Division by about the curvature, in units of the prior's deviations.

        `active` are the numbers of the coefficients that are fitted, `unit` their deviations.
        """
        return divided_by(1.0 + unit * unit * self.information(theta)[active])

    @abstractmethod
    def weigh_evidence(self, theta: Floats, spreads: Spreads) -> Spreads:
        """Renew every spread, and the discount of every cell."""

    def climb(self, theta: Floats, spreads: Spreads, schedule: Schedule) -> tuple[Floats, Spreads]:
        """Main effects first, then pairs, then triples; then spreads set by the evidence.

        Spread by the evidence (MacKay 1992): spread^2 = |coefficients|^2 / gamma, where gamma
        counts the coefficients that the noisy table, not the prior, determines. With it comes the
        discount: the mean that the posterior of a cell is given is lowered by a share of the
        variance of its log mean, since the most probable log mean of an uncertain cell
        exaggerates what its noise suggests; all are then raised so that their total stays.
        """
        parts = len(schedule.stages) + len(schedule.rounds)
        for part, (order, iterations) in enumerate(schedule.stages, start=1):
            name = f"fit interactions of up to {order} attributes"
            self.is_complete = part == len(schedule.stages)
            with progress.stage(progress.Stage.ESTIMATION, part=part, parts=parts):
                theta = self._solve(theta, self.deviations(spreads, order), iterations, name)
        self.doubts_itself = True
        for part, iterations in enumerate(schedule.rounds, start=len(schedule.stages) + 1):
            spreads = self.weigh_evidence(theta, spreads)
            scale = self.deviations(spreads, None)
            with progress.stage(progress.Stage.ESTIMATION, part=part, parts=parts):
                theta = self._solve(theta, scale, iterations, "spreads set by the evidence")
        return theta, spreads

    def climb_again(self, theta: Floats, spreads: Spreads, iterations: int) -> Floats:
        """From the end of a fit to tables that were much the same, with its spreads."""
        self.doubts_itself = True
        scale = self.deviations(spreads, None)
        return self._solve(theta, scale, iterations, "start from another fit")

    def note_learned(self, mixture: Mixture) -> None:
        """Report what was learned of how counts vary around their means."""
        self.steps.append(
            {
                "step": "learn how far counts vary around their means",
                "shapes": [shape if math.isfinite(shape) else None for shape in mixture.shapes],
                "weights": list(mixture.weights),
            }
        )

    def _solve(self, theta: Floats, scale: Floats, iterations: int, name: str) -> Floats:
        active = np.flatnonzero(scale)
        unit = scale[active]

        def coefficients(point: Floats) -> Floats:
            full = np.zeros(theta.size)
            full[active] = point * unit
            return full

        def field(point: Floats) -> Floats:
            return np.asarray(self.pull(coefficients(point))[active] * unit - point)

        def divider(point: Floats) -> Map:
            return self.divider(coefficients(point), active, unit)

        solution = solve(
            field,
            theta[active] / unit,
            divider,
            max_iterations=iterations,
            tolerance=max(_TOLERANCE, self.tolerance * active.size),
            shortening=self.shortening,
            scale=self._scale,
            memory=self.memory,
        )
        if self.carries_scale:
            self._scale = solution.scale
        self.steps.append(
            {
                "step": name,
                "coefficients": int(active.size),
                "iterations": solution.iterations,
                "stop": solution.stop,
                "promised_gain_nats": solution.promise,
            }
        )
        return coefficients(solution.point)


def first_spreads(interactions: Interactions, components: Sequence[int]) -> dict[int, float]:
    """The spread of every component before any evidence."""
    orders = {component: interactions.component_order(component) for component in components}
    return {component: _FIRST_SPREAD[min(k, MAX_ORDER)] for component, k in orders.items()}


def component_deviations(
    interactions: Interactions, spread: dict[int, float], order: int | None
) -> Floats:
    """By the number of a component: the prior's standard deviation of its coefficients."""
    variance = np.zeros(interactions.component_count)
    for component, value in spread.items():
        if order is None or interactions.component_order(component) <= order:
            variance[component] = prior_variance(interactions, component, value)
    return np.sqrt(variance)


def left_variance(mean: Floats, noise_variance: float) -> Floats:
    """The variance of a count with this mean, once its noisy count is known."""
    prior = mean + mean * mean / SHAPE
    return np.asarray(prior * (noise_variance / (prior + noise_variance)))


def noisy_information(mean: Floats, noise_variance: float) -> Floats:
    """About what a noisy cell says of its log mean: m^2 / (m + noise variance)."""
    return np.asarray(mean * (mean / (mean + noise_variance)))
