"""Which tables are measured: ways to spend the budget are weighed, and the best is planned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from synth.config import Config
from synth.errors import BugError, ConfigError
from synth.errors import Problem as ConfigProblem
from synth.noise import noise_law
from synth.planning.after_nonnegativity import THIN, resampling_total_variation
from synth.planning.class_forecast import errors_after_fit
from synth.planning.linear_theory import Question
from synth.planning.listed import is_sparse
from synth.planning.look import (
    MOST_RECORDS,
    is_drawable,
    is_drowned,
    is_modelled,
    plan_look,
    problem_to_plan,
    suitable,
)
from synth.planning.problem import Problem, Seen, problem_of
from synth.planning.rounds import Schedule
from synth.planning.spending import Spending, columns_are_known, with_total
from synth.planning.strategies import ways_to_spend
from synth.planning.wide import is_wide
from synth.privacy import OpenTableEvent, PrivacyEvent, TableEvent
from synth.privacy.continual import factorization_of

HARMLESS = 0.5
"""The part of the resampling error below which it hardly matters how small an error is."""
TOGETHER_COUNTS = 2.0
"""What a table of several columns counts where small tables tell of all columns, if one of a
single column counts 1. There 1-way tables are good whatever else is measured, and what is won or
lost is how columns go together."""
INDIFFERENT = 0.002
"""Of splits whose scores differ by no more than this part, the one with the most for the universe
is taken: what is measured cell by cell tells about every query, and the model is rough."""
TOLERATED = 2.0
"""A guess of the number of records chooses among ways with at most this regret."""
INDIFFERENT_UNTOLD = 0.15
"""The same where nothing is told: for the worst ratio, which is a few numbers of records' alone."""
INDIFFERENT_THIN = 0.03
"""The same where the universe is not measured: the one with the least for single columns is taken,
which are known well as it is."""

Group = tuple[str, int]
"""Questions of one kind and number of attributes."""


@dataclass(frozen=True)
class Alternative:
    """A way to spend the budget, and the errors that are expected after the fit.

    `errors`: for each kind and number of attributes, the mean total variation, weighted as the
    workload is. `score`: the geometric mean of these errors, each with a part HARMLESS of what a
    fresh sample of as many records would be off by, tables of k attributes with weight 1/k and
    cells with weight 1/2; in thin universes with weight 1 or `TOGETHER_COUNTS` (`_weights`).
    `regret`: the largest ratio of its score to the best one, over the numbers of records that are
    considered; see `_fit` for which is chosen.
    """

    spending: Spending
    errors: tuple[tuple[Group, float], ...]
    score: float
    regret: float


@dataclass(frozen=True)
class Choice:
    """The chosen alternative, and all that were weighed: the chosen one, then by score."""

    chosen: Alternative
    weighed: tuple[Alternative, ...]


@lru_cache(maxsize=64)
def choose(problem: Problem) -> Choice:
    """Decide what to measure.

    Privacy: a function of the public problem; no data are seen.
    Ensures: deterministic, and the same whatever the order of the columns.
    """
    with threadpool_limits(1, "blas"):  # further threads only wait for each other
        judged = _judged(problem, _ways(problem))
    chosen = min(_as_good(problem, judged), key=lambda each: _for_columns(each.spending))
    return Choice(chosen, tuple(sorted(judged, key=lambda each: each is not chosen)))


@lru_cache(maxsize=64)
def _ways(problem: Problem) -> list[Spending]:
    """All that is weighed; after a look, what suits it; what can be added up over periods."""
    ways = suitable(problem, [with_total(problem, way) for way in ways_to_spend(problem)])
    if problem.horizon is None:
        return ways
    return [way for way in ways if way.schedule is None and all(map(is_whole, way.events))]


def is_whole(event: TableEvent) -> bool:
    """Whether every cell of a table is measured, so that it can be added up over periods."""
    return event.threshold is None


def added_up(problem: Problem, events: tuple[TableEvent, ...]) -> tuple[TableEvent, ...]:
    """The tables as a release has them: at the end of the horizon where they are added up."""
    if problem.horizon is None:
        return events
    factorization = factorization_of(events, problem.horizon)
    return tuple(factorization.cumulative_event(each, problem.horizon) for each in events)


