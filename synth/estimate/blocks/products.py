"""Sums over a large universe of functions that are products of tables of pairs of groups.

With m(o, p, q) = A(o, p) B(o, q) C(p, q), the sum over q is A(o, p) (B C')(o, p), and the sums over
the other pairs are likewise products of matrices: no cell is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from synth.estimate.blocks.groups import Groups, PairTables

Floats = NDArray[np.float64]

ROWS = 64
"""Rows of one block of a product: a function of the sizes alone, so that every number of threads
gives the same bytes."""
LARGEST_LOG = 80.0


def product_sums(
    groups: Groups, log_mean: PairTables, weight: PairTables | None, *, threads: int
) -> PairTables:
    """The sums over the cells of every modelled pair of m, or of m times a weight.

    Shapes: `log_mean` are the logarithms of A, B and C, a table that is missing is 0 throughout;
    the weight of a cell is the sum of its tables.
    Ensures: the same bytes for any number of threads.
    """
    first, second, third = groups.sizes
    shapes = ((first, second), (first, third), (second, third))
    a, b, c = (
        np.ones(shape) if table is None else _factor(table)
        for table, shape in zip(log_mean.tables, shapes, strict=True)
    )
    factors = (a, b, c)
    weights: Sequence[NDArray[Any] | None] = (None,) if weight is None else weight.tables
    total: list[Floats | None] = [None, None, None]
    with one_thread_each(), ThreadPoolExecutor(max(1, threads)) as pool:
        for pair, table in enumerate(weights):
            if weight is not None and table is None:
                continue
            weighted = list(factors)
            if table is not None:
                weighted[pair] = factors[pair] * table
            parts = _pairs_of(weighted[0], weighted[1], weighted[2], groups.is_modelled, pool)
            total = [
                part if each is None else each + part
                for each, part in zip(total, parts, strict=True)
            ]
    return PairTables((total[0], total[1], total[2]))


def _factor(log: NDArray[Any]) -> Floats:
    """One factor; a step that went much too far stays finite, and will be taken back."""
    return np.asarray(np.exp(np.clip(log.astype(np.float64), -LARGEST_LOG, LARGEST_LOG)))


def _pairs_of(
    a: Floats, b: Floats, c: Floats, is_modelled: Sequence[bool], pool: Executor
) -> list[Any]:
    """The sums of A B C over every pair that is modelled; None for the others."""
    return [
        a * _product(b, c.T, pool) if is_modelled[0] else None,
        b * _product(a, c, pool) if is_modelled[1] else None,
        c * _product(a.T, b, pool) if is_modelled[2] else None,
    ]


def _product(left: Floats, right: Floats, pool: Executor) -> Floats:
    """The matrix product, by blocks of rows."""
    out = np.empty((left.shape[0], right.shape[1]))

    def rows_from(start: int) -> None:
        block = slice(start, start + ROWS)
        np.matmul(left[block], right, out=out[block])

    if left.shape[0] <= ROWS:
        rows_from(0)  # a thread would take longer to start
        return out
    for _ in pool.map(rows_from, range(0, left.shape[0], ROWS)):
        pass
    return out


def one_thread_each() -> AbstractContextManager[Any]:
    """Let every product be computed by the thread that asks for it."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
