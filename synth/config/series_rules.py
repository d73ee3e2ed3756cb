"""What a series and the other sections must agree on, so that its cost is what is charged.

The cost of every horizon is public arithmetic: a series that its account cannot hold is refused
before its first release.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from synth.config.cells import KnownTotal
from synth.config.edges import ZONED_YEARS, checked_calendar
from synth.config.guarantee import (
    LedgerConfig,
    PersonUnit,
    PrivacyConfig,
    may_overlap,
    place_of_records,
    refuse_overlap,
)
from synth.config.release import OutputConfig
from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import PERIOD
from synth.config.series import RenewalConfig, SelectedBy, Series, SeriesConfig
from synth.config.source import PARQUET_FILES, Source
from synth.config.strategy import MeasuredTables, StrategyWord
from synth.domain import format_number
from synth.domain.periods import Calendar, read_period
from synth.strict_json import canonical_hash

_HERE: Place = ("series",)
_WHERE: Place = ("source", "where")


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The sections that a series depends on; None where one has problems of its own."""

    series: SeriesConfig | None
    source: Source | None
    privacy: PrivacyConfig | None
    ledger: LedgerConfig | None
    output: OutputConfig | None
    strategy: StrategyWord | MeasuredTables | None
    totals: tuple[KnownTotal, ...] | None


def build_series(written: Surroundings, report: Report) -> Series | None:
    """The series as it takes effect; every rule that it breaks is reported."""
    source, series = written.source, written.series
    if source is None or written.privacy is None:
        return None
    if not report.is_written(_HERE):
        _check_without_series(source, report)
        return None
    if series is None or (first := read_period(series.first, series.every)) is None:
        return None
    if source.where is not None:
        checked_calendar(
            "date", series.every, source.where.format, source.where.time_zone, _WHERE, report
        )
    name = series.name if report.public else report.text_at(("release", "id"))
    selected_by = series.selected_by if report.public else _selected_by(source, report)
    built = Series(
        name=name or "",
        every=series.every,
        first=first,
        rows=series.rows,
        horizon=series.horizon,
        delay_days=series.delay,
        max_periods=series.max_periods,
        renewal=series.renewal,
        selected_by=selected_by or "nothing",
        is_about_persons=isinstance(written.privacy.unit, PersonUnit),
        definition=_definition(series, selected_by or "nothing", source, report),
        time_zone="UTC" if source.where is None else source.where.time_zone,
    )
    before = report.count
    if not report.public:
        _check_selection(built, source, report)
    _check_renewal(built, report)
    _check_unit(built, written.privacy, report)
    if built.is_continual:
        _check_continual(written, report)
    if written.ledger is not None:
        _check_ledger(written.ledger, report)
        if report.count == before:
            _check_caps(built, written.privacy, written.ledger, written.strategy, report)
    _check_period(built, series, report)
    return built


def _definition(
    series: SeriesConfig, selected_by: SelectedBy, source: Source, report: Report
) -> str:
    """A hash of what decides which part of the series a record is in.

    Privacy: parts are disjoint, and a person is in a bounded number of them, only if all releases
    of the series divide the records alike. How many periods a horizon has decides that only where
    one charge covers them.
    """
    is_continual = series.rows == "all" and selected_by == "where"
    table = series.table if report.public else _dated_table(source, report)
    if table is None and (source.spark is None or not PARQUET_FILES.fullmatch(source.spark.table)):
        table = source.table if source.spark is None else source.spark.table
    return canonical_hash(
        {
            "every": series.every,
            "first": series.first,
            "rows": series.rows,
            "horizon": series.horizon if is_continual else None,
            "max_periods": series.max_periods,
            "selected_by": selected_by,
            "table": table,
            "where": None if source.where is None else asdict(source.where),
        }
    )


def _dated_table(source: Source, report: Report) -> str | None:
    """The table, if {period} is in its name."""
    steps, is_address = place_of_records(source)
    text = report.text_at(("source", *steps))
    return text if PERIOD in text and not is_address and steps != ("frame",) else None


def _selected_by(source: Source, report: Report) -> SelectedBy:
    """What tells the records of a period from others."""
    if source.where is not None:
        return "where"
    steps, is_address = place_of_records(source)
    if PERIOD in report.text_at(("source", *steps)):
        return "path" if is_address else "table"
    return "nothing"


def _check_without_series(source: Source, report: Report) -> None:
    if source.where is not None:
        report.add(
            _WHERE,
            found="the key `where`",
            expected="it beside a `series`, which says what the periods are",
            fix="add `series`: {every: month, first: 2026-01, rows: new, horizon: 12}",
        )
    part = report.text_at(("ledger", "disjoint_part", "name"))
    is_dated = PERIOD in report.text_at(("release", "id")) and PERIOD not in part
    is_filled = report.period is not None or report.keeps_period
    if report.public or source.frame or source.where is not None or not is_dated or not is_filled:
        return
    if _selected_by(source, report) == "nothing":
        steps, _ = place_of_records(source)
        report.add(
            ("release", "id"),
            expected=f"{{period}} in source.{'.'.join(steps)} as well, or a `series`",
            why="else every period publishes the same records again, and is charged for them",
            fix="select the records of a period: {period} in the source, or a series with "
            "source.where; if the whole table is meant every time: a series with rows: all",
        )


