"""Quantities of a table: counts, shares, means, and differences and ratios of two of these.

Each is a function of counts over conjunctions of conditions, so noisy tables and replicates alike
can say what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from synth.domain import Attribute, Conjunction, Universe
from synth.domain.attribute import shorten, written
from synth.errors import QueryError
from synth.reading.queries import Query, parse_names, parse_query, query_of
from synth.release.rows.columns import published_columns

CountOf = Callable[[Conjunction], NDArray[np.float64]]
"""The count of a conjunction in each of several tables."""

Operation = Literal["difference", "ratio"]
Kind = Literal["count", "share", "mean", "difference", "ratio"]
BETWEEN: dict[Operation, str] = {"difference": "minus", "ratio": "over"}


@dataclass(frozen=True)
class Count:
    """How many records a query counts."""

    query: Query
    kind: ClassVar[Kind] = "count"

    @property
    def text(self) -> str:
        """The query."""
        return self.query.text


@dataclass(frozen=True)
class Share:
    """What part of the records of `whole` is in `part`. Requires: each of `part` is in `whole`."""

    text: str
    part: Conjunction
    whole: Conjunction
    kind: ClassVar[Kind] = "share"


@dataclass(frozen=True)
class Mean:
    """The mean of a column of numbers over the records of `within`, missing ones left out.

    `codes` are the bins that it goes over, and `numbers` stand for them; `within` does not restrict
    the column itself. `known` is `within` and any of these bins, `of_code` `within` and each.
    """

    text: str
    attribute: Attribute
    codes: tuple[int, ...]
    numbers: tuple[Fraction, ...]
    within: Conjunction
    known: Conjunction
    of_code: tuple[Conjunction, ...]
    kind: ClassVar[Kind] = "mean"


Single = Count | Share | Mean


@dataclass(frozen=True)
class Comparison:
    """The first less the second, or the first over the second; both are of one kind."""

    operation: Operation
    first: Single
    second: Single

    @property
    def kind(self) -> Kind:
        """Which of the two."""
        return self.operation

    @property
    def text(self) -> str:
        """Both, and what is between them."""
        return f"{self.first.text} {BETWEEN[self.operation]} {self.second.text}"


Quantity = Single | Comparison


@dataclass(frozen=True)
class Asked:
    """What is asked for besides counts, as the command line and Python have it.

    Each of `shares` (queries) and `means` (columns) is asked for within `within`. With the two
    groups of `difference` or `ratio` it is compared between them; without shares and means, the
    counts of the two are.
    """

    shares: Sequence[str] = ()
    means: Sequence[str] = ()
    within: str = ""
    difference: tuple[str, str] | None = None
    ratio: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.shares or self.means or self.within or self.difference or self.ratio)

    def quantities(self, universe: Universe) -> Iterator[Quantity]:
        """All of it, in order. Raises: QueryError."""
        if self.within and not (self.shares or self.means):
            raise QueryError(
                "`within` says within what a share or a mean is meant, and none is asked for",
                fix="ask for a share or a mean, or write all conditions into the query",
            )
        within = parse_query(self.within, universe)
        groups: dict[Operation, tuple[str, str] | None]
        groups = {"difference": self.difference, "ratio": self.ratio}
        if not any(groups.values()):
            yield from self._within(within, universe)
        for operation, texts in groups.items():
            if texts is None:
                continue
            first, second = (
                within_both(within, parse_query(text, universe), universe) for text in texts
            )
            if not self.shares and not self.means:
                yield Comparison(operation, Count(first), Count(second))
            firsts, seconds = (self._within(group, universe) for group in (first, second))
            for one, other in zip(firsts, seconds, strict=True):
                yield Comparison(operation, one, other)

    def _within(self, within: Query, universe: Universe) -> Iterator[Single]:
        for text in self.shares:
            yield share(parse_query(text, universe), within, universe)
        for text in self.means:
            yield mean(text, within, universe)


def share(query: Query, within: Query, universe: Universe) -> Share:
    """The share of a query's records among those of another."""
    part = within_both(query, within, universe)
    return Share(f"share of {query.text}{_within(within)}", part.where, within.where)


