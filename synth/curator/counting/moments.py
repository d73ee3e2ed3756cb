"""Moments: from texts of dates and times to periods, by expressions that no value can stop.

What a text means is decided here for every engine: by a regular expression, by its characters and
by whole numbers, and by no function of an engine that knows calendars or time zones, of which each
has a mind of its own about 29 February, the year 10000 or a day that the clocks change. It is done
in steps, each over the columns of the one before, so that none is written down many times:

1. `iso_text`: the text in ISO 8601 (of a declared format, or as it is), null if it is no moment;
2. `clock_parts`: year, month, day, the seconds of the day, and how far from UTC, where it says so;
3. `written_second`: seconds since the year 1 began, by the clock that it was written by;
4. `local_second`: the same, by the clock of the configured time zone;
5. to 7. the number of the period: at once if it is a week or shorter, else by way of the place in
   the 400 years in which the calendar repeats;
8. `period_code`: the code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import ibis
import ibis.expr.types as ir

from synth.curator.counting.encode import is_nan
from synth.domain import Attribute
from synth.domain.periods import (
    DAY_SECONDS,
    FIRST_SHORT_YEAR,
    MONTH_NAMES,
    Calendar,
    Resolution,
    TimeFormat,
    period_start,
    read_format,
)

_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP_YEAR = "(([0-9]{2}(0[48]|[2468][048]|[13579][26]))|((0[48]|[2468][048]|[13579][26])00))"
_DAYS = (
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_DAY = f"({_YEAR}-{_DAYS}|{_LEAP_YEAR}-02-29)"
_CLOCK = "([01][0-9]|2[0-3])(:[0-5][0-9](:([0-5][0-9]|60)([.,][0-9]{1,9})?)?)?"
_ZONE = "(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
MOMENT = f"^{_DAY}([T ]{_CLOCK}{_ZONE}?)?[|]$"
"""A day of the years 1 to 9999, and perhaps a time, and how far its clock is from UTC.

