"""Workbooks (.xlsx): one sheet, whose first row names the columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from synth.curator.files.text_tables import FileCodebook
from synth.curator.files.value_texts import text_of, texts
from synth.errors import SourceError

BATCH_ROWS = 1 << 13
COMPOUND_FILE = b"\xd0\xcf\x11\xe0"
"""How a workbook with a password begins, and one of the format before .xlsx."""


@dataclass
class Workbook:
    """One file; see `text_tables.TextTable`.

    Privacy: a value is what its cell holds, formulas what was last computed of them. A row without
    any value is none, as an empty line of a CSV file is; what lies beyond the named columns is not
    looked at.
    """

    path: Path
    sheet: str | None
    """Its name, else its number counted from 1; None: the only one."""
    states_its_columns: bool = True
    left_out: int = 0

    def names(self) -> list[str]:
        """The texts of the first row, up to the last that is filled."""
        with self._rows() as rows:
            return _names(next(rows, ()))

    def codebook(self) -> dict[str, FileCodebook]:
        """See `TextTable.codebook`: such a file has none."""
        return {}

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """See `TextTable.batches`."""
        with self._rows() as rows:
            names = _names(next(rows, ()))
            places = [names.index(column) for column in columns]
            while read := list(islice(rows, BATCH_ROWS)):
                filled = [row for row in read if any(value is not None for value in row)]
                yield [
                    texts(_day(row[place]) if place < len(row) else None for row in filled)
                    for place in places
                ]

    @contextmanager
    def _rows(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        import openpyxl  # of the extra `files`, which need not be installed

        with self.path.open("rb") as file:
            if file.read(len(COMPOUND_FILE)) == COMPOUND_FILE:
                raise SourceError(
                    "a workbook of the source has a password, or is of the older format .xls",
                    fix="save it as .xlsx without a password, where only this user may read it",
                )
            file.seek(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of styles and the like, and of single cells
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            try:
                sheet = self._chosen(book)
                sheet.reset_dimensions()  # what a sheet says of its size may be any size
                yield sheet.iter_rows(values_only=True)
            finally:
                book.close()

    def _chosen(self, book: Any) -> Any:
        """The sheet. Names of sheets are the keeper's, and stand in no message."""
        sheets = book.worksheets
        if self.sheet is None and len(sheets) == 1:
            return sheets[0]
        for sheet in sheets:
            if sheet.title == self.sheet:
                return sheet
        wanted = self.sheet or ""
        number = int(wanted) if re.fullmatch("[0-9]{1,4}", wanted) else 0
        if 1 <= number <= len(sheets):
            return sheets[number - 1]
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


def _names(row: Sequence[Any]) -> list[str]:
    found = ["" if value is None else text_of(_day(value)) for value in row]
    while found and not found[-1]:
        found.pop()
    return found


def _day(value: Any) -> Any:
    """A moment at midnight as its day: workbooks have no dates without a time."""
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date()
    return value
