"""The audit of delta: partition selection tells of a unit that is alone at most so often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from synth.audit.canaries import Canaries
from synth.audit.claim import at_least
from synth.audit.report import Finding
from synth.audit.tables import Streams
from synth.curator.counting.sparse_tabulate import FilledCells
from synth.curator.sensitive import Sensitive
from synth.curator.sparse_boundary import measure_list
from synth.domain import Attribute, Universe
from synth.measurements import MeasuredTable
from synth.noise import DiscreteLaplace, noise_law
from synth.noise.partition_selection import threshold_of_delta
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LISTED = "whether it is listed"
LAW = "the law of the noise"
SMALLEST_SAMPLED = Fraction(1, 10**6)
"""A smaller delta is too rare an event for this many canaries."""
SCALED = Fraction(1, 10**5)
"""In its place the threshold that the same rule sets for this one is sampled."""
WANTED = 64
"""Units that would be told of, on average, if delta were met."""
MOST_CELLS = 1 << 19
"""Of one run: half of the made-up universe; the other half is empty."""
SIDE = 1 << 10
_BITS = 256


@dataclass(frozen=True)
class Pattern:
    """How the records of a unit lie that is alone: so many in each of some cells."""

    cells: int
    records: int

    @property
    def shown(self) -> str:
        """The pattern in words."""
        return (
            "a unit alone in a cell" if self.cells == 1 else f"a unit alone in {self.cells} cells"
        )


def patterns(canaries: Canaries) -> list[Pattern]:
    """The two extremes: all records in one cell, and each in a cell of its own."""
    together, apart = Pattern(1, canaries.records), Pattern(canaries.records, 1)
    return [together] if together == apart else [together, apart]


def audit_selection(
    number: int, event: TableEvent, canaries: Canaries, *, miss: float, streams: Streams
) -> list[Finding]:
    """How often units that fill cells alone are listed, by the law and by sampling.

    Partition selection lists no empty cell. So to be (epsilon, delta)-DP it may list a cell that
    one unit alone fills, or any of several, with probability delta at most, whatever epsilon is.
    The law of the noise gives this probability of the planned threshold exactly. Sampled is the
    list as it is measured, so that a fault of the law itself shows too; for a delta below
    `SMALLEST_SAMPLED` with the threshold that the planner's rule sets for a larger one.

    Every run is of a made-up universe: neither the law nor the threshold depends on the universe.
    Ensures: each sampled bound is wrong with at most `miss`.
    """
    delta = event.delta or Fraction(0)
    findings = [_by_law(event, pattern) for pattern in patterns(canaries)]
    sampled, scaled = event, ""
    if delta < SMALLEST_SAMPLED and event.epsilon is not None:
        law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
        threshold = threshold_of_delta(law, delta=SCALED)
        sampled = replace(event, delta=SCALED, threshold=threshold)
        scaled = " (same rule, larger delta)"
    for pattern in patterns(canaries):
        findings += _by_sampling(number, sampled, pattern, scaled, miss, streams)
    return findings


def _by_law(event: TableEvent, pattern: Pattern) -> Finding:
    law, threshold, delta = noise_law(event), event.threshold or 1, event.delta or Fraction(0)
    if not isinstance(law, DiscreteLaplace):
        raise TypeError("a list has Laplace noise")
    _, high = law.cdf_bounds(threshold - pattern.records - 1, _BITS)
    unlisted = Fraction(min(high, 1 << _BITS), 1 << _BITS)
    told = 1 - unlisted**pattern.cells
    return Finding(
        subject=f"list, {pattern.shown}",
        mechanism=event.mechanism,
        symbol="delta",
        claimed=float(delta),
        lower_bound=float(told),
        exceeded=told > delta,
        canaries=0,
        guesses=0,
        right=0,
        rule=LAW,
        is_exact=True,
    )


def _by_sampling(
    number: int, event: TableEvent, pattern: Pattern, scaled: str, miss: float, streams: Streams
) -> list[Finding]:
    """How many of the units are told of; and a second finding if an empty cell is listed."""
    import numpy as np

    delta = float(event.delta or 0)
    each = MOST_CELLS // pattern.cells
    if not each:
        each, pattern = 1, Pattern(MOST_CELLS, 1)
    runs = math.ceil(WANTED / delta / each)
    universe = made_up_universe()
    wide = replace(event, table=universe.names, cells=universe.size, coarsening=(0, 0))
    used = np.arange(each * pattern.cells, dtype=np.int64)
    told = empty = 0
    for _ in range(runs):
        columns = (used // SIDE, used % SIDE)
        counts = np.full(len(used), pattern.records, dtype=np.int64)
        stream = streams()
        try:
            table = measure_list(
                Sensitive(FilledCells(columns, counts)),
                wide,
                universe,
                number=number,
                stream=stream,
            )
        finally:
            stream.close()
        codes = listed_codes(table)
        cells = codes[:, 0] * SIDE + codes[:, 1]
        filled = cells < len(used)
        told += len(np.unique(cells[filled] // pattern.cells))
        empty += len(cells) - int(np.count_nonzero(filled))
    bound = at_least(told, runs * each, miss)
    sampled = Finding(
        subject=f"list, {pattern.shown}{scaled}",
        mechanism=event.mechanism,
        symbol="delta",
        claimed=delta,
        lower_bound=bound,
        exceeded=bound > delta,
        canaries=runs * each,
        guesses=runs * each,
        right=told,
        rule=LISTED,
    )
    if not empty:
        return [sampled]
    untold = replace(
        sampled,
        subject="list, empty cells",
        claimed=0.0,
        lower_bound=empty / (runs * (universe.size - len(used))),
        exceeded=True,
        rule="those that were listed",
        is_exact=True,
    )
    return [sampled, untold]


def made_up_universe() -> Universe:
    """Two attributes of SIDE levels each: twice as many cells as one run fills."""
    levels = tuple(f"level {number}" for number in range(SIDE))
    names: Sequence[str] = ("row", "column")
    return Universe(tuple(Attribute(name, "categorical", levels) for name in names))


def listed_codes(table: MeasuredTable) -> NDArray[np.int64]:
    """The codes of the listed cells, one row per cell."""
    if table.codes is None:
        raise ValueError("a list has the codes of its cells")
    return table.codes
