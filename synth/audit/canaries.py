"""Canaries: made-up units, each in cells of its own, there or not by a secret coin; and guesses.

Any rule of guessing may be used: privacy bounds them all. The first is the best one against sound
noise. The others would be poor ones, but see noise that is used twice: then the difference of two
noisy counts is the difference of the counts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.config import PersonUnit, PrivacyConfig
from synth.noise import NoiseStream

Bits = NDArray[np.bool_]
Randomness = Callable[[int], bytes]
"""So many random bytes."""
Streams = Callable[[], NoiseStream]
"""A new noise stream at every call."""

OWN_COUNT = "its own noisy count"
NEXT_CELL = "the difference from the next cell"
OTHER_TABLE = "the difference from another table"
OTHER_RUN = "the difference from another run"
RULES = (OWN_COUNT, NEXT_CELL, OTHER_TABLE, OTHER_RUN)


@dataclass(frozen=True)
class Canaries:
    """How a unit that makes the largest difference shows in a table of counts.

    All its records are in one cell, because that changes the table most. Under `add-remove` the
    coin says whether it is there: one cell for each canary. Under `replace-one` the coin says
    which of two cells it is in.
    """

    records: int
    replaced: bool

    @classmethod
    def of(cls, privacy: PrivacyConfig) -> Canaries:
        """The canaries of a configured unit and neighbouring relation."""
        unit = privacy.unit
        records = unit.max_records if isinstance(unit, PersonUnit) else 1
        return cls(records, privacy.neighbours == "replace-one")

    @property
    def cells_each(self) -> int:
        """How many cells one canary takes."""
        return 2 if self.replaced else 1

    def counts(self, bits: Bits, cells: int, background: int = 0) -> NDArray[np.int64]:
        """A table of counts with these canaries in its first cells, and nothing else.

        Shapes and units: int64, records; canary j has the cells from j * `cells_each` on.
        """
        counts = np.full(cells, background, dtype=np.int64)
        step = self.cells_each
        counts[: step * len(bits) : step] += self.records * bits
        if self.replaced:
            counts[1 : step * len(bits) : step] += self.records * ~bits
        return counts

    def split(self, noisy: NDArray[np.int64], canaries: int) -> list[NDArray[np.int64]]:
        """The noisy counts of the canaries: one array, or one for each of the two cells."""
        step = self.cells_each
        return [noisy[place : step * canaries : step] for place in range(step)]


@dataclass(frozen=True)
class Trials:
    """What all sampled audits go by."""

    canaries: Canaries
    miss: float
    """The probability with which each bound may be wrong."""
    streams: Streams
    randomness: Randomness

    def coins(self, count: int) -> Bits:
        """As many fair coins."""
        return coins(count, self.randomness)

    def stream(self) -> AbstractContextManager[NoiseStream]:
        """A new noise stream, closed in the end."""
        return closing(self.streams())


def coins(count: int, randomness: Randomness) -> Bits:
    """As many fair coins."""
    octets = np.frombuffer(randomness(-(-count // 8)), dtype=np.uint8)
    return np.unpackbits(octets, count=count).astype(bool)


@dataclass(frozen=True)
class Tally:
    """How many guesses were made, and how many were right."""

    right: int = 0
    made: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.right + other.right, self.made + other.made)


def tally(evidence: NDArray[np.int64], bits: Bits, *, enough: int | None) -> Tally:
    """Guess heads where the evidence is at least `enough`, tails where it is at most -enough.

    With None every coin is guessed, by the sign of the evidence; where that is 0, by whether the
    number of the canary is even, which is as good as any other guess.
    """
    if enough is None:
        even = np.arange(len(bits)) % 2 == 0
        heads = (evidence > 0) | ((evidence == 0) & even)
        return Tally(int(np.count_nonzero(heads == bits)), len(bits))
    heads, tails = evidence >= enough, evidence <= -enough
    right = np.count_nonzero(heads & bits) + np.count_nonzero(tails & ~bits)
    return Tally(int(right), int(np.count_nonzero(heads) + np.count_nonzero(tails)))


def laplace_evidence(canaries: Canaries, outputs: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """|o| - |o - r| for every canary of r records, less the same of its second cell.

    Times ln(1/alpha) this is the logarithm of the likelihood ratio of the coin. It is largest, r
    times `cells_each`, where the loss is that of the claim.
    """
    records = canaries.records
    parts = [np.clip(2 * output - records, -records, records) for output in outputs]
    return parts[0] - parts[1] if canaries.replaced else parts[0]


def gaussian_evidence(canaries: Canaries, outputs: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """2o - r for a canary of r records, or the difference of its two cells.

    Times r / (2 sigma^2), or r / sigma^2 for two cells, this is the logarithm of the likelihood
    ratio of the coin.
    """
    if canaries.replaced:
        return outputs[0] - outputs[1]
    return 2 * outputs[0] - canaries.records
