"""How wrong the queries of the workload will be, as the least squares of the noisy tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import Any, Literal

from synth.domain import Margin
from synth.noise import DiscreteLaplace
from synth.planning.linear_theory import (
    Kind,
    Question,
    components_of,
    point_of,
    variances_by_part,
)
from synth.planning.noise_sums import (
    MEAN_ABSOLUTE,
    NoiseSum,
    laplace_rate,
    noise_variance,
    noise_variances,
)
from synth.planning.problem import Problem
from synth.privacy import TableEvent

MISS = Fraction(1, 20)
"""One minus the confidence of every interval of the forecast."""

FEW_COLUMNS = 8
"""Tables of at most so many columns are combined one question at a time."""

Law = Literal["exact", "scaled", "normal"]

SMALLEST_RATE = 0.05
"""Sums of noises with smaller rates have, but for their scale, the law at this one."""


@dataclass(frozen=True)
class QueryForecast:
    """The error of one set of queries, as the best linear estimate from the noisy tables.

    Shapes and units: all errors are in records, per query: a cell of a marginal, or an interval.
    `cells` counts the queries. A query's interval is its estimate plus or minus `half_width_95`;
    with `simultaneous_95` all of them are covered at once with 95 % (Bonferroni). `law` says
    what these are quantiles of: the `exact` law of the noise; the law of the sum that the most
    exact single table gives, `scaled` to the smaller variance of all tables together; or a
    `normal` law. For intervals `sd_records` is the root of the mean variance over all of them.
    """

    attributes: tuple[str, ...]
    cells: int
    summed_cells: int | None
    """Noisy cells that add up to one query, where a single noisy table answers by addition."""
    sd_records: float
    half_width_95: int
    simultaneous_95: int
    mean_absolute_error_records: float
    total_variation: float | None
    """Expected half L1 error over a declared total; for intervals the mean error over it."""
    weight: Fraction
    kind: Kind = "marginal"
    law: Law = "exact"

    @property
    def l1_records(self) -> float:
        """The expected sum of the absolute errors of all queries."""
        return self.cells * self.mean_absolute_error_records

    def to_plain(self) -> dict[str, Any]:
        """The figures in JSON values."""
        return {
            "attributes": list(self.attributes),
            "kind": self.kind,
            "cells": self.cells,
            "summed_cells": self.summed_cells,
            "sd_records": self.sd_records,
            "half_width_95": self.half_width_95,
            "simultaneous_95": self.simultaneous_95,
            "law": self.law,
            "mean_absolute_error_records": self.mean_absolute_error_records,
            "l1_records": self.l1_records,
            "total_variation": self.total_variation,
            "weight": str(self.weight),
        }


@dataclass(frozen=True)
class _Error:
    sd: float
    half_width: int
    simultaneous: int
    mean_absolute: float
    summed: int | None
    law: Law


def forecast_queries(
    problem: Problem, events: Sequence[TableEvent], questions: tuple[Question, ...]
) -> tuple[QueryForecast | None, ...]:
    """One forecast per question; None where the tables do not tell about all of it."""
    points = tuple(point_of(problem.axes, Margin(e.table, e.coarsening)) for e in events)
    precisions = [1 / variance for variance in noise_variances(events)]
    if len(events) == 1 and events[0].epsilon is not None and not any(events[0].coarsening):
        errors = _sums_of_one_table(events[0], questions)
    else:
        errors = {}
    if all(len(event.table) <= FEW_COLUMNS for event in events):
        variances = variances_by_part(problem.axes, points, questions, precisions)
    else:
        variances = _variances_together(problem, points, questions, precisions)
    holding = _Holding(events)
    found: list[QueryForecast | None] = []
    for number, (question, variance) in enumerate(zip(questions, variances, strict=True)):
        if variance is None:
            found.append(None)
            continue
        error = errors.get(number) or _approximate(
            holding.events(question), question, math.sqrt(variance)
        )
        found.append(_forecast(problem, question, error))
    return tuple(found)


def _variances_together(
    problem: Problem,
    points: tuple[tuple[int, ...], ...],
    questions: tuple[Question, ...],
    precisions: Sequence[float],
) -> list[float | None]:
    """The least squares variance of every question; None where the tables do not tell all of it."""
    components = components_of(problem.axes, points)
    variances = components.variances(questions, precisions).tolist()
    answered = components.answers(questions).tolist()
    return [each if known else None for each, known in zip(variances, answered, strict=True)]


class _Holding:
    """The tables that hold a question's columns at the codes themselves."""

    def __init__(self, events: Sequence[TableEvent]) -> None:
        self._events = events
        self._of_column: dict[str, set[int]] = {}
        for number, event in enumerate(events):
            for name in () if any(event.coarsening) else event.table:
                self._of_column.setdefault(name, set()).add(number)

    def events(self, question: Question) -> list[TableEvent]:
        """Those tables, in order; of ranges none, because none of their cells is one answer."""
        if not question.is_table:
            return []
        held = [self._of_column.get(name, set()) for name in question.attributes]
        return [self._events[number] for number in sorted(set.intersection(*held))]


