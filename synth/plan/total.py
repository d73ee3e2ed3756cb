"""The number of records: a plan whose tables do not give it well enough measures it by itself.

Everybody who reads a release first asks how many records there were, and every share is a count
divided by their number. The sum of a noisy table over D cells has D times the variance of a cell,
so a plan that measures the universe alone may be off by many times the number of records. A
fiftieth of epsilon measures it as a table of no attributes: one cell, in which every record lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from synth.domain import Margin
from synth.noise import DiscreteLaplace
from synth.plan.noise_variance import noise_variance
from synth.plan.problem import Problem
from synth.plan.shares import table_event
from synth.plan.sparse_rule import listing_event
from synth.plan.spending import Spending
from synth.privacy import TableEvent, sensitivity_l1

TOTAL_SHARE = Fraction(1, 50)
"""The part of the budget that measures the number of records, where it is measured by itself."""
GOOD_SHARE = 0.01
"""A total is known well enough if twice its standard deviation is this part of the records that
are expected, or less."""
COLUMNS_SHARE = Fraction(1, 20)
"""The part of epsilon that would tell the tables of single columns well enough."""

EVERYBODY = Margin((), ())
"""The table of no attributes."""


def total_is_known(problem: Problem, events: Sequence[TableEvent]) -> bool:
    """Whether the number of records is declared, or these tables give it well enough.

    Well enough is within `GOOD_SHARE` of the expected records, if some are, or as exactly as
    `TOTAL_SHARE` of epsilon would by itself.

    Privacy: a function of the public problem.
    """
    if problem.total is not None or any(not event.table for event in events):
        return True
    precision = sum(
        1 / (noise_variance(event) * event.cells) for event in events if event.threshold is None
    )
    expected = problem.workload.expected_records
    if expected and precision * (GOOD_SHARE * expected / 2) ** 2 >= 1:
        return True
    law = DiscreteLaplace(problem.privacy.epsilon * TOTAL_SHARE, sensitivity_l1(problem.privacy))
    return precision * law.variance >= 1


def columns_are_known(problem: Problem, events: Sequence[TableEvent]) -> bool:
    """Whether every column has a table of its own, or other tables give it about as exactly.

    As exactly is what `COLUMNS_SHARE` of epsilon would tell, shared alike by all columns.

    Privacy: a function of the public problem.
    """
    attributes = problem.universe.attributes
    share = problem.privacy.epsilon * COLUMNS_SHARE / len(attributes)
    enough = 1 / DiscreteLaplace(share, sensitivity_l1(problem.privacy)).variance
    for attribute in attributes:
        precision = 0.0
        for event in events:
            if event.threshold is not None or attribute.name not in event.table:
                continue
            if event.coarsening[event.table.index(attribute.name)]:
                continue
            if len(event.table) == 1:
                precision = math.inf
                break
            precision += attribute.size / (noise_variance(event) * event.cells)
        if precision < enough:
            return False
    return True


def with_total(problem: Problem, way: Spending) -> Spending:
    """The same way with a table of the number of records, if its tables do not give it.

    The other tables with the same kind of noise give up their part of it in proportion, Laplace
    tables if they have at least half of epsilon, else Gaussian ones; the threshold of a list
    follows from what it keeps.

    Privacy: the sum of the epsilons, and that of the rhos, stays exactly what it was. Every record
    lies in the one cell, so the table has the sensitivity of any other.
    """
    if total_is_known(problem, way.events):
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
