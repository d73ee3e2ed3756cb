"""What the sampler asks of a distribution: bounds of its cumulative probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class IntegerLaw(Protocol):
    """A law of a whole number X whose cumulative probabilities can be bounded closely."""

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits * P(X <= value) <= high.

        Ensures: high - low is at most 4, whatever `bits`.
        Rounding: low down, high up.
        """
        ...


@dataclass(frozen=True)
class Part:
    """One independent summand `step * X` of a noise, X following `law`."""

    step: int
    law: IntegerLaw


class Distribution(Protocol):
    """A law of noise as a sum of independent parts, each narrow enough for one table."""

    def parts(self) -> Sequence[Part]:
        """The summands; a narrow law has one, with step 1."""
        ...
