"""Workbooks (.xlsx): one sheet, whose first row names the columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

import pyarrow as pa

from synth.curator.files.readable_texts import text_of, texts
from synth.curator.files.text_tables import TextTable
from synth.errors import SourceError

BATCH_ROWS = 1 << 13
COMPOUND_FILE = b"\xd0\xcf\x11\xe0"
"""How a workbook with a password begins, and one of the format before .xlsx."""

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DATA, _ROW, _VALUE, _INLINE, _STRING = (
    f"{_SHEET}{name}" for name in ("sheetData", "row", "v", "is", "si")
)
_TEXTS = (f"{_SHEET}t", f"{_SHEET}r/{_SHEET}t")
"""The parts of a text: its own, and those of its runs of letters of one kind."""

Row = Mapping[int, Any]
"""The values of the cells that hold any, by the number of the column, counted from 0."""


@dataclass
class Workbook(TextTable):
    """One file; see `text_tables.TextTable`.

    Privacy: a value is what its cell holds, formulas what was last computed of them; what cannot
    be read as its cell declares, such as a date that there is not, is the text that stands there.
    A row without any value is none, as an empty line of a CSV file is. What stands behind the
    rows, such as links, is not looked at.
    """

    path: Path
    sheet: str | None
    """Its name, else its number counted from 1; None: the only one."""
    states_its_columns: bool = True
    left_out: int = 0

    def names(self) -> list[str]:
        """The texts of the first row, up to the last that is filled."""
        with self._rows() as rows:
            return _names(next(rows, {}))

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """See `TextTable.batches`."""
        with self._rows() as rows:
            names = _names(next(rows, {}))
            places = [names.index(column) for column in columns]
            filled = filter(None, rows)
            while read := list(islice(filled, BATCH_ROWS)):
                yield [texts(_day(row.get(place)) for row in read) for place in places]

    @contextmanager
    def _rows(self) -> Iterator[Iterator[Row]]:
        with self.path.open("rb") as file:
            if file.read(len(COMPOUND_FILE)) == COMPOUND_FILE:
                raise SourceError(
                    "a workbook of the source has a password, or is of the older format .xls",
                    fix="save it as .xlsx without a password, where only this user may read it",
                )
            file.seek(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of styles and the like
                book = _opened(file)
            with book.archive:
                yield book.rows(self._chosen(book.sheets))

    def _chosen(self, sheets: Sequence[tuple[str, str]]) -> str:
        """Where the sheet is. Names of sheets are the keeper's, and stand in no message."""
        if self.sheet is None and len(sheets) == 1:
            return sheets[0][1]
        for title, place in sheets:
            if title == self.sheet:
                return place
        wanted = self.sheet or ""
        number = int(wanted) if re.fullmatch("[0-9]{1,4}", wanted) else 0
        if 1 <= number <= len(sheets):
            return sheets[number - 1][1]
        if self.sheet is None:
            raise SourceError(
                f"a workbook of the source has {len(sheets)} sheets",
                why="which of them is the table cannot be told",
                fix="write `sheet` in source: its name, or its number counted from 1",
            )
        raise SourceError(
            "a workbook of the source has no such sheet as source.sheet says",
            fix="write its name as the workbook has it, or its number counted from 1",
        )


