"""The forecast in words: of what is asked for, what a release will be good for.

One figure for every kind of query and number of columns: the share of the records that the
published tables are expected to have in the wrong place (their total variation, after the fit, as
`synth.planning.after_nonnegativity` expects it), and one of four words for it. Where a release
would be useless, changes are proposed: each is planned like the configuration itself, so its
figures are those that `synth plan` would show for it. None looks at data.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from synth.domain import Attribute, format_number
from synth.planning.after_nonnegativity import share_of_pure_noise
from synth.planning.class_forecast import errors_after_fit, shared
from synth.planning.look import left_to_plan
from synth.planning.problem import Problem, unsuitable
from synth.planning.rounds import Schedule
from synth.planning.weighing import by_group, choose
from synth.planning.wide import is_wide
from synth.privacy import TableEvent

GOOD, ROUGH, POOR, NOISE = "usable", "rough", "poor", "mostly noise"
BELOW = {GOOD: 0.05, ROUGH: 0.2, POOR: 0.5}
"""The share of the records in the wrong place below which each word holds."""
NEARLY_NOISE = 0.8
"""Mostly noise is also what is off by this part of what pure noise would be."""

MORE_EPSILON = (2, 5, 10, 20, 50, 100)
"""Multiples of epsilon that are tried, until everything that was bad is rough at least."""
MOST_LEVELS = 5
"""To as many groups the columns with the most levels are coarsened, for a proposal..."""
MOST_COARSENED = 3
"""...and so many of them."""
WORTH = 0.8
"""A proposal has to bring an error down to this part of it, at least once."""

Key = tuple[str, int]

_TABLES = {1: "tables of one column", 2: "pairs of columns", 3: "triples of columns"}
_SUMS = {"prefix": "sums from the lowest value in ", "range": "sums over ranges in "}


@dataclass(frozen=True)
class Usefulness:
    """What queries of one kind and number of columns will be good for.

    `share`: the mean, over these queries, of the share of records in the wrong place; of ranges
    the mean error of one interval as a share of the records.
    """

    kind: str
    columns: int
    share: float
    verdict: str

    @property
    def label(self) -> str:
        """The queries in words."""
        if self.kind == "cells":
            return "single combinations of values (cells)"
        tables = _TABLES.get(self.columns, f"tables of {self.columns} columns")
        return _SUMS.get(self.kind, "") + tables

    @property
    def sentence(self) -> str:
        """As `pairs of columns: mostly noise (about 60 % of the records in the wrong place)`."""
        return f"{self.label}: {self.verdict} ({percent(self.share)} of the records {self._where})"

    @property
    def _where(self) -> str:
        return "in the wrong place" if self.kind in ("marginal", "cells") else "off, one interval"

    @property
    def is_bad(self) -> bool:
        """Whether it is poor or worse."""
        return self.verdict in (POOR, NOISE)

    def to_plain(self) -> dict[str, Any]:
        """In JSON values."""
        return {
            "kind": self.kind,
            "columns": self.columns,
            "share_misplaced": self.share,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }


def percent(share: float) -> str:
    """A share in whole percent, as roughly as it is known."""
    return "less than 1 %" if share < 0.01 else f"about {round(100 * share)} %"


def usefulness(
    problem: Problem,
    events: Sequence[TableEvent],
    records: int,
    schedule: Schedule | None = None,
) -> tuple[Usefulness, ...]:
    """One entry for every kind of query and number of columns of the workload, in its order.

    With a `schedule`, some tables were or will be chosen in the run.

    Privacy: a function of the public problem, of planned or measured tables, and of a number of
    records that is public or published.
    """
    questions = problem.questions
    pure = [share_of_pure_noise(len(q.attributes), q.queries) for q in questions]
    after = errors_after_fit(problem, events, questions, schedule)
    shares = by_group(questions, after.at(max(1, records)))
    limits = by_group(questions, pure)
    return tuple(
        Usefulness(kind, columns, share, _verdict(kind, share, limit))
        for ((kind, columns), share), (_, limit) in zip(shares, limits, strict=True)
    )


def in_one_sentence(found: Sequence[Usefulness]) -> str:
    """As `tables of one column and pairs of columns are usable; triples of columns are rough`."""
    by_verdict: dict[str, list[str]] = {verdict: [] for verdict in (*BELOW, NOISE)}
    for each in found:
        by_verdict[each.verdict].append(each.label)
    return "; ".join(
        f"{' and '.join(filter(None, [', '.join(labels[:-1]), labels[-1]]))} are {verdict}"
        for verdict, labels in by_verdict.items()
        if labels
    )


def mostly_noise(found: Sequence[Usefulness]) -> str | None:
    """One line about what is asked for in vain, or None."""
    bad = [each.label for each in found if each.verdict == NOISE]
    return f"forecast: {', '.join(bad)} will be mostly noise; see synth plan" if bad else None


def _verdict(kind: str, share: float, pure_noise: float) -> str:
    if kind in ("marginal", "cells") and share >= NEARLY_NOISE * pure_noise:
        return NOISE
    return next((word for word, below in BELOW.items() if share < below), NOISE)


@dataclass(frozen=True)
class Proposal:
    """One change of the configuration, and what it makes of what was poor or mostly noise."""

    change: str
    buys: tuple[Usefulness, ...]

    @property
    def sentence(self) -> str:
        """As `epsilon 5: pairs of columns rough (about 12 %)`."""
        bought = (f"{one.label} {one.verdict} ({percent(one.share)})" for one in self.buys)
        return f"{self.change}: {', '.join(bought)}"

    def to_plain(self) -> dict[str, Any]:
        """In JSON values."""
        return {
            "change": self.change,
            "sentence": self.sentence,
            "buys": [one.to_plain() for one in self.buys],
        }


def proposals(problem: Problem, found: Sequence[Usefulness]) -> tuple[Proposal, ...]:
    """Changes that help where something asked for is poor or mostly noise; none if nothing is.

    Privacy: a function of the public problem; no data are seen.
    """
    bad = {(one.kind, one.columns): one for one in found if one.is_bad}
    if not bad:
        return ()
    changes = chain(
        _more_epsilon(problem, bad),
        _fewer_levels(problem),
        _smaller_workload(problem, bad),
        _without_cells(problem),
    )
    kept = [Proposal(words, _bought(other, bad)) for words, other in changes]
    return tuple(proposal for proposal in kept if proposal.buys)


def _bought(problem: Problem, bad: dict[Key, Usefulness]) -> tuple[Usefulness, ...]:
    """What is asked for in vain and would be better, as the other problem is planned.

    It is not planned if all that is in vain are single cells, and it has none, or too many.
    """
    if all(kind == "cells" for kind, _ in bad):
        least = 1 - shared(problem.universe.size, problem.records) if is_wide(problem) else 0.0
        if not problem.workload.cells or all(least > WORTH * one.share for one in bad.values()):
            return ()
    return tuple(
        one
        for one in _planned(problem)
        if (one.kind, one.columns) in bad and one.share <= WORTH * bad[one.kind, one.columns].share
    )


def _planned(problem: Problem) -> tuple[Usefulness, ...]:
    problem = left_to_plan(problem)
    way = choose(problem).chosen.spending
    return usefulness(problem, way.events, problem.records, way.schedule)


def _more_epsilon(problem: Problem, bad: dict[Key, Usefulness]) -> Iterator[tuple[str, Problem]]:
    """The smallest multiples of epsilon that make each bad kind of query rough, or usable.

    None does that to single cells of a universe that cannot be measured cell by cell.
    """
    wanted = {key for key in bad if not (key[0] == "cells" and is_wide(problem))}
    budgets = [problem.privacy.epsilon * times for times in MORE_EPSILON]
    others = [
        replace(problem, privacy=replace(problem.privacy, epsilon=epsilon))
        for epsilon in budgets
        if unsuitable(problem.privacy, epsilon) is None
    ]

    @cache
    def reached(place: int) -> set[Key]:
        good = [one for one in _planned(others[place]) if one.verdict in (GOOD, ROUGH)]
        return {(one.kind, one.columns) for one in good}

    def smallest(key: Key) -> int:
        return bisect_left(range(len(others)), True, key=lambda place: key in reached(place))

    for place in sorted({smallest(key) for key in wanted} - {len(others)}):
        now = format_number(problem.privacy.epsilon)
        yield f"epsilon {format_number(budgets[place])} instead of {now}", others[place]


def _fewer_levels(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """The columns with the most levels, coarsened; ranges need their bins."""
    if problem.workload.ranges or not isinstance(problem.strategy, str):
        return
    largest = sorted(problem.attributes, key=lambda one: (-one.size, one.name))[:MOST_COARSENED]
    coarse = {one.name for one in largest if one.size > MOST_LEVELS}
    if not coarse:
        return
    levels = tuple(str(number) for number in range(MOST_LEVELS))
    attributes = tuple(
        Attribute(one.name, "categorical", levels) if one.name in coarse else one
        for one in problem.attributes
    )
    names = ", ".join(f"{one.name} ({one.size})" for one in largest if one.name in coarse)
    yield f"{MOST_LEVELS} levels or bins in {names}", replace(problem, attributes=attributes)


def _smaller_workload(
    problem: Problem, bad: dict[Key, Usefulness]
) -> Iterator[tuple[str, Problem]]:
    """Tables of one column less than the largest that are asked for, down to single columns."""
    marginals = problem.workload.marginals
    largest = max((len(each.attributes) for each in marginals), default=0)
    for order in range(1, largest):
        kept = tuple(each for each in marginals if len(each.attributes) <= order)
        if kept and any(kind == "marginal" and columns <= order for kind, columns in bad):
            workload = replace(problem.workload, marginals=kept, cells=False)
            words = f"marginals: {order} and cells: false in the workload"
            yield words, replace(problem, workload=workload)


def _without_cells(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """The workload without single cells, so that small tables alone may be measured."""
    if problem.workload.cells and problem.workload.marginals and problem.strategy == "auto":
        workload = replace(problem.workload, cells=False)
        yield "cells: false in the workload", replace(problem, workload=workload)
    elif problem.strategy == "identity":
        yield "strategy: auto", replace(problem, strategy="auto")
