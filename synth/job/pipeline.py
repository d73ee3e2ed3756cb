"""The whole job, in order: read this page first.

    configuration -> universe -> plan -> [ledger: is there room?] -> curator.preflight
    -> [ledger: reserve] -> curator.measure -> measurements
    -> [ledger: measured] -> curator.discard -> [ledger: discarded] -> estimate -> whole counts
    -> rows, manifest, data card -> bytes verified -> one rename -> [ledger: published]
    -> index and delivery, which touch neither release nor ledger

`measure` is the only function here that opens raw data, and `run` calls it in a process of its
own, which has ended before `publish` begins. Every step may be interrupted and started again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synth import curator
from synth.bookkeeping import ChargeRequest, Ledger, RunLock, RunState
from synth.bookkeeping.run_directory import (
    LOOK,
    MEASUREMENTS,
    file_sha256,
    nothing_charged,
    read_receipt,
    require_not_measured,
    run_directory,
    stays_reserved,
    write_receipt,
)
from synth.config import Config, Given, LedgerConfig, SourceConfig, load_config
from synth.config.source_files import source_files
from synth.curator.files.frames import records_of
from synth.errors import BugError, PublishedDifferentlyError
from synth.estimate.maximum_entropy import quick_guess
from synth.job.account import ledger_of, mark_published, remove_spilled, state_of
from synth.job.afterwards import after_publication
from synth.job.authorisation import require_authorised, require_signed_as_asked, signing_key
from synth.job.continual import measured_before, plan_of_series, with_nodes
from synth.job.log import Log, StageLog
from synth.job.measuring_process import measure_in_own_process
from synth.job.preconditions import (
    passed_self_tests,
    release_folder,
    require_disk,
    require_memory,
    require_same_configuration,
)
from synth.measurements import (
    ContinualPlan,
    MeasuredLook,
    Measurements,
    keep_look,
    kept_look,
    write_measurements,
)
from synth.measurements.durable import remove_partial_files, translate_write_errors
from synth.noise import NoiseStream
from synth.planning import (
    Look,
    Schedule,
    charged_events,
    forecast,
    plan_events,
    plan_look,
    plan_schedule,
)
from synth.planning.usefulness import mostly_noise
from synth.privacy import Budget, PrivacyEvent, Promise, TableEvent
from synth.progress import while_raw_data_are_open
from synth.release import (
    VerificationReport,
    make_public_directory,
    publish_release,
    release_before,
    require_writable,
    staging_directory,
    verify_release,
    write_release,
)
from synth.signatures import PrivateKey, read_public_key


@dataclass(frozen=True)
class Outcome:
    """What a command stands for, and whether it was there before (then nothing was done)."""

    path: Path
    was_there: bool


def verify(release: str | Path, *, keys: Sequence[Path] = ()) -> VerificationReport:
    """Check a release folder without the raw data or the ledger.

    With files of public `keys` the release must be signed by one of them.
    Raises: synth.errors.VerificationError that lists every finding; KeyFileError.
    """
    return verify_release(Path(release), trusted_keys=[read_public_key(key) for key in keys])


def run(
    config: Given,
    source: object | None = None,
    *,
    period: str | None = None,
    log: Log | None = None,
    policy: Path | None = None,
    sign_key: Path | None = None,
) -> Outcome:
    """Publish a release: `measure` in a process of its own, then `publish` in this one.

    `config` is the path of a file, its keys and values, or what `load_config` gave. `source` is a
    table of pandas, polars or Arrow, where the records are in memory. `policy` and the policy that
    SYNTH_POLICY names must both allow it; `sign_key` signs it.
    Privacy: this process never opens the source. A table is handed over through a pipe, and is
    no part of what this process publishes.
    Ensures: nothing is done, and nothing spent, if the release is already published with the
    same configuration.
    Raises: SynthError with the exit code of the contract.
    """
    log = log or StageLog()
    config = load_config(config, period=period, in_memory=source is not None)
    table = None if source is None else records_of(source)
    log.release = config.release.id
    require_authorised(config, policy=policy)
    signer = signing_key(config, policy=policy, sign_key=sign_key)
    log.done("configuration", f"configuration accepted: {config.universe.size:,} cells")
    folder = release_folder(config)
    if folder.exists() and _is_published(folder, config, policy=policy, log=log):
        after_publication(config, folder, log=log)
        return Outcome(folder, was_there=True)
    _require_room(config, log)
    try:
        with log.doing("measuring in a process of its own"):
            measure_in_own_process(config, policy=policy, log=log, table=table)
    except BaseException:
        remove_spilled(config)
        raise
    return _publish(config, run_directory(config), policy=policy, signer=signer, log=log)


def _is_published(folder: Path, config: Config, *, policy: Path | None, log: Log) -> bool:
    """Whether a folder that is there is the finished release; refuse one that is another's."""
    state = state_of(config)
    require_same_configuration(folder, config)
    if state is RunState.PUBLISHED:
        _say_published(folder, config, policy=policy, log=log)
        return True
    if state is None:
        raise PublishedDifferentlyError(
            f"the output directory holds {folder.name}, which this ledger does not know",
            fix="restore the ledger, or choose another release.id",
        )
    return False


