"""The tables that the adaptive strategy may choose, and how much each of them matters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import prod

from synth.domain import Margin
from synth.plan.problem import Problem

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


@dataclass(frozen=True)
class Candidate:
    """A table that may be chosen.

    `weight`: the sum, over the tables and sets of ranges of the workload, of their weight times
    the number of attributes that they share with the candidate (McKenna, Mullins, Sheldon,
    Miklau 2022, section 3); divided by the largest of all candidates, so at most 1.
    """

    margin: Margin
    cells: int
    weight: Fraction


@lru_cache(maxsize=64)
def candidates_of(problem: Problem) -> tuple[Candidate, ...]:
    """All candidates, by number of attributes and then by name.

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
