"""Answers: an estimate and an interval for any quantity over columns of a release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth.domain import Conjunction, Margin
from synth.errors import QueryError
from synth.measurements.intervals import (
    MOST_CONDITIONS,
    Intervals,
    inside_public_bounds,
    inside_wholes,
)
from synth.progress import Stage, advance, stage
from synth.reading.measured_quantities import MeasuredQuantities
from synth.reading.quantities import Asked, Count, Kind, Quantity, value
from synth.reading.queries import check_columns, marginal_queries, parse_names, parse_query
from synth.reading.release import Release
from synth.reading.simulated_errors import DRAWS, SimulatedErrors, half_width

Method = Literal["auto", "measured", "simulated", "both"]
COLUMNS = ("estimate", "published", "low", "high", "method", "sd", "kind", "lowest", "highest")
LARGEST_MARGINAL = 100_000
LEAST_DRAWS = 4
HELD_CELLS = 1 << 20
"""Tables of sums of so many cells at most are kept, for queries over the same columns."""


@dataclass(frozen=True)
class Answer:
    """One quantity answered in one way.

    Shapes and units: of counts records, of means those of the column; shares, and ratios, are
    parts of one. `estimate` is the centre of the interval before anything is cut off: from noisy
    counts (`measured`) or the published ones (`simulated`); `published` is what the published rows
    give. `low` and `high` belong to the interval; those of a count are whole. None is a number that
    does not exist: nothing to divide by, or an end that nothing bounds. `sd` is the standard
    deviation of the noise in the estimate, or the simulated root mean square error; None for what
    is measured and no count. `lowest` and `highest` are the ends for a mean wherever in their bins
    the values lie; None for anything else.
    """

    query: str
    estimate: float | None
    published: float | None
    low: float | None
    high: float | None
    method: Literal["measured", "simulated"]
    sd: float | None
    kind: Kind
    lowest: float | None = None
    highest: float | None = None

    @property
    def is_outside(self) -> bool:
        """Whether what is published lies outside of the interval."""
        if self.published is None:
            return False
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return not low <= self.published <= high

    def to_plain(self) -> dict[str, Any]:
        """The answer in JSON values."""
        return asdict(self)


class Answering:
    """A release with what has been read, summed and simulated of it so far."""

    def __init__(self, release: Release) -> None:
        """Read the measurements; simulate nothing before it is asked for."""
        self._release = release
        self._intervals = Intervals(release.measurements, release.config)
        self._measured = MeasuredQuantities(self._intervals, release.config.universe)
        self._simulated = SimulatedErrors(release)
        self._tables: dict[tuple[str, ...], NDArray[np.int64]] = {}

    def answers(
        self, quantity: Quantity, *, level: float, method: Method = "auto", draws: int = DRAWS
    ) -> list[Answer]:
        """The answer of each way that is asked for; `auto` simulates only if no table answers.

        Raises: QueryError if a way that is asked for has no answer.
        """
        published = _number(float(value(quantity, self._published)))
        found: list[Answer] = []
        known = None
        if method != "simulated":
            known = self._measured.of(quantity, level=level)
        if known is not None:
            ends = (*known.ends, *(known.anywhere or (None, None)))
            low, high, lowest, highest = map(_number, ends)
            found.append(
                Answer(
                    quantity.text,
                    known.estimate,
                    published,
                    low,
                    high,
                    "measured",
                    known.sd,
                    quantity.kind,
                    lowest,
                    highest,
                )
            )
        elif method == "measured":
            raise QueryError(
                f"no sum over one noisy table answers `{quantity.text}`",
                why="tables with a threshold, and tables of other or coarser columns, do not; and "
                f"a query has {MOST_CONDITIONS} conditions at most",
                fix="ask with method `simulated`, or for the columns of a measured table",
            )
        if method in ("simulated", "both") or (method == "auto" and known is None):
            if not isinstance(quantity, Count):
                raise QueryError(
                    f"no noisy table answers `{quantity.text}`",
                    why="errors of counts alone are simulated",
                    fix="ask with method `measured`, for columns of a measured table",
                )
            where = quantity.query.where
            sd = self._simulated.sd(where, draws=draws)
            ends = inside_wholes(
                where, lambda whole: self._simulated_ends(whole, level=level, draws=draws)
            )
            low, high = inside_public_bounds(where, ends, self._release.config)
            found.append(
                Answer(quantity.text, published, published, low, high, "simulated", sd, "count")
            )
        return found

    def marginal(
        self, names: Sequence[str], *, level: float, method: Method, draws: int
    ) -> Iterator[list[Answer]]:
        """The answers about every cell of a table, in cell order. Raises: as `answers`."""
        universe = self._release.config.universe
        queries = marginal_queries(names, universe, limit=LARGEST_MARGINAL)
        if method in ("simulated", "both"):
            for query in queries:
                yield self.answers(Count(query), level=level, method=method, draws=draws)
            return
        table = self._intervals.marginal(names, level=level)
        in_order = [name for name in universe.names if name in names]
        axes = [in_order.index(name) for name in names]
        columns = (
            each.transpose(axes).ravel().tolist()
            for each in (table.estimates, table.sds, table.lows, table.highs)
        )
        for query, estimate, sd, low, high in zip(queries, *columns, strict=True):
            if math.isnan(estimate):
                yield self.answers(Count(query), level=level, method=method, draws=draws)
            else:
                published = self.published(query.where)
                yield [Answer(query.text, estimate, published, low, high, "measured", sd, "count")]

    def _simulated_ends(self, where: Conjunction, *, level: float, draws: int) -> tuple[int, int]:
        sd, published = self._simulated.sd(where, draws=draws), self.published(where)
        width = half_width(sd, level=level, draws=draws)
        return max(math.ceil(published - width), 0), max(math.floor(published + width), 0)

    def _published(self, where: Conjunction) -> NDArray[np.float64]:
        return np.array(self.published(where), dtype=np.float64)

    def published(self, where: Conjunction) -> int:
        """The published rows that a query counts."""
        counts, universe = self._release.cell_counts, self._release.config.universe
        names = tuple(where.codes)
        margin = Margin(names, (0,) * len(names))
        if margin.cells(universe) > HELD_CELLS:
            return counts.inside(universe, where)
        if names not in self._tables:
            if len(self._tables) > 64:
                self._tables.clear()
            shape = margin.shape(universe)
            self._tables[names] = counts.sums(universe, margin).reshape(shape)
        chosen = np.ix_(*where.codes.values())
        return int(self._tables[names][chosen].sum())


def _number(value: float | None) -> float | None:
    """A number as it is shown: whole ones as such, and none where there is none."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def answer_all(
    release: Release,
    *,
    queries: Iterable[str] = (),
    marginal: Sequence[str] | str = (),
    asked: Asked | None = None,
    level: float = 0.95,
    method: Method = "auto",
    draws: int = DRAWS,
) -> list[Answer]:
    """Answer queries, then every cell of a marginal, then other quantities, in order.

    Raises: QueryError, VerificationError.
    """
    if not 0.5 <= level <= 0.999:
        raise QueryError(f"no interval has the level {level}", fix="give one from 0.5 to 0.999")
    if method not in get_args(Method):
        raise QueryError(
            f"there is no method {method!r}", fix=f"name one of: {', '.join(get_args(Method))}"
        )
    if draws < LEAST_DRAWS:
        raise QueryError(
            f"{draws} redraws say nothing of an error", fix=f"give {LEAST_DRAWS} or more"
        )
    universe = release.config.universe
    counts: list[Quantity] = [Count(parse_query(text, universe)) for text in queries]
    others = list((asked or Asked()).quantities(universe))
    answering = release.kept(Answering)

    def answered(quantities: Iterable[Quantity]) -> Iterator[list[Answer]]:
        for quantity in quantities:
            yield answering.answers(quantity, level=level, method=method, draws=draws)

    parts = [answered(counts)]
    number = len(counts) + len(others)
    if marginal:
        names = parse_names(marginal, universe) if isinstance(marginal, str) else marginal
        check_columns(names, universe)
        number += math.prod(universe.attribute(name).size for name in names)
        parts.append(answering.marginal(names, level=level, method=method, draws=draws))
    found: list[Answer] = []
    with stage(Stage.ANSWERING):
        for done, answers in enumerate(chain(*parts, answered(others))):
            found += answers
            if number < 1000 or done % 64 == 0:
                advance(done, number, "queries")
    return found


