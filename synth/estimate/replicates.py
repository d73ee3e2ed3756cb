"""Replicates: the pipeline once more, on noise drawn anew around the published counts.

The published counts are taken for the true ones. Every measured table is measured again, with noise
of its published law from a public seed; estimate and rounding follow as in the release. By how
much the counts of such replicates differ from the published ones tells how far these are from the
true ones: the noise is of the same law, and what the fit gets wrong of a table it gets wrong again.

Each replicate of a small universe is estimated from nothing. Any other starts from where the fit of
the release ended and keeps what that learnt of the spreads of its interactions; where rows were
drawn, the published ones are weighted anew. That is quick, and leaves out a part of what other
noise would have changed. The published table also resembles what the estimator expects more than
the true one does. So replicates differ less from it
than it does from the truth, and their squares are enlarged by one factor, a product of two ratios:

**Afresh.** Of the first of these the estimate is also made from nothing. The first ratio is that
of |p_r - p|^2 from nothing and from the end of the release, p the published counts of a measured
table and p_r those of the replicate. Only what contrasts at most three columns counts (in an
orthonormal basis of each table), added up over the tables in units of their noise: that is what
statistics are made of.

**What the noisy tables show.** With x the true and y the noisy counts, noise z of variance v in
each of k such coefficients, and z_r that of a replicate from nothing,

    E |p - x|^2 = E |y - p|^2 - k v + 2 E <p - x, z>

(Stein 1981). The first term is seen; the mean of <p_r - p, z_r> stands for the last one, and that
of |p_r - p|^2 is what replicates say of the left side: the second ratio. Where tables are nearly
all noise it is not known well, so it is drawn towards `USUAL`, as far as its standard error says.

The factor is never below 1. Variance of a statistic: the factor times the mean of
(theta_r - theta)^2, theta from the published counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts, cell_order, cell_words, find_cells, is_possible
from synth.estimate.any_size import Estimate
from synth.estimate.axis_basis import contrasts
from synth.estimate.blocks.cells import default_threads
from synth.estimate.noise_again import draw_noise
from synth.estimate.sums import LEAST_VARIANCE
from synth.estimate.whole.estimate import WholeEstimate
from synth.estimate.whole.model import MODEST_SIZE
from synth.measurements import MeasuredLook, MeasuredTable, Measurements

Ints = NDArray[np.int64]
Columns = tuple[NDArray[Any], ...]
_Held = tuple[Columns, NDArray[Any]]
"""A replicate: cells, which many of them share, and the count of each in few bytes."""
Floats = NDArray[np.float64]

USUAL, KNOWN_TO = 1.8, 0.5
"""What the second ratio is before anything is seen, and its standard deviation then; from tables
whose truth is known (docs/benchmarks.md)."""
QUICK_CELLS = 10_000
"""Up to so many cells, all of them held, every replicate is estimated from nothing. How much a fit
smooths depends on the noise, too; one that starts from another smooths as that did."""
CELLS_AFRESH = 120_000
"""So many cells of the universe are estimated from nothing, or all of them once."""
LOW_ORDER = 3
"""Coefficients that contrast so many columns at most tell the factor."""
STEPS_OF_FACTOR = 100
"""It is a whole number of hundredths, so that no last digit is to matter."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """The published cells and those that a replicate fills, with the counts of all.

    Shapes and units: `columns` as those of `Counts`, cells ascending, each once; `published` int64
    and `counts`, one array per replicate of some type that holds whole numbers >= 0, have a number
    of records for every cell. `factor` multiplies the mean square of differences.
    """

    columns: tuple[NDArray[Any], ...]
    published: Ints
    counts: tuple[NDArray[Any], ...]
    factor: float


def replicates_of(
    fitted: Estimate,
    published: Counts,
    measurements: Measurements,
    config: Config,
    *,
    seeds: Sequence[int],
) -> Replicates:
    """A replicate for every seed.

    Privacy: post-processing; seeds are public.
    Ensures: impossible cells are empty and required totals hold in each. Deterministic, whatever
    the number of threads.
    """
    redrawing = _Redrawing(fitted, published, measurements, config.universe)
    shape = config.universe.shape
    columns, held = published.columns, list[_Held]()
    is_quick = isinstance(fitted, WholeEstimate) and config.universe.size <= QUICK_CELLS
    made = redrawing.afresh if is_quick else redrawing.again

    def replicate(seed: int) -> _Held:
        counts = made(seed)
        cells = _joined(published.columns, counts.columns, shape)
        return cells, _narrow(counts.at(cells, shape))

    first = seeds[: max(1, CELLS_AFRESH // config.universe.size)]
    threads = default_threads() if redrawing.is_single_threaded else 1
    with ThreadPoolExecutor(threads) as pool:
        for cells, counts in pool.map(replicate, seeds):
            columns = _joined(columns, cells, shape)
            held.append((cells, counts))
            progress.advance(len(held), len(seeds), "replicates")
        found = [Counts(cells, counts.astype(np.int64)) for cells, counts in held[: len(first)]]
        afresh = found if is_quick else pool.map(redrawing.afresh, first)
        seen = [
            [redrawing.seen(*each) for each in zip(counts, first, strict=True)]
            for counts in (found, afresh)
        ]
    return Replicates(
        columns,
        published.at(columns, shape),
        tuple(
            counts if cells is columns else _narrow(Counts(cells, counts).at(columns, shape))
            for cells, counts in held
        ),
        redrawing.factor(*seen),
    )


def _narrow(counts: Ints) -> NDArray[Any]:
    """The same numbers in the least unsigned type."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _joined(columns: Columns, more: Columns, shape: Sequence[int]) -> Columns:
    """Cells and those that are new among some more, ascending, each once; the same if none is."""
    new = find_cells(cell_words(columns, shape), cell_words(more, shape)) < 0
    if not new.any():
        return columns
    joined = [
        np.concatenate([known, own[new].astype(known.dtype)])
        for known, own in zip(columns, more, strict=True)
    ]
    order = cell_order(cell_words(joined, shape))
    return tuple(column[order] for column in joined)


