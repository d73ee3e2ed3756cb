"""The Parquet file: columns of their published types, nulls for missing values, no metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.domain.counts import Counts
from synth.release.rows.blocks import BLOCK_ROWS, RowBlock, grid_values, missing_mask, row_blocks
from synth.release.rows.columns import Column

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
