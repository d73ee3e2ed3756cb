"""The forecast: how wrong every query of the workload will be, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from synth.config import Config, Given, PrivacyConfig, load_config
from synth.domain import format_number
from synth.errors import ConfigError
from synth.noise import DiscreteLaplace
from synth.planning.costs import Costs, forecast_costs
from synth.planning.linear_theory import cells_of, questions_of
from synth.planning.listed import expected_false_cells
from synth.planning.look import Look, found, plan_look, problem_to_plan
from synth.planning.noise_sums import NoiseSum, laplace_rate, noise_variance
from synth.planning.problem import Problem, problem_of, unsuitable
from synth.planning.query_forecast import MISS, QueryForecast, forecast_queries
from synth.planning.rounds import Schedule
from synth.planning.spending import Spending
from synth.planning.usefulness import Proposal, Usefulness, proposals, usefulness
from synth.planning.weighing import (
    Alternative,
    alternatives,
    choose,
    planned_way,
    possible_plans,
)
from synth.privacy import TableEvent
from synth.privacy.meaning import posteriors

__all__ = ["MISS", "Forecast", "QueryForecast", "compare", "forecast"]


@dataclass(frozen=True, repr=False)
class Forecast:
    """What one budget buys; computed from the configuration alone.

    What is about single cells of the universe is None if the universe is not measured.
    """

    release_id: str
    epsilon: Fraction
    delta: Fraction
    neighbours: str
    privacy_unit: str
    universe_size: int
    possible_cells: int
    tables: tuple[TableEvent, ...]
    alpha: float | None
    noise_scale_records: float | None
    noise_sd_per_cell: float | None
    declared_total: int | None
    """All records, if `public_totals` declares them."""
    records: int
    """The number of records that the choice of tables reckons with."""
    records_are_assumed: bool
    """Whether that number is a default, because nothing is publicly known."""
    single_cell: QueryForecast | None
    """The finest query: one cell of the universe."""
    queries: tuple[QueryForecast, ...]
    """One per marginal of the workload that the tables answer, in its order."""
    ranges: tuple[QueryForecast, ...]
    """One per set of range queries that the tables answer, in the workload's order."""
    unanswered: tuple[tuple[str, ...], ...]
    """Queries that no linear estimate from the tables answers: only a model can."""
    phantom_records_if_clipped: float | None
    """Records that clipping at zero would add to a universe without records."""
    costs: Costs
    costs_of_tables: Costs
    """Those of `tables`; after a look, `costs` are those of the dearest plan."""
    usefulness: tuple[Usefulness, ...] = ()
    """What the release will be good for, by kind of query and number of columns."""
    proposals: tuple[Proposal, ...] = ()
    """What could be changed where something is poor or worse; with the alternatives."""
    threshold: int | None = None
    """Cells of the universe are listed from this noisy count on; None if it is no list."""
    expected_false_cells: float | None = None
    """Empty cells that are listed on average, at most; None if it is no list."""
    alternatives: tuple[Alternative, ...] = ()
    """The best of every kind that could be measured, what is measured first; if asked for."""
    schedule: Schedule | None = None
    """What is chosen among in the run, and what that costs."""
    look: Look | None = None
    """What is measured before the tables are planned. Unless its noisy counts were given they are
    those that it leads to if it finds as many records as are expected."""
    after_look: tuple[tuple[int, Alternative], ...] = ()
    """What the look would lead to for some numbers of records; with the alternatives."""

    def __repr__(self) -> str:
        useful = "".join(f"; {each.label}: {each.verdict}" for each in self.usefulness)
        return f"Forecast({self.release_id} at epsilon {format_number(self.epsilon)}{useful})"

    def __str__(self) -> str:
        lines = [repr(self), *(f"- {each.sentence}" for each in self.usefulness)]
        return "\n".join([*lines, *(f"- {each.sentence}" for each in self.proposals)])

    def to_plain(self) -> dict[str, Any]:
        """The forecast in JSON values; budgets are exact fractions in text."""
        return {
            "release_id": self.release_id,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "what_it_means": {"posteriors": posteriors(self.epsilon)},
            "neighbours": self.neighbours,
            "privacy_unit": self.privacy_unit,
            "universe_size": self.universe_size,
            "possible_cells": self.possible_cells,
            "tables": [_table_to_plain(table) for table in self.tables],
            "noise_scale_records": self.noise_scale_records,
            "noise_sd_per_cell": self.noise_sd_per_cell,
            "declared_total": self.declared_total,
            "records": self.records,
            "records_are_assumed": self.records_are_assumed,
            "single_cell": self.single_cell and self.single_cell.to_plain(),
            "queries": [query.to_plain() for query in self.queries],
            "ranges": [query.to_plain() for query in self.ranges],
            "unanswered": [list(names) for names in self.unanswered],
            "phantom_records_if_clipped": self.phantom_records_if_clipped,
            "threshold": self.threshold,
            "expected_false_cells": self.expected_false_cells,
            "costs": asdict(self.costs),
            "costs_of_tables": asdict(self.costs_of_tables),
            "proposals": [each.to_plain() for each in self.proposals],
            "usefulness": [each.to_plain() for each in self.usefulness],
            "alternatives": [_alternative_to_plain(each) for each in self.alternatives],
            "choices": self.schedule and self.schedule.to_plain(),
            "look": self.look and self._look_to_plain(self.look),
        }

    def _look_to_plain(self, look: Look) -> dict[str, Any]:
        return {
            "first_places": list(look.event.firsts),
            "pairs": [list(pair) for pair in look.event.pairs],
            "epsilon": str(look.event.epsilon),
            "epsilon_after": str(look.after.epsilon),
            "delta_after": str(look.after.delta),
            "would_lead_to": [
                {"records": records, **_alternative_to_plain(each)}
                for records, each in self.after_look
            ],
        }


