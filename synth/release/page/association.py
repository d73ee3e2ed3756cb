"""Cramer's V: how strongly two columns go together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def cramers_v(rows: NDArray[Any], columns: NDArray[Any], counts: NDArray[np.int64]) -> float | None:
    """Cramer's V of a table given by its occupied cells, corrected for bias; None if undefined.

    Formula (Bergsma 2013): with r rows and c columns that are not empty and n records,
    phi^2 = sum of n_ij^2 / (n_i n_j) - 1 - (r - 1)(c - 1)/(n - 1), at least 0, and
    V = sqrt(phi^2 / min(r' - 1, c' - 1)) with r' = r - (r - 1)^2/(n - 1), likewise c'.
    Requires: every count is positive.
    Ensures: the same digits on every machine: quotients are rounded one by one, their sum once.
    """
    import numpy as np

    n = int(counts.sum())
    if n < 2:
        return None
    row_sums = np.bincount(rows, weights=counts)
    column_sums = np.bincount(columns, weights=counts)
    r, c = np.count_nonzero(row_sums), np.count_nonzero(column_sums)
    smaller = min(size - (size - 1) ** 2 / (n - 1) for size in (r, c)) - 1
    if smaller <= 0:
        return None
    parts = (counts / row_sums[rows]) * (counts / column_sums[columns])
    phi_squared = math.fsum([*parts.tolist(), -1.0, -(r - 1) * (c - 1) / (n - 1)])
    return min(1.0, math.sqrt(max(0.0, phi_squared) / smaller))


def association(table: NDArray[np.int64]) -> float | None:
    """Cramer's V of a whole table of two columns; None if undefined."""
    import numpy as np

    rows, columns = np.nonzero(table)
    return cramers_v(rows, columns, table[rows, columns])
