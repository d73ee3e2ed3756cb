"""Made-up sources: small files of awkward records, written from the public domain alone."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.config import Config, Dialect, FileSource, PersonUnit
from synth.config.series import PeriodSelection
from synth.config.source import FILES_IN_WORDS
from synth.config.source_files import CSV, PARQUET, is_gzip
from synth.domain import Attribute
from synth.domain.attribute import format_number
from synth.domain.periods import (
    DAY_SECONDS,
    DIRECTIVES,
    MONTH_NAMES,
    Calendar,
    period_of_day,
    period_start,
)

Record = tuple[str, ...]
"""One text per column of a source."""

AWKWARD = (
    "", " ", "nowhere", "NA", "NULL", "nan", "-inf", "infinity", "1e999", "-1e999", "1e-999", "-0",
    "9" * 400, "0x10", "1_000", " 12 ", "+7", "007", "1,5", "\\", "=1+1", "it's", 'an "Inn"', '"',
    "a comma, a; semicolon\tand a | bar", "two\nlines", "two\r\nlines", "nul\0byte",
    "e\N{COMBINING ACUTE ACCENT} \N{LINE SEPARATOR}\N{GRINNING FACE}", "x" * 5_000,
)  # fmt: skip
"""Values that are in no domain, or are only just."""
AWKWARD_DATES = (
    "0000-01-01", "0001-01-01", "9999-12-31T23:59:59-14:00", "2023-02-29", "infinity", "24:00",
    "2024-02-29 12:00:00.5",
)  # fmt: skip
IN_WORDS = {"Postgres": "PostgreSQL", "Frame": "a table in memory"}
AWKWARD_SHARE = 0.4
LONG_ID = "y" * 1_100
"""Longer than what the bounding of contributions hashes."""


@dataclass(frozen=True)
class MadeUpSource:
    """Where made-up records are written, in the format and the dialect of the configuration."""

    source: FileSource
    columns: tuple[str, ...]
    in_place_of: str
    """The kind of source that files stand in for; empty for files."""
    ordered: frozenset[str] = frozenset()
    """The columns that are read as numbers."""

    @classmethod
    def of(cls, config: Config) -> MadeUpSource:
        """The source of a configuration, without anything that is in it."""
        unit, source = config.privacy.unit, config.source
        beside = [unit.column] if isinstance(unit, PersonUnit) else []
        beside += [] if (selection := config.selection()) is None else [selection.column]
        columns = tuple(dict.fromkeys([*config.universe.names, *beside]))
        ordered = frozenset(each.name for each in config.universe.attributes if each.is_ordered)
        if isinstance(source, FileSource) and source.kind in (CSV, PARQUET):
            return cls(source, columns, "", ordered)
        stand_in = FileSource(Path("made-up.csv"), Dialect(), "keep", "")
        if isinstance(source, FileSource):
            return cls(stand_in, columns, FILES_IN_WORDS[source.kind], ordered)
        kind = type(source).__name__.removesuffix("Source") if source else "an unnamed source"
        return cls(stand_in, columns, IN_WORDS.get(kind, kind), ordered)

    @cached_property
    def format(self) -> str:
        """What kind of file is written."""
        return "Parquet" if self.source.kind == PARQUET else "CSV"

    def holds(self, text: str) -> bool:
        """Whether the format can hold the text as the value of one field."""
        if self.format == "Parquet":
            return True
        dialect = self.source.dialect
        try:
            text.encode(dialect.encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        special = {dialect.delimiter, dialect.escape, '"', "\r", "\n"}
        return bool(dialect.quote) or (
            bool(text) and not any(one in text for one in special if one)
        )

    def write(self, directory: Path, records: Sequence[Record]) -> tuple[FileSource, list[Path]]:
        """The records in two files of the directory, which it then names as its source.

        Which file a record is in depends on its place among `records`.
        """
        ending = ".parquet" if self.format == "Parquet" else ".csv"
        ending += ".gz" if is_gzip(self.source.path) else ""
        files = [directory / f"made-up-{number}{ending}" for number in range(2)]
        for number, path in enumerate(files):
            part = records[number::2]
            if self.format == "Parquet":
                self._write_parquet(path, part, typed=bool(number))
            else:
                self._write_csv(path, part, plain=not number)
        return replace(self.source, path=directory / f"made-up-*{ending}"), files

    def _write_csv(self, path: Path, records: Sequence[Record], *, plain: bool) -> None:
        """With `plain`, only fields that need quotes have them."""
        dialect = self.source.dialect
        quoting: Literal[0, 1, 3] = csv.QUOTE_ALL
        if not dialect.quote:
            quoting = csv.QUOTE_NONE
        elif plain and dialect.quote == dialect.escape:
            quoting = csv.QUOTE_MINIMAL
        text = io.StringIO(newline="")
        writer = csv.writer(
            text,
            delimiter=dialect.delimiter,
            quotechar=dialect.quote or None,
            doublequote=dialect.quote == dialect.escape,
            escapechar=None if dialect.quote == dialect.escape else dialect.escape or None,
            quoting=quoting,
            lineterminator="\r\n" if plain else "\n",
        )
        header = dialect.header or self.columns
        writer.writerows([header] if dialect.header is None else [])
        places = {name: place for place, name in enumerate(self.columns)}
        wanted = [(name, places.get(name)) for name in header]
        for record in records:
            writer.writerow(
                "" if place is None else self._with_mark(name, record[place])
                for name, place in wanted
            )
        content = text.getvalue().encode(dialect.encoding)
        path.write_bytes(gzip.compress(content, 1) if is_gzip(path) else content)

    def _with_mark(self, column: str, text: str) -> str:
        """A number of a column of numbers with the decimal mark of the files; else the text."""
        mark = self.source.dialect.decimal
        if mark == "." or column not in self.ordered:
            return text
        try:
            float(text)
        except ValueError:
            return text
        return text.replace(".", mark)

    def _write_parquet(self, path: Path, records: Sequence[Record], *, typed: bool) -> None:
        """Texts; with `typed`, each of them stored once."""
        table = {}
        for place, column in enumerate(self.columns):
            texts = [record[place] for record in records]
            table[column] = pa.array(texts, pa.string())
        if typed:
            table = {name: values.dictionary_encode() for name, values in table.items()}
        pq.write_table(pa.table(table), path)


@dataclass(frozen=True)
class MadeUpRecords:
    """Random records and units of a configuration's public domain."""

    config: Config
    source: MadeUpSource
    random: Random
    most_records: int
    """More than so many of one person are not written, whatever `max_records` is."""

    def record(self, person: str = "", *, is_dated: bool = False) -> Record:
        """One record: of each attribute a level or bin, or something awkward.

        Where dates select records, `is_dated` means one that they select.
        """
        texts = [self._value(attribute) for attribute in self.config.universe.attributes]
        return self._whole(texts, person, is_dated=is_dated)

    def unit(self, number: int) -> list[Record]:
        """The records of one unit, which no other number has.

        A person has few records or more than are counted, in one cell or in many.
        """
        unit = self.config.privacy.unit
        if not isinstance(unit, PersonUnit):
            return [self.record()]
        most = min(unit.max_records, self.most_records)
        person = self.person(number)
        count = self.random.choice([1, most, most + 1, 2 * most + 3])
        if self.random.random() < 0.4:
            return [self.record(person)] * count
        return [self.record(person) for _ in range(count)]

    def nobodys(self, *, many: bool) -> list[Record]:
        """A unit whose records name nobody: any of them may be those of one person."""
        unit = self.config.privacy.unit
        if not isinstance(unit, PersonUnit):
            return [self.record()]
        most = min(unit.max_records, self.most_records)
        return [self.record("") for _ in range((8 if many else 1) * (2 * most + 3))]

    def whole_unit(self, number: int, *, in_one_cell: bool = False) -> list[Record]:
        """A unit that changes the counts as much as is allowed: all its records are countable."""
        unit = self.config.privacy.unit
        if not isinstance(unit, PersonUnit):
            return [self.record(is_dated=True)]
        person = self.person(number)
        count = min(unit.max_records, self.most_records) + 1
        if in_one_cell:
            return [self.record(person, is_dated=True)] * count
        return [self.record(person, is_dated=True) for _ in range(count)]

    def of_one_cell(self, units: int) -> list[list[Record]]:
        """Units of as many records as count of one, all records of all units in one cell."""
        texts = [self._value(attribute) for attribute in self.config.universe.attributes]
        return self._in_cell(texts, range(units))

    def of_two_cells(self, units: int) -> tuple[list[list[Record]], list[list[Record]]]:
        """Such units in one cell, and two more in another, in other groups of every column."""
        texts = [self._two_texts(attribute) for attribute in self.config.universe.attributes]
        one, other = ([pair[place] for pair in texts] for place in (0, 1))
        return self._in_cell(one, range(units)), self._in_cell(other, range(units, units + 2))

    def _in_cell(self, texts: Sequence[str], numbers: Iterable[int]) -> list[list[Record]]:
        """Units of as many records as count of one, all with these texts."""
        unit = self.config.privacy.unit
        count = min(unit.max_records, self.most_records) if isinstance(unit, PersonUnit) else 1
        persons = map(self.person, numbers)
        return [[self._whole(texts, person, is_dated=True)] * count for person in persons]

    def _two_texts(self, attribute: Attribute) -> tuple[str, str]:
        """Texts of two codes, if there are two that can be written."""
        texts = (text_of(attribute, code) for code in range(attribute.size))
        fit = list(islice((t for t in texts if t is not None and self._fits(t)), 2)) or ["0"]
        return fit[0], fit[-1]

    def person(self, number: int) -> str:
        """An id that no other number has; ids differ by case, blanks, or after many characters."""
        ways: tuple[Callable[[int], str], ...] = (
            "p{}".format, "P{}".format, " p{}".format, "p{} ".format, (LONG_ID + "{}").format,
            "p-\N{LATIN SMALL LETTER E WITH ACUTE}{}".format, "{}".format,
        )  # fmt: skip
        text = ways[number % len(ways)](number // len(ways))
        return text if self.source.holds(text) else f"other-{number}"

    def _value(self, attribute: Attribute) -> str:
        if self.random.random() < AWKWARD_SHARE:
            texts = [text for text in awkward_texts(attribute, self.random) if self._fits(text)]
            if texts:
                return self.random.choice(texts)
        for _ in range(20):
            text = text_of(attribute, self.random.randrange(attribute.size))
            if text is not None and self._fits(text):
                return text
        return "0"

    def _fits(self, text: str) -> bool:
        return self.source.holds(text)

    def _whole(self, texts: Sequence[str], person: str, *, is_dated: bool) -> Record:
        """The record with these values of the attributes, whose it is, and when it was."""
        unit, selection = self.config.privacy.unit, self.config.selection()
        row = dict(zip(self.config.universe.names, texts, strict=True))
        if isinstance(unit, PersonUnit):
            row[unit.column] = person
        if selection is not None and (is_dated or selection.column not in row):
            row[selection.column] = self._date(is_dated=is_dated)
        return tuple(row[column] for column in self.source.columns)

    def _date(self, *, is_dated: bool) -> str:
        """A day of the periods that count; else perhaps one of another period, or none at all."""
        days, others = self._days
        if is_dated or self.random.random() < 0.5:
            return self.random.choice(days)
        awkward = [text for text in (*AWKWARD, *AWKWARD_DATES) if self._fits(text)]
        return self.random.choice(awkward if self.random.random() < 0.3 else others)

    @cached_property
    def _days(self) -> tuple[list[str], list[str]]:
        """The days of the periods that count, and of those beside them."""
        selection = self.config.selection()
        if selection is None:
            return [], []
        first, last = selection.weights[0][0], selection.weights[-1][0]
        beside = replace(selection, weights=((first - 1, 1), (last + 1, 1)))
        return days_of(selection), days_of(beside)


def text_of(attribute: Attribute, code: int) -> str | None:
    """A text that counts for this code by the public rules; None if none is known."""
    if code == attribute.missing_code:
        return attribute.missing[0]
    if not attribute.is_ordered:
        return attribute.level_texts[code][0]
    if attribute.calendar is not None:
        return moment_text(int(attribute.edges[code]), attribute.calendar)
    low, high = attribute.edges[code], attribute.edges[code + 1]
    if attribute.kind == "integer":
        first, last = attribute.integer_bounds(code)
        texts = [str(value) for value in range(first, min(last, first + 9) + 1)]
    else:
        texts = [repr(float(low + (high - low) * part / 8)) for part in (4, 3, 5, 2)]
    return next((text for text in texts if text not in attribute.missing), None)


def awkward_texts(attribute: Attribute, random: Random) -> list[str]:
    """Missing tokens, edges and what lies just beside them, levels written otherwise, and worse."""
    texts = [*AWKWARD, *attribute.missing]
    if attribute.calendar is not None:
        calendar, last = attribute.calendar, int(attribute.edges[-1])
        for number in (int(attribute.edges[0]), last, *map(int, random.sample(attribute.edges, 1))):
            text = moment_text(number, calendar)
            texts += [
                text,
                f"{text[:10]}T23:59:60+14:00",
                f" {text}",
                f"{text}Z",
                text.replace("-", "/"),
            ]
        return [*texts, *AWKWARD_DATES]
    if attribute.is_ordered:
        edges = random.sample(attribute.edges, min(4, len(attribute.edges)))
        for edge in (attribute.edges[0], attribute.edges[-1], *edges):
            texts += [format_number(edge), repr(float(edge) - 1e-9), repr(float(edge) + 1e-9)]
            texts += [format_number(edge - 1), format_number(edge + 1), f"{float(edge):e}"]
        return texts
    levels = [text for texts in attribute.level_texts for text in texts]
    for level in random.sample(levels, min(4, len(levels))):
        texts += [level.upper(), level.lower(), f"{level} ", f" {level}", level[:-1]]
    return texts


def moment_text(number: int, calendar: Calendar) -> str:
    """The beginning of a period as the source writes it."""
    start = datetime(1, 1, 1) + timedelta(seconds=period_start(number, calendar.resolution))
    if not calendar.format:
        return start.isoformat() if calendar.resolution == "hour" else start.date().isoformat()
    zone = ZoneInfo(calendar.time_zone)
    words = {
        "year": f"{start.year:04}",
        "short year": f"{start.year % 100:02}",
        "month name": MONTH_NAMES[start.month - 1],
        "fraction": "0",
        "zone": start.replace(tzinfo=zone).strftime("%z")[:5],
    }
    text = calendar.format
    for directive, field in DIRECTIVES.items():
        text = text.replace(directive, words.get(field) or f"{getattr(start, field, 0):02}")
    return text


def days_of(selection: PeriodSelection) -> list[str]:
    """All days of the periods that count, as the source writes them."""
    calendar, days = replace(selection.calendar, resolution="day"), []
    for number, _ in selection.weights:
        start, end = (period_start(n, selection.resolution) for n in (number, number + 1))
        held = range(start // DAY_SECONDS, end // DAY_SECONDS)
        days += [moment_text(day, calendar) for day in held]
    return days


def codes_of_periods(attribute: Attribute, selection: PeriodSelection | None) -> NDArray[np.bool_]:
    """The codes whose periods begin in one that counts; all, if it is not known of any."""
    every = np.ones(attribute.size, dtype=bool)
    calendar = attribute.calendar
    if selection is None or calendar is None or attribute.name != selection.column:
        return every
    numbers = {number for number, _ in selection.weights}
    days = [
        period_start(int(edge), calendar.resolution) // DAY_SECONDS
        for edge in attribute.edges[: attribute.bin_count]
    ]
    inside = [period_of_day(day, selection.resolution) in numbers for day in days]
    return np.array([*inside, *[False] * attribute.has_missing]) if any(inside) else every
