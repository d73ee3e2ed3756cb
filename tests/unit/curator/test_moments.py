"""Dates and times: the code of every text, against the slow definition, value by value."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import cycle
from zoneinfo import ZoneInfo

import ibis
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config import Dialect, FileSource
from synth.curator.counting.lookup import record_codes
from synth.curator.counting.moments import Shifts, _shifts
from synth.curator.engine import Records
from synth.curator.files.duckdb_engine import as_number, duckdb_engine
from synth.domain import Attribute, Universe
from synth.domain.attribute import period_level
from synth.domain.periods import RESOLUTIONS, WIDER, Calendar, period_start, read_period

EPOCH = datetime.datetime(1, 1, 1)

BOUNDS = {
    "year": ("1900", "2060"),
    "quarter": ("1895-Q2", "2050-Q3"),
    "month": ("1910-02", "2040-12"),
    "week": ("1969-12-29", "2030-12-30"),
    "day": ("1899-12-31", "2050-03-01"),
    "hour": ("2019-12-31T23:00:00", "2021-01-01T05:00:00"),
}

TEXTS = [
    "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-02-30", "2024-04-31",
    "2024-13-01", "2024-00-10", "2024-01-00", "2024-12-31", "2024-1-1", "24-01-01", "0000-01-01",
    "0001-01-01", "9999-12-31", "10000-01-01", "-2024-01-01", "+2024-01-01", "2024-01-01 ",
    " 2024-01-01", "2024-01-01\n", "2024-01-01|", "2024-01-01|\n", "2024-01-01T", "2024-01-01T1",
    "2020-06-01T00", "2020-06-01T13", "2020-06-01T13:30", "2020-06-01T13:30:59",
    "2020-06-01 13:30:59.999999999", "2020-06-01T13:30:60", "2020-06-01T13:60", "2020-06-01T24:00",
    "2020-06-01T13:30:59,5", "2020-06-01T13:30:59.", "2020-06-01t13:30", "2020-06-01T13Z",
    "2020-06-01T13:30Z", "2020-06-01T13+02", "2020-06-01T13:30+0200", "2020-06-01T13:30:00+02:00",
    "2020-06-01T13:30:00-14:00", "2020-06-01 13:30:00.5-09:30", "2020-06-01T13:30:00+24:00",
    "2020-06-01T13:30:00+2", "2020-06-01+02:00", "2020-06-01Z", "2020-12-31T23:59:60Z",
    "2020-12-31T23:59:60", "2020-01-01T00:00:00+14:00", "2020-01-01T00:00:00-12:00",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:60",
    "2020-03-29T00:59:59Z", "2020-03-29T01:00:00Z", "2020-10-25T00:30:00Z", "2020-10-25T01:30:00Z",
    "2020-03-29T02:30:00", "2020-10-25T02:30:00", "2024", "2024-05", "2024-Q2", "2024-Q5", "0999",
    "20240131", "31.01.2024", "1/2/2024", "2024-02", "infinity", "-infinity", "NaT", "nan", "now",
    "", "x", "NULL", "2024-01-31 BC", "0044-03-15 00:00:00 BC", "２０２４-01-01", "2024‐01‐01",
    "2024-01-01\x00", "\x002024-01-01", "99", "9999-12-31 00:00:00", "9999-12-31T00:00:00", "1970",
    "2" * 5000, "2024-01-01T00:00:00" + "0" * 2000, "2020-W05", "2020-W05-1", "1999-12-31T23:59",
]  # fmt: skip


def attribute(resolution, zone="UTC", written="", out_of_domain="missing", bounds=None):
    first, last = (read_period(text, resolution) for text in bounds or BOUNDS[resolution])
    edges = (*map(Fraction, range(first, last + 1)), Fraction(last))
    return Attribute(
        "v",
        "datetime",
        edges=edges, missing=("", "99", "9999-12-31"),
        out_of_domain=out_of_domain, calendar=Calendar(resolution, written, zone),
    )  # fmt: skip


ISO = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?)?"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
SHORT = {
    "year": (r"(\d{4})", r"(\d{4}-\d{2})"),
    "quarter": (r"(\d{4}-\d{2})", r"(\d{4}-Q[1-4])"),
    "month": (r"(\d{4}-\d{2})",),
}


def slow_code(text, attribute) -> int:
    """What a text counts for, by Python's own dates and time zones."""
    midnight = r"9999-12-31([ T]00:00:00Z?)?"
    if text in ("", "99") or re.fullmatch(midnight, text):
        return attribute.missing_code
    second = slow_second(text, attribute)
    if second is None:
        return attribute.unreadable_code
    resolution = attribute.calendar.resolution
    starts = [period_start(int(e), resolution) for e in (attribute.edges[0], attribute.edges[-1])]
    end = period_start(int(attribute.edges[-1]) + 1, resolution)
    if second < starts[0]:
        return 0 if attribute.out_of_domain_code is None else attribute.out_of_domain_code
    if second >= end:
        last = attribute.bin_count - 1
        return last if attribute.out_of_domain_code is None else attribute.out_of_domain_code
    moment = EPOCH + datetime.timedelta(seconds=second)
    number = {
        "year": moment.year,
        "quarter": 4 * moment.year + (moment.month - 1) // 3,
        "month": 12 * moment.year + moment.month - 1,
        "week": (moment.toordinal() - 1) // 7,
        "day": moment.toordinal() - 1,
        "hour": 24 * (moment.toordinal() - 1) + moment.hour,
    }[resolution]
    return number - int(attribute.edges[0])


