"""Statistics of a weighted table, each with its influence function.

A statistic is made by one of the functions of this module and evaluated by `synth.infer`. Columns
are named as in the release, conditions are written as in `synth errors`: `sex=Female, age in
[20, 40)`. Of binned columns the number is that of `WeightedTable.numbers`.

Missing values are left out of means, quantiles, correlations and models, and it is said how many
rows that are. A share counts them among the records that do not meet its condition; to leave them
out say so in `within`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
from synth.domain.universe import Conjunction
from synth.errors import QueryError
from synth.reading.queries import parse_query, unknown_column
from synth.reading.weighted_table import Floats, WeightedTable, code_numbers, no_numbers

MOST_STEPS = 60
"""A logistic fit that has not settled after so many steps has no finite coefficients."""
SETTLED = 1e-11
"""Largest change of a fitted log odds, in the last step."""
LAST_DIGITS = 1e-12
"""A share that falls short of a probability by so little of it reaches it."""
LARGEST_LOG_ODDS = 20.0
"""Larger ones of a fit run away: no table is so large that odds of a billion to one are seen."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A statistic of every table that a `WeightedTable` stands for.

    Shapes and units: `values` has a row per table and a column per term, NaN where the statistic
    does not exist; `influence` a row per distinct row and a column per term, the derivative of the
    first table's value by the weight of the row. `records` is like `values` and says how many
    records each of them rests on (of a share those of its rarer side); `left_out` are the first
    table's rows with a missing value.
    """

    terms: tuple[str, ...]
    values: Floats
    influence: Floats
    records: Floats
    left_out: float


class Statistic(ABC):
    """Numbers of a weighted table."""

    @abstractmethod
    def columns(self, universe: Universe) -> set[str]:
        """The columns that it depends on.

        Raises: QueryError for a name or a condition that the release does not have.
        """

    @abstractmethod
    def evaluate(self, table: WeightedTable) -> Evaluated:
        """Evaluate it on every table. Requires: the table has its columns."""


@dataclass(frozen=True)
class Sum(Statistic):
    """The records that meet conditions, or the sum of a column over them."""

    column: str | None
    within: str

    def columns(self, universe: Universe) -> set[str]:
        """See `Statistic`."""
        return _named(universe, self.column) | _conditioned(universe, self.within)

    def evaluate(self, table: WeightedTable) -> Evaluated:
        """See `Statistic`."""
        member = table.members(_where(table.universe, self.within))
        value, member, left_out = _valued(table, self.column, member)
        influence = np.where(member, value, 0.0)
        name = _titled("total", self.column or "records", self.within)
        values = (table.weights @ influence)[:, None]
        records = (table.weights @ member)[:, None]
        return Evaluated((name,), values, influence[:, None], records, left_out)


@dataclass(frozen=True)
class Mean(Statistic):
    """The mean of a column, or the share of a condition, among the records of a domain."""

    value: str
    within: str
    is_share: bool

    def columns(self, universe: Universe) -> set[str]:
        """See `Statistic`."""
        own = _conditioned if self.is_share else _named
        return own(universe, self.value) | _conditioned(universe, self.within)

    def evaluate(self, table: WeightedTable) -> Evaluated:
        """See `Statistic`."""
        member = table.members(_where(table.universe, self.within))
        if self.is_share:
            value = table.members(_where(table.universe, self.value)).astype(np.float64)
            left_out = 0.0
        else:
            value, member, left_out = _valued(table, self.value, member)
        value = np.where(member, value, 0.0)
        records = table.weights @ member
        mean = _divided(table.weights @ value, records)
        influence = np.where(member, value - mean[0], 0.0) / max(records[0], 1.0)
        if self.is_share:
            records = records * np.minimum(mean, 1 - mean)
        name = _titled("share" if self.is_share else "mean", self.value, self.within)
        return Evaluated((name,), mean[:, None], influence[:, None], records[:, None], left_out)


@dataclass(frozen=True)
class Compared(Statistic):
    """The difference or the ratio of two statistics of one number each."""

    first: Statistic
    second: Statistic
    is_ratio: bool

    def columns(self, universe: Universe) -> set[str]:
        """See `Statistic`."""
        return self.first.columns(universe) | self.second.columns(universe)

    def evaluate(self, table: WeightedTable) -> Evaluated:
        """See `Statistic`."""
        one, two = self.first.evaluate(table), self.second.evaluate(table)
        if len(one.terms) != 1 or len(two.terms) != 1:
            raise QueryError(
                "only statistics of one number each can be compared",
                fix="compare means, totals, shares, quantiles or correlations",
            )
        if self.is_ratio:
            values = _divided(one.values, two.values)
            influence = one.influence - values[0] * two.influence
            influence = influence / two.values[0]
        else:
            values = one.values - two.values
            influence = one.influence - two.influence
        name = f"{one.terms[0]} {'/' if self.is_ratio else '-'} {two.terms[0]}"
        left_out = max(one.left_out, two.left_out)
        records = np.minimum(one.records, two.records)
        return Evaluated((name,), values, influence, records, left_out)


@dataclass(frozen=True)
class Quantile(Statistic):
    """The smallest value that a share of the records, or more, does not exceed."""

    column: str
    probability: float
    within: str

    def columns(self, universe: Universe) -> set[str]:
        """See `Statistic`."""
        return _named(universe, self.column) | _conditioned(universe, self.within)

    def evaluate(self, table: WeightedTable) -> Evaluated:
        """The influence is that of the share up to the quantile: see `shares`."""
        values, shares, influence, left_out = self.shares(table)
        reached = shares >= self.probability * (1 - LAST_DIGITS)
        place = reached.argmax(axis=1)
        found = np.where(reached.any(axis=1), values[place], np.nan)
        member = table.members(_where(table.universe, self.within))
        rarer = min(self.probability, 1 - self.probability)
        records = rarer * (table.weights @ member)
        name = _titled(f"quantile {self.probability:g} of", self.column, self.within)
        chosen = influence[:, place[:1]]
        return Evaluated((name,), found[:, None], chosen, records[:, None], left_out)

    def shares(self, table: WeightedTable) -> tuple[Floats, Floats, Floats, float]:
        """The values in ascending order, and the share of the records up to each of them.

        Shapes and units: shares have a row per table and a column per value; their influence a row
        per distinct row and a column per value. The last number is that of `Evaluated.left_out`.
        """
        member = table.members(_where(table.universe, self.within))
        value, member, left_out = _valued(table, self.column, member)
        values = np.unique(value[member])
        if not len(values):
            raise _nobody(self.within)
        below = (value[:, None] <= values[None, :]) & member[:, None]
        records = table.weights @ member
        shares = _divided(table.weights @ below, records[:, None])
        influence = (below - shares[0] * member[:, None]) / max(records[0], 1.0)
        return values, shares, influence, left_out


@dataclass(frozen=True)
class Correlation(Statistic):
    """The correlation coefficient (Pearson) of two columns."""

    first: str
    second: str
    within: str

    def columns(self, universe: Universe) -> set[str]:
        """See `Statistic`."""
        return (
            _named(universe, self.first)
            | _named(universe, self.second)
            | _conditioned(universe, self.within)
        )

    def evaluate(self, table: WeightedTable) -> Evaluated:
        """See `Statistic`."""
        member = table.members(_where(table.universe, self.within))
        one, member, left_out = _valued(table, self.first, member)
        two, member, more = _valued(table, self.second, member)
        one, two = np.where(member, one, 0.0), np.where(member, two, 0.0)
        records = table.weights @ member
        means = [_divided(table.weights @ each, records) for each in (one, two)]
        centred = [one - means[0][0], two - means[1][0]]  # by the first table: digits are kept
        products = [(0, 0), (1, 1), (0, 1)]
        moments = []
        for i, j in products:
            raw = _divided(table.weights @ np.where(member, centred[i] * centred[j], 0.0), records)
            moments.append(raw - (means[i] - means[i][0]) * (means[j] - means[j][0]))
        correlation = _divided(moments[2], np.sqrt(moments[0] * moments[1]))
        scaled = [
            each / np.sqrt(moment[0]) for each, moment in zip(centred, moments[:2], strict=True)
        ]
        influence = scaled[0] * scaled[1] - correlation[0] * (scaled[0] ** 2 + scaled[1] ** 2) / 2
        influence = np.where(member, influence, 0.0) / max(records[0], 1.0)
        name = _titled("correlation of", f"{self.first}, {self.second}", self.within)
        return Evaluated(
            (name,), correlation[:, None], influence[:, None], records[:, None], left_out + more
        )


@dataclass(frozen=True)
class Regression(Statistic):
    """Coefficients of a linear model of a column, or of a logistic one of a condition."""

    outcome: str
    predictors: tuple[str, ...]
    within: str
    is_logistic: bool
    categorical: tuple[str, ...]

    def columns(self, universe: Universe) -> set[str]:
        """See `Statistic`."""
        found = (_conditioned if self.is_logistic else _named)(universe, self.outcome)
        for name in (*self.predictors, *self.categorical):
            found |= _named(universe, name)
        return found | _conditioned(universe, self.within)

    def evaluate(self, table: WeightedTable) -> Evaluated:
        """See `Statistic`."""
        universe = table.universe
        member = table.members(_where(universe, self.within))
        if self.is_logistic:
            where = _where(universe, self.outcome)
            outcome = table.members(where).astype(np.float64)
            asked = list(where.codes)
        else:
            outcome = table.numbers(self.outcome)
            asked = [self.outcome]
        missing = member & table.is_missing([*asked, *self.predictors])
        member &= ~missing
        left_out = float(table.weights[0] @ missing)
        terms, design = self._design(table, member)
        weights = table.weights[:, member]
        if not weights[0].sum():
            raise _nobody(self.within)
        fit = _logistic if self.is_logistic else _least_squares
        values, inner = fit(design[member], outcome[member], weights)
        influence = np.zeros((len(member), len(terms)))
        influence[member] = inner
        used = design[member] != 0
        records = weights @ used
        if self.is_logistic:
            with_it = (weights * outcome[member]) @ used
            records = np.minimum(with_it, records - with_it)
        return Evaluated(terms, values, influence, records, left_out)

    def _design(
        self, table: WeightedTable, member: NDArray[np.bool_]
    ) -> tuple[tuple[str, ...], Floats]:
        """The intercept, numbers as they are, and an indicator for every level but the first."""
        terms, columns = ["(Intercept)"], [np.ones(len(member))]
        for name in self.predictors:
            attribute = table.universe.attribute(name)
            numbers = None if name in self.categorical else code_numbers(attribute)
            codes = table.codes[table.universe.names.index(name)]
            if numbers is not None:
                terms.append(name)
                columns.append(np.where(member, numbers[codes], 0.0))
                continue
            present = np.unique(codes[member & (table.weights[0] > 0)])
            for code in present[1:]:
                terms.append(f"{name}={attribute.label(int(code))}")
                columns.append((codes == code).astype(np.float64))
        return tuple(terms), np.stack(columns, axis=1)


def total(column: str | None = None, *, within: str = "") -> Statistic:
    """How many records meet the conditions, or the sum of a column over them."""
    return Sum(column, within)


def mean(column: str, *, within: str = "") -> Statistic:
    """The mean of a column of numbers among the records that meet the conditions."""
    return Mean(column, within, is_share=False)


def share(condition: str, *, within: str = "") -> Statistic:
    """The share of the records of a domain that meet a condition."""
    return Mean(condition, within, is_share=True)


def difference(first: Statistic, second: Statistic) -> Statistic:
    """The first statistic less the second; each of one number."""
    return Compared(first, second, is_ratio=False)


def ratio(first: Statistic, second: Statistic) -> Statistic:
    """The first statistic divided by the second; each of one number."""
    return Compared(first, second, is_ratio=True)


def quantile(column: str, probability: float, *, within: str = "") -> Statistic:
    """The smallest value that so large a share of the records, or more, does not exceed.

    Its interval holds the values for which that is not refuted (Woodruff 1952).
    Raises: QueryError for a probability that is not between 0 and 1.
    """
    if not 0 < probability < 1:
        raise QueryError(
            f"no quantile has the probability {probability}", fix="give one between 0 and 1"
        )
    return Quantile(column, probability, within)


def correlation(first: str, second: str, *, within: str = "") -> Statistic:
    """The correlation coefficient (Pearson) of two columns of numbers."""
    return Correlation(first, second, within)


def ols(
    outcome: str,
    predictors: Sequence[str],
    *,
    within: str = "",
    categorical: Sequence[str] = (),
) -> Statistic:
    """Coefficients of least squares of a column of numbers on others.

    Columns without numbers, and those in `categorical`, become an indicator for every level but
    the first declared one that has rows.
    """
    return Regression(outcome, tuple(predictors), within, False, tuple(categorical))


def logistic(
    outcome: str,
    predictors: Sequence[str],
    *,
    within: str = "",
    categorical: Sequence[str] = (),
) -> Statistic:
    """Coefficients (log odds) of a logistic regression of a condition, as `income=>50K`.

    Maximum likelihood by iteratively reweighted least squares; predictors as those of `ols`.
    """
    return Regression(outcome, tuple(predictors), within, True, tuple(categorical))


def _least_squares(design: Floats, outcome: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Coefficients by every weight, and their influence by the first."""
    scaled, back = _scaled(design, weights[0])
    values = np.full((len(weights), design.shape[1]), np.nan)
    influence = np.zeros_like(design)
    for vector, weight in enumerate(weights):
        found, known, inverse = _solved(scaled, weight, scaled.T @ (outcome * weight), back)
        values[vector] = np.where(known, back @ found, np.nan)
        if vector == 0:
            residual = outcome - scaled @ found
            influence = (scaled * residual[:, None]) @ inverse @ back.T
    return values, influence


