"""What the page shows of the rows: counts of every column, and how columns go together."""

from __future__ import annotations

from dataclasses import dataclass

from synth.domain.counts import Counts
from synth.release.page.listed_pairs import listed_associations, passes, sums_by_code

MOST_COMPARED = 30
"""Associations are shown of the first so many columns."""

MOST_VISITS = 10**9
"""Cells looked at for all pairs of columns; where it would be more, fewer columns are compared."""


@dataclass(frozen=True)
class Summary:
    """Counts by column, and associations of the first columns.

    Shapes and units: `singles[i]` has one count per code of column i, in records;
    `associations[i][j]`, j < i, is Cramer's V, from 0 to 1, or None where it is not defined.
    """

    singles: tuple[tuple[int, ...], ...]
    associations: tuple[tuple[float | None, ...], ...]

    @property
    def compared(self) -> int:
        """How many columns, from the first, were compared with one another."""
        return len(self.associations)


def summarise(counts: Counts, shape: tuple[int, ...]) -> Summary:
    """Count the rows by every column, and compare the first columns pair by pair.

    Privacy: post-processing of the published counts.
    Shapes and units: `counts` in records; `shape` is the universe's.
    Ensures: the same numbers, to the last digit, wherever arithmetic is that of IEEE 754.
    """
    compared = min(len(shape), MOST_COMPARED)
    while passes(shape[:compared]) * len(counts.values) > MOST_VISITS and compared > 1:
        compared -= 1
    associations = listed_associations(counts, shape, compared)
    return Summary(
        tuple(
            tuple(sums_by_code(column, counts.values, size).tolist())
            for column, size in zip(counts.columns, shape, strict=True)
        ),
        tuple(tuple(associations[low, high] for low in range(high)) for high in range(compared)),
    )
