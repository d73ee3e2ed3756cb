"""The CSV file: UTF-8, LF, RFC 4180 quoting only where it is needed.

A field is quoted if it holds a comma, a quote, CR or LF, or if it is a level that is the empty
text. A missing value is an empty field, unquoted; in a table of one column it is written as two
quotes, because an empty line would be skipped by many readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from synth.domain import Universe
from synth.release.columns import Column
from synth.release.rows import RowBlock, RowCounts, grid_values, missing_mask, row_blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def quote_field(text: str) -> str:
    """Write one field so that a reader gets `text` back and does not take it for missing."""
    if text == "" or any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_header(columns: Sequence[Column]) -> bytes:
    """The first line of the file."""
    return (",".join(quote_field(column.name) for column in columns) + "\n").encode()


def csv_chunks(
    counts: RowCounts, universe: Universe, columns: Sequence[Column], *, seed: int
) -> Iterator[bytes | memoryview]:
    """The bytes of the whole file, block by block: a function of counts, columns and seed."""
    yield csv_header(columns)
    for block in row_blocks(counts, universe):
        yield _block_bytes(block, columns, seed)


def _block_bytes(block: RowBlock, columns: Sequence[Column], seed: int) -> memoryview:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = '""' if len(columns) == 1 else ""
    fields = [
        _fields(column, position, block, seed, missing) for position, column in enumerate(columns)
    ]
    fields[-1] = pc.binary_join_element_wise(fields[-1], "\n", "")
    lines = fields[0] if len(fields) == 1 else pc.binary_join_element_wise(*fields, ",")
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    _, offsets, characters = lines.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(characters)[int(bounds[0]) : int(bounds[-1])]


def _fields(column: Column, position: int, block: RowBlock, seed: int, missing: str) -> Any:
    """One column of a block as an Arrow array of written fields."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = block.codes[position]
    if column.published_type == "text":
        written = pa.array([*map(quote_field, column.texts), missing], pa.string())
        return written.take(pa.array(codes))
    values = grid_values(column, codes, seed=seed, position=position, start=block.start)
    text = _decimal_text(values, column.decimals)
    if column.attribute.has_missing:
        text = pc.if_else(pa.array(missing_mask(column, codes)), missing, text)
    return text


def _decimal_text(values: NDArray[np.int64], decimals: int) -> Any:
    """Write k / 10**decimals exactly, with that many decimals."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if decimals == 0:
        return pa.array(values).cast(pa.string())
    whole, rest = np.divmod(np.abs(values), 10**decimals)
    sign = pa.array(["", "-"], pa.string()).take(pa.array((values < 0).astype(np.int8)))
    digits = pc.utf8_lpad(pa.array(rest).cast(pa.string()), decimals, "0")
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(sign, pa.array(whole).cast(pa.string()), ""), digits, "."
    )
