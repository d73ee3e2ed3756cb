"""Grids over a square: UGrid and AGrid.

Qardaji, Yang, Li (ICDE 2013), "Differentially private grids for geospatial data". The size of
the grid is computed from the number of records. As in DPBench, the true number is used as if
it were public: a favour to these two, which nothing else in this folder gets.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.dpbench.flat import discrete_laplace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNIFORM_CONSTANT = 10.0
"""c of the paper: the grid has n epsilon / c blocks."""
ADAPTIVE_CONSTANT = 5.0
"""c2 of the paper: a block of the first grid is cut into its count x budget / c2 parts."""
FIRST_SHARE = 0.5
"""alpha of the paper: the share of the budget for the first grid."""


def cuts(low: int, high: int, parts: int) -> Ints:
    """The ends of `parts` nearly equal runs of cells from `low` to `high`; at most one per cell."""
    parts = max(1, min(parts, high - low))
    return low + np.arange(parts + 1) * (high - low) // parts


def block_sums(table: Ints, rows: Ints, columns: Ints) -> Ints:
    """Sums between neighbouring cuts."""
    partial = np.add.reduceat(table, rows[:-1], axis=0)
    return np.add.reduceat(partial, columns[:-1], axis=1)


def spread(sums: Floats, rows: Ints, columns: Ints) -> Floats:
    """Every sum spread evenly over the cells of its block."""
    heights, widths = np.diff(rows), np.diff(columns)
    even = sums / np.outer(heights, widths)
    return even.repeat(heights, axis=0).repeat(widths, axis=1)


def uniform_grid(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """UGrid: one grid of sqrt(n epsilon / c) blocks a side."""
    parts = math.ceil(math.sqrt(float(truth.sum()) * epsilon / UNIFORM_CONSTANT))
    rows, columns = (cuts(0, size, parts) for size in truth.shape)
    sums = block_sums(truth, rows, columns)
    return spread(sums + discrete_laplace(generator, epsilon, sums.shape), rows, columns)


def adaptive_grid(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """AGrid: a coarse grid, every block of which is cut according to its noisy count."""
    parts = math.ceil(math.sqrt(float(truth.sum()) * epsilon / UNIFORM_CONSTANT) / 4.0)
    rows, columns = (cuts(0, size, max(10, parts)) for size in truth.shape)
    first, second = FIRST_SHARE * epsilon, (1.0 - FIRST_SHARE) * epsilon
    sums = block_sums(truth, rows, columns)
    coarse = sums + discrete_laplace(generator, first, sums.shape)
    result = np.empty(truth.shape)
    for i in range(rows.size - 1):
        for j in range(columns.size - 1):
            top, bottom, left, right = rows[i], rows[i + 1], columns[j], columns[j + 1]
            wanted = math.sqrt(max(float(coarse[i, j]), 0.0) * second / ADAPTIVE_CONSTANT)
            inner_rows = cuts(0, bottom - top, math.ceil(wanted))
            inner_columns = cuts(0, right - left, math.ceil(wanted))
            exact = block_sums(truth[top:bottom, left:right], inner_rows, inner_columns)
            fine = exact + discrete_laplace(generator, second, exact.shape)
            weight = fine.size * first**2 / (second**2 + fine.size * first**2)
            total = weight * coarse[i, j] + (1.0 - weight) * fine.sum()
            level = fine + (total - fine.sum()) / fine.size
            result[top:bottom, left:right] = spread(level, inner_rows, inner_columns)
    return result
