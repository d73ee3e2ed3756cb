"""The measuring process passes on what it says, and a machine without room is told."""

import sys
from types import SimpleNamespace

import pytest

from synth.errors import SynthError
from synth.job import measuring_process
from synth.job.measuring_process import measure_in_own_process

CHILD = """#!/bin/sh
printf 'reserved\\nmeasured\\nand a line without an end' >&2
"""


class Heard:
    """A log that keeps its lines."""

    def __init__(self):
        self.lines = []

    def done(self, line):
        self.lines.append(line)


@pytest.fixture
def child(tmp_path, monkeypatch):
    """A stand-in for the child."""
    program = tmp_path / "child"
    program.write_text(CHILD)
    program.chmod(0o700)
    stand_in = SimpleNamespace(executable=str(program), stderr=sys.stderr)
    monkeypatch.setattr(measuring_process, "sys", stand_in)
    return program


def test_a_machine_without_room_for_a_process_is_an_expected_failure(child):
    child.unlink()
    with pytest.raises(SynthError, match="could not be started") as refusal:
        measure_in_own_process(child, None, Heard())
    assert refusal.value.exit_code == 1


def test_every_line_is_passed_on(child):
    log = Heard()
    measure_in_own_process(child, None, log)
    assert log.lines == ["reserved", "measured", "and a line without an end"]
