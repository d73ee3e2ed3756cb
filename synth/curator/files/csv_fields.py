"""The fields of whole records of CSV, as Arrow arrays of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from synth.config import Dialect
from synth.curator.files.csv_records import RecordSplitter

if TYPE_CHECKING:
    import re

    import pyarrow as pa
    from pyarrow.csv import InvalidRow


@dataclass
class FieldParser:
    """Takes some fields out of every record, by their places.

    Privacy: a record with too few fields is left out, further fields are ignored: each rule
    looks at one record. Records end where `RecordSplitter` says, on which Arrow agrees: a block
    holds whole records, so that it is never cut, and Arrow's rules for quotes are the same.
    How many fields a record has decides no schema: Arrow refuses some millions of columns, so
    that one record would end the run, and takes memory for each.
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
    """How many fields Arrow is asked for first: `width`, or one more where most records have more,
    such as a delimiter at the end. It makes Arrow quick and changes no result."""

    def __post_init__(self) -> None:
        self._usual = self.width

    def table(self, block: bytes) -> pa.Table:
        """One row for every record of the block that has fields enough, in any order.

        Requires: UTF-8 without a byte order mark; the last record ends with its line end.
        """
        import pyarrow as pa

        exact: list[str] = []
        longer: list[str] = []

        def set_aside(row: InvalidRow) -> str:
            if row.actual_columns < self.width:
                self.short += 1
            else:
                (exact if row.actual_columns == self.width else longer).append(row.text)
            return "skip"

        tables = [self._parsed(block, self._usual, set_aside)]
        usual_rows = tables[0].num_rows
        self.long += len(longer) + (usual_rows if self._usual > self.width else 0)
        for width, rows in ((self.width, exact), (self.width + 1, map(self._cut, longer))):
            # Arrow may have taken a last "\r" off that an escape before it made a character.
            text = "".join(f"{row}\r\n" for row in rows).encode()
            if text:
                tables.append(self._parsed(text, width, lambda _: "skip"))
                if tables[-1].num_rows > usual_rows:
                    self._usual = width
        return pa.concat_tables(tables)

    def _cut(self, record: str) -> str:
        """Its first `width` fields and an empty one, so that no record becomes an empty line.

        Requires: the record has more fields.
        """
        found = self._first_fields.match(record)
        return "" if found is None else found[0]

    @cached_property
    def _first_fields(self) -> re.Pattern[str]:
        return RecordSplitter(self.dialect).first_fields(self.width)

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
