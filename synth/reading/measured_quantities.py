"""Intervals for quantities from noisy tables, each at its level whatever the data are.

A quantity of two quantities gets an interval of each, and takes the extremes over both: the two
share what the interval may miss (a union bound, Bonferroni), so it never holds less often. How
they share it depends on the quantity alone, never on counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth.domain import Conjunction, Universe
from synth.measurements.intervals import Interval, Intervals, contains
from synth.measurements.measured_counts import MeasuredCount
from synth.reading.quantities import Comparison, Count, Mean, Operation, Quantity, Share

PART_SHARE = 0.75
"""Of what the interval of a share or mean may miss, what its numerator gets; it is less exact."""

MOST_STEPS = 1024
"""Numbers that stand for bins are weights on a grid of so many steps at most."""

Range = tuple[float, float]
Sum = tuple[MeasuredCount, Interval]


@dataclass(frozen=True)
class Known:
    """An estimate and an interval.

    `estimate` is None where noise leaves nothing to divide by; an end is infinite where nothing
    bounds it. `sd` is known for counts alone. `anywhere` is the interval that holds wherever in
    their bins the values lie; None where no values in bins matter. `reason` says why the interval
    is not to be trusted; empty if it is.
    """

    estimate: float | None
    ends: Range
    sd: float | None = None
    anywhere: Range | None = None
    reason: str = ""


class MeasuredQuantities:
    """The noisy tables of one release, ready to say what a quantity is."""

    def __init__(self, intervals: Intervals, universe: Universe) -> None:
        """Nothing is summed before it is asked for."""
        self._intervals = intervals
        self._universe = universe

    def of(self, quantity: Quantity, *, level: float) -> Known | None:
        """The quantity at this level; None if the tables do not answer all that it needs."""
        match quantity:
            case Count():
                return self._count(quantity.query.where, level)
            case Share():
                return self._share(quantity, level)
            case Mean():
                return self._mean(quantity, level)
            case Comparison():
                return self._compared(quantity, level)

    def _count(self, where: Conjunction, level: float) -> Known | None:
        found = self._intervals.measured(where, level=level)
        if found is None:
            return None
        counted, ends = found
        return Known(counted.estimate, ends, counted.sd)

    def _share(self, share: Share, level: float) -> Known | None:
        part = self._count(share.part, _level_of(PART_SHARE, level))
        whole = self._count(share.whole, _level_of(1 - PART_SHARE, level))
        if part is None or whole is None:
            return None
        low, high = _quotients(part.ends, whole.ends)
        positive = whole.estimate is not None and whole.estimate > 0
        estimate = _divided(part.estimate, whole.estimate) if positive else None
        return Known(estimate, (low, min(high, 1.0)))

    def _mean(self, mean: Mean, level: float) -> Known | None:
        """A number c in the middle, and the mean of what values are above it.

        The sum of (value - c) over the records is a weighted sum over the bins of one table, with
        noise of a law that is known exactly; it is divided by the number of records. Weights are
        rounded away from the other end where the numbers lie on no grid.
        """
        records = self._count(mean.known, _level_of(1 - PART_SHARE, level))
        bounds = [mean.attribute.value_bounds(code) for code in mean.codes]
        lows, highs = ([each[end] for each in bounds] for end in (0, 1))
        middles = mean.numbers
        origin, step = grid([*lows, *middles, *highs])

        def summed(values: Sequence[Fraction], rounded: Callable[[Fraction], int]) -> Sum | None:
            weights = [rounded((value - origin) / step) for value in values]
            return self._intervals.weighted_sum(
                mean.within,
                mean.attribute.name,
                dict(zip(mean.codes, weights, strict=True)),
                level=_level_of(PART_SHARE, level),
            )

        centre = summed(middles, round)
        if records is None or centre is None:
            return None

        def end(values: Sequence[Fraction], place: int) -> float:
            """The lower (0) or upper (1) end."""
            sums = summed(values, math.ceil if place else math.floor) or centre
            found = _quotients(sums[1], records.ends)[place]
            shown = float(origin) + float(step) * found
            return min(max(shown, float(min(values))), float(max(values)))

        above = _divided(centre[0].estimate, records.estimate)
        estimate = None if above is None else float(origin) + float(step) * above
        ends, anywhere = (end(middles, 0), end(middles, 1)), (end(lows, 0), end(highs, 1))
        return Known(estimate, ends, anywhere=anywhere)

    def _compared(self, comparison: Comparison, level: float) -> Known | None:
        operation = comparison.operation
        first, second = (
            self.of(each, level=_level_of(0.5, level))
            for each in (comparison.first, comparison.second)
        )
        if first is None or second is None:
            return None
        if operation == "ratio":
            estimate = _divided(first.estimate, second.estimate)
        elif first.estimate is None or second.estimate is None:
            estimate = None
        else:
            estimate = first.estimate - second.estimate
        low, high = compared(operation, first.ends, second.ends)
        least, most = self._possible(comparison)
        anywhere = None
        if first.anywhere is not None and second.anywhere is not None:
            anywhere = compared(operation, first.anywhere, second.anywhere)
        return Known(estimate, (max(low, least), min(high, most)), anywhere=anywhere)

    def _possible(self, comparison: Comparison) -> Range:
        """What is possible where the one count is part of the other."""
        first, second = comparison.first, comparison.second
        equal = 1.0 if comparison.operation == "ratio" else 0.0
        least, most = -math.inf, math.inf
        if isinstance(first, Count) and isinstance(second, Count):
            one, other = first.query.where, second.query.where
            least = equal if contains(one, other, self._universe) else least
            most = equal if contains(other, one, self._universe) else most
        return least, most


def compared(operation: Operation, first: Range, second: Range) -> Range:
    """All that the difference or the ratio of a number of each range can be."""
    if operation == "ratio":
        return _quotients(first, second)
    return first[0] - second[1], first[1] - second[0]


def grid(values: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """A point in the middle of some numbers, and a step: multiples of it from there on are a grid.

    The numbers lie on it, unless that takes more than `MOST_STEPS` steps: then it has as many.
    """
    least, most = min(values), max(values)
    if least == most:
        return least, Fraction(1)
    parts = math.lcm(*(value.denominator for value in values))
    step = Fraction(math.gcd(*(int((value - least) * parts) for value in values)), parts)
    step = max(step, (most - least) / MOST_STEPS)
    return least + step * ((most - least) / step // 2), step


def _level_of(share: float, level: float) -> float:
    """The level of an interval that gets this part of what may be missed."""
    return 1 - share * (1 - level)


def _divided(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _quotients(one: Range, other: Range) -> Range:
    """All that a number of one range over one of the other can be; infinite where it may be all."""
    low, least, most = one[0], *other
    if least <= 0 <= most:
        if least < 0 or low < 0:
            return -math.inf, math.inf
        return (low / most if most else 0.0), math.inf
    found = [a / b for a in one for b in other]
    return min(found), max(found)
