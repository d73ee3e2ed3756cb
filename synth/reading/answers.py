"""Answers: an estimate and an interval for any quantity over columns of a release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth.domain import Conjunction, Margin
from synth.domain.attribute import written
from synth.errors import QueryError
from synth.measurements.intervals import MOST_CONDITIONS, Intervals, MarginalIntervals
from synth.progress import Stage, advance, stage
from synth.reading.measured_quantities import Known, MeasuredQuantities
from synth.reading.quantities import Asked, Count, Kind, Quantity, value
from synth.reading.queries import check_columns, marginal_queries, parse_names, parse_query
from synth.reading.release import Release
from synth.reading.replicate_quantities import ReplicateQuantities

Way = Literal["measured", "replicates"]
Method = Literal["auto", "measured", "replicates", "both"]
Cell = tuple[float, float, int, int, str]
COLUMNS = (
    "estimate",
    "published",
    "low",
    "high",
    "method",
    "sd",
    "kind",
    "lowest",
    "highest",
    "reason",
)
LARGEST_MARGINAL = 100_000
HELD_CELLS = 1 << 20
"""Tables of sums of so many cells at most are kept, for queries over the same columns."""


@dataclass(frozen=True)
class Answer:
    """One quantity answered in one way.

    Shapes and units: of counts records, of means those of the column; shares, and ratios, are
    parts of one. `estimate` is the centre of the interval before anything is cut off: from noisy
    counts (`measured`) or the published ones (`replicates`); `published` is what the published rows
    give. `low` and `high` belong to the interval; those of a count are whole. None is a number that
    does not exist: nothing to divide by, or an end that nothing bounds. `sd` is the standard
    deviation of the noise in the estimate, or the standard error from replicates; None for what is
    measured and no count. `lowest` and `highest` are the ends for a mean wherever in their bins
    the values lie; None for anything else. `reason` says why an interval from replicates is not to
    be trusted, by the rule of `synth.infer`; empty if it is.
    """

    query: str
    estimate: float | None
    published: float | None
    low: float | None
    high: float | None
    method: Way
    sd: float | None
    kind: Kind
    lowest: float | None = None
    highest: float | None = None
    reason: str = ""

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
    """A release with what has been read and summed of it so far."""

    def __init__(self, release: Release) -> None:
        """Read the measurements; replicates are read when they are first asked for."""
        self._release = release
        self._intervals = Intervals(release.measurements, release.config)
        self._measured = MeasuredQuantities(self._intervals, release.config.universe)
        self._tables: dict[tuple[str, ...], NDArray[np.int64]] = {}

    @cached_property
    def _replicates(self) -> ReplicateQuantities:
        return ReplicateQuantities(self._release)

    def answers(self, quantity: Quantity, *, level: float, method: Method = "auto") -> list[Answer]:
        """The answer of each way that is asked for; `auto` asks replicates if no table answers.

        Raises: QueryError if a way that is asked for has no answer.
        """
        published = _number(float(value(quantity, self._published)))
        found: list[Answer] = []
        known = None
        if method != "replicates":
            known = self._measured.of(quantity, level=level)
            if known is not None:
                found.append(_answer(quantity, known, published, "measured"))
            elif not self._may_use_replicates(method):
                raise self._unanswered(quantity)
        if method in ("replicates", "both") or known is None:
            known = self._replicates.of(quantity, level=level)
            found.append(_answer(quantity, known, published, "replicates"))
        return found

    def marginal(
        self, names: Sequence[str], *, level: float, method: Method
    ) -> Iterator[list[Answer]]:
        """The answers about every cell of a table, in cell order. Raises: as `answers`."""
        universe = self._release.config.universe
        queries = marginal_queries(names, universe, limit=LARGEST_MARGINAL)
        measured = replicates = None
        has_gaps = method == "replicates"
        if method != "replicates":
            table = self._intervals.marginal(names, level=level)
            has_gaps = bool(np.isnan(table.estimates).any())
            measured = self._cells(table, names)
        if method == "both" or (has_gaps and self._may_use_replicates(method)):
            table = self._replicates.marginal(names, level=level)
            replicates = self._cells(table, names, self._replicates.reasons(names))
        for query in queries:
            cells: list[tuple[Way, Cell]] = []
            if measured is not None:
                cell = next(measured)
                if not math.isnan(cell[0]):
                    cells.append(("measured", cell))
                elif not self._may_use_replicates(method):
                    raise self._unanswered(Count(query))
            if replicates is not None:
                cell = next(replicates)
                if method != "auto" or not cells:
                    cells.append(("replicates", cell))
            published = self.published(query.where)
            yield [
                Answer(query.text, estimate, published, low, high, way, sd, "count", reason=reason)
                for way, (estimate, sd, low, high, reason) in cells
            ]

    def _may_use_replicates(self, method: Method) -> bool:
        """Whether they may answer what no noisy table does."""
        return method == "replicates" or (method == "auto" and self._has_replicates)

    @property
    def _has_replicates(self) -> bool:
        return "replicates" in self._release.manifest["post_processing"]

    def _cells(
        self,
        table: MarginalIntervals,
        names: Sequence[str],
        reasons: NDArray[np.object_] | None = None,
    ) -> Iterator[Cell]:
        """Estimate, deviation, ends and reason of every cell, with the axes in this order."""
        if reasons is None:
            reasons = np.full(table.lows.shape, "", dtype=object)
        in_order = [name for name in self._release.config.universe.names if name in names]
        axes = [in_order.index(name) for name in names]
        columns = (table.estimates, table.sds, table.lows, table.highs, reasons)
        return zip(*(each.transpose(axes).ravel().tolist() for each in columns), strict=True)

    def _unanswered(self, quantity: Quantity) -> QueryError:
        events = (table.event for table in self._release.measurements.tables)
        tables = sorted({e.table for e in events if e.threshold is None}, key=len, reverse=True)
        known = "; ".join(", ".join(map(written, names)) for names in tables[:3])
        more = f" and {len(tables) - 3} more" if len(tables) > 3 else ""
        has = self._has_replicates
        groups = self._in_groups(quantity)
        known = f"{groups}; or {known}" if groups else known
        return QueryError(
            f"no sum over one noisy table answers `{quantity.text}`"
            + ("" if has else ", and the release has no replicates"),
            why="tables with a threshold, and tables of other or coarser columns, do not; and "
            f"a query has {MOST_CONDITIONS} conditions at most",
            fix=("ask with method `replicates`" if has else "publish with `output.replicates: 40`")
            + (f", or ask for columns of one measured table: {known}{more}" if known else ""),
        )

    def _in_groups(self, quantity: Quantity) -> str:
        """A table of the columns of a count that cuts its values, and the groups that hold these.

        As `age, sex, where age is measured in groups, here [20, 40)`; empty if there is none.
        """
        if not isinstance(quantity, Count):
            return ""
        codes, universe = quantity.query.where.codes, self._release.config.universe
        for event in (table.event for table in self._release.measurements.tables):
            if event.threshold is not None or not codes.keys() <= set(event.table):
                continue
            held = []
            for name, steps in zip(event.table, event.coarsening, strict=True):
                attribute = universe.attribute(name)
                if name not in codes or not 0 < steps < attribute.depth:
                    continue
                level = attribute.hierarchy[-steps]
                groups = sorted({level.group_of[code] for code in codes[name]})
                labels = " and ".join(level.labels[group] for group in groups)
                held.append(f"{written(name)} is measured in groups, here {labels}")
            if held:
                return f"{', '.join(map(written, codes))}, where {' and '.join(held)}"
        return ""

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


def _answer(quantity: Quantity, known: Known, published: float | None, way: Way) -> Answer:
    ends = (*known.ends, *(known.anywhere or (None, None)))
    low, high, lowest, highest = map(_number, ends)
    sd, kind = _finite(known.sd), quantity.kind
    return Answer(
        quantity.text,
        known.estimate,
        published,
        low,
        high,
        way,
        sd,
        kind,
        lowest,
        highest,
        known.reason,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _number(value: float | None) -> float | None:
    """A number as it is shown: whole ones as such, and none where there is none."""
    value = _finite(value)
    return int(value) if value is not None and value == int(value) else value


def answer_all(
    release: Release,
    *,
    queries: Iterable[str] = (),
    marginal: Sequence[str] | str = (),
    asked: Asked | None = None,
    level: float = 0.95,
    method: Method = "auto",
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
    universe = release.config.universe
    counts: list[Quantity] = [Count(parse_query(text, universe)) for text in queries]
    others = list((asked or Asked()).quantities(universe))
    answering = release.kept(Answering)

    def answered(quantities: Iterable[Quantity]) -> Iterator[list[Answer]]:
        for quantity in quantities:
            yield answering.answers(quantity, level=level, method=method)

    parts = [answered(counts)]
    number = len(counts) + len(others)
    if marginal:
        names = parse_names(marginal, universe) if isinstance(marginal, str) else marginal
        check_columns(names, universe)
        number += math.prod(universe.attribute(name).size for name in names)
        parts.append(answering.marginal(names, level=level, method=method))
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
) -> pd.DataFrame:
    """Estimates and intervals for quantities of the raw table, from the release alone.

    Counts of `queries` and of every cell of `marginal`; `shares` of queries and `means` of columns
    among the records of `within`; and the `difference` or `ratio` of these shares and means, or
    else of the counts, between two groups. Nothing asked for: all records.

    One row per quantity and method, indexed by its text, with the columns `estimate`, `published`,
    `low`, `high`, `method`, `sd`, `kind`, `lowest`, `highest` and `reason`: see `Answer`.

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
    )
    index = pd.Index([answer.query for answer in found], name="query", dtype="object")
    plain = [answer.to_plain() for answer in found]
    return pd.DataFrame(plain, index=index, columns=list(COLUMNS))


def _texts(given: Iterable[str] | str) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
