"""How series stand: for people, for programs, and for a collector of metrics."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from synth.config import Config, Given, Series, load_config
from synth.config.schema.yaml_tree import printable
from synth.domain import format_number
from synth.errors import BudgetRefusedError, BusyError, OutputError, SynthError
from synth.job.authorisation import counted_approvals
from synth.job.remembered import Failure
from synth.measurements.durable import translate_write_errors
from synth.schedule.outlook import Ending, Outlook, ending, lock_of, series_config, utc_date


@dataclass(frozen=True)
class Trouble:
    """A release that is due, or to be delivered, and what went wrong the last time."""

    release: str
    period: str
    what: Literal["publication", "delivery"]
    failure: Failure


@dataclass(frozen=True)
class SeriesStatus:
    """How one series stands."""

    config: str
    """The name of the configuration, as it was given."""
    series: str
    """The release id with {period} in it; empty if the configuration is refused."""
    published: tuple[str, ...] = ()
    """Periods."""
    absent: tuple[str, ...] = ()
    """Published periods whose folder is not in the output directory any more."""
    due: tuple[str, ...] = ()
    """Periods that are due and not published."""
    undelivered: tuple[str, ...] = ()
    """Published periods whose delivery or index is still to be made."""
    trouble: tuple[Trouble, ...] = ()
    next_period: str | None = None
    next_due: date | None = None
    is_running: bool = False
    """Whether a start is under way."""
    population: str = ""
    epsilon: tuple[str, str] | None = None
    """What the population has spent, and its cap: exact fractions in text."""
    ending: Ending | None = None
    approvals: tuple[int, int] | None = None
    """How many count, and how many a policy asks for; None where none asks."""
    refused: SynthError | None = None
    """Why nothing can be said of it."""

    @property
    def exit_code(self) -> int:
        """0 healthy; 1 something due is not published, or failed; 4 the budget ends too early."""
        if self.refused is not None:
            return self.refused.exit_code
        if self.due or self.undelivered or self.trouble:
            return SynthError.exit_code
        if self.approvals is not None and self.approvals[0] < self.approvals[1]:
            return SynthError.exit_code
        if self.ending is not None and self.ending.is_cut_short:
            return BudgetRefusedError.exit_code
        return 0

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        ends = self.ending
        return {
            "config": self.config,
            "series": self.series,
            "exit_code": self.exit_code,
            "published": list(self.published),
            "absent": list(self.absent),
            "due": list(self.due),
            "undelivered": list(self.undelivered),
            "trouble": [
                {"release": t.release, "period": t.period, "what": t.what, **asdict(t.failure)}
                for t in self.trouble
            ],
            "next_period": self.next_period,
            "next_due": None if self.next_due is None else self.next_due.isoformat(),
            "is_running": self.is_running,
            "population": self.population,
            "epsilon_spent": None if self.epsilon is None else self.epsilon[0],
            "epsilon_cap": None if self.epsilon is None else self.epsilon[1],
            "left_in_horizon": None if ends is None else ends.left_in_horizon,
            "affordable": None if ends is None else ends.affordable,
            "warnings": [] if ends is None else list(ends.warnings),
            "approvals": None if self.approvals is None else list(self.approvals),
            "refused": None if self.refused is None else self.refused.to_plain(),
        }


def status(
    configs: Given | Sequence[Given], *, today: date | None = None, policy: Path | None = None
) -> tuple[SeriesStatus, ...]:
    """How a series stands, or several; opens no data, and changes nothing.

    A configuration that is refused, or whose ledger is damaged, hides none of the others.
    """
    several = [configs] if isinstance(configs, str | os.PathLike | Mapping | Config) else configs
    return tuple(_status(config, today or utc_date(), policy) for config in several)


def _status(config: Given, today: date, policy: Path | None) -> SeriesStatus:
    name = os.fspath(config) if isinstance(config, str | os.PathLike) else "the configuration"
    try:
        first, series = series_config(config)
        outlook = Outlook.of(first, series, today)
        upcoming = next(iter(outlook.due), outlook.next_index or outlook.newest)
        label = series.label(upcoming)
        approvals = counted_approvals(load_config(config, period=label), policy=policy)
    except SynthError as error:
        return SeriesStatus(name, "", refused=error)
    position, following = outlook.position, outlook.next_index
    trouble = [
        *_troubles(series, "publication", outlook.failures),
        *_troubles(series, "delivery", outlook.failed_deliveries),
    ]
    return SeriesStatus(
        config=name,
        series=series.name,
        published=tuple(map(series.label, outlook.published)),
        absent=tuple(map(series.label, outlook.absent)),
        due=tuple(map(series.label, outlook.due)),
        undelivered=tuple(map(series.label, outlook.unfinished)),
        trouble=tuple(trouble),
        next_period=None if following is None else series.label(following),
        next_due=None if following is None else series.due_on(following),
        is_running=_is_running(outlook),
        population=series.population(outlook.newest or 1, first.ledger.population)
        if first.ledger is not None
        else "",
        epsilon=None
        if position is None or position.cap is None
        else (str(position.spent.epsilon), str(position.cap.epsilon)),
        ending=ending(outlook),
        approvals=approvals,
    )


def _troubles(
    series: Series,
    what: Literal["publication", "delivery"],
    failures: Sequence[tuple[int, Failure]],
) -> Iterator[Trouble]:
    for index, failure in failures:
        yield Trouble(series.release_id(index), series.label(index), what, failure)


def _is_running(outlook: Outlook) -> bool:
    lock = lock_of(outlook.config)
    if not lock.path.exists():
        return False
    try:
        with lock:
            return False
    except BusyError:
        return True
    except OutputError:
        return False


def status_lines(found: Sequence[SeriesStatus]) -> list[str]:
    """A paragraph for every series."""
    lines: list[str] = []
    for each in found:
        lines += ["", *_paragraph(each)] if lines else _paragraph(each)
    return lines


def _paragraph(found: SeriesStatus) -> list[str]:
    if found.refused is not None:
        return [f"{found.config}: refused", *_indented(str(found.refused))]
    word = "healthy" if found.exit_code == 0 else "needs a person"
    rows = [("published", _periods(found.published) or "nothing yet")]
    if found.absent:
        rows.append(("moved away", _periods(found.absent)))
    if found.is_running:
        rows.append(("running", "a start is under way"))
    failed = {trouble.period for trouble in found.trouble}
    for trouble in found.trouble:
        what = "failed" if trouble.what == "publication" else "undelivered"
        rows.append((what, f"{trouble.period}: {_told(trouble.failure)}"))
    waiting = tuple(period for period in found.due if period not in failed)
    pending = tuple(period for period in found.undelivered if period not in failed)
    rows += [("due", _periods(waiting))] if waiting else []
    rows += [("to deliver", _periods(pending))] if pending else []
    if found.next_period is not None and found.next_due is not None:
        rows.append(("next", f"{found.next_period}, due on {found.next_due.isoformat()}"))
    rows += _left(found)
    if found.approvals is not None:
        counted, asked = found.approvals
        rows.append(("approvals", f"{counted}, and {asked} are asked for"))
    rows += [("warning", each) for each in found.ending.warnings] if found.ending else []
    lines = [f"{found.series} ({found.config}): {word}"]
    for name, text in rows:
        first, *rest = text.splitlines()
        lines.append(f"  {name:<12}{first}")
        lines += [f"  {'':<12}{line}" for line in rest]
    return lines


def _left(found: SeriesStatus) -> Iterator[tuple[str, str]]:
    ends = found.ending
    if ends is not None and ends.left_in_horizon is not None:
        yield "horizon", f"{ends.left_in_horizon} more periods"
    if found.epsilon is not None:
        spent, cap = (format_number(Fraction(each)) for each in found.epsilon)
        room = ""
        if ends is not None and ends.affordable is not None:
            room = f"; room for {ends.affordable} of the next {ends.wanted} periods"
        yield "budget", f"epsilon {spent} of {cap} spent ({found.population}){room}"


def _told(failure: Failure) -> str:
    """What went wrong, since when; with why and fix in lines of their own."""
    times = "1 attempt" if failure.attempts == 1 else f"{failure.attempts} attempts"
    lines = [f"{failure.sentence} ({times} since {failure.first_on})"]
    lines += [f"why: {failure.why}"] if failure.why else []
    lines += [f"fix: {failure.fix}"] if failure.fix else []
    return "\n".join(printable(line) for text in lines for line in text.splitlines())


def _periods(labels: Sequence[str]) -> str:
    """How many, and the first and the last."""
    if len(labels) < 4:
        return ", ".join(labels)
    return f"{len(labels)} periods, {labels[0]} to {labels[-1]}"


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


_METRICS: Sequence[tuple[str, str, Callable[[SeriesStatus], float | int | None]]] = (
    ("healthy", "Whether nothing needs a person (1) or something does (0)",
     lambda found: int(found.exit_code == 0)),
    ("exit_code", "The exit code of synth status for this series",
     lambda found: found.exit_code),
    ("published_periods", "Periods that are published",
     lambda found: None if found.refused else len(found.published)),
    ("due_periods", "Periods that are due and not published",
     lambda found: None if found.refused else len(found.due)),
    ("failed_periods", "Due periods whose last attempt failed",
     lambda found: _count(found, "publication")),
    ("undelivered_periods", "Published periods that are not delivered or indexed yet",
     lambda found: None if found.refused else len(found.undelivered)),
    ("left_in_horizon_periods", "Periods still to come in this horizon",
     lambda found: None if found.ending is None else found.ending.left_in_horizon),
    ("affordable_periods", "Next periods that the caps of the account admit",
     lambda found: None if found.ending is None else found.ending.affordable),
    ("epsilon_spent", "Epsilon that the population has spent",
     lambda found: None if found.epsilon is None else float(Fraction(found.epsilon[0]))),
    ("epsilon_cap", "Epsilon that the population may spend",
     lambda found: None if found.epsilon is None else float(Fraction(found.epsilon[1]))),
    ("next_due_timestamp_seconds", "When the next period is due",
     lambda found: None if found.next_due is None
     else (found.next_due.toordinal() - _EPOCH) * 86_400),
)  # fmt: skip
"""Name, help and value of every gauge."""

_EPOCH = 719_163
"""The ordinal of 1 January 1970."""


def _count(found: SeriesStatus, what: str) -> int | None:
    if found.refused is not None:
        return None
    return sum(trouble.what == what for trouble in found.trouble)


def metrics(found: Sequence[SeriesStatus]) -> str:
    """Gauges in the text format of Prometheus, one sample for every series that has a value."""
    lines = []
    for name, words, value_of in _METRICS:
        values = [(each, value_of(each)) for each in found]
        samples = [
            f'synth_series_{name}{{config="{_escaped(each.config)}",'
            f'series="{_escaped(each.series)}"}} {value:.17g}'
            for each, value in values
            if value is not None
        ]
        if samples:
            lines += [f"# HELP synth_series_{name} {words}", f"# TYPE synth_series_{name} gauge"]
            lines += samples
    return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write_metrics(path: Path, found: Sequence[SeriesStatus]) -> None:
    """Write the file of a textfile collector in one step, readable by everybody.

    Raises: OutputError if it cannot be written; the old file is still there then.
    """
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with translate_write_errors(path.name):
        try:
            with partial.open("x", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(metrics(found))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
