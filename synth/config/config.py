"""The whole configuration: its sections as they are written, and what they mean together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from synth.config.cells import (
    IMPOSSIBLE,
    PUBLIC_TOTALS,
    KnownTotal,
    Labels,
    build_universe,
    check_rows,
    plain_conjunction,
)
from synth.config.columns import DOMAIN, Declared
from synth.config.guarantee import (
    LedgerConfig,
    PersonUnit,
    PrivacyConfig,
    check_part_and_neighbours,
    check_part_of_a_period,
)
from synth.config.release import OutputConfig, ReleaseConfig, check_count_column, check_replicates
from synth.config.schema.problems import Report, quoted
from synth.config.schema.scalars import PERIOD, Whole
from synth.config.schema.shapes import record
from synth.config.series import PeriodSelection, Series, SeriesConfig, SeriesPart
from synth.config.series_rules import (
    Surroundings,
    build_series,
    charged_ledger,
    counted_hash,
    dated,
    selected_calendar,
    series_hash,
)
from synth.config.source import Source
from synth.config.source_files import MADE_UP, SourceConfig
from synth.config.strategy import (
    STRATEGY,
    MeasuredTables,
    Strategy,
    StrategyWord,
    build_strategy,
    check_strategy_size,
    plain_strategy,
)
from synth.config.workload import (
    DEFAULT_WORKLOAD,
    WorkloadConfig,
    build_workload,
    check_expected_records,
)
from synth.domain import PublicTotal, Universe, format_number
from synth.strict_json import canonical_hash


@dataclass(frozen=True, kw_only=True)
class Sections:
    """One release of synth: what is published, from what, and under which guarantee."""

    schema_version: Annotated[int, Whole("The version of this format", 1, 1)]
    release: Annotated[ReleaseConfig, record(ReleaseConfig)]
    source: Annotated[Source, record(Source)]
    series: Annotated[SeriesConfig | None, record(SeriesConfig)] = None
    privacy: Annotated[PrivacyConfig, record(PrivacyConfig)]
    ledger: Annotated[LedgerConfig, record(LedgerConfig)]
    domain: Annotated[tuple[Declared, ...], DOMAIN]
    impossible: Annotated[tuple[Labels, ...], IMPOSSIBLE] = ()
    public_totals: Annotated[tuple[KnownTotal, ...], PUBLIC_TOTALS] = ()
    workload: Annotated[WorkloadConfig, record(WorkloadConfig)] = DEFAULT_WORKLOAD
    strategy: Annotated[StrategyWord | MeasuredTables, STRATEGY] = "auto"
    output: Annotated[OutputConfig, record(OutputConfig)]


CONFIGURATION = record(Sections)


@dataclass(frozen=True, repr=False)
class Config:
    """One accepted configuration.

    `public` is the configuration in plain JSON values, whole but for the places where data,
    ledger, key and output lie: exactly what is hashed, approved, recorded in the manifest and
    read back by `verify`.
    """

    name: str
    """The file's name as the user gave it, for messages; never published."""
    release: ReleaseConfig
    source: SourceConfig | None
    """None when the configuration was read back from a manifest."""
    privacy: PrivacyConfig
    ledger: LedgerConfig | None
    """None when the configuration was read back from a manifest."""
    universe: Universe
    public_totals: tuple[PublicTotal, ...]
    workload: WorkloadConfig
    strategy: Strategy
    output: OutputConfig
    public: dict[str, Any]
    period: str | None = None
    series: Series | None = None
    period_index: int | None = None
    """Of a series: the number of the period, from 1."""

    def __repr__(self) -> str:
        epsilon = format_number(self.privacy.epsilon)
        return f"Config({self.release.id}: {self.universe.size:,} cells, epsilon {epsilon})"

    @property
    def hash(self) -> str:
        """The configuration hash: SHA-256 of the canonical JSON of `public`."""
        return canonical_hash(self.public)

    @property
    def series_hash(self) -> str | None:
        """The hash of the series, the same for all its periods; None without a series."""
        return None if self.series is None else series_hash(self.public)

    @property
    def is_added_up(self) -> bool:
        """Whether the counts of the release are put together from those of all periods so far."""
        return self.series is not None and self.series.is_continual

    @property
    def counted_hash(self) -> str | None:
        """The hash of what decides the counts of a series, the same for all its periods."""
        return None if self.series is None else counted_hash(self.public)

    @property
    def series_part(self) -> SeriesPart | None:
        """Which part of its series the release is charged as; None without a series."""
        if self.series is None or self.period_index is None:
            return None
        return self.series.part(self.period_index)

    @property
    def previous_release_id(self) -> str | None:
        """Of cumulative releases: the one whose records this one keeps; None for the first."""
        series, index = self.series, self.period_index
        if series is None or index is None or index == 1 or not series.is_continual:
            return None
        return series.release_id(index - 1)

    def selection(self, weights: Sequence[tuple[int, int]] | None = None) -> PeriodSelection | None:
        """The records that count; None where the source holds no others.

        Of a continual series `weights` names the periods that are counted together, numbered
        within the horizon from 1, and how often each counts; without it, all so far count once.
        Of any other series it is the period of the release.
        """
        series, index = self.series, self.period_index
        if series is None or index is None:
            return None
        selected = selected_calendar(series, self.public["source"])
        if selected is None:
            return None
        column, calendar = selected
        number = series.period_number(index)
        before_horizon = number - series.within_cycle(index)
        if not series.is_continual:
            if weights is not None:
                raise ValueError("a release of new records counts those of its period")
            weights = [(series.within_cycle(index), 1)]
        elif weights is None:
            weights = [(period, 1) for period in range(1, series.within_cycle(index) + 1)]
        is_bounded = series.is_continual and series.is_about_persons
        return PeriodSelection(
            column=column,
            resolution=series.every,
            calendar=calendar,
            weights=tuple((before_horizon + period, weight) for period, weight in weights),
            bounded_from=before_horizon + 1 if is_bounded else None,
            max_periods=series.max_periods,
            series_first=series.first,
            earlier_count=series.is_continual,
        )

    @property
    def is_rehearsal(self) -> bool:
        """Whether the records are made up: nothing of them may be published."""
        return bool(self.public["source"]["kind"] == MADE_UP)