def forecast(
    config: Given,
    epsilon: Fraction | None = None,
    *,
    events: Sequence[TableEvent] | None = None,
    noisy_counts: Sequence[int] | None = None,
    with_alternatives: bool = False,
) -> Forecast:
    """What a run would measure and how exact it would be, with its own epsilon or another one.

    `events`: the tables that were measured, where some were chosen during
    the measurement. `noisy_counts`: those of the look that the tables were planned by.

    Privacy: reads the configuration only; opens no data and spends nothing.
    Raises: ConfigError for a file that is not accepted, and for an epsilon that no configuration
    with this unit and these neighbours may have; ValueError for one that is not positive.
    """
    config = load_config(config)
    if epsilon is not None:
        config = _with_epsilon(config, epsilon)
    given, look = problem_of(config), plan_look(config)
    problem = problem_to_plan(config, noisy_counts)
    way = planned_way(config, noisy_counts)
    if events is None:
        likely, events = way.events, way.first
        costs = _costs(config, possible_plans(config))
        of_tables = _costs(config, [way])
    else:
        likely = events = tuple(events)
        costs = of_tables = _costs(config, [Spending("as measured", events)])
    useful = usefulness(problem, likely, problem.records, way.schedule)
    marginals, ranges, unanswered, single_cell = _queries(problem, events)
    possible = config.universe.possible_cells()
    full = next((event for event in events if _is_universe(problem, event)), None)
    law = None
    if full is not None and full.epsilon is not None and full.threshold is None:
        law = DiscreteLaplace(full.epsilon, full.sensitivity_l1)
    return Forecast(
        release_id=config.release.id,
        epsilon=config.privacy.epsilon,
        delta=config.privacy.delta,
        neighbours=config.privacy.neighbours,
        privacy_unit=_unit_in_words(config.privacy),
        universe_size=config.universe.size,
        possible_cells=possible,
        tables=events,
        alpha=None if law is None else float(law.alpha),
        noise_scale_records=None if law is None else float(1 / law.rate),
        noise_sd_per_cell=None if full is None else math.sqrt(noise_variance(full)),
        declared_total=problem.total,
        records=problem.records,
        records_are_assumed=(given if noisy_counts is None else problem).records_are_assumed,
        single_cell=single_cell,
        queries=marginals,
        ranges=ranges,
        unanswered=unanswered,
        # E max(noise, 0) is half of E|noise|, because the noise is symmetric: a / (1 - a^2)
        phantom_records_if_clipped=None
        if full is None or law is None
        else possible * NoiseSum(laplace_rate(full), 1).mean_absolute / 2,
        costs=costs,
        costs_of_tables=of_tables,
        threshold=None if full is None else full.threshold,
        expected_false_cells=None if full is None else expected_false_cells(full),
        alternatives=alternatives(problem) if with_alternatives else (),
        schedule=way.schedule,
        usefulness=useful,
        proposals=proposals(given, useful) if with_alternatives else (),
        look=look,
        after_look=_after_looks(given, look, problem) if look and with_alternatives else (),
    )


