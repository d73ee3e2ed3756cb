"""Periods of the calendar, from years to hours: numbered, written in ISO 8601, and nested.

Days are those of the Gregorian calendar, also before it was decreed, of the years 1 to 9999. Every
resolution numbers its periods without a gap: years by themselves, quarters and months from the
year 0 on, weeks, days and hours from Monday, 1 January of the year 1, which is number 0.

How a source writes dates and times is said by directives of `strptime` that mean the same anywhere:
a format stands for one regular expression, of what every engine understands alike (classes of ASCII
characters, groups, repetitions).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

Resolution = Literal["year", "quarter", "month", "week", "day", "hour"]

RESOLUTIONS: tuple[Resolution, ...] = get_args(Resolution)
"""Coarsest first; months do not hold whole weeks."""

FORMS: Mapping[Resolution, str] = {
    "year": "2024",
    "quarter": "2024-Q1",
    "month": "2024-01",
    "week": "2024-01-29",
    "day": "2024-01-31",
    "hour": "2024-01-31T13:00:00",
}
"""How a period is written. A week is its Monday, which every reader of dates knows."""

WIDER: Mapping[Resolution, tuple[Resolution, ...]] = {
    "year": (),
    "quarter": ("year",),
    "month": ("year", "quarter"),
    "week": (),
    "day": ("year", "quarter", "month", "week"),
    "hour": ("year", "quarter", "month", "week", "day"),
}
"""The resolutions whose periods are made of whole periods of one."""

LAST_YEAR = 9999
DAY_SECONDS = 86_400

_PATTERNS: Mapping[Resolution, str] = {
    "year": "[0-9]{4}",
    "quarter": "[0-9]{4}-Q[1-4]",
    "month": "[0-9]{4}-[0-9]{2}",
    "week": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "day": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "hour": "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:00:00",
}


@dataclass(frozen=True)
class Calendar:
    """How moments of the source become the periods of an attribute."""

    resolution: Resolution
    format: str = ""
    """How texts of the source are written, in directives of `strptime`; empty for ISO 8601."""
    time_zone: str = "UTC"
    """Where the clock hangs by which an instant of time belongs to a period."""


def write_period(number: int, resolution: Resolution) -> str:
    """The period in the form of `FORMS`."""
    if resolution == "year":
        return f"{number:04}"
    if resolution == "quarter":
        return f"{number // 4:04}-Q{number % 4 + 1}"
    if resolution == "month":
        return f"{number // 12:04}-{number % 12 + 1:02}"
    if resolution == "hour":
        return f"{_day(number // 24).isoformat()}T{number % 24:02}:00:00"
    return _day(7 * number if resolution == "week" else number).isoformat()


def read_period(text: str, resolution: Resolution) -> int | None:
    """The number of the period that is written so; None for any other text."""
    if re.fullmatch(_PATTERNS[resolution], text) is None or text[:4] == "0000":
        return None
    year, rest = int(text[:4]), text[5:]
    if resolution == "year":
        return year
    if resolution == "quarter":
        return 4 * year + int(rest[1]) - 1
    if resolution == "month":
        return 12 * year + int(rest) - 1 if 1 <= int(rest) <= 12 else None
    try:
        day = date.fromisoformat(text[:10]).toordinal() - 1
    except ValueError:
        return None
    if resolution == "hour":
        hour = int(text[11:13])
        return 24 * day + hour if hour < 24 else None
    if resolution == "week":
        return day // 7 if day % 7 == 0 else None
    return day


def period_of_day(day: int, resolution: Resolution) -> int:
    """The period that a day is in; not for hours."""
    if resolution == "day":
        return day
    if resolution == "week":
        return day // 7
    found = _day(day)
    if resolution == "year":
        return found.year
    if resolution == "quarter":
        return 4 * found.year + (found.month - 1) // 3
    return 12 * found.year + found.month - 1


def period_start(number: int, resolution: Resolution) -> int:
    """When the period begins: seconds since the year 1 began."""
    if resolution == "hour":
        return number * 3_600
    if resolution == "day":
        return number * DAY_SECONDS
    if resolution == "week":
        return 7 * number * DAY_SECONDS
    months = number * {"year": 12, "quarter": 3, "month": 1}[resolution]
    year, month = divmod(months, 12)
    if year > LAST_YEAR:
        return date.max.toordinal() * DAY_SECONDS
    return (date(year, month + 1, 1).toordinal() - 1) * DAY_SECONDS


def wider_period(number: int, resolution: Resolution, wider: Resolution) -> int:
    """The wider period that holds a period.

    Requires: `wider` is one of `WIDER[resolution]`, or the resolution itself.
    """
    if wider == resolution:
        return number
    return period_of_day(period_start(number, resolution) // DAY_SECONDS, wider)


def write_wider(number: int, wider: Resolution) -> str:
    """How a period is called as a group of finer ones: a week, by its first and last day.

    So no group is called as one of the days that it holds.
    """
    if wider != "week":
        return write_period(number, wider)
    sunday = min(7 * number + 7, date.max.toordinal())
    return f"{write_period(number, wider)}/{date.fromordinal(sunday).isoformat()}"


def _day(day: int) -> date:
    return date.fromordinal(day + 1)


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