def _fit(problem: Problem, judged: Sequence[Alternative]) -> list[Alternative]:
    """What may be chosen, the best first.

    Every column must be known well (`columns_are_known`), if there is such a way. Where nothing is
    told of the number of records, the smallest regret is best. A guess chooses by the scores for
    it, but only of what is nowhere bad: so a guess, right or wrong, does little harm.
    """
    fit = [each for each in judged if columns_are_known(problem, each.spending.events)] or judged
    if problem.records_are_assumed:
        return sorted(fit, key=lambda each: each.regret)
    limit = max(TOLERATED, min(each.regret for each in fit))
    return sorted((each for each in fit if each.regret <= limit), key=lambda each: each.score)


def _for_columns(spending: Spending) -> float:
    """The part of the budget that smaller tables than the universe get, or single columns do."""
    if spending.low_order_share is not None:
        return float(spending.low_order_share)
    spent = [float(event.epsilon or event.rho or 0) for event in spending.events]
    alone = [each for each, e in zip(spent, spending.events, strict=True) if len(e.table) == 1]
    return sum(alone) / sum(spent)


def _as_good(problem: Problem, judged: Sequence[Alternative]) -> list[Alternative]:
    """The best and the other splits over the same tables that are hardly worse."""
    fit = _fit(problem, judged)
    untold = problem.records_are_assumed
    part = INDIFFERENT_UNTOLD if untold else INDIFFERENT
    if fit[0].spending.low_order_share is None:
        part = INDIFFERENT_THIN

    def kind(each: Alternative) -> tuple[str, str]:
        return each.spending.tables, each.spending.noise

    def figure(each: Alternative) -> float:
        return each.regret if untold else each.score

    limit = figure(fit[0]) * (1 + part)
    return [each for each in fit if kind(each) == kind(fit[0]) and figure(each) <= limit]


def alternatives(problem: Problem) -> tuple[Alternative, ...]:
    """The best of every kind of alternative, the chosen one first."""
    chosen = choose(problem).chosen
    found = {chosen.spending.tables: chosen}
    auto = problem if is_sparse(problem) else replace(problem, strategy="auto")
    for each in choose(auto).weighed:
        found.setdefault(each.spending.tables, each)
    return tuple(found.values())


def _judged(problem: Problem, ways: Sequence[Spending]) -> list[Alternative]:
    """All ways with what is expected of them, by score.

    The regret compares the scores with the best one, for every number of records that is
    considered, and is the worst of these ratios: no number that is assumed decides alone.
    """
    questions, numbers = problem.questions, {*problem.considered_records, problem.records}
    harmless = {records: _harmless(questions, records) for records in numbers}
    errors, scores = [], []
    means = GroupMeans(questions)
    weights = _weights(problem, [group for group, _ in means.of([0.0] * len(questions))])
    for way in ways:
        after = errors_after_fit(problem, added_up(problem, way.events), questions, way.schedule)
        found = {records: means.of(after.at(records)) for records in numbers}
        errors.append(found[problem.records])
        scores.append({each: _score(found[each], harmless[each], weights) for each in numbers})
    best = {records: min(each[records] for each in scores) for records in numbers}
    regrets = [
        max(
            each[records] / best[records] if best[records] else 1.0
            for records in problem.considered_records
        )
        for each in scores
    ]
    found_of_all = zip(ways, errors, scores, regrets, strict=True)
    judged = [
        Alternative(way, expected, score[problem.records], regret)
        for way, expected, score, regret in found_of_all
    ]
    return sorted(judged, key=lambda each: each.score)


@lru_cache(maxsize=64)
def _harmless(questions: tuple[Question, ...], records: int) -> list[float]:
    """An error of every group that hardly matters."""
    free = [resampling_total_variation(question, records) for question in questions]
    return [HARMLESS * error for _, error in by_group(questions, free)]


