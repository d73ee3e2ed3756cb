"""The best split of a budget over candidate margins, by a sum of variances or absolute errors.

**zCDP** is a convex problem, solved to a known gap. The cost of Gaussian noise is linear in its
precision, so a share of the budget is a share of the precision. The loss has degree -1 (variances)
or -1/2 (absolute errors) in the shares s, and its slope g satisfies s @ g = loss. Every step
multiplies the shares by a power of g and rescales: margins that help more than the average gain
(Silvey, Titterington, Torsney 1978). For any shares, 1/loss (1/loss^2) is concave, which bounds the
optimum from below by loss / max g times the loss, or its root: the efficiency that is recorded.

**Pure.** The epsilons of Laplace noise add up, and the precision of a table is cosh(r) - 1 at the
rate r = epsilon / sensitivity: about r^2 / 2 for small rates. Such a budget is better spent on few
tables, and the problem is not convex: a split that cannot be improved by small changes need not be
the best one. So the search starts from several splits and tries to do without tables, many at
once and then one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from synth.planning.linear_theory import Components, Floats, Question, inverse
from synth.planning.noise_sums import LARGEST_RATE, MEAN_ABSOLUTE

Error = Literal["variance", "absolute"]
ENOUGH = 0.9995
"""The efficiency at which the search ends."""
MOST_LINEAR_STEPS = 2000
SMALLEST_STEP, LARGEST_STEP = 0.5, 4.0
NEGLIGIBLE = 1e-3
"""A margin whose share is below this fraction of an equal share is given up, if that costs..."""
GIVEN_UP = 2e-4
"""...all of them together no more than this fraction of the loss."""
MOST_PURE_STEPS = 200
SETTLED = 1e-5
"""A step that improves the loss by less than this fraction ends the search."""
SMALLEST_POWER = 1 / 64
MANY = 200
"""With more candidates than this, fewer starts are tried."""
ONE_BY_ONE = 64
"""With at most so many tables left, each is tried alone."""
UNMEASURED = 1e90
"""No workload that is measured has a loss like this."""


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss of a vector of noise precisions, one per candidate margin.

    Shapes: `information` M x C, `energy` Q x C, `coefficient` Q. With P = precisions @ information
    and V_q = sum_c energy[q, c] / P_c, the loss is sum_q coefficient_q V_q (`variance`) or
    sum_q coefficient_q sqrt(V_q) (`absolute`). Both are convex in the precisions.
    """

    information: Floats
    energy: Floats
    coefficient: Floats
    error: Error

    def variances(self, precisions: Floats) -> Floats:
        """V of every question; infinite where a component is not measured."""
        return self.energy @ self._inverse(precisions)

    def loss(self, precisions: Floats) -> float:
        """The loss of one vector of precisions."""
        return self._loss(self.variances(precisions))

    def losses(self, precisions: Floats) -> Floats:
        """The loss of every row."""
        return np.array([self._loss(row) for row in self._inverse(precisions) @ self.energy.T])

    def slope(self, precisions: Floats) -> tuple[float, Floats]:
        """The loss and how fast each precision lowers it, times 2 for `absolute`.

        Ensures: precisions @ slope = loss.
        Requires: every component with energy is measured.
        """
        inverse = self._inverse(precisions)
        variances = self.energy @ inverse
        weights = self.coefficient
        if self.error == "absolute":
            weights = weights / np.sqrt(variances)
        slope = self.information @ ((weights @ self.energy) * inverse**2)
        return self._loss(variances), slope

    def _loss(self, variances: Floats) -> float:
        errors = np.sqrt(variances) if self.error == "absolute" else variances
        return float(self.coefficient @ errors)

    def _inverse(self, precisions: Floats) -> Floats:
        return inverse(precisions @ self.information)


def objective_of(
    components: Components, questions: tuple[Question, ...], *, error: Error
) -> Objective:
    """The objective of a workload.

    `variance`: the weighted sum of the variances of all queries. `absolute`: the weighted sum of
    half the L1 error of every table (its total variation times the number of records) and of the
    mean absolute error of every set of ranges, for normal errors; a range is off by a share of
    the records of the same kind as a total variation.
    Requires: the margins answer every question.
    """
    energy = components.energy(questions)
    useful = energy.any(axis=0)

    def coefficient(question: Question) -> float:
        if error == "variance":
            return float(question.weight) * question.queries
        scale = question.queries / 2 if question.is_table else 1.0
        return float(question.weight) * scale * MEAN_ABSOLUTE

    return Objective(
        components.information[:, useful],
        energy[:, useful],
        np.array([coefficient(question) for question in questions]),
        error,
    )


@dataclass(frozen=True, eq=False)
class Split:
    """Shares of a budget, one per candidate margin; they add up to 1.

    `efficiency`: the least possible loss is at least this fraction of `loss`; None if unknown.
    """

    shares: Floats
    loss: float
    efficiency: float | None
    steps: int


