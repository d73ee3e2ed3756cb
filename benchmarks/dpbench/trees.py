"""Hierarchies of noisy counts over a line or a square: HB and QuadTree.

Qardaji, Yang, Li (PVLDB 2013), "Understanding hierarchical methods for differentially private
histograms"; Cormode, Procopiuc, Srivastava, Shen, Yu (ICDE 2012), "Differentially private spatial
decompositions". Consistency is the least-squares estimate given the variance of every level,
computed by one pass up and one pass down (Hay et al., PVLDB 2010).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.dpbench.flat import discrete_laplace, variance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def block_sums(table: NDArray[np.generic], factor: int) -> NDArray[np.generic]:
    """Sums over blocks of `factor` cells along every axis."""
    for axis in range(table.ndim):
        shape = table.shape
        split = (*shape[:axis], shape[axis] // factor, factor, *shape[axis + 1 :])
        table = table.reshape(split).sum(axis=axis + 1)
    return table


def spread(table: Floats, factor: int) -> Floats:
    """Every value repeated over its block of `factor` cells along every axis."""
    for axis in range(table.ndim):
        table = table.repeat(factor, axis=axis)
    return table


def consistent_leaves(levels: list[Floats], variances: list[float], factor: int) -> Floats:
    """The least-squares leaves of noisy levels, coarsest first, each `factor` finer per axis."""
    children = factor ** levels[0].ndim
    upward = [levels[-1]]
    leaf_side_variances = [variances[-1]]
    for level, own in zip(levels[-2::-1], variances[-2::-1], strict=True):
        below = children * leaf_side_variances[0]
        share = below / (own + below)
        upward.insert(0, share * level + (1.0 - share) * block_sums(upward[0], factor))
        leaf_side_variances.insert(0, own * share)
    result = upward[0]
    for level in upward[1:]:
        missing = (result - block_sums(level, factor)) / children
        result = level + spread(missing, factor)
    return result


def tree(truth: Ints, factor: int, budgets: list[float], generator: np.random.Generator) -> Floats:
    """Consistent leaves of a measured hierarchy; `budgets` from the coarsest level to the cells."""
    exact = [truth]
    while len(exact) < len(budgets):
        exact.insert(0, block_sums(exact[0], factor))
    noisy = [
        (counts + discrete_laplace(generator, budget, counts.shape)).astype(np.float64)
        for counts, budget in zip(exact, budgets, strict=True)
    ]
    return consistent_leaves(noisy, [variance(budget) for budget in budgets], factor)


def branching(size: int) -> int:
    """The b that makes (b - 1) h^3 - 2 (b + 1) h^2 / 3 least, h = log_b(size) levels, b^h = size.

    The mean variance of a range after consistency, but for a factor (Qardaji et al., section 4.3).
    """
    found: dict[int, float] = {}
    for height in range(1, size.bit_length()):
        base = round(size ** (1.0 / height))
        if base > 1 and base**height == size:
            found[base] = (base - 1) * height**3 - 2.0 * (base + 1) * height**2 / 3.0
    return min(found, key=found.__getitem__)


def square_branching(size: int, epsilon: float) -> int:
    """The branching per axis with the least mean squared error of a random rectangle.

    Found on an empty table, whose noise is that of every other: no data are used.
    """
    from benchmarks.dpbench.workloads import random_ranges

    empty = np.zeros((size, size), dtype=np.int64)
    workload = random_ranges(empty.shape, 2_000, seed=1)
    found: dict[int, float] = {}
    for height in range(1, size.bit_length()):
        base = round(size ** (1.0 / height))
        if base > 1 and base**height == size:
            draws = [
                tree(empty, base, [epsilon / height] * height, np.random.default_rng(seed))
                for seed in range(32)
            ]
            found[base] = float(np.mean([workload.answers(draw) ** 2 for draw in draws]))
    return min(found, key=found.__getitem__)


_SQUARE: dict[tuple[int, float], int] = {}


def hb(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """HB: the optimal branching, equal budgets, no root."""
    size = truth.shape[0]
    if truth.ndim == 1:
        factor = branching(size)
    else:
        if (size, epsilon) not in _SQUARE:
            _SQUARE[size, epsilon] = square_branching(size, epsilon)
        factor = _SQUARE[size, epsilon]
    height = round(math.log(size, factor))
    return tree(truth, factor, [epsilon / height] * height, generator)


def quadtree(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """QuadTree with the same budget on every level, the root included."""
    levels = truth.shape[0].bit_length()
    return tree(truth, 2, [epsilon / levels] * levels, generator)


def quadtree_geometric(truth: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
    """QuadTree with budgets that grow by 2^(1/3) per level towards the cells (section 4.2)."""
    weights = [2.0 ** (level / 3.0) for level in range(truth.shape[0].bit_length())]
    budgets = [epsilon * weight / sum(weights) for weight in weights]
    return tree(truth, 2, budgets, generator)
