"""The CSV file: UTF-8, LF, RFC 4180 quoting only where it is needed.

A field is quoted if it holds a comma, a quote, CR or LF, or if it is a level that is the empty
text. A missing value is an empty field, unquoted; in a table of one column it is written as two
quotes, because an empty line would be skipped by many readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth.domain.counts import Counts
from synth.release.rows.blocks import RowBlock, grid_values, missing_mask, row_blocks
from synth.release.rows.columns import Column

JOINED_TEXTS = 1 << 12
"""Neighbouring columns of text are written together if there are at most so many combinations."""


def quote_field(text: str) -> str:
    """Write one field so that a reader gets `text` back and does not take it for missing."""
    if text == "" or any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_header(columns: Sequence[Column]) -> bytes:
    """The first line of the file."""
    return (",".join(quote_field(column.name) for column in columns) + "\n").encode()


def csv_chunks(
    counts: Counts, columns: Sequence[Column], *, seed: int
) -> Iterator[bytes | memoryview]:
    """The bytes of the whole file, block by block: a function of counts, columns and seed."""
    yield csv_header(columns)
    fields = _fields(columns)
    for block in row_blocks(counts):
        yield _block_bytes(block, fields, seed)


@dataclass(frozen=True, eq=False)
class _Texts:
    """Neighbouring columns of text: what they write, separators included, for every combination."""

    positions: range
    sizes: tuple[int, ...]
    """The number of texts of each column; the last one stands for a missing value."""
    written: Any

    def of(self, block: RowBlock, seed: int) -> Any:  # noqa: ARG002
        """The written fields of a block as an Arrow array."""
        codes = block.codes[self.positions[0]].astype("int64")
        for position, size in zip(self.positions[1:], self.sizes[1:], strict=True):
            codes = codes * size + block.codes[position]
        return self.written.take(pa.array(codes))


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers."""

    column: Column
    position: int
    missing: str

    def of(self, block: RowBlock, seed: int) -> Any:
        """The written fields of a block as an Arrow array."""
        codes = block.codes[self.position]
        values = grid_values(self.column, block, seed=seed, position=self.position)
        text = _decimal_text(values, self.column.decimals)
        if self.column.attribute.has_missing:
            text = pc.if_else(pa.array(missing_mask(self.column, codes)), self.missing, text)
        return text


def _fields(columns: Sequence[Column]) -> list[_Texts | _Numbers]:
    """The columns, neighbouring ones of text together while they have few combinations."""
    missing = '""' if len(columns) == 1 else ""
    fields: list[_Texts | _Numbers] = []
    start = 0
    while start < len(columns):
        if columns[start].is_numeric:
            fields.append(_Numbers(columns[start], start, missing))
            start += 1
            continue
        texts = [[*map(quote_field, columns[start].texts), missing]]
        for column in columns[start + 1 :]:
            more = len(column.texts) + 1
            is_few = math.prod(map(len, texts)) * more <= JOINED_TEXTS
            if column.is_numeric or not is_few:
                break
            texts.append([*map(quote_field, column.texts), missing])
        written = pa.array([",".join(each) for each in product(*texts)], pa.string())
        sizes = tuple(map(len, texts))
        fields.append(_Texts(range(start, start + len(texts)), sizes, written))
        start += len(texts)
    return fields


def _block_bytes(block: RowBlock, fields: Sequence[_Texts | _Numbers], seed: int) -> memoryview:
    written = [field.of(block, seed) for field in fields]
    written[-1] = pc.binary_join_element_wise(written[-1], "\n", "")
    lines = written[0] if len(written) == 1 else pc.binary_join_element_wise(*written, ",")
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    _, offsets, characters = lines.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(characters)[int(bounds[0]) : int(bounds[-1])]


def _decimal_text(values: NDArray[np.int64], decimals: int) -> Any:
    """Write k / 10**decimals exactly, with that many decimals."""
    if decimals == 0:
        return pa.array(values).cast(pa.string())
    whole, rest = np.divmod(np.abs(values), 10**decimals)
    sign = pa.array(["", "-"], pa.string()).take(pa.array((values < 0).astype(np.int8)))
    digits = pc.utf8_lpad(pa.array(rest).cast(pa.string()), decimals, "0")
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(sign, pa.array(whole).cast(pa.string()), ""), digits, "."
    )
