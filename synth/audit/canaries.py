"""Canaries: made-up units, each in cells of its own, there or not by a secret coin; and guesses.

Any rule of guessing may be used: privacy bounds them all. The first is the best one against sound
noise. The others would be poor ones, but see noise that is used twice: then the difference of two
noisy counts is the difference of the counts. A claim says which share of guesses may be right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from synth.config import PersonUnit, PrivacyConfig
from synth.noise import NoiseStream
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

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


NEAR = 0.95
"""What part of the claim the lower bound of a sound mechanism should reach."""
SPARE_DEVIATIONS = 2.5
"""And it should reach that so surely: 99.4 % of the audits."""
_STEPS = 60
_WIDE_SIGMA = 64.0
_SLACK = 1e-9
"""Far more than what floating point leaves open in a bound, relative to it."""


@dataclass(frozen=True)
class PureClaim:
    """At most `epsilon`, delta 0.

    Privacy: a guess of a fair coin from the output of an epsilon-DP mechanism that sees the coin
    as one unit is right with probability at most e^epsilon / (1 + e^epsilon), whatever the other
    coins are: so the right ones among r guesses are at most as many as Binomial(r, that)
    (Steinke, Nasr, Jagielski 2023, theorem 5.2).
    """

    epsilon: float
    symbol: str = "epsilon"

    @property
    def value(self) -> float:
        """The claimed parameter."""
        return self.epsilon

    @property
    def share_right(self) -> float:
        """e^epsilon / (1 + e^epsilon)."""
        return 1 / (1 + math.exp(-self.epsilon))

    def lower_bound(self, share: float) -> float:
        """The epsilon of which at least this share of right guesses tells; 0 for no more than 1/2.

        Formula: ln(share / (1 - share)).
        """
        if share <= 0.5:
            return 0.0
        return math.log(share / (1 - share)) if share < 1 else math.inf

    def needed_guesses(self, deviations: float) -> int:
        """So many guesses bring the lower bound to NEAR of the claim.

        By the normal approximation: a share p of r guesses is known to sqrt(p (1-p) / r), and
        epsilon to 1 / sqrt(p (1-p) r).
        """
        p = self.share_right
        total = (deviations + SPARE_DEVIATIONS) / ((1 - NEAR) * self.epsilon)
        return math.ceil(min(1e15, total**2 / max(p * (1 - p), 1e-300)))


@dataclass(frozen=True)
class GaussianClaim:
    """Noise of at least the claimed discrete Gaussian law, by its own trade-off.

    Privacy: a fair coin that decides between two outputs of total variation distance T is guessed
    with probability at most (1 + T) / 2. T is that of the two laws of the cells of one canary. It
    grows with rho, so a share of right guesses gives a lower bound of rho.
    """

    rho: float
    sensitivity_l2_squared: int
    canaries: Canaries
    symbol: str = "rho"

    @property
    def value(self) -> float:
        """The claimed parameter."""
        return self.rho

    @property
    def share_right(self) -> float:
        """(1 + T) / 2 at the claimed rho."""
        return self.share_at(self.rho)

    def share_at(self, rho: float) -> float:
        """(1 + T) / 2 for any rho.

        T = P(-r/2 < X <= r/2) for r records in one cell or none, and P(-r < X - Y <= r) for r
        records in one of two cells.
        """
        sigma_squared = self.sensitivity_l2_squared / (2 * rho)
        records = self.canaries.records
        if self.canaries.replaced:
            masses = difference_masses(sigma_squared, np.arange(1 - records, records + 1))
        else:
            inside = np.arange(-records // 2 + 1, records // 2 + 1)
            masses = discrete_gaussian_masses(sigma_squared, inside)
        return 0.5 + 0.5 * min(1.0, float(masses.sum()))

    def lower_bound(self, share: float) -> float:
        """The smallest rho, to nine digits, that allows this share of right guesses.

        Rounding: down.
        """
        low, high = 0.0, self.rho
        while self.share_at(high) < share and high < self.rho * 2**20:
            low, high = high, 2 * high
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if self.share_at(middle) < share:
                low = middle
            else:
                high = middle
        return low * (1 - _SLACK)

    def needed_guesses(self, deviations: float) -> int:
        """So many guesses bring the lower bound to NEAR^2 of rho: epsilon goes with its root."""
        share = self.share_right
        gap = share - self.share_at(NEAR**2 * self.rho)
        spread = math.sqrt(max(share * (1 - share), 1e-300))
        total = (deviations + SPARE_DEVIATIONS) * spread / max(gap, 1e-9)
        return math.ceil(min(1e15, total**2))


Claim = PureClaim | GaussianClaim


def claim_of(event: TableEvent, canaries: Canaries) -> Claim:
    """What the event of one table claims."""
    if event.mechanism == GAUSSIAN and event.rho and event.sensitivity_l2_squared:
        return GaussianClaim(float(event.rho), event.sensitivity_l2_squared, canaries)
    if event.epsilon is None:
        raise ValueError(f"no audit is known for mechanism {event.mechanism!r}")
    return PureClaim(float(event.epsilon))


def guess(claim: Claim, canaries: Canaries, outputs: list[NDArray[np.int64]], bits: Bits) -> Tally:
    """Guess every coin that its own noisy counts tell of, as well as can be against the claim."""
    if isinstance(claim, PureClaim):
        enough = canaries.records * canaries.cells_each
        return tally(laplace_evidence(canaries, outputs), bits, enough=enough)
    return tally(gaussian_evidence(canaries, outputs), bits, enough=None)


def discrete_gaussian_masses(
    sigma_squared: float, values: NDArray[np.int64]
) -> NDArray[np.float64]:
    """P(X = k) = exp(-k^2 / (2 sigma^2)) / (the sum of that over all whole k).

    From sigma 64 on the sum is sigma sqrt(2 pi), to many more digits than a float has.
    """
    sigma = math.sqrt(sigma_squared)
    if sigma < _WIDE_SIGMA:
        reach = math.ceil(40 * sigma) + 2
        support = np.arange(-reach, reach + 1, dtype=np.float64)
        total = float(np.exp(-(support**2) / (2 * sigma_squared)).sum())
    else:
        total = sigma * math.sqrt(2 * math.pi)
    return np.exp(-(values.astype(np.float64) ** 2) / (2 * sigma_squared)) / total


def difference_masses(sigma_squared: float, values: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(X - Y = k) for independent X and Y of the same discrete Gaussian law.

    From sigma 64 on it is the law of twice sigma^2, to many more digits than a float has.
    """
    sigma = math.sqrt(sigma_squared)
    if sigma >= _WIDE_SIGMA:
        return discrete_gaussian_masses(2 * sigma_squared, values)
    reach = math.ceil(40 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    masses = discrete_gaussian_masses(sigma_squared, support)
    return np.array(
        [
            float((masses * discrete_gaussian_masses(sigma_squared, support - value)).sum())
            for value in values.tolist()
        ]
    )


def at_least(successes: int, trials: int, miss: float) -> float:
    """A bound that is above the true probability with probability at most `miss`.

    Formula: the p for which P(Binomial(trials, p) >= successes) = miss; 0 without successes. It
    also holds for trials that depend on each other, as long as each succeeds with at most the
    true probability whatever the others gave.
    Rounding: down.
    """
    if not successes:
        return 0.0
    return float(beta.ppf(miss, successes, trials - successes + 1)) * (1 - _SLACK)


def at_most(successes: int, trials: int, miss: float) -> float:
    """A bound that is below the true probability with probability at most `miss`.

    Formula: the p for which P(Binomial(trials, p) <= successes) = miss; 1 if all succeeded.
    Rounding: up.
    """
    if successes == trials:
        return 1.0
    return min(1.0, float(beta.isf(miss, successes + 1, trials - successes)) * (1 + _SLACK))
