"""The private directory of a run, beside the ledger: its lock, its token, its measurements.

The token binds a charge to the one directory in which it is used. Ledger and run directory lie
side by side. If either is moved, copied, restored or removed alone, the token no longer fits, and
the run is neither measured again nor voided: in the other place there may be noisy tables already.
Beside the token stands the newest hash of the ledger's chain that the run knows of: a ledger that
does not hold it is an older copy, or another one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from synth.bookkeeping.run import RunRecord, RunState
from synth.config import Config
from synth.errors import BugError, BusyError, OutputError, PublishedDifferentlyError, SourceError
from synth.measurements.durable import (
    create_durably,
    make_private_directory,
    replace_durably,
    require_private_directory,
    translate_write_errors,
)
from synth.measurements.receipt import Disposal, LedgerPosition, Receipt, SelfTest

MEASUREMENTS = "measurements.parquet"
LOOK = "look.json"
"""The noisy look of a run that is not measured yet."""
TOKEN = "reservation"  # noqa: S105 - a file name; the token is no secret
RECEIPT = "receipt.json"
_FORM = re.compile(r"([0-9a-f]{32})(?:\n([0-9a-f]{64}))?")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True)
class Trace:
    """What the directory of a run tells of its charge without the ledger."""

    release_id: str
    head: str | None
    """The newest hash of the chain that it has seen; None before the first charge is through."""
    noise_exists: bool


def run_directory_of(ledger_path: Path, release_id: str) -> Path:
    """The directory of a run, beside the ledger."""
    return ledger_path.parent / "runs" / release_id


def noise_exists(directory: Path) -> bool:
    """Whether a run has drawn noise that is durable: then it can be neither voided nor redrawn."""
    return any((directory / name).exists() for name in (MEASUREMENTS, RECEIPT, LOOK))


def new_token(ledger_path: Path, release_id: str) -> str:
    """The token for a new reservation, durable in the run's directory.

    Raises: OutputError if the directory holds measurements already, or cannot be written.
    """
    directory = run_directory_of(ledger_path, release_id)
    if noise_exists(directory):
        raise OutputError(
            f"the run directory of {release_id} holds measurements that this ledger did not charge",
            why="they belong to another ledger or another configuration, or a backup was restored",
            fix="restore the ledger that belongs to them, or choose a new release.id",
        )
    with translate_write_errors(f"the run directory of {release_id}"):
        make_private_directory(directory)
        text = secrets.token_hex(16)
        with suppress(FileExistsError):  # a start that was killed before it could reserve
            create_durably(directory / TOKEN, lambda stream: stream.write(text.encode()))
    return _token(directory) or text


def keep_head(ledger_path: Path, release_id: str, head: str) -> None:
    """Note the newest hash of the chain beside the token of the run, if its directory is there.

    Requires: the event with that hash is durable.
    Raises: OutputError if it cannot be written; what the ledger holds stays as it is.
    """
    directory = run_directory_of(ledger_path, release_id)
    token = _token(directory)
    if token is None:
        return
    with translate_write_errors(f"the run directory of {release_id}"):
        replace_durably(directory / TOKEN, lambda stream: stream.write(f"{token}\n{head}".encode()))


def traces_beside(ledger_path: Path) -> tuple[Trace, ...]:
    """What the run directories beside a ledger tell of charges, by release id.

    A directory gets its token after the ledger is made and before the charge is written, so no
    crash leaves one without a ledger; one that has no hash yet may stand for no charge.
    """
    found = []
    for directory in sorted(ledger_path.parent.glob("runs/*")):
        drawn = noise_exists(directory)
        if drawn or (directory / TOKEN).exists():
            found.append(Trace(directory.name, _read(directory)[1], drawn))
    return tuple(found)


def require_token(ledger_path: Path, run: RunRecord) -> None:
    """Refuse unless the run's directory is the one that was there at the reservation.

    Raises: OutputError.
    """
    if _token(run_directory_of(ledger_path, run.release_id)) != run.token:
        raise OutputError(
            f"the run directory of {run.release_id} is not the one of its reservation",
            why="elsewhere its noisy tables may exist; a second draw would not be paid for",
            fix="move ledger and `runs` together, or choose a new release.id",
        )


def _token(directory: Path) -> str | None:
    return _read(directory)[0]


def _read(directory: Path) -> tuple[str | None, str | None]:
    """The token and the newest hash that it knows of, as far as they are there."""
    try:
        text = (directory / TOKEN).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None, None
    found = _FORM.fullmatch(text)
    return (found[1], found[2]) if found else (None, None)


class RunLock:
    """An exclusive lock on an empty file, mode 0600; the kernel frees it when the holder dies.

    The file stays: removing it would let a second process lock a new one while a child of the
    first still holds the old. A child that inherits `fileno()` (`pass_fds`) shares the lock,
    which then stays held until both are gone.

    Raises: BusyError on entry if another process holds it, OutputError if the file cannot be
    made.
    """

    def __init__(self, path: Path, *, private: tuple[Path, ...] = ()) -> None:
        """Name the lock and the directories that must be this user's; touches nothing yet."""
        self.path = path
        self._private = private
        self._descriptor: int | None = None

    @staticmethod
    def for_run(ledger_path: Path, release_id: str) -> RunLock:
        """The lock of one release of one ledger, in the run's directory beside it."""
        directory = run_directory_of(ledger_path, release_id)
        return RunLock(directory / "lock", private=(directory.parent, directory))

    def fileno(self) -> int:
        """The descriptor that holds the lock; raises ValueError while it is not held."""
        if self._descriptor is None:
            raise ValueError("the lock is not held")
        return self._descriptor

    def __enter__(self) -> RunLock:
        if self._descriptor is not None:
            raise ValueError("the lock is held already")
        self._descriptor = self._take()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fileno())
        self._descriptor = None

    def _take(self) -> int:
        try:
            make_private_directory(self.path.parent)
            for directory in self._private:
                require_private_directory(directory)
            descriptor = os.open(self.path, _FLAGS, 0o600)
        except OSError as error:
            raise OutputError(
                f"{self.path}: the lock of the run cannot be made ({error.strerror})",
                fix="make the directory of the ledger writable",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(descriptor, 0o600)
        except BlockingIOError:
            os.close(descriptor)
            raise BusyError(
                f"{self.path}: another process is working on this release",
                why="two runs at once could draw noise twice for one charge",
                fix="wait until it is done and start again",
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise OutputError(
                f"{self.path}: the lock of the run cannot be taken ({error.strerror})",
                why="without a lock two runs at once could draw noise twice for one charge",
                fix="keep the ledger on a file system that knows locks (flock)",
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


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
def stays_reserved(directory: Path) -> Iterator[None]:
    """Add to a SourceError what becomes of the charge that was made before."""
    try:
        yield
    except SourceError as error:
        release_id = directory.name
        free = f", or free it: synth ledger CONFIG void {release_id} --reason TEXT"
        raise SourceError(
            error.sentence,
            why=error.why,
            fix=f"{error.fix}; the charge stays reserved for {release_id}: mend the source and "
            f"start again{'' if noise_exists(directory) else free}",
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
