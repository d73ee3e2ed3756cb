"""Tables with a threshold in the file of measurements: the codes of the cells that are listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synth.domain import Universe
from synth.domain.counts import is_possible
from synth.measurements.measurements import MeasuredTable
from synth.privacy import TableEvent

PREFIX = "code:"
"""Before the name of the attribute whose code a column holds."""
MOST_LISTED = 1 << 31


def code_columns(events: Sequence[TableEvent]) -> list[str]:
    """The columns for codes: one per attribute of the table with a threshold; none without one.

    Raises: ValueError if there are two such tables: their cells would share the columns.
    """
    listing = [event for event in events if event.threshold is not None]
    if len(listing) > 1:
        raise ValueError("has more than one table with a threshold")
    return [PREFIX + name for event in listing for name in event.table]


def code_fields(events: Sequence[TableEvent]) -> list[pa.Field]:
    """The fields of these columns: int32, null in the rows of every other table."""
    return [pa.field(name, pa.int32()) for name in code_columns(events)]


def code_arrays(
    events: Sequence[TableEvent], table: MeasuredTable, start: int, stop: int
) -> list[pa.Array]:
    """The codes of rows start .. stop-1 of a table, one array per field; nulls for other tables."""
    names = code_columns(events)
    if table.codes is None:
        return [pa.nulls(stop - start, pa.int32())] * len(names)
    return [pa.array(column.astype("int32")) for column in table.codes[start:stop].T]


def row_counts(events: Sequence[TableEvent], listed: Any) -> list[int]:
    """The rows of every table: those that are listed, or every cell.

    Raises: ValueError unless `listed` has a number for every table with a threshold, no more.
    """
    if type(listed) is not list or len(listed) != sum(e.threshold is not None for e in events):
        raise ValueError("does not say how many cells are listed")
    if any(type(number) is not int or not 0 <= number < MOST_LISTED for number in listed):
        raise ValueError("has a number of listed cells that cannot be")
    numbers = iter(listed)
    return [event.cells if event.threshold is None else next(numbers) for event in events]


def read_codes(
    columns: Sequence[pa.ChunkedArray],
    event: TableEvent,
    universe: Universe,
    *,
    start: int,
    count: int,
) -> NDArray[np.int64]:
    """The codes of the listed cells, rows start .. start+count-1 of columns that are not trusted.

    Ensures: every row is a possible cell of the universe, and cells ascend, each once.
    Raises: ValueError otherwise.
    """
    if event.table != universe.names or any(event.coarsening):
        raise ValueError("has a threshold for another table than the universe")
    listed = [column.slice(start, count) for column in columns]
    if any(column.null_count for column in listed):
        raise ValueError("has a listed cell without a code")
    if any(column.null_count != len(column) - count for column in columns):
        raise ValueError("has codes in the rows of another table")
    codes = np.stack([column.to_numpy().astype(np.int64) for column in listed], axis=1)
    if len(codes) and not ((codes >= 0) & (codes < np.array(universe.shape))).all():
        raise ValueError("lists a cell that the universe does not have")
    if not ascends(codes):
        raise ValueError("does not list cells in ascending order, each once")
    if not is_possible(tuple(codes.T), universe).all():
        raise ValueError("lists an impossible cell")
    return codes


def ascends(codes: NDArray[np.int64]) -> bool:
    """Whether rows are in strictly ascending lexicographic order."""
    step = np.diff(codes, axis=0)
    first = np.take_along_axis(step, (step != 0).argmax(axis=1)[:, None], axis=1)
    return bool((first > 0).all())


def check_listed_counts(noisy: NDArray[np.int64], event: TableEvent) -> None:
    """Refuse a count that the threshold would have left out."""
    if event.threshold is not None and (noisy < event.threshold).any():
        raise ValueError("lists a cell below the threshold")