@dataclass(frozen=True)
class _Seen:
    """Of one replicate, over low orders, in units of noise: |p_r - p|^2 and <p_r - p, z_r>."""

    square: float
    product: float


class _Redrawing:
    """Measures the published counts again and again."""

    def __init__(
        self, fitted: Estimate, published: Counts, measurements: Measurements, universe: Universe
    ) -> None:
        self._fitted, self._published = fitted, published
        self._measurements, self._universe = measurements, universe
        self._sums = [self._sums_of(published, table) for table in measurements.tables]

    @property
    def is_single_threaded(self) -> bool:
        """Whether an estimate leaves the other processors idle, and memory for another one."""
        fitted = self._fitted
        return (
            isinstance(fitted, WholeEstimate)
            and fitted.values.size <= MODEST_SIZE
            and (fitted.end is None or fitted.end.classes is None)
        )

    def again(self, seed: int) -> Counts:
        """A replicate whose estimate starts from that of the release."""
        return self._fitted.again(self._measured(seed), self._published).round(seed)

    def afresh(self, seed: int) -> Counts:
        """A replicate whose estimate is made from nothing."""
        return self._fitted.afresh(self._measured(seed), seed).round(seed)

    def _measured(self, seed: int) -> Measurements:
        # far along the stream of the seed, whose first numbers round the counts, and whose numbers
        # after a further jump do, too (`balanced`)
        generator = np.random.Generator(np.random.Philox(seed).jumped())
        pairs = zip(self._measurements.tables, self._sums, strict=True)
        tables = tuple(self._again(generator, table, sums) for table, sums in pairs)
        look = self._measurements.look
        if look is not None:
            look = self._looked_again(generator, look)
        return replace(self._measurements, tables=tables, look=look)

    def _looked_again(self, generator: np.random.Generator, look: MeasuredLook) -> MeasuredLook:
        """A look with new noise; of its classes an estimate takes no more than their sum."""
        classes = len(look.event.firsts)
        counts = draw_noise(generator, look.event.as_table, classes)
        counts[0] += self._published.total
        return replace(look, noisy_counts=(*counts.tolist(), *look.noisy_counts[classes:]))

    def _sums_of(self, counts: Counts, table: MeasuredTable) -> Ints | None:
        if table.event.threshold is not None:
            return None
        return counts.sums(self._universe, Margin(table.event.table, table.event.coarsening))

    def _again(
        self, generator: np.random.Generator, table: MeasuredTable, sums: Ints | None
    ) -> MeasuredTable:
        """A table with new noise; a list holds what of the published cells reaches the threshold.

        Empty cells that noise would list are left out: hardly any is taken for real.
        """
        event, published = table.event, self._published
        if sums is not None:
            return replace(table, noisy_counts=sums + draw_noise(generator, event, sums.size))
        noisy = published.values + draw_noise(generator, event, published.values.size)
        listed = (noisy >= (event.threshold or 0)) & is_possible(published.columns, self._universe)
        codes = np.stack([column[listed] for column in published.columns], axis=1)
        return replace(table, noisy_counts=noisy[listed], codes=codes.astype(np.int64))

    def seen(self, counts: Counts, seed: int) -> _Seen:
        """How a replicate differs from what was published."""
        square = product = 0.0
        for table, sums in zip(self._measured(seed).tables, self._sums, strict=True):
            own = self._sums_of(counts, table)
            if sums is not None and own is not None:
                apart, noise = (
                    self._low(own - sums, table),
                    self._low(table.noisy_counts - sums, table),
                )
                precision = 1.0 / max(table.variance, LEAST_VARIANCE)
                square += precision * float((apart * apart).sum())
                product += precision * float((apart * noise).sum())
        return _Seen(square, product)

    def _low(self, cells: Ints, table: MeasuredTable) -> Floats:
        """The coefficients of a measured table that contrast few columns."""
        margin = Margin(table.event.table, table.event.coarsening)
        shape = (1, *margin.shape(self._universe))
        found = cells.astype(np.float64).reshape(shape)
        order = np.zeros(shape, dtype=np.int8)
        for axis, size in enumerate(shape[1:], start=1):
            found = contrasts(found, axis)
            along = [-1 if i == axis else 1 for i in range(len(shape))]
            order += (np.arange(size) > 0).reshape(along)
        return np.asarray(found[order <= LOW_ORDER])

    def factor(self, seen: Sequence[_Seen], afresh: Sequence[_Seen]) -> float:
        """By how much the squares of differences are to be enlarged.

        `seen` and `afresh` are of the same replicates.
        """
        tables = zip(self._measurements.tables, self._sums, strict=True)
        known = [(table, sums) for table, sums in tables if sums is not None]
        again = sum(each.square for each in seen) / len(seen)
        simulated = sum(each.square for each in afresh) / len(afresh)
        shown = 2.0 * sum(each.product for each in afresh) / len(afresh)
        coefficients = 0
        for table, sums in known:
            apart = self._low(table.noisy_counts - sums, table)
            shown += float((apart * apart).sum()) / max(table.variance, LEAST_VARIANCE) - apart.size
            coefficients += apart.size
        # the ratio's standard error, as `shown` varies like a chi-square variable of k degrees
        precision = KNOWN_TO**2 * simulated**2 / (2.0 * max(1, coefficients))
        second = (precision * shown / max(simulated, 1e-9) + USUAL) / (precision + 1.0)
        first = simulated / again if again > 0.0 else 1.0
        factor = max(1.0, first * second)
        return round(STEPS_OF_FACTOR * factor) / STEPS_OF_FACTOR
