"""Which periods of a series are published, which are due, and when the next one is.

When the series ends, by its horizon or by the budget, and what is said before it does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from synth.bookkeeping import Ledger, RunLock, RunState
from synth.bookkeeping.run import PopulationPosition, RunRecord
from synth.catalogue import listed
from synth.config import Config, Given, Series, load_config
from synth.config.schema.scalars import PERIOD
from synth.config.series import RenewalConfig
from synth.errors import ConfigError, Problem
from synth.job.account import ledger_of
from synth.job.afterwards import is_done
from synth.job.preconditions import release_folder
from synth.job.remembered import Failure, Remembered, job_directory, recall, state_file
from synth.privacy import Budget, Charge
from synth.privacy.population import population_total


def utc_date() -> date:
    """Today in UTC, by which periods are due."""
    return datetime.now(UTC).date()


def series_config(config: Given) -> tuple[Config, Series]:
    """The configuration of a series, accepted for its first period, and the series.

    Raises: ConfigError, also for a configuration without a series.
    """
    accepted = load_config(config, without_period="first")
    if accepted.series is None:
        problem = Problem(
            None,
            "series",
            "nothing",
            "the key `series`",
            why="it says which periods there are, and when each is due",
            fix="add series: {every: month, first: 2026-01, rows: new, horizon: 24}; a single "
            "release is published by `synth run`",
        )
        raise ConfigError(accepted.name, [problem])
    return accepted, accepted.series


def lock_of(config: Config) -> RunLock:
    """What keeps two starts of one series apart."""
    directory = job_directory(config)
    return RunLock(directory / "due.lock", private=(directory.parent, directory))


@dataclass(frozen=True)
class Outlook:
    """Where a series stands on a day, by its ledger, its folder of releases and its memory."""

    config: Config
    """That of the first period."""
    series: Series
    today: date
    published: tuple[int, ...]
    """The periods that the ledger knows as published; also those that are not due yet, where the
    clock went back or somebody was ahead of it."""
    absent: tuple[int, ...]
    """Those of them whose folder is not in the output directory any more."""
    due: tuple[int, ...]
    """The periods that are due and not published, oldest first; with `max_periods`, those after the
    newest published one, because the ledger takes no earlier one any more."""
    unfinished: tuple[int, ...]
    """Published periods whose index or delivery is still to be made."""
    outdated: tuple[int, ...]
    """Absent periods that the index still holds."""
    remembered: Remembered
    position: PopulationPosition | None
    """Of the population that the newest published period was charged to; None before the first."""
    charges: Mapping[str, tuple[Charge, ...]]
    """What the populations of the series were charged."""
    last_charge: Charge | None
    """The newest one of the series."""

    @classmethod
    def of(cls, config: Config, series: Series, today: date) -> Outlook:
        """Look; changes nothing. Raises: LedgerError if the ledger is damaged, or was lost."""
        remembered = recall(state_file(config))
        due = series.due_indices(today)
        published: tuple[int, ...] = ()
        position, last_charge = None, None
        charges: dict[str, tuple[Charge, ...]] = {}
        ledger = ledger_of(config)
        if ledger.path.exists():
            with Ledger.open_existing(ledger.path) as book:
                published = published_periods(book, series)
                newest = published[-1] if published else 1
                population = series.population(newest, ledger.population)
                position = book.position(population)
                for each in {ledger.population, population}:
                    runs = [run for run in book.position(each).runs if run.is_charged]
                    charges[each] = tuple(run.as_charge for run in runs)
                    mine = [run.as_charge for run in runs if _is_of(series, run)]
                    last_charge = mine[-1] if mine else last_charge
        folders = release_folder(config).parent
        indexed = listed(folders)
        there = {index for index in published if (folders / series.release_id(index)).is_dir()}
        return cls(
            config=config,
            series=series,
            today=today,
            published=published,
            absent=tuple(index for index in published if index not in there),
            due=tuple(
                index
                for index in due
                if index not in published
                and (series.max_periods is None or index > max(published, default=0))
            ),
            unfinished=tuple(
                index
                for index in published
                if index in there
                and not is_done(
                    config, series.release_id(index), remembered=remembered, indexed=indexed
                )
            ),
            outdated=tuple(
                index
                for index in published
                if index not in there and series.release_id(index) in indexed
            ),
            remembered=remembered,
            position=position if position is not None and position.runs else None,
            charges=charges,
            last_charge=last_charge,
        )

    def folder(self, index: int) -> Path:
        """Where the release of a period is, or will be."""
        return release_folder(self.config).with_name(self.series.release_id(index))

    @property
    def newest(self) -> int:
        """The newest published period; 0 before the first."""
        return self.published[-1] if self.published else 0

    @property
    def next_index(self) -> int | None:
        """The next period that is not due yet; None after the last one."""
        first = len(self.series.due_indices(self.today)) + 1
        candidate = max(first, self.newest + 1)
        ends = self.series.ends_after
        return None if ends is not None and candidate > ends else candidate

    def affordable(self, wanted: int) -> int | None:
        """How many of so many next periods the caps admit; None before the first charge.

        Each is charged as the newest one was. What another release may take meanwhile is unknown.
        """
        like = self.last_charge
        ledger = ledger_of(self.config)
        if like is None:
            return None
        cap = Budget(ledger.epsilon_cap, ledger.delta_cap)
        following = range(self.newest + 1, self.newest + wanted + 1)

        def is_over(periods: int) -> bool:
            charged = {name: list(held) for name, held in self.charges.items()}
            for index in following[:periods]:
                population = self.series.population(index, ledger.population)
                charge = replace(like, series=self.series.part(index))
                charged.setdefault(population, []).append(charge)
            totals = map(population_total, charged.values())
            return any(total.epsilon > cap.epsilon or total.delta > cap.delta for total in totals)

        return bisect_left(range(1, wanted + 1), True, key=is_over)

    @property
    def failures(self) -> Sequence[tuple[int, Failure]]:
        """The due periods that were tried and could not be published, oldest first."""
        return _of_releases(self.series, self.due, self.remembered.failed)

    @property
    def failed_deliveries(self) -> Sequence[tuple[int, Failure]]:
        """The published periods whose delivery failed, oldest first."""
        return _of_releases(self.series, self.unfinished, self.remembered.undelivered)


def _is_of(series: Series, run: RunRecord) -> bool:
    return run.series is not None and run.series.name == series.name


def published_periods(book: Ledger, series: Series) -> tuple[int, ...]:
    """The periods that the ledger knows as published, oldest first."""
    one = re.escape(series.name).replace(re.escape(PERIOD), "(?P<period>[0-9a-z-]+)", 1)
    pattern = re.compile(one.replace(re.escape(PERIOD), "(?P=period)"))
    found: set[int] = set()
    for population in book.populations():
        for run in book.position(population).runs:
            named = pattern.fullmatch(run.release_id)
            if named is not None and run.state is RunState.PUBLISHED:
                with suppress(ValueError):  # of a period that the series does not have
                    found.add(series.index(named["period"]))
    return tuple(sorted(found))


def _of_releases(
    series: Series, indices: Sequence[int], failures: Mapping[str, Failure]
) -> Sequence[tuple[int, Failure]]:
    named = ((index, failures.get(series.release_id(index))) for index in indices)
    return [(index, failure) for index, failure in named if failure is not None]


PERIODS_AHEAD = 3
"""How many periods before the end a person hears of it."""


@dataclass(frozen=True)
class Ending:
    """How many periods are still to come, and what ends them."""

    left_in_horizon: int | None
    """The periods after the newest published one up to the end of its horizon; None where every
    window of periods has the same bound, so that no horizon ends."""
    affordable: int | None
    """How many of the next periods the caps of the account admit, counted up to the end of the
    series or one more horizon; None before the first charge."""
    wanted: int
    """Up to how many were counted."""
    warnings: tuple[str, ...]
    """What a person has to know now: one sentence each."""

    @property
    def is_cut_short(self) -> bool:
        """Whether the budget ends before the series does."""
        return self.affordable is not None and self.affordable < self.wanted


def ending(outlook: Outlook) -> Ending:
    """The end that is nearest, from the configuration and the ledger."""
    series, newest = outlook.series, outlook.newest
    ends = series.ends_after
    wanted = series.horizon if ends is None else ends - newest
    affordable = outlook.affordable(wanted)
    left = None if series.window is not None else series.horizon - series.within_cycle(newest or 1)
    left = series.horizon if left is not None and not newest else left
    found = Ending(left, affordable, wanted, ())
    return Ending(left, affordable, wanted, tuple(_warnings(outlook, found)))


def _warnings(outlook: Outlook, found: Ending) -> Iterator[str]:
    series, newest = outlook.series, outlook.newest
    if newest and found.left_in_horizon is not None and found.left_in_horizon <= PERIODS_AHEAD:
        last = series.label(newest + found.left_in_horizon)
        yield f"{_many(found.left_in_horizon)} left: the horizon ends with {last}; {_then(outlook)}"
    if found.affordable is not None and found.is_cut_short and found.affordable <= PERIODS_AHEAD:
        yield (
            f"the budget admits {_many(found.affordable)} more, and the series has more to come: "
            f"see `synth ledger {outlook.config.name}`; a cap is a promise to people, to be raised "
            "by those who made it"
        )


def _then(outlook: Outlook) -> str:
    renewal = outlook.series.renewal
    if renewal == "end":
        return "then the series ends, unless another one is declared, planned and approved"
    if isinstance(renewal, RenewalConfig):
        return f"then other people are charged ({renewal.population})"
    return "then the next horizon begins, with a charge of its own"


def _many(periods: int) -> str:
    return {0: "no period", 1: "1 period"}.get(periods, f"{periods} periods")
