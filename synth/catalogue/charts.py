"""Trends as pictures: places on a scale of 100 by 100, drawn by the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from synth.catalogue.document import NUMBERS, Account, Series

MOST_PANELS = 12
"""Values of a column that are drawn; of others it is said how many there are."""

MOST_POINTS = 120
"""Periods that are drawn, the last ones; all of them are in `series.json`."""

MOST_SHOWN = 6
"""Periods that a table of figures shows, the last ones."""

MOST_WHISKERS = 36
"""With more periods intervals are drawn as a band, not one by one."""

MARGIN = Fraction(3)


@dataclass(frozen=True)
class Point:
    """One estimate with its interval, in records; `place` is where its period stands in time."""

    place: int
    period: str
    estimate: int
    low: int
    high: int


@dataclass(frozen=True)
class Trend:
    """One quantity over time. Paths are of an SVG of 100 by 100; `top` is the count at its top."""

    label: str
    points: tuple[Point, ...]
    line: str
    dots: str
    whiskers: str
    band: str
    top: int
    words: str
    """The picture in one sentence, for who does not see it."""

    @property
    def last(self) -> Point:
        """The newest estimate."""
        return self.points[-1]

    @property
    def shown(self) -> dict[str, Point]:
        """The points by period, for a table of figures."""
        return {point.period: point for point in self.points}


@dataclass(frozen=True)
class ColumnTrends:
    """The trends of the values of one column."""

    column: str
    title: str
    level: str
    trends: tuple[Trend, ...]
    left_out: int
    """Values that are not drawn."""


def trend(label: str, points: Sequence[Point], places: tuple[int, int]) -> Trend:
    """Lay out one quantity; `places` are the first and the last on the axis of time.

    Requires: at least one point. Points may be missing where a period has none.
    """
    shown = tuple(points[-MOST_POINTS:])
    top = round_top(max(point.high for point in shown))

    def across(point: Point) -> str:
        return _x(point.place, places)

    def up(count: int) -> str:
        return _short(100 - (100 - 2 * MARGIN) * Fraction(count, top) - MARGIN)

    estimates = [f"{across(each)} {up(each.estimate)}" for each in shown]
    whiskers = band = ""
    if len(shown) <= MOST_WHISKERS:
        whiskers = "".join(f"M{across(p)} {up(p.low)}V{up(p.high)}" for p in shown)
    else:
        upper = [f"{across(p)} {up(p.high)}" for p in shown]
        lower = [f"{across(p)} {up(p.low)}" for p in reversed(shown)]
        band = "M" + "L".join([*upper, *lower]) + "Z"
    return Trend(
        label,
        shown,
        _line(shown, estimates),
        "".join(f"M{each}h0" for each in estimates) if len(shown) <= MOST_WHISKERS else "",
        whiskers,
        band,
        top,
        _words(label, shown),
    )


def round_top(count: int) -> int:
    """A round number that is not below a count, nor below 10: the end of its scale."""
    power: int = 10 ** max(0, len(str(max(1, count))) - 2)
    steps = (10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)
    return next(step * power for step in steps if step * power >= count)


def _line(shown: Sequence[Point], estimates: Sequence[str]) -> str:
    """A line through the estimates, broken where a period has none."""
    steps = [later.place - earlier.place for earlier, later in pairwise(shown)]
    usual = min(steps, default=0)
    joints = ["M", *("L" if step == usual else "M" for step in steps)]
    drawn = [joint + place for joint, place in zip(joints, estimates, strict=True)]
    return "".join(drawn) if "L" in joints else ""


def _words(label: str, shown: Sequence[Point]) -> str:
    first, last = shown[0], shown[-1]
    end = f"{last.estimate:,} ({last.low:,} to {last.high:,}) in {last.period}"
    if len(shown) == 1:
        return f"{label}: {end}"
    return f"{label}: from {first.estimate:,} in {first.period} to {end}"


def _x(place: int, places: tuple[int, int]) -> str:
    first, last = places
    if first == last:
        return "50"
    return _short(MARGIN + (100 - 2 * MARGIN) * Fraction(place - first, last - first))


def _short(number: Fraction) -> str:
    """Two decimals, without zeros at the end."""
    return f"{float(number):.2f}".rstrip("0").rstrip(".")


def period_names(series: Series) -> list[str]:
    """How each release is called on the axis: by its period, else by its id."""
    return [
        period or release["release_id"]
        for period, release in zip(series.periods, series.releases, strict=True)
    ]


def places_of(series: Series) -> tuple[int, int]:
    """The first and the last place on the axis of time of what is drawn."""
    shown = series.places[-MOST_POINTS:]
    return min(shown), max(shown)


INCREMENT = "increment"
"""Where an entry holds the tables of the last period alone."""


def _part(release: dict[str, Any], part: str) -> dict[str, Any]:
    """The records and tables of a release: of all that it counts, or of a part of that."""
    found: dict[str, Any] = release.get(part, {}) if part else release
    return found


def records_trend(series: Series, part: str = "") -> Trend | None:
    """The number of records over time; None if no release says it."""
    points = [
        Point(place, name, *(known["records"][each][0] for each in NUMBERS))
        for place, name, release in _in_time(series)
        if "records" in (known := _part(release, part))
    ]
    return trend("Records", points, places_of(series)) if points else None


def column_trends(series: Series, part: str = "") -> list[ColumnTrends]:
    """The trends of every column of the last release that has tables, in its order.

    A value is drawn if that release has it: with more than `MOST_PANELS` the most frequent ones.
    """
    parts = [_part(release, part) for release in series.releases]
    known = [each["tables"] for each in parts if each.get("tables")]
    if not known:
        return []
    points: dict[tuple[str, str, str], list[Point]] = {}
    for place, name, release in _in_time(series):
        for table in _part(release, part).get("tables", []):
            lists = (table[each] for each in ("labels", *NUMBERS))
            for label, *numbers in zip(*lists, strict=True):
                key = table["column"], table["level"], label
                points.setdefault(key, []).append(Point(place, name, *numbers))
    return [_column(table, points, places_of(series)) for table in known[-1]]


def _column(
    table: dict[str, Any],
    points: dict[tuple[str, str, str], list[Point]],
    places: tuple[int, int],
) -> ColumnTrends:
    numbers = range(len(table["labels"]))
    chosen = sorted(numbers, key=lambda each: -table["estimates"][each])[:MOST_PANELS]
    if table["ordered"] or len(numbers) <= MOST_PANELS + 1:
        chosen = list(numbers)
    drawn = [table["labels"][each] for each in chosen]
    return ColumnTrends(
        table["column"],
        table["title"],
        table["level"],
        tuple(
            trend(label, points[table["column"], table["level"], label], places) for label in drawn
        ),
        len(numbers) - len(drawn),
    )


def _in_time(series: Series) -> list[tuple[int, str, dict[str, Any]]]:
    in_time = zip(series.places, period_names(series), series.releases, strict=True)
    return list(in_time)[-MOST_POINTS:]


@dataclass(frozen=True)
class Spending:
    """What an account has spent, charge by charge, as steps below its cap.

    Places are per cent of the height; `steps` is a path over 100 by 100.
    """

    account: Account
    steps: str
    area: str
    cap: str
    top: Fraction
    spent: Fraction
    share: int
    """Spent of the cap, in per cent, rounded up."""


def spending(account: Account) -> Spending:
    """Lay out the epsilon that was spent after every release, in the order of the charges."""
    limit = _epsilon(account.last["account"]["cap"])
    spent = [_epsilon(release["account"]["spent"]) for release in account.releases]
    top = max(limit, *spent, Fraction(1, 10**9))

    def up(epsilon: Fraction) -> str:
        return _short(100 - (100 - 2 * MARGIN) * epsilon / top - MARGIN)

    wide = Fraction(100, len(spent))
    before = account.releases[0]["account"]["spent"]
    first = _epsilon(before) - _epsilon(account.releases[0]["privacy"])
    path = [f"M0 {up(max(first, Fraction(0)))}"]
    for number, each in enumerate(spent):
        path.append(f"H{_short(wide * number + wide / 2)}V{up(each)}")
    path.append("H100")
    steps = "".join(path)
    share = -(-spent[-1] * 100 // limit) if limit else 100
    return Spending(account, steps, f"{steps}V100H0Z", up(limit), top, spent[-1], int(share))


def _epsilon(budget: dict[str, Any]) -> Fraction:
    return Fraction(budget["epsilon"]["fraction"])
