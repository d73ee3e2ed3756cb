r"""The records of a CSV file: where one ends is decided here, and by no engine.

Definition. A field begins at the start of a record and after a delimiter. A quote at the start of
a field opens it; in an open field a doubled quote is a quote, and any other quote closes it, after
which the field goes on without quotes. Outside of open fields a delimiter ends the field, and `\n`
or `\r` ends the record. A dialect with an escape character has no doubled quotes: the escape takes
the meaning from the character after it, everywhere. A record without a character is none, so
`\r\n` ends one record. At the end of the file an open field is closed and the last record ended.
This is what Python's `csv` makes of it; `_by_definition` says it as a regular expression.

Privacy: inserting the bytes of one record between two others changes no other record, because what
a byte means depends on its own record alone. A record of more than RECORD_LIMIT_BYTES is left out
for its own length, wherever it lies and however the file is read; its quotes are followed to its
end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv
from pyarrow.csv import InvalidRow

from synth.config import Dialect

RECORD_LIMIT_BYTES = 16 << 20
"""Of UTF-8, without the line end."""

_IN_FIELD = b"\0"
"""Any character that means nothing: after it a field has begun, and it is not open."""


@dataclass(frozen=True)
class Scan:
    """What was found in a text that begins at the start of a field."""

    first: int
    """Where the first record ends, behind its line end; 0 if none does."""
    last: int
    state: bytes
    """A text after which everything means what it means after the scanned one: a few bytes."""


@dataclass(frozen=True)
class RecordSplitter:
    """Splits UTF-8 into whole records, in memory that does not grow with the file."""

    dialect: Dialect
    limit: int = RECORD_LIMIT_BYTES

    @cached_property
    def _quote(self) -> bytes:
        return self.dialect.quote.encode()

    @cached_property
    def _escape(self) -> bytes:
        """Empty if quotes are doubled, or there is none."""
        return b"" if self.dialect.escape == self.dialect.quote else self.dialect.escape.encode()

    def blocks(
        self, chunks: Iterable[bytes], left_out: Callable[[], object] = lambda: None
    ) -> Iterator[bytes]:
        """The records of a text that comes in chunks: blocks of whole ones, each with its line end.

        `left_out` is called for every record that is too long.
        Ensures: they are the same however the text is cut into chunks. A block holds at most
        `limit` bytes more than a chunk.
        """
        kept: list[bytes] = []
        size = 0  # of the record that has begun; what lies in `kept`, unless that is too much
        state = b""
        for piece in chain(self._pieces(chunks), [None]):
            chunk = self._ending(state) if piece is None else piece
            scan = self.scan(state + chunk)
            first, last = scan.first - len(state), scan.last - len(state)
            state = scan.state
            if not scan.last:
                size += len(chunk)
                kept = [*kept, chunk] if size <= self.limit else []
                continue
            is_short = size + first - 1 <= self.limit
            if not is_short:
                left_out()
            yield b"".join([*kept, chunk[:last]]) if is_short else chunk[first:last]
            kept, size = [chunk[last:]], len(chunk) - last

    def first_record(self, text: bytes) -> bytes:
        """The record that the text begins with, and its line end; empty if the text ends before."""
        return text[: self.scan(text).first]

    def completed(self, text: bytes) -> bytes:
        """A text that is a whole file, with its last record ended."""
        return text + self._ending(self.scan(text).state)

    def _pieces(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """No longer than a record may be: one that lies within a piece needs no look."""
        for chunk in chunks:
            for start in range(0, len(chunk), self.limit):
                yield chunk[start : start + self.limit]

    def first_fields(self, count: int) -> re.Pattern[str]:
        """Matches so many fields at the start of a record, each with the delimiter after it."""
        pattern = b"(?:%b%b){%d}" % (self._field, self._delimiter, count)
        return re.compile(pattern.decode(), re.S)

    def scan(self, text: bytes) -> Scan:
        """See `Scan`; `_by_parity` where it holds, else `_by_definition`."""
        if self._escape and self._escape in text:
            return self._by_definition(text)
        return self._by_parity(text) or self._by_definition(text)

    def _by_parity(self, text: bytes) -> Scan | None:
        """The scan of a text without escapes in which quotes stand as writers of CSV set them.

        Number the quotes from 0. If each even one stands at the start of the text, after a
        delimiter or line end or (where quotes are doubled) right after an odd one, then a byte is
        in an open field exactly if the number of quotes before it is odd. By induction over pairs:
        before an even quote no field is open. So a delimiter or line end before it ended a field,
        and it opens the next; right after a quote that closed it makes that one a doubled quote,
        and the field is open again. Up to the next quote, an odd one, the field stays open; that
        one closes it. None if an even quote stands elsewhere.
        """
        read = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(read == ord(self._quote)) if self._quote else np.empty(0, np.intp)
        opening = quotes[::2]
        if not self._opens_after[read[opening[opening > 0] - 1]].all():
            return None
        ends = np.flatnonzero((read == ord("\n")) | (read == ord("\r")))
        if quotes.size:
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        if quotes.size % 2:
            state = self._quote
        elif not self._escape and quotes.size and quotes[-1] == len(text) - 1:
            state = self._quote * 2  # one more would be a doubled quote
        else:
            state = _IN_FIELD if text and text[-1:] not in self._field_ends else b""
        if not ends.size:
            return Scan(0, 0, state)
        return Scan(int(ends[0]) + 1, int(ends[-1]) + 1, state)

    @cached_property
    def _opens_after(self) -> NDArray[np.bool_]:
        """The bytes after which an even quote opens a field, or goes on with an open one."""
        found = np.zeros(256, np.bool_)
        found[list(self._field_ends + (b"" if self._escape else self._quote))] = True
        return found

    @property
    def _field_ends(self) -> bytes:
        return self.dialect.delimiter.encode() + b"\r\n"

    def _by_definition(self, text: bytes) -> Scan:
        """The scan of any text."""
        first = last = begun = 0
        while found := self._some_fields.match(text, begun):
            begun = found.end()
            if text[begun - 1 : begun] in b"\r\n":
                last = begun
                first = first or last
        rest = text[begun:]
        state = next(state for pattern, state in self._states if pattern.fullmatch(rest))
        return Scan(first, last, state)

    @cached_property
    def _some_fields(self) -> re.Pattern[bytes]:
        """Whole fields of one record, each with what ends it.

        Not all of a record: for every turn of a group the `re` module keeps some hundred bytes.
        """
        field, delimiter = self._field, self._delimiter
        pattern = b"(?:%b%b){0,999}%b(?:%b|[\r\n])" % (field, delimiter, field, delimiter)
        return re.compile(pattern, re.S)

    @cached_property
    def _states(self) -> tuple[tuple[re.Pattern[bytes], bytes], ...]:
        """What the last field may look like at the end of a text, and the state that it is in."""
        quote, escape = self._quote, self._escape
        states = [(b"", b"")]
        if quote:
            states += [(self._open, quote)]
            if not escape:
                states += [(self._open + re.escape(quote), quote * 2)]
            else:
                states += [(self._open + re.escape(escape), quote + escape)]
        if escape:
            states += [(self._field + re.escape(escape), escape)]
        states += [(self._field, _IN_FIELD)]
        return tuple((re.compile(pattern, re.S), state) for pattern, state in states)

    def _ending(self, state: bytes) -> bytes:
        """What ends the last record; an escape before the end of the file takes a line end."""
        escaped = b"\n" if self._escape and state.endswith(self._escape) else b""
        is_open = self._quote and state.startswith(self._quote) and state != self._quote * 2
        return escaped + (self._quote if is_open else b"") + b"\n"

    @property
    def _delimiter(self) -> bytes:
        return re.escape(self.dialect.delimiter.encode())

    @property
    def _open(self) -> bytes:
        """A field up to its closing quote. What follows a part is never what it may begin with."""
        quote, escape = re.escape(self._quote), re.escape(self._escape)
        special = escape + b"." if escape else quote * 2
        return b"%b[^%b%b]*+(?:%b[^%b%b]*+)*" % (quote, quote, escape, special, quote, escape)

    @property
    def _field(self) -> bytes:
        """A field up to what ends it."""
        quote, escape, delimiter = re.escape(self._quote), re.escape(self._escape), self._delimiter
        plain = b"[^%b%b\r\n]*+" % (delimiter, escape)
        if escape:
            plain += b"(?:%b.%b)*" % (escape, plain)
        if not quote:
            return plain
        closed = quote if escape else b"%b(?!%b)" % (quote, quote)
        return b"(?:(?!%b)|%b%b)%b" % (quote, self._open, closed, plain)


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
    """How many records had too few fields. Secret; only `not_private.inspection` looks at it."""
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
