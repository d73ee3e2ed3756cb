"""Why a value fits nowhere: reasons for the keeper alone, each with what mends it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from synth.curator.files.readable_texts import FIRST
from synth.domain import Attribute
from synth.domain.periods import Calendar

MISSING_WORDS = (
    "?", "-", "--", ".", "..", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "Null", "null",
    "None", "none", "missing", "Missing", "unknown", "Unknown", "#NULL!",
)  # fmt: skip
"""Words by which programs write that a value is missing."""

COMMA = re.compile(r"\s*[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
POINT = re.compile(r"\s*[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:[ ,.'_][0-9]{3})+(?:[.,][0-9]+)?\s*")
KEPT = re.compile(f"[{chr(FIRST + 0x80)}-{chr(FIRST + 0xFF)}]")


OTHER_FORMS = (
    ("as day.month.year", re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"), "%d.%m.%Y"),
    ("with strokes", re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"), "%m/%d/%Y"),
    ("in eight digits", re.compile(r"[0-9]{8}"), "%Y%m%d"),
    ("in ISO 8601", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?"), ""),
)
"""Common ways of writing dates: in words, how they look, and their format."""


@dataclass(frozen=True)
class Reason:
    """Why values fit nowhere, and what mends it; both in words of the configuration alone."""

    words: str
    fix: str


def keeps_bytes(text: str) -> bool:
    """Whether the text holds bytes that its encoding does not have."""
    return KEPT.search(text) is not None


@dataclass(frozen=True)
class Misfits:
    """Reasons for the values of one column.

    It only names what `encode` has decided: whether a value fits is not asked here.
    """

    attribute: Attribute
    encoding: str
    """That of CSV files; empty where texts have none of their own."""
    decimal: str

    def reason(self, text: str) -> Reason:
        """Why a value that is written so is none of the column."""
        if text == "":
            return Reason("empty", 'add "" to `missing`')
        if keeps_bytes(text):
            encoding = self.encoding or "utf-8"
            other = "windows-1252" if encoding == "utf-8" else "utf-8"
            return Reason(
                f"characters that are not in encoding {encoding}: another encoding?",
                f"add `encoding: {other}` to source, or the encoding that the file is in",
            )
        if self.attribute.calendar is not None:
            return self._no_moment(text, self.attribute.calendar)
        if self.attribute.is_ordered:
            return self._no_number(text)
        return self._no_level(text)

    def _no_number(self, text: str) -> Reason:
        if self.decimal == "." and COMMA.fullmatch(text):
            mend = 'add `decimal: ","` to source' if self.encoding else "store it as a number"
            return Reason("written with a decimal comma", mend)
        if self.decimal == "," and POINT.fullmatch(text):
            return Reason("written with a decimal point", 'write `decimal: "."` in source')
        if GROUPED.fullmatch(text):
            return Reason(
                "written with marks between thousands", "write the numbers without them in a copy"
            )
        return self._a_word(text) or Reason(
            "no number", "list words for missing values under `missing`, or correct a copy"
        )

    def _no_moment(self, text: str, calendar: Calendar) -> Reason:
        if (word := self._a_word(text)) is not None:
            return word
        written = calendar.format or "ISO 8601, such as 2024-01-31"
        for words, pattern, mend in OTHER_FORMS:
            if pattern.fullmatch(text) and mend != calendar.format:
                return Reason(
                    f"written {words}, not as {written}",
                    f"write `format: '{mend}'`" if mend else "leave `format` out, or correct it",
                )
        return Reason(
            f"no {self.attribute.kind} written as {written}",
            "compare `format` with the source, or correct a copy",
        )

    def _no_level(self, text: str) -> Reason:
        if _folded(text) in self._folded_levels:
            return Reason(
                "another spelling of a level (case, blanks)",
                self._mend_levels,
            )
        if _plain_number(text) in self._numbered_levels:
            return Reason(
                "another way of writing a number that is a level",
                self._mend_levels,
            )
        if self.attribute.kind == "boolean":
            return self._a_word(text) or Reason(
                "neither true nor false",
                "list how the source writes them under `true_values` and `false_values`",
            )
        return self._a_word(text) or Reason(
            "code not in the codebook", "compare `levels` with the codebook"
        )

    @property
    def _mend_levels(self) -> str:
        if self.attribute.kind == "boolean":
            return "add it to `true_values` or `false_values`, or correct a copy"
        return "write the levels as the source does, or correct a copy"

    def _a_word(self, text: str) -> Reason | None:
        words = {_folded(word) for word in (*MISSING_WORDS, *self.attribute.missing)}
        if _folded(text) not in words:
            return None
        return Reason("a word for a missing value", "list it under `missing`")

    @property
    def _levels(self) -> list[str]:
        return [text for texts in self.attribute.level_texts for text in texts]

    @cached_property
    def _folded_levels(self) -> frozenset[str]:
        return frozenset(map(_folded, self._levels))

    @cached_property
    def _numbered_levels(self) -> frozenset[float]:
        numbers = map(_plain_number, self._levels)
        return frozenset(number for number in numbers if number is not None)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _plain_number(text: str) -> float | None:
    return (
        float(text) if POINT.fullmatch(text) or re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) else None
    )


OUTSIDE: dict[str, Callable[[Attribute], Reason]] = {
    "below": lambda each: Reason(
        "below the smallest number" if each.calendar is None else "before the first period",
        f"compare the bounds ({each.written_edge(0)} up) with the codebook",
    ),
    "above": lambda each: Reason(
        "above the largest number" if each.calendar is None else "after the last period",
        f"compare the bounds (up to {each.written_edge(-1)}) with the codebook; a code such as "
        f"{'99' if each.calendar is None else '9999-12-31'} for missing values belongs under "
        "`missing`",
    ),
}
"""Numbers outside of the bounds: below and above."""


def looks_like_data(names: tuple[str, ...] | list[str]) -> list[str]:
    """The names of columns that no header would have: numbers, and nothing."""
    return [name for name in names if not name.strip() or _plain_number(name) is not None]
