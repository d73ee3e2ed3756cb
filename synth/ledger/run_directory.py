"""The private directory of a run, beside the ledger: measurements and their receipt."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from synth.config.types import Config
from synth.errors import BugError, OutputError, PublishedDifferentlyError, SourceError
from synth.ledger.run import RunState
from synth.ledger.token import MEASUREMENTS, RECEIPT, run_directory_of
from synth.measurements.durable import replace_durably
from synth.measurements.receipt import Disposal, LedgerPosition, Receipt, SelfTest


def run_directory(config: Config) -> Path:
    """Where the run of this configuration keeps its measurements."""
    if config.ledger is None:
        raise BugError("a configuration without a ledger has no run directory")
    return run_directory_of(config.ledger.path, config.release.id)


def write_receipt(
    directory: Path,
    config: Config,
    *,
    position: LedgerPosition,
    self_tests: tuple[SelfTest, ...],
    disposal: Disposal,
) -> None:
    """Write the receipt of the durable measurements in `directory`."""
    measured = directory / MEASUREMENTS
    day = datetime.fromtimestamp(measured.stat().st_mtime, UTC).date()
    receipt = Receipt(
        release_id=config.release.id,
        configuration_hash=config.hash,
        measurements_sha256=file_sha256(measured),
        measured_on=day.isoformat(),
        ledger=position,
        self_tests=self_tests,
        disposal=disposal,
    )
    text = receipt.to_json()
    replace_durably(directory / RECEIPT, lambda stream: stream.write(text.encode()))


def read_receipt(directory: Path, config: Config) -> Receipt:
    """Read the receipt and check that measurements and configuration are those it names.

    Raises: OutputError if there is none or something was changed, PublishedDifferentlyError if
    it belongs to another configuration.
    """
    try:
        receipt = Receipt.from_json((directory / RECEIPT).read_text(encoding="utf-8"))
        digest = file_sha256(directory / MEASUREMENTS)
    except FileNotFoundError:
        raise OutputError(
            f"there are no measurements for {config.release.id} in {directory}",
            fix="run `synth measure` first, or name its run directory with --measured; if it was "
            "measured and the directory is lost, only a backup of it saves the charge",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise _damaged(config) from None
    if receipt.configuration_hash != config.hash or receipt.release_id != config.release.id:
        raise PublishedDifferentlyError(
            f"the measurements of {config.release.id} belong to another configuration",
            fix="publish with the configuration that was measured, or measure a new release.id",
        )
    if digest != receipt.measurements_sha256:
        raise _damaged(config)
    return receipt


@contextmanager
def nothing_charged() -> Iterator[None]:
    """Add to a SourceError that it cost nothing. Requires: the release is not charged."""
    try:
        yield
    except SourceError as error:
        why = f"{error.why}; " if error.why else ""
        raise SourceError(
            error.sentence, why=f"{why}no record was read and nothing was charged", fix=error.fix
        ) from None


@contextmanager
def stays_reserved(release_id: str) -> Iterator[None]:
    """Add to a SourceError what becomes of the charge that was made before."""
    try:
        yield
    except SourceError as error:
        raise SourceError(
            error.sentence,
            why=error.why,
            fix=f"{error.fix}; the charge stays reserved for {release_id}: mend the source and "
            f"start again, or free it: synth ledger CONFIG void {release_id} --reason TEXT",
        ) from None


def require_not_measured(state: RunState) -> None:
    """Refuse to draw noise for a charge whose measurements existed and are gone."""
    if state is not RunState.RESERVED:
        raise OutputError(
            "the ledger says that this release was measured, but its measurements are gone",
            why="measuring again would draw fresh noise for a charge that is already used",
            fix="restore the run directory beside the ledger from a backup; without one the "
            "charge is lost, and only a new release.id can be measured",
        )


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(config: Config) -> OutputError:
    return OutputError(
        f"the measurements of {config.release.id} or their receipt were changed or damaged",
        fix="restore the run directory from a backup, or bring it over again from where it was "
        "measured; without it the charge is lost, and only a new release.id can be measured",
    )
