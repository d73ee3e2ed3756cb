"""The audit of lists: universes of which only heavy cells are told, and the delta of that.

Partition selection tells of a unit that is alone at most so often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from synth.audit.canaries import (
    OWN_COUNT,
    Bits,
    Canaries,
    PureClaim,
    Tally,
    Trials,
    at_least,
    at_most,
    guess,
)
from synth.audit.findings import Finding
from synth.audit.tables import wanted_canaries
from synth.curator.boundary import measure_list
from synth.curator.counting.tabulate import FilledCells
from synth.curator.seal import Sensitive
from synth.domain import Attribute, Universe
from synth.domain.counts import cell_order, cell_words, is_possible
from synth.measurements import MeasuredTable
from synth.noise import DiscreteLaplace, noise_law
from synth.noise.mechanism import threshold_of_delta
from synth.privacy import TableEvent
from synth.privacy.accounting import PARTITION_SELECTION

MOST_CELLS = 1 << 18
"""Of one run."""
MOST_RUNS = 12
LONE_CANARIES = 1 << 20
MOST_LONE_RUNS = 64
LISTED = "whether it is listed"
LAW = "the law of the noise"
SMALLEST_SAMPLED = Fraction(1, 10**6)
"""A smaller delta is too rare an event for this many canaries."""
SCALED = Fraction(1, 10**5)
"""In its place the threshold that the same rule sets for this one is sampled."""
WANTED = 64
"""Units that would be told of, on average, if delta were met."""
MOST_ALONE = 1 << 19
"""Of one run: half of the made-up universe; the other half is empty."""
SIDE = 1 << 10
_BITS = 256


@dataclass(frozen=True)
class ListRun:
    """One measured list: the noisy counts of the canaries' cells, and which of them are listed."""

    bits: Bits
    outputs: list[NDArray[np.int64]]
    listed: NDArray[np.bool_]


