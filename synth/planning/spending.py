"""A budget spent on tables: exact fractions that add up to what is there and never to more.

The number of records is always known: everybody who reads a release first asks for it, and every
share is a count divided by it. The sum of a noisy table over D cells has D times the variance of a
cell, so a plan that measures the universe alone may be off by many times the number of records. A
fiftieth of epsilon measures it as a table of no attributes: one cell, in which every record lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from synth.config import PrivacyConfig
from synth.domain import Margin
from synth.noise import DiscreteLaplace
from synth.planning.listed import listing_event
from synth.planning.noise_sums import noise_variances
from synth.planning.problem import Problem
from synth.planning.rounds import Schedule
from synth.privacy import (
    PrivacyEvent,
    TableEvent,
    largest_rho,
    sensitivity_l1,
    sensitivity_l2_squared,
)
from synth.privacy.accounting import GAUSSIAN

PARTS = 1 << 20
"""A share is a whole number of these parts of a budget."""
LEAST_SHARE = 0.01
"""A table that the configuration names gets at least this part of an equal share."""
TOTAL_SHARE = Fraction(1, 50)
"""The part of the budget that measures the number of records, where it is measured by itself."""
GOOD_SHARE = 0.01
"""A total is known well enough if twice its standard deviation is this part of the records that
are expected, or less."""
COLUMNS_SHARE = Fraction(1, 20)
"""The part of epsilon that would tell the tables of single columns well enough."""

EVERYBODY = Margin((), ())
"""The table of no attributes."""

ADAPTIVE = "adaptive"
"""What the adaptive strategy is called among the ways to spend the budget."""

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
        budget, parts_of_all = self.budget(problem.privacy), whole_parts(shares)
        budgets = {parts: budget * Fraction(parts, PARTS) for parts in {*parts_of_all}}
        return tuple(
            table_event(problem, margin, budgets[parts], noise=self.noise)
            for margin, parts in zip(margins, parts_of_all, strict=True)
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


@dataclass(frozen=True)
class Spending:
    """One way to spend the budget, under the name of what is measured.

    `low_order_share` is the part of epsilon for the tables beside the universe, whose noise is
    `noise`; None where there is no such split. With a `schedule` some tables are chosen in the run,
    and `events` are those of a likely run.
    """

    tables: str
    events: tuple[TableEvent, ...]
    noise: Noise = "laplace"
    low_order_share: Fraction | None = None
    schedule: Schedule | None = None

    @property
    def first(self) -> tuple[TableEvent, ...]:
        """The tables that are measured whatever is chosen."""
        return self.events if self.schedule is None else self.schedule.first

    @property
    def charged(self) -> tuple[PrivacyEvent, ...]:
        """Everything that is paid for."""
        return self.events if self.schedule is None else self.schedule.events

    @property
    def dearest(self) -> tuple[TableEvent, ...]:
        """The tables of a run that takes most memory, disk and time."""
        return self.events if self.schedule is None else self.schedule.largest


def noises(problem: Problem) -> tuple[Noise, ...]:
    """The kinds of noise that smaller tables may get."""
    return ("laplace", "gaussian") if problem.privacy.delta else ("laplace",)


def total_is_known(problem: Problem, events: Sequence[TableEvent]) -> bool:
    """Whether the number of records is declared, or these tables give it well enough.

    Well enough is within `GOOD_SHARE` of the expected records, if some are, or as exactly as
    `TOTAL_SHARE` of epsilon would by itself.

    Privacy: a function of the public problem.
    """
    if problem.total is not None or any(not event.table for event in events):
        return True
    precision = sum(
        1 / (variance * event.cells)
        for event, variance in zip(events, noise_variances(events), strict=True)
        if event.threshold is None
    )
    expected = problem.workload.expected_records
    if expected and precision * (GOOD_SHARE * expected / 2) ** 2 >= 1:
        return True
    return precision * _variance(problem, problem.privacy.epsilon * TOTAL_SHARE) >= 1


def columns_are_known(problem: Problem, events: Sequence[TableEvent]) -> bool:
    """Whether every column has a table of its own, or other tables give it about as exactly.

    As exactly is what `COLUMNS_SHARE` of epsilon would tell, shared alike by all columns.

    Privacy: a function of the public problem.
    """
    attributes = problem.universe.attributes
    share = problem.privacy.epsilon * COLUMNS_SHARE / len(attributes)
    enough = 1 / _variance(problem, share)
    sizes = {attribute.name: attribute.size for attribute in attributes}
    precision = dict.fromkeys(sizes, 0.0)
    for event, of_cell in zip(events, noise_variances(events), strict=True):
        if event.threshold is not None:
            continue
        variance = of_cell * event.cells
        for name, steps in zip(event.table, event.coarsening, strict=True):
            if not steps:
                alone = len(event.table) == 1
                precision[name] += math.inf if alone else sizes[name] / variance
    return all(each >= enough for each in precision.values())


def _variance(problem: Problem, epsilon: Fraction) -> float:
    """Of Laplace noise for this budget; infinite where it is too wide to be drawn."""
    try:
        return DiscreteLaplace(epsilon, sensitivity_l1(problem.privacy)).variance
    except ValueError:
        return math.inf


def with_total(problem: Problem, way: Spending) -> Spending:
    """The same way with a table of the number of records, if its tables do not give it.

    The other tables with the same kind of noise give up their part of it in proportion, Laplace
    tables if they have at least half of epsilon, else Gaussian ones; the threshold of a list
    follows from what it keeps.

    A schedule has its own.

    Privacy: the sum of the epsilons, and that of the rhos, stays exactly what it was. Every record
    lies in the one cell, so the table has the sensitivity of any other.
    """
    if way.schedule is not None or total_is_known(problem, way.events):
        return way
    laplace = sum((each.epsilon for each in way.events if each.epsilon), start=Fraction(0))
    if 2 * laplace >= problem.privacy.epsilon:
        spent = TOTAL_SHARE * problem.privacy.epsilon
        kept = 1 - spent / laplace
        events = [
            _with_epsilon(problem, each, each.epsilon * kept) if each.epsilon else each
            for each in way.events
        ]
        total = table_event(problem, EVERYBODY, spent, noise="laplace")
    else:
        rho = sum((each.rho for each in way.events if each.rho), start=Fraction(0))
        kept = 1 - TOTAL_SHARE
        events = [replace(each, rho=each.rho * kept) if each.rho else each for each in way.events]
        total = table_event(problem, EVERYBODY, TOTAL_SHARE * rho, noise="gaussian")
    return replace(way, events=(*events, total))


def _with_epsilon(problem: Problem, event: TableEvent, epsilon: Fraction) -> TableEvent:
    if event.threshold is None:
        return replace(event, epsilon=epsilon)
    return listing_event(problem, epsilon, event.delta or Fraction(0))
