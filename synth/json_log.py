"""The log for a program to read: one JSON object a line, always with the same keys.

Like every log it holds words of the configuration only. It holds no time and no duration either:
whoever collects it knows when a line came, and nothing is added to that.
"""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

LOG_VERSION = 1

KEYS = ("log_version", "command", "stage", "message", "exit_code")
"""The keys of every object, in order; `exit_code` is null until the command ends."""

STAGES = {
    "configuration accepted": "configuration",
    "already published": "already-published",
    "reserved": "reserved",
    "measured before": "already-measured",
    "measured": "measured",
    "discarded": "discarded",
    "written": "written",
    "published": "published",
    "verified": "verified",
}
"""How a line of the log begins, and what its stage is called."""

NOTE, FAILED, INTERRUPTED = "note", "failed", "interrupted"


def record(command: str, stage: str, message: str, exit_code: int | None = None) -> str:
    """One line of the log."""
    values = (LOG_VERSION, command, stage, message, exit_code)
    return json.dumps(dict(zip(KEYS, values, strict=True)), ensure_ascii=False)


def is_record(line: str) -> bool:
    """Whether a line is one of the log already, such as those of the measuring process."""
    try:
        values = json.loads(line)
    except ValueError:
        return False
    return isinstance(values, dict) and tuple(values) == KEYS


class JsonLog:
    """Writes the stages of a command as JSON lines; see `synth.stage_log.Log`."""

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        """Write to this stream instead of standard error."""
        self._command = command
        self._stream = stream

    def doing(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Nothing: only finished stages are logged."""
        return nullcontext()

    def done(self, line: str) -> None:
        """Write one finished stage; a line of the measuring process passes as it is."""
        if not is_record(line):
            stage = next((name for head, name in STAGES.items() if line.startswith(head)), NOTE)
            line = record(self._command, stage, line)
        print(line, file=self._stream or sys.stderr, flush=True)
