"""Columns of few codes measured together: one table in place of many.

Laplace noise grows with the number of tables that share a budget, Gaussian noise with its square
root. A column of m codes, measured in a table of C cells that got the part e of epsilon, has counts
whose noise has C / m times the variance of a cell. So sixteen columns of two codes, four to a
table, are known 1.4 times as well as each alone, and six pairs of every four besides; and all their
120 pairs, in 26 tables of four, 2.6 times as well as each pair alone. Columns of more than
some four codes are better alone, and in pairs. Which is better is for the forecasts to say: here
are the sets of tables to be weighed, for several sizes of table (Qardaji, Yang, Li 2014, PriView,
choose such sets for columns of two codes).

Nothing here looks at data: columns go by their number of codes, then by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations

from synth.domain import Margin, Universe
from synth.planning.margins import errors_of_columns, in_order, margins_of_order
from synth.planning.problem import Problem

JOINED_CELLS = (4, 16, 32)
"""The cells that a table of joined columns may have."""
COVERING_CELLS = (16, 32, 64, 128)
"""The cells that a table of more than two columns may have where tables cover pairs."""
WORTH = 0.9
"""Columns are joined if the sum of the errors of all falls to this part, or less."""
FEWER = 0.8
"""Tables that cover pairs are weighed if there are at most so many for every pair: where hardly a
table is saved, nothing is gained."""
LEAST_NEW = 0.5
"""A column joins a table only if this part of its pairs there is in no table yet."""

Columns = tuple[tuple[str, int], ...]
"""Names and numbers of codes."""
Pairs = tuple[tuple[str, ...], ...]


def joined_columns(problem: Problem) -> Iterator[list[Margin]]:
    """Every column in one table, for several sizes of table; no two sets are the same.

    Only sets that tell single columns clearly better (`WORTH`) than a table for each, with Laplace
    noise; none has the universe.
    Ensures: the same tables whatever the order of the columns.
    """
    columns, found = _by_size(problem.universe), set()
    alone = _error(problem, margins_of_order(problem, 1))
    for most in JOINED_CELLS:
        groups = _joined(columns, most)
        tables = _margins(problem.universe, groups)
        if len(groups) > 1 and groups not in found and _error(problem, tables) <= WORTH * alone:
            found.add(groups)
            yield tables


def covering_tables(problem: Problem, pairs: Iterable[Margin]) -> Iterator[list[Margin]]:
    """Tables that hold all these pairs, clearly fewer (`FEWER`), for several sizes of table.

    Ensures: the same tables whatever the order of the columns. None is the universe.
    """
    asked = tuple(sorted(tuple(sorted(pair.names)) for pair in pairs))
    yield from map(list, _covering_tables(problem.universe, asked))


def _error(problem: Problem, tables: list[Margin]) -> float:
    """What all columns are off by, with the best split of a budget with Laplace noise."""
    return sum(map(math.sqrt, errors_of_columns(problem, tables))) ** 2


def _by_size(universe: Universe) -> Columns:
    sizes = zip(universe.names, universe.shape, strict=True)
    return tuple(sorted(sizes, key=lambda column: (column[1], column[0])))


def _margins(universe: Universe, groups: Iterable[tuple[str, ...]]) -> list[Margin]:
    """The tables of these columns, at their codes."""
    place = {name: number for number, name in enumerate(universe.names)}
    within = (tuple(sorted(group, key=place.__getitem__)) for group in groups)
    return in_order(universe, [Margin(names, (0,) * len(names)) for names in within])


@lru_cache(maxsize=16)
def _covering_tables(universe: Universe, pairs: Pairs) -> tuple[tuple[Margin, ...], ...]:
    """The same, once for all budgets."""
    columns, found = _by_size(universe), {}
    for most in COVERING_CELLS:
        groups = _covering(columns, pairs, min(most, universe.size - 1))
        if 0 < len(groups) <= FEWER * len(pairs) and groups not in found:
            found[groups] = tuple(_margins(universe, groups))
    return tuple(found.values())


def _joined(columns: Columns, most: int) -> frozenset[tuple[str, ...]]:
    """One column after the other joins a table, as long as it has at most so many cells."""
    groups: list[tuple[str, ...]] = []
    cells = most + 1
    for name, size in columns:
        cells *= size
        if cells > most:
            groups.append(())
            cells = size
        groups[-1] = (*groups[-1], name)
    return frozenset(groups)


def _covering(columns: Columns, pairs: Pairs, most: int) -> frozenset[tuple[str, ...]]:
    """The pairs, smallest first; to each that is in no table yet columns are joined.

    The next column is the one with the most pairs that are in no table yet, of these one of the
    fewest codes, if the table still has at most `most` cells.
    """
    sizes = dict(columns)
    left: dict[str, set[str]] = {name: set() for name in sizes}
    for one, other in pairs:
        left[one].add(other)
        left[other].add(one)
    groups = []
    for pair in sorted(pairs, key=lambda pair: sizes[pair[0]] * sizes[pair[1]]):
        if pair[1] not in left[pair[0]]:
            continue
        group, cells = set(pair), sizes[pair[0]] * sizes[pair[1]]
        while True:
            fit = [name for name, size in columns if cells * size <= most and name not in group]
            new = {name: len(left[name] & group) for name in fit}
            best = max(fit, key=new.__getitem__, default=None)
            if best is None or new[best] < LEAST_NEW * len(group):
                break
            group.add(best)
            cells *= sizes[best]
        for one, other in combinations(group, 2):
            left[one].discard(other)
            left[other].discard(one)
        groups.append(tuple(sorted(group)))
    return frozenset(groups)