def optimal_split(objective: Objective) -> Split:
    """The shares of a linear (zCDP) budget that minimise the loss, up to the recorded gap.

    Requires: all candidates together measure every component with energy.
    """
    count = len(objective.information)
    root = 2 if objective.error == "absolute" else 1
    shares = np.full(count, 1 / count)
    loss, slope = objective.slope(shares)
    power, steps = 1.0, 0
    while steps < MOST_LINEAR_STEPS and loss / float(slope.max()) < ENOUGH**root:
        steps += 1
        moved = shares * (slope / loss) ** power
        moved /= moved.sum()
        new_loss, new_slope = objective.slope(moved)
        if new_loss <= loss:
            shares, loss, slope = moved, new_loss, new_slope
            power = min(LARGEST_STEP, 1.2 * power)
        elif power > SMALLEST_STEP:
            power = max(SMALLEST_STEP, power / 2)
        else:
            break  # a step of 1/2 never makes it worse but by rounding
    efficiency = (loss / float(slope.max())) ** (1 / root)
    shares, kept_loss = _without_negligible(objective, shares, loss)
    return Split(shares, kept_loss, efficiency * loss / kept_loss, steps)


def _without_negligible(objective: Objective, shares: Floats, loss: float) -> tuple[Floats, float]:
    """The shares without those that are next to nothing, and the loss then."""
    kept = np.where(shares < NEGLIGIBLE / len(shares), 0.0, shares)
    kept /= kept.sum()
    kept_loss = objective.loss(kept)
    return (kept, kept_loss) if kept_loss <= (1 + GIVEN_UP) * loss else (shares, loss)


def precision_of_rate(rates: Floats) -> Floats:
    """The noise precision of discrete Laplace noise: 1 / variance = (1-a)^2 / (2a), a = exp(-r)."""
    return 2 * np.sinh(np.minimum(rates, LARGEST_RATE) / 2) ** 2


def pure_split(objective: Objective, rate: float) -> Split:
    """The best shares found of a pure budget with this rate (epsilon / sensitivity) in all.

    Ensures: deterministic; never worse than equal shares for all candidates, for the most
    detailed ones, or any single candidate that answers everything.
    """
    count = len(objective.information)
    linear = optimal_split(objective).shares
    helpful = (objective.information > 0).sum(axis=1)
    starts = [_equal(helpful == helpful.max()), np.cbrt(linear) / np.cbrt(linear).sum()]
    if count <= MANY:
        starts += [np.full(count, 1 / count), linear]
    alone = objective.losses(precision_of_rate(rate * np.eye(count)))
    starts.append(np.eye(count)[int(alone.argmin())])
    found = [
        _fewer(objective, rate, *_descent(objective, rate, start))
        for start in starts
        if _loss(objective, rate, start) < UNMEASURED
    ]
    shares, loss = min(found, key=lambda pair: pair[1])
    return Split(shares, loss, None, len(found))


def _loss(objective: Objective, rate: float, shares: Floats) -> float:
    return objective.loss(precision_of_rate(rate * shares))


def _descent(objective: Objective, rate: float, shares: Floats) -> tuple[Floats, float]:
    """Multiply the shares by powers of their slope while that helps."""
    loss = _loss(objective, rate, shares)
    power = 1 / 3
    for _ in range(MOST_PURE_STEPS):
        rates = np.minimum(rate * shares, LARGEST_RATE)
        slope = objective.slope(precision_of_rate(rates))[1] * np.sinh(rates)
        moved = shares * (slope / slope.max()) ** power
        moved /= moved.sum()
        moved_loss = _loss(objective, rate, moved)
        if moved_loss < loss:
            settled = moved_loss > (1 - SETTLED) * loss
            shares, loss = moved, moved_loss
            power = min(1.0, 1.2 * power)
            if settled:
                break
        elif power > SMALLEST_POWER:
            power /= 2
        else:
            break
    return shares, loss


def _fewer(objective: Objective, rate: float, shares: Floats, loss: float) -> tuple[Floats, float]:
    """Give up tables as long as that helps: the smaller half, then the least useful one."""
    while True:
        active = np.flatnonzero(shares)
        if len(active) == 1:
            return shares, loss
        order = active[np.argsort(shares[active], kind="stable")]
        trials = [order[: len(order) // 2]]
        if len(active) <= MANY:
            trials.append(order[: len(order) // 8])
        if len(active) <= ONE_BY_ONE:
            without = np.where(np.eye(len(shares), dtype=bool)[active], 0.0, shares)
            without /= without.sum(axis=1, keepdims=True)
            losses = objective.losses(precision_of_rate(rate * without))
            trials.append(active[losses.argmin()][None])
        for trial in trials:
            kept = shares.copy()
            kept[trial] = 0.0
            kept /= kept.sum()
            if not len(trial) or _loss(objective, rate, kept) >= UNMEASURED:
                continue
            kept, kept_loss = _descent(objective, rate, kept)
            if kept_loss < loss:
                shares, loss = kept, kept_loss
                break
        else:
            return shares, loss


def _equal(chosen: NDArray[np.bool_]) -> Floats:
    shares: Floats = chosen / chosen.sum()
    return shares
