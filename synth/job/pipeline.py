"""The whole job, in order: read this page first.

    configuration -> universe -> plan -> [ledger: is there room?] -> curator.preflight
    -> [ledger: reserve] -> curator.measure -> measurements
    -> [ledger: measured] -> curator.discard -> [ledger: discarded] -> estimate -> whole counts
    -> rows, manifest, data card -> bytes verified -> one rename -> [ledger: published]

`measure` is the only function here that opens raw data, and `run` calls it in a process of its
own, which has ended before `publish` begins. Every step may be interrupted and started again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config import Config, load_config
from synth.config.source_files import source_files
from synth.errors import BugError, PublishedDifferentlyError
from synth.job.account import (
    ledger_of,
    mark_published,
    open_ledger,
    remove_spilled,
    state_of,
    void,
)
from synth.job.authorisation import require_authorised, require_signed_as_asked, signing_key
from synth.job.log import Log, StageLog
from synth.job.measuring_process import MeasuringProcessError, measure_in_own_process
from synth.job.preconditions import (
    passed_self_tests,
    release_folder,
    require_resources,
    require_same_configuration,
)
from synth.privacy import Budget, Promise
from synth.progress import while_raw_data_are_open

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.measurements import Measurements
    from synth.noise import NoiseStream
    from synth.release import VerificationReport

__all__ = [
    "MeasuringProcessError",
    "Outcome",
    "measure",
    "open_ledger",
    "publish",
    "release_folder",
    "run",
    "verify",
    "void",
]


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
    from synth.release import verify_release
    from synth.signatures import read_public_key

    return verify_release(Path(release), trusted_keys=[read_public_key(key) for key in keys])


def run(
    path: str | Path,
    *,
    period: str | None = None,
    log: Log | None = None,
    policy: Path | None = None,
    sign_key: Path | None = None,
) -> Outcome:
    """Publish a release: `measure` in a process of its own, then `publish` in this one.

    `policy` and the policy that SYNTH_POLICY names must both allow it; `sign_key` signs it.
    Privacy: this process never opens the source.
    Ensures: nothing is done, and nothing spent, if the release is already published with the
    same configuration.
    Raises: SynthError with the exit code of the contract.
    """
    path, log = Path(path), log or StageLog()
    config = load_config(path, period=period)
    require_authorised(config, policy=policy)
    signing_key(config, policy=policy, sign_key=sign_key)
    log.done(f"configuration accepted: {config.universe.size:,} cells")
    folder = release_folder(config)
    if folder.exists() and _is_published(folder, config, policy=policy, log=log):
        return Outcome(folder, was_there=True)
    _say_what_is_noise(config, log)

    _require_room(config)
    try:
        with log.doing("measuring in a process of its own"):
            measure_in_own_process(path, period, log, policy=policy)
    except BaseException:
        remove_spilled(config)
        raise
    return publish(config, log=log, policy=policy, sign_key=sign_key)


def _say_what_is_noise(config: Config, log: Log) -> None:
    """One line, from public numbers alone, if something is asked for that noise will drown."""
    from synth.plan import forecast
    from synth.plan.usefulness import mostly_noise

    warning = mostly_noise(forecast(config).usefulness)
    if warning is not None:
        log.done(warning)


def _is_published(folder: Path, config: Config, *, policy: Path | None, log: Log) -> bool:
    """Whether a folder that is there is the finished release; refuse one that is another's."""
    from synth.ledger import RunState

    state = state_of(config)
    require_same_configuration(folder, config)
    if state is RunState.PUBLISHED:
        require_signed_as_asked(folder, config, policy=policy)
        log.done("already published with this configuration; nothing spent")
        return True
    if state is None:
        raise PublishedDifferentlyError(
            f"the output directory holds {folder.name}, which this ledger does not know",
            fix="restore the ledger, or choose another release.id",
        )
    return False


def _require_room(config: Config) -> None:
    """What must hold before anything is measured, and takes a while to find out."""
    from synth.measurements.durable import translate_write_errors
    from synth.release import require_writable

    state_of(config)  # a ledger that cannot be read stops the run here
    require_resources(config)
    with translate_write_errors("the output directory"):
        require_writable(release_folder(config).parent)


