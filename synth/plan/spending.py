"""One way to spend the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from synth.plan.problem import Problem
from synth.plan.shares import Noise
from synth.privacy import TableEvent

LEAST_SHARE = 0.01
"""A table that the configuration names gets at least this part of an equal share."""


@dataclass(frozen=True)
class Spending:
    """One way to spend the budget, under the name of what is measured.

    `low_order_share` is the part of epsilon for the tables beside the universe, whose noise is
    `noise`; None where there is no such split.
    """

    tables: str
    events: tuple[TableEvent, ...]
    noise: Noise = "laplace"
    low_order_share: Fraction | None = None


def noises(problem: Problem) -> tuple[Noise, ...]:
    """The kinds of noise that smaller tables may get."""
    return ("laplace", "gaussian") if problem.privacy.delta else ("laplace",)
