"""`measurements.parquet`: the noisy tables as a file that anybody can load."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from synth.domain import Margin, Universe
from synth.measurements.durable import create_durably
from synth.measurements.event import (
    event_from_plain,
    event_to_plain,
    noise_variance,
    selection_from_plain,
    selection_to_plain,
)
from synth.measurements.measurements import MeasuredTable, Measurements
from synth.measurements.metadata import read_metadata
from synth.measurements.sparse_table import (
    check_listed_counts,
    code_arrays,
    code_columns,
    code_fields,
    listed_counts,
    read_codes,
    row_counts,
)
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_VERSION = 1
METADATA_KEY = b"synth"
ROWS_PER_GROUP = 1 << 20
MOST_TABLES = 1 << 15


def content_hash(measurements: Measurements) -> str:
    """SHA-256 over everything the measurements say, independent of the file format."""
    import numpy as np

    digest = hashlib.sha256()
    head: dict[str, Any] = {
        "release_id": measurements.release_id,
        "configuration_hash": measurements.configuration_hash,
        "events": [event_to_plain(table.event) for table in measurements.tables],
    }
    if measurements.selections:
        head["selections"] = [selection_to_plain(event) for event in measurements.selections]
    if listed := listed_counts(measurements.tables):
        head["listed"] = listed
    digest.update(json.dumps(head, sort_keys=True, separators=(",", ":")).encode())
    for table in measurements.tables:
        digest.update(np.ascontiguousarray(table.noisy_counts, dtype="<i8").data)
        if table.codes is not None:
            digest.update(np.ascontiguousarray(table.codes, dtype="<i8").data)
    return digest.hexdigest()


def public_seed(measurements: Measurements, purpose: str) -> int:
    """A 128-bit seed for a random choice in post-processing, reproducible by anybody.

    Privacy: a function of the noisy measurements alone, so whatever is drawn from it is
    post-processing.
    """
    digest = hashlib.sha256(f"synth/{purpose}/{content_hash(measurements)}".encode())
    return int.from_bytes(digest.digest()[:16], "big")


def write_measurements(path: Path, measurements: Measurements) -> None:
    """Create the file in one durable step (mode 0600).

    Shapes: one row per cell of each table with columns `table` (number of the table in the
    metadata), `cell` (mixed-radix number, C order) and `noisy_count` (records), sorted. A table
    with a threshold has one row per listed cell; `cell` is its place in the list, and a column
    `code:...` per attribute, null for other tables, says which cell of the universe it is.
    Raises: FileExistsError if measurements exist already; OSError when writing fails.
    """
    import pyarrow.parquet as pq

    schema = _schema(measurements)

    def write(stream: BinaryIO) -> None:
        with pq.ParquetWriter(
            stream,
            schema,
            compression="zstd",
            use_dictionary=code_columns([table.event for table in measurements.tables]),
            column_encoding={
                "table": "DELTA_BINARY_PACKED",
                "cell": "DELTA_BINARY_PACKED",
                "noisy_count": "DELTA_BINARY_PACKED",
            },
        ) as writer:
            for number, table in enumerate(measurements.tables):
                for start in range(0, len(table.noisy_counts), ROWS_PER_GROUP):
                    writer.write_batch(_block(measurements, schema, number, start))

    create_durably(path, write)


def _schema(measurements: Measurements) -> pa.Schema:
    import pyarrow as pa

    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "release_id": measurements.release_id,
        "configuration_hash": measurements.configuration_hash,
        "tables": [event_to_plain(table.event) for table in measurements.tables],
    }
    if measurements.selections:
        metadata["selections"] = [selection_to_plain(event) for event in measurements.selections]
    if listed := listed_counts(measurements.tables):
        metadata["listed"] = listed
    return pa.schema(
        [
            pa.field("table", pa.int16(), nullable=False),
            pa.field("cell", pa.int64(), nullable=False),
            pa.field("noisy_count", pa.int64(), nullable=False),
            *code_fields([table.event for table in measurements.tables]),
        ],
        metadata={METADATA_KEY: json.dumps(metadata, sort_keys=True, ensure_ascii=False).encode()},
    )


def _block(
    measurements: Measurements, schema: pa.Schema, number: int, start: int
) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    table, events = measurements.tables[number], [each.event for each in measurements.tables]
    counts = table.noisy_counts[start : start + ROWS_PER_GROUP]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(len(counts), number, dtype=np.int16)),
            pa.array(np.arange(start, start + len(counts), dtype=np.int64)),
            pa.array(counts),
            *code_arrays(events, table, start, start + len(counts)),
        ],
        schema=schema,
    )


def read_measurements(path: Path, universe: Universe) -> Measurements:
    """Read the noisy tables back; the file is not trusted.

    Raises: ValueError with a sentence that says what is wrong; OSError if unreadable.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            head = _read_head(file.schema_arrow)
            events = [event_from_plain(plain) for plain in head["tables"]]
            selections = tuple(map(selection_from_plain, head["selections"]))
            _check_events(events, universe)
            _check_code_columns(events, file.schema_arrow)
            rows = row_counts(events, head["listed"])
            expected_rows = sum(rows)
            if file.metadata.num_rows != expected_rows:
                raise ValueError(f"holds {file.metadata.num_rows} rows instead of {expected_rows}")
            content = file.read()
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise ValueError(f"is not a file of measurements ({type(error).__name__})") from None
    numbers = np.repeat(np.arange(len(events)), rows)
    cells = np.concatenate([np.arange(count) for count in rows])
    if content.column("noisy_count").null_count or not (
        np.array_equal(content.column("table").to_numpy(), numbers)
        and np.array_equal(content.column("cell").to_numpy(), cells)
    ):
        raise ValueError("does not list every cell of every table once, in order")
    noisy = np.asarray(content.column("noisy_count").to_numpy(), dtype=np.int64)
    tables = []
    start = 0
    for event, count in zip(events, rows, strict=True):
        counts, codes = noisy[start : start + count], None
        if event.threshold is not None:
            check_listed_counts(counts, event)
            columns = [content.column(name) for name in code_columns(events)]
            codes = read_codes(columns, event, universe, start=start, count=count)
        tables.append(MeasuredTable(event, counts, noise_variance(event), codes))
        start += count
    return Measurements(head["release_id"], head["configuration_hash"], tuple(tables), selections)


