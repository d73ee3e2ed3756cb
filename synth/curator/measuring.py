"""The curator: opens the raw data, counts, adds noise, and forgets.

Two ways lead from one count, of filled cells where the universe cannot be held, to noisy tables:
all at once, or in rounds where tables are chosen by what was measured before. Either may come after
a look, by which it is planned. In counting that goes on each sum of periods is counted and noised
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.config import Config, SourceConfig
from synth.config.series import PeriodSelection
from synth.curator.boundary import (
    choose_table,
    measure_list,
    measure_look,
    measure_table,
    whole_guess,
)
from synth.curator.counting.look import looked_at
from synth.curator.counting.tabulate import (
    Held,
    filled_cells,
    margin_counts,
    margins_of,
    open_records,
    tabulate,
)
from synth.curator.engine import open_engine
from synth.curator.seal import Result, Sensitive, with_source_open
from synth.domain import DENSE_LIMIT_CELLS, Margin
from synth.errors import BugError
from synth.measurements import MeasuredLook, MeasuredTable, Measurements
from synth.noise import NoiseStream
from synth.planning import Look, Schedule
from synth.privacy import TableEvent

Fit = Callable[[Measurements], Callable[[Margin], NDArray[np.float64]]]
"""A public guess of the counts of any table, from noisy tables alone."""
PlanAfter = Callable[[MeasuredLook], Sequence[TableEvent] | Schedule]
"""What to measure, from a noisy look alone, which it may make durable first."""


def measure(
    config: Config,
    source: SourceConfig,
    plan: Sequence[TableEvent] | Schedule | Look,
    *,
    files: Sequence[Path],
    stream: NoiseStream,
    directory: Path,
    fit: Fit | None = None,
    plan_after: PlanAfter | None = None,
    seen: MeasuredLook | None = None,
    selection: PeriodSelection | None = None,
) -> Measurements:
    """Count the records of the source and return the counts with noise, nothing else.

    `plan` is the list of tables, or the schedule by which they are chosen; then `fit` makes a
    public guess from the noisy tables so far; or a look, and `plan_after` says what it leads to;
    `seen` is the look that an earlier start of the same run took. With a `selection`, its records
    count and no others.

    Privacy: the result has the privacy of `privacy.total_budget` of all events of the plan for
    the configured unit and neighbours; each table that of its event, see `boundary.measure_table`,
    `measure_in_rounds` and `measure_after_look`. Exceptions carry words of the configuration
    only, and no reference to anything that was read.

    Requires: the charge for all events of the plan is already reserved in the ledger.
    Ensures: what the engine spills goes to a private directory under `directory`, which is gone
    when this returns or raises.
    Raises: SourceError, SynthError (no memory), KeyboardInterrupt, BugError: always raised
    afresh, without cause or context.
    """

    def work(spill: Path) -> Measurements:
        tables = () if isinstance(plan, Look) else _tables_of(plan)
        margins_of(tables, config.universe)  # before anything is opened
        filled = needs_filled_cells(config, tables)
        counted = count_once(config, source, files, spill, selection, filled=filled)
        if not isinstance(plan, Look):
            return measure_counted(config, plan, counted, stream, fit)
        if plan_after is None:
            raise BugError("a look leads to nothing without a way to plan after it")
        return measure_after_look(config, plan, counted, stream, plan_after, fit=fit, seen=seen)

    return _with_noise(stream, directory, work)


def measure_nodes(
    config: Config,
    source: SourceConfig,
    selections: Sequence[PeriodSelection],
    events: Sequence[TableEvent],
    *,
    files: Sequence[Path],
    stream: NoiseStream,
    directory: Path,
) -> tuple[tuple[MeasuredTable, ...], ...]:
    """Count the records of every selection, and return its tables with noise; nothing else.

    `events` are the tables of a node, with the noise of one node: the same for all of them.

    Privacy: every table of every node costs its event for a unit that the selection counts with
    weight 1 (`boundary.measure_table`), and no more than its charge over the horizon by the proof
    of `synth.privacy.continual.Factorization`: no node is measured twice, and no two tables have
    noise from the same place of the stream.
    Requires: the charge for the horizon is reserved in the ledger; none of these nodes was
    measured before.
    Ensures: as `measuring.measure`. The source is read once for every node.
    Raises: as `measuring.measure`.
    """

    def work(spill: Path) -> tuple[tuple[MeasuredTable, ...], ...]:
        margins_of(events, config.universe)  # before anything is opened
        filled, found = needs_filled_cells(config, events), []
        for number, selection in enumerate(selections):
            counted = count_once(config, source, files, spill, selection, filled=filled)
            first = number * len(events)
            measured = measure_at_once(config, events, counted, stream, told=True, first=first)
            found.append(measured.tables)
        return tuple(found)

    return _with_noise(stream, directory, work)


def _with_noise(stream: NoiseStream, directory: Path, work: Callable[[Path], Result]) -> Result:
    """Do what opens the source; the key of the noise is forgotten when this returns or raises."""
    try:
        return with_source_open(directory, work)
    finally:
        stream.close()


def preflight(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    *,
    directory: Path,
    selection: PeriodSelection | None = None,
) -> None:
    """Open the source as `measure` does, and close it again without reading a record.

    What a charge would be lost on is found out before it: an address that does not answer, a
    table, view, column, type, permission, header or schema that does not fit.

    Privacy: the outcome does not depend on any record. Looked at are the header of a CSV file,
    the schema in a Parquet file, and the catalogue of a database or a cluster. Exceptions are
    those of `measure`.
    Ensures: nothing is left under `directory`.
    Raises: SourceError, SynthError, KeyboardInterrupt, BugError, always raised afresh.
    """

    def work(spill: Path) -> None:
        with open_engine(source, files, spill, config.universe, selection) as engine:
            open_records(engine, config, selection)

    with_source_open(directory, work)


def needs_filled_cells(config: Config, events: Sequence[TableEvent]) -> bool:
    """Whether filled cells are counted: if cells are listed, or there are too many to hold."""
    listed = any(event.threshold is not None for event in events)
    return listed or config.universe.size > DENSE_LIMIT_CELLS


def count_once(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    selection: PeriodSelection | None,
    *,
    filled: bool,
) -> Sensitive[Held]:
    """Count the records once: by filled cells alone, or as `tabulate` has them."""
    with progress.stage(progress.Stage.COUNTING):
        if filled:
            return filled_cells(config, source, files, spill, selection=selection)
        return tabulate(config, source, files, spill, selection=selection)


def _tables_of(plan: Sequence[TableEvent] | Schedule) -> Sequence[TableEvent]:
    """The tables that are measured whatever is chosen."""
    return plan.first if isinstance(plan, Schedule) else plan


def measure_counted(
    config: Config,
    plan: Sequence[TableEvent] | Schedule,
    counted: Sensitive[Held],
    stream: NoiseStream,
    fit: Fit | None = None,
    *,
    told: bool = True,
) -> Measurements:
    """Measure what is planned: at once, or in rounds.

    Privacy: see `measure_in_rounds` and `measure_at_once`.
    Ensures: without `told`, progress does not say which of how many tables is under way.
    """
    if not isinstance(plan, Schedule):
        return measure_at_once(config, plan, counted, stream, told=told)
    if fit is None:
        raise BugError("tables cannot be chosen without a way to fit those before")
    return measure_in_rounds(config, plan, counted, stream, fit, told=told)


def measure_after_look(
    config: Config,
    look: Look,
    counted: Sensitive[Held],
    stream: NoiseStream,
    plan_after: PlanAfter,
    *,
    fit: Fit | None = None,
    seen: MeasuredLook | None = None,
) -> Measurements:
    """Take a noisy look, or take up the one that was `seen`, and measure what is planned by it.

    Privacy: that of `privacy.total_budget(look.events)`. The look costs its event
    (`boundary.measure_look`). `plan_after` is given its noisy counts and nothing else, and what
    it plans costs at most `look.after`, which is checked here: so both compose, whatever the look
    says (docs/privacy.md, step 11). Nothing that is told while raw data are open depends on the
    look: progress names no part of what was planned after it.
    Ensures: a look that was `seen` is not taken again.
    Raises: BugError if the plan would cost more than is left for it, or if what was seen is
    another look.
    """
    with progress.stage(progress.Stage.NOISE):
        if seen is None:
            exact, counted = looked_at(counted, look.event, config.universe)
            seen = measure_look(exact, look.event, stream=stream)
        if seen.event != look.event:
            raise BugError("a look that was taken before is not the one that was planned")
        plan = plan_after(seen)
        if not look.allows(plan.events if isinstance(plan, Schedule) else plan):
            raise BugError("the tables planned after a look cost more than was left for them")
        measured = measure_counted(config, plan, counted, stream, fit, told=False)
    return replace(measured, look=seen)


def measure_at_once(
    config: Config,
    events: Sequence[TableEvent],
    counted: Sensitive[Held],
    stream: NoiseStream,
    *,
    told: bool,
    first: int = 0,
) -> Measurements:
    """Measure sums of the counts, and list the heavy cells where that is planned.

    Privacy: that of `privacy.total_budget(events)`; every table costs its event
    (`boundary.measure_table`, `boundary.measure_list`).
    Ensures: table `number` has the noise of the number `first` + `number` of the stream.
    """
    universe, margins = config.universe, margins_of(events, config.universe)
    held = counted.consume()
    lists = [number for number, event in enumerate(events) if event.threshold is not None]
    whole = [number for number in range(len(events)) if number not in lists]
    tables: dict[int, MeasuredTable] = {}

    def under_way() -> AbstractContextManager[None]:
        if not told:
            return nullcontext()
        return progress.stage(progress.Stage.NOISE, part=len(tables) + 1, parts=len(events))

    for place, sensitive_table in margin_counts(
        Sensitive(held), [margins[number] for number in whole], universe
    ):
        number = whole[place]
        with under_way():
            tables[number] = measure_table(
                sensitive_table, events[number], number=first + number, stream=stream
            )
    for number in lists:
        with under_way():
            tables[number] = measure_list(
                Sensitive(held), events[number], universe, number=first + number, stream=stream
            )
    in_order = tuple(tables[number] for number in range(len(events)))
    return Measurements(config.release.id, config.hash, in_order)


def measure_in_rounds(
    config: Config,
    schedule: Schedule,
    counted: Sensitive[Held],
    stream: NoiseStream,
    fit: Fit,
    *,
    told: bool,
) -> Measurements:
    """Measure the first tables, then in every round choose a candidate and measure it.

    Privacy: that of `privacy.total_budget(schedule.events)`. Every noisy table costs its event
    (`measure_table`) and every choice its own (`choose_table`). Each depends on what came before
    through noisy tables and choices only, because `fit` is given nothing else: so they compose
    (Dwork, Rothblum, Vadhan 2010, adaptive composition). The number of rounds and the cost of
    each are fixed; nothing that was measured ends the loop or changes a budget.
    Ensures: no table is chosen twice; table `number` of the result has the noise of that number
    of the stream, and choice `number` the words of that number.
    """
    universe, first = config.universe, schedule.first
    candidates = dict(enumerate(schedule.candidates))
    margins = margins_of(first, universe)
    tables: dict[int, MeasuredTable] = {}
    parts = len(first) + len(schedule.rounds)

    def under_way(part: int) -> AbstractContextManager[None]:
        if not told:
            return nullcontext()
        return progress.stage(progress.Stage.NOISE, part=part, parts=parts)

    sensitive_tables: dict[int, NDArray[np.int64]] = {}
    wanted = (*margins, *(candidate.margin for candidate in schedule.candidates))
    for number, sensitive_table in margin_counts(counted, wanted, universe):
        if number < len(first):
            with under_way(len(tables) + 1):
                tables[number] = measure_table(
                    sensitive_table, first[number], number=number, stream=stream
                )
        else:
            sensitive_tables[number - len(first)] = sensitive_table.consume()
    measured = Measurements(
        config.release.id, config.hash, tuple(tables[number] for number in range(len(first)))
    )
    guesses: dict[int, NDArray[np.int64]] = {}
    for number, spending in enumerate(schedule.rounds):
        if number in schedule.guesses_after:
            guess = fit(measured)
            guesses = {key: whole_guess(guess(each.margin)) for key, each in candidates.items()}
        chosen = choose_table(
            sensitive_tables, guesses, candidates, spending, number=number, stream=stream
        )
        guesses.pop(chosen)
        with under_way(len(first) + number + 1):
            noisy = measure_table(
                Sensitive(sensitive_tables.pop(chosen)),
                spending.event(candidates.pop(chosen)),
                number=len(measured.tables),
                stream=stream,
            )
        measured = Measurements(
            config.release.id,
            config.hash,
            (*measured.tables, noisy),
            (*measured.selections, spending.selection),
        )
    return measured