def _forecast(problem: Problem, question: Question, error: _Error) -> QueryForecast:
    per_record = error.mean_absolute / problem.total if problem.total else None
    scale = question.queries / 2 if question.is_table else 1
    return QueryForecast(
        attributes=question.attributes,
        cells=question.queries,
        summed_cells=error.summed,
        sd_records=error.sd,
        half_width_95=error.half_width,
        simultaneous_95=error.simultaneous,
        mean_absolute_error_records=error.mean_absolute,
        total_variation=None if per_record is None else scale * per_record,
        weight=question.weight,
        kind=question.kind,
        law=error.law,
    )


def _approximate(alone: Sequence[TableEvent], question: Question, sd: float) -> _Error:
    """Errors of several tables together; `alone` are those that each hold all of its columns.

    Adding independent noises makes tails lighter, so the law of the sum over the best single
    table, scaled, is rather too wide than too narrow far out. Rounding: half widths upwards.
    """
    misses = float(MISS), float(MISS / question.queries)
    best = min(alone, key=lambda event: noise_variance(event) * event.cells, default=None)
    if best is not None and best.epsilon is not None:
        rate = max(laplace_rate(best), SMALLEST_RATE)
        shape = _noise_sum(rate, best.summed * (best.cells // question.queries))
        scale = sd / shape.sd
        widths = [math.ceil(scale * (shape.half_width(miss) + 1)) for miss in misses]
        return _Error(sd, widths[0], widths[1], scale * shape.mean_absolute, None, "scaled")
    normal = NormalDist()
    widths = [math.ceil(-sd * normal.inv_cdf(max(miss / 2, 1e-300))) for miss in misses]
    return _Error(sd, widths[0], widths[1], MEAN_ABSOLUTE * sd, None, "normal")


@cache
def _noise_sum(rate: float, count: int) -> NoiseSum:
    return NoiseSum(rate, count)


def _sums_of_one_table(event: TableEvent, questions: Sequence[Question]) -> dict[int, _Error]:
    """Exact errors of the marginals of the only noisy table, sums of equally many of its cells."""
    if event.epsilon is None:
        return {}
    law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    rate = laplace_rate(event)

    @cache
    def errors(cells: int) -> _Error:
        noise = NoiseSum(rate, event.summed * (event.cells // cells))
        misses = MISS, MISS / cells
        if noise.count == 1:
            widths = [law.half_width(1 - miss) for miss in misses]
        else:
            widths = [noise.half_width(float(miss)) for miss in misses]
        return _Error(noise.sd, widths[0], widths[1], noise.mean_absolute, noise.count, "exact")

    return {
        number: errors(question.queries)
        for number, question in enumerate(questions)
        if question.is_table and set(question.attributes) <= set(event.table)
    }
