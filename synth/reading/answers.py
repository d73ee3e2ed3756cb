"""Answers: an estimate and an interval for any count over columns of a release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
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
from synth.reading.queries import Query, marginal_queries, parse_names, parse_query
from synth.reading.release import Release
from synth.reading.simulated_errors import DRAWS, SimulatedErrors, half_width

Method = Literal["auto", "measured", "simulated", "both"]
COLUMNS = ("estimate", "published", "low", "high", "method", "sd")
LARGEST_MARGINAL = 100_000
LEAST_DRAWS = 4
HELD_CELLS = 1 << 20
"""Tables of sums of so many cells at most are kept, for queries over the same columns."""


@dataclass(frozen=True)
class Answer:
    """One query answered in one way.

    Shapes and units: records. `estimate` is the centre of the interval before anything is cut off:
    the noisy count (`measured`) or the published one (`simulated`); `published` is the number of
    published rows; `low` and `high` are whole and belong to the interval; `sd` is the standard
    deviation of the noise in the estimate, or the simulated root mean square error.
    """

    query: str
    estimate: float
    published: int
    low: int
    high: int
    method: Literal["measured", "simulated"]
    sd: float

    def to_plain(self) -> dict[str, Any]:
        """The answer in JSON values."""
        return asdict(self)


class Answering:
    """A release with what has been read, summed and simulated of it so far."""

    def __init__(self, release: Release) -> None:
        """Read the measurements; simulate nothing before it is asked for."""
        self._release = release
        self._intervals = Intervals(release.measurements, release.config)
        self._simulated = SimulatedErrors(release)
        self._tables: dict[tuple[str, ...], NDArray[np.int64]] = {}

    def answers(
        self, query: Query, *, level: float, method: Method = "auto", draws: int = DRAWS
    ) -> list[Answer]:
        """The answer of each way that is asked for; `auto` simulates only if no table answers.

        Raises: QueryError if a way that is asked for has no answer.
        """
        published, where = self.published(query.where), query.where
        found: list[Answer] = []
        known = None
        if method != "simulated":
            known = self._intervals.measured(where, level=level)
        if known is not None:
            counted, (low, high) = known
            found.append(
                Answer(query.text, counted.estimate, published, low, high, "measured", counted.sd)
            )
        elif method == "measured":
            raise QueryError(
                f"no sum over one noisy table answers `{query.text}`",
                why="tables with a threshold, and tables of other or coarser columns, do not; and "
                f"a query has {MOST_CONDITIONS} conditions at most",
                fix="ask with method `simulated`, or for the columns of a measured table",
            )
        if method in ("simulated", "both") or (method == "auto" and known is None):
            sd = self._simulated.sd(where, draws=draws)
            ends = inside_wholes(
                where, lambda whole: self._simulated_ends(whole, level=level, draws=draws)
            )
            low, high = inside_public_bounds(where, ends, self._release.config)
            found.append(
                Answer(query.text, float(published), published, low, high, "simulated", sd)
            )
        return found

    def _simulated_ends(self, where: Conjunction, *, level: float, draws: int) -> tuple[int, int]:
        sd, published = self._simulated.sd(where, draws=draws), self.published(where)
        width = half_width(sd, level=level, draws=draws)
        return max(math.ceil(published - width), 0), max(math.floor(published + width), 0)

    def published(self, where: Conjunction) -> int:
        """The published rows that the query counts."""
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


def answer_all(
    release: Release,
    *,
    queries: Iterable[str] = (),
    marginal: Sequence[str] | str = (),
    level: float = 0.95,
    method: Method = "auto",
    draws: int = DRAWS,
) -> list[Answer]:
    """Answer queries, then every cell of a marginal, in order.

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
    asked = [parse_query(text, universe) for text in queries]
    if marginal:
        names = parse_names(marginal, universe) if isinstance(marginal, str) else marginal
        asked += marginal_queries(names, universe, limit=LARGEST_MARGINAL)
    answering = release.kept(Answering)
    return [
        answer
        for query in asked
        for answer in answering.answers(query, level=level, method=method, draws=draws)
    ]


def intervals(
    release: str | Path | Release,
    *,
    queries: Iterable[str] | str = (),
    marginal: Sequence[str] | str = (),
    level: float = 0.95,
    method: Method = "auto",
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Estimates and intervals for counts of the raw table, from the release alone.

    One row per query and method, indexed by the query, with the columns `estimate`, `published`,
    `low`, `high`, `method` and `sd`: see `Answer`. Without queries and marginal: all records.

    Privacy: reads the release folder only; no budget is spent.
    Raises: QueryError for a query that cannot be read or answered; VerificationError for a folder
    that is no release.
    Example: intervals("outputs/adult-1994", queries=["sex=Female, race=Black"])
    """
    opened = release if isinstance(release, Release) else Release(release)
    asked = [queries] if isinstance(queries, str) else list(queries)
    if not asked and not marginal:
        asked = ["all records"]
    found = answer_all(
        opened, queries=asked, marginal=marginal, level=level, method=method, draws=draws
    )
    index = pd.Index([answer.query for answer in found], name="query", dtype="object")
    plain = [answer.to_plain() for answer in found]
    return pd.DataFrame(plain, index=index, columns=list(COLUMNS))
