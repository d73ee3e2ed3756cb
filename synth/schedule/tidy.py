"""Which noisy tables of run directories may go, because the published folder holds the same bytes.

A run directory stays, with its lock, the token of its reservation and the newest hash of the chain
that it knows of, and its receipt: by these a ledger that was lost, restored or copied is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.bookkeeping import Ledger, RunLock, RunRecord, RunState
from synth.bookkeeping.run_directory import LOOK, MEASUREMENTS, file_sha256, run_directory_of
from synth.config import Config, Given, load_config
from synth.curator.disposal import MEASURED_FILES
from synth.errors import BusyError, OutputError, SynthError
from synth.job.account import ledger_of
from synth.job.preconditions import release_folder
from synth.measurements.durable import sync_directory
from synth.release import verify_release
from synth.schedule.outlook import published_periods

REMOVABLE = (MEASUREMENTS, LOOK, MEASURED_FILES)
"""What may go of a run directory, in this order; all else stays."""


@dataclass(frozen=True)
class Tidied:
    """A published run that keeps noisy tables, and what becomes of them."""

    release: str
    size_bytes: int
    kept_because: str
    """Empty if they may go."""
    is_deleted: bool = False

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "release": self.release,
            "bytes": self.size_bytes,
            "kept_because": self.kept_because or None,
            "is_deleted": self.is_deleted,
        }


def tidy(config: Given, *, delete: bool = False) -> tuple[Tidied, ...]:
    """List the published runs of a configuration that keep noisy tables; delete those that may go.

    What may go was found just before: the ledger knows the release as published, its folder is in
    the output directory and verifies, it holds the very tables that the ledger saw measured, and
    no later period of a continual series needs them.
    Privacy: noisy tables are public; what is deleted is published.
    Ensures: tokens, hashes of the chain and receipts stay, so that the loss of a ledger is noticed
    as before.
    Raises: ConfigError; LedgerError if there is no ledger or it is damaged; OutputError.
    """
    accepted = load_config(config, without_period="first")
    ledger = ledger_of(accepted)
    found = []
    with Ledger.open_existing(ledger.path) as book:
        releases, needed = _releases(accepted, book)
        for release_id in releases:
            run = book.state(release_id)
            directory = run_directory_of(ledger.path, release_id)
            size = sum(path.stat().st_size for path in _removable(directory))
            if run is None or run.state is not RunState.PUBLISHED or not size:
                continue
            try:
                with RunLock.for_run(ledger.path, release_id):
                    because = _objection(accepted, run, directory)
                    if release_id == needed:
                        because = "the next period continues from them"
                    if delete and not because:
                        _delete(directory)
            except BusyError:
                because = "another process is working on this release"
            is_deleted = delete and not because
            found.append(Tidied(release_id, size, because, is_deleted))
    return tuple(found)


def _releases(config: Config, book: Ledger) -> tuple[Sequence[str], str]:
    """The releases of the configuration, and that whose tables a later period starts from."""
    series = config.series
    if series is None:
        return [config.release.id], ""
    published = published_periods(book, series)
    newest = series.release_id(published[-1]) if published and series.is_continual else ""
    return [series.release_id(index) for index in published], newest


def _removable(directory: Path) -> list[Path]:
    return [directory / name for name in REMOVABLE if (directory / name).is_file()]


def _objection(config: Config, run: RunRecord, directory: Path) -> str:
    """Why the tables have to stay; empty if the published folder holds them, and verifies."""
    folder = release_folder(config).with_name(run.release_id)
    if not folder.is_dir():
        return "the release is not in the output directory"
    measured = run.recorded(RunState.MEASURED).get("sha256")
    tables = folder / MEASUREMENTS
    if not tables.is_file() or file_sha256(tables) != measured:
        return "the folder does not hold the tables that the ledger saw measured"
    kept = directory / MEASUREMENTS
    if kept.is_file() and file_sha256(kept) != measured:
        return "the run directory holds other tables than the ledger saw measured"
    try:
        verify_release(folder)
    except SynthError as error:
        return f"the release does not verify here: {error.sentence}"
    return ""


def _delete(directory: Path) -> None:
    try:
        for path in _removable(directory):
            path.unlink()
        sync_directory(directory)
    except OSError as error:
        raise OutputError(
            f"the noisy tables of {directory.name} cannot be deleted ({error.strerror})",
            fix="start as the user who owns the directory of the ledger",
        ) from None


def tidy_lines(found: Sequence[Tidied]) -> list[str]:
    """One line for each run, and the sum."""
    lines = []
    for each in found:
        word = "deleted" if each.is_deleted else "keep" if each.kept_because else "may go"
        because = f": {each.kept_because}" if each.kept_because else ""
        lines.append(f"{word:<8} {each.size_bytes:>13,} bytes  {each.release}{because}")
    free = sum(each.size_bytes for each in found if not each.kept_because)
    verb = "were deleted" if any(each.is_deleted for each in found) else "may go (--delete)"
    return [*lines, f"{free:,} bytes {verb}; tokens and receipts stay"]