def _say_published(folder: Path, config: Config, *, policy: Path | None, log: Log) -> None:
    require_signed_as_asked(folder, config, policy=policy)
    log.done("already-published", "already published with this configuration; nothing spent")


def _require_room(config: Config, log: Log) -> None:
    """What must hold before anything is measured, beside what `measure` asks for itself.

    One line, from public numbers alone, if something is asked for that noise will drown.
    """
    state_of(config)  # a ledger that cannot be read stops the run here
    if config.is_added_up:
        measured_before(config, published=True)
    folder, planned = release_folder(config), forecast(config)
    require_disk(planned.costs, folder.parent, "the output directory")
    with translate_write_errors("the output directory"):
        require_writable(folder.parent)
    if (warning := mostly_noise(planned.usefulness)) is not None:
        log.done("note", warning)


@dataclass(frozen=True)
class _Planned:
    """What is measured, fixed before the source is opened."""

    config: Config
    source: SourceConfig
    charged: LedgerConfig
    directory: Path
    tables: tuple[TableEvent, ...]
    """Those that are planned without looking at the data; with a look, those for as many records as
    are expected."""
    schedule: Schedule | None
    look: Look | None
    events: tuple[PrivacyEvent, ...]
    """All that is charged."""
    added: ContinualPlan | None = None
    """Of a series whose counts are added up: what its tables are charged, and its nodes."""

    @classmethod
    def of(cls, config: Config) -> _Planned:
        if config.source is None:
            raise BugError("a configuration without a source cannot be measured")
        directory, ledger = run_directory(config), ledger_of(config)
        if config.is_added_up:
            added = plan_of_series(config)
            tables = added.charged
            return cls(config, config.source, ledger, directory, tables, None, None, tables, added)
        schedule, tables = plan_schedule(config), plan_events(config)
        look, events = plan_look(config), charged_events(config)
        return cls(config, config.source, ledger, directory, tables, schedule, look, events)

    @property
    def release_id(self) -> str:
        return self.config.release.id

    @property
    def measurements(self) -> Path:
        """The file of the noisy tables, there once they are durable."""
        return self.directory / MEASUREMENTS

    @property
    def charge(self) -> ChargeRequest:
        """What is asked of the ledger."""
        return ChargeRequest(
            release_id=self.release_id,
            configuration_hash=self.config.hash,
            population=self.charged.population,
            cap=Budget(self.charged.epsilon_cap, self.charged.delta_cap),
            events=self.events,
            promise=Promise.of(self.config.privacy),
            delta=self.config.privacy.delta,
            disjoint_part=self.charged.disjoint_part,
            series=self.config.series_part,
            factorization=None if self.added is None else self.added.factorization.to_plain(),
        )

    @property
    def is_fixed(self) -> bool:
        """Whether the cells of every table are public before the source is opened."""
        return self.look is None and self.schedule is None

    @property
    def words(self) -> str:
        """What was measured, for the log; the same whatever a look said."""
        if self.look is not None:
            return "a look, and the tables planned after it"
        every_cell = [event.cells for event in self.tables if event.threshold is None]
        if self.added is not None:
            every_cell *= len(self.added.nodes_at(self.config.period_index or 1))
        words = f"{sum(every_cell):,} noisy counts"
        if any(event.threshold is not None for event in self.tables):
            words += ", and a list of the heavy cells"
        if self.schedule is not None and self.schedule.rounds:
            words += f", and {len(self.schedule.rounds)} tables chosen with noise"
        return words


