"""What came before a period of a series that is added up: the plan, and the nodes so far.

The plan is made once, before the first period, and binds all later ones: it stands in the ledger
and in every file of measurements.
"""

from __future__ import annotations

from pathlib import Path

from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.run_directory import MEASUREMENTS, file_sha256, run_directory_of
from synth.config import Config, Series
from synth.errors import BugError, OutputError
from synth.job.account import ledger_of
from synth.measurements import Continual, ContinualPlan, MeasuredNode, MeasuredTable
from synth.measurements.file import read_measurements
from synth.planning import plan_events
from synth.privacy import TableEvent
from synth.privacy.continual import Factorization, factorization_of

START_WITH_DUE = "start `synth due` with this configuration: it publishes every period that is due"


def plan_of_series(config: Config) -> ContinualPlan:
    """What the series measures: as its first period was planned, if there was one.

    Privacy: a function of public configurations alone; of the first period's, where it was charged.
    Requires: `Config.is_added_up`.
    Raises: OutputError, as `measured_before`.
    """
    if (before := measured_before(config)) is not None:
        return before.plan
    series, index = _place(config)
    charged, factorization = plan_events(config), None
    path = ledger_of(config).path
    if path.exists():
        with Ledger.open_existing(path) as ledger:
            kept = ledger.series_plan(series.name, series.part(index).part)
        if kept is not None and kept.factorization is not None:
            charged = tuple(event for event in kept.events if isinstance(event, TableEvent))
            factorization = Factorization.from_plain(dict(kept.factorization))
    if factorization is None:
        factorization = factorization_of(charged, series.horizon)
    return ContinualPlan(charged, factorization, config.counted_hash or "")


def measured_before(config: Config, *, published: bool = False) -> Continual | None:
    """Everything that was measured up to the period before; None for the first period.

    With `published` that period must be published, else measured and its raw data dealt with.

    Privacy: noisy tables alone. Their file is the one that the ledger saw when it was written.
    Raises: OutputError if the period before is missing, or of another configuration.
    """
    series, index = _place(config)
    _require_one_calendar(config)
    if index == 1:
        return None
    release_id = series.release_id(index - 1)
    path = ledger_of(config).path
    run = None
    if path.exists():
        with Ledger.open_existing(path) as ledger:
            run = ledger.state(release_id)
    done = (RunState.PUBLISHED,) if published else (RunState.DISCARDED, RunState.PUBLISHED)
    if run is None or run.state not in done:
        raise OutputError(
            f"{release_id}, the period before, is not {'published' if published else 'measured'}",
            why="the counts of a period are put together from those of all periods before",
            fix=START_WITH_DUE,
        )
    digest = run.recorded(RunState.MEASURED).get("sha256")
    found = _nodes_in(_file_of(config, release_id, digest), config)
    if found.index != index - 1 or found.plan.counted_hash != config.counted_hash:
        raise OutputError(
            f"{release_id} was measured by another configuration of the series",
            why="what is counted must be the same in all periods, or their sum has no meaning",
            fix="write the columns, the privacy and the series as they were, or begin another "
            "series with another release.id",
        )
    return found


def _place(config: Config) -> tuple[Series, int]:
    if config.series is None or config.period_index is None:
        raise BugError("a release without a period is no part of a series")
    return config.series, config.period_index


def _file_of(config: Config, release_id: str, digest: str | None) -> Path:
    """The measurements of an earlier period, where they are still as they were written."""
    places = [run_directory_of(ledger_of(config).path, release_id)]
    if config.output.directory is not None:
        places.append(config.output.directory / release_id)
    for place in places:
        path = place / MEASUREMENTS
        if path.is_file() and file_sha256(path) == digest:
            return path
    raise OutputError(
        f"the noisy counts of {release_id} are gone or changed",
        why="the counts of a period are put together from those of all periods before",
        fix=f"restore {MEASUREMENTS} in its run directory beside the ledger, or in its folder",
    )


def _nodes_in(path: Path, config: Config) -> Continual:
    try:
        measurements = read_measurements(path, config.universe)
    except ValueError as error:
        raise OutputError(
            f"the noisy counts of the period before cannot be added to: the file {error}",
            fix="write the columns as they were, or begin another series",
        ) from None
    if measurements.continual is None:
        raise OutputError(
            "the noisy counts of the period before are not those of a series that is added up",
            fix="begin another series with another release.id",
        )
    return measurements.continual


def _require_one_calendar(config: Config) -> None:
    """No period of the series was charged as another one: then nodes would overlap."""
    series, _ = _place(config)
    path = ledger_of(config).path
    if not path.exists():
        return
    with Ledger.open_existing(path) as ledger:
        runs = [run for name in ledger.populations() for run in ledger.position(name).runs]
    for run in runs:
        part = run.series
        if part is None or part.name != series.name or not run.is_charged:
            continue
        try:
            same = part == series.part(series.index(part.period))
        except ValueError:
            same = False
        if not same:
            raise OutputError(
                f"{run.release_id} was charged as another part of the series",
                why="with another first period or horizon the same records would be counted in "
                "other sums, which nobody has paid for",
                fix="write `series` as it was, or begin another series with another release.id",
            )


def with_nodes(
    before: Continual | None,
    plan: ContinualPlan,
    index: int,
    measured: tuple[tuple[MeasuredTable, ...], ...],
) -> Continual:
    """What was measured before, and what was measured now."""
    new = tuple(
        MeasuredNode(index, node, tables)
        for node, tables in zip(plan.nodes_at(index), measured, strict=True)
    )
    return Continual(plan, index, (*(() if before is None else before.nodes), *new))
