"""The audit of all tables together, against the whole budget of the configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from synth.audit.canaries import Canaries, Randomness, coins, gaussian_evidence, laplace_evidence
from synth.audit.claim import at_least, at_most
from synth.audit.report import Finding
from synth.audit.tables import Streams
from synth.curator.boundary import measure_table
from synth.curator.sensitive import Sensitive
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.audit.canaries import Bits

SUBJECT = "all tables together"
CANARIES = 1 << 19
CHOOSING_RUNS = 4
"""The first ones only choose how much evidence is enough."""
RUNS = 24
"""The bound is that of so many more."""
MOST_HALVINGS = 14
LEAST_GUESSES = 64


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
    events: Sequence[tuple[int, TableEvent]],
    canaries: Canaries,
    *,
    epsilon: float,
    delta: float,
    miss: float,
    streams: Streams,
    randomness: Randomness,
) -> Finding:
    """Units that are in every table; a lower bound of what all tables give away of one.

    The coins of the first runs choose how large a likelihood ratio must be for a guess; the bound
    is that of the others.
    """
    import numpy as np

    first = [_run(events, canaries, streams, randomness) for _ in range(CHOOSING_RUNS)]
    evidence, bits = (np.concatenate(parts) for parts in zip(*first, strict=True))
    enough = _best_threshold(evidence, bits, delta, miss)
    total = Shares()
    for _ in range(RUNS):
        total += _shares(*_run(events, canaries, streams, randomness), enough)
    bound = total.lower_bound(delta, miss)
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
    events: Sequence[tuple[int, TableEvent]],
    canaries: Canaries,
    streams: Streams,
    randomness: Randomness,
) -> tuple[NDArray[np.float64], Bits]:
    """The logarithm of the likelihood ratio of every coin, from one measurement of all tables."""
    import numpy as np

    cells = CANARIES * canaries.cells_each
    bits = coins(CANARIES, randomness)
    evidence = np.zeros(CANARIES)
    stream = streams()
    try:
        for number, event in events:
            counts = Sensitive(canaries.counts(bits, cells))
            wide = replace(event, cells=cells)
            noisy = measure_table(counts, wide, number=number, stream=stream).noisy_counts
            evidence += _log_ratio(event, canaries, canaries.split(noisy, CANARIES))
    finally:
        stream.close()
    return evidence, bits


def _log_ratio(
    event: TableEvent, canaries: Canaries, outputs: list[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """The logarithm of the likelihood ratio of the coins, if the noise is what is claimed."""
    import numpy as np

    if event.epsilon is not None:
        scale = float(event.epsilon / event.sensitivity_l1)
        whole = laplace_evidence(canaries, outputs)
    else:
        scale = canaries.records / (2 * float(event.sigma_squared)) * canaries.cells_each
        whole = gaussian_evidence(canaries, outputs)
    return np.multiply(whole, scale, dtype=np.float64)


def _shares(evidence: NDArray[np.float64], bits: Bits, enough: float) -> Shares:
    import numpy as np

    guessed = np.abs(evidence) >= enough
    right = int(np.count_nonzero(guessed & ((evidence > 0) == bits)))
    return Shares(right, int(np.count_nonzero(guessed)) - right, len(bits))


def _best_threshold(evidence: NDArray[np.float64], bits: Bits, delta: float, miss: float) -> float:
    """How large a ratio gives the best bound, among the largest half, quarter, ... of them."""
    import numpy as np

    sizes = np.sort(np.abs(evidence))
    last = len(sizes) - 1
    places = [last - (last >> halvings) for halvings in range(MOST_HALVINGS)]
    options = {max(1e-12, float(sizes[place]) * (1 - 1e-9)) for place in places}
    found = {enough: _shares(evidence, bits, enough) for enough in options}
    large = {e: s for e, s in found.items() if s.right + s.wrong >= LEAST_GUESSES} or found
    return max(large, key=lambda enough: large[enough].lower_bound(delta, miss))
