"""How series stand: for people, for programs, and for a collector of metrics."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from synth.config import Config, Given, Series, load_config
from synth.errors import BudgetRefusedError, BusyError, OutputError, SynthError
from synth.job.authorisation import counted_approvals
from synth.job.remembered import Failure
from synth.schedule.ending import Ending, ending
from synth.schedule.outlook import Outlook, lock_of, series_config, utc_date


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
