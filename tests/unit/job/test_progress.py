"""Progress: who is told what, and what nobody is told while raw data are open."""

import contextvars
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from rich.progress import Task

from synth import progress
from synth.job.live_line import LiveLine, figures
from synth.job.log import StageLog, is_notebook
from synth.job.measuring_process import ToldParent, pass_on
from synth.progress import Stage, Step, advance, stage, watched_by, while_raw_data_are_open
from tests.command_line import synth, words_of_synth
from tests.conftest import RecordedLog


class Recorder:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.heard = []

    def entered(self, step):
        self.heard.append(step)

    def advanced(self, done, total, unit):
        self.heard.append((done, total, unit))


@pytest.fixture
def recorder():
    watcher = Recorder()
    with watched_by(watcher):
        yield watcher


def test_without_a_watcher_nothing_happens():
    with stage(Stage.NOISE):
        advance(1, 2, "cells")
    assert progress.current_watcher() is None


def test_stages_are_nested_and_the_inner_one_is_told(recorder):
    with stage(Stage.VERIFYING):
        with stage(Stage.ESTIMATION, part=2, parts=3):
            advance(1, 4, "iterations")
        advance(5, 6, "rows")
    advance(7, 8, "rows")  # outside of every stage
    assert recorder.heard == [
        Step(Stage.VERIFYING),
        Step(Stage.ESTIMATION, 2, 3),
        (1, 4, "iterations"),
        Step(Stage.VERIFYING),
        (5, 6, "rows"),
        None,
    ]


def test_a_stage_that_fails_is_over(recorder):
    with pytest.raises(ValueError, match="no"), stage(Stage.WRITING):
        raise ValueError("no")
    assert recorder.heard == [Step(Stage.WRITING), None]


@pytest.mark.parametrize(("done", "total"), [(-1, 4), (5, 4), (0, -1)])
def test_figures_that_make_no_sense_are_dropped(recorder, done, total):
    with stage(Stage.WRITING):
        advance(done, total, "rows")
    assert recorder.heard == [Step(Stage.WRITING), None]


def test_while_raw_data_are_open_only_public_figures_pass(recorder):
    with while_raw_data_are_open([12, 60]):
        with stage(Stage.COUNTING):
            advance(1, 12, "cells")  # counting has no figures, not even public ones
            advance(777, 4271, "rows")
        with stage(Stage.NOISE, part=1, parts=2):
            advance(6, 12, "cells")
            advance(3, 9, "cells")  # so many occupied cells
            with stage(Stage.ESTIMATION):
                advance(1, 12, "iterations")
    assert recorder.heard == [
        Step(Stage.COUNTING),
        None,
        Step(Stage.NOISE, 1, 2),
        (6, 12, "cells"),
        Step(Stage.NOISE, 1, 2),
        None,
    ]
    with stage(Stage.WRITING):
        advance(3, 9, "rows")
    assert recorder.heard[-2] == (3, 9, "rows"), "afterwards everything passes again"


def test_a_worker_thread_is_not_heard_unless_it_was_given_the_context(recorder):
    with stage(Stage.NOISE):
        here = contextvars.copy_context()
        for target in (advance, lambda *figures: here.run(advance, *figures)):
            worker = threading.Thread(target=target, args=(1, 2, "cells"))
            worker.start()
            worker.join()
    assert recorder.heard == [Step(Stage.NOISE), (1, 2, "cells"), None]


def through_a_pipe(job):
    """What a child reports while `job` is done, as the parent hears it."""
    reading, writing = os.pipe()
    told = ToldParent(writing, is_watched=True)
    os.close(writing)
    with told.doing("measuring"):
        job()
    os.close(told._descriptor)
    log, heard = RecordedLog(), Recorder()
    with os.fdopen(reading, "rb") as pipe:
        for line in pipe:
            assert pass_on(line, log, heard) is None
    return log.lines, heard.heard


def test_reports_come_through_the_pipe_as_they_went_in():
    def job():
        with while_raw_data_are_open([10**18]):
            with stage(Stage.COUNTING):
                advance(1, 10**18, "cells")
            with stage(Stage.NOISE, part=2, parts=36):
                advance(10**17, 10**18, "cells")

    lines, heard = through_a_pipe(job)
    assert lines == []
    assert heard == [
        Step(Stage.COUNTING),
        None,
        Step(Stage.NOISE, 2, 36),
        (10**17, 10**18, "cells"),
        None,
    ]


