"""Statistics of a release with standard errors and intervals, from its replicate weights.

Each replicate is the publishing of the release once more, on noise drawn anew around the published
table. How far a statistic of the replicates lies from that of the release is how far that of the
release lies from the raw table's: variance = factor / R * sum over replicates of (value of the
replicate - value of the release)^2, with R degrees of freedom, since no mean is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from synth.errors import QueryError
from synth.reading.queries import unknown_column
from synth.reading.release import Release
from synth.reading.replicate_weights import Weights
from synth.reading.statistics import LAST_DIGITS, Evaluated, Quantile, Statistic
from synth.reading.weighted_table import Floats, WeightedTable

Function = Callable[[pd.DataFrame, Floats], Any]
"""A reader's own statistic: of distinct rows and the weight of each."""

RESAMPLES = 200
"""So often the published rows are drawn again for the sampling error of a reader's function."""

COLUMNS = (
    "estimate",
    "standard_error",
    "low",
    "high",
    "usable",
    "reason",
    "noise_se",
    "sampling_se",
    "degrees_of_freedom",
    "factor",
    "left_out",
)


def infer(
    release: str | Path | Release,
    statistic: Statistic | Function,
    *,
    level: float = 0.95,
    sampling: bool | int = False,
    columns: Iterable[str] | None = None,
) -> pd.DataFrame:
    """A statistic of the raw table, with a standard error and an interval for the noise.

    `statistic` is one of `synth.statistics`, or any function `f(frame, weights)` of the distinct
    rows (a data frame in the types of `Release.frame`) and the weight of each (an array) that
    gives a number, several, or a `dict` of numbers. It is called for the release and for every
    replicate. `columns` names those that the function uses: it then gets the rows of these alone,
    which is quicker, and by these `usable` is judged.

    `sampling` adds the error of the raw table as a simple random sample: True, or the size of the
    population for the finite population correction. Totals stay those of the table.

    One row per number, indexed by its name; the columns are `COLUMNS`. `left_out` is how many
    published rows have no value.

    Privacy: reads the release folder only; no budget is spent.
    Raises: QueryError for a statistic that cannot be computed, and for a release without
    replicates; VerificationError for a folder that is no release.
    Example: infer("outputs/adult-1994", synth.statistics.mean("education-num"))
    """
    opened = release if isinstance(release, Release) else Release(release)
    return inferred(opened.weights, statistic, level=level, sampling=sampling, columns=columns)


def inferred(
    replicates: Weights,
    statistic: Statistic | Function,
    *,
    level: float = 0.95,
    sampling: bool | int = False,
    columns: Iterable[str] | None = None,
) -> pd.DataFrame:
    """The same of replicates in memory; see `infer`."""
    if not 0.5 <= level <= 0.999:
        raise QueryError(f"no interval has the level {level}", fix="give one from 0.5 to 0.999")
    used = _used(statistic, columns, replicates)
    table = replicates.table.reduced(used)
    left_open = _left_open(sampling, float(table.weights[0].sum()))
    if isinstance(statistic, Statistic):
        found = statistic.evaluate(table)
        drawn = left_open * _sampling_variance(found.influence, table.weights[0])
    else:
        found = _called(statistic, table)
        drawn = np.zeros(len(found.terms))
        if left_open:
            drawn = left_open * _resampled_variance(statistic, table)
    _require_existing(found)
    noise = _spread(found.values, replicates.factor)
    number = len(table.weights) - 1
    if isinstance(statistic, Quantile):
        values, shares, influence, _ = statistic.shares(table)
        of_shares = _spread(shares, replicates.factor)
        by_sample = left_open * _sampling_variance(influence, table.weights[0])
        limits = _Inversion(values, shares[0], statistic.probability, level, number)
        low, high = limits.interval(of_shares, by_sample)
        one, other = limits.interval(np.zeros_like(of_shares), by_sample)
        drawn = np.array([((other - one) / (2 * _student(math.inf, level))) ** 2])
        ends = np.array([low]), np.array([high])
        freedom = _freedom(noise, drawn, number)
    else:
        freedom = _freedom(noise, drawn, number)
        width = _student(freedom, level) * np.sqrt(noise + drawn)
        ends = found.values[0] - width, found.values[0] + width
    reasons = [
        replicates.rule.reason(
            table,
            values=found.values[:, term],
            records=found.records[:, term],
            factor=replicates.factor,
        )
        for term in range(len(found.terms))
    ]
    return pd.DataFrame(
        {
            "estimate": found.values[0],
            "standard_error": np.sqrt(noise + drawn),
            "low": ends[0],
            "high": ends[1],
            "usable": [not reason for reason in reasons],
            "reason": reasons,
            "noise_se": np.sqrt(noise),
            "sampling_se": np.sqrt(drawn),
            "degrees_of_freedom": freedom,
            "factor": replicates.factor,
            "left_out": found.left_out,
        },
        index=pd.Index(found.terms, name="term", dtype="object"),
        columns=list(COLUMNS),
    )


