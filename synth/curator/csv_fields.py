"""The fields of whole records of CSV, as Arrow arrays of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from synth.config.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.csv import InvalidRow


@dataclass
class FieldParser:
    """Takes some fields out of every record, by their places.

    Privacy: a record with too few fields is left out, further fields are ignored: each rule
    looks at one record. Records end where `RecordSplitter` says, on which Arrow agrees: a block
    holds whole records, so that it is never cut, and Arrow's rules for quotes are the same.
    """

    dialect: Dialect
    width: int
    """How many fields a record has at least."""
    places: tuple[int, ...]
    short: int = field(default=0, init=False)
    """How many records had too few fields. Secret; only `curator.inspection` looks at it."""
    long: int = field(default=0, init=False)
    """How many had more fields than columns. Secret, likewise."""
    _usual: int = field(init=False)
    """How many fields most records had of late: Arrow is quick for these. It changes no result."""

    def __post_init__(self) -> None:
        self._usual = self.width

    def table(self, block: bytes) -> pa.Table:
        """One row for every record of the block that has fields enough, in any order.

        Requires: UTF-8 without a byte order mark; the last record ends with its line end.
        """
        import pyarrow as pa

        others: dict[int, list[str]] = {}

        def set_aside(row: InvalidRow) -> str:
            if row.actual_columns < self.width:
                self.short += 1
            else:
                others.setdefault(row.actual_columns, []).append(row.text)
            return "skip"

        tables = [self._parsed(block, self._usual, set_aside)]
        self.long += tables[0].num_rows if self._usual > self.width else 0
        for width, rows in others.items():
            if len(rows) > tables[0].num_rows:
                self._usual = width
            self.long += len(rows) if width > self.width else 0
            # Arrow may have taken a last "\r" off that an escape before it made a character.
            text = "".join(f"{row}\r\n" for row in rows)
            tables.append(self._parsed(text.encode(), width, lambda _: "skip"))
        return pa.concat_tables(tables)

    def _parsed(self, block: bytes, width: int, handle: Callable[[InvalidRow], str]) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        names = [f"c{place}" for place in range(width)]
        needed = [names[place] for place in self.places]
        dialect = self.dialect
        is_doubled = dialect.escape == dialect.quote
        text = b"\n" + block  # Arrow would take a first character U+FEFF for a byte order mark
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(text), column_names=names
            ),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                double_quote=is_doubled,
                escape_char=False if is_doubled else dialect.escape,
                newlines_in_values=True,
                invalid_row_handler=handle,
            ),
            convert_options=csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(needed, pa.large_string()),
                include_columns=needed,
            ),
        )
