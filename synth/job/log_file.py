"""A log that is kept in a file as well: for whoever looks for more than a message in the mail."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from synth.job.log import JsonLog, Log, Record
from synth.measurements.durable import make_private_directory, translate_write_errors


class AlsoToFile(Log):
    """Passes every line on, and appends it to a file as JSON.

    A line that cannot be appended later, because the disk is full, say, stops no job.
    """

    def __init__(self, log: Log, command: str, path: Path) -> None:
        """Open the file, mode 0600, and make its directory, mode 0700, if there is none.

        Raises: OutputError if that fails.
        """
        self._log = log
        with translate_write_errors(f"the log {path.name}"):
            make_private_directory(path.absolute().parent)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._stream = os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8")
        self._file = JsonLog(command, self._stream)

    def write(self, record: Record) -> None:
        """Write the line in both places."""
        self._log.write(record)
        with suppress(OSError):
            self._file.write(record)

    def doing(self, what: str) -> AbstractContextManager[None]:
        """As the log does that is written to."""
        return self._log.doing(what)