class _Strings:
    """The texts that cells refer to by their numbers, read as far as they are asked for."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._known: list[str] = []
        self._others = texts

    def __getitem__(self, number: int) -> str:
        self._known += islice(self._others, max(0, number + 1 - len(self._known)))
        return self._known[number]


@dataclass(frozen=True)
class _Book:
    """What `openpyxl` finds out of a workbook before its cells are looked at.

    Its own reader of cells stops at one that it cannot convert, and so do those of what stands
    behind them; it looks at all rows of a sheet that does not state its size.
    """

    archive: ZipFile
    sheets: Sequence[tuple[str, str]]
    """The title of each, and where in the archive it is."""
    strings: _Strings
    epoch: datetime
    """The day that is number 0."""
    dates: Set[int]
    """Styles of numbers that are dates or times."""
    durations: Set[int]

    def rows(self, place: str) -> Iterator[Row]:
        """The rows that are written of a sheet, the first one even if it is not."""
        with self.archive.open(place) as content:
            data, is_first = None, True
            for event, element in iterparse(content, ("start", "end")):  # noqa: S314 - bounded
                if element.tag == _DATA:
                    if event == "end":
                        return
                    data = element
                elif element.tag == _ROW and event == "end" and data is not None:
                    if is_first and element.get("r", "1") != "1":
                        yield {}
                    is_first = False
                    yield self._row(element)
                    data.clear()

    def _row(self, row: Element) -> Row:
        place = -1
        found = {}
        for cell in row:
            letters = re.match("[A-Z]+", cell.get("r", ""))
            place = place + 1 if letters is None else _column(letters[0])
            value = self._value(cell)
            if value is not None:
                found[place] = value
        return found

    def _value(self, cell: Element) -> Any:
        """What a cell holds; None if nothing. Total: see `Workbook`."""
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            inline = cell.find(_INLINE)
            return None if inline is None or not len(inline) else _content(inline)
        written = cell.findtext(_VALUE)
        if not written:
            return None
        try:
            if kind == "s":
                return self.strings[int(written)]
            if kind == "b":
                return bool(int(written))
            if kind == "n":
                return self._number(written, int(cell.get("s", "0")))
            return _moment(written) if kind == "d" else written
        except (ValueError, IndexError, OverflowError):
            return written

    def _number(self, written: str, style: int) -> Any:
        number = int(written) if written.lstrip("-").isdecimal() else float(written)
        return self._dated(number, style) if style in self.dates else number

    def _dated(self, number: float, style: int) -> Any:
        from openpyxl.utils.datetime import from_excel

        return from_excel(number, self.epoch, timedelta=style in self.durations)


def _opened(file: BinaryIO) -> _Book:
    from openpyxl.reader.excel import ExcelReader  # of the extra `files`, which may be missing
    from openpyxl.styles.stylesheet import apply_stylesheet
    from openpyxl.xml.constants import SHARED_STRINGS

    reader = ExcelReader(file, read_only=True, keep_links=False)
    reader.read_manifest()
    reader.read_workbook()
    apply_stylesheet(reader.archive, reader.wb)
    shared = reader.package.find(SHARED_STRINGS)
    sheets = [
        (sheet.name, found.target)
        for sheet, found in reader.parser.find_sheets()
        if found.target in reader.valid_files and "chartsheet" not in found.Type
    ]
    strings = iter(()) if shared is None else _strings(reader.archive, shared.PartName[1:])
    book = reader.wb
    dates, durations = book._date_formats, book._timedelta_formats
    return _Book(reader.archive, sheets, _Strings(strings), book.epoch, dates, durations)


def _strings(archive: ZipFile, place: str) -> Iterator[str]:
    with archive.open(place) as content:
        for _, element in iterparse(content):  # noqa: S314 - bounded
            if element.tag == _STRING:
                yield _content(element)
                element.clear()


def _content(text: Element) -> str:
    """A text without its looks, and without what says how it is spoken."""
    parts = [each.text or "" for path in _TEXTS for each in text.findall(path)]
    return "".join(parts).replace("_x005F_", "_")


def _moment(written: str) -> Any:
    from openpyxl.utils.datetime import from_ISO8601

    return from_ISO8601(written)


@lru_cache(maxsize=1 << 14)
def _column(letters: str) -> int:
    """The number of a column, counted from 0, by its letters: A, ..., Z, AA, ..."""
    number = 0
    for letter in letters[:9]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _names(row: Row) -> list[str]:
    found = [text_of(_day(row.get(place, ""))) for place in range(max(row, default=-1) + 1)]
    while found and not found[-1]:
        found.pop()
    return found


def _day(value: Any) -> Any:
    """A moment at midnight as its day: workbooks have no dates without a time."""
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date()
    return value