def test_reports_are_few_however_fast_the_loop_is():
    def job():
        with stage(Stage.NOISE):
            for block in range(1000):
                advance(block, 1000, "cells")

    start = time.monotonic()
    _, heard = through_a_pipe(job)
    seconds = time.monotonic() - start
    assert 3 <= len(heard) <= 4 + seconds / 0.1


def test_a_pipe_that_nobody_reads_does_not_stop_the_job():
    reading, writing = os.pipe()
    os.close(reading)
    told = ToldParent(writing, is_watched=True)
    with told.doing("measuring"), stage(Stage.NOISE):
        advance(1, 2, "cells")
    told.done("measured", "measured: 60 noisy counts")
    os.close(writing)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"34,Female",
        b"{}",
        b"null",
        b'{"entered": []}',
        b'{"entered": ["NOISE", 1]}',
        b'{"entered": ["READING", 1, 1]}',
        b'{"entered": ["NOISE", 1, 1, 4271]}',
        b'{"entered": ["NOISE", "34", "Female"]}',
        b'{"advanced": [1, 2, "persons"]}',
        b'{"advanced": [1, 2, "cells", "34,Female"]}',
        b'{"advanced": [-1, 2, "cells"]}',
        b'{"advanced": [3, 2, "cells"]}',
        b'{"advanced": [1, 2, "cel',
        b'{"line": "34,Female"}',
        b'{"line": {"stage": "measured"}}',
        b'{"failed": "34,Female"}',
    ],
)
def test_a_garbled_report_reaches_nobody(line):
    log, heard = RecordedLog(), Recorder()
    assert pass_on(line, log, heard) is None
    assert (log.lines, heard.heard) == ([], [])


