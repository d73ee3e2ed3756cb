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
from synth.audit.tables import Streams, wanted_canaries
from synth.curator.sensitive import Sensitive
from synth.curator.sparse_boundary import measure_list
from synth.curator.sparse_tabulate import FilledCells
from synth.domain import Universe
from synth.domain.cell_words import cell_order, cell_words
from synth.domain.sparse_counts import is_possible
from synth.noise import NoiseStream
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.audit.canaries import Bits

MOST_CELLS = 1 << 18
"""Of one run."""
MOST_RUNS = 12
LONE_RUNS = 4
LISTED = "whether it is listed"


@dataclass(frozen=True)
class ListRun:
    """One measured list: the noisy counts of the canaries' cells, and which of them are listed."""

    bits: Bits
    outputs: list[NDArray[np.int64]]
    listed: NDArray[np.bool_]


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
    """Two lower bounds: of epsilon where cells are heavy, and of delta where a unit is alone.

    The first runs put as many records as the threshold into every canary's cells, so that the
    threshold hides little; the attacker knows that. In the last ones a canary is alone: it may be
    listed with probability e^epsilon times that of an empty cell, and delta more.
    """
    cells = spread_cells(universe, MOST_CELLS)
    claim = PureClaim(float(event.epsilon or 0))
    each = max(1, len(cells[0]) // canaries.cells_each)
    runs = min(MOST_RUNS, math.ceil(wanted_canaries(claim, canaries, miss) / each))
    threshold = event.threshold or 1
    guesses, there, gone = Tally(), Tally(), Tally()
    for background in [threshold] * runs + [0] * LONE_RUNS:
        run = _run(number, event, universe, canaries, cells, background, streams(), randomness)
        if background:
            evidence = laplace_evidence(canaries, [one - background for one in run.outputs])
            enough = canaries.records * canaries.cells_each
            guesses += tally(evidence, run.bits, enough=enough)
        else:
            there += Tally(int(run.listed[run.bits].sum()), int(run.bits.sum()))
            gone += Tally(int(run.listed[~run.bits].sum()), int((~run.bits).sum()))
    share = at_least(guesses.right, guesses.made, miss)
    delta = float(event.delta or 0)
    told = at_least(there.right, there.made, miss / 2)
    told -= math.exp(min(claim.epsilon, 700.0)) * at_most(gone.right, gone.made, miss / 2)
    return [
        Finding(
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
        ),
        Finding(
            subject="list, of a unit that is alone",
            mechanism=event.mechanism,
            symbol="delta",
            claimed=delta,
            lower_bound=max(0.0, told),
            exceeded=told > delta,
            canaries=there.made + gone.made,
            guesses=there.made,
            right=there.right,
            rule=LISTED,
        ),
    ]


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


def _run(
    number: int,
    event: TableEvent,
    universe: Universe,
    canaries: Canaries,
    cells: list[NDArray[np.int64]],
    background: int,
    stream: NoiseStream,
    randomness: Randomness,
) -> ListRun:
    import numpy as np

    size = len(cells[0])
    bits = coins(size // canaries.cells_each, randomness)
    counts = canaries.counts(bits, size, background)
    filled = counts > 0
    try:
        table = measure_list(
            Sensitive(FilledCells(tuple(c[filled] for c in cells), counts[filled])),
            event,
            universe,
            number=number,
            stream=stream,
        )
    finally:
        stream.close()
    codes = table.codes
    if codes is None:
        raise ValueError("a list has the codes of its cells")
    noisy = np.full(size, (event.threshold or 1) - 1, dtype=np.int64)
    places, found = _places(cells, list(codes.T), universe)
    noisy[places] = table.noisy_counts[found]
    listed = np.zeros(size, dtype=bool)
    listed[places] = True
    outputs = canaries.split(noisy, len(bits))
    return ListRun(bits, outputs, listed[: canaries.cells_each * len(bits) : canaries.cells_each])


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