def _read_head(schema: pa.Schema) -> dict[str, Any]:
    expected = [("table", "int16"), ("cell", "int64"), ("noisy_count", "int64")]
    if [(field.name, str(field.type)) for field in schema][:3] != expected:
        raise ValueError("does not have the columns table, cell, noisy_count")
    head = {"selections": [], "listed": []} | read_metadata((schema.metadata or {})[METADATA_KEY])
    if head["format_version"] != FORMAT_VERSION:
        raise ValueError(f"has a format version other than {FORMAT_VERSION}")
    if not isinstance(head["release_id"], str) or not isinstance(head["configuration_hash"], str):
        raise ValueError("has no release id or configuration hash")
    if type(head["tables"]) is not list or type(head["selections"]) is not list:
        raise ValueError("has no list of tables or of selections")
    return head


def _check_code_columns(events: list[TableEvent], schema: pa.Schema) -> None:
    found = [(field.name, field.type) for field in schema][3:]
    if found != [(field.name, field.type) for field in code_fields(events)]:
        raise ValueError("has other columns than those of its tables")


def _check_events(events: list[TableEvent], universe: Universe) -> None:
    if not 0 < len(events) <= MOST_TABLES:
        raise ValueError("lists no table, or too many")
    for event in events:
        if [name for name in universe.names if name in event.table] != list(event.table):
            raise ValueError("has a table whose attributes are not in the universe, in its order")
        depths = [universe.attribute(name).depth for name in event.table]
        if any(step >= depth for step, depth in zip(event.coarsening, depths, strict=True)):
            raise ValueError("has a table at a resolution that the universe does not have")
        if event.cells != Margin(event.table, event.coarsening).cells(universe):
            raise ValueError("has a table whose number of cells does not fit the universe")
