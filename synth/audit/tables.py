"""The audit of measured tables, each against its own share of the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from synth.audit.canaries import (
    NEXT_CELL,
    OTHER_RUN,
    OTHER_TABLE,
    OWN_COUNT,
    RULES,
    Canaries,
    Randomness,
    Tally,
    coins,
    gaussian_evidence,
    laplace_evidence,
    tally,
)
from synth.audit.claim import Claim, PureClaim, at_least, claim_of
from synth.audit.report import Finding
from synth.audit.reuse import NoiseSigns, Reuse
from synth.curator.boundary import measure_table
from synth.curator.sensitive import Sensitive
from synth.errors import BugError
from synth.noise import NoiseStream
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.audit.canaries import Bits

Streams = Callable[[], NoiseStream]
"""A new noise stream at every call."""
MOST_CANARIES = 1 << 25
"""For one table; with fewer the bound of a small epsilon stays further below it."""
MOST_IN_ALL = 1 << 27
MOST_CELLS = 1 << 22
"""Of one measurement."""
MOST_COMPARED = 1 << 16
"""Canaries of one run that are compared with others: noise that is used twice shows at once."""
RUNS_AS_PLANNED = 4
"""Measurements of a small table with the cells that it has; the others have more."""
LEAST_RUNS = 4
"""With more cells: so that noise used again two runs later shows."""


@dataclass
class TableAudit:
    """One table of the plan: what it claims, and the guesses of its canaries so far."""

    event: TableEvent
    number: int
    claim: Claim
    canaries: Canaries
    sizes: Sequence[int]
    """The cells of every run."""
    tallies: dict[str, Tally] = field(default_factory=lambda: dict.fromkeys(RULES, Tally()))
    units: int = 0
    _before: list[NDArray[np.int64]] = field(default_factory=list)

    def run(
        self,
        place: int,
        stream: NoiseStream,
        randomness: Randomness,
        other: NDArray[np.int64] | None,
        signs: NoiseSigns,
    ) -> NDArray[np.int64]:
        """Measure run `place` of this table, guess every coin, and return the noisy counts.

        `other` is what the same run gave for the table before; `signs` keeps those of the noise.
        """
        cells, step = self.sizes[place], self.canaries.cells_each
        bits = coins(cells // step, randomness)
        counts = self.canaries.counts(bits, cells)
        true = counts[: signs.each].copy()
        table = measure_table(
            Sensitive(counts),
            replace(self.event, cells=cells),
            number=self.number,
            stream=stream,
        )
        noisy = table.noisy_counts
        signs.add(noisy[: signs.each] - true)
        outputs = self.canaries.split(noisy, len(bits))
        self.units += len(bits)
        pure = isinstance(self.claim, PureClaim)
        evidence = laplace_evidence if pure else gaussian_evidence
        self._note(OWN_COUNT, evidence(self.canaries, outputs), bits, step)
        first = outputs[0][:MOST_COMPARED]
        if step == 2:
            self._compare(NEXT_CELL, first, outputs[1], bits)
        else:
            self._compare(NEXT_CELL, first[:-1:2], first[1::2], bits[::2])
        if other is not None:
            self._compare(OTHER_TABLE, first, other[::step], bits)
        if place % 2:
            self._compare(OTHER_RUN, first, self._before.pop(), bits)
        else:
            self._before = [first.copy()]
        return noisy

    def _note(self, rule: str, evidence: NDArray[np.int64], bits: Bits, cells: int = 1) -> None:
        enough = self.canaries.records * cells if isinstance(self.claim, PureClaim) else None
        self.tallies[rule] += tally(evidence, bits, enough=enough)

    def _compare(
        self, rule: str, mine: NDArray[np.int64], other: NDArray[np.int64], bits: Bits
    ) -> None:
        size = min(len(mine), len(other))
        self._note(rule, mine[:size] - other[:size], bits[:size])

    def finding(self, miss: float) -> Finding:
        """The largest of the lower bounds that the rules give, each wrong with at most `miss`."""
        shares = {rule: at_least(one.right, one.made, miss) for rule, one in self.tallies.items()}
        rule = max(shares, key=lambda name: shares[name])
        return Finding(
            subject=", ".join(self.event.table) or "all records",
            mechanism=self.event.mechanism,
            symbol=self.claim.symbol,
            claimed=self.claim.value,
            lower_bound=self.claim.lower_bound(shares[rule]),
            exceeded=shares[rule] > self.claim.share_right * (1 + 1e-9),
            canaries=self.units,
            guesses=self.tallies[rule].made,
            right=self.tallies[rule].right,
            rule=rule,
        )


def audit_tables(
    events: Sequence[tuple[int, TableEvent]],
    canaries: Canaries,
    *,
    miss: float,
    streams: Streams,
    randomness: Randomness,
) -> tuple[list[Finding], Reuse]:
    """A lower bound of what every table gives away, and whether some noise was used twice.

    Each bound, and the finding of reuse, is wrong with at most `miss`. `events` come with their
    numbers in the plan.

    Tables that are larger or smaller than their canaries need are measured with other numbers of
    cells: the law of the noise does not depend on that. Every run measures all tables with one
    fresh stream, as a measuring process does, and every table has coins of its own.

    Requires: every event lists all its cells.
    """
    most = min(MOST_CANARIES, MOST_IN_ALL // max(1, len(events)))
    audits = []
    for number, event in events:
        claim = claim_of(event, canaries)
        wanted = min(most, wanted_canaries(claim, canaries, miss))
        sizes = run_sizes(event, canaries, wanted)
        audits.append(TableAudit(event, number, claim, canaries, sizes))
    signs = NoiseSigns.of(sum(len(one.sizes) for one in audits), miss)
    for place in range(max((len(one.sizes) for one in audits), default=0)):
        stream, other = streams(), None
        try:
            for one in audits:
                if place < len(one.sizes):
                    other = one.run(place, stream, randomness, other, signs)
        finally:
            stream.close()
    return [one.finding(miss) for one in audits], signs.reuse(miss)


def run_sizes(event: TableEvent, canaries: Canaries, wanted: int) -> list[int]:
    """The number of cells of every run: pairs of runs, the first ones of the planned size."""
    step = canaries.cells_each
    runs = max(LEAST_RUNS, 2 * math.ceil(step * wanted / MOST_CELLS / 2))
    cells = step * math.ceil(wanted / runs)
    planned = [event.cells] * RUNS_AS_PLANNED if step <= event.cells < cells else []
    return planned + [cells] * runs


def wanted_canaries(claim: Claim, canaries: Canaries, miss: float) -> int:
    """How many canaries bring the lower bound near the claim.

    Of those with Laplace noise only some are guessed: with a = exp(-epsilon / (r s)) for r
    records in one of s cells, the share (1 + a^(r s)) / (1 + a)^s, where the noise is not smaller
    than what the canary adds.
    """
    from scipy.stats import norm

    guesses = claim.needed_guesses(float(norm.isf(miss)))
    if not isinstance(claim, PureClaim):
        return guesses
    cells = canaries.cells_each
    alpha = math.exp(-claim.epsilon / (canaries.records * cells))
    guessed = (1 + math.exp(-claim.epsilon)) / (1 + alpha) ** cells
    return math.ceil(guesses / guessed)


def planned_tables(events: Sequence[TableEvent]) -> list[tuple[int, TableEvent]]:
    """The events whose tables list every cell, with their numbers.

    Raises: BugError for an event that is not measured cell by cell and not a list either.
    """
    if any(event.threshold is None and event.delta is not None for event in events):
        raise BugError("a table has a delta and no threshold")
    return [(number, event) for number, event in enumerate(events) if event.threshold is None]
