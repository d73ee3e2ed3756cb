"""How a source writes dates and times: directives of `strptime` that mean the same anywhere.

A format stands for one regular expression, of what every engine understands alike: classes of ASCII
characters, groups, repetitions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Field = Literal["year", "short year", "month", "month name", "day", "hour", "minute", "second",
                "fraction", "zone"]  # fmt: skip

DIRECTIVES: dict[str, Field] = {
    "%Y": "year",
    "%y": "short year",
    "%m": "month",
    "%b": "month name",
    "%d": "day",
    "%H": "hour",
    "%M": "minute",
    "%S": "second",
    "%f": "fraction",
    "%z": "zone",
}

MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""`%b`: the English names, in any mix of capital and small letters."""

FIRST_SHORT_YEAR = 69
"""`%y`: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068, as POSIX has it."""

LITERAL = re.compile(r"[A-Za-z0-9 .,:/_-]")
"""What may stand between directives."""

ZONE = "(Z|[+-][0-9]{2}:?[0-9]{2})"

_NUMBERS = ("month", "day", "hour", "minute", "second")


@dataclass(frozen=True)
class TimeFormat:
    """The parts of a format, in order: fields, and the characters between them."""

    parts: tuple[str, ...]
    """Directives such as `%d`, and single characters."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields, in order; the group of a field in `pattern` is its place, from 1."""
        return tuple(DIRECTIVES[part] for part in self.parts if len(part) == 2)

    @property
    def pattern(self) -> str:
        """A regular expression without its ends; it has one group for each field."""
        after = (*self.parts[1:], "")
        return "".join(map(_expression, self.parts, after))


def read_format(text: str) -> TimeFormat | None:
    """The format; None if a directive or character in it is not known."""
    parts = re.findall(r"%.|[^%]", text, re.DOTALL)
    known = all(part in DIRECTIVES or LITERAL.fullmatch(part) for part in parts)
    return TimeFormat(tuple(parts)) if known and "".join(parts) == text else None


def _expression(part: str, after: str) -> str:
    """A part as an expression; numbers have two digits where another digit may follow them."""
    if len(part) == 1:
        return f"[{part}]"
    field = DIRECTIVES[part]
    if field == "year":
        return "([0-9]{4})"
    if field == "short year":
        return "([0-9]{2})"
    if field == "month name":
        return f"({'|'.join(map(_in_any_case, MONTH_NAMES))})"
    if field == "fraction":
        return "([0-9]{1,9})"
    if field == "zone":
        return ZONE
    is_open = after not in DIRECTIVES and not after.isdigit()
    return "([0-9]{1,2})" if is_open else "([0-9]{2})"


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter.lower()}]" for letter in word)


def lacking(fields: Sequence[Field], needed: Sequence[Field]) -> list[Field]:
    """The needed fields that a format lacks."""
    stand_ins: dict[Field, Field] = {"year": "short year", "month": "month name"}
    return [field for field in needed if field not in fields and stand_ins.get(field) not in fields]
