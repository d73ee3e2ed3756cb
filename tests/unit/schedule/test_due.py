"""`synth due`: what is due is published once, whatever happened to the starts before."""

import json
import shutil
import signal
import subprocess
import sys
from datetime import date
from types import SimpleNamespace

import pytest

import synth
from synth.bookkeeping import Ledger, RunState
from synth.config import load_config
from synth.errors import BusyError, ConfigError, OutputError
from synth.job.remembered import job_directory, recall, state_file
from synth.schedule import due as due_module
from synth.schedule.outlook import lock_of, series_config
from synth.schedule.tidy import tidy
from tests.command_line import synth as command
from tests.command_line import words_of_synth
from tests.conftest import PEOPLE
from tests.unit.schedule.conftest import APRIL, MONTHS, SERIES

pytestmark = pytest.mark.xdist_group("schedule")

FEBRUARY, MARCH = date(2026, 2, 1), date(2026, 3, 1)
COUNT = "import pathlib, sys; open('../delivered', 'a').write(sys.argv[1] + '\\n')"
COUNTING = {"command": [sys.executable, "-c", COUNT, "{release}"]}


def runs(path):
    """State and number of reservations of every release in the ledger."""
    config, _ = series_config(path)
    with Ledger.open_existing(config.ledger.path) as ledger:
        ledger.verify_chain()
        kinds = [(event.release_id, event.kind) for event in ledger.history()]
        names = dict.fromkeys(name for name, _ in kinds if name)
        return {name: (ledger.state(name).state, kinds.count((name, "reserve"))) for name in names}


ONCE = {f"small-{month}": (RunState.PUBLISHED, 1) for month in MONTHS}
TWO_ONCE = {name: ONCE[name] for name in list(ONCE)[:2]}


def test_every_due_period_is_published_oldest_first_and_once(monthly, log):
    path = monthly()
    outcome = synth.due(path, today=date(2026, 3, 31), log=log)
    assert [folder.name for folder in outcome.published] == ["small-2026-01", "small-2026-02"]
    assert outcome.exit_code == 0
    assert synth.due(path, today=MARCH, log=log).published == ()
    assert synth.due(path, today=date(2026, 1, 15), log=log).published == (), "a clock set back"
    assert runs(path) == TWO_ONCE


def test_success_is_silent_and_a_failure_is_one_message_with_its_release(monthly):
    path = monthly(months=("2026-01", "2026-03"))
    quiet = command("due", path, "--today", "2026-02-01")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    failed = command("due", path, "--today", "2026-03-02")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("error: small-2026-02: source.path names no file")
    assert failed.stderr.count("error:") == 1
    later = command("due", path, "--today", "2026-04-01")
    assert later.returncode == 1, "of the first failure"
    assert (path.parent / "outputs" / "small-2026-03").is_dir(), "later periods go on"
    assert (
        recall(state_file(load_config(path, period="2026-02"))).failed["small-2026-02"].attempts
        == 2
    )
    (path.parent / "people-2026-02.csv").write_text(PEOPLE, encoding="utf-8")
    mended = command("due", path, "--today", "2026-04-01")
    assert (mended.returncode, mended.stdout) == (0, "")
    assert runs(path) == ONCE
    assert not recall(state_file(load_config(path, period="2026-02"))).failed


PERSONS = {"epsilon": "1/4", "unit": {"column": "person", "max_records": 1}}


@pytest.mark.parametrize(
    "changes",
    [
        {"series": {**SERIES, "rows": "all"}},
        {"series": {**SERIES, "max_periods": 2}, "privacy": PERSONS},
    ],
)
def test_a_series_whose_periods_come_in_order_stops_at_its_first_failure(
    monthly, log, monkeypatch, changes
):
    started = []

    def fails(config, **_):
        started.append(config.release.id)
        raise OutputError("no room")

    monkeypatch.setattr(due_module, "run", fails)
    where = {"path": "people.csv", "where": {"column": "seen", "within": "period"}}
    path = monthly(source=where, **changes)
    outcome = synth.due(path, today=APRIL, log=log)
    assert started == ["small-2026-01"]
    assert [name for name, _ in outcome.failures] == ["small-2026-01"]


def test_what_was_left_out_of_a_series_in_order_is_not_due_any_more(monthly, log):
    rows = [f"p{number},2026-0{1 + number % 3}-15,{line}" for number, line in enumerate(
        PEOPLE.splitlines()[1:]
    )]  # fmt: skip
    people = "\n".join(["person,seen," + PEOPLE.splitlines()[0], *rows, ""])
    path = monthly(
        source={"path": "people.csv", "where": {"column": "seen", "within": "period"}},
        series={**SERIES, "max_periods": 2},
        privacy=PERSONS,
    )
    (path.parent / "people.csv").write_text(people, encoding="utf-8")
    assert command("run", path, "--period", "2026-02").returncode == 0
    early = command("run", path, "--period", "2026-01")
    assert early.returncode == 1
    assert "a later period, was charged" in early.stderr
    outcome = synth.due(path, today=APRIL, log=log)
    assert [folder.name for folder in outcome.published] == ["small-2026-03"]
    assert outcome.exit_code == 0


