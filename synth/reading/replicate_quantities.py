"""Intervals for quantities from replicates: the published number, and how far replicates are off.

Each replicate is the release made once more, on noise drawn anew around its published counts. The
variance of any quantity is `factor` times the mean square of (its value in a replicate less its
published value). See docs/errors.md for what that promises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from synth.domain import Conjunction
from synth.domain.counts import inside
from synth.errors import QueryError
from synth.measurements.intervals import Ends, MarginalIntervals, inside_public_bounds
from synth.reading.measured_quantities import Known
from synth.reading.quantities import Comparison, Count, Mean, Quantity, columns, records, value
from synth.reading.release import Release

Floats = NDArray[np.float64]

MOST_CONDITIONS = 16
"""The counts of a query's wholes are held all at once, and each condition doubles them."""


class ReplicateQuantities:
    """The replicates of one release, ready to say what a quantity is."""

    def __init__(self, release: Release) -> None:
        """Read them. Raises: QueryError if there are none; VerificationError."""
        self._config = release.config
        self._table = release.weights.table
        self._factor = release.weights.factor
        self._rule = release.weights.rule

    def of(self, quantity: Quantity, *, level: float) -> Known:
        """The quantity, with an interval of about this level. Raises: QueryError."""
        values = value(quantity, self._counts)
        sd = float(self._sd(values))
        reason = self._rule.reason(
            self._table.reduced(columns(quantity)),
            values=values,
            records=records(quantity, self._counts),
            factor=self._factor,
        )
        if isinstance(quantity, Count):
            ends: tuple[float, float] = self._count_ends(quantity.query.where, level)
            return Known(float(values[0]), ends, sd, reason=reason)
        if not math.isfinite(sd):  # in some replicate there is nothing to divide by
            return Known(_finite(values[0]), (-math.inf, math.inf), reason=reason)
        width = self._reach(level) * sd
        least, most = _possible(quantity)
        ends = max(float(values[0]) - width, least), min(float(values[0]) + width, most)
        return Known(float(values[0]), ends, sd, reason=reason)

    def marginal(self, names: Sequence[str], *, level: float) -> MarginalIntervals:
        """What `of` says of the count of every cell of the table over some columns."""
        in_order, counts = self._marginal_counts(names)
        lows, highs = self._inside_wholes(counts, 1, level)
        found = MarginalIntervals(counts[0], self._sd(counts), lows, highs)
        return found.inside_public_bounds(in_order, self._config)

    def reasons(self, names: Sequence[str]) -> NDArray[np.object_]:
        """Why the interval of each cell of that table is not to be trusted; empty if it is."""
        _, counts = self._marginal_counts(names)
        found = np.full(counts.shape[1:], self._rule.of_columns(self._table.reduced(names)), object)
        for place in np.ndindex(found.shape):
            values = counts[:, *place]
            found[place] = found[place] or self._rule.of_values(values, values, self._factor)
        return found

    def _marginal_counts(self, names: Sequence[str]) -> tuple[list[str], Floats]:
        """Columns in universe order, and the counts of their table, with an axis for replicates."""
        universe = self._config.universe
        axes = [axis for axis, name in enumerate(universe.names) if name in names]
        shape = tuple(universe.shape[axis] for axis in axes)
        places = np.ravel_multi_index([self._table.codes[axis] for axis in axes], shape)
        counts = self._added_up(places, math.prod(shape)).reshape(-1, *shape)
        return [universe.names[axis] for axis in axes], counts

    def _inside_wholes(self, counts: Floats, axis: int, level: float) -> Ends:
        """The smallest ends of each cell and its wholes, axes from `axis` on left out or not."""
        if axis == counts.ndim:
            return self._own_ends(counts, level)
        kept = self._inside_wholes(counts, axis + 1, level)
        left_out = self._inside_wholes(counts.sum(axis=axis, keepdims=True), axis + 1, level)
        return np.minimum(kept[0], left_out[0]), np.minimum(kept[1], left_out[1])

    def _counts(self, where: Conjunction) -> Floats:
        chosen = inside(list(self._table.codes), self._config.universe, where)
        found: Floats = self._table.weights[:, chosen].sum(axis=1)
        return found

    def _count_ends(self, where: Conjunction, level: float) -> tuple[int, int]:
        """The smallest of the ends of a count and of all its wholes.

        Every row has a number whose bits say which conditions it meets. Rows are added up by that
        number, and then, bit by bit, those that meet a condition to those that do not: so each
        number ends up with all that meet its conditions, whatever they do to the others.
        """
        if len(where.codes) > MOST_CONDITIONS:
            raise QueryError(
                f"a query has {len(where.codes)} conditions, more than {MOST_CONDITIONS}",
                fix="leave some out",
            )
        met = np.zeros(self._table.codes.shape[1], dtype=np.int64)
        for bit, (name, codes) in enumerate(where.codes.items()):
            one = inside(list(self._table.codes), self._config.universe, Conjunction({name: codes}))
            met |= one.astype(np.int64) << bit
        conditions = len(where.codes)
        counts = self._added_up(met, 1 << conditions).reshape(-1, *(2,) * conditions)
        for axis in range(1, conditions + 1):
            without, having = (np.take(counts, side, axis) for side in (0, 1))
            counts = np.stack([without + having, having], axis)
        lows, highs = self._own_ends(counts, level)
        ends = int(lows.min()), int(highs.min())
        return inside_public_bounds(where, ends, self._config)

    def _added_up(self, places: NDArray[np.int64], number: int) -> Floats:
        """The counts of all rows of each place, a line per table."""
        found: Floats = np.zeros((len(self._table.weights), number))
        for line, weights in enumerate(self._table.weights):
            found[line] = np.bincount(places, weights, number)
        return found

    def _own_ends(self, counts: Floats, level: float) -> Ends:
        """Whole numbers within reach of the first of these counts, by all of them."""
        width = self._reach(level) * self._sd(counts)
        low, high = np.ceil(counts[0] - width), np.floor(counts[0] + width)
        return np.maximum(low, 0).astype(np.int64), high.astype(np.int64)

    def _sd(self, values: Floats) -> Floats:
        found: Floats = np.sqrt(self._factor * np.mean((values[1:] - values[0]) ** 2, axis=0))
        return found

    def _reach(self, level: float) -> float:
        """Student's quantile, with as many degrees of freedom as replicates: no mean is fitted."""
        return float(stdtrit(len(self._table.weights) - 1, (1 + level) / 2))


def _possible(quantity: Quantity) -> tuple[float, float]:
    """Between which numbers a quantity lies, whatever the table is."""
    if isinstance(quantity, Mean):
        return float(min(quantity.numbers)), float(max(quantity.numbers))
    if isinstance(quantity, Comparison):
        positive = quantity.operation == "ratio" and not isinstance(quantity.first, Mean)
        return 0.0 if positive else -math.inf, math.inf
    return 0.0, 1.0


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
