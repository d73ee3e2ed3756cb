"""How strongly columns go together: Cramer's V of every pair."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

from synth.evaluation.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_COLUMNS = 60
"""Associations are computed among so many columns, the first ones."""


def associations(table: Table) -> NDArray[np.float64]:
    """Cramer's V of every pair of columns, 1 on the diagonal.

    Levels that no record has do not count; a pair with a column of one level has association 0.
    Shapes and units: a symmetric matrix over the first `MOST_COLUMNS` columns, from 0 to 1.
    """
    import numpy as np

    number = min(len(table.universe.shape), MOST_COLUMNS)
    found = np.eye(number)
    for left, right in combinations(range(number), 2):
        found[left, right] = found[right, left] = cramers_v(table, left, right)
    return found


def cramers_v(table: Table, left: int, right: int) -> float:
    """sqrt(phi^2 / (min(r, c) - 1)), phi^2 = sum_ij p_ij^2 / (p_i p_j) - 1 (Cramer 1946)."""
    import numpy as np

    if not table.records:
        return 0.0
    weights = table.counts / table.records
    rows = np.bincount(table.codes[left], weights=weights)
    columns = np.bincount(table.codes[right], weights=weights)
    smaller = min(np.count_nonzero(rows), np.count_nonzero(columns))
    if smaller < 2:
        return 0.0
    keys, place = np.unique(table.keys((left, right)), return_inverse=True)
    joint = np.bincount(place, weights=weights)
    row, column = np.divmod(keys, table.universe.shape[right])
    filled = joint > 0
    row, column, joint = row[filled], column[filled], joint[filled]
    phi2 = float((joint**2 / (rows[row] * columns[column])).sum()) - 1
    return math.sqrt(min(max(phi2 / (smaller - 1), 0.0), 1.0))