def test_a_bug_in_one_period_is_told_without_data_and_stops_no_other(monthly, log, monkeypatch):
    publish, started = due_module.run, []

    def stumbles(config, **given):
        started.append(config.release.id)
        if config.period == "2026-01":
            raise KeyError("canary")
        return publish(config, **given)

    monkeypatch.setattr(due_module, "run", stumbles)
    path = monthly()
    outcome = synth.due(path, today=MARCH, log=log)
    assert outcome.exit_code == 3
    assert len(started) == len(log.lines[:1]) + 1
    assert "canary" not in "".join(log.lines)
    assert [folder.name for folder in outcome.published] == ["small-2026-02"]


def test_without_a_series_nothing_is_due(project, log):
    with pytest.raises(ConfigError) as caught:
        synth.due(project(), log=log)
    assert "synth run" in str(caught.value)
    wrong = command("due", project(), "--today", "tomorrow")
    assert wrong.returncode == 2


def test_a_second_start_leaves_the_work_to_the_first(monthly, log, monkeypatch):
    path = monthly()
    config, _ = series_config(path)
    waited = []
    monkeypatch.setattr(due_module, "time", SimpleNamespace(sleep=waited.append))
    with lock_of(config):
        outcome = synth.due(path, today=APRIL, log=log)
    assert (outcome.is_busy, outcome.exit_code) == (True, 0)
    assert "another start is under way" in log.lines[-1]
    assert len(waited) == 4, "a look takes an instant"
    assert not (path.parent / "outputs").exists()
    held = lock_of(config)
    held.__enter__()
    monkeypatch.setattr(due_module.time, "sleep", lambda _: held.__exit__(None, None, None))
    outcome = synth.due(path, today=date(2026, 1, 1), log=log)
    assert (outcome.is_busy, outcome.exit_code) == (False, 0)


def test_a_run_by_hand_at_the_same_time_is_a_failure_that_passes(monthly, log, monkeypatch):
    path = monthly()
    publish = due_module.run
    monkeypatch.setattr(due_module, "run", lambda *_, **__: (_ for _ in ()).throw(BusyError("x")))
    assert synth.due(path, today=FEBRUARY, log=log).exit_code == 1
    monkeypatch.setattr(due_module, "run", publish)
    assert synth.due(path, today=FEBRUARY, log=log).exit_code == 0


def test_a_release_that_was_withdrawn_is_not_published_again(published, log):
    folder = published.parent / "outputs" / "small-2026-01"
    shutil.rmtree(folder)
    outcome = synth.due(published, today=APRIL, log=log)
    assert outcome.published == ()
    assert not folder.exists()
    (found,) = synth.status([published], today=APRIL)
    assert found.absent == ("2026-01",)


def test_delivery_is_made_up_for_and_stops_no_period(monthly, log, tmp_path):
    host = tmp_path / "host"
    flaky = "import pathlib, sys; sys.exit(not pathlib.Path(sys.argv[1]).exists())"
    deliver = {"command": [sys.executable, "-c", flaky, str(host)]}
    path = monthly(output={"directory": "outputs", "deliver": deliver})
    outcome = synth.due(path, today=MARCH, log=log)
    assert outcome.exit_code == 1
    assert (len(outcome.published), len(outcome.failures)) == (2, 2)
    assert runs(path) == TWO_ONCE, "published all the same"
    (found,) = synth.status([path], today=MARCH)
    assert (found.exit_code, len(found.trouble), found.due) == (1, 2, ())
    before = state_file(load_config(path, period="2026-01")).read_bytes()
    assert b"DeliveryError" in before
    host.touch()
    assert synth.due(path, today=MARCH, log=log).exit_code == 0
    assert synth.status([path], today=MARCH)[0].undelivered == ()


def test_the_end_is_announced_three_periods_ahead_once_for_each_publication(monthly):
    """Of a longer horizon nothing is said: see the silence above."""
    path = monthly(series={**SERIES, "horizon": 4})
    said = command("due", path, "--today", "2026-02-01").stderr
    assert said.startswith("small-2026-01: 3 periods left: the horizon ends with 2026-04;")
    assert command("due", path, "--today", "2026-02-02").stderr == ""
    logged = command("due", path, "--today", "2026-03-01", "--log-json").stderr.splitlines()
    last = json.loads(logged[-1])
    assert (last["stage"], last["release"]) == ("renewal", "small-2026-02")
    assert last["message"].startswith("2 periods left")


