"""The measuring process speaks in JSON lines, and what is none of them reaches nobody."""

import io
import json
import pickle
import sys
from types import SimpleNamespace

import pytest

from synth.config import load_config
from synth.errors import BudgetRefusedError, BugError, SynthError
from synth.job import measuring_process
from synth.job.measuring_process import (
    MeasuringProcessError,
    given_configuration,
    measure_in_own_process,
    told_error,
)
from tests.conftest import SMALL

LINES = """#!/bin/sh
echo '{"line": {"release": "r", "stage": "reserved", "message": "reserved: epsilon 1"}}'
echo '{"line": {"release": "r", "stage": "reserved"}}'
echo '{"entered": ["NOISE", 1, 1]}'
echo 'WARN: 34,Female' >&2
echo 'WARN: 34,Female'
echo '["34", "Female"]'
"""


@pytest.fixture(name="child")
def _child(tmp_path, monkeypatch):
    """Puts a script in the place of the child."""
    program = tmp_path / "child"
    monkeypatch.setattr(measuring_process, "sys", SimpleNamespace(executable=str(program)))

    def make(script):
        program.write_text(script)
        program.chmod(0o700)
        return program

    return make


def measured(_child, log):
    measure_in_own_process(load_config(SMALL), policy=None, log=log)


def test_the_child_gets_the_configuration_that_was_accepted(child, tmp_path, log):
    measured(child(f"#!/bin/sh\ncat > {tmp_path}/given\n"), log)
    with (tmp_path / "given").open("rb") as given:
        assert given_configuration(given) == load_config(SMALL)


@pytest.mark.parametrize("content", [b"", b"nonsense", pickle.dumps(SMALL)])
def test_what_is_no_configuration_is_refused(content):
    with pytest.raises(BugError, match="within-run"):
        given_configuration(io.BytesIO(content))


def test_a_machine_without_room_for_a_process_is_an_expected_failure(child, log):
    path = child("")
    path.unlink()
    with pytest.raises(SynthError, match="could not be started") as refusal:
        measured(path, log)
    assert refusal.value.exit_code == 1


def test_lines_of_the_log_are_passed_on_and_nothing_else(child, log, capfd):
    measured(child(LINES), log)
    assert log.lines == ["reserved: epsilon 1"]
    assert capfd.readouterr() == ("", "")


def test_the_error_of_the_child_is_that_of_the_run(child, log):
    refused = BudgetRefusedError("no", why="w", fix="f", budget_left={"epsilon": "0", "delta": "0"})
    told = json.dumps({"failed": [str(refused), refused.to_plain()]})
    with pytest.raises(MeasuringProcessError) as caught:
        measured(child(f"{LINES}cat <<'END'\n{told}\nEND\nexit 4\n"), log)
    assert str(caught.value) == str(refused)
    assert caught.value.to_plain() == refused.to_plain()
    assert caught.value.exit_code == 4
    assert isinstance(caught.value, BudgetRefusedError)
    assert type(caught.value).__name__ == "BudgetRefusedError"


@pytest.mark.parametrize("kind", ["of no such name", "Problem", "annotations"])
def test_an_error_of_an_unknown_class_is_passed_on_too(kind):
    plain = SynthError("no").to_plain() | {"error": kind}
    assert type(told_error("no", plain)) is MeasuringProcessError


def test_a_child_that_fails_without_a_word_is_told_of(child, log):
    with pytest.raises(SynthError, match=r"without a word \(exit code 3\)"):
        measured(child("#!/bin/sh\nexit 3\n"), log)
    with pytest.raises(SynthError, match=r"stopped from outside \(signal 9\)"):
        measured(child("#!/bin/sh\nkill -9 $$\n"), log)


def test_the_child_is_this_interpreter():
    assert measuring_process.sys is sys