def _logistic(design: Floats, outcome: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The same for log odds.

    Rows whose log odds run away are separated: what they alone would determine is NaN.
    """
    scaled, back = _scaled(design, weights[0])
    values = np.full((len(weights), design.shape[1]), np.nan)
    influence = np.zeros_like(design)
    start = np.zeros(design.shape[1])
    for vector, weight in enumerate(weights):
        found = start
        for _ in range(MOST_STEPS):
            odds = np.clip(scaled @ found, -2 * LARGEST_LOG_ODDS, 2 * LARGEST_LOG_ODDS)
            expected = 1 / (1 + np.exp(-odds))
            is_near = np.abs(odds) < LARGEST_LOG_ODDS
            spread = weight * expected * (1 - expected)
            right = scaled.T @ (weight * (outcome - expected))
            step, _, _ = _solved(scaled, spread, right, back)
            found = found + step
            if np.abs(scaled @ step)[is_near].max(initial=0.0) < SETTLED:
                _, known, inverse = _solved(scaled, spread * is_near, right, back)
                values[vector] = np.where(known, back @ found, np.nan)
                start = found if vector == 0 else start
                break
        if vector == 0 and not np.isnan(values[0]).all():
            residual = outcome - expected
            influence = (scaled * residual[:, None]) @ inverse @ back.T
    return values, influence


def _scaled(design: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The design centred and scaled, and the matrix that takes its coefficients back.

    The first column is the intercept. So normal equations lose no digits on large numbers.
    """
    centre = weight @ design / weight.sum()
    centre[0] = 0.0
    spread = np.sqrt(weight @ (design - centre) ** 2 / weight.sum())
    spread[spread == 0] = 1.0
    back = np.diag(1 / spread)
    back[0] = -centre / spread
    back[0, 0] = 1 / spread[0]
    return (design - centre) / spread, back


def _solved(
    design: Floats, weight: Floats, right: Floats, back: Floats
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Solve the normal equations; which coefficients they determine; and their inverse.

    `design` is scaled; what is determined is said of the coefficients that `back` gives.
    """
    normal = (design * weight[:, None]).T @ design
    scale = np.sqrt(np.maximum(np.diag(normal), 1e-300))
    values, vectors = np.linalg.eigh(normal / np.outer(scale, scale))
    kept = values > 1e-11 * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T / np.outer(scale, scale)
    free = back @ (vectors[:, ~kept] / scale[:, None])
    free /= np.maximum(np.abs(free).max(axis=0, initial=0.0), 1e-300)
    known: NDArray[np.bool_] = np.max(np.abs(free), axis=1, initial=0.0) < 1e-6
    return inverse @ right, known, inverse


def _valued(
    table: WeightedTable, column: str | None, member: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_], float]:
    """The numbers of a column (of none: ones), who has one, and the rows where it is missing."""
    if column is None:
        return np.ones(len(member)), member, 0.0
    value = table.numbers(column)
    missing = member & np.isnan(value)
    return value, member & ~missing, float(table.weights[0] @ missing)


def _divided(above: Floats, below: Floats) -> Floats:
    """The quotient; NaN where the divisor is 0."""
    known = below != 0
    found: Floats = np.where(known, above / np.where(known, below, 1.0), np.nan)
    return found


def _where(universe: Universe, condition: str) -> Conjunction:
    return parse_query(condition, universe).where


def _conditioned(universe: Universe, condition: str) -> set[str]:
    return set(_where(universe, condition).codes)


def _named(universe: Universe, column: str | None) -> set[str]:
    if column is not None and column not in universe.names:
        raise unknown_column(column, universe)
    return set() if column is None else {column}


def _titled(what: str, value: str, within: str) -> str:
    return f"{what} {value}" + (f" | {within}" if within else "")


def _nobody(within: str) -> QueryError:
    return QueryError(
        f"no published row meets `{within}` with the values that are needed"
        if within
        else "no published row has the values that are needed",
        fix="ask about a larger group",
    )


__all__ = [
    "correlation",
    "difference",
    "logistic",
    "mean",
    "no_numbers",
    "ols",
    "quantile",
    "ratio",
    "share",
    "total",
]