It is looked for in the text and a mark behind it: some engines take `$` for the end of the text,
others also for the place before a last line end.
"""

CYCLE_DAYS = 146_097
MONTHS: dict[Resolution, int] = {"year": 12, "quarter": 3, "month": 1}
SECONDS: dict[Resolution, int] = {"week": 7 * DAY_SECONDS, "day": DAY_SECONDS, "hour": 3_600}
"""How long periods are: long ones in months, short ones in seconds."""

LARGEST_FLOAT = 1e15
"""No date is written in as many digits."""


def iso_text(column: ir.Column, calendar: Calendar) -> ir.StringValue:
    """Step 1: the moment in ISO 8601, by a day at least; null where the value is none.

    Whole numbers are taken as the text of their digits: 2024, 20240131.
    """
    text = _as_text(column)
    if calendar.format:
        written = read_format(calendar.format)
        if written is None:
            raise ValueError("an accepted configuration has a format that can be read")
        text = _rearranged(text, written)
    else:
        text = _completed(text, calendar)
    return (text + "|").re_search(MOMENT).ifelse(text, None)


def _as_text(column: ir.Column) -> ir.StringValue:
    if column.type().is_integer():
        return column.cast("string")
    if column.type().is_floating():
        number = is_nan(column).ifelse(0.0, column.fill_null(0.0))
        confined = ibis.least(ibis.greatest(number, -LARGEST_FLOAT), LARGEST_FLOAT)
        whole = confined.floor().cast("int64")  # of a number that cannot be too large
        return (column == whole.cast("float64")).ifelse(whole, None).cast("string")
    return column


def _completed(text: ir.StringValue, calendar: Calendar) -> ir.StringValue:
    """What the release itself writes for long periods, with their first day; the rest as it is."""
    marked = text + "|"
    if calendar.resolution == "year":
        short = [("^[0-9]{4}[|]$", "-01-01"), ("^[0-9]{4}-[0-9]{2}[|]$", "-01")]
        return ibis.cases(*((marked.re_search(p), text + rest) for p, rest in short), else_=text)
    if calendar.resolution == "quarter":
        quarters = [
            (marked.re_search(f"^[0-9]{{4}}-Q{number + 1}[|]$"), f"-{3 * number + 1:02}-01")
            for number in range(4)
        ]
        cases = [(found, text.left(4) + rest) for found, rest in quarters]
        cases.append((marked.re_search("^[0-9]{4}-[0-9]{2}[|]$"), text + "-01"))
        return ibis.cases(*cases, else_=text)
    if calendar.resolution == "month":
        return marked.re_search("^[0-9]{4}-[0-9]{2}[|]$").ifelse(text + "-01", text)
    return text


def _rearranged(text: ir.StringValue, written: TimeFormat) -> ir.StringValue:
    """A text in a declared format as ISO 8601; null where it is not in that format."""
    marked, pattern = text + "|", f"^{written.pattern}[|]$"
    found = {
        field: marked.re_extract(pattern, place)
        for place, field in enumerate(written.fields, start=1)
    }

    def number(field: str, other: str) -> ir.StringValue:
        return found[field].lpad(2, "0") if field in found else ibis.literal(other)

    if "year" in found:
        year = found["year"]
    else:
        short = found["short year"]
        century = (short >= f"{FIRST_SHORT_YEAR}").ifelse("19", "20")
        year = century + short
    if "month name" in found:
        name = found["month name"].lower()
        month = ibis.cases(
            *((name == word.lower(), f"{place:02}") for place, word in enumerate(MONTH_NAMES, 1)),
            else_=None,
        )
    else:
        month = number("month", "01")
    parts = [year, "-", month, "-", number("day", "01")]
    if "hour" in found:
        parts += ["T", number("hour", "00"), ":", number("minute", "00")]
        parts += [":", number("second", "00")]
        parts += [found["zone"]] if "zone" in found else []
    iso = parts[0]
    for part in parts[1:]:
        iso = iso + part
    return marked.re_search(pattern).ifelse(iso, None)


def clock_parts(text: ir.StringValue) -> dict[str, ir.Value]:
    """Step 2: `year`, `month`, `day`, `clock` (seconds of the day) and `offset`; all int32.

    Requires: a text of step 1. `offset` is in seconds, and null where the text has none; the
    others mean nothing where the text is null.
    """
    length = text.length()
    has_minutes, has_seconds = _sign(text, 13) == ":", _sign(text, 16) == ":"
    clock = (
        (length > 10).ifelse(_digits(text, 11, 2), 0) * 3_600
        + has_minutes.ifelse(_digits(text, 14, 2), 0) * 60
        + (has_minutes & has_seconds).ifelse(_digits(text, 17, 2), 0)
    )
    return {
        "year": _digits(text, 0, 4),
        "month": _digits(text, 5, 2),
        "day": _digits(text, 8, 2),
        "clock": clock.cast("int32"),
        "offset": _offset(text, length),
    }


def _offset(text: ir.StringValue, length: ir.IntegerValue) -> ir.IntegerValue:
    """How far the clock is ahead of UTC: behind the time stands Z, +hh, +hhmm or +hh:mm."""
    cases: list[tuple[ir.BooleanValue, ir.Value]] = [
        ((length > 10) & (text.right(1) == "Z"), ibis.literal(0, "int32"))
    ]
    for size, minutes in ((6, 4), (5, 3), (3, None)):
        end = text.right(size)
        is_signed = (_sign(end, 0) == "+") | (_sign(end, 0) == "-")
        ahead = _digits(end, 1, 2) * 3_600
        if minutes is not None:
            ahead = ahead + _digits(end, minutes, 2) * 60
        signed = (_sign(end, 0) == "-").ifelse(-ahead, ahead)
        cases.append(((length >= 13 + size) & is_signed, signed.cast("int32")))
    return ibis.cases(*cases, else_=ibis.null("int32"))


def _sign(text: ir.StringValue, place: int) -> ir.StringValue:
    return text.substr(place, 1)


def _digits(text: ir.StringValue, place: int, count: int) -> ir.IntegerValue:
    """The number that some digits of a text are."""
    number: ir.IntegerValue = ibis.literal(0, "int32")
    for power in range(count):
        digit = text.substr(place + count - 1 - power, 1).ascii_str().cast("int32") - 48
        number = number + digit * 10**power
    return number.cast("int32")


def written_second(
    year: ir.IntegerValue, month: ir.IntegerValue, day: ir.IntegerValue, clock: ir.IntegerValue
) -> ir.IntegerValue:
    """Step 3: seconds since the year 1 began, as int64.

    Years are counted from March on, so that the day that is at times left out is their last.
    """
    is_early = month <= 2
    since = is_early.ifelse(year - 1, year).cast("int64")
    place = is_early.ifelse(month + 9, month - 3)
    leaps = _whole(since, 4) - _whole(since, 100) + _whole(since, 400)
    days = since * 365 + leaps + _whole(place * 153 + 2, 5) + day - 307
    return days.cast("int64") * ibis.literal(DAY_SECONDS, "int64") + clock


def _whole(value: ir.IntegerValue, divisor: int) -> ir.IntegerValue:
    return (value // divisor).cast("int64")


def local_second(
    written: ir.IntegerValue, offset: ir.IntegerValue, attribute: Attribute
) -> ir.IntegerValue:
    """Step 4: a text without an offset is by the clock of its place already.

    The time zone's own offsets are constants, known for all moments that a period of the attribute
    may hold; they come from the time zone database that Python knows, never from an engine.
    """
    instant = written - offset.cast("int64")
    ahead = _ahead(instant, _shifts(*_reach(attribute), _zone(attribute)))
    return offset.isnull().ifelse(written, instant + ahead)


def _zone(attribute: Attribute) -> str:
    return "UTC" if attribute.calendar is None else attribute.calendar.time_zone


def _reach(attribute: Attribute) -> tuple[int, int]:
    """When the first period begins, and when the last one ends."""
    first, last = int(attribute.edges[0]), int(attribute.edges[-1])
    resolution = _resolution(attribute)
    return period_start(first, resolution), period_start(last + 1, resolution)


@dataclass(frozen=True)
class Shifts:
    """How far a clock is ahead of UTC: at first, and from certain instants on."""

    first: int
    since: tuple[int, ...]
    ahead: tuple[int, ...]


STEP = timedelta(hours=12)
"""No clock is put forward and back again within so short a time."""
EPOCH = datetime(1, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=64)
def _shifts(start: int, end: int, zone: str) -> Shifts:
    """The shifts of a time zone from two days before `start` to two days behind `end`."""
    if zone == "UTC":
        return Shifts(0, (), ())
    clock = ZoneInfo(zone)
    last = int((datetime.max.replace(tzinfo=UTC) - EPOCH).total_seconds()) - DAY_SECONDS
    place = max(start - 2 * DAY_SECONDS, DAY_SECONDS)
    end = min(end + 2 * DAY_SECONDS, last)

    def ahead_at(second: int) -> int:
        found = (EPOCH + timedelta(seconds=second)).astimezone(clock).utcoffset()
        return 0 if found is None else int(found.total_seconds())

    first = before = ahead_at(place)
    since, ahead = [], []
    step = int(STEP.total_seconds())
    while place < end:
        after = ahead_at(place + step)
        if after != before:
            low, high = place, place + step
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if ahead_at(middle) == before else (low, middle)
            since.append(high)
            ahead.append(after)
            before = after
        place += step
    return Shifts(first, tuple(since), tuple(ahead))


def _ahead(instant: ir.IntegerValue, shifts: Shifts) -> ir.IntegerValue:
    """The shift that holds at an instant, by a balanced tree of comparisons."""
    values = (shifts.first, *shifts.ahead)

    def between(first: int, last: int) -> ir.IntegerValue:
        if first == last:
            return ibis.literal(values[first], "int64")
        middle = (first + last + 1) // 2
        is_later = instant >= ibis.literal(shifts.since[middle - 1], "int64")
        return is_later.ifelse(between(middle, last), between(first, middle - 1))

    return between(0, len(values) - 1)


def short_number(second: ir.IntegerValue, resolution: Resolution) -> ir.IntegerValue:
    """Step 5: the number of the week, day or hour; -1 before the year 1."""
    number = _whole(second, SECONDS[resolution])
    return ibis.cases((second >= 0, number), (second < 0, -1), else_=None)


def cycle_parts(second: ir.IntegerValue) -> dict[str, ir.IntegerValue]:
    """Step 5 for longer periods: how often the calendar repeated, and the day since it last did.

    It repeats every 400 years, counted from 1 March of the year 0.
    """
    days = _whole(second, DAY_SECONDS) + 306
    cycle = _whole(days, CYCLE_DAYS)
    return {"cycle": cycle, "place": days - cycle * CYCLE_DAYS}


def cycle_year(place: ir.IntegerValue) -> ir.IntegerValue:
    """Step 6: the year of the cycle, from March to February."""
    leaps = _whole(place, 1_460) - _whole(place, 36_524) + _whole(place, 146_096)
    return _whole(place - leaps, 365)


def month_number(
    cycle: ir.IntegerValue, place: ir.IntegerValue, year: ir.IntegerValue
) -> ir.IntegerValue:
    """Step 7: the month, numbered from the year 0 on."""
    day = place - (year * 365 + _whole(year, 4) - _whole(year, 100))
    return (cycle * 400 + year) * 12 + _whole(day * 5 + 2, 153) + 2


def period_code(number: ir.IntegerValue, attribute: Attribute) -> ir.IntegerValue:
    """Step 8: the code of the period of that number; null goes where no moment goes."""
    first, last = (ibis.literal(int(attribute.edges[place]), "int64") for place in (0, -1))
    out, end = attribute.out_of_domain_code, attribute.bin_count - 1
    return ibis.cases(
        (number.isnull(), attribute.unreadable_code),
        (number < first, 0 if out is None else out),
        (number > last, end if out is None else out),
        else_=number - first,
    ).cast("int32")


def moment_columns(table: ibis.Table, moments: Sequence[tuple[int, Attribute]]) -> ibis.Table:
    """Steps 2 to 8 for some columns: `text_n` becomes `code_n`, unless `given_n` has one."""
    if not moments:
        return table
    long = [each for each in moments if _resolution(each[1]) in MONTHS]
    short = [each for each in moments if _resolution(each[1]) not in MONTHS]
    table = _next(
        table, moments, ["text"], lambda _, text: clock_parts(text) | {"is": text.notnull()}
    )
    table = _next(
        table, moments, ["is", "year", "month", "day", "clock"],
        lambda _, found, *parts: {"written": found.ifelse(written_second(*parts), None)},
    )  # fmt: skip
    table = _next(
        table, moments, ["written", "offset"],
        lambda attribute, written, offset: {"second": local_second(written, offset, attribute)},
    )  # fmt: skip
    table = _next(
        table, short, ["second"],
        lambda attribute, second: {
            "number": short_number(second, _resolution(attribute))
        },
    )  # fmt: skip
    if long:
        table = _next(
            table, long, ["second"], lambda _, second: cycle_parts(second) | {"is": second >= 0}
        )
        table = _next(
            table, long, ["cycle", "place", "is"],
            lambda _, cycle, place, found: {
                "cycle": cycle, "place": place, "is": found, "year": cycle_year(place),
            },
        )  # fmt: skip
        table = _next(
            table, long, ["cycle", "place", "year", "is"],
            lambda attribute, *parts: {
                "number": ibis.cases(
                    (parts[3], _whole(month_number(*parts[:3]), MONTHS[_resolution(attribute)])),
                    (~parts[3], -1),
                    else_=None,
                )
            },
        )  # fmt: skip
    return _next(
        table, moments, ["number", "given"],
        lambda attribute, number, given: {
            "code": given.fill_null(period_code(number, attribute))
        },
    )  # fmt: skip


def _next(
    table: ibis.Table,
    moments: Sequence[tuple[int, Attribute]],
    used: Sequence[str],
    step: Callable[..., Mapping[str, ir.Value]],
) -> ibis.Table:
    """The table after one step of some columns: `used` are replaced by what the step gives."""
    made: dict[str, ir.Value] = {}
    gone = {f"{name}_{number}" for name in used for number, _ in moments}
    for number, attribute in moments:
        found = step(attribute, *(table[f"{name}_{number}"] for name in used))
        made |= {f"{name}_{number}": value for name, value in found.items()}
    kept = {name: table[name] for name in table.columns if name not in gone}
    return table.select(**kept, **made) if moments else table


def _resolution(attribute: Attribute) -> Resolution:
    if attribute.calendar is None:
        raise ValueError(f"{attribute.name!r} has no periods")
    return attribute.calendar.resolution
