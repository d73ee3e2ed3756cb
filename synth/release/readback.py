"""Reading published rows back into counts: every value is checked against the domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from synth.domain import Universe
from synth.domain.cell_words import cell_words, code_type, goes_back, new_cells, word_axes
from synth.domain.counts import Counts
from synth.release.column_codes import ReadbackError, column_codes, read_as
from synth.release.columns import Column
from synth.release.csv_file import csv_header
from synth.release.parquet_file import parquet_schema
from synth.release.parquet_pages import ParquetBounds, UnboundedParquetError, require_bounded
from synth.release.rows import BLOCK_ROWS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

CodedRows: TypeAlias = "Iterator[tuple[int, Iterator[NDArray[np.int64]]]]"
"""Consecutive rows: how many, and the codes of column after column, to be taken in order."""

BLOCK_BYTES = 1 << 20
NUMBER_BYTES = 40
"""More than a published number takes."""

PAGE_BYTES = 4096
"""The most that the headers and statistics of one column in one row group take."""

FOOTER_BYTES = 1024
"""The most that the footer holds of one column in one row group, beside its name and texts."""


def counts_of_csv(file: IO[bytes], universe: Universe, columns: Sequence[Column]) -> Counts:
    """Count the rows of a CSV file per cell.

    Raises: ReadbackError at the first place that is no row of the universe in cell order.
    """
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header = csv_header(columns)
    found = file.read(len(header))
    if found != header:
        raise ReadbackError(f"the header is {found!r}, expected {header!r}")
    names = [column.name for column in columns]
    single = len(columns) == 1
    try:
        batches = pacsv.open_csv(
            file,
            read_options=pacsv.ReadOptions(
                column_names=names, block_size=_block_bytes(columns), use_threads=False
            ),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                column_types={column.name: read_as(column) for column in columns},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=single,
            ),
        )
        return _count(_coded(batches, columns, text=True), universe, columns)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return _count(iter(()), universe, columns)
        raise ReadbackError(f"not readable as CSV with {len(columns)} columns: {error}") from None


def _block_bytes(columns: Sequence[Column]) -> int:
    """So much of a CSV file is taken at a time: small, because Arrow reads 32 blocks ahead.

    A line of the declared columns fits; of a column of numbers every field is short.
    """
    line = sum(
        3 + max((2 * len(text.encode()) for text in column.texts), default=0) + NUMBER_BYTES
        for column in columns
    )
    return max(BLOCK_BYTES, line)


def counts_of_parquet(
    file: IO[bytes],
    universe: Universe,
    columns: Sequence[Column],
    *,
    rows: int,
) -> Counts:
    """Count the rows of a Parquet file per cell, after a look at its footer.

    Raises: ReadbackError for another schema, number of rows or size than such rows can have,
    and at the first row that does not belong to the universe in cell order.
    """
    import pyarrow as pa

    try:
        batches = open_parquet(file, columns, rows=rows).iter_batches(
            batch_size=BLOCK_ROWS, use_threads=False
        )
        return _count(_coded(batches, columns, text=False), universe, columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadbackError(f"not readable as Parquet: {error}") from None


def open_parquet(file: IO[bytes], columns: Sequence[Column], *, rows: int) -> pq.ParquetFile:
    """A Parquet file of strangers with the declared columns, texts read as dictionaries.

    Raises: ReadbackError for another schema, number of rows or size than such rows can have.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        require_bounded(file, parquet_bounds(columns, rows=rows))
        schema = pq.ParquetFile(file).schema_arrow
        if schema.metadata or not schema.equals(parquet_schema(columns)):
            raise ReadbackError("the schema is not that of the declared columns")
        texts = [column.name for column in columns if column.published_type == "text"]
        return pq.ParquetFile(file, read_dictionary=texts)
    except (UnboundedParquetError, pa.ArrowException, OSError) as error:
        raise ReadbackError(f"not readable as Parquet: {error}") from None


def parquet_bounds(columns: Sequence[Column], *, rows: int) -> ParquetBounds:
    """What a file of so many rows can hold; nothing in the file has a say in it."""
    widest = [max([8, *(len(text.encode()) for text in column.texts)]) for column in columns]
    groups = -(-rows // BLOCK_ROWS)
    names = sum(len(column.name.encode()) for column in columns)
    # every row group holds all levels, whether or not a row has them
    levels = sum(len(text.encode()) + 4 for column in columns for text in column.texts)
    statistics = sum(FOOTER_BYTES + 4 * width for width in widest) + names
    return ParquetBounds(
        least_rows=rows,
        most_rows=rows,
        columns=len(columns),
        groups=groups,
        rows_per_group=BLOCK_ROWS,
        bytes_per_row=sum(width + 16 for width in widest),
        bytes_per_group=len(columns) * PAGE_BYTES + levels,
        footer_bytes=(1 << 20) + (1 + groups) * statistics,
    )


def _coded(batches: Iterator[Any], columns: Sequence[Column], *, text: bool) -> CodedRows:
    """The codes of batches of values."""
    row = 0
    for batch in batches:
        if batch.num_rows:
            yield (
                batch.num_rows,
                (
                    column_codes(column, batch.column(position), row, text=text)
                    for position, column in enumerate(columns)
                ),
            )
        row += batch.num_rows


def _count(rows: CodedRows, universe: Universe, columns: Sequence[Column]) -> Counts:
    import numpy as np

    kind = code_type(universe.shape)
    kept: list[list[NDArray[Any]]] = [[np.zeros(0, dtype=kind)] for _ in columns]
    numbers: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    before = [np.full(1, -1, dtype=np.int64) for _ in word_axes(universe.shape)]
    row = 0
    for number, found in rows:
        codes = list(found)
        words = cell_words(codes, universe.shape)
        joined = [np.concatenate(pair) for pair in zip(before, words, strict=True)]
        new = new_cells(joined)[1:]
        backwards = goes_back(joined)
        if backwards.any():
            place = row + int(np.argmax(backwards)) + 1
            raise ReadbackError(f"row {place} does not follow in the order of the cells")
        starts = np.flatnonzero(new)
        first = int(starts[0]) if len(starts) else len(new)
        numbers[-1][-1:] += first
        for column, code in zip(kept, codes, strict=True):
            column.append(code[starts].astype(kind))
        if len(starts):
            numbers.append(np.diff(starts, append=len(new)))
        before = [word[-1:] for word in words]
        row += number
    return Counts(tuple(map(np.concatenate, kept)), np.concatenate(numbers))
