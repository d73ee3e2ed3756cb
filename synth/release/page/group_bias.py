"""Whether small groups come out too large or too small: the signed error by size of the group.

A group is a cell of a table of one or two columns; its size is its published count. Noisy counts
are unbiased, so published less noisy counts, a mean over many groups, is the mean error of these
groups but for the noise that is left in it, which is told beside it. No raw data are needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.release.manifest.figures import Residuals, least_noisy_tables

MOST_COLUMNS = 30
"""Groups are looked at in tables of the first so many columns."""

MOST_VISITS = 5 * 10**7
"""Cells looked at for all tables; where it would be more, fewer columns are taken."""

MOST_TABLE_CELLS = 1 << 24
"""A noisy table of more cells is not asked: sums of so many noises tell nothing of a group."""

CLASSES = 7
"""By powers of ten: empty, 1 to 9, 10 to 99 ... the last has no upper end."""

BLUR = 3
"""Standard deviations of a mean error that are told with it: seven classes hardly ever all lie."""


@dataclass(frozen=True)
class GroupBias:
    """The groups of one class of size; `most` is None in the last class.

    Shapes and units: `mean_size`, `error` and `blur` in records; `error` is the mean of published
    less true counts as the noisy tables tell it, `blur` three standard deviations of it.
    """

    least: int
    most: int | None
    groups: int
    mean_size: float
    error: float
    blur: float

    @property
    def is_clear(self) -> bool:
        """Whether it is larger than what blurs it."""
        return abs(self.error) > self.blur


def group_biases(
    config: Config, measurements: Measurements, counts: Counts
) -> tuple[GroupBias, ...]:
    """The mean signed error of the groups of every class of size; empty classes are left out.

    Looked at are the tables that noisy tables answer by addition. A table of two columns is taken
    apart into its sum, what its columns say alone and the rest: each part comes from the noisy
    table that knows it best, and the parts of one table err independently.
    Privacy: post-processing of the noisy measurements and the published counts.
    Ensures: errors are exact quotients, so digits are the same on every machine.
    """
    found = _Errors(config, measurements, counts)
    groups, sizes, errors = [0] * CLASSES, [0] * CLASSES, [Fraction(0)] * CLASSES
    noise = _Noise(found)
    for query in found.queries:
        published = counts.sums(config.universe, Margin(query, (0,) * len(query)))
        table = _Table(query, size_classes(published), found.residuals[query].shape)
        for each in np.flatnonzero(table.cells).tolist():
            groups[each] += int(table.cells[each])
            sizes[each] += int(published[table.classes == each].sum())
            errors[each] += found.error(table, each)
        noise.add(table)
    return tuple(
        GroupBias(
            least=0 if each == 0 else 10 ** (each - 1),
            most=None if each == CLASSES - 1 else 10**each - 1,
            groups=groups[each],
            mean_size=float(Fraction(sizes[each], groups[each])),
            error=float(errors[each] / groups[each]),
            blur=BLUR * math.sqrt(noise.variance(each)) / groups[each],
        )
        for each in range(CLASSES)
        if groups[each]
    )


def size_classes(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of every count: how many digits it has, 0 for none, the last for all beyond."""
    limits = [10**power for power in range(CLASSES - 1)]
    return np.searchsorted(limits, counts, side="right")


class _Table:
    """The groups of one table by class: of each class, how many in every line of every column."""

    def __init__(
        self, query: tuple[str, ...], classes: NDArray[np.int64], shape: tuple[int, ...]
    ) -> None:
        self.query, self.classes, self.shape = query, classes, shape
        self.cells = np.bincount(classes, minlength=CLASSES)
        codes = np.unravel_index(np.arange(classes.size), shape)
        self.lines = [
            np.bincount(code * CLASSES + classes, minlength=size * CLASSES).reshape(size, CLASSES)
            for code, size in zip(codes, shape, strict=True)
        ]


