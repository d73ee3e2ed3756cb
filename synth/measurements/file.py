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
    digest.update(json.dumps(head, sort_keys=True, separators=(",", ":")).encode())
    for table in measurements.tables:
        digest.update(np.ascontiguousarray(table.noisy_counts, dtype="<i8").data)
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
    metadata), `cell` (mixed-radix number, C order) and `noisy_count` (records), sorted.
    Raises: FileExistsError if measurements exist already; OSError when writing fails.
    """
    import pyarrow.parquet as pq

    schema = _schema(measurements)

    def write(stream: BinaryIO) -> None:
        with pq.ParquetWriter(
            stream,
            schema,
            compression="zstd",
            use_dictionary=False,
            column_encoding={
                "table": "DELTA_BINARY_PACKED",
                "cell": "DELTA_BINARY_PACKED",
                "noisy_count": "DELTA_BINARY_PACKED",
            },
        ) as writer:
            for number, table in enumerate(measurements.tables):
                for start in range(0, table.event.cells, ROWS_PER_GROUP):
                    writer.write_batch(_block(schema, number, table, start))

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
    return pa.schema(
        [
            pa.field("table", pa.int16(), nullable=False),
            pa.field("cell", pa.int64(), nullable=False),
            pa.field("noisy_count", pa.int64(), nullable=False),
        ],
        metadata={METADATA_KEY: json.dumps(metadata, sort_keys=True, ensure_ascii=False).encode()},
    )


def _block(schema: pa.Schema, number: int, table: MeasuredTable, start: int) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    counts = table.noisy_counts[start : start + ROWS_PER_GROUP]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(len(counts), number, dtype=np.int16)),
            pa.array(np.arange(start, start + len(counts), dtype=np.int64)),
            pa.array(counts),
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
            expected_rows = sum(event.cells for event in events)
            if file.metadata.num_rows != expected_rows:
                raise ValueError(f"holds {file.metadata.num_rows} rows instead of {expected_rows}")
            content = file.read()
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise ValueError(f"is not a file of measurements ({type(error).__name__})") from None
    numbers = np.repeat(np.arange(len(events)), [event.cells for event in events])
    cells = np.concatenate([np.arange(event.cells) for event in events])
    if content.column("noisy_count").null_count or not (
        np.array_equal(content.column("table").to_numpy(), numbers)
        and np.array_equal(content.column("cell").to_numpy(), cells)
    ):
        raise ValueError("does not list every cell of every table once, in order")
    noisy = np.asarray(content.column("noisy_count").to_numpy(), dtype=np.int64)
    ends = np.cumsum([event.cells for event in events])[:-1]
    tables = tuple(
        MeasuredTable(event, counts, noise_variance(event))
        for event, counts in zip(events, np.split(noisy, ends), strict=True)
    )
    return Measurements(head["release_id"], head["configuration_hash"], tables, selections)


def _read_head(schema: pa.Schema) -> dict[str, Any]:
    expected = [("table", "int16"), ("cell", "int64"), ("noisy_count", "int64")]
    if [(field.name, str(field.type)) for field in schema] != expected:
        raise ValueError("does not have the columns table, cell, noisy_count")
    head = {"selections": []} | read_metadata((schema.metadata or {})[METADATA_KEY])
    if head["format_version"] != FORMAT_VERSION:
        raise ValueError(f"has a format version other than {FORMAT_VERSION}")
    if not isinstance(head["release_id"], str) or not isinstance(head["configuration_hash"], str):
        raise ValueError("has no release id or configuration hash")
    if type(head["tables"]) is not list or type(head["selections"]) is not list:
        raise ValueError("has no list of tables or of selections")
    return head


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
