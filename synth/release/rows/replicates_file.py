"""`replicates.parquet`: a line for every cell with rows, in the release or in a replicate.

`previous.parquet` has the same form, for the counts of the release before alone.

First the columns of the table, then the counts. A column of bins shows the interval where the data
files do, else the number in the middle of the bin, which stands for all of it.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.config import Config
from synth.config.release import count_columns
from synth.domain.counts import Counts
from synth.estimate import Replicates
from synth.release.rows.blocks import BLOCK_ROWS, RowBlock
from synth.release.rows.columns import Column, published_columns
from synth.release.rows.parquet_file import COMPRESSION, column_array, stored_schema


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
