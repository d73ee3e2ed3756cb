"""The replicate weights of a release: the table that they weigh, and when they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from synth.config.release import count_columns
from synth.errors import QueryError
from synth.measurements import MeasuredTable
from synth.reading.weighted_table import Floats, WeightedTable

Z_95 = float(ndtri(0.975))
LEAST_OVER_NOISE = 2.0
"""A group is told from none when it is so many standard errors of the noise large."""
LEAST_CLEAR = 8.0
"""So many half widths of 95 % intervals a typical count of a table is large, where the way that its
columns go together is not smoothed away; see docs/benchmarks.md."""


@dataclass(frozen=True)
class Rule:
    """When an interval from replicates can be trusted, told without raw data.

    `together` has the columns that a noisy table holds together, each column at its own resolution,
    with the number of its cells and the variance of the noise in each. The other two are those of
    `post_processing.replicates` in the manifest.
    """

    together: tuple[tuple[frozenset[str], int, float], ...]
    calibrated_columns: int
    largest_shift: float

    @staticmethod
    def of(
        tables: Iterable[MeasuredTable], *, calibrated_columns: int, largest_shift: float
    ) -> Rule:
        """The rule of a release with these noisy tables."""
        together = []
        for table in tables:
            event = table.event
            pairs = zip(event.table, event.coarsening, strict=True)
            names = frozenset(name for name, steps in pairs if not steps)
            if event.threshold is None:
                together.append((names, event.cells, table.variance))
        return Rule(tuple(together), calibrated_columns, largest_shift)

    def reason(
        self, table: WeightedTable, *, values: Floats, records: Floats, factor: float
    ) -> str:
        """Why a statistic is not to be trusted; empty if it is.

        `table` is that over its columns alone. `values` are those of the release and of every
        replicate, NaN where it does not exist; `records`, of the same length, are the records that
        they rest on.
        """
        lost = int(np.isnan(values[1:]).sum())
        if lost:
            return (
                f"in {lost} of {len(values) - 1} replicates it does not exist: "
                "its groups are too small for the noise"
            )
        return self.of_columns(table) or self.of_values(values, records, factor)

    def of_columns(self, table: WeightedTable) -> str:
        """Why no statistic of the columns of this table is to be trusted."""
        asked = frozenset(table.universe.names)
        cells = math.prod(table.universe.shape)
        variances = [
            variance * held / cells for names, held, variance in self.together if asked <= names
        ]
        if not variances:
            return (
                f"no noisy table holds {', '.join(sorted(asked))} together: "
                "how they go together comes from the model of the rows alone"
            )
        if len(asked) > self.calibrated_columns:
            return (
                f"it relates {len(asked)} columns; intervals of this release are calibrated for "
                f"{self.calibrated_columns} at most"
            )
        typical = _typical_count(table.weights[0])
        half_width = Z_95 * math.sqrt(min(variances))
        if len(asked) > 1 and typical < LEAST_CLEAR * half_width:
            return (
                f"a typical count over its columns is {typical:,.0f}, measured to within "
                f"{half_width:,.0f}: how they go together may have been smoothed away"
            )
        return ""

    def of_values(self, values: Floats, records: Floats, factor: float) -> str:
        """Why what has these values is not to be trusted, whatever its columns are."""
        noise = math.sqrt(factor * float(np.mean((records[1:] - records[0]) ** 2)))
        if records[0] < LEAST_OVER_NOISE * noise:
            return (
                f"it rests on some {records[0]:,.0f} records with a standard error of "
                f"{noise:,.0f} for the noise: that cannot be told from none"
            )
        apart = values[1:] - values[0]
        if float(apart.mean()) ** 2 > self.largest_shift * float(np.mean(apart**2)):
            return "the fit shifts it: replicates lie to one side of the release"
        return ""


def _typical_count(counts: Floats) -> float:
    """Half of all records are in a cell with at least so many."""
    descending = np.sort(counts)[::-1]
    upwards = np.cumsum(descending)
    place = int(np.searchsorted(upwards, upwards[-1] / 2)) if len(counts) else 0
    return float(descending[place]) if len(counts) else 0.0


@dataclass(frozen=True, eq=False)
class Weights:
    """The published table and its replicates, with the factor of the variance and the rule.

    `table` holds the published counts first, then those of each replicate.
    """

    table: WeightedTable
    factor: float
    rule: Rule

    def frame(self) -> pd.DataFrame:
        """The distinct rows with their count and the counts of every replicate."""
        names = count_columns(len(self.table.weights) - 1)
        weights = pd.DataFrame(self.table.weights.T.astype(np.int64), columns=names)
        return pd.concat([self.table.labelled(), weights], axis=1)


def no_replicates(release: str) -> QueryError:
    """What is said of a release that was published without them."""
    return QueryError(
        f"the release {release!r} has no replicate weights",
        why="it was published without `output.replicates`, so nothing in it tells the error of a "
        "statistic that is no count",
        fix="ask for counts by `synth.intervals`; or ask its publisher for a release with "
        "`output.replicates: 40`, which costs no budget",
    )
