"""Round bounds and edges: few, of equal width, with one or two digits each."""

from __future__ import annotations

import math
from fractions import Fraction

MOST_BINS = 20
SINGLE_NUMBERS = 50
"""A range of at most so many whole numbers gets a bin for each."""


def round_width(span: Fraction, *, bins: int) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that covers the span in so many bins."""
    wanted = span / bins
    if wanted <= 0:
        return Fraction(1)
    power = Fraction(10) ** math.floor(math.log10(wanted))
    return next(step * power for step in (1, 2, 5, 10, 20) if step * power >= wanted)


def integer_bounds(low: int, high: int) -> tuple[int, int, int]:
    """Minimum, maximum and bin width: multiples of the width, that hold both numbers."""
    if high - low < SINGLE_NUMBERS:
        step = 1 if high - low < 10 else 5
        width = 1
    else:
        width = step = int(max(Fraction(1), round_width(Fraction(high - low), bins=MOST_BINS)))
    minimum = low // step * step
    if step == 1:
        return minimum, high, width
    return minimum, (high // step + 1) * step - 1, width


def number_edges(low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
    """Edges at multiples of one width, from at most `low` to at least `high`."""
    width = round_width(high - low, bins=MOST_BINS // 2)
    first = math.floor(low / width)
    last = max(math.ceil(high / width), first + 1)
    return tuple(width * number for number in range(first, last + 1))
