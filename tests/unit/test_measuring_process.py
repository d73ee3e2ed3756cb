"""The measuring process waits for the word of its parent, which loads modules meanwhile."""

import os
import sys
from types import SimpleNamespace

import pytest

from synth import measuring_process
from synth.errors import SynthError
from synth.measuring_process import measure_in_own_process, wait_until_cleared

CHILD = """#!/bin/sh
if [ "$(dd bs=1 count=1 2>/dev/null | wc -c)" = 1 ]; then
  sleep 0.2
  echo measured > "$(dirname "$0")/measured"
  printf 'reserved\\nmeasured\\nand a line without an end' >&2
fi
"""


class Heard:
    """A log that keeps its lines."""

    def __init__(self):
        self.lines = []

    def done(self, line):
        self.lines.append(line)


@pytest.fixture
def child(tmp_path, monkeypatch):
    """A stand-in for the child, which measures as soon as it is cleared; the file that shows it."""
    program = tmp_path / "child"
    program.write_text(CHILD)
    program.chmod(0o700)
    stand_in = SimpleNamespace(executable=str(program), stdin=sys.stdin, stderr=sys.stderr)
    monkeypatch.setattr(measuring_process, "sys", stand_in)
    return tmp_path / "measured"


def test_a_child_that_is_not_cleared_measures_nothing(child):
    def refuse():
        raise SynthError("no room")

    with pytest.raises(SynthError, match="no room"):
        measure_in_own_process(child, None, Heard(), require=refuse)
    assert not child.exists()


def test_a_machine_without_room_for_a_process_is_an_expected_failure(child):
    child.with_name("child").unlink()
    with pytest.raises(SynthError, match="could not be started") as refusal:
        measure_in_own_process(child, None, Heard(), require=lambda: None)
    assert refusal.value.exit_code == 1


def test_modules_are_loaded_while_the_child_is_silent(child, tmp_path, monkeypatch):
    checked, log = [], Heard()
    for name in ("needed_first", "needed_second"):
        (tmp_path / f"{name}.py").write_text("")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    measure_in_own_process(
        child,
        None,
        log,
        require=lambda: checked.append(child.exists()),
        needed_afterwards=("needed_first", "needed_second"),
    )
    assert checked == [False]
    assert child.exists()
    assert log.lines == ["reserved", "measured", "and a line without an end"]
    assert {"needed_first", "needed_second"} <= set(sys.modules)


def test_a_child_whose_parent_is_gone_stops(monkeypatch):
    ours, theirs = os.pipe()
    os.close(theirs)
    with os.fdopen(ours) as stdin:
        monkeypatch.setattr(measuring_process, "sys", SimpleNamespace(stdin=stdin))
        with pytest.raises(SynthError, match="before anything was measured"):
            wait_until_cleared()


def test_a_child_without_standard_input_stops(monkeypatch):
    monkeypatch.setattr(measuring_process, "sys", SimpleNamespace(stdin=None))
    with pytest.raises(SynthError, match="before anything was measured"):
        wait_until_cleared()
