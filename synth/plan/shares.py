"""Budgets in whole parts: exact fractions that add up to what is there and never to more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synth.config.types import PrivacyConfig
from synth.domain import Margin
from synth.plan.problem import Problem
from synth.privacy import TableEvent, largest_rho, sensitivity_l1, sensitivity_l2_squared
from synth.privacy.accounting import GAUSSIAN

PARTS = 1 << 20
"""A share is a whole number of these parts of a budget."""

Noise = Literal["laplace", "gaussian"]


def whole_parts(shares: Sequence[float]) -> list[int]:
    """Shares as whole numbers of parts that add up to all of them.

    Rounding: down; what is left goes to the largest share. A share below one part becomes 0.
    Requires: at least one share is positive.
    """
    total = sum(shares)
    parts = [int(PARTS * share / total) for share in shares]
    left = PARTS - sum(parts)
    if left < 0:  # by the rounding of a share of nearly everything
        return whole_parts([share * (1 - 2**-40) for share in shares])
    parts[parts.index(max(parts))] += left
    return parts


@dataclass(frozen=True)
class Purse:
    """A part of the budget that is spent on noise of one kind.

    Privacy: Laplace noise is pure `epsilon`-DP in all; Gaussian noise has in all the largest rho
    that is (`epsilon`, delta)-DP, so only one purse of a plan may be Gaussian.
    """

    epsilon: Fraction
    noise: Noise

    def budget(self, privacy: PrivacyConfig) -> Fraction:
        """The whole purse: an epsilon, or a rho."""
        if self.noise == "laplace":
            return self.epsilon
        return largest_rho(self.epsilon, privacy.delta)

    def events(
        self, problem: Problem, margins: Sequence[Margin], shares: Sequence[float]
    ) -> tuple[TableEvent, ...]:
        """One event per margin with a share, in the order given.

        Ensures: the budgets of the events add up to exactly that of the purse.
        """
        budget = self.budget(problem.privacy)
        return tuple(
            table_event(problem, margin, budget * Fraction(parts, PARTS), noise=self.noise)
            for margin, parts in zip(margins, whole_parts(shares), strict=True)
            if parts
        )


def table_event(problem: Problem, margin: Margin, budget: Fraction, *, noise: Noise) -> TableEvent:
    """The event of one noisy table: `budget` is its epsilon, or its rho."""
    cells, l1 = margin.cells(problem.universe), sensitivity_l1(problem.privacy)
    if noise == "laplace":
        return TableEvent(margin.names, cells, l1, budget, coarsening=margin.coarsening)
    return TableEvent(
        margin.names,
        cells,
        l1,
        mechanism=GAUSSIAN,
        coarsening=margin.coarsening,
        rho=budget,
        sensitivity_l2_squared=sensitivity_l2_squared(problem.privacy),
    )