def measure(
    config: Config, *, log: Log, stream: NoiseStream | None = None, policy: Path | None = None
) -> Outcome:
    """Charge the ledger, measure the source once, and dispose of the raw data.

    What can be known of the source without reading a record is found out before the charge.

    Privacy: what stays in the run's directory may be published: noisy tables and a receipt.
    `stream` injects the noise of a test.
    Ensures: measurements that are durable are never drawn again.
    Raises: SynthError with the exit code of the contract.
    """
    log.release = config.release.id
    require_authorised(config, policy=policy)
    planned = _Planned.of(config)
    directory = planned.directory
    lock = RunLock.for_run(planned.charged.path, planned.release_id)
    with lock, translate_write_errors(str(directory)):
        curator.remove_spilled(directory)
        remove_partial_files(directory)
        self_tests = passed_self_tests()
        files = _files_to_measure(planned, log)
        with Ledger.open(planned.charged.path) as ledger:
            state, position = ledger.reserve(**planned.charge)
            if state in (RunState.DISCARDED, RunState.PUBLISHED):
                log.done("already-measured", "measured before; nothing spent")
                return Outcome(directory, was_there=True)
            log.done(
                "reserved",
                f"reserved: epsilon {position.spent_now.epsilon} of {planned.charged.population}",
                budget_left=position.left.to_plain(),
            )
            if not planned.measurements.exists():
                require_not_measured(state)
                curator.record_measured_files(directory, files)
                measurements = _measured(planned, files, stream, log)
                write_measurements(planned.measurements, measurements)
            digest = file_sha256(planned.measurements)
            ledger.advance(planned.release_id, RunState.MEASURED, {"sha256": digest})
            log.done("measured", f"measured: {planned.words}")
            disposal = curator.discard(planned.source, directory)
            write_receipt(
                directory, config, position=position, self_tests=self_tests, disposal=disposal
            )
            ledger.advance(planned.release_id, RunState.DISCARDED)
            gone = "kept" if planned.source.disposal == "keep" else "deleted"
            log.done("discarded", f"discarded: source {gone}, no temporary file left")
    return Outcome(directory, was_there=False)


def _files_to_measure(planned: _Planned, log: Log) -> tuple[Path, ...]:
    """The files of the source, found to be as configured; none if nothing is left to measure.

    Raises: BudgetRefusedError if the ledger has no room, SynthError if the machine has none; both
    before the source is opened. SourceError.
    """
    known = Ledger.require_room(planned.charged.path, **planned.charge)
    if planned.measurements.exists() or known not in (None, RunState.RESERVED):
        return ()
    costs = forecast(planned.config).costs
    require_memory(costs)
    require_disk(costs, planned.charged.path.parent, "the directory of the ledger")
    with (
        nothing_charged() if known is None else stays_reserved(planned.directory),
        log.doing("looking at the source"),
        while_raw_data_are_open([]),
    ):
        files = source_files(planned.source)
        curator.preflight(
            planned.config,
            planned.source,
            files,
            directory=planned.directory,
            selection=planned.config.selection(),
        )
        return files