def slow_second(text, attribute) -> int | None:
    for pattern in SHORT.get(attribute.calendar.resolution, ()):
        if re.fullmatch(pattern, text, re.ASCII):
            quarter = re.fullmatch(r"(\d{4})-Q(\d)", text, re.ASCII)
            if quarter:
                text = f"{quarter[1]}-{3 * int(quarter[2]) - 2:02}"
            text += "-01-01" if len(text) == 4 else "-01"
    found = ISO.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    try:
        day = datetime.date.fromisoformat(found["day"])
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    seconds = (day.toordinal() - 1) * 86_400 + hour * 3_600 + minute * 60 + second
    if found["zone"] is None:
        return seconds
    offset = found["zone"].replace(":", "")
    if offset != "Z":
        if int(offset[1:3]) > 23 or int(offset[3:] or 0) > 59:
            return None
        ahead = int(offset[1:3]) * 3_600 + int(offset[3:] or 0) * 60
        seconds += ahead if offset[0] == "-" else -ahead
    zone = ZoneInfo(attribute.calendar.time_zone)
    try:
        moment = EPOCH.replace(tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
        shift = moment.astimezone(zone).utcoffset()
    except OverflowError:  # beyond the bounds of every column, whatever the zone
        return seconds
    return seconds + int(shift.total_seconds())


def coded(values, kind, attributes, tmp_path) -> list[list[int]]:
    """The codes of the values under every attribute, by the expression on DuckDB."""
    source = FileSource(tmp_path / "x", Dialect(), "keep", "")
    named = [replace(each, name=f"v{number}") for number, each in enumerate(attributes)]
    with duckdb_engine(source, (), tmp_path) as engine:
        held = pa.table({"value": pa.array(values, kind), "id": pa.array(range(len(values)))})
        engine.connection.register("held", held)
        table = ibis.table(ibis.Schema.from_pyarrow(held.schema), name="held")
        table = table.select(**{each.name: table.value for each in named}, id=table.id)
        records = Records(table, partial(as_number, table))
        codes = record_codes(engine, records, Universe(tuple(named)), {"id": table.id})
        wide = codes.select(**{each: codes[each].cast("int64") for each in codes.columns})
        rows = [row for batch in engine.batches(wide) for row in batch.to_pylist()]
    rows.sort(key=lambda row: row["id"])
    return [[row[f"code_{number}"] for row in rows] for number in range(len(named))]


ZONES = ("Europe/Berlin", "Asia/Kathmandu", "America/St_Johns")


@pytest.mark.parametrize("rule", ["missing", "clamp"])
def test_every_text_has_the_code_of_the_slow_definition(rule, tmp_path):
    """Every resolution with both rules for what is out of the domain: in UTC, and by turns in the
    zones with shifts."""
    zones = cycle(["UTC"] if rule == "missing" else ZONES)
    attributes = [
        attribute(resolution, zone, out_of_domain=rule)
        for resolution, zone in zip(RESOLUTIONS, zones, strict=False)
    ]
    found = coded(TEXTS, pa.string(), attributes, tmp_path)
    for each, codes in zip(attributes, found, strict=True):
        expected = [slow_code(text, each) for text in TEXTS]
        assert list(zip(TEXTS, codes, strict=True)) == list(zip(TEXTS, expected, strict=True))


@settings(max_examples=len(RESOLUTIONS))
@given(
    moments=st.lists(st.datetimes(timezones=st.none() | st.timezones()), min_size=1, max_size=30),
    zone=st.timezone_keys(allow_prefix=False),
    resolution=st.sampled_from(RESOLUTIONS),
)
def test_any_moment_in_any_zone(moments, zone, resolution, tmp_path_factory):
    texts = []
    for moment in moments:
        text = moment.isoformat()
        texts.append(re.sub(r"([+-]\d\d:\d\d)[:.0-9]+$", r"\1", text))  # seconds of old offsets
    short = {"year": ("1990", "2040"), "quarter": ("1990-Q1", "2040-Q1")}
    short |= {"month": ("1990-02", "2010-11"), "day": ("2001-01-01", "2012-12-31")}
    bounds = short.get(resolution)
    one = attribute(resolution, zone, out_of_domain="clamp", bounds=bounds)
    (found,) = coded(texts, pa.string(), [one], tmp_path_factory.mktemp("moments"))
    assert found == [slow_code(text, one) for text in texts]


def test_every_day_of_a_cycle_of_the_calendar(tmp_path):
    first = datetime.date(1970, 1, 1).toordinal()
    days = [datetime.date.fromordinal(first + number) for number in range(0, 146_097 + 366, 1)]
    one = attribute("day", bounds=("1970-01-01", "2243-01-01"), out_of_domain="clamp")
    (found,) = coded([day.isoformat() for day in days], pa.string(), [one], tmp_path)
    assert found == [min(number, one.bin_count - 1) for number in range(len(days))]


FORMATS = [
    ("%d.%m.%Y", "31.1.2024", "2024-01-31"),
    ("%d.%m.%Y", "01.12.0999", "0999-12-01"),
    ("%m/%d/%Y", "2/29/2024", "2024-02-29"),
    ("%Y%m%d", "20240131", "2024-01-31"),
    ("%y%m%d", "680229", "2068-02-29"),
    ("%y%m%d", "690228", "1969-02-28"),
    ("%d%b%Y", "07JAN1999", "1999-01-07"),
    ("%d %b %Y", "7 deC 1999", "1999-12-07"),
    ("%Y-%m-%dT%H:%M:%S.%f%z", "2024-01-31T23:30:00.5-0100", "2024-02-01"),
    ("%H:%M %d/%m/%Y", "9:05 31/1/2024", "2024-01-31"),
]


def test_declared_formats(tmp_path):
    """A text in a format is that day, and any other text none."""
    bounds = {True: ("1950-01-01", "2100-01-01"), False: ("0900-01-01", "1000-01-01")}
    attributes = [
        attribute("day", written=written, bounds=bounds[day > "1000"])
        for written, _, day in FORMATS
    ]
    texts = [text for _, text, _ in FORMATS]
    others = [
        other for text in texts for other in (f"{text} ", f" {text}", f"{text}\n", f"{text}|")
    ]
    others += [
        "2024-01-31", "32.13.2024", "30.2.2024", "2/30/2024", "20240230", "00.00.0000", "31.1.24",
        "", None, "0/0/0000", "01FOO1999",
    ]  # fmt: skip
    found = coded([*texts, *others], pa.string(), attributes, tmp_path)
    for (written, _, day), one, codes in zip(FORMATS, attributes, found, strict=True):
        expected = [
            one.code_of(its_day)
            if (each, its_day > "1000") == (written, day > "1000")
            else one.missing_code
            for each, _, its_day in FORMATS
        ]
        assert codes == [*expected, *[one.missing_code] * len(others)], written


def test_whole_numbers_are_read_as_their_digits(tmp_path):
    years = attribute("year")
    days = attribute("day", written="%Y%m%d")
    values = [2024, 20240131, 99, -2024, 0, 1, 2**62, None, 20240230]
    for kind in (pa.int64(), pa.float64()):
        whole = pa.types.is_integer(kind)
        if not pa.types.is_integer(kind):
            values = [*values, float("nan"), float("inf"), -float("inf"), 2024.5, 1e300]
        held = [value if whole or value is None else float(value) for value in values]
        year_codes, day_codes = coded(held, kind, [years, days], tmp_path)
        out = years.missing_code
        assert year_codes == [2024 - 1900, *[out] * (len(values) - 1)]
        january = days.code_of("2024-01-31")
        assert day_codes == [days.missing_code, january, *[days.missing_code] * (len(values) - 2)]


def test_shifts_are_those_of_the_time_zone():
    start, end = (period_start(read_period(text, "year"), "year") for text in ("2020", "2021"))
    shifts = _shifts(start, end, "Europe/Berlin")
    assert shifts.first == 3_600
    assert shifts.ahead == (7_200, 3_600)
    assert [str(EPOCH + datetime.timedelta(seconds=each)) for each in shifts.since] == [
        "2020-03-29 01:00:00", "2020-10-25 01:00:00",
    ]  # fmt: skip
    assert _shifts(start, end, "UTC") == Shifts(0, (), ())


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_periods_are_written_as_they_are_read(resolution):
    one = attribute(resolution)
    for code in {0, 1, one.bin_count // 2, one.bin_count - 1}:
        assert one.code_of(one.label(code)) == code
        assert read_period(one.label(code), resolution) == one.edges[code]
    for text in ("", "2024-1", "0000", "0000-01", "0000-01-01", "2024-00", "2024-13", "2024-02-30",
                 "2024-Q0", "2024-Q5", "2024-01-30x", "２０２４", "2024-01-31T24:00:00",
                 "2024-01-31T13:30:00", "2024-W05"):  # fmt: skip
        assert read_period(text, resolution) is None


@pytest.mark.parametrize(
    ("resolution", "wider"), [(own, wider) for own in RESOLUTIONS for wider in WIDER[own]]
)
def test_wider_periods_hold_whole_ones(resolution, wider):

    one = attribute(
        resolution, bounds=None if resolution != "day" else ("2019-12-30", "2021-02-05")
    )
    level = period_level(one, "wider", wider)
    assert level.labels[-1] == "missing"
    assert len(level.group_of) == one.size
    for code, group in enumerate(level.group_of[:-1]):
        start = EPOCH + datetime.timedelta(seconds=period_start(int(one.edges[code]), resolution))
        expected = {
            "year": f"{start.year:04}",
            "quarter": f"{start.year:04}-Q{(start.month + 2) // 3}",
            "month": f"{start.year:04}-{start.month:02}",
            "day": start.date().isoformat(),
            "week": (start.date() - datetime.timedelta(days=start.weekday())).isoformat(),
        }[wider]
        assert level.labels[group].partition("/")[0] == expected
