"""The live line of a terminal: the stage under way, how far it is, how fast, how long still."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from synth.progress import Step, Unit

REDRAWN_PER_SECOND = 8
RATE_OVER_SECONDS = 20.0


class LiveLine:
    """One line below the log, redrawn in place and gone without a trace when the job is done.

    In a notebook it is a widget. It is a `synth.progress.Watcher`. The cursor is never hidden, so
    that a job that is killed leaves a terminal that works. A terminal that went away stops the
    line, not the job.
    """

    def __init__(self, terminal: TextIO | None, what: str) -> None:
        """Draw on this terminal, or in the notebook; `what` is shown until a stage is entered."""
        self._what = what
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=_one_line()),
            _BarOfKnownTotal(),
            _Figures(table_column=_one_line()),
            console=Console(force_jupyter=True)
            if terminal is None
            else _Terminal(file=terminal, force_terminal=True),
            refresh_per_second=REDRAWN_PER_SECOND,
            speed_estimate_period=RATE_OVER_SECONDS,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> Self:
        with suppress(OSError):
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._progress.stop()

    def print_above(self, line: str) -> None:
        """Print a line of the log above the live line."""
        with suppress(OSError):
            self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def entered(self, step: Step | None) -> None:
        """Show this step, from its beginning."""
        text = self._what if step is None else step.stage.value
        if step is not None and step.parts > 1:
            text += f" ({step.part} of {step.parts})"
        # a task of its own: rate and time are those of the step
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(text, total=None)

    def advanced(self, done: int, total: int, unit: Unit) -> None:
        """Show how far the step is; the line is drawn at its own pace."""
        self._progress.update(self._task, completed=done, total=total, unit=unit)


class _Terminal(Console):
    """A console that leaves the cursor alone."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002
        return False


class _BarOfKnownTotal(ProgressColumn):
    """A bar where there are figures, nothing where there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = BarColumn(bar_width=20)

    def render(self, task: Task) -> RenderableType:
        return Text("") if task.total is None else self._bar.render(task)


class _Figures(ProgressColumn):
    """Done, total, rate and remaining time; the time elapsed where there are no figures."""

    def render(self, task: Task) -> Text:
        return Text(figures(task))


def _one_line() -> Column:
    return Column(no_wrap=True, overflow="ellipsis")


def figures(task: Task) -> str:
    """The figures of a step in words."""
    if task.total is None:
        return f"{_clock(task.elapsed or 0.0)} so far"
    unit = str(task.fields.get("unit", ""))
    most = "at most " if unit == "iterations" else ""  # a fit may end before its limit
    text = f"{int(task.completed):,} of {most}{int(task.total):,} {unit}"
    if task.speed and task.time_remaining is not None and not task.finished:
        text += f", {_rate(task.speed)} a second, {_clock(task.time_remaining)} left"
    return text


def _rate(speed: float) -> str:
    return f"{speed:,.1f}" if speed < 10 else f"{speed:,.0f}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
