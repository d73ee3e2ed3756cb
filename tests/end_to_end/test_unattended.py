"""Jobs that nobody watches: a log for programs, time limits, stops, and what they leave behind."""

import json
import signal
import subprocess
import time
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest

from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.run_directory import run_directory
from synth.config import load_config
from synth.job.log import LOG_VERSION, Record, StageName
from tests.command_line import synth, words_of_synth

# A job whose measuring process spills and then takes its time; a deaf one does not hear that it
# should end, as when it is busy in native code.
SLOW = """
import os, signal, sys, time
from pathlib import Path
import synth.curator.measuring as measuring
import synth.job.measuring_process as process
way, marker, *arguments = sys.argv[1:]
def tabulate(config, source, files, scratch, selection=None):
    (scratch / "spilled").write_text("rows")
    if way == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(marker).with_suffix(".new").write_text(str(os.getpid()))
    Path(marker).with_suffix(".new").rename(marker)
    time.sleep(600)
measuring.tabulate = tabulate
process.SECONDS_TO_END = 0.2
sys.argv = ["synth", *arguments]
from synth.cli import main
main()
"""


def start(path, way, verb, *options):
    """The job of the warm process; `measuring` tells which process measures."""
    marker = path.parent / "measuring"
    command = [*words_of_synth(), "-c", SLOW, way, str(marker), verb, str(path), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def require_reserved_and_clean(path):
    """The charge stays, nothing was measured, nothing that was spilled is left."""
    config = load_config(path)
    with Ledger.open_existing(config.ledger.path) as ledger:
        assert ledger.state("small").state is RunState.RESERVED
        assert ledger.position("nobody").spent.epsilon == Fraction(1)
    left = {entry.name for entry in run_directory(config).iterdir()}
    assert left <= {"lock", "reservation", "measured-files.json"}
    assert not list((path.parent / "outputs").glob("*"))
    (path.parent / "measuring").unlink()


def require_continues(path):
    finished = synth("run", path)
    assert finished.returncode == 0, finished.stderr
    with Ledger.open_existing(load_config(path).ledger.path) as ledger:
        assert ledger.position("nobody").spent.epsilon == Fraction(1)
        assert ledger.state("small").state is RunState.PUBLISHED


LONG = "1000000"
"""A limit that no test waits for: the alarm is sent instead."""


def test_a_time_limit_ends_the_measuring_process_and_costs_nothing_more(project):
    path = project()
    with start(path, "deaf", "run", "--timeout", LONG) as run:
        wait_until((path.parent / "measuring").exists)
        run.send_signal(signal.SIGALRM)
        said = run.communicate(timeout=200)[1]
    assert run.returncode == 1, said
    assert "stopped by the time limit of 1,000,000 seconds" in said
    assert "Traceback" not in said
    require_reserved_and_clean(path)
    require_continues(path)


@pytest.mark.parametrize(("way", "number"), [("hears", signal.SIGTERM), ("deaf", signal.SIGINT)])
def test_a_stop_from_outside_is_130_and_leaves_no_process(project, way, number):
    path = project()
    with start(path, way, "run", "--log-json") as run:
        wait_until((path.parent / "measuring").exists)
        child = (path.parent / "measuring").read_text()
        assert Path(f"/proc/{child}").exists()
        run.send_signal(number)
        said = run.communicate(timeout=200)[1]
    assert run.returncode == 130, said
    last = json.loads(said.splitlines()[-1])
    assert (last["stage"], last["exit_code"]) == ("interrupted", 130)
    assert not Path(f"/proc/{child}").exists()
    require_reserved_and_clean(path)


def test_measure_alone_has_a_time_limit_too(project):
    path = project()
    with start(path, "hears", "measure", "--timeout", LONG) as measuring:
        wait_until((path.parent / "measuring").exists)
        measuring.send_signal(signal.SIGALRM)
        said = measuring.communicate(timeout=200)[1]
    assert measuring.returncode == 1, said
    assert "time limit" in said
    require_reserved_and_clean(path)


def test_the_alarm_is_set_by_the_clock(project):
    """Nothing waits for anything here: one second is over before a run can end, or soon after."""
    path = project()
    with start(path, "hears", "measure", "--timeout", "1") as stopped:
        said = stopped.communicate(timeout=200)[1]
    assert stopped.returncode == 1, said
    assert "time limit of 1 seconds" in said


def test_a_limit_that_is_not_reached_changes_nothing(project):
    path = project()
    finished = synth("run", path, "--timeout", "1000")
    assert finished.returncode == 0, finished.stderr
    assert synth("verify", path.parent / "outputs" / "small", "--timeout", "1000").returncode == 0


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "soon", "10000001"])
def test_a_limit_that_is_none_is_a_wrong_command(project, limit):
    assert synth("run", project(), "--timeout", limit).returncode == 2