def _used(
    statistic: Statistic | Function, columns: Iterable[str] | None, replicates: Weights
) -> set[str]:
    universe = replicates.table.universe
    if isinstance(statistic, Statistic):
        return statistic.columns(universe)
    used = set(universe.names) if columns is None else set(columns)
    for name in sorted(used - set(universe.names)):
        raise unknown_column(name, universe)
    return used


def _left_open(sampling: bool | int, records: float) -> float:
    """The share of the sampling variance that counts: 1 less the sampled part of the population."""
    if isinstance(sampling, bool):
        return float(sampling)
    if sampling < records:
        raise QueryError(
            f"a population of {sampling:,} is smaller than its sample of {records:,.0f} records",
            fix="give the size of the population that the table is a sample of, or True",
        )
    return 1 - records / sampling


def _spread(values: Floats, factor: float) -> Floats:
    """The variance for the noise; the first row is the release, the others are replicates."""
    found: Floats = factor * np.mean((values[1:] - values[0]) ** 2, axis=0)
    return found


def _sampling_variance(influence: Floats, weights: Floats) -> Floats:
    """The linearised variance of a simple random sample with replacement.

    Source: Särndal, Swensson and Wretman, Model Assisted Survey Sampling (1992), section 5.5.
    """
    records = weights.sum()
    centred = influence - weights @ influence / max(records, 1.0)
    found: Floats = weights @ centred**2 * records / max(records - 1, 1.0)
    return found


def _resampled_variance(function: Function, table: WeightedTable) -> Floats:
    """The variance of a function over samples of the published rows, drawn with replacement."""
    generator = np.random.Generator(np.random.Philox(len(table.weights[0])))
    weights = table.weights[0]
    records = round(weights.sum())
    drawn = generator.multinomial(records, weights / weights.sum(), size=RESAMPLES)
    weighted = WeightedTable(table.universe, table.codes, drawn.astype(np.float64))
    variance: Floats = _called(function, weighted).values.var(axis=0, ddof=1)
    return variance


def _called(function: Function, table: WeightedTable) -> Evaluated:
    """A reader's function of every table."""
    frame = table.labelled()
    terms: tuple[str, ...] = ()
    rows = []
    for weights in table.weights:
        answer = function(frame, weights.copy())
        if isinstance(answer, Mapping | pd.Series):
            names = tuple(map(str, answer.keys()))
            values = np.array(list(answer.values() if isinstance(answer, Mapping) else answer))
        else:
            values = np.asarray(answer).reshape(-1)
            names = tuple(map(str, range(len(values)))) if np.ndim(answer) else ("statistic",)
        if values.dtype.kind not in "biuf" or not len(values) or (terms and names != terms):
            raise QueryError(
                "the function did not give the same numbers for every table",
                why="it is called for the release and for every replicate, and must always give "
                "as many numbers, with the same names",
                fix="return a number, an array of numbers, or a dict of numbers",
            )
        terms = names
        rows.append(values.astype(np.float64))
    records = np.repeat(table.weights.sum(axis=1)[:, None], len(terms), axis=1)
    influence = np.zeros((table.codes.shape[1], len(terms)))
    return Evaluated(terms, np.array(rows), influence, records, 0.0)


def _require_existing(found: Evaluated) -> None:
    if np.isnan(found.values[0]).all():
        raise QueryError(
            "the statistic does not exist in the published rows",
            why="no row is in one of its groups, or a model separates its groups perfectly",
            fix="ask about larger groups, or with fewer predictors",
        )


def _freedom(noise: Floats, drawn: Floats, number: int) -> Floats:
    """Satterthwaite: R for the noise alone, more where most of the variance is that of sampling."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = number * ((noise + drawn) / noise) ** 2
    exact: Floats = np.where(drawn == 0, float(number), found)
    return exact


def _student(freedom: Any, level: float) -> Any:
    """The quantile of Student's law that an interval of this level reaches to."""
    return stdtrit(freedom, (1 + level) / 2)


@dataclass(frozen=True, eq=False)
class _Inversion:
    """The values that are not refuted as quantile (Woodruff 1952).

    The share up to such a value may be large enough, and that below it small enough. `shares` are
    those of the release, up to each of `values`.
    """

    values: Floats
    shares: Floats
    probability: float
    level: float
    replicates: int

    def interval(self, noise: Floats, drawn: Floats) -> tuple[float, float]:
        """The smallest and the largest such value, for variances of the shares."""
        freedom = _freedom(noise, drawn, self.replicates)
        width = _student(np.where(np.isnan(freedom), self.replicates, freedom), self.level)
        width = width * np.sqrt(noise + drawn)
        least = self.probability * (1 - LAST_DIGITS)
        enough: NDArray[np.bool_] = self.shares + width >= least
        too_much: NDArray[np.bool_] = self.shares - width >= least
        last = len(self.values) - 1
        high = int(too_much.argmax()) if too_much.any() else last
        low = min(int(enough.argmax()), high) if enough.any() else last
        return float(self.values[low]), float(self.values[high])
