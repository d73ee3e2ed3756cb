"""Files of SPSS, Stata and SAS, and the codebook that they hold beside the records."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import pyarrow as pa

from synth.config.source_files import SAS, SPSS, STATA, file_kind
from synth.curator.files.readable_texts import UNDECODABLE, moment_text, number_text, texts
from synth.curator.files.text_tables import FileCodebook, TextTable

BATCH_VALUES = 1 << 20
"""So many values are held as objects at once."""
MOST_BATCH_ROWS = 1 << 17
MOST_EXPANDED = 50
"""A range of missing values of at most so many whole numbers is written out."""

BYTES_KEPT = "ISO-8859-1"
"""An encoding in which every byte is a character: so texts are read whatever bytes they hold."""
OLD_STATA = "cp1252"
"""The encoding of most files of Stata that do not say theirs: those before version 118."""

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_WITHOUT_MARKS = (".xpt",)
"""Formats whose reader knows no missing values that users declare."""

_ORIGINS = {SPSS: datetime(1582, 10, 14), STATA: datetime(1960, 1, 1)}
_SAS_ORIGIN = datetime(1960, 1, 1)
_DAY = 86_400.0

_SPSS_DATES = re.compile(r"(?:[AEJS]?DATE|QYR|MOYR|WKYR)[0-9.]*")
_SPSS_MOMENTS = re.compile(r"(?:DATETIME|YMDHMS)[0-9.]*")
_STATA_DATES = re.compile(r"%-?t?d.*")
_STATA_MOMENTS = re.compile(r"%-?t[cC].*")
_SAS_DATES = re.compile(
    r"(?:DATE|DAY|DDMMYY[BCDNPS]?|MMDDYY[BCDNPS]?|YYMMDD[BCDNPS]?|E8601DA|B8601DA|IS8601DA"
    r"|JULIAN|WEEKDATX?|WORDDATX?|MINGUO|NENGO|EURDF[A-Z]+)[0-9.]*"
)
_SAS_MOMENTS = re.compile(r"(?:DATETIME|DATEAMPM|E8601D[TZN]|B8601D[TZN]|IS8601D[TZN])[0-9.]*")


@dataclass
class StatisticsFile(TextTable):
    """One file; see `text_tables.TextTable`.

    Privacy: whether a column holds numbers, texts or dates is declared for all of it. A number
    becomes the shortest text that means it, a text keeps every byte, and declared missing values
    stay what they are: `9`, or `.a` for those of Stata and SAS that are letters.
    """

    path: Path
    states_its_columns: bool = True
    left_out: int = 0

    def names(self) -> list[str]:
        """The variables, in their order."""
        return list(self._declared.column_names)

    def uncountable(self) -> list[str]:
        """See `TextTable.uncountable`: texts of any length (strL of Stata), which take no place.

        Their bytes are decoded by the library, whatever encoding is asked for: one of them that is
        no UTF-8 ends the reading.
        """
        widths = self._declared.variable_storage_width
        is_stata = file_kind(self.path) == STATA
        return [name for name in self.names() if is_stata and widths[name] == 0]

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """See `TextTable.batches`. Every batch is found anew from the beginning of the file."""
        rows = max(1, min(MOST_BATCH_ROWS, BATCH_VALUES // max(1, len(columns))))
        wanted = [self._as_bytes_kept(name) for name in columns]
        start = 0
        while True:
            values, _ = self._read(
                row_offset=start, row_limit=rows, usecols=wanted, encoding=BYTES_KEPT,
                output_format="dict", disable_datetime_conversion=True, marks=True,
            )  # fmt: skip
            if len(values) < len(columns):
                raise ValueError("a column is gone")
            found = [
                self._texts(name, values[kept]) for name, kept in zip(columns, wanted, strict=True)
            ]
            if not found or not len(found[0]):
                return
            yield found
            if len(found[0]) < rows:
                return
            start += rows

    def codebook(self) -> dict[str, FileCodebook]:
        """See `TextTable.codebook`."""
        meta = self._declared
        found = {}
        for name in meta.column_names:
            labels = meta.variable_value_labels.get(name, {})
            missing = list(self._ranges(name))
            if meta.readstat_variable_types.get(name) != "string":
                missing += self._marks
            found[name] = FileCodebook(
                meta.column_names_to_labels.get(name) or "",
                tuple((self._label_key(value), str(label)) for value, label in labels.items()),
                tuple(dict.fromkeys(missing)),
            )
        return found

    @cached_property
    def _declared(self) -> Any:
        _, meta = self._read(metadataonly=True, marks=True)
        return meta

    def _read(self, *, marks: bool = False, **options: Any) -> tuple[Any, Any]:
        import pyreadstat  # of the extra `files`, which need not be installed

        self.path.open("rb").close()  # what the file system refuses is said by it
        ending = self.path.suffix.lower()
        if marks and ending not in _WITHOUT_MARKS:
            options["user_missing"] = True
        found: tuple[Any, Any] = getattr(pyreadstat, _READERS[ending])(str(self.path), **options)
        return found

    @cached_property
    def _encoding(self) -> str:
        declared = self._declared.file_encoding or ""
        try:
            return codecs.lookup(declared).name
        except LookupError:
            is_old = file_kind(self.path) == STATA and not self._is_new_stata
            return OLD_STATA if is_old else "utf-8"

    @cached_property
    def _is_new_stata(self) -> bool:
        """Whether the file is of version 118 or later, which is written in UTF-8."""
        with self.path.open("rb") as file:
            head = file.read(64)
        found = re.search(rb"<release>([0-9]+)</release>", head)
        return found is not None and int(found[1]) >= 118

    def _as_bytes_kept(self, name: str) -> str:
        return name.encode(self._encoding, errors="replace").decode(BYTES_KEPT)

    def _texts(self, name: str, values: Sequence[Any]) -> pa.Array:
        """One column of a batch, by what is declared of it; equal values are written once."""
        if self._declared.readstat_variable_types.get(name) == "string":
            write: Any = self._text
        else:
            write = self._number_writer(self._declared.original_variable_types.get(name) or "")
        written = {value: write(value) for value in set(values)}
        return texts(written[value] for value in values)

    def _text(self, value: Any) -> bytes | None:
        """A text in UTF-8; bytes that its encoding does not have stay as they are."""
        if value is None:
            return None
        content: bytes = value.encode(BYTES_KEPT)
        if self._encoding == "utf-8":
            return content
        return content.decode(self._encoding, errors=UNDECODABLE).encode(errors=UNDECODABLE)

    def _number_writer(self, form: str) -> Any:
        """How the numbers of a column with this format are written."""
        scale, origin, is_date = _calendar(file_kind(self.path), form.upper(), form)

        def write(value: Any) -> str | None:
            if value is None or (isinstance(value, float) and math.isnan(value)):
                return None
            if isinstance(value, str):
                return self._mark(value)
            found = None
            if origin is not None and math.isfinite(value):
                found = moment_text(origin, value * scale, is_date=is_date)
            return number_text(float(value)) if found is None else found

        return write

    def _mark(self, letter: Any) -> str:
        """A declared missing value: those that are letters with the point that Stata writes."""
        if isinstance(letter, str):
            return f".{letter}"
        return number_text(float(letter))

    def _label_key(self, value: Any) -> str:
        if isinstance(value, str):
            is_number = file_kind(self.path) != SPSS
            return f".{value}" if is_number and re.fullmatch("[A-Za-z_]", value) else value
        return number_text(float(value))

    @property
    def _marks(self) -> list[str]:
        """The missing values that numbers of such files can have, beside those that are declared.

        A file does not list them. Those that no value is are harmless.
        """
        letters = {STATA: ascii_lowercase, SAS: f"_{ascii_uppercase}"}
        return [f".{letter}" for letter in letters.get(file_kind(self.path), "")]

    def _ranges(self, name: str) -> Iterator[str]:
        """The missing values of SPSS: single ones and ranges."""
        for each in self._declared.missing_ranges.get(name, ()):
            low, high = each["lo"], each["hi"]
            if isinstance(low, str):
                yield low
            elif low == high:
                yield number_text(float(low))
            elif math.isfinite(high - low) and high - low <= MOST_EXPANDED:
                first, last = math.ceil(low), math.floor(high)
                yield from (str(number) for number in range(first, last + 1))


def _calendar(kind: str, form: str, written: str) -> tuple[float, datetime | None, bool]:
    """Seconds per unit of a date or moment with this format, its origin, and whether it is a date.

    The origin is None for what is no date: then the number stands for itself.
    """
    if kind == SPSS:
        is_date = bool(_SPSS_DATES.fullmatch(form))
        is_moment = bool(_SPSS_MOMENTS.fullmatch(form))
        return 1.0, _ORIGINS[SPSS] if is_date or is_moment else None, is_date
    if kind == STATA:
        if _STATA_DATES.fullmatch(written):
            return _DAY, _ORIGINS[STATA], True
        return 0.001, _ORIGINS[STATA] if _STATA_MOMENTS.fullmatch(written) else None, False
    if _SAS_DATES.fullmatch(form):
        return _DAY, _SAS_ORIGIN, True
    return 1.0, _SAS_ORIGIN if _SAS_MOMENTS.fullmatch(form) else None, False