def test_a_log_never_shows_reports():
    log = RecordedLog()
    pass_on(b'{"entered": ["NOISE", 1, 1]}', log, None)
    pass_on(b'{"advanced": [1, 2, "cells"]}', log, None)
    assert log.lines == []


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self):
        return True

    def plain(self):
        """The text without control sequences."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue()).replace("\r", "\n")


def test_a_terminal_shows_stages_figures_and_the_lines_of_the_log():
    terminal = Terminal()
    log = StageLog(terminal)
    with log.doing("measuring"):
        live = progress.current_watcher()
        with stage(Stage.NOISE, part=2, parts=3):
            advance(250_000, 1_000_000, "cells")
            live._progress.refresh()
        log.done("reserved", "reserved: epsilon 1 of nobody")
    log.done("published", "published: small")
    text = terminal.plain()
    assert "adding noise (2 of 3)" in text
    assert "250,000 of 1,000,000 cells" in text
    assert "✓ reserved: epsilon 1 of nobody\n" in text
    assert text.endswith("✓ published: small\n")
    assert "\x1b[?25l" not in terminal.getvalue(), "a killed job must not leave a hidden cursor"


def test_counting_shows_the_time_elapsed_and_nothing_else():
    terminal = Terminal()
    with StageLog(terminal).doing("measuring"), while_raw_data_are_open([7]), stage(Stage.COUNTING):
        advance(3, 7, "rows")
        progress.current_watcher()._progress.refresh()
    shown = [line for line in terminal.plain().splitlines() if "counting" in line]
    assert shown
    for line in shown:
        assert re.fullmatch(r". counting the records +\d:\d\d:\d\d so far *", line), line


def test_a_terminal_that_went_away_does_not_stop_the_job():
    class Gone(Terminal):
        def write(self, _text):
            raise OSError(5, "Input/output error")

    done = []
    with LiveLine(Gone(), "measuring") as live, watched_by(live), stage(Stage.NOISE):
        advance(1, 2, "cells")
        live.print_above("a line")
        done.append(True)
    assert done


def test_without_a_terminal_nothing_is_drawn():
    stream = io.StringIO()
    log = StageLog(stream)
    with log.doing("measuring"), stage(Stage.NOISE):
        assert progress.current_watcher() is None
        advance(1, 2, "cells")
    log.done("measured", "measured: 60 noisy counts")
    assert stream.getvalue() == "measured: 60 noisy counts\n"


def a_task(clock, *, unit, total=100):
    return Task(
        id=0, description="", total=total, completed=0, _get_time=lambda: clock[0], fields={
            "unit": unit}, _lock=threading.RLock()
    )  # fmt: skip


def test_rate_and_remaining_time():
    from rich.progress import ProgressSample

    clock = [0.0]
    task = a_task(clock, unit="cells")
    task.start_time = 0.0
    assert figures(task) == "0 of 100 cells"
    for second in range(5):
        clock[0] = float(second)
        task._progress.append(ProgressSample(float(second), 10.0))
    task.completed = 50
    assert figures(task) == "50 of 100 cells, 10 a second, 0:00:05 left"
    task.fields["unit"] = "iterations"
    assert figures(task).startswith("50 of at most 100 iterations")
    task.total = None
    assert figures(task) == "0:00:04 so far"


def on_a_terminal(program, *arguments, stop_at=None):
    """Run the command with a terminal for its errors; returns exit code and what was drawn."""
    controller, terminal = os.openpty()
    job = subprocess.Popen(
        [*program, *map(str, arguments)],
        stderr=terminal,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(terminal)
    drawn = b""
    while True:
        try:
            part = os.read(controller, 1 << 16)
        except OSError:  # everybody has closed the terminal
            break
        drawn += part
        if stop_at is not None and stop_at[0] in drawn:
            job.send_signal(stop_at[1])
            stop_at = None
    os.close(controller)
    return job.wait(timeout=60), drawn.decode(errors="replace")


def test_a_whole_run_on_a_terminal(project):
    code, drawn = on_a_terminal(words_of_synth(), "run", project(strategy="identity"))
    assert code == 0, drawn
    assert "✓ measured: 45 noisy counts" in drawn
    assert "✓ published: small" in drawn
    assert progress_words(drawn) == set()
    assert "\x1b[?25l" not in drawn


def progress_words(drawn):
    """Lines of the fixed vocabulary, which only parent and child exchange."""
    return set(re.findall('"(?:line|entered|advanced|failed)".*', drawn))


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_while_it_draws_leaves_terminal_and_state_in_order(project, way):
    path: Path = project(people="age,sex,town\n" + "34,Female,Nord\n" * 300_000)
    code, drawn = on_a_terminal(words_of_synth(), "run", path, stop_at=(b"reserved", way))
    assert code == (130 if way == signal.SIGTERM else -way)
    assert "\x1b[?25l" not in drawn
    assert "Traceback" not in drawn
    assert progress_words(drawn) == set()
    deadline = time.monotonic() + 20
    while True:  # the measuring process may still be dying
        again = synth("run", path)
        if again.returncode == 0 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert again.returncode == 0, again.stderr
    assert synth("verify", path.parent / "outputs" / "small").returncode == 0


class Widget:
    """As much of ipywidgets.Output as rich uses."""

    def __init__(self):
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def clear_output(self, wait):
        assert wait

    def close(self):
        self.closed = True


def test_a_notebook_shows_stages_and_figures_in_a_widget_of_its_own(monkeypatch, capsys):
    displayed = []
    modules = {
        "ipykernel": {},
        "ipywidgets": {"Output": Widget, "__spec__": object()},
        "IPython": {},
        "IPython.display": {"display": displayed.append},
    }
    for name, content in modules.items():
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        vars(sys.modules[name]).update(content)
    assert is_notebook()
    log = StageLog()
    with log.doing("measuring"), stage(Stage.NOISE, part=1, parts=2):
        advance(250, 1000, "cells")
        log.done("note", "a line of the log")
        time.sleep(0.5)
    widget, *drawn = displayed
    shown = "".join(each.text for each in drawn)
    assert "measuring" in shown
    assert "adding noise (1 of 2)" in shown
    assert "250 of 1,000 cells" in shown
    assert widget.closed
    assert capsys.readouterr() == ("", "a line of the log\n")


@pytest.mark.parametrize("missing", ["ipykernel", "ipywidgets"])
def test_without_a_kernel_or_widgets_a_notebook_shows_lines_alone(missing, monkeypatch, capsys):
    for name in {"ipykernel", "ipywidgets"} - {missing}:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        sys.modules[name].__spec__ = ModuleSpec(name, None)
    assert not is_notebook()
    log = StageLog()
    with log.doing("measuring"), stage(Stage.NOISE):
        advance(1, 2, "cells")
        log.done("note", "a line of the log")
    assert capsys.readouterr() == ("", "a line of the log\n")
