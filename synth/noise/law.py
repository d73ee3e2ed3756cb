"""What the sampler asks of a distribution, and the search for a whole number where one turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def first_above(floor: int, holds: Callable[[int], bool]) -> int:
    """The smallest whole number above `floor` for which something holds.

    Requires: what holds for a number holds for all larger ones, and for some.
    """
    too_small, step = floor, 1
    while not holds(floor + step):
        too_small, step = floor + step, 2 * step
    enough = floor + step
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        if holds(middle):
            enough = middle
        else:
            too_small = middle
    return enough
