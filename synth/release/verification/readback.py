"""Reading published rows back into counts: every value is checked against the domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Universe
from synth.domain.counts import Counts, cell_words, code_type, goes_back, new_cells, word_axes
from synth.release.contents import CSV
from synth.release.rows.blocks import BLOCK_ROWS
from synth.release.rows.columns import Column, published_columns
from synth.release.rows.csv_file import csv_header
from synth.release.rows.parquet_files import parquet_schema, stored_values
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.trial_reading import Limits, TrialError, blocks, require_readable

CodedRows: TypeAlias = Iterator[tuple[int, Iterator[NDArray[np.int64]]]]
"""Consecutive rows: how many, and the codes of column after column, to be taken in order."""

BLOCK_BYTES = 1 << 20
NUMBER_BYTES = 40
"""More than a published number takes."""

SHOWN_CHARACTERS = 80


class ReadbackError(ValueError):
    """A published file does not hold rows of the declared universe; says where and why."""


def counts_of_csv(file: IO[bytes], universe: Universe, columns: Sequence[Column]) -> Counts:
    """Count the rows of a CSV file per cell.

    Raises: ReadbackError at the first place that is no row of the universe in cell order.
    """
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
    line = sum(3 + 2 * column.longest_text_bytes + NUMBER_BYTES for column in columns)
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
    try:
        batches = blocks(open_parquet(file, columns, rows=rows), BLOCK_ROWS)
        return _count(_coded(batches, columns, text=False), universe, columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReadbackError(f"not readable as Parquet: {error}") from None


def open_parquet(file: IO[bytes], columns: Sequence[Column], *, rows: int) -> pq.ParquetFile:
    """A Parquet file of strangers with the declared columns, texts read as dictionaries.

    Raises: ReadbackError for another schema, number of rows or size than such rows can have.
    """
    try:
        widest = sum(column.longest_text_bytes for column in columns)
        texts = tuple(column.name for column in columns if column.published_type == "text")
        require_readable(file, Limits(rows, rows, BLOCK_ROWS, len(columns), widest, texts))
        schema = pq.ParquetFile(file).schema_arrow
        if schema.metadata or not schema.equals(parquet_schema(columns)):
            raise ReadbackError("the schema is not that of the declared columns")
        return pq.ParquetFile(file, read_dictionary=texts)
    except (TrialError, pa.ArrowException, OSError) as error:
        raise ReadbackError(f"not readable as Parquet: {error}") from None


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


def published_counts(
    folder: Folder, name: str, config: Config, *, rows: int
) -> tuple[Counts | None, list[str]]:
    """The counts of a data file as published, or the finding that it holds no such rows."""
    columns = published_columns(config.universe, config.output.bins)
    try:
        with folder.open(name) as file:
            if name == CSV:
                return counts_of_csv(file, config.universe, columns), []
            return counts_of_parquet(file, config.universe, columns, rows=rows), []
    except ReadbackError as error:
        return None, [f"{name}: {error}"]
    except FolderError as error:
        return None, [str(error)]


def column_codes(column: Column, values: Any, row: int, *, text: bool) -> NDArray[np.int64]:
    """The codes of one column of a batch whose first row is number `row` (from 0)."""
    missing_code = column.attribute.bin_count if column.attribute.has_missing else -1
    if not column.is_numeric and pa.types.is_string(values.type):
        codes: NDArray[np.int64] = _codes_of_letters(column, values)
        if values.null_count:
            codes[np.asarray(values.is_null())] = missing_code
    elif pa.types.is_dictionary(values.type):
        known = pc.index_in(values.dictionary, value_set=pa.array(column.texts, pa.string()))
        known = np.append(np.asarray(known.fill_null(-1)).astype(np.int64), missing_code)
        indices = values.indices
        if indices.null_count:
            indices = indices.fill_null(len(known) - 1)
        codes = known.take(np.asarray(indices))
    elif not column.is_numeric:
        known = pc.index_in(values, value_set=stored_values(column)).fill_null(-1)
        codes = np.asarray(known).astype(np.int64)
        codes[np.asarray(values.is_null())] = missing_code
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


def read_as(column: Column) -> Any:
    """The type that a column of a CSV file is read as: single bytes need no dictionary."""
    if column.is_numeric or _has_letters(column):
        return pa.string()
    return pa.dictionary(pa.int32(), pa.string())


def _codes_of_letters(column: Column, values: Any) -> NDArray[np.int64]:
    """The codes of texts where every known one is a single byte; -1 for any other text."""
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
