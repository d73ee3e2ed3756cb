"""The support: cells drawn from the tree in an even, repeatable way, beside the listed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.domain import Universe
from synth.domain.cell_words import cell_order, cell_words, code_type, new_cells
from synth.domain.counts import Counts, is_possible
from synth.estimate.sparse.even_points import Inverse, steady_steps
from synth.estimate.sparse.tree import Tree

Floats = NDArray[np.float64]

MOST_POINTS = 4_000_000
"""The most points that are drawn; with more records each point stands for several."""
_MOST_DRAWS = 8
"""How often points are drawn anew where impossible cells leave too few."""
_BLOCK = 1 << 16
_THREADS = 2


@dataclass(frozen=True, eq=False)
class Support:
    """The cells that may hold records, in ascending order, and their weights.

    Shapes and units: `columns[j]` is the code of attribute j of every cell, in a narrow unsigned
    type; `values` float64, records. `listed` marks those whose count is known from the universe
    table.
    """

    columns: tuple[NDArray[Any], ...]
    values: Floats
    listed: NDArray[np.bool_]

    @staticmethod
    def of(counts: Counts) -> Support:
        """The cells of whole counts."""
        values = counts.values.astype(np.float64)
        return Support(counts.columns, values, np.zeros(values.size, dtype=bool))

    def with_values(self, values: Floats) -> Support:
        """The same cells with other weights."""
        return replace(self, values=values)


def spread(
    tree: Tree,
    universe: Universe,
    seed: int,
    *,
    listed: Sequence[NDArray[Any]],
    counts: Floats,
) -> Support:
    """The listed cells with these counts, and the records of the tree over other cells.

    Ensures: possible cells only, none twice, and none drawn that is listed; the drawn ones share
    the tree's total by how often they were drawn. Deterministic given the seed.
    """
    kind = code_type(universe.shape)
    points = min(round(tree.total), MOST_POINTS)
    drawn = _possible_points(tree, universe, seed, points)
    columns = [
        np.concatenate([np.asarray(known).astype(kind), fresh])
        for known, fresh in zip(listed, drawn, strict=True)
    ]
    hits = np.ones(len(columns[0]))
    hits[: counts.size] = 0.0
    words = cell_words(columns, universe.shape)
    order = cell_order(words)
    first = np.flatnonzero(new_cells([word[order] for word in words]))
    cells = order[first]  # of equal cells the first, which is the listed one if there is one
    weights = np.add.reduceat(hits[order], first) if first.size else np.zeros(0)
    is_listed = cells < counts.size
    weights[is_listed] = 0.0
    mass = float(weights.sum())
    values = weights * (tree.total / mass) if mass > 0.0 else weights
    values[is_listed] = counts[cells[is_listed]]
    return Support(tuple(column[cells] for column in columns), values, is_listed)


def _possible_points(tree: Tree, universe: Universe, seed: int, points: int) -> list[NDArray[Any]]:
    """About this many points on possible cells, in the order of the sequence."""
    parts: list[list[NDArray[Any]]] = [drawn_points(tree, universe, seed, 0, points)]
    if universe.impossible:
        start, kept = points, 0
        for draw in range(_MOST_DRAWS):
            keep = is_possible(parts[-1], universe)
            parts[-1] = [column[keep] for column in parts[-1]]
            kept += int(keep.sum())
            if kept >= points or draw == _MOST_DRAWS - 1:
                break
            more = min(points, math.ceil((points - kept) * start / max(kept, 1)))
            parts.append(drawn_points(tree, universe, seed, start, more))
            start += more
    return [np.concatenate(column)[:points] for column in zip(*parts, strict=True)]


def drawn_points(
    tree: Tree, universe: Universe, seed: int, start: int, points: int
) -> list[NDArray[Any]]:
    """Points start, ..., start + points - 1 of the sequence, mapped through the laws of the tree.

    In the order of the tree, the number of the point for an attribute (`even_numbers`) chooses the
    code by the law that the parent's code gives (Rosenblatt 1952).
    """
    kind = code_type(universe.shape)
    columns: list[NDArray[Any]] = [np.zeros(points, dtype=kind) for _ in universe.shape]
    shifts = np.random.Philox(key=seed).random_raw(len(columns))
    steps = steady_steps(len(columns))
    laws = [Inverse.of(branch.law) for branch in tree.branches]

    def draw(low: int) -> None:
        block = slice(low, min(low + _BLOCK, points))
        numbers = np.arange(start + block.start, start + block.stop, dtype=np.uint64)
        for branch, law in zip(tree.branches, laws, strict=True):
            words = numbers * np.uint64(steps[branch.axis]) + shifts[branch.axis]
            parent = None if branch.parent is None else columns[branch.parent][block]
            columns[branch.axis][block] = law.codes(words, parent)

    with ThreadPoolExecutor(_THREADS) as pool:  # blocks do not depend on each other
        for number, _ in enumerate(pool.map(draw, range(0, points, _BLOCK)), start=1):
            progress.advance(min(number * _BLOCK, points), points, "cells")
    return columns
