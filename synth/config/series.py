"""A series of releases: one for every period of the calendar, declared once and charged as a whole.

What it costs follows from the configuration alone, before its first release: see `Composition`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, Self, get_args
from zoneinfo import ZoneInfo

from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import PERIOD, Choice, Whole, line, people, prose
from synth.config.schema.shapes import Either, Key, record
from synth.domain.periods import (
    DAY_SECONDS,
    FORMS,
    LAST_YEAR,
    RESOLUTIONS,
    Calendar,
    Resolution,
    period_of_day,
    period_start,
    read_period,
    write_period,
)
from synth.errors import Problem

CYCLE = "{cycle}"
MOST_PERIODS = 1_000
MOST_DELAY_DAYS = 366

Rows = Literal["new", "all"]
Rule = Literal["largest", "sum", "window"]
SelectedBy = Literal["where", "table", "path", "nothing"]


@dataclass(frozen=True)
class RenewalConfig:
    """What happens after the horizon: a bound for every window of periods, or other people."""

    window: Annotated[
        int | None,
        Whole("The guarantee holds for every so many periods in a row", 1, MOST_PERIODS),
    ] = None
    population: Annotated[
        str | None,
        people("The account of every later horizon; holds {cycle}: 2 for the second one"),
    ] = None
    source: Annotated[
        str | None, prose("Why those are other people, and who says so; published")
    ] = None

    def checked(self, path: Place, report: Report) -> Self:
        """One of the two, and for other people the reason."""
        if (self.window is None) == (self.population is None):
            report.add(
                path,
                expected="{window: ...}, or {population: ..., source: ...}",
                why="a series goes on in one way",
            )
            return self
        if self.window is not None and self.source is not None:
            report.add((*path, "source"), expected="it beside `population` alone")
        if self.population is not None and CYCLE not in self.population:
            report.add(
                (*path, "population"),
                expected="a name with {cycle}",
                why="every horizon is charged to people of its own, so each has its own name",
                fix=f"write population: {self.population}-{CYCLE}",
            )
        if self.population is not None and self.source is None:
            report.add(
                (*path, "source"),
                found="nothing",
                expected="the reason, because later horizons are charged to other people",
                why="who is among both loses twice what is promised",
                fix="say who leaves and who comes, and who says so; else leave `renewal` out",
            )
        return self


Renewal = Literal["end", "next"] | RenewalConfig


@dataclass(frozen=True, kw_only=True)
class SeriesConfig:
    """A release for every period, charged as one series."""

    name: Annotated[
        str | None, Key(line("The release id with {period} in it"), required=True, derived=True)
    ] = None
    period: Annotated[
        str | None, Key(line("The period of this release"), required=True, derived=True)
    ] = None
    selected_by: Annotated[
        SelectedBy | None,
        Key(
            Choice("What selects the records of a period", get_args(SelectedBy)),
            required=True,
            derived=True,
        ),
    ] = None
    table: Annotated[str | None, Key(line("The table with {period} in its name"), derived=True)] = (
        None
    )
    population: Annotated[
        str | None, Key(people("The account of the first horizon"), derived=True)
    ] = None
    every: Annotated[Resolution, Choice("How long the periods are", RESOLUTIONS[:-1])]
    first: Annotated[str, line("The first period, such as 2026-01; a week is its Monday")]
    rows: Annotated[
        Rows,
        Choice(
            "new: a release is about the records of its period; all: about all records so far",
            get_args(Rows),
        ),
    ]
    horizon: Annotated[
        int, Whole("How many periods are charged and approved together", 1, MOST_PERIODS)
    ]
    delay: Annotated[
        int, Whole("How many days after its end a period is due", 0, MOST_DELAY_DAYS)
    ] = 0
    max_periods: Annotated[
        int | None,
        Whole("In how many periods a person is counted at most: his first ones", 1, MOST_PERIODS),
    ] = None
    renewal: Annotated[
        Renewal,
        Either(
            "What happens after the horizon: the series ends, the next one begins, a bound holds "
            "for every window of periods, or other people are charged",
            "end, next, {window: ...} or {population: ..., source: ...}",
            single=Choice("The series ends, or the next horizon begins", ("end", "next")),
            record=record(RenewalConfig),
        ),
    ] = "end"

    def checked(self, path: Place, report: Report) -> Self:
        """The first period is one; a window is no longer than the horizon."""
        first = read_period(self.first, self.every)
        if first is None:
            report.add(
                (*path, "first"),
                expected=f"a {self.every}, such as {quoted(FORMS[self.every])}"
                + (", by the date of its Monday" if self.every == "week" else ""),
            )
        elif first + self.horizon > period_of_day(date.max.toordinal() - 1, self.every):
            report.add(
                (*path, "first"), expected=f"a horizon that ends before the year {LAST_YEAR} does"
            )
        renewal = self.renewal
        if (
            isinstance(renewal, RenewalConfig)
            and renewal.window is not None
            and renewal.window > self.horizon
        ):
            report.add(
                (*path, "renewal", "window"),
                expected=f"at most the horizon, {self.horizon}",
                why="the error and the budget are planned for one horizon",
                fix=f"write horizon: {renewal.window}, or a shorter window",
            )
        return self


@dataclass(frozen=True)
class Composition:
    """How the charges of the parts of a series come together; see `synth.privacy.population`."""

    rule: Rule
    """`largest`: the sum of the `most` largest; `window`: the largest sum of `most` consecutive
    parts; `sum`: of all."""
    most: int | None
    """None for `sum`."""

    def counted(self, parts: int) -> int:
        """How many of so many equal charges in a row one person loses at most."""
        return parts if self.most is None else min(parts, self.most)


@dataclass(frozen=True)
class SeriesPart:
    """Which part of a series a release is charged as: equal parts count once."""

    name: str
    period: str
    index: int
    part: int
    """The horizon, from 0, where one charge covers it; else the number of the period, from 1."""
    rule: Rule
    most: int | None
    definition: str
    """A hash of what decides which records are in which part: one name stands for one of them."""

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "name": self.name,
            "period": self.period,
            "index": self.index,
            "part": self.part,
            "rule": self.rule,
            "most": self.most,
            "definition": self.definition,
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> SeriesPart:
        """Read a part back; raises KeyError, TypeError or ValueError if it is damaged."""
        part = SeriesPart(**plain)
        numbers = [part.index, part.part] + ([] if part.most is None else [part.most])
        if any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError("parts of a series are numbered")
        if part.rule not in get_args(Rule) or (part.most is None) != (part.rule == "sum"):
            raise ValueError("charges of a series come together by a known rule")
        if part.most == 0 or not all(
            isinstance(text, str) for text in (part.name, part.period, part.definition)
        ):
            raise ValueError("a part of a series without a name")
        return part


@dataclass(frozen=True)
class PeriodSelection:
    """Which records count, and how often, by the period that a column of theirs lies in.

    Privacy: whether and how often a record counts depends on its own date and, with a unit of
    persons, on the records of that person alone.
    """

    column: str
    resolution: Resolution
    calendar: Calendar
    weights: tuple[tuple[int, int], ...]
    """(number of the period, weight of at least 1), ascending: a record counts that many times;
    records of other periods do not count at all."""
    bounded_from: int | None
    """With persons: the records of one of them from this period on, up to the largest of `weights`,
    are bounded together: the first `max_records` of them, those of earlier periods first, count at
    all. None: those within the selection are bounded among themselves."""
    max_periods: int | None
    """With persons: records count only in the first so many periods, from `series_first` on, in
    which the table has one of that person. None: in all."""
    series_first: int
    """The number of the first period of the series."""
    earlier_count: bool = False
    """Whether records from before the series count as those of its first period."""

    def __post_init__(self) -> None:
        numbers = [number for number, _ in self.weights]
        if numbers != sorted(set(numbers)) or any(weight < 1 for _, weight in self.weights):
            raise ValueError("every period once, in order, with a weight of at least 1")


@dataclass(frozen=True)
class Series:
    """A declared series. Its periods are numbered from 1 on, through all horizons."""

    name: str
    """The release id, with {period} left in."""
    every: Resolution
    first: int
    """The number of the first period, in the calendar."""
    rows: Rows
    horizon: int
    delay_days: int
    max_periods: int | None
    renewal: Renewal
    selected_by: SelectedBy
    is_about_persons: bool
    """Whether all records of a person are protected together."""
    definition: str
    """See `SeriesPart`."""
    time_zone: str = "UTC"
    """Whose clock ends a period."""

    @property
    def is_continual(self) -> bool:
        """Whether a release is put together from what every period adds: one charge a horizon."""
        return self.rows == "all" and self.selected_by == "where"

    @property
    def goes_in_order(self) -> bool:
        """Whether a period must be measured before any later one is.

        Privacy: in which periods a person is counted is decided by earlier ones; see
        `synth.curator.counting.selection`.
        """
        return self.is_continual or self.max_periods is not None

    @property
    def window(self) -> int | None:
        """For how many consecutive periods the guarantee holds; None without a window."""
        return self.renewal.window if isinstance(self.renewal, RenewalConfig) else None

    @property
    def ends_after(self) -> int | None:
        """The index of the last period; None if the series is renewed."""
        return self.horizon if self.renewal == "end" else None

    @property
    def composition(self) -> Composition:
        """How the charges of its parts come together.

        Privacy: a record is in one period only, so that new records lose the largest charge
        (parallel composition); a person in at most `max_periods` of them loses so many of the
        largest; everything else adds up.
        """
        if self.window is not None:
            return Composition("window", self.window)
        if not self.is_about_persons and (self.rows == "new" or self.is_continual):
            return Composition("largest", 1)
        if self.max_periods is not None:
            return Composition("largest", self.max_periods)
        return Composition("sum", None)

    @property
    def parts_in_horizon(self) -> int:
        """How many charges a whole horizon has."""
        return 1 if self.is_continual else self.horizon

    def part(self, index: int) -> SeriesPart:
        """The part that the release of a period is charged as."""
        composition = self.composition
        part = self.cycle(index) if self.is_continual else index
        label = self.label(index)
        rule, most = composition.rule, composition.most
        return SeriesPart(self.name, label, index, part, rule, most, self.definition)

    def period_number(self, index: int) -> int:
        """The number of the period in the calendar."""
        return self.first + index - 1

    def label(self, index: int) -> str:
        """What stands for {period}: such as 2026-q1."""
        return write_period(self.period_number(index), self.every).lower()

    def release_id(self, index: int) -> str:
        """The id of the release of a period."""
        return self.name.replace(PERIOD, self.label(index))

    def index(self, label: str) -> int:
        """The index of a period. Raises: ValueError for one that the series does not have."""
        number = read_period(label.upper(), self.every)
        if number is None or self.problem_of(label) is not None:
            raise ValueError("the series has no such period")
        return number - self.first + 1

    def problem_of(self, label: str) -> Problem | None:
        """Why the series has no such period; None if it has."""
        number = read_period(label.upper(), self.every)
        here, found = "--period", quoted(label)
        form = FORMS[self.every].lower()
        if number is None or label != label.lower():
            return Problem(None, here, found, f"a {self.every} of the series, such as `{form}`")
        index = number - self.first + 1
        if index < 1:
            first = quoted(self.label(1))
            return Problem(None, here, found, f"a {self.every} from the first one, {first}, on")
        if self.ends_after is not None and index > self.ends_after:
            return Problem(
                None,
                here,
                found,
                f"a {self.every} up to the last one, {quoted(self.label(self.ends_after))}",
                "the horizon of the series is what is planned, charged and approved",
                "declare what happens afterwards: series.renewal; or another series",
            )
        return None

    def cycle(self, index: int) -> int:
        """Which horizon a period is in, from 0."""
        return (index - 1) // self.horizon

    def within_cycle(self, index: int) -> int:
        """The number of a period within its horizon, from 1."""
        return (index - 1) % self.horizon + 1

    def population(self, index: int, declared: str) -> str:
        """The account that a period is charged to, where `declared` is that of the first."""
        renewal, cycle = self.renewal, self.cycle(index)
        if isinstance(renewal, RenewalConfig) and renewal.population is not None and cycle:
            return renewal.population.replace(CYCLE, str(cycle + 1))
        return declared

    def due_on(self, index: int) -> date:
        """The first UTC day on which the period has ended everywhere that it is counted in."""
        days = period_start(self.period_number(index) + 1, self.every) // DAY_SECONDS
        ends = datetime.combine(date.fromordinal(days + 1), datetime.min.time())
        if self.time_zone != "UTC":
            ends = ends.replace(tzinfo=ZoneInfo(self.time_zone)).astimezone(UTC)
        whole = ends.date() + timedelta(days=int(ends.time() != datetime.min.time()))
        return whole + timedelta(days=self.delay_days)

    def due_indices(self, today: date) -> Sequence[int]:
        """The periods that are due on a day, oldest first."""
        index = 0
        while index != self.ends_after and self.due_on(index + 1) <= today:
            index += 1
        return range(1, index + 1)

    def in_words(self) -> str:
        """The series in a line."""
        periods = "1 period" if self.horizon == 1 else f"{self.horizon} periods"
        rows = "the records of each" if self.rows == "new" else "all records so far"
        return (
            f"every {self.every} from {self.label(1)}, {periods}, {rows}; "
            f"afterwards: {self._renewal_in_words}"
        )

    @property
    def _renewal_in_words(self) -> str:
        if isinstance(self.renewal, str):
            return {"end": "the end", "next": "the next horizon"}[self.renewal]
        if self.window is not None:
            return f"a bound for every {self.window} periods in a row"
        return f"other people ({self.renewal.population})"
