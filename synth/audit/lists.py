"""The audit of lists: universes of which only heavy cells are told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.audit.canaries import (
    OWN_COUNT,
    Canaries,
    Randomness,
    Tally,
    coins,
    laplace_evidence,
    tally,
)
from synth.audit.claim import PureClaim, at_least, at_most
from synth.audit.report import Finding
from synth.audit.selection import LISTED, audit_selection, listed_codes, patterns
from synth.audit.tables import Streams, wanted_canaries
from synth.curator.counting.sparse_tabulate import FilledCells
from synth.curator.sensitive import Sensitive
from synth.curator.sparse_boundary import measure_list
from synth.domain import Universe
from synth.domain.cell_words import cell_order, cell_words
from synth.domain.counts import is_possible
from synth.privacy import TableEvent
from synth.privacy.accounting import PARTITION_SELECTION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.audit.canaries import Bits

MOST_CELLS = 1 << 18
"""Of one run."""
MOST_RUNS = 12
LONE_CANARIES = 1 << 20
MOST_LONE_RUNS = 64


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
    canaries: Canaries
    cells: list[NDArray[np.int64]]
    streams: Streams
    randomness: Randomness

    def run(self, background: int) -> ListRun:
        """Measure the list once, with so many records in every cell besides the canaries."""
        import numpy as np

        canaries, size = self.canaries, len(self.cells[0])
        bits = coins(size // canaries.cells_each, self.randomness)
        counts = canaries.counts(bits, size, background)
        filled = counts > 0
        stream = self.streams()
        try:
            table = measure_list(
                Sensitive(FilledCells(tuple(c[filled] for c in self.cells), counts[filled])),
                self.event,
                self.universe,
                number=self.number,
                stream=stream,
            )
        finally:
            stream.close()
        codes = listed_codes(table)
        noisy = np.full(size, (self.event.threshold or 1) - 1, dtype=np.int64)
        places, found = _places(self.cells, list(codes.T), self.universe)
        noisy[places] = table.noisy_counts[found]
        listed = np.zeros(size, dtype=bool)
        listed[places] = True
        outputs, step = canaries.split(noisy, len(bits)), canaries.cells_each
        return ListRun(bits, outputs, listed[: step * len(bits) : step])


def audit_list(
    number: int,
    event: TableEvent,
    universe: Universe,
    canaries: Canaries,
    *,
    miss: float,
    streams: Streams,
    randomness: Randomness,
) -> list[Finding]:
    """Lower bounds of epsilon where cells are heavy, and of delta where a unit is alone.

    Each of them is wrong with at most `miss`; there are at most `bounds_of_list`. For epsilon every
    canary's cells hold as many records as the threshold, so that it hides little; the attacker
    knows that.
    """
    cells = spread_cells(universe, MOST_CELLS)
    listing = Listing(number, event, universe, canaries, cells, streams, randomness)
    claim = PureClaim(float(event.epsilon or 0))
    each = max(1, len(cells[0]) // canaries.cells_each)
    runs = min(MOST_RUNS, math.ceil(wanted_canaries(claim, canaries, miss) / each))
    threshold = event.threshold or 1
    guesses = Tally()
    for _ in range(runs):
        run = listing.run(threshold)
        evidence = laplace_evidence(canaries, [one - threshold for one in run.outputs])
        enough = canaries.records * canaries.cells_each
        guesses += tally(evidence, run.bits, enough=enough)
    share = at_least(guesses.right, guesses.made, miss)
    finding = Finding(
        subject="list of heavy cells",
        mechanism=event.mechanism,
        symbol="epsilon",
        claimed=claim.epsilon,
        lower_bound=claim.lower_bound(share),
        exceeded=share > claim.share_right * (1 + 1e-9),
        canaries=runs * each,
        guesses=guesses.made,
        right=guesses.right,
        rule=OWN_COUNT,
    )
    if event.mechanism == PARTITION_SELECTION:
        return [finding, *audit_selection(number, event, canaries, miss=miss, streams=streams)]
    return [finding, _alone_among_all(listing, claim, miss)]


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
    import numpy as np

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
    import numpy as np

    both = [np.concatenate(pair) for pair in zip(cells, listed, strict=True)]
    words = cell_words(both, universe.shape)
    order = cell_order(words)  # equal cells stay in their order: the canary's comes first
    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for word in words:
        same &= word[order[1:]] == word[order[:-1]]
    return order[:-1][same], order[1:][same] - len(cells[0])
