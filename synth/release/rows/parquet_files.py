"""The Parquet files: of the rows, and of counts by cell.

Rows: columns of their published types, nulls for missing values, no metadata.

`replicates.parquet`: a line for every cell with rows, in the release or in a replicate; first the
columns of the table, then the counts. A column of bins shows the interval where the data files do,
else the number in the middle of the bin, which stands for all of it. `previous.parquet` has the
same form, for the counts of the release before alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.config import Config
from synth.config.release import count_columns
from synth.domain.counts import Counts
from synth.estimate import Replicates
from synth.release.rows.blocks import BLOCK_ROWS, RowBlock, grid_values, missing_mask, row_blocks
from synth.release.rows.columns import Column, published_columns

COMPRESSION = "zstd"

TYPES = {
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("ms"),
    "integer": pa.int64(),
    "number": pa.float64(),
}


def parquet_schema(columns: Sequence[Column]) -> Any:
    """The schema that a reader finds: see `TYPES`; nullable if missing is declared."""
    return pa.schema(
        [
            pa.field(column.name, TYPES[column.published_type], column.attribute.has_missing)
            for column in columns
        ]
    )


def stored_values(column: Column) -> Any:
    """What the file holds for each of the texts of a column, in their order."""
    texts = pa.array(column.texts, pa.string())
    return texts.cast(TYPES[column.published_type])


def write_parquet(
    file: IO[bytes],
    counts: Counts,
    columns: Sequence[Column],
    *,
    seed: int,
) -> None:
    """Stream all rows into `file`, one row group per block."""
    # Without the Arrow schema in the file, the dictionaries are read back as plain text.
    with pq.ParquetWriter(
        file, stored_schema(columns), compression=COMPRESSION, store_schema=False
    ) as writer:
        for batch in expected_blocks(counts, columns, seed=seed):
            writer.write_batch(batch, row_group_size=BLOCK_ROWS)


def expected_blocks(counts: Counts, columns: Sequence[Column], *, seed: int) -> Iterator[Any]:
    """The rows of the file as Arrow record batches: a function of counts, columns and seed."""
    schema = stored_schema(columns)
    for block in row_blocks(counts):
        arrays = [
            column_array(column, position, block, seed) for position, column in enumerate(columns)
        ]
        yield pa.record_batch(arrays, schema=schema)


def stored_schema(columns: Sequence[Column]) -> Any:
    """The schema that the file is written with: texts as dictionaries."""
    fields = []
    for field, column in zip(parquet_schema(columns), columns, strict=True):
        stored = field.type
        if column.published_type == "text":
            stored = pa.dictionary(pa.int32(), pa.string())
        fields.append(pa.field(field.name, stored, field.nullable))
    return pa.schema(fields)


def column_array(column: Column, position: int, block: RowBlock, seed: int) -> Any:
    """The values of one column of a block, as Arrow holds them."""
    codes = block.codes[position]
    missing = missing_mask(column, codes) if column.attribute.has_missing else None
    if column.published_type == "text":
        indices = pa.array(codes.astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(indices, stored_values(column))
    if not column.is_numeric:
        return stored_values(column).take(pa.array(codes.astype(np.int32), mask=missing))
    values = grid_values(column, block, seed=seed, position=position)
    if column.published_type == "number":
        # Both operands are exact doubles, so the quotient is the double nearest to the decimal.
        return pa.array(values / 10.0**column.decimals, mask=missing)
    return pa.array(values, mask=missing)


def cell_columns(config: Config) -> tuple[Column, ...]:
    """The columns of the table as the file shows them."""
    bins = config.output.bins
    return published_columns(config.universe, "interval" if bins == "interval" else "midpoint")


def write_counts(file: IO[bytes], counts: Counts, config: Config) -> None:
    """Write a line for every cell with records, and how many there are."""
    write_replicates(file, Replicates(counts.columns, counts.values, (), 1.0), config)


def write_replicates(file: IO[bytes], replicates: Replicates, config: Config) -> None:
    """Stream all lines into `file`, one row group per block of cells."""
    columns = cell_columns(config)
    counts = [replicates.published, *replicates.counts]
    fields = [*stored_schema(columns)]
    fields += [pa.field(name, pa.int64(), False) for name in count_columns(len(counts) - 1)]
    schema = pa.schema(fields)
    with pq.ParquetWriter(file, schema, compression=COMPRESSION, store_schema=False) as writer:
        for start in range(0, replicates.published.size, BLOCK_ROWS):
            here = slice(start, start + BLOCK_ROWS)
            codes = [codes[here] for codes in replicates.columns]
            block = RowBlock(codes, np.zeros(codes[0].size, dtype=np.int64))
            arrays: list[Any] = [
                column_array(column, position, block, 0) for position, column in enumerate(columns)
            ]
            arrays += [pa.array(each[here].astype(np.int64)) for each in counts]
            writer.write_batch(pa.record_batch(arrays, schema=schema), row_group_size=BLOCK_ROWS)
