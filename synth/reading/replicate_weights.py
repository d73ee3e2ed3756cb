"""The replicate weights of a release: the table that they weigh, and when they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synth.config.replicates import count_columns
from synth.errors import QueryError
from synth.privacy import TableEvent
from synth.reading.weighted_table import Floats, WeightedTable

LEAST_OVER_NOISE = 2.0
"""A group is told from none when it is so many standard errors of the noise large."""


@dataclass(frozen=True)
class Rule:
    """When an interval from replicates can be trusted, told without raw data.

    `together` are the sets of columns that a noisy table holds together, each column at its own
    resolution: only of these does noisy evidence say how they go together. The other two are those
    of `post_processing.replicates` in the manifest.
    """

    together: tuple[frozenset[str], ...]
    calibrated_columns: int
    largest_shift: float

    @staticmethod
    def of(events: Iterable[TableEvent], *, calibrated_columns: int, largest_shift: float) -> Rule:
        """The rule of a release whose tables are these."""
        sets = {
            frozenset(name for name, steps in zip(e.table, e.coarsening, strict=True) if not steps)
            for e in events
            if e.threshold is None
        }
        widest = tuple(each for each in sets if not any(each < other for other in sets))
        return Rule(widest, calibrated_columns, largest_shift)

    def reason(
        self, columns: Iterable[str], *, values: Floats, records: Floats, factor: float
    ) -> str:
        """Why a statistic of these columns is not to be trusted; empty if it is.

        `values` are those of the release and of every replicate, NaN where it does not exist;
        `records`, of the same length, are the records that they rest on.
        """
        asked = frozenset(columns)
        lost = int(np.isnan(values[1:]).sum())
        if lost:
            return (
                f"in {lost} of {len(values) - 1} replicates it does not exist: "
                "its groups are too small for the noise"
            )
        if not any(asked <= each for each in self.together):
            return (
                f"no noisy table holds {', '.join(sorted(asked))} together: "
                "how they go together comes from the model of the rows alone"
            )
        if len(asked) > self.calibrated_columns:
            return (
                f"it relates {len(asked)} columns; intervals of this release are calibrated for "
                f"{self.calibrated_columns} at most"
            )
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