def is_thin(problem: Problem) -> bool:
    """Whether it is known that most cells are empty, so that pairs count no less than columns.

    Above the dense limit it is; below, a look tells, or the number of records that is declared.
    Where noise hides them, cells with records are taken for empty ones.
    """
    small_tables = is_wide(problem) or is_modelled(problem) or is_drowned(problem)
    return small_tables or _has_few_records(problem)


def _has_few_records(problem: Problem) -> bool:
    """Whether it is known, or likely, that there are few records for so many cells."""
    seen = None if problem.seen is None else problem.seen.records or problem.seen.likely
    known = seen if problem.total is None else problem.total
    return known is not None and problem.universe.size > THIN * max(1, known)


def _weights(problem: Problem, groups: Sequence[Group]) -> list[float]:
    """What an error of every group counts.

    Of few records in fewer columns than are modelled, forecasts of pairs are the roughest.
    """
    if not is_thin(problem):
        return [1 / (2 if kind == "cells" else max(1, order)) for kind, order in groups]
    modelled = is_wide(problem) or is_modelled(problem)
    several = TOGETHER_COUNTS if modelled or not _has_few_records(problem) else 1.0
    return [1.0 if kind == "cells" or order < 2 else several for kind, order in groups]


def _score(
    errors: Sequence[tuple[Group, float]], harmless: Sequence[float], weights: Sequence[float]
) -> float:
    """One figure of all groups."""
    logs = [
        math.log(max(error + least, 1e-300))
        for (_, error), least in zip(errors, harmless, strict=True)
    ]
    mean = sum(w * log for w, log in zip(weights, logs, strict=True)) / max(sum(weights), 1e-300)
    return math.exp(mean) if logs else 0.0


def figure_of(problem: Problem, errors: Sequence[tuple[Group, float]], records: int) -> float:
    """The figure that alternatives are compared by, of given errors; see `Alternative`.

    Requires: the errors are of the groups of the problem's questions, in their order.
    """
    weights = _weights(problem, [group for group, _ in errors])
    return _score(errors, _harmless(problem.questions, records), weights)


def by_group(
    questions: Sequence[Question], errors: Sequence[float]
) -> tuple[tuple[Group, float], ...]:
    """The weighted mean over the questions of one kind and number of attributes."""
    return GroupMeans(questions).of(errors)


class GroupMeans:
    """Weighted means over the questions of one kind and number of attributes."""

    def __init__(self, questions: Sequence[Question]) -> None:
        """Put the questions into groups, once for many errors."""
        number: dict[Group, int] = {}
        alike = [(question.kind, len(question.attributes)) for question in questions]
        self._group_of = [number.setdefault(group, len(number)) for group in alike]
        self._weights = np.array([float(question.weight) for question in questions])
        self._groups = list(number)

    def of(self, errors: Sequence[float]) -> tuple[tuple[Group, float], ...]:
        """The mean of every group with a weight; one error for every question."""
        sums, weights = (
            np.bincount(self._group_of, each, len(self._groups)).tolist()
            for each in (self._weights * np.asarray(errors), self._weights)
        )
        means = zip(self._groups, sums, weights, strict=True)
        return tuple((group, total / weight) for group, total, weight in means if weight)


def plan_events(
    config: Config, noisy_counts: Sequence[int] | None = None
) -> tuple[TableEvent, ...]:
    """The measured tables with their share of the budget; a function of the configuration alone.

    `identity` measures the universe alone with the whole epsilon; tables that are named get the
    split that the workload asks for; `auto` chooses. Where tables are chosen later
    (`plan_schedule`) these are the first tables only.
    Where a look comes first (`plan_look`) these are the tables after it: with its `noisy_counts`
    those that a run measures, without them those it would if it finds as many records as are
    expected, which serves to forecast.

    Privacy: no data are seen and nothing is spent. The epsilon of the Laplace tables, and that of
    the Gaussian ones together with delta, add up to at most `privacy.epsilon`, less the look.
    Ensures: the universe, if it is measured, comes first. No table is measured twice. If it does
    not raise without noisy counts, it does not with any, whatever numbers they are.
    Raises: ConfigError if the noise of a table is too wide to be drawn.
    """
    return planned_way(config, noisy_counts).first


