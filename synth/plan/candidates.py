"""Which margins are considered for measuring: what the workload asks, and what lies below it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from synth.plan.axes import Axis
from synth.plan.questions import Question

MOST_CANDIDATES = 1200
"""More are not weighed against each other."""
MOST_GRIDS = 300
"""Up to so many combinations of resolutions of one set of range queries are all considered."""

Point = tuple[int, ...]


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
