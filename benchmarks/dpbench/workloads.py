"""Workloads of range queries, answered by cumulative sums, and the error of DPBench.

The scaled average per-query error of Hay et al. (SIGMOD 2016, definition 3) is

    |W x - W y|_2 / (s q)

for q queries W, true counts x of scale s (the number of records) and estimated counts y: the L2
norm of all errors is divided by the number of queries, not by its root. The root mean square
error of a query, in records, is therefore s sqrt(q) times the scaled error. This is the
normalisation of the usual published figures: raw Laplace noise of epsilon 1 on all prefixes
of 4,096 cells of 347,414 records gives about 2.4e-6, a root mean square of about 54 records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Workload:
    """Boxes of cells: low[q, a] <= index of axis a < high[q, a]."""

    name: str
    low: Ints
    high: Ints

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.low)

    def answers(self, table: NDArray[np.generic]) -> Floats:
        """The sum of `table` over every box, by inclusion and exclusion of cumulative sums."""
        axes = table.ndim
        cumulative = np.zeros([size + 1 for size in table.shape])
        running = table.astype(np.float64)
        for axis in range(axes):
            running = running.cumsum(axis=axis)
        cumulative[(slice(1, None),) * axes] = running
        total = np.zeros(self.size)
        for corner in range(2**axes):
            lower = [bool(corner >> axis & 1) for axis in range(axes)]
            index = tuple((self.low if low else self.high)[:, a] for a, low in enumerate(lower))
            total += (-1) ** sum(lower) * cumulative[index]
        return total


def prefixes(shape: tuple[int, ...]) -> Workload:
    """Every box that starts at the first cell."""
    high = np.indices(shape).reshape(len(shape), -1).T + 1
    return Workload("prefixes", np.zeros_like(high), high)


def random_ranges(shape: tuple[int, ...], queries: int = 2_000, seed: int = 2016) -> Workload:
    """Boxes whose two ends on every axis are uniform over all intervals of that axis.

    The seed is fixed: every method answers the same boxes.
    """
    generator = np.random.default_rng([seed, *shape])
    low = np.empty((queries, len(shape)), dtype=np.int64)
    high = np.empty_like(low)
    for axis, size in enumerate(shape):
        starts, ends = np.triu_indices(size)
        drawn = generator.integers(starts.size, size=queries)
        low[:, axis], high[:, axis] = starts[drawn], ends[drawn] + 1
    return Workload("random ranges", low, high)


def scaled_error(workload: Workload, estimate: NDArray[np.generic], truth: Ints) -> float:
    """The scaled average per-query error (see the top of this file)."""
    gap = workload.answers(estimate.reshape(truth.shape)) - workload.answers(truth)
    return float(np.linalg.norm(gap)) / (float(truth.sum()) * workload.size)