def _check_selection(series: Series, source: Source, report: Report) -> None:
    """Every period has records of its own, unless all are meant."""
    if PERIOD not in series.name:
        report.add(
            ("release", "id"),
            expected="{period} in the release id, because there is a `series`",
            why="every period is a release of its own, with a name of its own",
            fix=f"write id: {series.name}-{{period}}, or leave `series` out",
        )
    steps, _ = place_of_records(source)
    if series.rows == "new" and series.selected_by == "nothing":
        key = ".".join(steps)
        report.add(
            (*_HERE, "rows"),
            expected=f"`all`, or something that selects the records of a period: source.where, or "
            f"{{period}} in source.{key}",
            why="else every period measures the same records, and is charged as if it did not",
            fix="write where: {column: ..., within: period} in `source`, or rows: all",
        )
    place = report.text_at(("source", *steps))
    if series.rows == "new" and series.selected_by == "path" and may_overlap(place):
        refuse_overlap(("source", *steps), report, or_else=", or write source.where")
    if source.where is None:
        return
    if source.disposal == "delete":
        report.add(
            ("source", "disposal"),
            expected="keep, because source.where selects some of the records",
            why="the files hold the records of other periods, too",
            fix="write disposal: keep, with a disposal_reason",
        )
    years = (series.label(1)[:4], series.label(series.horizon)[:4])
    if source.where.time_zone != "UTC" and any(int(year) not in ZONED_YEARS for year in years):
        report.add(
            (*_HERE, "first"),
            expected=f"periods of the years {ZONED_YEARS[0]} to {ZONED_YEARS[-1]}, or no "
            "`time_zone`",
            why="nobody knows the time zones of other years",
        )


def _check_renewal(series: Series, report: Report) -> None:
    here = (*_HERE, "renewal")
    if series.window is not None and series.is_continual:
        report.add(
            here,
            expected="end, next or {population: ...}, because all records so far are released",
            why="one charge covers the horizon, and no release forgets an earlier period",
            fix="write renewal: next: every horizon is about the records of its own periods",
        )
    elif (
        series.window is not None
        and series.composition.most is not None
        and (series.rows == "new" and not series.is_about_persons)
    ):
        report.add(
            here,
            expected="end or next, because a record is in one period only",
            why="the largest charge is all that a record loses for ever; a window promises less",
            fix="write renewal: next",
        )
    elif series.window is not None and series.max_periods is not None:
        report.add(
            here,
            expected="end or next, because `max_periods` bounds what a person loses for ever",
            why="one rule says what the charges come to",
            fix="write renewal: next, or leave `max_periods` out",
        )
    if series.renewal == "next" and series.rows == "all" and not series.is_continual:
        report.add(
            here,
            expected="end, {window: ...} or {population: ...}, because every release is about all "
            "records",
            why="without source.where the next horizon has no records of its own",
            fix="write source.where: {column: ..., within: period}",
        )


def _check_unit(series: Series, privacy: PrivacyConfig, report: Report) -> None:
    here = (*_HERE, "max_periods")
    if series.max_periods is not None:
        if not series.is_about_persons:
            report.add(
                here,
                expected="it beside privacy.unit: {column: ..., max_records: ...} alone",
                why="a record is in one period only",
                fix="leave `max_periods` out",
            )
        elif series.rows != "new" or series.selected_by != "where":
            report.add(
                here,
                expected="it beside rows: new and source.where alone",
                why="in which periods a person has records is seen where one table holds all",
                fix="write source.where: {column: ..., within: period}, or leave `max_periods` out",
            )
    if privacy.neighbours == "replace-one" and not (
        series.rows == "all" and series.selected_by != "where"
    ):
        report.add(
            ("privacy", "neighbours"),
            expected="add-remove, because every period has records of its own",
            why="who is replaced may leave one period and enter another, which changes both",
            fix="write neighbours: add-remove",
        )


def _check_continual(written: Surroundings, report: Report) -> None:
    """What the sums of increments of a horizon cannot have."""
    why = "the counts of a period are put together from what every period so far has added"
    if written.totals:
        report.add(
            ("public_totals",),
            found="public totals",
            expected="none, because all records so far are released again and again",
            why=f"{why}, and totals change from period to period",
            fix="leave `public_totals` out",
        )
    if written.output is not None and written.output.rows is not None:
        report.add(
            ("output", "rows"),
            expected="estimated, because the table grows",
            why=why,
            fix="leave `rows` out",
        )
    if written.strategy in ("adaptive", "sparse"):
        report.add(
            ("strategy",),
            expected="auto, identity or tables, because all records so far are released again and "
            "again",
            why=f"{why}: all periods measure the same tables, with every cell of them",
            fix="write strategy: auto",
        )