def test_the_log_goes_to_a_file_too_and_its_directory_is_made(monthly):
    path = monthly(months=())
    place = path.parent / "log" / "deep" / "sales.jsonl"
    done = command("due", path, "--today", "2026-02-01", "--log-file", place)
    assert done.stderr.startswith("error: small-2026-01: ")
    lines = [json.loads(line) for line in place.read_text().splitlines()]
    assert {(line["command"], line["release"]) for line in lines} == {("due", "small-2026-01")}
    assert lines[-1]["error"] == "SourceError"
    assert place.stat().st_mode & 0o777 == 0o600
    blocked = command("due", path, "--log-file", path / "log.jsonl")
    assert blocked.returncode == 1
    assert "the log log.jsonl could not be written" in blocked.stderr


def test_directories_that_cannot_be_made_are_an_expected_failure(monthly):
    path = monthly()
    (path.parent / "state").write_text("in the way")
    said = command("due", path, "--today", "2026-04-01")
    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    (path.parent / "state").unlink()
    (path.parent / "outputs").write_text("in the way")
    said = command("due", path, "--today", "2026-02-01")
    assert said.returncode == 1
    assert "small-2026-01: the output directory could not be written" in said.stderr
    (path.parent / "outputs").unlink()
    assert command("due", path, "--today", "2026-02-01").returncode == 0


KILLED = """
import os, signal, sys, threading
delay, *arguments = sys.argv[1:]
timer = threading.Timer(float(delay), os.kill, (os.getpid(), signal.SIGKILL))
timer.daemon = True
timer.start()
sys.argv = ["synth", *arguments]
from synth.cli import main
main()
"""


def test_killed_at_any_instant_every_period_is_published_once(cumulative):
    """Each start goes on where the one before was killed, later and later.

    `tests/end_to_end/test_two_years.py` kills starts of series with new records, too.
    """
    path = cumulative(output={"directory": "outputs", "deliver": COUNTING})
    killed = 0
    for delay in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
        done = command(delay, "due", path, "--today", "2026-03-01", program=KILLED)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode != 0
    assert command("due", path, "--today", "2026-03-01").returncode == 0
    assert killed >= 2
    assert runs(path) == TWO_ONCE
    for release_id in TWO_ONCE:
        synth.verify(path.parent / "outputs" / release_id)
    outputs = sorted(entry.name for entry in (path.parent / "outputs").iterdir())
    assert [name for name in outputs if name.startswith("small")] == sorted(TWO_ONCE)
    assert not [name for name in outputs if name.startswith(".staging")]
    config = load_config(path, period="2026-01")
    state = recall(state_file(config))
    assert not state.failed
    assert sorted(state.delivered) == sorted(TWO_ONCE)
    assert set((path.parent / "delivered").read_text().split()) == set(TWO_ONCE)
    left = {entry.name for entry in job_directory(config).iterdir()}
    assert left == {"state.json", "state.lock", "due.lock"}


def test_a_continual_series_goes_on_after_its_runs_were_tidied_and_stops_if_the_last_is_lost(
    cumulative, log
):
    path = cumulative()
    assert synth.due(path, today=FEBRUARY, log=log).exit_code == 0
    (kept,) = tidy(path, delete=True)
    assert kept.kept_because == "the next period continues from them"
    assert synth.due(path, today=MARCH, log=log).exit_code == 0
    first, last = tidy(path, delete=True)
    assert (first.is_deleted, last.is_deleted) == (True, False)
    folder = path.parent / "outputs" / "small-2026-02"
    folder.rename(path.parent / "elsewhere")
    (path.parent / "state" / "runs" / "small-2026-02" / "measurements.parquet").unlink()
    ((release_id, error),) = synth.due(path, today=APRIL, log=log).failures
    assert (release_id, error.exit_code) == ("small-2026-03", 1)
    assert runs(path) == TWO_ONCE, "nothing is charged"
    (path.parent / "elsewhere").rename(folder)
    assert synth.due(path, today=APRIL, log=log).exit_code == 0
    assert runs(path) == ONCE
    assert synth.status(path, today=APRIL)[0].exit_code == 0


def test_two_starts_at_once_do_the_work_once(monthly):
    path = monthly(output={"directory": "outputs", "deliver": COUNTING})
    words = [*words_of_synth(), "due", str(path), "--today", "2026-03-01"]
    both = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(2)]
    assert [(each.communicate()[1], each.returncode) for each in both] == [(b"", 0)] * 2
    assert runs(path) == TWO_ONCE
    assert sorted((path.parent / "delivered").read_text().split()) == sorted(TWO_ONCE)


DIES = """
import os, signal, sys
import synth.schedule.due as due
due.run = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["synth", *sys.argv[1:]]
from synth.cli import main
main()
"""


def test_an_attempt_that_was_killed_is_known_as_one(monthly, log):
    path = monthly()
    for _ in range(2):
        died = command("due", path, "--today", "2026-02-01", program=DIES)
        assert died.returncode == -signal.SIGKILL
    (found,) = synth.status([path], today=FEBRUARY)
    assert found.exit_code == 1
    (trouble,) = found.trouble
    assert trouble.failure.sentence == "the last attempt did not end"
    assert trouble.failure.attempts == 2
    synth.due(path, today=FEBRUARY, log=log)
    assert synth.status([path], today=FEBRUARY)[0].exit_code == 0
