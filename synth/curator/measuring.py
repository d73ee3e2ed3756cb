"""The curator: opens the raw data, counts, adds noise, and forgets."""

from __future__ import annotations

import gc
import logging
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from synth import progress
from synth.config import Config, SourceConfig
from synth.curator.adaptive_rounds import measure_in_rounds
from synth.curator.boundary import measure_table
from synth.curator.counting.margins import margin_counts, margins_of
from synth.curator.counting.tabulate import open_records, tabulate
from synth.curator.engine import open_engine
from synth.curator.seal import silenced_output
from synth.curator.sparse_measuring import measure_filled_cells, needs_filled_cells
from synth.errors import BugError, SourceError, SynthError
from synth.measurements import MeasuredTable, Measurements
from synth.noise import NoiseStream
from synth.plan import Schedule
from synth.privacy import TableEvent

if TYPE_CHECKING:
    from synth.curator.adaptive_rounds import Fit

SCRATCH_PREFIX = "scratch-"

Result = TypeVar("Result")


def measure(
    config: Config,
    source: SourceConfig,
    plan: Sequence[TableEvent] | Schedule,
    *,
    files: Sequence[Path],
    stream: NoiseStream,
    directory: Path,
    fit: Fit | None = None,
) -> Measurements:
    """Count the records of the source and return the counts with noise, nothing else.

    `plan` is the list of tables, or the schedule by which they are chosen; then `fit` makes a
    public guess from the noisy tables so far.

    Privacy: the result has the privacy of `privacy.total_budget` of all events of the plan for
    the configured unit and neighbours; each table that of its event, see `boundary.measure_table`
    and `adaptive_rounds.measure_in_rounds`. Exceptions carry words of the configuration only, and
    no reference to anything that was read.

    Requires: the charge for all events of the plan is already reserved in the ledger.
    Ensures: what the engine spills goes to a private directory under `directory`, which is gone
    when this returns or raises.
    Raises: SourceError, SynthError (no memory), KeyboardInterrupt, BugError: always raised
    afresh, without cause or context.
    """

    def work(scratch: Path) -> Measurements:
        if isinstance(plan, Schedule):
            return _measure_in_rounds(config, source, plan, files, stream, scratch, fit)
        return _measure(config, source, plan, files, stream, scratch)

    try:
        return with_source_open(directory, work)
    finally:
        stream.close()


def preflight(
    config: Config, source: SourceConfig, files: Sequence[Path], *, directory: Path
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

    def work(scratch: Path) -> None:
        with open_engine(source, files, scratch, config.universe) as engine:
            open_records(engine, config)

    with_source_open(directory, work)


def with_source_open(directory: Path, work: Callable[[Path], Result]) -> Result:
    """Do what opens the source, with a directory for what spills, and let nothing else out.

    Privacy: nothing is printed or logged meanwhile. An exception is raised afresh, in words of
    the configuration, without cause, context or reference to anything that was read.
    Ensures: the private directory under `directory` is gone when this returns or raises.
    """
    failure: BaseException
    try:
        with silenced_output(), quiet_libraries(), scratch_directory(directory) as scratch:
            return work(scratch)
    except BaseException as error:  # everything is scrubbed, whatever it is
        failure = scrubbed(error)
    gc.collect()
    raise failure


def _measure(
    config: Config,
    source: SourceConfig,
    events: Sequence[TableEvent],
    files: Sequence[Path],
    stream: NoiseStream,
    scratch: Path,
) -> Measurements:
    """Count once; the noise of table `number` comes from the part of the stream of that number."""
    if needs_filled_cells(config, events):
        return measure_filled_cells(config, source, events, files, stream, scratch)
    margins = margins_of(events, config.universe)
    with progress.stage(progress.Stage.COUNTING):
        sensitive_counts = tabulate(config, source, files, scratch)
    tables: dict[int, MeasuredTable] = {}
    for number, sensitive_table in margin_counts(sensitive_counts, margins, config.universe):
        with progress.stage(progress.Stage.NOISE, part=len(tables) + 1, parts=len(events)):
            tables[number] = measure_table(
                sensitive_table, events[number], number=number, stream=stream
            )
    in_order = tuple(tables[number] for number in range(len(events)))
    return Measurements(config.release.id, config.hash, in_order)


def _measure_in_rounds(
    config: Config,
    source: SourceConfig,
    schedule: Schedule,
    files: Sequence[Path],
    stream: NoiseStream,
    scratch: Path,
    fit: Fit | None,
) -> Measurements:
    """Count once; tables are chosen among sums of that one count."""
    if fit is None:
        raise BugError("tables cannot be chosen without a way to fit those before")
    with progress.stage(progress.Stage.COUNTING):
        sensitive_counts = tabulate(config, source, files, scratch)
    return measure_in_rounds(sensitive_counts, schedule, config=config, stream=stream, fit=fit)


def scrubbed(error: BaseException) -> BaseException:
    """A new exception that says what failed in words of the configuration alone."""
    import duckdb

    if isinstance(error, SynthError):
        return type(error)(error.sentence, why=error.why, fix=error.fix)
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
        return SynthError(
            "there was not enough memory or spill space to count the records",
            fix="run on a larger machine, or declare fewer or coarser attributes",
        )
    if isinstance(error, OSError | duckdb.Error):
        return SourceError.cut_short()
    return BugError(
        f"measuring failed with an internal error ({type(error).__name__})",
        fix="report it with the configuration; nothing of the data was kept",
    )


@contextmanager
def scratch_directory(directory: Path) -> Iterator[Path]:
    """A private directory (mode 0700) for spilled data, removed whatever happens."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=directory))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def remove_scratch(directory: Path) -> None:
    """Remove what a killed measuring process may have spilled; it is never read."""
    for leftover in directory.glob(f"{SCRATCH_PREFIX}*"):
        shutil.rmtree(leftover)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Switch off the log messages and warnings of every library while raw data are open."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
