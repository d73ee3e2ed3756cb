"""How accurate the counts are, as it was predicted: by table, and by number of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from synth.release.manifest.figures import MARGINAL, Figures

MOST_TABLES = 150


@dataclass(frozen=True)
class TableError:
    """The predicted error of one table or set of ranges; widths in records."""

    attributes: tuple[str, ...]
    what: str
    number: int
    half_width: int
    simultaneous: int
    below_noise: bool


@dataclass(frozen=True)
class OrderError:
    """All tables of one number of columns together: from the best to the worst, in records."""

    columns: int
    tables: int
    least: int
    most: int
    simultaneous: int


def table_errors(figures: Sequence[Figures], rows: int) -> tuple[TableError, ...]:
    """One entry per table and set of ranges of the workload that was predicted, in order.

    `below_noise`: an average cell of the table has fewer rows than its half width.
    """
    return tuple(
        TableError(
            query.attributes,
            KINDS[query.kind],
            query.cells,
            query.half_width_95_records,
            query.simultaneous_95_records,
            query.kind == MARGINAL and rows < query.half_width_95_records * query.cells,
        )
        for query in figures
        if query.kind in KINDS
        and query.cells is not None
        and query.half_width_95_records is not None
        and query.simultaneous_95_records is not None
    )


KINDS = {
    MARGINAL: "counts",
    "prefix": "sums from the lowest value",
    "range": "sums over ranges",
}


def errors_by_order(errors: tuple[TableError, ...]) -> tuple[OrderError, ...]:
    """The tables of counts, gathered by their number of columns, ascending."""
    counts = sorted(
        (error for error in errors if error.what == KINDS[MARGINAL]),
        key=lambda error: len(error.attributes),
    )
    found = []
    for columns, group in groupby(counts, key=lambda error: len(error.attributes)):
        members = list(group)
        widths = [error.half_width for error in members]
        bound = max(error.simultaneous for error in members)
        found.append(OrderError(columns, len(members), min(widths), max(widths), bound))
    return tuple(found)


def single_half_widths(errors: Sequence[TableError]) -> dict[str, int]:
    """By column: the half width of the 95 % interval of one of its counts, where it is known."""
    return {
        error.attributes[0]: error.half_width
        for error in errors
        if len(error.attributes) == 1 and error.what == KINDS[MARGINAL]
    }