def measure(
    config: Config,
    *,
    log: Log,
    stream: NoiseStream | None = None,
    policy: Path | None = None,
) -> Outcome:
    """Charge the ledger, measure the source once, and dispose of the raw data.

    What can be known of the source without reading a record is found out before the charge.

    Privacy: what stays in the run's directory may be published: noisy tables and a receipt.
    `stream` injects the noise of a test.
    Ensures: measurements that are durable are never drawn again.
    Raises: SynthError with the exit code of the contract.
    """
    from synth import curator
    from synth.ledger import ChargeRequest, Ledger, RunLock, RunState
    from synth.ledger.run_directory import (
        MEASUREMENTS,
        file_sha256,
        nothing_charged,
        require_not_measured,
        run_directory,
        stays_reserved,
        write_receipt,
    )
    from synth.measurements import write_measurements
    from synth.measurements.durable import remove_partial_files, translate_write_errors
    from synth.noise import NoiseStream
    from synth.plan import plan_events, plan_schedule

    require_authorised(config, policy=policy)
    source, charged, schedule = config.source, ledger_of(config), plan_schedule(config)
    events = plan_events(config)
    if source is None:
        raise BugError("a configuration without a source cannot be measured")
    directory = run_directory(config)
    measured = directory / MEASUREMENTS
    with RunLock.for_run(charged.path, config.release.id), translate_write_errors(str(directory)):
        curator.remove_scratch(directory)
        remove_partial_files(directory)
        self_tests = passed_self_tests()
        asked = ChargeRequest(
            release_id=config.release.id,
            configuration_hash=config.hash,
            population=charged.population,
            cap=Budget(charged.epsilon_cap, charged.delta_cap),
            events=events if schedule is None else schedule.events,
            promise=Promise.of(config.privacy),
            delta=config.privacy.delta,
            disjoint_part=charged.disjoint_part,
        )
        known = Ledger.require_room(charged.path, **asked)
        files: tuple[Path, ...] = ()
        if not measured.exists() and known in (None, RunState.RESERVED):
            with (
                nothing_charged() if known is None else stays_reserved(config.release.id),
                log.doing("looking at the source"),
                while_raw_data_are_open([]),
            ):
                files = source_files(source)
                curator.preflight(config, source, files, directory=directory)
        with Ledger.open(charged.path) as ledger:
            state, position = ledger.reserve(**asked)
            if state in (RunState.DISCARDED, RunState.PUBLISHED):
                log.done("measured before; nothing spent")
                return Outcome(directory, was_there=True)
            log.done(f"reserved: epsilon {position.spent_now.epsilon} of {charged.population}")
            if not measured.exists():
                require_not_measured(state)
                curator.record_measured_files(directory, files)
                with (
                    stays_reserved(config.release.id),
                    log.doing("measuring"),
                    while_raw_data_are_open([len(events), *(event.cells for event in events)]),
                ):
                    measurements = curator.measure(
                        config,
                        source,
                        events if schedule is None else schedule,
                        files=files,
                        stream=stream or NoiseStream.from_operating_system(),
                        directory=directory,
                        fit=lambda noisy: _guess(noisy, config),
                    )
                    curator.require_unchanged(source, directory)
                write_measurements(measured, measurements)
            ledger.advance(config.release.id, RunState.MEASURED, {"sha256": file_sha256(measured)})
            every_cell = [event.cells for event in events if event.threshold is None]
            measured_cells = f"{sum(every_cell):,} noisy counts"
            if len(every_cell) < len(events):
                measured_cells += ", and a list of the heavy cells"
            if schedule is not None and schedule.rounds:
                measured_cells += f", and {len(schedule.rounds)} tables chosen with noise"
            log.done(f"measured: {measured_cells}")
            disposal = curator.discard(source, directory)
            write_receipt(
                directory, config, position=position, self_tests=self_tests, disposal=disposal
            )
            ledger.advance(config.release.id, RunState.DISCARDED)
            kept_or_deleted = "kept" if source.disposal == "keep" else "deleted"
            log.done(f"discarded: source {kept_or_deleted}, no temporary file left")
    return Outcome(directory, was_there=False)


def _guess(noisy: Measurements, config: Config) -> NDArray[np.float64]:
    """The counts of the universe as far as noisy tables tell: what an adaptive choice goes by."""
    from synth.estimate.maximum_entropy import maximum_entropy

    return maximum_entropy(noisy, config.universe)


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
    from synth.ledger import RunLock
    from synth.ledger.run_directory import MEASUREMENTS, read_receipt, run_directory
    from synth.measurements.durable import translate_write_errors
    from synth.release import (
        make_public_directory,
        publish_release,
        staging_directory,
        write_release,
    )

    require_authorised(config, policy=policy)
    signer = signing_key(config, policy=policy, sign_key=sign_key)
    folder = release_folder(config)
    directory = measured or run_directory(config)
    with (
        RunLock.for_run(ledger_of(config).path, config.release.id),
        translate_write_errors("the release"),
    ):
        receipt = read_receipt(directory, config)
        make_public_directory(folder.parent)
        was_there = folder.exists()
        if was_there:
            require_same_configuration(folder, config)
            require_signed_as_asked(folder, config, policy=policy)
            log.done("already published with this configuration; nothing spent")
        else:
            with staging_directory(folder) as staging:
                with log.doing("estimating, writing and verifying the release"):
                    write_release(
                        staging,
                        config=config,
                        measurements_file=directory / MEASUREMENTS,
                        receipt=receipt,
                        signer=signer,
                    )
                log.done("written: release verified from its bytes")
                publish_release(staging, folder)
        mark_published(config)
    log.done(f"published: {folder.name}")
    return Outcome(folder, was_there=was_there)
