"""Disposal: what happens to the raw data once the measurements are durable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from synth.config import FileSource, SourceConfig
from synth.curator.seal import SPILL_PREFIX, core_dumps_are_off
from synth.errors import OutputError, SourceError, SynthError
from synth.measurements import Disposal
from synth.measurements.durable import PARTIAL_PREFIX, replace_durably, sync_directory
from synth.measurements.receipt import (
    NO_CORE_DUMP,
    NO_TEMPORARY_FILE,
    SOURCE_ABSENT,
    SOURCE_GONE_BEFORE,
    SOURCE_KEPT,
)

MEASURED_FILES = "measured-files.json"


def record_measured_files(directory: Path, files: Sequence[Path]) -> None:
    """Note which files are about to be measured, so that only these are disposed of later."""
    noted = [_Measured(str(path), _identity(path), path.stat().st_ctime_ns) for path in files]
    _write_note(directory, noted)


def require_unchanged(source: SourceConfig, directory: Path) -> None:
    """Refuse counts of files that were renamed, replaced or written to while they were read.

    Privacy: looks at names, sizes and times of whole files. A file that takes the name of another
    one meanwhile would be counted under both names. The time at which the system last changed
    anything of a file cannot be set back, as that of its content can.
    Requires: `record_measured_files` noted them before the first was opened.
    Raises: SourceError.
    """
    if not isinstance(source, FileSource):
        return
    for file in _read_note(directory):
        path = Path(file.name)
        if (
            not path.exists()
            or _identity(path) != file.identity
            or path.stat().st_ctime_ns != file.changed
        ):
            raise SourceError(
                f"a file of the source {source.path.name} was changed or replaced while it was "
                "read",
                why="records could be counted twice or in part; the noisy counts were thrown away",
                fix="let nothing write or rename files there while a run reads them",
            )


def discard(source: SourceConfig, directory: Path) -> Disposal:
    """Dispose of the raw data as configured, check that it was done, and say so.

    Requires: the measurements are durable; the caller holds the run's lock.
    Ensures: safe to repeat after an interruption. A file that was changed or replaced since it
    was measured, or that has a second name, is not deleted: the run stops instead. Only what
    was checked is stated.
    Raises: SynthError or OutputError, with the configured name of the source only.
    """
    checks = [SOURCE_KEPT]
    if isinstance(source, FileSource) and source.disposal == "delete":
        measured = _read_note(directory)
        gone_before = [file for file in measured if not _delete(file, measured, source, directory)]
        checks = [SOURCE_GONE_BEFORE if gone_before else SOURCE_ABSENT]
    leftovers = [*directory.glob(f"{SPILL_PREFIX}*"), *directory.glob(f"{PARTIAL_PREFIX}*")]
    if leftovers:
        raise OutputError(
            "temporary files of the measuring process are still there",
            fix="start the same command again; it removes them first",
        )
    checks.append(NO_TEMPORARY_FILE)
    if core_dumps_are_off():
        checks.append(NO_CORE_DUMP)
    return Disposal(source.disposal, source.disposal_reason, tuple(checks))


@dataclass
class _Measured:
    """A measured file: its name, what identified it then, and whether its removal has begun."""

    name: str
    identity: list[int]
    changed: int
    """When the system last changed anything of it (content, names, rights), in nanoseconds."""
    removing: bool = False


def _write_note(directory: Path, measured: Sequence[_Measured]) -> None:
    text = json.dumps([asdict(file) for file in measured])
    replace_durably(directory / MEASURED_FILES, lambda stream: stream.write(text.encode()))


def _read_note(directory: Path) -> list[_Measured]:
    plain = json.loads((directory / MEASURED_FILES).read_bytes())
    return [_Measured(**entry) for entry in plain]


def _identity(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


def _delete(
    file: _Measured, measured: Sequence[_Measured], source: FileSource, directory: Path
) -> bool:
    """Remove a file and say whether it was we who removed it, in this start or an earlier one."""
    path, shown = Path(file.name), source.path.name
    target = path.resolve()
    if target.exists():
        if _identity(target) != file.identity:
            raise SynthError(
                f"a file of the source {shown} was changed after it was measured and is kept",
                why="the new content was not counted, so deleting it would lose it",
                fix="move the new file away and start the same command again",
            )
        if target.stat().st_nlink > 1:
            raise SynthError(
                f"a file of the source {shown} has a second name (hard link) and is kept",
                why="its content would still be there under the other name",
                fix="remove the other name and start the same command again",
            )
        file.removing = True
        _write_note(directory, measured)
        target.unlink()
        sync_directory(target.parent)
    if path.is_symlink():
        path.unlink()
        sync_directory(path.parent)
    if path.exists() or target.exists():
        raise SynthError(
            f"a file of the source {shown} is still there after it was deleted",
            fix="find out what created it again, move it away and start the same command again",
        )
    return file.removing
