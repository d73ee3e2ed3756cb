"""`measurements.parquet`: the noisy tables as a file that anybody can load.

Tables are written and read in blocks: beside the counts themselves little memory is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.errors import OutputError
from synth.measurements.durable import create_durably
from synth.measurements.measurements import (
    Continual,
    MeasuredLook,
    MeasuredNode,
    MeasuredTable,
    Measurements,
    plan_from_plain,
)
from synth.measurements.sparse_table import (
    check_listed_counts,
    code_arrays,
    code_columns,
    code_fields,
    read_codes,
    row_counts,
)
from synth.noise import keeps_its_delta, noise_variance
from synth.privacy import LookEvent, SelectionEvent, TableEvent
from synth.strict_json import JsonError, canonical_json, parse_json

NARROW_ABOVE_CELLS = 1 << 24
"""Longer columns are held in the narrowest signed type; shorter ones in int64."""
FORMAT_VERSION = 2
LOOK_VERSION = 3
"""That of a file with a look in its metadata; without one it is as it was before there were."""
CONTINUAL_VERSION = 4
"""That of a file of nodes, of which the tables of the release are put together."""
METADATA_KEY = b"synth"
ROWS_PER_GROUP = 1 << 20
MOST_TABLES = 1 << 15
MOST_STORED = 1 << 22
"""Tables of all nodes together."""
MOST_METADATA_BYTES = 1 << 26
"""No longer metadata are read: more than the tables of the longest list need."""
MOST_DIGITS = 4000
"""Of a number of cells: more than any universe has."""


class CountColumn:
    """The noisy counts of one table while they are read, block by block."""

    def __init__(self, cells: int) -> None:
        """Room for this many counts; those that are not put are 0."""
        self.values: NDArray[Any] = np.zeros(
            cells, dtype=np.int8 if cells > NARROW_ABOVE_CELLS else np.int64
        )

    def put(self, start: int, counts: NDArray[Any]) -> None:
        """Put counts from place `start` on; the column is widened if they do not fit."""
        if not len(counts):
            return
        for kind in (np.int8, np.int16, np.int32, np.int64):
            limits = np.iinfo(kind)
            if limits.min <= counts.min() and counts.max() <= limits.max:
                break
        wide = np.promote_types(kind, self.values.dtype)
        if wide != self.values.dtype:
            self.values = self.values.astype(wide)
        self.values[start : start + len(counts)] = counts


def fits_int32(counts: NDArray[Any]) -> bool:
    """Whether every count fits into 32 bits."""
    if counts.dtype.itemsize <= 4 or not len(counts):
        return True
    limits = np.iinfo(np.int32)
    return bool(counts.min() >= limits.min and counts.max() <= limits.max)


def write_measurements(path: Path, measurements: Measurements) -> None:
    """Create the file in one durable step (mode 0600).

    Shapes: one row per cell of each table with columns `table` (number of the table in the
    metadata), `cell` (mixed-radix number, C order) and `noisy_count` (records; int32, or int64 if
    one of all tables does not fit), sorted. Encoded as differences and compressed, a count takes
    three to four bits at epsilon 1, the other columns next to nothing. A table
    with a threshold has one row per listed cell; `cell` is its place in the list, and a column
    `code:...` per attribute, null for other tables, says which cell of the universe it is.
    Of a series that is added up, every table of every node so far is written, those of one node
    after those of the one before; `table` counts them through, and is int32.
    Raises: FileExistsError if measurements exist already; OSError when writing fails.
    """
    create_durably(path, lambda stream: write_tables(stream, measurements))


def write_tables(stream: BinaryIO, measurements: Measurements) -> None:
    """The bytes of that file: the same for the same measurements and version of pyarrow."""
    schema = _schema(measurements)
    with pq.ParquetWriter(
        stream,
        schema,
        compression="zstd",
        use_dictionary=code_columns(_events(measurements)),
        column_encoding={
            "table": "DELTA_BINARY_PACKED",
            "cell": "DELTA_BINARY_PACKED",
            "noisy_count": "DELTA_BINARY_PACKED",
        },
    ) as writer:
        events = _events(measurements)
        for number, table in enumerate(measurements.stored):
            for start in range(0, len(table.noisy_counts), ROWS_PER_GROUP):
                writer.write_batch(
                    _block(table, events, schema, number, start), row_group_size=ROWS_PER_GROUP
                )


def _events(measurements: Measurements) -> tuple[TableEvent, ...]:
    return tuple(table.event for table in measurements.stored)


def _schema(measurements: Measurements) -> pa.Schema:
    version = FORMAT_VERSION if measurements.look is None else LOOK_VERSION
    if measurements.continual is not None:
        version = CONTINUAL_VERSION
    metadata = {"format_version": version} | measurements.head("tables")
    return pa.schema(
        [
            pa.field(
                "table", pa.int16() if version < CONTINUAL_VERSION else pa.int32(), nullable=False
            ),
            pa.field("cell", pa.int64(), nullable=False),
            pa.field("noisy_count", _stored_type(measurements), nullable=False),
            *code_fields(_events(measurements)),
        ],
        metadata={METADATA_KEY: json.dumps(metadata, sort_keys=True, ensure_ascii=False).encode()},
    )


def _stored_type(measurements: Measurements) -> pa.DataType:
    """The narrower of two types that holds every noisy count."""
    narrow = all(fits_int32(table.noisy_counts) for table in measurements.stored)
    return pa.int32() if narrow else pa.int64()


def _block(
    table: MeasuredTable, events: Sequence[TableEvent], schema: pa.Schema, number: int, start: int
) -> pa.RecordBatch:
    counts = table.noisy_counts[start : start + ROWS_PER_GROUP]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(len(counts), number)).cast(schema.field("table").type),
            pa.array(np.arange(start, start + len(counts), dtype=np.int64)),
            pa.array(counts).cast(schema.field("noisy_count").type),
            *code_arrays(events, table, start, start + len(counts)),
        ],
        schema=schema,
    )


def read_measurements(path: Path | BinaryIO, universe: Universe) -> Measurements:
    """Read the noisy tables back; what the file says is not trusted.

    What its pages unpack to is not looked at here: a verifier does so before.

    Raises: ValueError with a sentence that says what is wrong; OSError if unreadable.
    """
    try:
        with pq.ParquetFile(path) as file:
            head = _read_head(file.schema_arrow)
            charged = [TableEvent.from_plain(plain) for plain in head["tables"]]
            selections = tuple(map(SelectionEvent.from_plain, head["selections"]))
            look = _read_look(head["look"]) if "look" in head else None
            _check_events(charged, universe)
            added, events = None, charged
            if "continual" in head:
                added, index = plan_from_plain(head["continual"], tuple(charged))
                places = added.places(index)
                if len(places) * len(charged) > MOST_STORED:
                    raise ValueError("holds more tables than are read")
                events = [*added.node_events] * len(places)
            _check_code_columns(events, file.schema_arrow)
            rows = row_counts(events, head["listed"])
            expected_rows = sum(rows)
            if file.metadata.num_rows != expected_rows:
                raise ValueError(f"holds {file.metadata.num_rows} rows instead of {expected_rows}")
            counts, codes = _read_counts(file, rows, code_columns(events))
            is_wide = pa.types.is_int64(file.schema_arrow.field("noisy_count").type)
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise ValueError(f"is not a file of measurements ({type(error).__name__})") from None
    tables = []
    start = 0
    for event, noisy in zip(events, counts, strict=True):
        listed = None
        if event.threshold is not None:
            check_listed_counts(noisy, event)
            listed = read_codes(codes, event, universe, start=start, count=len(noisy))
        tables.append(MeasuredTable(event, noisy, noise_variance(event), listed))
        start += len(noisy)
    if is_wide and all(map(fits_int32, counts)):
        raise ValueError("has noisy counts in a wider type than they need")
    release_id, answered = head["release_id"], head["configuration_hash"]
    if added is None:
        return Measurements(release_id, answered, tuple(tables), selections, look)
    each = len(charged)
    nodes = tuple(
        MeasuredNode(at, node, tuple(tables[number * each : (number + 1) * each]))
        for number, (at, node) in enumerate(places)
    )
    return Measurements.of_nodes(release_id, answered, Continual(added, index, nodes))


def keep_look(path: Path, measurements: Measurements) -> None:
    """Create a file (mode 0600) of a look that no table was measured after yet, in one step.

    A run that is stopped while it plans or measures takes this look up again: a second one would
    not be paid for, if what became of the run told something of the first.
    Raises: FileExistsError if there is one already; OSError when writing fails.
    """
    text = canonical_json(measurements.head("tables"))
    create_durably(path, lambda stream: stream.write(text.encode()))


def kept_look(
    path: Path, release_id: str, configuration_hash: str, asked: LookEvent | None
) -> MeasuredLook | None:
    """The look that an earlier start of this run kept, or None if none came so far.

    `asked` is the look that is planned.

    Raises: OutputError if the file was changed, or is not of this release and configuration.
    """
    if not path.exists():
        return None
    try:
        head = _read_object(path.read_bytes())
        look = _read_look(head["look"])
    except (KeyError, TypeError, ValueError):
        head, look = {}, None
    if (
        look is None
        or look.event != asked
        or head != Measurements(release_id, configuration_hash, (), (), look).head("tables")
    ):
        raise OutputError(
            f"the look that {release_id} took was changed, or is of another configuration",
            why="a second look would not be paid for",
            fix="restore the run directory beside the ledger from a backup; without one the "
            "charge is lost, and only a new release.id can be measured",
        )
    return look


def _read_look(plain: Any) -> MeasuredLook:
    """The look in the metadata, in its one written form."""
    if type(plain) is not dict or type(plain["noisy_counts"]) is not list:
        raise ValueError("has a look without noisy counts")
    event = LookEvent.from_plain({k: v for k, v in plain.items() if k != "noisy_counts"})
    counts = plain["noisy_counts"]
    if len(counts) != event.counts or any(
        type(count) is not int or count.bit_length() > 63 for count in counts
    ):
        raise ValueError("has a look whose noisy counts are not as many whole numbers")
    return MeasuredLook(event, tuple(counts), noise_variance(event.as_table))


def _read_counts(
    file: pq.ParquetFile, rows: Sequence[int], names: Sequence[str]
) -> tuple[list[NDArray[Any]], list[pa.ChunkedArray]]:
    """The counts of every table, and the columns of codes.

    Raises: ValueError unless the rows list every cell of every table once, in order.
    """
    counts = [CountColumn(number) for number in rows]
    codes: list[list[pa.Array]] = [[] for _ in names]
    places = _places(rows)
    number, start = next(places, (0, 0))
    for batch in _blocks(file):
        done = 0
        if batch.column("noisy_count").null_count:
            raise ValueError("has a row without a noisy count")
        table, cell, noisy = (np.asarray(batch.column(i)) for i in range(3))
        while done < batch.num_rows:
            if start == rows[number]:
                number, start = next(places)
            size = min(batch.num_rows - done, rows[number] - start)
            here = slice(done, done + size)
            if (table[here] != number).any() or (
                cell[here] != np.arange(start, start + size)
            ).any():
                raise ValueError("does not list every cell of every table once, in order")
            counts[number].put(start, noisy[here])
            start, done = start + size, done + size
        for column, name in zip(codes, names, strict=True):
            column.append(batch.column(name))
    return [each.values for each in counts], [pa.chunked_array(c, pa.int32()) for c in codes]


def _blocks(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """All rows, as a verifier reads them on trial: of one row group after another.

    Not of all row groups at once: such a reader holds what it has unpacked of those before.
    """
    for number in range(file.num_row_groups):
        yield from file.iter_batches(ROWS_PER_GROUP, [number], use_threads=False)


def _places(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first row of every table that has one."""
    yield from ((number, 0) for number, count in enumerate(rows) if count)


