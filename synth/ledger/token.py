"""The token of a reservation: binds a charge to the one directory in which it is used.

Ledger and run directory lie side by side. If either is moved, copied, restored or removed alone,
the token no longer fits, and the run is neither measured again nor voided: in the other place
there may be noisy tables already. Beside the token stands the newest hash of the ledger's chain
that the run knows of: a ledger that does not hold it is an older copy, or another one.
"""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from synth.errors import OutputError
from synth.ledger.run import RunRecord
from synth.measurements.durable import (
    create_durably,
    make_private_directory,
    replace_durably,
    translate_write_errors,
)

MEASUREMENTS = "measurements.parquet"
TOKEN = "reservation"  # noqa: S105 - a file name; the token is no secret
RECEIPT = "receipt.json"
_FORM = re.compile(r"([0-9a-f]{32})(?:\n([0-9a-f]{64}))?")


@dataclass(frozen=True)
class Trace:
    """What the directory of a run tells of its charge without the ledger."""

    release_id: str
    head: str | None
    """The newest hash of the chain that it has seen; None before the first charge is through."""
    is_measured: bool


def run_directory_of(ledger_path: Path, release_id: str) -> Path:
    """The directory of a run, beside the ledger."""
    return ledger_path.parent / "runs" / release_id


def new_token(ledger_path: Path, release_id: str) -> str:
    """The token for a new reservation, durable in the run's directory.

    Raises: OutputError if the directory holds measurements already, or cannot be written.
    """
    directory = run_directory_of(ledger_path, release_id)
    if (directory / MEASUREMENTS).exists():
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
        is_measured = any((directory / name).exists() for name in (MEASUREMENTS, RECEIPT))
        if is_measured or (directory / TOKEN).exists():
            found.append(Trace(directory.name, _read(directory)[1], is_measured))
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