def _costs(config: Config, plans: Sequence[Spending]) -> Costs:
    """What the dearest of some plans needs, in every respect."""
    problem = problem_of(config)
    found = [
        forecast_costs(
            config.universe,
            way.dearest,
            formats=config.output.formats,
            total=problem.total,
            expected=problem.workload.expected_records,
            replicates=config.output.replicates,
            schedule=way.schedule,
        )
        for way in plans
    ]
    return Costs(
        memory_bytes=max(each.memory_bytes for each in found),
        disk_bytes=max(each.disk_bytes for each in found),
        seconds=max(each.seconds for each in found),
    )


def _after_looks(given: Problem, look: Look, left: Problem) -> tuple[tuple[int, Alternative], ...]:
    """What is best for each number of records that is considered, if the look finds it."""
    return tuple(
        (records, choose(replace(left, seen=found(given, look, records))).chosen)
        for records in given.considered_records
    )


def compare(
    config: Config, epsilons: Sequence[Fraction], *, with_alternatives: bool = False
) -> list[Forecast]:
    """One forecast per epsilon, in the order given."""
    return [forecast(config, each, with_alternatives=with_alternatives) for each in epsilons]


def _queries(
    problem: Problem, events: Sequence[TableEvent]
) -> tuple[
    tuple[QueryForecast, ...],
    tuple[QueryForecast, ...],
    tuple[tuple[str, ...], ...],
    QueryForecast | None,
]:
    """Marginals, ranges, what is not answered, and the single cell.

    A list of cells answers nothing by sums: what is not in it is not known.
    """
    events = [event for event in events if event.threshold is None]
    asked = questions_of(problem.workload, problem.axes)
    cell = cells_of(problem.universe.names, problem.axes)
    if not events:
        return (), (), tuple(question.attributes for question in asked), None
    *found, single_cell = forecast_queries(problem, events, (*asked, cell))
    known = [each for each in found if each is not None]
    return (
        tuple(each for each in known if each.kind == "marginal"),
        tuple(each for each in known if each.kind != "marginal"),
        tuple(q.attributes for q, each in zip(asked, found, strict=True) if each is None),
        single_cell,
    )


def _is_universe(problem: Problem, event: TableEvent) -> bool:
    return event.table == problem.full.names and not any(event.coarsening)


def _with_epsilon(config: Config, epsilon: Fraction) -> Config:
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    problem = unsuitable(config.privacy, epsilon)
    if problem is not None:
        raise ConfigError("--epsilon", [problem])
    return replace(config, privacy=replace(config.privacy, epsilon=epsilon))


def _unit_in_words(privacy: PrivacyConfig) -> str:
    unit = privacy.unit
    if isinstance(unit, str):
        return "record"
    return f"{unit.column}, at most {unit.max_records} records"


def _table_to_plain(table: TableEvent) -> dict[str, Any]:
    return {
        "attributes": list(table.table),
        "coarsening": list(table.coarsening),
        "cells": table.cells,
        "mechanism": table.mechanism,
        "sensitivity_l1": table.sensitivity_l1,
        "epsilon": None if table.epsilon is None else str(table.epsilon),
        "rho": None if table.rho is None else str(table.rho),
        "noise_sd": math.sqrt(noise_variance(table)),
    }


def _alternative_to_plain(each: Alternative) -> dict[str, Any]:
    share = each.spending.low_order_share
    return {
        "tables": each.spending.tables,
        "noise": each.spending.noise,
        "low_order_share": None if share is None else str(share),
        "measured_tables": len(each.spending.events),
        "expected_total_variation": [
            {"kind": kind, "attributes": order, "mean": error}
            for (kind, order), error in each.errors
        ],
        "score": each.score,
    }