def _read_head(schema: pa.Schema) -> dict[str, Any]:
    found = [(field.name, str(field.type)) for field in schema][:3]
    head = {"selections": [], "listed": []} | _read_object((schema.metadata or {})[METADATA_KEY])
    fixed = [("table", "int32" if "continual" in head else "int16"), ("cell", "int64")]
    if found not in ([*fixed, ("noisy_count", kind)] for kind in ("int32", "int64")):
        raise ValueError("does not have the columns table, cell, noisy_count")
    version = LOOK_VERSION if "look" in head else FORMAT_VERSION
    if "continual" in head:
        version = CONTINUAL_VERSION
        if "look" in head or head["selections"] or head["listed"]:
            raise ValueError("adds up tables that were chosen or listed")
    if head["format_version"] != version:
        raise ValueError(f"has a format version other than {version}, that of what it holds")
    if not isinstance(head["release_id"], str) or not isinstance(head["configuration_hash"], str):
        raise ValueError("has no release id or configuration hash")
    if type(head["tables"]) is not list or type(head["selections"]) is not list:
        raise ValueError("has no list of tables or of selections")
    return head


def _read_object(content: bytes) -> dict[str, Any]:
    if len(content) > MOST_METADATA_BYTES:
        raise ValueError("has metadata that are too long")
    try:
        value = parse_json(content, most_digits=MOST_DIGITS, only_whole=True)
    except JsonError as error:
        raise ValueError(f"has metadata that are no JSON of one meaning: {error}") from None
    if type(value) is not dict:
        raise ValueError("has metadata that are not an object")
    return value


def _check_code_columns(events: list[TableEvent], schema: pa.Schema) -> None:
    found = [(field.name, field.type) for field in schema][3:]
    if found != [(field.name, field.type) for field in code_fields(events)]:
        raise ValueError("has other columns than those of its tables")


def _check_events(events: list[TableEvent], universe: Universe) -> None:
    if not 0 < len(events) <= MOST_TABLES:
        raise ValueError("lists no table, or too many")
    for event in events:
        if not keeps_its_delta(event):
            raise ValueError("has an event with a threshold too low for its delta")
        if [name for name in universe.names if name in event.table] != list(event.table):
            raise ValueError("has a table whose attributes are not in the universe, in its order")
        depths = [universe.attribute(name).depth for name in event.table]
        if any(step >= depth for step, depth in zip(event.coarsening, depths, strict=True)):
            raise ValueError("has a table at a resolution that the universe does not have")
        if event.cells != Margin(event.table, event.coarsening).cells(universe):
            raise ValueError("has a table whose number of cells does not fit the universe")
