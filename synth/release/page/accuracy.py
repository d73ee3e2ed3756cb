"""How accurate the counts are, as the manifest predicted it: by table, and by number of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

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


def table_errors(manifest: Mapping[str, Any]) -> tuple[TableError, ...]:
    """One entry per table and set of ranges of the workload, in the order of the manifest.

    `below_noise`: an average cell of the table has fewer rows than its half width.
    """
    prediction = manifest["quality"]["prediction"]
    rows = manifest["post_processing"]["rows"]["number"]
    tables = [
        _error(query, "counts", query["cells"], below=rows < _half_width(query) * query["cells"])
        for query in prediction["queries"]
    ]
    ranges = [
        _error(query, KINDS[query["kind"]], query["intervals"], below=False)
        for query in prediction["ranges"]
    ]
    return (*tables, *ranges)


KINDS = {"prefix": "sums from the lowest value", "range": "sums over ranges"}


def errors_by_order(errors: tuple[TableError, ...]) -> tuple[OrderError, ...]:
    """The tables of counts, gathered by their number of columns, ascending."""
    counts = sorted(
        (error for error in errors if error.what == "counts"),
        key=lambda error: len(error.attributes),
    )
    found = []
    for columns, group in groupby(counts, key=lambda error: len(error.attributes)):
        members = list(group)
        widths = [error.half_width for error in members]
        bound = max(error.simultaneous for error in members)
        found.append(OrderError(columns, len(members), min(widths), max(widths), bound))
    return tuple(found)


def single_half_widths(manifest: Mapping[str, Any]) -> dict[str, int]:
    """By column: the half width of the 95 % interval of one of its counts, where it is known."""
    queries = manifest["quality"]["prediction"]["queries"]
    return {
        query["attributes"][0]: _half_width(query)
        for query in queries
        if len(query["attributes"]) == 1
    }


def _error(query: Mapping[str, Any], what: str, number: int, *, below: bool) -> TableError:
    return TableError(
        tuple(query["attributes"]),
        what,
        number,
        _half_width(query),
        int(query["simultaneous_95_records"]),
        below,
    )


def _half_width(query: Mapping[str, Any]) -> int:
    return int(query["half_width_95_records"])