def build(values: dict[str, Any], report: Report, *, name: str) -> Config | None:
    """The Config, or None if the report has any problem.

    Rules that relate sections are applied where these have no problem of their own.

    Requires: `values` are those of CONFIGURATION that have no problem, by section.
    """
    release: ReleaseConfig | None = values.get("release")
    source: Source | None = values.get("source")
    privacy: PrivacyConfig | None = values.get("privacy")
    ledger: LedgerConfig | None = values.get("ledger")
    declared: tuple[Declared, ...] | None = values.get("domain")
    workload: WorkloadConfig | None = values.get("workload")
    written: StrategyWord | MeasuredTables | None = values.get("strategy")
    output: OutputConfig | None = values.get("output")
    if release is not None and report.period is not None and not report.is_written(("series",)):
        _check_period(report)
    if source is not None and not report.public and not report.is_written(("series",)):
        check_part_of_a_period(source, report)
    series = build_series(
        Surroundings(
            series=values.get("series"),
            source=source,
            privacy=privacy,
            ledger=ledger,
            output=output,
            strategy=written,
            totals=values.get("public_totals"),
        ),
        report,
    )
    if ledger is not None and privacy is not None:
        check_part_and_neighbours(ledger, privacy, report)
    if declared is None:
        return None
    if source is not None and privacy is not None:
        _check_header(source, privacy, declared, report)
    attributes = {column.attribute.name: column.attribute for column in declared}
    impossible, known = values.get("impossible"), values.get("public_totals")
    universe, totals = build_universe(declared, impossible, known, output, report)
    if known is not None:
        check_rows(totals, privacy, output, report)
    if workload is not None:
        workload = build_workload(workload, attributes, report)
        check_expected_records(workload.expected_records, totals, report)
    strategy: Strategy = "auto"
    if written is not None:
        strategy = build_strategy(written, attributes, report)
        check_strategy_size(universe, strategy, report)
    if output is not None:
        check_replicates(universe, strategy, output.replicates, report)
    if series is not None and series.is_continual:
        check_count_column(universe, report)
    if report.count:
        return None
    sections = Sections(**values)
    index = None
    if series is not None and sections.series is not None:
        index = series.index((sections.series.period if report.public else report.period) or "")
        sections = replace(
            sections,
            series=dated(sections.series, series, index, sections.source, report),
            ledger=sections.ledger
            if report.public
            else charged_ledger(sections.ledger, series, index),
        )
    return Config(
        name=name,
        release=sections.release,
        source=None if report.public else sections.source.config,
        privacy=sections.privacy,
        ledger=None if report.public else sections.ledger,
        universe=universe,
        public_totals=totals,
        workload=workload or sections.workload,
        strategy=strategy,
        output=sections.output,
        public=_public(sections, universe, totals, workload or sections.workload, strategy),
        period=report.period if index is None or series is None else series.label(index),
        series=series,
        period_index=index,
    )


def _check_period(report: Report) -> None:
    """A release for every period."""
    written = report.text_at(("release", "id"))
    if PERIOD not in written:
        report.add(
            ("release", "id"),
            expected="{period} in the release id, because --period was given",
            why="every period is a release of its own, with a name of its own",
            fix=f"write id: {written}-{{period}}, or leave --period out",
        )


def _check_header(
    source: Source, privacy: PrivacyConfig, declared: tuple[Declared, ...], report: Report
) -> None:
    """The list of columns holds all that are counted."""
    counted = [column.attribute.name for column in declared]
    counted += [privacy.unit.column] if isinstance(privacy.unit, PersonUnit) else []
    counted += [source.where.column] if source.where is not None else []
    for column in dict.fromkeys(counted):
        if source.header is not None and column not in source.header:
            report.add(
                ("source", "header"),
                found=f"no column {quoted(column)}",
                expected="the name of every column of the file, in their order",
                why="the list stands for the first line of the file, and this column is counted",
            )


def _public(
    sections: Sections,
    universe: Universe,
    totals: tuple[PublicTotal, ...],
    workload: WorkloadConfig,
    strategy: Strategy,
) -> dict[str, Any]:
    """The configuration as JSON in its one normal form, without places.

    Two configurations that differ only in the order of labels or columns within a rule, in
    how a number is written, or in defaults spelled out have the same public form.
    """
    attributes = {attribute.name: attribute for attribute in universe.attributes}
    normal = replace(
        sections,
        source=sections.source.public,
        impossible=tuple(plain_conjunction(rule, attributes) for rule in universe.impossible),
        public_totals=tuple(
            KnownTotal(plain_conjunction(total.where, attributes), total.total, total.source)
            for total in totals
        ),
        workload=workload.normal,
        strategy=plain_strategy(strategy, attributes),
    )
    plain: dict[str, Any] = CONFIGURATION.plain(normal)
    return plain
