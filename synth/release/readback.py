"""Reading published rows back into counts: every value is checked against the domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from synth.domain import Universe
from synth.domain.cell_words import cell_words, code_type, goes_back, new_cells, word_axes
from synth.domain.sparse_counts import SparseCounts
from synth.release.columns import Column
from synth.release.csv_file import csv_header
from synth.release.letter_lines import CodedRows, LetterLines, OtherLayoutError, are_letters
from synth.release.parquet_file import parquet_schema
from synth.release.parquet_pages import ParquetBounds, UnboundedParquetError, require_bounded
from synth.release.rows import BLOCK_ROWS, RowCounts

if TYPE_CHECKING:
    import numpy as np
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

SHOWN_CHARACTERS = 80
BLOCK_BYTES = 1 << 20
NUMBER_BYTES = 40
"""More than a published number takes."""

PAGE_BYTES = 4096
"""The most that the headers and statistics of one column in one row group take."""

FOOTER_BYTES = 1024
"""The most that the footer holds of one column in one row group, beside its name and texts."""


class ReadbackError(ValueError):
    """A published file does not hold rows of the declared universe; says where and why."""


def counts_of_csv(
    file: IO[bytes], universe: Universe, columns: Sequence[Column], *, sparse: bool = False
) -> RowCounts:
    """Count the rows of a CSV file per cell; with `sparse`, only cells with rows are held.

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
    count = _count_sparse if sparse else _count
    if are_letters(columns):
        try:
            return count(LetterLines(columns).read(file), universe, columns)
        except OtherLayoutError:  # a parser tells what is wrong, if anything is
            file.seek(len(header))
    try:
        batches = pacsv.open_csv(
            file,
            read_options=pacsv.ReadOptions(
                column_names=names, block_size=_block_bytes(columns), use_threads=False
            ),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                column_types={column.name: _read_as(column) for column in columns},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=single,
            ),
        )
        return count(_coded(batches, columns, text=True), universe, columns)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return count(iter(()), universe, columns)
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
    sparse: bool = False,
) -> RowCounts:
    """Count the rows of a Parquet file per cell, after a look at its footer.

    With `sparse`, only cells with rows are held.

    Raises: ReadbackError for another schema, number of rows or size than such rows can have,
    and at the first row that does not belong to the universe in cell order.
    """
    import pyarrow as pa

    try:
        batches = open_parquet(file, columns, rows=rows).iter_batches(
            batch_size=BLOCK_ROWS, use_threads=False
        )
        count = _count_sparse if sparse else _count
        return count(_coded(batches, columns, text=False), universe, columns)
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
                    _codes(column, batch.column(position), row, text=text)
                    for position, column in enumerate(columns)
                ),
            )
        row += batch.num_rows


def _count(rows: CodedRows, universe: Universe, columns: Sequence[Column]) -> NDArray[np.int64]:
    import numpy as np

    counts = np.zeros(universe.size, dtype=np.int64)
    row, previous = 0, -1
    for number, codes in rows:
        cells = np.zeros(number, dtype=np.int64)
        for position in range(len(columns)):
            cells += next(codes) * universe.strides[position]
        steps = np.diff(cells, prepend=previous)
        if (steps < 0).any():
            place = row + int(np.argmax(steps < 0)) + 1
            raise ReadbackError(f"row {place} does not follow in the order of the cells")
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        counts[cells[starts]] += np.diff(starts, append=len(cells))
        previous = int(cells[-1])
        row += number
    return counts


def _count_sparse(rows: CodedRows, universe: Universe, columns: Sequence[Column]) -> SparseCounts:
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
    return SparseCounts(tuple(map(np.concatenate, kept)), np.concatenate(numbers))


def _codes(column: Column, values: Any, row: int, *, text: bool) -> NDArray[np.int64]:
    """The codes of one column of a batch whose first row is number `row` (from 0)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    missing_code = column.attribute.bin_count if column.attribute.has_missing else -1
    if column.published_type == "text" and pa.types.is_string(values.type):
        codes: NDArray[np.int64] = _codes_of_letters(column, values)
        if values.null_count:
            codes[np.asarray(values.is_null())] = missing_code
    elif column.published_type == "text":
        known = pc.index_in(values.dictionary, value_set=pa.array(column.texts, pa.string()))
        known = np.append(np.asarray(known.fill_null(-1)).astype(np.int64), missing_code)
        indices = values.indices
        if indices.null_count:
            indices = indices.fill_null(len(known) - 1)
        codes = known.take(np.asarray(indices))
    else:
        grid, valid = _grid(column, values, text=text)
        first = np.array(column.first, dtype=np.int64)
        last = np.array(column.last, dtype=np.int64)
        codes = np.searchsorted(first, grid, side="right").astype(np.int64) - 1
        codes[~valid | (grid > last[codes])] = -1
        codes[np.asarray(values.is_null())] = missing_code
    if (codes < 0).any():
        place = int(np.argmax(codes < 0))
        found = values[place].as_py()
        shown = "a missing value" if found is None else repr(found)
        shown = shown if len(shown) <= SHOWN_CHARACTERS else shown[:SHOWN_CHARACTERS] + "..."
        raise ReadbackError(
            f"row {row + place + 1}, column {column.name!r}: {shown} is not in the declared domain"
        )
    return codes


def _has_letters(column: Column) -> bool:
    """Whether every text of a column is one byte, as codes of surveys often are."""
    return all(len(text.encode()) == 1 for text in column.texts)


def _read_as(column: Column) -> Any:
    """The type that a column of a CSV file is read as: single bytes need no dictionary."""
    import pyarrow as pa

    if column.published_type != "text" or _has_letters(column):
        return pa.string()
    return pa.dictionary(pa.int32(), pa.string())


def _codes_of_letters(column: Column, values: Any) -> NDArray[np.int64]:
    """The codes of texts where every known one is a single byte; -1 for any other text."""
    import numpy as np

    code_of = np.full(256, -1, dtype=np.int64)
    code_of[[ord(text) for text in column.texts]] = np.arange(len(column.texts))
    _, bounds, characters = values.buffers()
    places = np.frombuffer(bounds, dtype=np.int32)[values.offset :][: len(values) + 1]
    letters = np.frombuffer(characters or b"", dtype=np.uint8)
    single = np.diff(places) == 1
    if single.all():
        return code_of[letters[places[0] : places[-1]]]
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[single] = code_of[letters[places[:-1][single]]]
    return codes


def _grid(
    column: Column, values: Any, *, text: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The whole numbers k that numeric values stand for, and which values are well formed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    decimals = column.decimals
    if text:
        fraction = rf"\.[0-9]{{{decimals}}}" if decimals else ""
        valid = pc.match_substring_regex(values, rf"^-?(0|[1-9][0-9]{{0,18}}){fraction}$")
        valid = valid.fill_null(False)
        digits = pc.if_else(valid, pc.replace_substring(values, ".", ""), "0")
        try:
            return np.asarray(digits.cast(pa.int64())), np.asarray(valid)
        except pa.ArrowInvalid:
            raise ReadbackError(f"column {column.name!r}: a number of too many digits") from None
    valid = np.asarray(values.is_valid())
    if column.published_type == "integer":
        return np.asarray(values.fill_null(0)), valid
    reals = np.asarray(values.fill_null(0.0))
    scale = 10.0**decimals
    valid = valid & np.isfinite(reals) & (np.abs(reals) < 1e18 / scale)
    grid = np.rint(np.where(valid, reals, 0.0) * scale).astype(np.int64)
    return grid, valid & (grid / scale == reals)