@dataclass(frozen=True)
class Listing:
    """A list of the plan, and the cells in which canaries are put."""

    number: int
    event: TableEvent
    universe: Universe
    trials: Trials
    cells: list[NDArray[np.int64]]

    def run(self, background: int) -> ListRun:
        """Measure the list once, with so many records in every cell besides the canaries."""
        canaries, size = self.trials.canaries, len(self.cells[0])
        bits = self.trials.coins(size // canaries.cells_each)
        counts = canaries.counts(bits, size, background)
        filled = counts > 0
        secret = Sensitive(FilledCells(tuple(c[filled] for c in self.cells), counts[filled]))
        with self.trials.stream() as stream:
            table = measure_list(
                secret, self.event, self.universe, number=self.number, stream=stream
            )
        codes = listed_codes(table)
        noisy = np.full(size, (self.event.threshold or 1) - 1, dtype=np.int64)
        places, found = _places(self.cells, list(codes.T), self.universe)
        noisy[places] = table.noisy_counts[found]
        listed = np.zeros(size, dtype=bool)
        listed[places] = True
        outputs, step = canaries.split(noisy, len(bits)), canaries.cells_each
        return ListRun(bits, outputs, listed[: step * len(bits) : step])


def audit_list(number: int, event: TableEvent, universe: Universe, trials: Trials) -> list[Finding]:
    """Lower bounds of epsilon where cells are heavy, and of delta where a unit is alone.

    There are at most `bounds_of_list` of them. For epsilon every
    canary's cells hold as many records as the threshold, so that it hides little; the attacker
    knows that.
    """
    cells, canaries = spread_cells(universe, MOST_CELLS), trials.canaries
    listing = Listing(number, event, universe, trials, cells)
    claim = PureClaim(float(event.epsilon or 0))
    each = max(1, len(cells[0]) // canaries.cells_each)
    runs = min(MOST_RUNS, math.ceil(wanted_canaries(claim, canaries, trials.miss) / each))
    threshold = event.threshold or 1
    guesses = Tally()
    for _ in range(runs):
        run = listing.run(threshold)
        guesses += guess(claim, canaries, [one - threshold for one in run.outputs], run.bits)
    finding = Finding.of_guesses(
        "list of heavy cells",
        event.mechanism,
        claim,
        guesses,
        miss=trials.miss,
        canaries=runs * each,
        rule=OWN_COUNT,
    )
    if event.mechanism == PARTITION_SELECTION:
        return [finding, *audit_selection(number, event, trials)]
    return [finding, _alone_among_all(listing, claim, trials.miss)]


def bounds_of_list(event: TableEvent, canaries: Canaries) -> int:
    """How many sampled bounds `audit_list` may give."""
    return 1 + (len(patterns(canaries)) if event.mechanism == PARTITION_SELECTION else 1)


def _alone_among_all(listing: Listing, claim: PureClaim, miss: float) -> Finding:
    """Without delta: a unit that is alone is listed e^epsilon times as often as an empty cell."""
    there, gone = Tally(), Tally()
    for _ in range(min(MOST_LONE_RUNS, math.ceil(LONE_CANARIES / len(listing.cells[0])))):
        run = listing.run(0)
        there += Tally(int(run.listed[run.bits].sum()), int(run.bits.sum()))
        gone += Tally(int(run.listed[~run.bits].sum()), int((~run.bits).sum()))
    told = at_least(there.right, there.made, miss / 2)
    told -= math.exp(min(claim.epsilon, 700.0)) * at_most(gone.right, gone.made, miss / 2)
    return Finding(
        subject="list, of a unit that is alone",
        mechanism=listing.event.mechanism,
        symbol="delta",
        claimed=0.0,
        lower_bound=max(0.0, told),
        exceeded=told > 0,
        canaries=there.made + gone.made,
        guesses=there.made,
        right=there.right,
        rule=LISTED,
    )


def spread_cells(universe: Universe, most: int) -> list[NDArray[np.int64]]:
    """The codes of some possible cells, in ascending order, evenly over the universe."""
    count = min(most, universe.size)
    numbers = np.arange(count).astype(object) * (universe.size // count)
    columns = [
        ((numbers // stride) % size).astype(np.int64)
        for stride, size in zip(universe.strides, universe.shape, strict=True)
    ]
    possible = is_possible(columns, universe)
    return [column[possible] for column in columns]


def _places(
    cells: list[NDArray[np.int64]], listed: list[NDArray[np.int64]], universe: Universe
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For the cells that are in both: their place among `cells`, and among `listed`."""
    both = [np.concatenate(pair) for pair in zip(cells, listed, strict=True)]
    words = cell_words(both, universe.shape)
    order = cell_order(words)  # equal cells stay in their order: the canary's comes first
    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for word in words:
        same &= word[order[1:]] == word[order[:-1]]
    return order[:-1][same], order[1:][same] - len(cells[0])


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


def audit_selection(number: int, event: TableEvent, trials: Trials) -> list[Finding]:
    """How often units that fill cells alone are listed, by the law and by sampling.

    Partition selection lists no empty cell. So to be (epsilon, delta)-DP it may list a cell that
    one unit alone fills, or any of several, with probability delta at most, whatever epsilon is.
    The law of the noise gives this probability of the planned threshold exactly. Sampled is the
    list as it is measured, so that a fault of the law itself shows too; for a delta below
    `SMALLEST_SAMPLED` with the threshold that the planner's rule sets for a larger one.

    Every run is of a made-up universe: neither the law nor the threshold depends on the universe.
    """
    delta = event.delta or Fraction(0)
    findings = [_by_law(event, pattern) for pattern in patterns(trials.canaries)]
    sampled, scaled = event, ""
    if delta < SMALLEST_SAMPLED and event.epsilon is not None:
        law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
        threshold = threshold_of_delta(law, delta=SCALED)
        sampled = replace(event, delta=SCALED, threshold=threshold)
        scaled = " (same rule, larger delta)"
    for pattern in patterns(trials.canaries):
        findings += _by_sampling(number, sampled, pattern, scaled, trials)
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
    number: int, event: TableEvent, pattern: Pattern, scaled: str, trials: Trials
) -> list[Finding]:
    """How many of the units are told of; and a second finding if an empty cell is listed."""
    delta = float(event.delta or 0)
    each = MOST_ALONE // pattern.cells
    if not each:
        each, pattern = 1, Pattern(MOST_ALONE, 1)
    runs = math.ceil(WANTED / delta / each)
    universe = made_up_universe()
    wide = replace(event, table=universe.names, cells=universe.size, coarsening=(0, 0))
    used = np.arange(each * pattern.cells, dtype=np.int64)
    told = empty = 0
    for _ in range(runs):
        columns = (used // SIDE, used % SIDE)
        counts = np.full(len(used), pattern.records, dtype=np.int64)
        secret = Sensitive(FilledCells(columns, counts))
        with trials.stream() as stream:
            table = measure_list(secret, wide, universe, number=number, stream=stream)
        codes = listed_codes(table)
        cells = codes[:, 0] * SIDE + codes[:, 1]
        filled = cells < len(used)
        told += len(np.unique(cells[filled] // pattern.cells))
        empty += len(cells) - int(np.count_nonzero(filled))
    bound = at_least(told, runs * each, trials.miss)
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
