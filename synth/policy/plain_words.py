"""What somebody approves, in words for people."""

from __future__ import annotations

from synth.config import Config
from synth.config.series import RenewalConfig
from synth.config.source import records_in_words
from synth.config.summary import cost_in_words
from synth.domain import format_number

NOT_COVERED = (
    "Not covered: where the raw data, the ledger and the release are kept (paths, the address of a "
    "database, the master of Spark), what lies there, and which key signs the release."
)
VOIDED = "Any change of what the configuration means, or another period, voids this approval."


VOIDED_SERIES = (
    "This approves every period of the series, and of its later horizons. Any change of what the "
    "configuration means voids it."
)


def in_plain_words(config: Config, *, whole_series: bool = False) -> str:
    """The configuration, or its series, as an approver should read it before signing."""
    privacy, release = config.privacy, config.release
    epsilon, delta = format_number(privacy.epsilon), format_number(privacy.delta)
    columns = ", ".join(attribute.name for attribute in config.universe.attributes)
    rows = "as many as the noisy counts give" if config.output.rows is None else config.output.rows
    name, approved, voided = release.id, f"configuration:  SHA-256 {config.hash}", VOIDED
    if whole_series and config.series is not None:
        name, voided = config.series.name, VOIDED_SERIES
        approved = f"whole series:   SHA-256 {config.series_hash}"
    lines = [
        f"release:        {name}: {release.title}",
        f"published by:   {', '.join(release.curators)}",
        f"intended use:   {' '.join(release.intended_use.split())}",
        f"protected unit: {_unit(config)}",
        f"guarantee:      epsilon {epsilon}, delta {delta}, neighbours {privacy.neighbours}",
        f"justification:  {' '.join(privacy.justification.split())}",
        *_population(config),
        *_series(config),
        *_raw_data(config),
        f"columns:        {columns} ({config.universe.size:,} cells)",
        f"strategy:       {_strategy(config)}",
        f"rows:           {rows}",
        approved,
    ]
    return "\n".join(["What is approved:", *(f"  {each}" for each in lines), NOT_COVERED, voided])


def _unit(config: Config) -> str:
    unit = config.privacy.unit
    if unit == "record":
        return "one record; a person with several records is protected less"
    return f"a person: all records with one {unit.column}, at most {unit.max_records} counted"


def _population(config: Config) -> list[str]:
    if config.ledger is None:
        return []
    cap, delta_cap = config.ledger.epsilon_cap, config.ledger.delta_cap
    part = config.ledger.disjoint_part
    of_part = []
    if part is not None:
        of_part = [
            f"part:           {part.name}, one of {len(part.parts)}; only the most expensive part "
            f"counts, because nobody belongs to two: {' '.join(part.source.split())}"
        ]
    return [
        f"population:     {config.ledger.population}; all its releases may spend epsilon "
        f"{format_number(cap)}, delta {format_number(delta_cap)}",
        *of_part,
    ]


def _series(config: Config) -> list[str]:
    """The periods, what they cost together, what happens afterwards, and what that rests on."""
    series = config.series
    if series is None:
        return []
    said = [f"series:         {series.in_words()}", f"its cost:       {cost_in_words(config)}"]
    where = config.public["source"].get("where")
    if where is not None:
        clock = "" if where["time_zone"] == "UTC" else f", by the clock of {where['time_zone']}"
        said.append(f"its records:    by the date in {where['column']}{clock}")
    if series.max_periods is not None:
        said.append(f"its persons:    counted in their first {series.max_periods} periods alone")
    said.append(
        "it rests on:    every record keeps its period"
        + (", and no row of a person is deleted" if series.is_about_persons else "")
    )
    if isinstance(series.renewal, RenewalConfig) and series.renewal.source is not None:
        said.append(f"other people:   {' '.join(series.renewal.source.split())}")
    return said


def _raw_data(config: Config) -> list[str]:
    if config.source is None:
        return []
    source = config.public["source"]
    said = [f"records:        {records_in_words(source)}"]
    if "view_reason" in source:
        argument = " ".join(source["view_reason"].split())
        said.append(f"view:           every row comes from one record: {argument}")
    kept = "are kept" if config.source.disposal == "keep" else "are deleted after the measurement"
    reason = " ".join(config.source.disposal_reason.split())
    return [*said, f"raw data:       {kept}" + (f" ({reason})" if reason else "")]


def _strategy(config: Config) -> str:
    if isinstance(config.strategy, str):
        return config.strategy
    return f"{len(config.strategy)} listed tables"
