"""The token of a reservation: binds a charge to the one directory in which it is used.

Ledger and run directory lie side by side. If either is moved, copied, restored or removed alone,
the token no longer fits, and the run is neither measured again nor voided: in the other place
there may be noisy tables already.
"""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from pathlib import Path

from synth.errors import OutputError
from synth.ledger.run import RunRecord
from synth.measurements.durable import (
    create_durably,
    make_private_directory,
    translate_write_errors,
)

MEASUREMENTS = "measurements.parquet"
TOKEN = "reservation"  # noqa: S105 - a file name; the token is no secret
_FORM = re.compile(r"[0-9a-f]{32}")


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
    return _read(directory) or text


def require_token(ledger_path: Path, run: RunRecord) -> None:
    """Refuse unless the run's directory is the one that was there at the reservation.

    Raises: OutputError.
    """
    if _read(run_directory_of(ledger_path, run.release_id)) != run.token:
        raise OutputError(
            f"the run directory of {run.release_id} is not the one of its reservation",
            why="elsewhere its noisy tables may exist; a second draw would not be paid for",
            fix="move ledger and `runs` together, or choose a new release.id",
        )


def _read(directory: Path) -> str | None:
    try:
        text = (directory / TOKEN).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return text if _FORM.fullmatch(text) else None
