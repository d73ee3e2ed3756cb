"""Arrow files (Feather, version 2): batches of records as programs hold them in memory.

Arrow believes such a file: places of texts that lie outside of it would be read from the memory
of this process. So every batch is checked before anything looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.types as kinds

FILE_MAGIC = b"ARROW1"


def arrow_schema(path: Path) -> pa.Schema:
    """The names and types of the columns; no batch is read.

    Raises: pa.ArrowException if this is no Arrow file.
    """
    with _opened(path) as reader:
        return reader.schema


def arrow_batches(path: Path, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """The named columns, at most so many records at a time.

    Ensures: memory holds one batch of the file, as its writer cut it.
    Raises: pa.ArrowException where the file is damaged.
    """
    with _opened(path) as reader:
        for number in range(getattr(reader, "num_record_batches", 0)):
            yield from _pieces(reader.get_batch(number), columns, rows)
        if isinstance(reader, pa.RecordBatchStreamReader):
            for batch in reader:
                yield from _pieces(batch, columns, rows)


def _pieces(batch: pa.RecordBatch, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    chosen = batch.select(list(columns))
    for array in chosen.columns:
        _require_sound(array)
    for start in range(0, chosen.num_rows, rows):
        yield chosen.slice(start, rows)


@contextmanager
def _opened(path: Path) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
    """The file or, where it has no footer, the stream. Not mapped: it may be cut meanwhile."""
    with path.open("rb") as file:
        is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        with reader:
            yield reader


def _require_sound(array: pa.Array) -> None:
    """Every place that the array refers to is there. What a value is does not matter.

    Arrow would also refuse the bytes of a text, a date with hours, and a decimal of more digits
    than are declared.
    """
    if kinds.is_dictionary(array.type):
        words = array.dictionary
        _require_sound(words)
        plain = pa.nulls(len(words), pa.int8())
        array = pa.DictionaryArray.from_arrays(array.indices, plain, safe=False)
    elif kinds.is_string(array.type):
        array = array.view(pa.binary())
    elif kinds.is_large_string(array.type):
        array = array.view(pa.large_binary())
    elif kinds.is_string_view(array.type):
        array = array.view(pa.binary_view())
    is_any_number = kinds.is_date64(array.type) or kinds.is_decimal(array.type)
    array.validate(full=not is_any_number)
