"""The audit of measured tables: each against its own share of the budget, and all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from synth.audit.canaries import (
    NEXT_CELL,
    OTHER_RUN,
    OTHER_TABLE,
    OWN_COUNT,
    RULES,
    Bits,
    Canaries,
    Claim,
    PureClaim,
    Tally,
    Trials,
    at_least,
    at_most,
    claim_of,
    gaussian_evidence,
    guess,
    laplace_evidence,
    tally,
)
from synth.audit.findings import Finding
from synth.audit.reuse import NoiseSigns, Reuse
from synth.curator.boundary import LOOK_NUMBER, measure_table
from synth.curator.seal import Sensitive
from synth.errors import BugError
from synth.noise import NoiseStream
from synth.privacy import TableEvent

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
SUBJECT = "all tables together"
LOOK = "the look"
"""What the profile of a look is called among the tables."""
CANARIES = 1 << 19
CHOOSING_RUNS = 4
"""The first ones only choose how much evidence is enough."""
RUNS = 24
"""The bound is that of so many more."""
MOST_HALVINGS = 14
LEAST_GUESSES = 64


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
        trials: Trials,
        other: NDArray[np.int64] | None,
        signs: NoiseSigns,
    ) -> NDArray[np.int64]:
        """Measure run `place` of this table, guess every coin, and return the noisy counts.

        `other` is what the same run gave for the table before; `signs` keeps those of the noise.
        """
        cells, step = self.sizes[place], self.canaries.cells_each
        bits = trials.coins(cells // step)
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
        self.tallies[OWN_COUNT] += guess(self.claim, self.canaries, outputs, bits)
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

    def _compare(
        self, rule: str, mine: NDArray[np.int64], other: NDArray[np.int64], bits: Bits
    ) -> None:
        size = min(len(mine), len(other))
        enough = self.canaries.records if isinstance(self.claim, PureClaim) else None
        self.tallies[rule] += tally(mine[:size] - other[:size], bits[:size], enough=enough)

    def finding(self, miss: float) -> Finding:
        """The largest of the lower bounds that the rules give, each wrong with at most `miss`."""
        shares = {rule: at_least(one.right, one.made, miss) for rule, one in self.tallies.items()}
        rule = max(shares, key=lambda name: shares[name])
        return Finding.of_guesses(
            LOOK if self.number == LOOK_NUMBER else ", ".join(self.event.table) or "all records",
            self.event.mechanism,
            self.claim,
            self.tallies[rule],
            miss=miss,
            canaries=self.units,
            rule=rule,
        )


def audit_tables(
    events: Sequence[tuple[int, TableEvent]], trials: Trials
) -> tuple[list[Finding], Reuse]:
    """A lower bound of what every table gives away, and whether some noise was used twice.

    `events` come with their
    numbers in the plan.

    Tables that are larger or smaller than their canaries need are measured with other numbers of
    cells: the law of the noise does not depend on that. Every run measures all tables with one
    fresh stream, as a measuring process does, and every table has coins of its own.

    Requires: every event lists all its cells.
    """
    most = min(MOST_CANARIES, MOST_IN_ALL // max(1, len(events)))
    audits, canaries, miss = [], trials.canaries, trials.miss
    for number, event in events:
        claim = claim_of(event, canaries)
        wanted = min(most, wanted_canaries(claim, canaries, miss))
        sizes = run_sizes(event, canaries, wanted)
        audits.append(TableAudit(event, number, claim, canaries, sizes))
    signs = NoiseSigns.of(sum(len(one.sizes) for one in audits), miss)
    for place in range(max((len(one.sizes) for one in audits), default=0)):
        other = None
        with trials.stream() as stream:
            for one in audits:
                if place < len(one.sizes):
                    other = one.run(place, stream, trials, other, signs)
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


@dataclass(frozen=True)
class Shares:
    """The guesses of a run, or of several: right, wrong, and none."""

    right: int = 0
    wrong: int = 0
    canaries: int = 0

    def __add__(self, other: Shares) -> Shares:
        return Shares(
            self.right + other.right, self.wrong + other.wrong, self.canaries + other.canaries
        )

    def lower_bound(self, delta: float, miss: float) -> float:
        """An epsilon that is too large with probability at most `miss`.

        Without delta by the share of right guesses among all guesses. With delta:
        P(right) <= e^epsilon P(wrong) + delta, where both are shares of all canaries, because
        heads and tails are as likely; for this the noise of different canaries must be
        independent.
        """
        if not delta:
            share = at_least(self.right, self.right + self.wrong, miss)
            return math.log(share / (1 - share)) if share > 0.5 else 0.0
        right = at_least(self.right, self.canaries, miss / 2) - delta
        wrong = at_most(self.wrong, self.canaries, miss / 2)
        return max(0.0, math.log(right / wrong)) if right > 0 else 0.0


def audit_composition(
    events: Sequence[tuple[int, TableEvent]], trials: Trials, *, epsilon: float, delta: float
) -> Finding:
    """Units that are in every table; a lower bound of what all tables give away of one.

    The coins of the first runs choose how large a likelihood ratio must be for a guess; the bound
    is that of the others.
    """
    first = [_run(events, trials) for _ in range(CHOOSING_RUNS)]
    evidence, bits = (np.concatenate(parts) for parts in zip(*first, strict=True))
    enough = _best_threshold(evidence, bits, delta, trials.miss)
    total = Shares()
    for _ in range(RUNS):
        total += _shares(*_run(events, trials), enough)
    bound = total.lower_bound(delta, trials.miss)
    return Finding(
        subject=SUBJECT,
        mechanism=f"{len(events)} tables",
        symbol="epsilon",
        claimed=epsilon,
        lower_bound=bound,
        exceeded=bound > epsilon * (1 + 1e-9),
        canaries=total.canaries,
        guesses=total.right + total.wrong,
        right=total.right,
        rule="the noisy counts of all tables",
    )


def _run(
    events: Sequence[tuple[int, TableEvent]], trials: Trials
) -> tuple[NDArray[np.float64], Bits]:
    """The logarithm of the likelihood ratio of every coin, from one measurement of all tables."""
    canaries = trials.canaries
    cells = CANARIES * canaries.cells_each
    bits = trials.coins(CANARIES)
    evidence = np.zeros(CANARIES)
    with trials.stream() as stream:
        for number, event in events:
            counts = Sensitive(canaries.counts(bits, cells))
            wide = replace(event, cells=cells)
            noisy = measure_table(counts, wide, number=number, stream=stream).noisy_counts
            evidence += _log_ratio(event, canaries, canaries.split(noisy, CANARIES))
    return evidence, bits


def _log_ratio(
    event: TableEvent, canaries: Canaries, outputs: list[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """The logarithm of the likelihood ratio of the coins, if the noise is what is claimed."""
    if event.epsilon is not None:
        scale = float(event.epsilon / event.sensitivity_l1)
        whole = laplace_evidence(canaries, outputs)
    else:
        scale = canaries.records / (2 * float(event.sigma_squared)) * canaries.cells_each
        whole = gaussian_evidence(canaries, outputs)
    return np.multiply(whole, scale, dtype=np.float64)


def _shares(evidence: NDArray[np.float64], bits: Bits, enough: float) -> Shares:
    guessed = np.abs(evidence) >= enough
    right = int(np.count_nonzero(guessed & ((evidence > 0) == bits)))
    return Shares(right, int(np.count_nonzero(guessed)) - right, len(bits))


def _best_threshold(evidence: NDArray[np.float64], bits: Bits, delta: float, miss: float) -> float:
    """How large a ratio gives the best bound, among the largest half, quarter, ... of them."""
    sizes = np.sort(np.abs(evidence))
    last = len(sizes) - 1
    places = [last - (last >> halvings) for halvings in range(MOST_HALVINGS)]
    options = {max(1e-12, float(sizes[place]) * (1 - 1e-9)) for place in places}
    found = {enough: _shares(evidence, bits, enough) for enough in options}
    large = {e: s for e, s in found.items() if s.right + s.wrong >= LEAST_GUESSES} or found
    return max(large, key=lambda enough: large[enough].lower_bound(delta, miss))