def _measured(
    planned: _Planned, files: Sequence[Path], stream: NoiseStream | None, log: Log
) -> Measurements:
    """The noisy tables of the records, which did not change meanwhile. Requires: the charge.

    Ensures: a look is durable before anything is planned by it, and never taken twice.
    """
    if planned.added is not None:
        return _measured_nodes(planned, planned.added, files, stream, log)
    config, look_file = planned.config, planned.directory / LOOK
    asked = None if planned.look is None else planned.look.event
    seen = kept_look(look_file, planned.release_id, config.hash, asked)

    def plan_after(look: MeasuredLook) -> Sequence[TableEvent] | Schedule:
        if seen is None:
            with translate_write_errors(str(planned.directory)):
                keep_look(look_file, Measurements(planned.release_id, config.hash, (), look=look))
        schedule = plan_schedule(config, look.noisy_counts)
        return schedule or plan_events(config, look.noisy_counts)

    figures = [len(planned.tables), *(table.cells for table in planned.tables)]
    with (
        stays_reserved(planned.directory),
        log.doing("measuring"),
        while_raw_data_are_open(figures if planned.is_fixed else []),
    ):
        measurements = curator.measure(
            config,
            planned.source,
            planned.look or planned.schedule or planned.tables,
            files=files,
            stream=stream or NoiseStream.from_operating_system(),
            directory=planned.directory,
            fit=lambda noisy: quick_guess(noisy, config.universe),
            plan_after=plan_after,
            seen=seen,
            selection=config.selection(),
        )
        curator.require_unchanged(planned.source, planned.directory)
    return measurements


def _measured_nodes(
    planned: _Planned,
    added: ContinualPlan,
    files: Sequence[Path],
    stream: NoiseStream | None,
    log: Log,
) -> Measurements:
    """The noisy nodes of the period, behind those of all periods before. Requires: the charge.

    Ensures: what was measured before is read, never measured again.
    """
    config, index = planned.config, planned.config.period_index or 1
    before = measured_before(config)
    selections = [config.selection(node.weights) for node in added.nodes_at(index)]
    with (
        stays_reserved(planned.directory),
        log.doing("measuring"),
        while_raw_data_are_open([len(planned.tables), *(each.cells for each in planned.tables)]),
    ):
        measured = curator.measure_nodes(
            config,
            planned.source,
            [each for each in selections if each is not None],
            added.node_events,
            files=files,
            stream=stream or NoiseStream.from_operating_system(),
            directory=planned.directory,
        )
        curator.require_unchanged(planned.source, planned.directory)
    nodes = with_nodes(before, added, index, measured)
    return Measurements.of_nodes(planned.release_id, config.hash, nodes)


def publish(
    config: Config,
    *,
    measured: Path | None = None,
    log: Log,
    policy: Path | None = None,
    sign_key: Path | None = None,
) -> Outcome:
    """Write the release from durable measurements; opens neither source nor raw data.

    `measured` is the run directory brought from the machine that measured; without it, the
    run's own directory is used.
    Ensures: the release appears in one step, after its bytes were read back and verified.
    Raises: SynthError with the exit code of the contract.
    """
    log.release = config.release.id
    require_authorised(config, policy=policy)
    signer = signing_key(config, policy=policy, sign_key=sign_key)
    directory = measured or run_directory(config)
    return _publish(config, directory, policy=policy, signer=signer, log=log)


def _publish(
    config: Config, directory: Path, *, policy: Path | None, signer: PrivateKey | None, log: Log
) -> Outcome:
    """See `publish`. Requires: it is allowed, and this is the key that signs."""
    folder = release_folder(config)
    lock = RunLock.for_run(ledger_of(config).path, config.release.id)
    with lock, translate_write_errors("the release"):
        receipt = read_receipt(directory, config)
        make_public_directory(folder.parent)
        was_there = folder.exists()
        if was_there:
            require_same_configuration(folder, config)
            _say_published(folder, config, policy=policy, log=log)
        else:
            with staging_directory(folder) as staging:
                with log.doing("estimating, writing and verifying the release"):
                    previous = release_before(folder.parent, config)
                    write_release(
                        staging,
                        config=config,
                        measurements_file=directory / MEASUREMENTS,
                        receipt=receipt,
                        signer=signer,
                        previous=previous,
                    )
                log.done("written", "written: release verified from its bytes")
                publish_release(staging, folder)
        mark_published(config)
    log.done("published", f"published: {folder.name}")
    after_publication(config, folder, log=log)
    return Outcome(folder, was_there=was_there)
