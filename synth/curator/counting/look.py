"""What a look counts: how records gather in cells, and how far pairs of columns depend.

Every count here is a whole number that one record changes by at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synth.curator.counting.tabulate import CELLS_AT_ONCE, FilledCells, Held, sums_of
from synth.curator.seal import Sensitive
from synth.domain import Margin, Universe
from synth.privacy import LookEvent

Ints = NDArray[np.int64]
_EXACT_IN_64_BITS = 1 << 31
"""Of fewer records twice their square is below 2^63; of more, whole numbers have any size."""


def looked_at(
    sensitive_counts: Sensitive[Held], event: LookEvent, universe: Universe
) -> tuple[Sensitive[Ints], Sensitive[Held]]:
    """The exact counts of a look, and what they were counted from, wrapped again.

    Privacy: exact counts; secret. A record changes the profile by 1 in all (`gathered`) and the
    last count, if there are pairs, by at most 1 (`dependence`): together by at most 2 with pairs,
    which is what `privacy.look_sensitivity` multiplies the records of a unit by.
    Ensures: what they were counted from is left as it is.
    Shapes and units: int64, `event.counts` numbers of records.
    """
    held = sensitive_counts.consume()
    counts = held.counts if isinstance(held, FilledCells) else held
    found = gathered(counts, event.firsts)
    if event.pairs:
        found = np.append(found, dependence(held, event.pairs, universe))
    return Sensitive(found), Sensitive(held)


def gathered(counts: Ints, firsts: Sequence[int]) -> Ints:
    """How many records are the 1st, 2nd, ... of their cell: the profile of a look.

    Privacy: exact counts; secret. A cell with c records has one in each of the places 1 to c, so
    a record that is added to it adds 1 to the class of place c + 1 and changes no other: a record
    changes the profile by 1 in L1 norm, whatever cell it is in and whoever else is there.
    Requires: `firsts` ascend from 1; class i ends before place `firsts[i + 1]`, the last nowhere.
    Shapes and units: int64, one number of records per class.
    """
    from_each = [np.zeros(1, dtype=np.int64) for _ in firsts]
    for start in range(0, len(counts), CELLS_AT_ONCE):
        block = counts[start : start + CELLS_AT_ONCE]
        for total, first in zip(from_each, firsts, strict=True):
            total += np.maximum(block - (first - 1), 0).sum()
    later = [*from_each[1:], np.zeros(1, dtype=np.int64)]
    return np.concatenate(from_each) - np.concatenate(later)


def dependence(held: Held, pairs: Sequence[tuple[str, str]], universe: Universe) -> int:
    """Half of the records in the wrong cell of a pair if its columns were independent: the mean.

    With n records, n_ab of them with codes a and b, let g = n_ab - n_a n_b / n, and 0 without
    records. The sum of |g| over the cells of a pair is twice the number of records that a product
    of its columns puts into wrong cells. The result is the mean of these sums over all pairs,
    divided by 4 and rounded down.

    Privacy: exact count; secret. A record added with codes c and d changes g by
    n / (n + 1) (1[a=c] - n_a/n) (1[b=d] - n_b/n), which is in L1 norm below 4, the product of two
    norms of at most 2. So the mean divided by 4 changes by less than 1, and rounded down by at most
    1. It is computed in whole numbers, without any rounding but this.
    Memory: one table of every pair.
    Shapes and units: records; at most half of their number.
    """
    margins = [Margin(pair, (0, 0)) for pair in pairs]
    tables = [sums_of(held, margin, universe) for margin in margins]
    records = int(tables[0].sum())
    shapes = [[universe.attribute(name).size for name in pair] for pair in pairs]
    apart = sum(_apart(table.reshape(shape)) for table, shape in zip(tables, shapes, strict=True))
    return apart // (4 * max(records, 1) * len(pairs))


def _apart(table: Ints) -> int:
    """The sum of |n n_ab - n_a n_b| over all cells; most of them are empty, and add n_a n_b."""
    records = int(table.sum())
    whole = np.int64 if records < _EXACT_IN_64_BITS else object
    rows, columns = np.nonzero(table)
    product = table.sum(axis=1).astype(whole)[rows] * table.sum(axis=0).astype(whole)[columns]
    filled = np.abs(records * table[rows, columns].astype(whole) - product)
    return int(filled.sum()) + records**2 - int(product.sum())
