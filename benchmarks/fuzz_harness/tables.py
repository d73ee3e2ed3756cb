"""Parquet files drawn from bytes: odd types, sizes and encodings, then a few bytes changed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

COMPRESSIONS = ("none", "snappy", "zstd", "gzip")


def drawn_parquet(recipe: bytes) -> bytes:
    """A file with the columns id, age and sex in types that the bytes choose."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    byte = _bytes_of(recipe)
    rows = next(byte) % 40
    columns = {name: _column(byte, rows) for name in ("id", "age", "sex")}
    if next(byte) == 7:
        del columns["age"]
    options: dict[str, Any] = {
        "compression": COMPRESSIONS[next(byte) % 4],
        "use_dictionary": next(byte) % 2 == 0,
        "data_page_version": ("1.0", "2.0")[next(byte) % 2],
        "store_schema": next(byte) % 2 == 0,
        "row_group_size": 1 + next(byte) % 16,
    }
    stream = io.BytesIO()
    try:
        pq.write_table(pa.table(columns), stream, **options)
    except (pa.ArrowException, NotImplementedError):  # a type that no file can hold
        return recipe
    content = bytearray(stream.getvalue())
    for _ in range(next(byte) % 4):
        place = (next(byte) << 8 | next(byte)) % len(content)
        content[-1 - place] = next(byte)
    return bytes(content)


def _bytes_of(recipe: bytes) -> Iterator[int]:
    yield from recipe
    while True:
        yield 0


def _column(byte: Iterator[int], rows: int) -> Any:
    import pyarrow as pa

    whole = [None if byte_ == 255 else byte_ - 100 for byte_ in _some(byte, rows)]
    text = [None if value is None else "x" * (value % 7) + str(value) for value in whole]
    kind = next(byte) % 18
    integers = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64())
    if kind < len(integers):
        return pa.array([None if v is None else v % 100 for v in whole], integers[kind])
    if kind == 6:
        return pa.array([None if v is None else 2**64 - 1 - abs(v) for v in whole], pa.uint64())
    if kind == 7:
        return pa.array(text)
    if kind == 8:
        return pa.array(text).dictionary_encode()
    if kind == 9:
        return pa.array([None if v is None else v > 0 for v in whole])
    if kind == 10:
        return pa.array([None if v is None else v * 10_000_000 for v in whole], pa.date32())
    if kind == 11:
        return pa.array([None if v is None else v for v in whole], pa.decimal128(38, 30))
    if kind == 12:
        return pa.array([None if v is None else v * 10**16 for v in whole], pa.timestamp("ns"))
    if kind == 13:
        return pa.array([None if v is None else [v] * (v % 3) for v in whole], pa.list_(pa.int64()))
    if kind == 14:
        return pa.array([None if v is None else {"a": v} for v in whole])
    if kind == 15:
        return pa.nulls(rows)
    if kind == 16:
        return pa.array([None if t is None else t.encode() + b"\xff" for t in text], pa.binary())
    return pa.array(text, pa.large_string())


def _some(byte: Iterator[int], rows: int) -> list[int]:
    return [next(byte) for _ in range(rows)]
