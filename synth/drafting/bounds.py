"""Bounds and edges that a draft proposes: round numbers, as public tables have them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

MOST_BINS = 20
SINGLE_NUMBERS = 50
"""A range of at most so many whole numbers gets a bin for each."""

LARGEST_SHARE = 0.5
LARGEST_SHARE_OF_TWO = 0.85
"""Equal bins are left for others where one, or two, of them would hold more of the records."""


def round_width(span: Fraction, *, bins: int) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that covers the span in so many bins."""
    wanted = span / bins
    return Fraction(1) if wanted <= 0 else round_up(wanted)


def round_up(number: Fraction) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that is at least a positive number."""
    power = Fraction(10) ** math.floor(math.log10(number))
    return next(step * power for step in (1, 2, 5, 10, 20) if step * power >= number)


def round_down(number: Fraction) -> Fraction:
    """The largest of 1, 2 and 5 times a power of ten that is at most a positive number."""
    power = Fraction(10) ** math.ceil(math.log10(number))
    fractions = (1, Fraction(1, 2), Fraction(1, 5), Fraction(1, 10), Fraction(1, 20))
    return next(power * part for part in fractions if power * part <= number)


def nearest_round(number: int) -> int:
    """The nearest of 1, 2 and 5 times a power of ten, by ratio."""
    low, high = round_down(Fraction(number)), round_up(Fraction(number))
    return int(low if number / low <= high / number else high)


def integer_bounds(low: int, high: int) -> tuple[int, int, int]:
    """Minimum, maximum and bin width: multiples of the width, that hold both numbers.

    A largest number that is round, such as 100, is the maximum itself.
    """
    if high - low < SINGLE_NUMBERS:
        step = 1 if high - low < 10 else 5
        width = 1
    else:
        width = step = int(max(Fraction(1), round_width(Fraction(high - low), bins=MOST_BINS)))
    minimum = low // step * step
    if step == 1 or (high > 0 and high % step == 0 and nearest_round(high) == high):
        return minimum, high, width
    return minimum, (high // step + 1) * step - 1, width


def number_edges(low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
    """Edges at multiples of one width, from at most `low` to at least `high`."""
    width = round_width(high - low, bins=MOST_BINS // 2)
    first = math.floor(low / width)
    last = max(math.ceil(high / width), first + 1)
    return tuple(width * number for number in range(first, last + 1))


def are_crowded(edges: Sequence[Fraction], quantiles: Sequence[Fraction]) -> bool:
    """Whether one or two bins would hold nearly all records; values beyond count in the last."""
    if not quantiles:
        return False
    bins = [0] * (len(edges) - 1)
    for number in quantiles:
        bins[min(max(bisect.bisect_right(edges, number) - 1, 0), len(bins) - 1)] += 1
    *_, second, first = sorted([0, *bins])
    share, of_two = first / len(quantiles), (first + second) / len(quantiles)
    return share > LARGEST_SHARE or of_two > LARGEST_SHARE_OF_TWO


def ladder(
    low: Fraction, high: Fraction, quantiles: Sequence[Fraction], *, least: Fraction | None = None
) -> tuple[Fraction, ...]:
    """Edges at 1, 2 and 5 times powers of ten, for numbers of which most are small.

    Zero has a bin of its own, up to where nearly all other values begin; far above nearly all
    values only powers of ten are edges. `least` is the smallest edge above zero.

    Ensures: edges increase strictly, and hold `low` and `high`.
    """
    above = _rungs([each for each in quantiles if each > 0], high, least)
    below = _rungs([-each for each in reversed(quantiles) if each < 0], -low, least)
    edges = [-edge for edge in reversed(below)]
    if below or not above or low < above[0]:
        edges.append(Fraction(0))
    edges += above
    return tuple(edges) if len(edges) > 1 else number_edges(low, high)


def _rungs(quantiles: Sequence[Fraction], high: Fraction, least: Fraction | None) -> list[Fraction]:
    """Positive edges from where nearly all of these numbers begin to at least `high`."""
    if high <= 0:
        return []
    start = round_down(quantiles[len(quantiles) // 20] if quantiles else high)
    start = start if least is None else max(start, least)
    end = max(round_up(high), start)
    common = quantiles[-1 - len(quantiles) // 20] if quantiles else high
    rungs = [edge for edge in _steps(start, end) if edge < common * 5 or _is_power(edge)]
    if len(rungs) > MOST_BINS:
        rungs = [edge for edge in rungs if edge == start or _is_power(edge)]
    return rungs if rungs[-1] >= end else [*rungs, end]


def _steps(start: Fraction, end: Fraction) -> Iterator[Fraction]:
    edge = start
    while edge <= end:
        yield edge
        edge = round_up(edge * Fraction(3, 2))


def _is_power(edge: Fraction) -> bool:
    return str(edge.numerator).strip("0") == "1" and str(edge.denominator).strip("0") == "1"


def equal_edges(minimum: int, maximum: int, width: int) -> tuple[Fraction, ...]:
    """The edges of equal bins of whole numbers, the last one included."""
    return (*map(Fraction, range(minimum, maximum + 1, width)), Fraction(maximum))
