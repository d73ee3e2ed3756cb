"""The margins that may be measured, and the best split of a purse over some of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product

from synth.domain import Margin, Universe
from synth.planning.linear_theory import Axis, Question, components_of, margin_at, point_of
from synth.planning.optimum import objective_of, optimal_split, pure_split
from synth.planning.problem import Problem
from synth.planning.spending import Purse
from synth.privacy import sensitivity_l1

LARGEST_TABLE_CELLS = 10**8
"""No margin larger than this is proposed beside, or instead of, the universe."""
MOST_CANDIDATES = 1200
"""More are not weighed against each other."""
MOST_GRIDS = 300
"""Up to so many combinations of resolutions of one set of range queries are all considered."""

Point = tuple[int, ...]


def best_shares(
    problem: Problem, margins: Sequence[Margin], purse: Purse, *, least: float = 0.0
) -> list[float]:
    """Shares with the least weighted absolute error of all questions that the margins answer.

    Equal shares if they answer none. No share is below `least` times an equal one.
    """
    if not margins:
        return []
    points = tuple(point_of(problem.axes, margin) for margin in margins)
    rate = None
    if purse.noise == "laplace":
        rate = float(purse.epsilon / sensitivity_l1(problem.privacy))
    shares = _best_shares(problem.axes, points, problem.questions, rate)
    return [max(share, least / len(margins)) for share in shares]


@lru_cache(maxsize=16)
def _best_shares(
    axes: tuple[Axis, ...],
    points: tuple[Point, ...],
    questions: tuple[Question, ...],
    rate: float | None,
) -> tuple[float, ...]:
    """The same, not weighed anew for every number of records; of Gaussian noise without a rate."""
    components = components_of(axes, points)
    possible = components.answers(questions)
    asked = tuple(q for q, known in zip(questions, possible, strict=True) if known)
    if not any(question.weight for question in asked):
        return (1.0,) * len(points)
    objective = objective_of(components, asked, error="absolute")
    split = optimal_split(objective) if rate is None else pure_split(objective, rate)
    return tuple(split.shares.tolist())


def one_way_shares(problem: Problem, margins: Sequence[Margin], purse: Purse) -> list[float]:
    """Shares of tables without common columns with the least sum of errors of single columns.

    With the W of `errors_of_columns` a table is off in proportion to W / epsilon, or W / rho^(1/2).
    The sum is least for epsilons like W^(1/2), and rhos like W^(2/3).
    """
    power = 1 / 2 if purse.noise == "laplace" else 2 / 3
    return [error**power for error in errors_of_columns(problem, margins)]


def errors_of_columns(problem: Problem, margins: Sequence[Margin]) -> list[float]:
    """What the single columns of every table are off by in all, in scales of its noise.

    A column of m codes in a table of C cells is off by (m C)^(1/2) times that scale.
    """
    sizes = {attribute.name: attribute.size for attribute in problem.attributes}
    return [
        sum(math.sqrt(sizes[name] * margin.cells(problem.universe)) for name in margin.names)
        for margin in margins
    ]


def workload_margins(problem: Problem) -> list[Margin]:
    """What may be measured for the marginals and ranges of the workload, and below them."""
    asked = tuple(question for question in problem.questions if question.kind != "cells")
    return _margins_at(problem, points_of(problem.axes, asked))


def margins_of_order(problem: Problem, order: int) -> list[Margin]:
    """The workload's marginals of one order; for 1, those of every attribute."""
    asked = {tuple(sorted(q.energy)) for q in problem.questions if q.kind == "marginal"}
    chosen = {places for places in asked if len(places) == order}
    if order == 1:
        chosen = {(place,) for place in range(len(problem.axes))}
    return _margins_at(problem, [finest(problem.axes, places) for places in chosen])


def _margins_at(problem: Problem, points: Iterable[Point]) -> list[Margin]:
    """The margins with these partitions that are not too large to be measured, in order."""
    axes = problem.axes
    small = [point for point in points if cells_at(axes, point) <= LARGEST_TABLE_CELLS]
    return in_order(problem.universe, [margin_at(problem.universe, axes, point) for point in small])


def in_order(universe: Universe, margins: Iterable[Margin]) -> list[Margin]:
    """Each once, whatever the order of the columns: the universe, then by attributes and name.

    Of the same columns those with fewer groups come first.
    """

    def place(margin: Margin) -> tuple[bool, int, list[str], list[int]]:
        steps = sorted(zip(margin.names, margin.coarsening, strict=True))
        finer = [-each for _, each in steps]
        return not margin.is_finest(universe), len(steps), [name for name, _ in steps], finer

    return sorted(set(margins), key=place)


def points_of(axes: Sequence[Axis], questions: Sequence[Question]) -> tuple[Point, ...]:
    """The candidate margins of a workload, as the partition of every axis; sorted.

    For every marginal, it and its own marginals; for ranges, the declared resolutions of their
    attributes in every combination, if there are at most 300, and otherwise as in a quadtree, all
    attributes one step finer at a time. If these are more than 1,200, marginals are left out, those
    of most attributes first; what is asked of them then cannot be answered.
    """
    ranges = [q for q in questions if not q.is_table]
    kept = {point for question in ranges for point in _grids(axes, question)}
    tables = {tuple(sorted(q.energy)) for q in questions if q.kind == "marginal"}
    for order in range(max(map(len, tables), default=0), 0, -1):
        chosen = {
            subset
            for table in tables
            for size in range(1, min(order, len(table)) + 1)
            for subset in combinations(table, size)
        }
        points = kept | {finest(axes, subset) for subset in chosen}
        if len(points) <= MOST_CANDIDATES or order == 1:
            return tuple(sorted(points))
    return tuple(sorted(kept))


def finest(axes: Sequence[Axis], places: Sequence[int]) -> Point:
    """The marginal of these axes, at the codes themselves."""
    return tuple(axis.depth if place in places else 0 for place, axis in enumerate(axes))


def cells_at(axes: Sequence[Axis], point: Point) -> int:
    """The number of cells of a margin."""
    return math.prod(axis.groups[part] for axis, part in zip(axes, point, strict=True))


def _grids(axes: Sequence[Axis], question: Question) -> Iterator[Point]:
    places = sorted(question.energy)
    choices = [axes[place].measured for place in places]
    if math.prod(map(len, choices)) <= MOST_GRIDS:
        combined = list(product(*choices))
    else:
        steps = max(map(len, choices))
        combined = [
            tuple(choice[-min(back, len(choice))] for choice in choices)
            for back in range(1, steps + 1)
        ]
    for resolution in combined:
        point = [0] * len(axes)
        for place, partition in zip(places, resolution, strict=True):
            point[place] = partition
        if any(point):
            yield tuple(point)
