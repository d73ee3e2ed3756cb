"""Which tables are measured: the strategies, and what `auto` weighs against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from synth.domain import Margin
from synth.errors import BugError
from synth.plan.adaptive_schedule import likely_tables, schedule_of
from synth.plan.adaptive_start import initial_events
from synth.plan.after_nonnegativity import (
    expected_total_variation,
    resampling_total_variation,
)
from synth.plan.problem import Problem
from synth.plan.questions import Question
from synth.plan.shares import Noise, Purse
from synth.plan.sparse_choice import ways_with_list
from synth.plan.sparse_rule import SPARSE, is_sparse, unlisted_share
from synth.plan.spending import LEAST_SHARE, Spending, noises
from synth.plan.splits import (
    best_shares,
    in_order,
    margins_of_order,
    one_way_shares,
    workload_margins,
)
from synth.plan.total import columns_are_known, with_total
from synth.privacy import TableEvent

LOW_ORDER_SHARES = tuple(Fraction(percent, 100) for percent in range(5, 65, 5))
"""What part of epsilon the smaller tables may get beside the universe."""
HARMLESS = 0.5
"""The part of the resampling error below which it hardly matters how small an error is."""
INDIFFERENT = 0.002
"""Of splits whose scores differ by no more than this part, the one with the most for the universe
is taken: what is measured cell by cell tells about every query, and the model is rough."""
TOLERATED = 2.0
"""A guess of the number of records chooses among ways with at most this regret."""
INDIFFERENT_UNTOLD = 0.15
"""The same where nothing is told: for the worst ratio, which is a few numbers of records' alone."""
ADAPTIVE = "adaptive"
"""What the adaptive strategy is called among the alternatives."""

Group = tuple[str, int]
"""Questions of one kind and number of attributes."""


