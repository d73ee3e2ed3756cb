"""Random CSV files: any dialect and encoding, fields of any size, and records as bad as they come.

A row is the bytes of one whole record with its line end, which Python's `csv` writes or junk makes;
what Python's `csv` reads in it, between line ends of other records, is the record that it is.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from random_sources.file_source import PERSON, FileSource, Part

RECORD_LIMIT_BYTES = 16 << 20
"""A longer one is left out, as docs/configuration.md says."""
JUNK = ('"', '""', "'", ",", ";", "\\", "\n", "\r", "\r\n", "a", "bc", " ", "^", "]", "\0", "ü",
        "\ufeff", "\u2028", "\x85", "\x0c", "\udc80", "\udcff", "\udcc3", "\U000f0041",
        "𝄞")  # fmt: skip
ENCODINGS = ("utf-8", "utf-8", "utf-8", "latin-1", "windows-1252", "iso-8859-5", "iso-8859-15")
END = "Z"
"""A record that no other one is joined to."""

csv.field_size_limit(1 << 30)


class Row(NamedTuple):
    """The bytes of a record, and its fields; none if they are no record."""

    raw: bytes
    fields: tuple[str, ...]


class CsvSource(FileSource[Row]):
    """CSV files, plain or gzipped."""

    def __init__(self, chance: Random, *, largest_field: int) -> None:
        """The dialect."""
        super().__init__(chance, largest_field=largest_field)
        self._delimiter = chance.choice((",", ",", ";", "\t", "|", "^", " ", "-"))
        self._quote = chance.choice(('"', '"', '"', "'", "]", ""))
        escape = chance.choice((None, None, "\\", "\\", '"', "!"))
        self._escape = None if escape == self._quote else escape
        self._encoding = chance.choice(ENCODINGS)
        self._end = chance.choice(("\n", "\r\n", "\r", "mixed"))
        self._dialect: dict[str, Any] = {
            "delimiter": self._delimiter,
            "quotechar": self._quote or None,
            "doublequote": self._escape is None,
            "escapechar": self._escape,
            "quoting": csv.QUOTE_MINIMAL if self._quote else csv.QUOTE_NONE,
        }
        self._is_gzip = chance.random() < 0.35
        self._suffix = chance.choice((".csv", ".csv", ".tsv", ".txt")) + ".gz" * self._is_gzip
        self._cuts = sorted(chance.random() for _ in range(chance.choice((0, 1, 3))))
        self._without_last_end = chance.random() < 0.3
        self._starts: list[bytes] = []
        self._damage = ""

    @property
    def place(self) -> Mapping[str, Any]:
        """The section `source`."""
        escape = {} if self._escape is None else {"escape": self._escape}
        name = "part-*" if len(self.parts) > 1 else "part-0"
        return {
            "path": name + self._suffix,
            "delimiter": self._delimiter,
            "quote": self._quote,
            "encoding": self._encoding,
            **escape,
        }

    def make(self) -> None:
        """The files, each with its own order of columns."""
        chance = self.chance
        for _ in range(chance.choice((1, 1, 2, 4))):
            columns = [
                *self.needed,
                *chance.sample(("note", "other", "third"), chance.randint(0, 3)),
            ]
            chance.shuffle(columns)
            self.parts.append(Part(columns))
            self._starts.append(b"")
        self.made_of += [f"csv{' gz' * self._is_gzip} in {self._encoding}", repr(self._dialect)]
        self._spoil()
        for number, part in enumerate(self.parts):
            end = self._line_end()
            quoting = {"quoting": csv.QUOTE_ALL} if self._quote and chance.random() < 0.3 else {}
            header = self._by_writer(part.columns, end, **quoting)
            if self._starts[number] != b"none":
                self._starts[number] += header.encode()
            else:
                self._starts[number] = b""
        for _ in range(chance.randint(0, 40)):
            part = chance.choice(self.parts)
            part.rows.append(self.row(part, None))

    def _spoil(self) -> None:
        """Now and then something that concerns a whole file, and that refuses it."""
        chance = self.chance
        number = chance.randrange(len(self.parts))
        columns = self.parts[number].columns
        what = chance.choice(("",) * 16 + ("missing", "twice", "empty", "damage", "damage", "mark"))
        if chance.random() < 0.4 and self._encoding == "utf-8":
            self._starts = ["\ufeff".encode()] * len(self.parts)
        if what == "missing":
            columns.remove(chance.choice(self.needed))
        elif what == "twice":
            columns.append(chance.choice(self.needed))
        elif what == "empty":
            self._starts[number] = b"none"
            self.parts[number].rows = []
        elif what == "damage" and self._is_gzip:
            self._damage = chance.choice(("cut", "checksum", "appended"))
        elif what == "mark" and self._encoding != "utf-8":
            self._starts[number] = "\ufeff".encode()
            self.is_refused = columns[0] in self.needed
        self.is_refused |= what in ("missing", "twice", "empty") or bool(self._damage)
        self.made_of.append(self._damage or what)

    def row(self, part: Part[Row], person: str | None) -> Row:
        """Mostly what a writer writes; else one whole record by the definition, of any junk."""
        for _ in range(1_000):
            text = self._some_record(part, person)
            found = None if text is None else self._as_row(text)
            if found is None:
                continue
            values = self.values(part, found)
            if (
                person is None
                or values is None
                or values.get(PERSON) in (None, self._readable(person))
            ):
                return found
        raise RuntimeError("no whole record was made")

    def _as_row(self, text: str) -> Row | None:
        """The row, if it is one record or none, and joins no other."""
        raw = self._encoded(text)
        text = raw.decode(self._encoding, "surrogateescape")
        if len(text.removesuffix("\n").removesuffix("\r").encode(errors="surrogatepass")) > (
            RECORD_LIMIT_BYTES
        ):
            return Row(raw, ())  # only writers make such ones
        reader = csv.reader(io.StringIO(f"{text}{END}\n", newline=""), **self._dialect)
        records = [tuple(record) for record in reader if record]
        if records[-1:] != [(END,)] or len(records) > 2:
            return None
        return Row(raw, records[0] if len(records) == 2 else ())

    def _some_record(self, part: Part[Row], person: str | None) -> str | None:
        chance = self.chance
        texts = [
            person if name == PERSON and person is not None
            else self.text(name) if name in self.needed else self._junk(12)
            for name in part.columns
        ]  # fmt: skip
        if self.largest_field > 1 << 16 and chance.random() < 0.15:
            return self._large(part, texts, person)
        end = self._line_end()
        if chance.random() < 0.55:
            style = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
            quoting = {"quoting": style} if self._quote else {}
            width = chance.choice((0, 0, 0, 0, -1, 1))
            texts = texts[:width] if width < 0 else texts + ["more"] * width
            return self._by_writer(texts, end, **quoting)
        if chance.random() < 0.1:
            return chance.choice(("", "\r", "\n\n")) + end
        keeps = PERSON if person is not None else ""
        fields = [
            text if name == keeps or chance.random() < 0.5 else self._junk(6)
            for name, text in zip(part.columns, texts, strict=True)
        ]
        fields = fields[: chance.choice((None, None, None, 1, -1))]
        fields += [self._junk(6) for _ in range(chance.choice((0, 0, 0, 1, 4)))]
        return self._delimiter.join(fields) + end

    def _large(self, part: Part[Row], texts: list[str], person: str | None) -> str | None:
        """A record with a large field, quotes and line ends all over it; or one near the limit."""
        chance = self.chance
        places = [n for n, name in enumerate(part.columns) if person is None or name != PERSON]
        place, at_limit = chance.choice(places), chance.random() < 0.3
        size = int(2 ** chance.uniform(16, math.log2(self.largest_field)))
        size = RECORD_LIMIT_BYTES // 3 if at_limit else size
        block = "".join(
            each for each in (chance.choice(JUNK) for _ in range(40)) if each[0] < "\udc00"
        )
        block = self._encoded(block + "x").decode(self._encoding)
        if not self._quote and self._escape is None:
            block = block.translate({ord(each): "x" for each in f"\r\n{self._delimiter}"})
        texts[place] = block * (size // len(block.encode()) + 1)
        text = self._by_writer(texts, "\n")
        if text is not None and at_limit:
            text = self._encoded(text).decode(self._encoding, "surrogateescape")
            missing = RECORD_LIMIT_BYTES - len(text.encode(errors="surrogatepass")) + 1
            missing += chance.choice((-1, 0, 1))
            if missing > 0:
                texts[place] += "x" * missing
                text = self._by_writer(texts, "\n")
        return text

    def _by_writer(self, texts: list[str], end: str, **quoting: Any) -> str | None:
        """None where the dialect has no way of writing it."""
        out = io.StringIO(newline="")
        try:
            # with another line end, it would write "\r" as it stands
            csv.writer(out, **{**self._dialect, **quoting}, lineterminator="\r\n").writerow(texts)
        except csv.Error:
            return None
        return out.getvalue().removesuffix("\r\n") + end

    def _junk(self, most: int) -> str:
        own = (self._quote, self._quote * 2, self._delimiter, self._escape or "")
        parts = [self.chance.choice((*JUNK, *own)) for _ in range(self.chance.randint(0, most))]
        return "".join(parts)

    def _line_end(self) -> str:
        return self.chance.choice(("\n", "\r\n", "\r")) if self._end == "mixed" else self._end

    def _encoded(self, text: str) -> bytes:
        """Characters that the encoding does not have become question marks, other bytes stay."""
        try:
            return text.encode(self._encoding, "surrogateescape")
        except UnicodeEncodeError:
            return b"".join(self._one(character) for character in text)

    def _one(self, character: str) -> bytes:
        try:
            return character.encode(self._encoding, "surrogateescape")
        except UnicodeEncodeError:
            return b"?"

    def _readable(self, text: str) -> str:
        return self._encoded(text).decode(self._encoding, "surrogateescape")

    def values(self, part: Part[Row], row: Row) -> Mapping[str, str] | None:
        """None for an empty line, and for a record that is too short or too long."""
        if len(row.fields) < len(part.columns) or not row.fields:
            return None
        return dict(zip(part.columns, row.fields, strict=False))

    def write(self, directory: Path) -> None:
        """The files, with the line end of the last record or without."""
        for number, (part, start) in enumerate(zip(self.parts, self._starts, strict=True)):
            rows = b"".join(row.raw for row in part.rows)
            content = start + rows if start else b""
            if self._without_last_end and rows:
                content = content[:-1]
            if self._is_gzip:
                cuts = [0, *(int(cut * len(content)) for cut in self._cuts), len(content)]
                members = pairwise(cuts)
                content = b"".join(gzip.compress(content[a:b], 1, mtime=0) for a, b in members)
            (directory / f"part-{number}{self._suffix}").write_bytes(self._damaged(content))

    def _damaged(self, content: bytes) -> bytes:
        if self._damage == "cut":
            return content[:-3]
        if self._damage == "checksum":
            return content[:-8] + bytes(byte ^ 0x55 for byte in content[-8:-4]) + content[-4:]
        return content + b"no member" if self._damage == "appended" else content