def intervals(
    release: str | Path | Release,
    *,
    queries: Iterable[str] | str = (),
    marginal: Sequence[str] | str = (),
    shares: Iterable[str] | str = (),
    means: Iterable[str] | str = (),
    within: str = "",
    difference: tuple[str, str] | None = None,
    ratio: tuple[str, str] | None = None,
    level: float = 0.95,
    method: Method = "auto",
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Estimates and intervals for quantities of the raw table, from the release alone.

    Counts of `queries` and of every cell of `marginal`; `shares` of queries and `means` of columns
    among the records of `within`; and the `difference` or `ratio` of these shares and means, or
    else of the counts, between two groups. Nothing asked for: all records.

    One row per quantity and method, indexed by its text, with the columns `estimate`, `published`,
    `low`, `high`, `method`, `sd`, `kind`, `lowest` and `highest`: see `Answer`.

    Privacy: reads the release folder only; no budget is spent.
    Raises: QueryError for a query that cannot be read or answered; VerificationError for a folder
    that is no release.
    Example: intervals("outputs/adult-1994", shares="income=>50K", within="sex=Female")
    """
    opened = release if isinstance(release, Release) else Release(release)
    counts = _texts(queries)
    asked = Asked(_texts(shares), _texts(means), within, difference, ratio)
    if not counts and not marginal and not asked:
        counts = ["all records"]
    found = answer_all(
        opened,
        queries=counts,
        marginal=marginal,
        asked=asked,
        level=level,
        method=method,
        draws=draws,
    )
    index = pd.Index([answer.query for answer in found], name="query", dtype="object")
    plain = [answer.to_plain() for answer in found]
    return pd.DataFrame(plain, index=index, columns=list(COLUMNS))


def _texts(given: Iterable[str] | str) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