KEYS = ["log_version", "command", *(field.name for field in fields(Record))]


def records(text):
    found = [json.loads(line) for line in text.splitlines()]
    assert all(list(each) == KEYS for each in found), "other keys"
    assert {each["log_version"] for each in found} == {LOG_VERSION}
    return found


def test_every_line_of_a_run_is_one_object_with_the_same_keys(project):
    path = project()
    finished = synth("run", path, "--log-json")
    assert finished.returncode == 0, finished.stderr
    found = records(finished.stderr)
    stages = ["configuration", "reserved", "measured", "discarded", "written", "published"]
    assert [each["stage"] for each in found] == stages
    assert {each["exit_code"] for each in found} == {None}
    assert [each["command"] for each in found] == ["run"] * 6
    assert {each["release"] for each in found} == {"small"}
    assert [each["budget_left"] for each in found if each["budget_left"]] == [
        {"epsilon": "1", "delta": "0"}
    ]
    again = records(synth("run", path, "--log-json").stderr)
    assert [each["stage"] for each in again] == ["configuration", "already-published"]
    before = records(synth("measure", path, "--log-json").stderr)
    assert [each["stage"] for each in before] == ["already-measured"]
    folder = path.parent / "outputs" / "small"
    assert [each["stage"] for each in records(synth("verify", folder, "--log-json").stderr)] == [
        "verified"
    ]
    others = {"already-published", "already-measured", "verified", "note", "failed", "interrupted"}
    others |= {"delivered", "renewal"}
    assert set(stages) | others == set(get_args(StageName))


def test_the_lines_are_the_same_for_a_source_of_no_records(project):
    """As for the full source of the test above, but for nothing at all."""
    path = project(people="age,sex,town\n")
    lines = synth("run", path, "--log-json").stderr.splitlines()
    assert [json.loads(line)["message"] for line in lines] == [
        "configuration accepted: 45 cells",
        "reserved: epsilon 1 of nobody",
        "measured: 45 noisy counts",
        "discarded: source kept, no temporary file left",
        "written: release verified from its bytes",
        "published: small",
    ]


def failures(project):
    yield "ConfigError", project(privacy={"epsilon": 0}), 2
    yield "SourceError", project(source={"path": "absent.csv"}), 1
    yield "BudgetRefusedError", project(ledger={"epsilon_cap": "1/2"}), 4
    yield "SourceError", project(people="age,sex\n"), 1


def test_failures_are_objects_too_and_carry_the_exit_code(project):
    for kind, path, exit_code in failures(project):
        finished = synth("run", path, "--log-json")
        assert finished.returncode == exit_code, (kind, finished.stderr)
        last = records(finished.stderr)[-1]
        assert (last["stage"], last["exit_code"]) == ("failed", exit_code), kind
        assert last["message"]
        assert last["error"] == kind
        if kind != "ConfigError":
            assert last["fix"]
        left = {"epsilon": "1/2", "delta": "0"} if exit_code == 4 else None
        assert last["budget_left"] == left
    wrong = synth("run", "--log-json")
    assert wrong.returncode == 2
    assert records(wrong.stderr)[-1]["exit_code"] == 2


def test_two_jobs_at_once_are_kept_apart(project):
    path = project()
    with start(path, "hears", "run") as first:
        wait_until((path.parent / "measuring").exists)
        second = synth("run", path, "--log-json")
        first.terminate()
        first.communicate(timeout=100)
    assert second.returncode == 1
    last = records(second.stderr)[-1]
    assert last["stage"] == "failed"
    assert "another process is working on this release" in last["message"]
