"""Tables that are chosen in the run: candidates, and rounds whose cost is fixed beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from synth.domain import Margin
from synth.planning.noise_sums import MEAN_ABSOLUTE, noise_variance
from synth.planning.problem import Problem
from synth.privacy import (
    OpenTableEvent,
    PrivacyEvent,
    SelectionEvent,
    TableEvent,
    sensitivity_l1,
    sensitivity_l2_squared,
)
from synth.privacy.accounting import GAUSSIAN

MOST_FOR_A_CHOICE = Fraction(1, 8)
"""No larger part of a round's budget pays for its choice."""

_STEPS = 1 << 48
"""Square roots are rounded down to whole parts of this."""


@dataclass(frozen=True)
class Candidate:
    """A table that may be chosen.

    `weight`: at most 1; how much what is wrong in the table counts against other candidates.
    """

    margin: Margin
    cells: int
    weight: Fraction


@dataclass(frozen=True)
class Round:
    """One private choice of a table, and the noise of the table that is chosen."""

    selection: SelectionEvent
    table: OpenTableEvent
    noise_counts: Fraction = Fraction(1)
    """How much of the error of a candidate's own noise counts against it."""

    def event(self, candidate: Candidate) -> TableEvent:
        """The event of the table, if `candidate` is chosen."""
        return self.table.over(candidate.margin.names, candidate.cells, candidate.margin.coarsening)

    def expected_l1(self, candidate: Candidate) -> int:
        """What counts against a candidate: about how far, in records, noise brings its table.

        The mean absolute value of a normal noise of the same variance, for every cell, times
        `noise_counts`; the sum is rounded to whole records. A function of public numbers.
        """
        deviation = math.sqrt(noise_variance(self.event(candidate)))
        return round(float(self.noise_counts) * MEAN_ABSOLUTE * deviation * candidate.cells)


@dataclass(frozen=True)
class Schedule:
    """Everything that a run will spend in which tables are chosen.

    Privacy: all events are known before any record is read: how many rounds there are, and
    what each of them costs, depends on the configuration alone (after a look, on its noisy counts,
    too). Which tables are chosen does not change their cost. So the budget can be charged in full
    beforehand.
    """

    first: tuple[TableEvent, ...]
    """Measured before anything is chosen: all 1-way tables, at least."""
    candidates: tuple[Candidate, ...]
    rounds: tuple[Round, ...]
    rule: str
    """What may be chosen, in words."""
    renewed_after: int = 1
    """After so many rounds a new guess is made, from all tables before it; the first one is made
    from the first tables."""

    @property
    def guesses_after(self) -> range:
        """The rounds before which a guess is made."""
        return range(0, len(self.rounds), self.renewed_after)

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What is charged: the first tables, then choice and table of every round."""
        later = (event for each in self.rounds for event in (each.selection, each.table))
        return (*self.first, *later)

    @property
    def largest(self) -> tuple[TableEvent, ...]:
        """The first tables and the largest candidates: no choice leads to more cells."""
        by_size = sorted(self.candidates, key=lambda each: -each.cells)
        chosen = (each.event(one) for each, one in zip(self.rounds, by_size, strict=False))
        return (*self.first, *chosen)

    def to_plain(self) -> dict[str, Any]:
        """Rounds and candidates in JSON values; budgets are exact fractions in text."""
        return {
            "rule": self.rule,
            "rounds": [
                {
                    "epsilon_of_choice": str(each.selection.epsilon),
                    "mechanism": each.table.mechanism,
                    "epsilon": None if each.table.epsilon is None else str(each.table.epsilon),
                    "rho": None if each.table.rho is None else str(each.table.rho),
                }
                for each in self.rounds
            ],
            "candidates": [
                {
                    "attributes": list(candidate.margin.names),
                    "cells": candidate.cells,
                    "weight": str(candidate.weight),
                }
                for candidate in self.candidates
            ],
        }


def choice_share(candidates: Sequence[Candidate]) -> Fraction:
    """The part of a round's budget that pays for the choice; the rest pays for the table.

    A part s hides differences between candidates in proportion to 1 / s, and makes the noise of a
    table with K cells larger in proportion to s K: about the best is 1 / K^(1/2), K the mean over
    all candidates.
    """
    mean = sum(each.cells for each in candidates) // len(candidates)
    return min(MOST_FOR_A_CHOICE, Fraction(1, max(1, math.isqrt(mean))))


def rounds_of(
    problem: Problem,
    budget: Fraction,
    *,
    count: int,
    candidates: Sequence[Candidate],
    gaussian: bool,
    noise_counts: Fraction = Fraction(1),
) -> tuple[Round, ...]:
    """So many rounds alike, over these candidates, that cost `budget` in all.

    Without Gaussian noise the budget is an epsilon, and `choice_share` of a round's is for the
    choice. With it, it is a rho; the choice gets the epsilon whose epsilon^2 / 2 is about that
    share of the round's, and the table exactly the rest.

    Privacy: without Gaussian noise, the epsilons add up to exactly the budget; with it, the rhos
    of the tables and epsilon^2 / 2 of the choices.
    Rounding: square roots down.
    """
    l1, squared = sensitivity_l1(problem.privacy), sensitivity_l2_squared(problem.privacy)
    each, share = budget / count, choice_share(candidates)
    if gaussian:
        square = 2 * share * each * _STEPS**2
        choice = Fraction(math.isqrt(square.numerator // square.denominator), _STEPS)
        table = OpenTableEvent(
            l1, mechanism=GAUSSIAN, rho=each - choice**2 / 2, sensitivity_l2_squared=squared
        )
    else:
        choice = each * share
        table = OpenTableEvent(l1, each - choice)
    return tuple(
        Round(SelectionEvent(len(candidates) - number, choice), table, noise_counts)
        for number in range(count)
    )
