"""Delivery: the command, what it is given, how it fails, and that it is tried again."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synth.config import load_config
from synth.config.release import DeliverConfig
from synth.errors import ConfigError, DeliveryError
from synth.job import afterwards
from synth.job.afterwards import after_publication, deliver_release, delivery_words
from synth.job.remembered import recall, state_file
from tests.command_line import words_of_synth

PYTHON = sys.executable
FLAKY = "import pathlib, sys; pathlib.Path(sys.argv[1]).exists() or sys.exit('no such host')"


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "outputs" / "small"
    found.mkdir(parents=True)
    return found


def test_places_are_filled_in_once_and_no_shell_reads_the_words(folder):
    deliver = DeliverConfig(("copy", "{folder}/", "to:{release}{release}", "$(date) {directory}"))
    assert delivery_words(deliver, folder) == [
        "copy", f"{folder}/", "to:smallsmall", f"$(date) {folder.parent}"
    ]  # fmt: skip
    strange = folder.with_name("{directory}")
    assert delivery_words(deliver, strange)[1] == f"{folder.parent}/{{directory}}/"


def test_the_command_gets_little_of_the_environment_and_no_input(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSWORD", "canary")
    monkeypatch.setenv("SYNTH_POLICY", "/nowhere")
    program = (
        "import os, sys, pathlib; pathlib.Path(sys.argv[1]).write_text("
        "repr((sorted(os.environ), sys.stdin.read(), os.getcwd())))"
    )
    seen = tmp_path / "seen"
    deliver_release(DeliverConfig((PYTHON, "-c", program, str(seen))), folder)
    names, given, place = eval(seen.read_text())
    assert set(names) <= {*afterwards.PASSED_ON, "LC_CTYPE"}
    assert "PATH" in names
    assert (given, place) == ("", str(folder.parent))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/nowhere/program",), "could not be started: No such file"),
        (("/bin/sh", "-c", "echo first; echo last words >&2; exit 7"), "failed (exit code 7)"),
        (("/bin/sh", "-c", "kill -9 $$"), "failed (signal 9)"),
    ],
)
def test_failures_say_what_the_command_said(folder, command, said):
    with pytest.raises(DeliveryError, match="small is published") as caught:
        deliver_release(DeliverConfig(command), folder)
    assert said in str(caught.value)
    assert "signal" in said or "started" in said or "first last words" in caught.value.why


def test_what_the_command_says_can_do_nothing_to_a_terminal(folder):
    with pytest.raises(DeliveryError) as caught:
        deliver_release(
            DeliverConfig(("/bin/sh", "-c", r"printf '\033[2J%5000d' 7; exit 1")), folder
        )
    assert "\x1b" not in str(caught.value)
    assert len(caught.value.why) < 2 * afterwards.MOST_CHARACTERS


def is_running(noted):
    """Whether the noted process runs: one that was killed may not be buried yet."""
    try:
        state = Path(f"/proc/{noted.read_text().strip()}/stat").read_text().rpartition(")")[2]
    except OSError:
        return False
    return state.split()[0] != "Z"


def test_a_command_that_hangs_is_ended_with_all_that_it_started(folder, tmp_path, monkeypatch):
    """Also where it ignores that it should end; one that does not is interrupted below."""
    monkeypatch.setattr(afterwards, "SECONDS_TO_END", 0.3)
    child = tmp_path / "child"
    script = f"trap '' TERM; sleep 600 & echo $! > {child}; wait; wait; sleep 600"
    began = time.monotonic()
    with pytest.raises(DeliveryError, match="stopped after 1 seconds"):
        deliver_release(DeliverConfig(("/bin/sh", "-c", script), timeout=1), folder)
    assert time.monotonic() - began < 60
    while is_running(child) and time.monotonic() - began < 60:
        time.sleep(0.01)
    assert not is_running(child)


def test_an_interruption_ends_the_command_too(folder, tmp_path):
    child = tmp_path / "child"
    program = (
        "import sys; from pathlib import Path; from synth.job.afterwards import deliver_release;"
        "from synth.config.release import DeliverConfig;"
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "script = f'echo $$ > {sys.argv[1]}; exec sleep 600';"
        "deliver_release(DeliverConfig(('/bin/sh', '-c', script)), Path(sys.argv[2]))"
    )
    with subprocess.Popen(
        [*words_of_synth(), "-c", program, str(child), str(folder)], stderr=subprocess.DEVNULL
    ) as job:
        while not (child.exists() and child.read_text()):
            time.sleep(0.05)
        job.send_signal(signal.SIGINT)
        job.wait(60)
    assert not is_running(child)


@pytest.fixture(autouse=True)
def _is_in_the_index(monkeypatch):
    monkeypatch.setattr(afterwards, "listed", lambda _: {"small"})


def delivered_by(project, tmp_path, *words, **more):
    deliver = {"command": [PYTHON, "-c", *words], **more}
    config = load_config(project(output={"directory": "outputs", "deliver": deliver}))
    folder = tmp_path / "outputs" / "small"
    folder.mkdir(parents=True)
    return config, folder


def test_it_is_tried_again_until_it_succeeded_and_then_no_more(project, tmp_path, log):
    host = tmp_path / "host"
    config, folder = delivered_by(project, tmp_path, FLAKY, str(host))
    for attempts in (1, 2):
        with pytest.raises(DeliveryError, match="no such host"):
            after_publication(config, folder, log=log)
        failure = recall(state_file(config)).undelivered["small"]
        assert (failure.attempts, failure.error) == (attempts, "DeliveryError")
    host.touch()
    after_publication(config, folder, log=log)
    state = recall(state_file(config))
    assert not state.undelivered
    assert list(state.delivered) == ["small"]
    host.unlink()
    after_publication(config, folder, log=log)
    assert log.lines == ["delivered: small"]
    assert state_file(config).stat().st_mode & 0o777 == 0o600
    assert state_file(config).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", ["", "[]", "{", '{"state_version": 9}', "\x00", '{"a": 1}'])
def test_a_damaged_file_costs_a_second_delivery_and_nothing_else(project, tmp_path, log, content):
    config, folder = delivered_by(project, tmp_path, "pass")
    after_publication(config, folder, log=log)
    state_file(config).write_text(content)
    after_publication(config, folder, log=log)
    assert log.lines == ["delivered: small"] * 2
    assert list(recall(state_file(config)).delivered) == ["small"]


@pytest.mark.parametrize(
    ("deliver", "place"),
    [
        ({"command": []}, "output.deliver.command"),
        ({"command": ["rsync", "{fodler}"]}, "output.deliver.command"),
        ({"command": ["{folder}/run"]}, "output.deliver.command"),
        ({"command": ["rsync"], "timeout": 0}, "output.deliver.timeout"),
        ({"timeout": 5}, "output.deliver.command"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(project, deliver, place):
    with pytest.raises(ConfigError) as caught:
        load_config(project(output={"directory": "outputs", "deliver": deliver}))
    assert place in str(caught.value)


def test_where_it_is_delivered_is_a_place_and_no_part_of_the_release(project):
    plain = load_config(project(output={"directory": "outputs"}))
    deliver = {"command": ["rsync", "-a", "{folder}", "host:/srv"], "timeout": 5}
    delivered = load_config(project(output={"directory": "outputs", "deliver": deliver}))
    assert delivered.public == plain.public
    assert delivered.hash == plain.hash


def test_an_index_that_cannot_be_written_is_a_note_and_the_next_start_delivers_again(
    project, tmp_path, log, monkeypatch
):
    config, folder = delivered_by(project, tmp_path, "pass")
    monkeypatch.setattr(afterwards, "listed", lambda _: set())
    after_publication(config, folder, log=log)
    assert "index of all releases was not written" in log.lines[0], "there is no release"
    assert log.lines[1:] == ["delivered: small"]
    monkeypatch.setattr(afterwards, "rebuild", lambda _: None)
    after_publication(config, folder, log=log)
    assert log.lines[2:] == ["delivered: small"], "the folder of releases has changed"
    monkeypatch.setattr(afterwards, "listed", lambda _: {"small"})
    after_publication(config, folder, log=log)
    assert len(log.lines) == 3


def test_a_file_that_cannot_be_written_stops_before_the_command_is_started(project, tmp_path, log):
    """So that nothing is delivered anew at every start for ever."""
    config, folder = delivered_by(
        project, tmp_path, "import pathlib; pathlib.Path('started').touch()"
    )
    state_file(config).parent.parent.mkdir(parents=True)
    state_file(config).parent.write_text("in the way")
    with pytest.raises(Exception, match="could not be written"):
        after_publication(config, folder, log=log)
    assert not (folder.parent / "started").exists()
    assert list(folder.parent.iterdir()) == [folder]
