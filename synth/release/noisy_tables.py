"""`tables/`: measured tables of few cells as CSV files that name their levels.

For SQL, R and spreadsheets: what `measurements.parquet` says in numbers, said in words. One line
per cell: the labels of its levels in the columns of the table, `noisy_count`, `standard_error`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, product

from synth.domain import Universe
from synth.measurements import MeasuredTable, Measurements
from synth.release.rows.csv_file import quote_field

TABLES = "tables"
"""The one folder inside a release folder."""

MOST_CELLS = 10_000
"""A table of more cells has no file."""
LONGEST_LABELS = 1_000
"""Bytes of the longest labels of a line together: so no file is too large to be verified."""
MOST_FILES = 200
MOST_LINES = 200_000
"""Of all files together, without their headers."""

RULE = (
    f"every measured table of at most {MOST_CELLS:,} cells and labels of at most "
    f"{LONGEST_LABELS:,} bytes a line, those of the fewest columns first and otherwise in their "
    f"order, up to {MOST_FILES} tables or {MOST_LINES:,} cells together; none of those that list "
    "only the cells above a threshold, because sums over such a list are too large. All of them "
    "are in measurements.parquet"
)

DIGITS = 6
"""Significant digits of a standard error: fewer than other arithmetic can move."""
MOST_LETTERS = 60
"""Of a file's name, without its number and ending."""

COUNT, ERROR = "noisy_count", "standard_error"


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """One measured table that has a file."""

    number: int
    """Its place in `accounting.events`, and in `measurements.parquet`."""
    path: str
    about: str
    """What it counts by, in words."""
    header: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """The names of the levels of every column, in their order."""
    measured: MeasuredTable

    def content(self) -> bytes:
        """The bytes of the file: UTF-8, LF, fields quoted where they must be.

        Every cell of the table, in its order, also one that cannot occur. The standard error is
        that of the exact law of the noise; it is the same in every line.
        Rounding: of the standard error to the nearest number of `DIGITS` digits.
        """
        error = written_error(self.measured.variance)
        cells = product(*(list(map(quote_field, labels)) for labels in self.labels))
        counts = self.measured.noisy_counts.tolist()
        lines = [",".join(map(quote_field, self.header))]
        lines += [
            ",".join((*cell, str(count), error)) for cell, count in zip(cells, counts, strict=True)
        ]
        return "".join(f"{line}\n" for line in lines).encode()


def noisy_tables(measurements: Measurements, universe: Universe) -> list[NoisyTable]:
    """The tables that have a file, in the order of their numbers: what `RULE` says.

    Privacy: a function of what was measured and of the declared domain, never of a count.
    """
    tables = measurements.tables
    small = [
        number
        for number, table in enumerate(tables)
        if table.event.threshold is None
        and table.event.cells <= MOST_CELLS
        and _longest(table, universe) <= LONGEST_LABELS
    ]
    first = sorted(small, key=lambda number: len(tables[number].event.table))[:MOST_FILES]
    lines = accumulate(tables[number].event.cells for number in first)
    chosen = [number for number, sum_ in zip(first, lines, strict=True) if sum_ <= MOST_LINES]
    width = max(3, len(str(len(tables) - 1)))
    return [_named(number, width, tables[number], universe) for number in sorted(chosen)]


def _labels(measured: MeasuredTable, universe: Universe) -> list[tuple[str, ...]]:
    """The names of the levels, or groups of them, of every column."""
    found = []
    for name, steps in zip(measured.event.table, measured.event.coarsening, strict=True):
        attribute = universe.attribute(name)
        found.append(attribute.hierarchy[-steps].labels if steps else attribute.labels)
    return found


def _longest(measured: MeasuredTable, universe: Universe) -> int:
    """The most bytes that the labels of a line have."""
    return sum(max(len(each.encode()) for each in labels) for labels in _labels(measured, universe))


def _named(number: int, width: int, measured: MeasuredTable, universe: Universe) -> NoisyTable:
    parts = []
    event = measured.event
    for name, steps in zip(event.table, event.coarsening, strict=True):
        attribute = universe.attribute(name)
        level = attribute.hierarchy[-steps] if steps else None
        parts.append(name if level is None else f"{name} ({level.name})")
    about = f"by {', '.join(parts)}" if parts else "of all records"
    return NoisyTable(
        number,
        f"{TABLES}/{number:0{width}}-{slug(parts)}.csv",
        about,
        table_header(event.table),
        tuple(_labels(measured, universe)),
        measured,
    )


def slug(parts: Sequence[str]) -> str:
    """Names as lower-case letters without marks, digits and hyphens; not too long, never empty."""
    plain = (
        unicodedata.normalize("NFKD", part).encode("ascii", "ignore").decode().lower()
        for part in parts
    )
    words = [re.sub("[^a-z0-9]+", "-", part).strip("-") or "column" for part in plain]
    return "-".join(words)[:MOST_LETTERS].rstrip("-") or "total"


def table_header(names: Sequence[str]) -> tuple[str, ...]:
    """The names of all columns: of the labels, the count and its error, which are the last two.

    To these `_` is added while the table has a column of that name.
    """
    taken = {name.casefold() for name in names}
    count, error = COUNT, ERROR
    while count in taken:
        count += "_"
    while error in taken:
        error += "_"
    return (*names, count, error)


def written_error(variance: float) -> str:
    """The square root in decimals, without exponent."""
    rounded = Decimal(f"{math.sqrt(variance):.{DIGITS - 1}e}")
    return format(rounded.normalize(), "f")
