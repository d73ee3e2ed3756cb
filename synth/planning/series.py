"""A series before its first release: how wrong every release will be, and what all of them cost.

Both follow from the configuration alone. Errors are those of the noise: a release of new records
has the noise of one release; one of all records so far has that of its cumulative counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from synth.config import Config, Series
from synth.config.series import RenewalConfig
from synth.domain import format_number
from synth.errors import ConfigError, Problem
from synth.planning.forecast import Forecast, forecast
from synth.planning.noise_sums import noise_variance
from synth.planning.weighing import plan_events
from synth.privacy import Budget, TableEvent
from synth.privacy.continual import Factorization, Tree, factorization_of

SHOWN = 5
"""So many periods of a horizon have a forecast of their own, evenly spread from first to last."""


@dataclass(frozen=True)
class PeriodForecast:
    """One release of the series."""

    index: int
    label: str
    due_on: date
    noise: float
    """The standard deviation of a noisy count, over that of one release of the whole charge."""
    noise_if_split: float | None
    """The same if every period measured all records anew, with its share of the charge."""
    noise_of_binary_tree: float | None
    """The same of the binary tree; both None where no counts are added up."""
    spent: Budget
    """What is charged to the population when it is measured, by the rule of the series."""

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "period": self.label,
            "index": self.index,
            "due_on": self.due_on.isoformat(),
            "noise": self.noise,
            "noise_if_split": self.noise_if_split,
            "noise_of_binary_tree": self.noise_of_binary_tree,
            "spent": self.spent.to_plain(),
        }


@dataclass(frozen=True)
class Totals:
    """What one protected unit loses at most, in different stretches of time.

    Privacy: the arithmetic of `Series.composition`, whose rules are proved where charges are added
    up (`synth.privacy.population`).
    """

    release: Budget
    """To one release, or to all that share its charge."""
    horizon: Budget
    window: Budget | None
    """In any `Series.window` consecutive periods; None without a window."""
    for_ever: Budget | None
    """None: it grows with every charge, without a bound."""

    @classmethod
    def of(cls, series: Series, charge: Budget) -> Totals:
        """Those of a series whose parts are charged so much each."""
        parts, most = series.parts_in_horizon, series.composition.most
        of_parts = parts if most is None or series.window is not None else min(parts, most)
        ends = series.ends_after is not None or _has_other_people(series)
        for_ever: Budget | None = None
        if series.composition.rule == "largest" and most is not None:
            for_ever = _times(charge, of_parts if ends else most)
        elif ends:
            for_ever = _times(charge, of_parts)
        return cls(
            release=charge,
            horizon=_times(charge, of_parts),
            window=None if series.window is None else _times(charge, min(parts, series.window)),
            for_ever=for_ever,
        )

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "release": self.release.to_plain(),
            "horizon": self.horizon.to_plain(),
            "window": self.window and self.window.to_plain(),
            "for_ever": self.for_ever and self.for_ever.to_plain(),
        }


@dataclass(frozen=True)
class SeriesForecast:
    """What a series gives and costs over its first horizon."""

    name: str
    series: Series
    unit: str
    neighbours: str
    factorization: Factorization | None
    """How cumulative counts are put together; None where none are."""
    periods: tuple[PeriodForecast, ...]
    shown: tuple[tuple[int, Forecast], ...]
    """The forecasts of some periods, with their indices."""
    totals: Totals
    sentences: tuple[str, ...]
    """What the series costs and why, under which condition, and what comes after it."""

    def to_plain(self) -> dict[str, Any]:
        """JSON values; budgets are exact fractions in text."""
        return {
            "series": self.name,
            "every": self.series.every,
            "rows": self.series.rows,
            "horizon": self.series.horizon,
            "privacy_unit": self.unit,
            "neighbours": self.neighbours,
            "rule": self.series.composition.rule,
            "most": self.series.composition.most,
            "factorization": self.factorization and self.factorization.to_plain(),
            "totals": self.totals.to_plain(),
            "sentences": list(self.sentences),
            "periods": [each.to_plain() for each in self.periods],
            "forecasts": [{"index": index, **each.to_plain()} for index, each in self.shown],
        }


def forecast_series(config: Config) -> SeriesForecast:
    """What the releases of a series will be like, and what they cost together.

    Privacy: reads the configuration only; opens no data and spends nothing.
    Raises: ConfigError for a configuration without a series.
    """
    series = config.series
    if series is None:
        missing = Problem(
            None,
            "--series",
            "a configuration without `series`",
            "one that declares a series of releases",
            fix="add `series`: {every: month, first: 2026-01, rows: new, horizon: 12}",
        )
        raise ConfigError(config.name, [missing])
    events = plan_events(config)
    factorization = factorization_of(events, series.horizon) if series.is_continual else None
    charge = Budget(config.privacy.epsilon, config.privacy.delta)
    plain = forecast(config)
    totals = Totals.of(series, charge)
    return SeriesForecast(
        name=series.name,
        series=series,
        unit=plain.privacy_unit,
        neighbours=plain.neighbours,
        factorization=factorization,
        periods=_periods(series, events, factorization, charge),
        shown=tuple(
            (index, _forecast_of(config, plain, events, factorization, index))
            for index in _spread(series.horizon)
        ),
        totals=totals,
        sentences=tuple(sentences(series, totals, events)),
    )


def _spread(horizon: int) -> list[int]:
    steps = SHOWN - 1
    return sorted({max(1, round(horizon * step / steps)) for step in range(SHOWN)})


def _forecast_of(
    config: Config,
    plain: Forecast,
    events: Sequence[TableEvent],
    factorization: Factorization | None,
    index: int,
) -> Forecast:
    if factorization is None:
        return plain
    cumulative = [factorization.cumulative_event(event, index) for event in events]
    return forecast(config, events=cumulative)


def _periods(
    series: Series,
    events: Sequence[TableEvent],
    factorization: Factorization | None,
    charge: Budget,
) -> tuple[PeriodForecast, ...]:
    """Every period of the first horizon."""
    split: float | None = None
    binary: Factorization | None = None
    if factorization is not None:
        split = _noise(events, lambda event: _share(event, series.horizon))
        binary = Tree(series.horizon, 2)
    return tuple(
        PeriodForecast(
            index=index,
            label=series.label(index),
            due_on=series.due_on(index),
            noise=cumulative_noise(events, factorization, index),
            noise_if_split=split,
            noise_of_binary_tree=None
            if binary is None
            else cumulative_noise(events, binary, index),
            spent=_times(charge, series.composition.counted(_parts(series, index))),
        )
        for index in range(1, series.horizon + 1)
    )


def _parts(series: Series, index: int) -> int:
    """How many parts are charged when a period is measured."""
    return series.cycle(index) + 1 if series.is_continual else index


def cumulative_noise(
    events: Sequence[TableEvent],
    factorization: Factorization | None,
    index: int,
    *,
    finished_cycles: int = 0,
) -> float:
    """The standard deviation of the counts of a period over that of one release.

    The period is one of its horizon, after others that ended.

    Where tables differ in it, which very little noise alone brings about, the root mean square.
    """
    if factorization is None:
        return 1.0
    return _noise(
        events,
        lambda event: factorization.cumulative_event(event, index, finished_cycles=finished_cycles),
    )


def _noise(events: Sequence[TableEvent], changed: Callable[[TableEvent], TableEvent]) -> float:
    kinds = Counter(replace(event, table=(), coarsening=(), cells=1) for event in events)
    ratio = sum(
        number * noise_variance(changed(event)) / noise_variance(event)
        for event, number in kinds.items()
    )
    return math.sqrt(ratio / sum(kinds.values()))


def _share(event: TableEvent, periods: int) -> TableEvent:
    """A table for one of so many periods with the same share each."""
    if event.rho is not None:
        return replace(event, rho=event.rho / periods)
    return replace(event, epsilon=(event.epsilon or Fraction(0)) / periods)


def _has_other_people(series: Series) -> bool:
    """Whether later horizons are charged to a population of their own."""
    return isinstance(series.renewal, RenewalConfig) and series.renewal.population is not None


def _times(budget: Budget, number: int) -> Budget:
    return Budget(budget.epsilon * number, budget.delta * number)


def sentences(series: Series, totals: Totals, events: Sequence[TableEvent]) -> list[str]:
    """What the series costs and why, under which condition, and what comes after it."""
    found = [_composed(series), _in_numbers(series, totals), _afterwards(series, totals)]
    if series.rows == "all" and not series.is_continual:
        found.append(_saving(series, totals, events))
    return found


def _composed(series: Series) -> str:
    """Which rule adds the charges up, and under which condition."""
    every, most = series.every, series.composition.most
    if series.is_continual:
        keeps = f"every record keeps its {every}: one that moves to another {every} counts as two"
        if series.is_about_persons:
            keeps += ", and no row of a person is deleted meanwhile"
        return (
            f"One charge covers all releases of a horizon: every {every} measures what is new "
            f"since, and its release adds up what was measured so far. It holds if {keeps}."
        )
    if series.window is not None:
        return (
            f"Charges are bounded for every {series.window} consecutive periods, not for all time."
        )
    if series.composition.rule == "largest" and not series.is_about_persons:
        return (
            f"A record is in one {every} only, so that all releases together cost what one does "
            f"(parallel composition). It holds if every record keeps its {every}."
        )
    if series.composition.rule == "largest":
        return (
            f"A person is counted in {most} {'period' if most == 1 else 'periods'} at most, the "
            "first in which the table has records of that person; so many charges add up, whatever "
            f"the number of releases. It holds if every record keeps its {every}, and no row of a "
            "person is deleted meanwhile."
        )
    if series.rows == "new":
        return "A person may have records in every period, so all charges add up."
    return "Every release is about all records again, so all charges add up."


def _in_numbers(series: Series, totals: Totals) -> str:
    unit = "person" if series.is_about_persons else "record"
    parts = [
        f"one release {budget_in_words(totals.release)}",
        f"all {series.horizon} releases {budget_in_words(totals.horizon)}",
    ]
    if totals.window is not None:
        parts.append(f"any {series.window} in a row {budget_in_words(totals.window)}")
    ever = "without a bound" if totals.for_ever is None else budget_in_words(totals.for_ever)
    return f"What one {unit} loses at most: {'; '.join(parts)}; for ever {ever}."


def method_in_words(factorization: Factorization) -> str:
    """Which sums of periods are measured, and how a release adds them up."""
    if not isinstance(factorization, Tree):
        return (
            "Every period measures a weighted sum of all periods so far (the square root of the "
            "matrix of prefix sums)."
        )
    if factorization.levels == 1:
        return "Every period measures its own records, once; a release adds up these counts."
    sizes = [str(factorization.arity**level) for level in range(factorization.levels)]
    return (
        f"Sums of {', '.join(sizes)} consecutive periods are measured; a release adds up the "
        "fewest that cover all so far."
    )


def _afterwards(series: Series, totals: Totals) -> str:
    """What comes after the horizon."""
    last = series.label(series.horizon)
    if series.ends_after is not None:
        return f"The series ends with {last}."
    if _has_other_people(series):
        return (
            f"After {last} other people are charged: {series.population(series.horizon + 1, '')}."
        )
    if series.window is not None:
        per = budget_in_words(totals.release)
        return f"The series goes on after {last}; over all time every release adds {per}."
    if totals.for_ever is None:
        per = budget_in_words(_times(totals.release, series.parts_in_horizon))
        return f"After {last} the next {series.horizon} periods begin, and add {per}."
    return (
        f"After {last} the next {series.horizon} periods begin; nobody loses more, because no "
        "record is in two horizons."
        if series.is_continual
        else f"The series goes on after {last}, at no further cost."
    )


def _saving(series: Series, totals: Totals, events: Sequence[TableEvent]) -> str:
    """What cumulative releases by continual counting would cost instead."""
    try:
        factorization = factorization_of(events, series.horizon)
        times = cumulative_noise(events, factorization, series.horizon)
    except ValueError:  # tables that cannot be added up
        return "With source.where and other tables the horizon would have one charge."
    return (
        "With source.where: {column: ..., within: period} one charge would cover all "
        f"{series.horizon} releases: {budget_in_words(totals.release)} instead of "
        f"{budget_in_words(totals.horizon)}, with {times:.2g} times the noise in the last release; "
        f"or, for what is charged now, about {times / series.horizon:.2g} times the noise."
    )


def budget_in_words(budget: Budget) -> str:
    """As `epsilon 1` or `epsilon 1, delta 1e-6`."""
    words = f"epsilon {format_number(budget.epsilon)}"
    return f"{words}, delta {float(budget.delta):g}" if budget.delta else words