def _check_ledger(ledger: LedgerConfig, report: Report) -> None:
    if ledger.disjoint_part is not None:
        report.add(
            ("ledger", "disjoint_part"),
            found="the key `disjoint_part`",
            expected="it without a `series`",
            why="the series says by itself what its periods have in common",
            fix="leave `disjoint_part` out; series.rows: new charges records of their own once",
        )


def _check_caps(
    series: Series,
    privacy: PrivacyConfig,
    ledger: LedgerConfig,
    strategy: StrategyWord | MeasuredTables | None,
    report: Report,
) -> None:
    """A whole horizon fits under the caps: what would be refused later is refused now."""
    counted = series.composition.counted(series.parts_in_horizon)
    window = " for a window" if series.window is not None else ""
    for cap, each, name in (
        (ledger.epsilon_cap, privacy.epsilon, "epsilon"),
        (ledger.delta_cap, Fraction(0) if strategy == "identity" else privacy.delta, "delta"),
    ):
        if each and counted * each > cap and counted > 1:
            report.add(
                ("ledger", f"{name}_cap"),
                expected=f"at least {format_number(counted * each)}: {counted} charges of {name} "
                f"{format_number(each)}{window}",
                why=f"the charge of period {int(cap / each) + 1} would be refused",
                fix=f"lower privacy.{name} to {format_number(cap / counted)} or less, or shorten "
                + ("the window" if window else "the horizon"),
            )


def _check_period(series: Series, written: SeriesConfig, report: Report) -> None:
    """The period is one of the series; of a manifest also that its names are those of a period."""
    label = written.period if report.public else report.period
    if label is None:
        return
    problem = series.problem_of(label)
    if problem is not None:
        report.add(
            ("release", "id"),
            found=f"--period {problem.found}",
            expected=problem.expected,
            why=problem.why,
            fix=problem.fix,
        )
    elif report.public and report.text_at(("release", "id")) != series.release_id(
        series.index(label)
    ):
        report.add(("release", "id"), expected=f"the id of period {quoted(label)} of the series")


def charged_ledger(ledger: LedgerConfig, series: Series, index: int) -> LedgerConfig:
    """The account that a period is charged to, with its caps."""
    return replace(ledger, population=series.population(index, ledger.population))


def dated(
    written: SeriesConfig, series: Series, index: int, source: Source, report: Report
) -> SeriesConfig:
    """The section as it is published: with what {period} stands for, and what it was written in."""
    if report.public:
        return written
    population = None
    if isinstance(series.renewal, RenewalConfig) and series.renewal.population is not None:
        population = report.text_at(("ledger", "population"))
    return replace(
        written,
        name=series.name,
        period=series.label(index),
        selected_by=series.selected_by,
        table=_dated_table(source, report),
        population=population,
    )


def series_hash(public: dict[str, Any]) -> str:
    """The hash of the public form of a series, with {period} where it is written.

    Ensures: it is the same for all periods of all horizons, and covers everything else that the
    hash of a configuration covers.
    """
    series = dict(public["series"])
    of_series = {**public, "series": series, "release": {**public["release"], "id": series["name"]}}
    del series["period"]
    if table := series.get("table"):
        source = dict(public["source"])
        if "spark" in source:
            source["spark"] = {**source["spark"], "table": table}
        else:
            source["table"] = table
        of_series["source"] = source
    if population := series.get("population"):
        of_series["ledger"] = {**public["ledger"], "population": population}
    return canonical_hash(of_series)


_SAID_OF_COLUMNS = ("title", "description", "labels", "source")


def counted_hash(public: dict[str, Any]) -> str:
    """The hash of what decides the counts of a series that are added up over periods.

    Ensures: it is the same for all periods, and covers the cells, the unit, the budget, the column
    that tells the period, the first period and the horizon; words about columns may change.
    """
    series, privacy = public["series"], public["privacy"]
    columns = [
        {key: value for key, value in column.items() if key not in _SAID_OF_COLUMNS}
        for column in public["domain"]
    ]
    return canonical_hash(
        {
            "domain": columns,
            "privacy": {key: privacy[key] for key in ("epsilon", "delta", "neighbours", "unit")},
            "where": public["source"].get("where"),
            "series": {key: series[key] for key in ("name", "every", "first", "rows", "horizon")},
        }
    )


def selected_calendar(series: Series, source: dict[str, Any]) -> tuple[str, Calendar] | None:
    """The column that tells the period of a record, and how it is read; None without one."""
    where = source.get("where")
    if where is None:
        return None
    return where["column"], Calendar(series.every, where.get("format", ""), where["time_zone"])
