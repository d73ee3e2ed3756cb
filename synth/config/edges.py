"""The edges of ordered columns: numbers that increase, and the periods of a calendar.

A calendar says which moments count, at which resolution, and how the source writes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Annotated
from zoneinfo import available_timezones

from synth.config.schema.problems import Place, Refused, Report, quoted
from synth.config.schema.scalars import Exact, Whole, line
from synth.domain import format_number
from synth.domain.periods import (
    DIRECTIVES,
    FORMS,
    RESOLUTIONS,
    Calendar,
    Field,
    Resolution,
    lacking,
    period_of_day,
    period_start,
    read_format,
    read_period,
    write_period,
)

LARGEST = 2**53 - 1
"""The largest whole number that every common reader of numbers keeps exactly."""

FARTHEST = Fraction(10) ** 15
"""The largest edge of a `number` column."""

MAX_LEVELS = 100_000

WHOLE_EDGE = Whole("One edge", -LARGEST, LARGEST)
WHOLE_WIDTH = Whole("Numbers per bin (1); the last may be shorter", 1, LARGEST)
NUMBER_EDGE = Exact("One edge", -FARTHEST, FARTHEST, ratios=False)
NUMBER_WIDTH = Exact(
    "The width of a bin; the last may be shorter",
    Fraction(0),
    2 * FARTHEST,
    ratios=False,
    above_minimum=True,
)


def increasing_edges(
    edges: Sequence[int | Fraction], path: Place, report: Report
) -> tuple[Fraction, ...]:
    """The edges as exact numbers. Raises: Refused if one is not larger than the one before."""
    for below, edge in itertools.pairwise(edges):
        text = format_number(Fraction(edge))
        if edge == below:
            raise report.refusal(
                path,
                expected="strictly increasing numbers",
                why="equal edges make a bin that no record can enter",
                fix=f"remove one of the two {text}s",
            )
        if edge < below:
            raise report.refusal(
                path,
                expected="strictly increasing numbers",
                fix=f"{text} must not stand behind {format_number(Fraction(below))}",
            )
        if float(edge) == float(below):
            raise report.refusal(
                path,
                expected="edges that differ as 64-bit floating-point numbers",
                why="values are compared with edges in that precision",
                fix=f"remove {text} or its neighbour",
            )
    return tuple(Fraction(edge) for edge in edges)


DateFormat = Annotated[
    str | None, line("How the source writes dates, such as %d.%m.%Y; if left out, ISO 8601")
]
TimeZone = Annotated[str, line("Whose clock says in which period an instant of known time zone is")]

NOT_ZONES = frozenset({"localtime", "posixrules", "Factory"})
"""Names that mean whatever a machine is set to, or nothing."""

NEEDED: dict[Resolution, tuple[Field, ...]] = {
    "year": ("year",),
    "quarter": ("year", "month"),
    "month": ("year", "month"),
    "week": ("year", "month", "day"),
    "day": ("year", "month", "day"),
    "hour": ("year", "month", "day", "hour"),
}
"""What a text must say for its period to be known."""

_CLOCK: tuple[Field, ...] = ("hour", "minute", "second", "fraction", "zone")


def checked_calendar(
    kind: str,
    resolution: Resolution,
    written: str | None,
    time_zone: str,
    path: Place,
    report: Report,
) -> Calendar:
    """How moments become periods; what is wrong with it is reported.

    Whoever reads a published configuration reads no source, and needs no time zones.
    """
    if kind == "date" and resolution == "hour":
        report.add(
            (*path, "resolution"),
            expected="one of: " + ", ".join(RESOLUTIONS[:-1]),
            why="a date has no hours",
            fix="write `type: datetime`, or another resolution",
        )
    if not report.public and time_zone != "UTC" and time_zone not in time_zones():
        report.add(
            (*path, "time_zone"),
            expected="the name of a time zone, such as UTC or Europe/Berlin",
            why="the clock of a machine is no part of a configuration"
            if time_zone in NOT_ZONES
            else "",
            fix=report.suggest(time_zone, time_zones())
            if time_zones()
            else "install the time zone database: pip install tzdata",
        )
    if written is not None:
        _check_format(written, resolution, (*path, "format"), report)
    return Calendar(resolution, written or "", time_zone)


@cache
def time_zones() -> tuple[str, ...]:
    """The names of the time zone database, in their order."""
    return tuple(sorted(available_timezones() - NOT_ZONES))


def _check_format(written: str, resolution: Resolution, path: Place, report: Report) -> None:
    found = read_format(written)
    if found is None:
        report.add(
            path,
            expected=f"directives ({', '.join(DIRECTIVES)}) with letters, digits, blanks or one of "
            ". , : / _ - between them",
            why="every engine must read it alike",
            fix="write a day such as 31.1.2024 as %d.%m.%Y",
        )
        return
    fields = found.fields
    twice = {"short year": "year", "month name": "month"}
    meant = [twice.get(field, field) for field in fields]
    if len(set(meant)) < len(meant):
        report.add(path, expected="every part of a date once")
        return
    lacks = lacking(fields, NEEDED[resolution])
    clock = [field for field in _CLOCK if field in fields]
    if not lacks and clock and "hour" not in fields:
        lacks = ["hour"]
    if not lacks and "second" in fields and "minute" not in fields:
        lacks = ["minute"]
    if not lacks and "fraction" in fields and "second" not in fields:
        lacks = ["second"]
    if not lacks and clock:
        lacks = lacking(fields, NEEDED["day"])
    if lacks:
        wanted = {field: directive for directive, field in DIRECTIVES.items()}
        report.add(
            path,
            expected=f"a format with the {' and the '.join(lacks)}",
            why=f"without it nobody knows the {resolution}"
            if lacks[0] in NEEDED[resolution]
            else "the time of a day that is not known means nothing",
            fix="add " + " and ".join(wanted[field] for field in lacks),
        )


ZONED_YEARS = range(1800, 2201)
"""Bounds with a time zone: earlier there was none, and rules of later years are a guess."""


def period_edges(
    first: str, last: str, calendar: Calendar, path: Place, report: Report
) -> tuple[Fraction, ...]:
    """The edges of the bins, one for each period from the first to the last.

    Raises: Refused after reporting what is wrong with the bounds.
    """
    resolution = calendar.resolution
    low = _bound(first, resolution, (*path, "first"), report)
    high = _bound(last, resolution, (*path, "last"), report)
    here = (*path, "last")
    if low is None or high is None:
        raise Refused
    if high < low:
        raise report.refusal(
            here, expected=f"a {resolution} not before the first ({first})",
            fix="exchange `first` and `last`, or correct one of them",
        )  # fmt: skip
    if calendar.time_zone != "UTC":
        for key, text in (("first", first), ("last", last)):
            if int(text[:4]) not in ZONED_YEARS:
                raise report.refusal(
                    (*path, key),
                    expected=f"a {resolution} of the years {ZONED_YEARS[0]} to {ZONED_YEARS[-1]}, "
                    "or no `time_zone`",
                    why="nobody knows the time zones of other years",
                )
    count = high - low + 1
    if count > MAX_LEVELS:
        raise report.refusal(
            here,
            found=f"{count:,} periods",
            expected=f"at most {MAX_LEVELS:,} periods",
            why="every period gets noise; with so many, noise is all that is left",
            fix="write `resolution: day`" if resolution == "hour" else "write `resolution: month`",
        )
    return (*map(Fraction, range(low, high + 1)), Fraction(high))


def _bound(text: str, resolution: Resolution, path: Place, report: Report) -> int | None:
    number = read_period(text, resolution)
    if number is None:
        near = _period_of(text, resolution)
        report.add(
            path,
            expected=f"a {resolution}, such as {quoted(FORMS[resolution])}"
            + (", by the date of its Monday" if resolution == "week" else ""),
            why="bounds are whole periods of the resolution" if near else "",
            fix=f"write {near}" if near else "",
        )
    return number


def _period_of(text: str, resolution: Resolution) -> str:
    """The period that a moment, or the beginning of another period, lies in; empty if unknown."""
    for other in reversed(RESOLUTIONS):
        number = read_period(text, other)
        if number is not None:
            start = period_start(number, other)
            if resolution == "hour":
                return write_period(start // 3_600, "hour")
            return write_period(period_of_day(start // 86_400, resolution), resolution)
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return ""
    number = day.toordinal() - 1
    return write_period(24 * number, "hour") if resolution == "hour" else write_period(
        period_of_day(number, resolution), resolution
    )  # fmt: skip