def plan_schedule(config: Config, noisy_counts: Sequence[int] | None = None) -> Schedule | None:
    """The choices of the run, if it makes any; see `plan_events`."""
    return planned_way(config, noisy_counts).schedule


def planned_way(config: Config, noisy_counts: Sequence[int] | None = None) -> Spending:
    """The way in which the budget is spent; see `plan_events`."""
    problem = problem_to_plan(config, noisy_counts)
    if not _ways(problem):
        raise ConfigError(config.name, [_nothing_to_add_up()])
    way = choose(problem).chosen.spending
    if noisy_counts is not None and not all(map(is_drawable, way.events)):
        return planned_way(config)
    require_drawable(config, way.first)
    if (horizon := problem_of(config).horizon) is not None:
        require_drawable(config, map(factorization_of(way.first, horizon).node_event, way.first))
    if way.schedule is not None:
        require_drawable(config, (each.table for each in way.schedule.rounds))
    if len({(event.table, event.coarsening) for event in way.events}) < len(way.events):
        raise BugError("the plan has a table twice")  # before anything is spent
    return way


def possible_plans(config: Config) -> list[Spending]:
    """The ways to spend the budget that a run may take: one, unless a look comes first.

    Then all that is weighed for the records that are expected, for one, for as many as can be and
    for a number that noise hides, and whether cells are worth less than smaller tables or not; what
    is weighed for other numbers has tables between those.

    Privacy: a function of the configuration alone.
    """
    if plan_look(config) is None:
        return [planned_way(config)]
    likely = problem_to_plan(config)
    numbers = (
        Seen(records, visible, MOST_RECORDS)
        for records in (None, 1, MOST_RECORDS)
        for visible in (None, -math.inf)  # less than 0: of the most records, too, cells tell less
    )
    problems = (likely, *(replace(likely, seen=seen) for seen in numbers))
    return list({way.charged: way for each in problems for way in _ways(each)}.values())


def charged_events(config: Config) -> tuple[PrivacyEvent, ...]:
    """What is charged before the source is opened: tables, choices, or a look and what follows.

    Privacy: a function of the configuration alone.
    Raises: ConfigError if the noise of a table is too wide to be drawn; BugError if something that
    a look may lead to costs more than it leaves: before anything is spent, not in the run.
    """
    look, way = plan_look(config), planned_way(config)
    if look is None:
        return way.charged
    require_drawable(config, [look.event.as_table])
    if not all(look.allows(each.charged) for each in possible_plans(config)):
        raise BugError("a plan after the look would cost more than is left")
    return look.events


def require_drawable(config: Config, events: Iterable[TableEvent | OpenTableEvent]) -> None:
    """Refuse a plan whose noise is too wide to be drawn; no table of noise is built.

    Raises: ConfigError with one problem, for the first such event.
    """
    for event in events:
        try:
            noise_law(event)
        except ValueError as error:
            raise ConfigError(config.name, [_problem(config, event, str(error))]) from None


def _nothing_to_add_up() -> ConfigProblem:
    return ConfigProblem(
        None,
        "strategy",
        "tables whose heavy cells alone would be listed",
        "tables with every cell of them, because their counts are added up over periods",
        "the list of one period says nothing of a cell that another period lists",
        "name smaller tables in `strategy`, or write strategy: auto",
    )


def _problem(config: Config, event: TableEvent | OpenTableEvent, limit: str) -> ConfigProblem:
    table = "a table to be chosen"
    if isinstance(event, TableEvent):
        table = f"the table of {', '.join(event.table) or 'all records'}"
    budget = f"epsilon {config.privacy.epsilon}"
    if config.privacy.delta:
        budget += f" and delta {config.privacy.delta}"
    return ConfigProblem(
        None,
        "privacy.epsilon",
        f"{budget}, which leave {table} with noise ({event.mechanism}) too wide to be drawn",
        f"a budget whose noise can be drawn: {limit}",
        "the measurement would stop after the budget is charged",
        "raise privacy.epsilon or privacy.delta, or name fewer tables in `strategy`",
    )