@dataclass(frozen=True)
class Alternative:
    """A way to spend the budget, and the errors that are expected after the fit.

    `errors`: for each kind and number of attributes, the mean total variation, weighted as the
    workload is. `score`: the geometric mean of these errors, each with a part HARMLESS of what a
    fresh sample of as many records would be off by, tables of k attributes with weight 1/k and
    cells with weight 1/2. `regret`: the largest ratio of its score to the best one, over the
    numbers of records that are considered; see `_fit` for which is chosen.
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
    if is_sparse(problem):
        ways = ways_with_list(problem)
    elif problem.strategy == "auto":
        ways = _weighed(problem)
    elif problem.strategy == "identity":
        ways = iter([_universe_alone(problem)])
    elif problem.strategy == "adaptive":
        ways = iter([Spending("first tables of adaptive", initial_events(problem))])
    elif problem.strategy == SPARSE:
        raise BugError("a sparse strategy lists cells")
    else:
        ways = _given(problem, problem.strategy)
    judged = _judged(problem, [with_total(problem, way) for way in ways])
    chosen = min(_as_good(problem, judged), key=lambda each: each.spending.low_order_share or 0)
    return Choice(chosen, tuple(sorted(judged, key=lambda each: each is not chosen)))


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
    return sorted((e for e in fit if e.regret <= limit), key=lambda each: each.score)


def _as_good(problem: Problem, judged: Sequence[Alternative]) -> Iterator[Alternative]:
    """The best and the other splits over the same tables that are hardly worse."""
    fit = _fit(problem, judged)
    way, part = fit[0].spending, INDIFFERENT
    figures = {id(each): each.score for each in fit}
    if problem.records_are_assumed:
        part, figures = INDIFFERENT_UNTOLD, {id(each): each.regret for each in fit}
    for each in fit:
        other = each.spending
        is_alike = (way.tables, way.noise) == (other.tables, other.noise)
        if is_alike and figures[id(each)] <= figures[id(fit[0])] * (1 + part):
            yield each


def alternatives(problem: Problem) -> tuple[Alternative, ...]:
    """The best of every kind of alternative, the chosen one first."""
    chosen = choose(problem).chosen
    found = {chosen.spending.tables: chosen}
    auto = problem if is_sparse(problem) else replace(problem, strategy="auto")
    for each in choose(auto).weighed:
        found.setdefault(each.spending.tables, each)
    return tuple(found.values())


def _weighed(problem: Problem) -> Iterator[Spending]:
    """All that `auto` considers.

    The universe alone; with all 1-way tables or the best marginals, at several splits of epsilon;
    the best marginals alone; all marginals of one order alike; the tables that the adaptive
    strategy would choose if all dependences were alike. Smaller tables get Laplace noise,
    and in further alternatives Gaussian noise, where delta is positive.
    """
    yield _universe_alone(problem)
    margins, ones = workload_margins(problem), margins_of_order(problem, 1)
    epsilon = problem.privacy.epsilon
    for noise in noises(problem):
        purse = Purse(epsilon, noise)
        shares = best_shares(problem, margins, purse)
        if margins:
            events = purse.events(problem, margins, shares)
            yield Spending("best marginals", events, noise)
        yield from _all_alike(problem, purse)
        if len(problem.attributes) > 1:
            yield from _beside_universe(
                problem, "universe + 1-way", ones, one_way_shares(problem, ones, purse), noise
            )
        beside = {m: s for m, s in zip(margins, shares, strict=True) if s and m != problem.full}
        if beside:
            yield from _beside_universe(
                problem, "universe + best marginals", [*beside], [*beside.values()], noise
            )
    if schedule_of(problem).rounds:
        yield Spending(ADAPTIVE, likely_tables(problem), noises(problem)[-1])


def _universe_alone(problem: Problem) -> Spending:
    purse = Purse(problem.privacy.epsilon, "laplace")
    return Spending("universe (identity)", purse.events(problem, [problem.full], [1.0]))


def _beside_universe(
    problem: Problem, name: str, margins: Sequence[Margin], shares: Sequence[float], noise: Noise
) -> Iterator[Spending]:
    """The universe with Laplace noise and smaller tables, at several splits of epsilon."""
    epsilon = problem.privacy.epsilon
    for part in LOW_ORDER_SHARES:
        full = Purse(epsilon * (1 - part), "laplace").events(problem, [problem.full], [1.0])
        smaller = Purse(epsilon * part, noise).events(problem, margins, shares)
        yield Spending(name, full + smaller, noise, part)


def _all_alike(problem: Problem, purse: Purse) -> Iterator[Spending]:
    """All marginals of one order, each with the same budget."""
    orders = {len(q.energy) for q in problem.questions if q.kind == "marginal"}
    for order in sorted(orders - {len(problem.attributes)}):
        margins = margins_of_order(problem, order)
        if margins:
            events = purse.events(problem, margins, [1.0] * len(margins))
            yield Spending(f"all {order}-way alike", events, purse.noise)


def _given(problem: Problem, tables: Sequence[Margin]) -> Iterator[Spending]:
    """The tables that the configuration names."""
    others = in_order(problem, [margin for margin in tables if margin != problem.full])
    if not others:
        yield _universe_alone(problem)
        return
    for noise in noises(problem):
        purse = Purse(problem.privacy.epsilon, noise)
        shares = best_shares(problem, others, purse, least=LEAST_SHARE)
        if problem.full in tables:
            yield from _beside_universe(problem, "tables as given", others, shares, noise)
        else:
            events = purse.events(problem, others, shares)
            yield Spending("tables as given", events, noise)


def _judged(problem: Problem, ways: Sequence[Spending]) -> list[Alternative]:
    """All ways with what is expected of them, by score.

    The regret compares the scores with the best one, for every number of records that is
    considered, and is the worst of these ratios: no number that is assumed decides alone.
    """
    errors = {
        records: _scores(problem, ways, records)
        for records in dict.fromkeys((*problem.considered_records, problem.records))
    }
    regrets = [1.0] * len(ways)
    for records in problem.considered_records:
        best = min(score for _, score in errors[records])
        for number, (_, score) in enumerate(errors[records]):
            regrets[number] = max(regrets[number], score / best if best else 1.0)
    found = [
        Alternative(way, *expected, regret)
        for way, expected, regret in zip(ways, errors[problem.records], regrets, strict=True)
    ]
    return sorted(found, key=lambda each: each.score)


def _scores(
    problem: Problem, ways: Sequence[Spending], records: int
) -> list[tuple[tuple[tuple[Group, float], ...], float]]:
    """The errors of every way at a number of records, and the score."""
    free = [resampling_total_variation(q, max(1, records)) for q in problem.questions]
    harmless = [HARMLESS * error for _, error in by_group(problem.questions, free)]
    found = []
    for way in ways:
        errors = by_group(problem.questions, expected_errors(problem, way.events, max(1, records)))
        found.append((errors, _score(errors, harmless)))
    return found


def _score(errors: Sequence[tuple[Group, float]], harmless: Sequence[float]) -> float:
    """One figure; `harmless` is an error of every group that hardly matters."""
    weights = [1 / (2 if kind == "cells" else max(1, order)) for (kind, order), _ in errors]
    logs = [
        math.log(max(error + least, 1e-300))
        for (_, error), least in zip(errors, harmless, strict=True)
    ]
    mean = sum(w * log for w, log in zip(weights, logs, strict=True)) / max(sum(weights), 1e-300)
    return math.exp(mean) if logs else 0.0


def expected_errors(
    problem: Problem, events: Sequence[TableEvent], records: int
) -> Sequence[float]:
    """The expected error of every question; a list tells about single cells only."""
    dense = [event for event in events if event.threshold is None]
    questions = problem.questions
    found: Sequence[float] = [1.0] * len(questions)
    if dense:
        found = expected_total_variation(problem.axes, dense, questions, records)
    unlisted = [unlisted_share(e, records) for e in events if e.threshold is not None]
    return [
        min([error, *unlisted]) if question.kind == "cells" else error
        for question, error in zip(questions, found, strict=True)
    ]


def by_group(
    questions: Sequence[Question], errors: Sequence[float]
) -> tuple[tuple[Group, float], ...]:
    """The weighted mean over the questions of one kind and number of attributes."""
    sums: dict[Group, list[float]] = {}
    for question, error in zip(questions, errors, strict=True):
        total = sums.setdefault((question.kind, len(question.attributes)), [0.0, 0.0])
        total[0] += float(question.weight) * error
        total[1] += float(question.weight)
    return tuple((group, total / weight) for group, (total, weight) in sums.items() if weight)
