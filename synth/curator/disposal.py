"""Disposal: what happens to the raw data once the measurements are durable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from synth.config.types import SourceConfig
from synth.curator.measuring import SCRATCH_PREFIX
from synth.errors import OutputError, SynthError
from synth.measurements import Disposal
from synth.measurements.durable import PARTIAL_PREFIX, replace_durably, sync_directory

MEASURED_FILES = "measured-files.json"

NO_TEMPORARY_FILE = (
    "No spilled, temporary or partial file of the measuring process was left in its directory."
)
NO_CORE_DUMP = "Core dumps were switched off in the measuring process."
SOURCE_ABSENT = (
    "Every measured source file was removed (unlinked, not overwritten) and was then absent."
)
SOURCE_KEPT = "The source files were left where they are, under the curator's access rules."


def record_measured_files(directory: Path, files: Sequence[Path]) -> None:
    """Note which files are about to be measured, so that only these are disposed of later."""
    text = json.dumps([[str(path), *_identity(path)] for path in files])
    replace_durably(directory / MEASURED_FILES, lambda stream: stream.write(text.encode()))


def discard(source: SourceConfig, directory: Path) -> Disposal:
    """Dispose of the raw data as configured, check that it was done, and say so.

    Requires: the measurements are durable; the caller holds the run's lock.
    Ensures: safe to repeat after an interruption. A file that was changed or replaced since it
    was measured, or that has a second name, is not deleted: the run stops instead.
    Raises: SynthError or OutputError, with the configured file's name only.
    """
    note = directory / MEASURED_FILES
    checks = []
    if source.disposal == "delete":
        for name, *identity in json.loads(note.read_bytes()):
            _delete(Path(name), identity)
        checks.append(SOURCE_ABSENT)
    else:
        checks.append(SOURCE_KEPT)
    leftovers = [*directory.glob(f"{SCRATCH_PREFIX}*"), *directory.glob(f"{PARTIAL_PREFIX}*")]
    if leftovers:
        raise OutputError(
            "temporary files of the measuring process are still there",
            fix="start the same command again; it removes them first",
        )
    checks += [NO_TEMPORARY_FILE, NO_CORE_DUMP]
    return Disposal(source.disposal, source.disposal_reason, tuple(checks))


def _identity(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


def _delete(path: Path, identity: list[int]) -> None:
    target = path.resolve()
    if target.exists():
        if _identity(target) != identity:
            raise SynthError(
                f"the source file {path.name} was changed after it was measured and is kept",
                why="the new content was not counted, so deleting it would lose it",
                fix="move the new file away and start the same command again",
            )
        if target.stat().st_nlink > 1:
            raise SynthError(
                f"the source file {path.name} has a second name (hard link) and is kept",
                why="its content would still be there under the other name",
                fix="remove the other name and start the same command again",
            )
        target.unlink()
        sync_directory(target.parent)
    if path.is_symlink():
        path.unlink()
        sync_directory(path.parent)
    if path.exists() or target.exists():
        raise SynthError(
            f"the source file {path.name} is still there after it was deleted",
            fix="find out what created it again, move it away and start the same command again",
        )
