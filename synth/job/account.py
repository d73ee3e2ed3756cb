"""The account of a configuration: what the ledger at hand knows of it, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from synth import curator
from synth.bookkeeping import Ledger, RunLock, RunState
from synth.bookkeeping.run_directory import MEASUREMENTS, file_sha256, run_directory
from synth.bookkeeping.statement import anchor_findings
from synth.config import Config, LedgerConfig
from synth.errors import BugError, SynthError, VerificationError
from synth.release.verification.folder import published_manifest


def ledger_of(config: Config) -> LedgerConfig:
    """Where the ledger of a configuration is, and whose budget it keeps."""
    if config.ledger is None:
        raise BugError("a configuration without a ledger cannot be run")
    return config.ledger


def open_ledger(config: Config) -> tuple[Ledger, str]:
    """The ledger of a configuration, which must exist, and the name of its population.

    Raises: LedgerError if there is none yet or it is damaged.
    """
    return Ledger.open_existing(ledger_of(config).path), ledger_of(config).population


def require_anchored(ledger: Ledger, releases: Sequence[Path]) -> None:
    """Check what published releases state of the ledger: its chain must hold their reservations.

    Raises: VerificationError for the first release of which it does not.
    """
    for release in releases:
        manifest, tables = published_manifest(release), release / MEASUREMENTS
        held = file_sha256(tables) if tables.is_file() else None
        if findings := list(anchor_findings(ledger, manifest, measurements_sha256=held)):
            raise VerificationError(
                release.name,
                findings,
                fix="verify the release (synth verify); if it stands, restore the newest ledger, "
                "and charge nothing until what was spent is known",
            )


def state_of(config: Config) -> RunState | None:
    """How far the run has come, as far as the ledger at hand knows."""
    if not ledger_of(config).path.exists():
        return None
    with Ledger.open_existing(ledger_of(config).path) as ledger:
        record = ledger.state(config.release.id)
        return None if record is None else record.state


def mark_published(config: Config) -> None:
    """Tell the ledger, if the ledger of the measurement is at hand."""
    if state_of(config) is RunState.DISCARDED:
        with Ledger.open_existing(ledger_of(config).path) as ledger:
            ledger.advance(config.release.id, RunState.PUBLISHED)


def void(config: Config, release_id: str, reason: str) -> None:
    """Free the charge of a run that never measured, and remove what it may have spilled.

    Raises: LedgerError if the run was measured, or is unknown; BusyError if it is under way.
    """
    opened, _ = open_ledger(config)
    with opened:
        opened.void(release_id, reason)
    curator.remove_spilled(ledger_of(config).path.parent / "runs" / release_id)


def remove_spilled(config: Config) -> None:
    """Remove what a measuring process that was killed may have spilled; it is never read.

    Does nothing if another process works on the release: that one removes it.
    """
    directory = run_directory(config)
    with suppress(SynthError, OSError):
        if directory.exists():
            with RunLock.for_run(ledger_of(config).path, config.release.id):
                curator.remove_spilled(directory)