class _Errors:
    """Published less noisy counts of every table of one and two columns that is answered."""

    def __init__(self, config: Config, measurements: Measurements, counts: Counts) -> None:
        universe = config.universe
        tables = tuple(
            table
            for table in measurements.tables
            if table.event.cells <= MOST_TABLE_CELLS and table.event.threshold is None
        )
        margins = [Margin(table.event.table, table.event.coarsening) for table in tables]
        asked = _asked(universe.names, len(counts.values))
        compared = least_noisy_tables(asked, universe, tables, margins)
        total = min(tables, key=lambda each: each.variance * each.event.cells, default=None)
        self.residuals: dict[tuple[str, ...], NDArray[np.int64]] = {}
        self.variances: dict[tuple[str, ...], float] = {}
        for number, (table, margin) in enumerate(zip(tables, margins, strict=True)):
            here = [query for query in asked if compared[query] == number]
            here += [()] if table is total else []
            if not here:
                continue
            axes = {query: tuple(map(margin.names.index, query)) for query in here}
            residual = Residuals.of(table, margin, counts, universe)
            sums = residual.marginal_sums(list(axes.values()))
            for query in here:
                found = sums[axes[query]]
                self.residuals[query] = found
                self.variances[query] = table.variance * table.event.cells / found.size
        self.queries = [query for query in asked if query in self.residuals]

    def error(self, table: _Table, each: int) -> Fraction:
        """The sum of the errors of all groups of a class."""
        whole = self.residuals[table.query]
        cells, size = int(table.cells[each]), whole.size
        total = int(self.residuals[()])
        inside = int(whole.reshape(-1)[table.classes == each].sum())
        if len(table.shape) == 1:
            return inside + Fraction(cells * (total - int(whole.sum())), size)
        found = inside + Fraction(cells * (total - int(whole.sum())), size)
        for axis, name in enumerate(table.query):
            better = self.residuals[name,] - whole.sum(axis=1 - axis)
            share = table.shape[1 - axis]
            found += Fraction(int(table.lines[axis][:, each] @ better), share)
            found -= Fraction(cells * int(better.sum()), size)
        return found


class _Noise:
    """The variance of the noise in the sum of the errors of a class, part by part."""

    def __init__(self, errors: _Errors) -> None:
        self._variances = errors.variances
        self._rest, self._total = np.zeros(CLASSES), np.zeros(CLASSES)
        self._alone: dict[str, NDArray[np.float64]] = {}
        """By column: how often the error of each of its codes is in the sum, less the mean."""

    def add(self, table: _Table) -> None:
        """Take the groups of a table in."""
        size = table.classes.size
        self._total += table.cells / size
        energy = table.cells - table.cells.astype(np.float64) ** 2 / size
        for axis, name in enumerate(table.query):
            lines = table.lines[axis] - table.cells / table.shape[axis]
            share = size // table.shape[axis]
            self._alone[name] = self._alone.get(name, 0.0) + lines / share
            energy -= _squares(lines) / share
        if len(table.query) > 1:
            self._rest += energy * self._variances[table.query]

    def variance(self, each: int) -> float:
        """In records squared. Parts of unlike columns are orthogonal, so their noises add up."""
        alone = [
            self._variances[name,] * float(_squares(weights)[each])
            for name, weights in self._alone.items()
        ]
        total = self._variances[()] * float(self._total[each]) ** 2
        return math.fsum([float(self._rest[each]), total, *alone])


def _squares(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the squares of every column, rounded once: the same digits everywhere."""
    return np.array([math.fsum(column) for column in (lines * lines).T.tolist()])


def _asked(names: tuple[str, ...], lines: int) -> Sequence[tuple[str, ...]]:
    """The tables of one and two columns that are looked at."""
    compared = min(len(names), MOST_COLUMNS)
    while compared > 1 and compared * (compared + 1) // 2 * lines > MOST_VISITS:
        compared -= 1
    first = names[:compared]
    return [*((name,) for name in first), *combinations(first, 2)]