def mean(text: str, within: Query, universe: Universe) -> Mean:
    """The mean of the column that is named. Raises: QueryError."""
    (name, *more) = parse_names(text, universe)
    attribute = universe.attribute(name)
    if more:
        raise QueryError("a mean is that of one column", fix="ask for one mean per column")
    numeric = {each.name: each for each in published_columns(universe, "midpoint")}
    numeric = {name: each for name, each in numeric.items() if each.is_numeric}
    if name not in numeric:
        names = ", ".join(shorten(map(written, numeric), 20))
        raise QueryError(
            f"the column {name!r} has no mean: its values are no numbers",
            fix=f"ask for one of: {names}" if names else "ask for shares",
        )
    asked = within.where.codes.get(name, range(attribute.size))
    codes = tuple(code for code in asked if code != attribute.missing_code)
    if not codes:
        raise QueryError(
            f"the mean of {name!r} is asked for over records in which it is missing",
            fix="ask for it within other records",
        )
    rest = {column: taken for column, taken in within.where.codes.items() if column != name}
    known, *of_code = (
        query_of("", rest | {name: taken}, universe).where
        for taken in (codes, *((code,) for code in codes))
    )
    text = f"mean of {written(name)}{_within(within)}"
    middles, decimals = numeric[name].first, numeric[name].decimals
    numbers = tuple(Fraction(middles[code], 10**decimals) for code in codes)
    return Mean(text, attribute, codes, numbers, Conjunction(rest), known, tuple(of_code))


def within_both(one: Query, other: Query, universe: Universe) -> Query:
    """The records that both queries count. Raises: QueryError if no record can be one of them."""
    codes = dict(one.where.codes)
    for name, taken in other.where.codes.items():
        codes[name] = tuple(code for code in codes.get(name, taken) if code in taken)
        if not codes[name]:
            raise QueryError(
                f"no record is in `{one.text}` and in `{other.text}`",
                why=f"they name different values of the column {name!r}",
                fix="leave one of these conditions out",
            )
    texts = [query.text for query in (one, other) if query.where.codes]
    return query_of(", ".join(dict.fromkeys(texts)) or "all records", codes, universe)


def _within(query: Query) -> str:
    return f" within {query.text}" if query.where.codes else ""


def value(quantity: Quantity, count: CountOf) -> NDArray[np.float64]:
    """The quantity of every table of which `count` gives the counts of a conjunction.

    Ensures: not a number where there is nothing to divide by; a bin counts as its number.
    """
    match quantity:
        case Count():
            return count(quantity.query.where)
        case Share():
            return _quotient(count(quantity.part), count(quantity.whole))
        case Mean():
            counts = np.stack([count(where) for where in quantity.of_code])
            total = np.tensordot(list(map(float, quantity.numbers)), counts, 1)
            return _quotient(total, counts.sum(axis=0))
        case Comparison():
            first, second = value(quantity.first, count), value(quantity.second, count)
            return _quotient(first, second) if quantity.operation == "ratio" else first - second


def records(quantity: Quantity, count: CountOf) -> NDArray[np.float64]:
    """How many records the quantity rests on: of a share those of its rarer side."""
    match quantity:
        case Count():
            return count(quantity.query.where)
        case Share():
            part = count(quantity.part)
            return np.minimum(part, count(quantity.whole) - part)
        case Mean():
            return count(quantity.known)
        case Comparison():
            first, second = quantity.first, quantity.second
            return np.minimum(records(first, count), records(second, count))


def columns(quantity: Quantity) -> set[str]:
    """The columns that the quantity is about."""
    match quantity:
        case Count():
            return set(quantity.query.where.codes)
        case Share():
            return set(quantity.part.codes)
        case Mean():
            return {quantity.attribute.name, *quantity.within.codes}
        case Comparison():
            return columns(quantity.first) | columns(quantity.second)


def _quotient(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.full(np.shape(one), np.nan)
    return np.divide(one, other, out=found, where=other != 0)
