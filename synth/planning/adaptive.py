"""The adaptive strategy: first tables, candidates and rounds, fixed before any data are seen."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import prod

from synth.domain import Margin
from synth.planning.margins import margins_of_order
from synth.planning.problem import Problem
from synth.planning.rounds import Candidate, Round, Schedule, rounds_of
from synth.planning.spending import (
    EVERYBODY,
    TOTAL_SHARE,
    Purse,
    Spending,
    total_is_known,
    with_total,
)
from synth.privacy import TableEvent

MOST_CANDIDATES = 2_000
LARGEST_CANDIDATE_CELLS = 10**6
MOST_CELLS_IN_ALL = 1 << 24
"""The counts of all candidates are held in memory while the tables are chosen: 128 MB."""

RULE = (
    "the tables of two or more attributes that lie inside a table or set of ranges of the "
    f"workload, at the resolution of the codes, of at most {LARGEST_CANDIDATE_CELLS:,} cells; "
    "fewer attributes first, and no further number of attributes once there would be more than "
    f"{MOST_CANDIDATES:,} tables or {MOST_CELLS_IN_ALL:,} cells in all; never the same table twice"
)
"""What may be chosen, in words."""
START = Fraction(1, 10)
"""The part of an adaptive budget that is spent on the 1-way tables, and on the total."""

ROUNDS_PER_ATTRIBUTE = 2
MOST_ROUNDS = 16
"""Every round fits a model anew, which takes a few seconds."""


@lru_cache(maxsize=64)
def candidates_of(problem: Problem) -> tuple[Candidate, ...]:
    """All candidates, by number of attributes and then by name.

    The weight of a candidate is the sum, over the tables and sets of ranges of the workload, of
    their weight times the number of attributes that they share with it (McKenna, Mullins, Sheldon,
    Miklau 2022, section 3); divided by the largest of all.

    Privacy: a function of the public problem; no data are seen.
    Ensures: the same tables in the same order whatever the order of the columns; every weight is
    positive.
    """
    marginals, ranges = problem.workload.marginals, problem.workload.ranges
    queries = [(frozenset(m.attributes), m.weight) for m in marginals]
    queries += [(frozenset(r.attributes), r.weight) for r in ranges]
    asked = [(names, weight) for names, weight in queries if weight > 0]
    tables = _tables(problem, {names for names, _ in asked})
    wanted = {
        name: sum((weight for names, weight in asked if name in names), Fraction(0))
        for name in problem.universe.names
    }
    weights = [sum((wanted[name] for name in table), Fraction(0)) for table in tables]
    largest = max(weights, default=Fraction(1))
    order = problem.universe.names
    return tuple(
        Candidate(
            Margin(tuple(name for name in order if name in table), (0,) * len(table)),
            _cells(problem, table),
            weight / largest,
        )
        for table, weight in zip(tables, weights, strict=True)
    )


def _tables(problem: Problem, asked: set[frozenset[str]]) -> list[frozenset[str]]:
    """The attributes of every candidate."""
    tables: list[frozenset[str]] = []
    cells = 0
    for order in range(2, max(map(len, asked), default=0) + 1):
        found: set[tuple[str, ...]] = set()
        for names in asked:
            for table in combinations(sorted(names), order):
                if _cells(problem, table) <= LARGEST_CANDIDATE_CELLS:
                    found.add(table)
                if len(tables) + len(found) > MOST_CANDIDATES:
                    return tables
        cells += sum(_cells(problem, table) for table in found)
        if cells > MOST_CELLS_IN_ALL:
            return tables
        tables += [frozenset(table) for table in sorted(found)]
    return tables


def _cells(problem: Problem, names: frozenset[str] | tuple[str, ...]) -> int:
    return prod(problem.universe.attribute(name).size for name in names)


def round_count(problem: Problem) -> int:
    """How many tables are chosen, whatever the data: there is no stopping rule."""
    return min(
        len(candidates_of(problem)), ROUNDS_PER_ATTRIBUTE * len(problem.attributes), MOST_ROUNDS
    )


def adaptive_purse(problem: Problem) -> Purse:
    """The whole budget of the adaptive strategy: Gaussian where delta allows it."""
    return Purse(problem.privacy.epsilon, "gaussian" if problem.privacy.delta else "laplace")


def initial_events(problem: Problem) -> tuple[TableEvent, ...]:
    """All 1-way tables alike, with the first part of the budget; with all if nothing follows.

    If they do not give the number of records well enough, it gets a fixed part for itself.
    """
    ones, purse = margins_of_order(problem, 1), adaptive_purse(problem)
    if not round_count(problem):
        events = purse.events(problem, ones, [1.0] * len(ones))
        return with_total(problem, Spending("1-way", events, purse.noise)).events
    share = float(START) / len(ones)
    shares = [1 - float(START), *[share] * len(ones)]
    events = purse.events(problem, [problem.full, *ones], shares)[1:]
    if total_is_known(problem, events):
        return events
    alone = float(TOTAL_SHARE)
    shares = [1 - float(START), *[(float(START) - alone) / len(ones)] * len(ones), alone]
    return purse.events(problem, [problem.full, *ones, EVERYBODY], shares)[1:]


def selection_budget(problem: Problem) -> Fraction:
    """What the initial tables leave, an epsilon or a rho, for choosing and measuring more."""
    spent = sum((event.epsilon or event.rho or Fraction(0)) for event in initial_events(problem))
    return adaptive_purse(problem).budget(problem.privacy) - spent


@lru_cache(maxsize=64)
def schedule_of(problem: Problem) -> Schedule:
    """First tables, candidates and rounds of the adaptive strategy.

    Every round has the same part of what the first tables leave.

    Privacy: all together cost exactly the budget (`rounds_of`): `privacy.epsilon`, or with delta
    `largest_rho(epsilon, delta)`, so that the total of all events is at most
    (`privacy.epsilon`, `privacy.delta`).
    """
    candidates = candidates_of(problem)
    rounds: tuple[Round, ...] = ()
    if count := round_count(problem):
        rounds = rounds_of(
            problem,
            selection_budget(problem),
            count=count,
            candidates=candidates,
            gaussian=problem.privacy.delta > 0,
        )
    return Schedule(initial_events(problem), candidates, rounds, RULE)


def likely_tables(problem: Problem) -> tuple[TableEvent, ...]:
    """The first tables and those that would be chosen if all dependences were alike.

    Round by round the candidate is taken that tells most about pairs of attributes of the
    workload that no earlier table tells about, less its noise; a forecast of an adaptive run
    can be formed from them.

    Privacy: a function of the public problem; which tables a run chooses depends on the data.
    """
    schedule = schedule_of(problem)
    events = list(schedule.first)
    if not schedule.rounds:
        return tuple(events)
    each = schedule.rounds[0]  # all rounds have the same budget
    left = [(one, _pairs(one.margin.names)) for one in schedule.candidates]
    worth = {one: one.weight * (1 - _noise_share(problem, each, one)) for one, _ in left}
    told: dict[frozenset[str], int] = {}
    steps = len(schedule.rounds)
    for _ in schedule.rounds:
        number = max(
            range(len(left)),
            key=lambda i: (
                worth[left[i][0]] * sum(1 << 2 * (steps - told.get(pair, 0)) for pair in left[i][1])
            ),
        )
        chosen, pairs = left.pop(number)
        events.append(each.event(chosen))
        for pair in pairs:
            told[pair] = told.get(pair, 0) + 1
    return tuple(events)


def _noise_share(problem: Problem, each: Round, candidate: Candidate) -> Fraction:
    """The expected error of a candidate's table from noise alone, as a share of the records."""
    return min(Fraction(each.expected_l1(candidate), 2 * max(1, problem.records)), Fraction(1))


def _pairs(names: Sequence[str]) -> list[frozenset[str]]:
    return [frozenset((one, other)) for i, one in enumerate(names) for other in names[:i]]
