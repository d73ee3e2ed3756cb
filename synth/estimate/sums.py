"""Noisy sums: everything that the tables of sums say, as coefficients with their precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate.component_tables import ComponentTables
from synth.estimate.interactions import Interactions
from synth.estimate.one_way_matrix import Singles
from synth.measurements import MeasuredTable, Measurements
from synth.privacy.accounting import LAPLACE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LARGEST_EXCESS = 100.0
_SHARED = 30.0
_OUTLIER = 4.0
"""A squared difference beyond this many times what is expected says no more of other components."""
_DOUBT = 3.0
"""Standard deviations by which differences must be larger than chance explains, before counts are
taken to be less certain than they say: where noise is far wider than they are, a little chance
would look like much error. Not with single attributes whose sums are known better than measured
cells tell them: a model of cells that noise hides is off there."""
_FEW = 2.0
"""So far above 1 the mean square of a few differences is no chance any more, whatever their law."""
_LONGEST = 500
"""The codes of an attribute for whose one-way table a matrix of its basis is used."""
_CLEARLY = 0.5
LEAST_VARIANCE = 1e-12
"""Stands for the noise of a budget so large that there is none, where it is divided by."""


@dataclass(frozen=True, eq=False)
class NoisyCoefficients:
    """For some coefficients of the true counts: what the noisy sums say, and how precisely.

    Shapes and units: `places` are the numbers of the coefficients, ascending; `values` their
    estimates by inverse-variance means over the tables, in the unit of the orthonormal basis;
    `precision` one over the variance of the noise of each.
    """

    interactions: Interactions
    places: Ints
    values: Floats
    precision: Floats
    margins: tuple[tuple[int, ...], ...]
    """The resolutions of the margins that no other one contains."""
    cells_variance: float = math.inf
    """That of the noise of a coefficient as measured cells tell it, if there are any."""

    @cached_property
    def tables(self) -> ComponentTables:
        """What holds all components of the coefficients."""
        components = np.unique(self.interactions.component[self.places])
        return ComponentTables(self.interactions, components.tolist())

    @cached_property
    def singles(self) -> Singles | None:
        """Where they stand if all are of single attributes without groups."""
        return Singles.of([(self.interactions, self.places, range(len(self.interactions.shape)))])

    @cached_property
    def is_one_way(self) -> bool:
        """Whether no table holds more than one attribute, and none of them is very long."""
        return all(
            sum(level > 0 for level in margin) <= 1
            and max(b.size for b in self.interactions.axes) <= _LONGEST
            for margin in self.margins
        )

    def of(self, cells: Floats) -> Floats:
        """The same coefficients of a table of cells."""
        interactions = self.interactions
        if not self.is_one_way:
            return self.tables.forward(cells)[self.places]
        found = np.empty(self.places.size)
        sums = one_way_sums(cells, interactions.shape)
        for axis, functions, rows in self.one_way:
            found[rows] = (functions * sums[axis]).sum(axis=1)
        return found

    def expand(self, coefficients: Floats) -> Floats:
        """The function on the cells with these coefficients at `places`, and none elsewhere."""
        if not self.is_one_way:
            full = np.zeros(self.interactions.size)
            full[self.places] = coefficients
            return self.tables.inverse(full)
        left = coefficients.copy()
        parts = [np.zeros(size) for size in self.interactions.shape]
        for axis, functions, rows in self.one_way:
            parts[axis] = (functions * left[rows, None]).sum(axis=0)
            left[rows] = 0.0  # the constant belongs to all attributes, and is added once
        return added_up(parts)

    def squares(self, weights: Floats) -> Floats:
        """For every coefficient the sum over the cells of its squared function times the weight."""
        return self.tables.squares(weights)[self.places]

    @cached_property
    def one_way(self) -> list[tuple[int, Floats, Ints]]:
        """Of every measured attribute: its axis, basis functions by code, and their numbers here.

        A function is multiplied by the constants of all other attributes.
        """
        found = []
        for margin in self.margins:
            axis = max(range(len(margin)), key=lambda i: margin[i])
            basis = self.interactions.axes[axis]
            functions = basis.forward(np.eye(basis.size), basis.depth)
            functions = functions[: basis.group_count(margin[axis])]
            others = self.interactions.size / basis.size
            rows = np.searchsorted(self.places, self.interactions.margin_places(margin))
            found.append((axis, functions / math.sqrt(others), rows))
        return found


def trusted(sums: NoisyCoefficients, gap: Floats, variance: Floats) -> NoisyCoefficients:
    """The same sums, with more weight where the expected counts are off by more than they should.

    A difference between noisy and expected sums has the variance of both: `variance`, if the
    expected counts are as uncertain as they say, and 1 / precision. Where the squared differences
    of one component are larger than that, the counts are more uncertain by a factor k that makes
    them as large as expected; k times the precision has the same effect. A component may have a
    single coefficient, whose difference says little about k: each is judged as if it had _SHARED
    coefficients more, off by what all components of as many attributes at the same levels are
    (the total with one attribute at its first level). With several attributes, and where measured
    cells tell a component better, the differences must be larger than chance explains (`_DOUBT`):
    else tables that noise has drowned would be given weight by luck. Such components are judged
    apart from others.
    """
    component = sums.interactions.component[sums.places]
    noise = 1.0 / sums.precision
    square = gap * gap
    precision = sums.precision.copy()
    kinds: dict[tuple[tuple[int, ...], bool], list[int]] = {}
    for each in np.unique(component).tolist():
        levels = tuple(sorted(level for level in sums.interactions.levels(each) if level))
        are_drowned = float(noise[component == each].mean()) > sums.cells_variance
        kinds.setdefault((levels or (1,), are_drowned), []).append(each)
    for (levels, are_drowned), members in kinds.items():
        alike = np.isin(component, members)
        doubt = _DOUBT if len(levels) > 1 or are_drowned else 0.0
        known = square[alike], variance[alike], noise[alike]
        common = _excess(*known, doubt=doubt, largest=_OUTLIER)
        usual = common * variance + noise
        for each in members:
            here = component == each
            own = square[here], variance[here], noise[here], usual[here]
            precision[here] *= _excess(*own, doubt=doubt)
    return replace(sums, precision=precision)


def _excess(
    square: Floats,
    variance: Floats,
    noise: Floats,
    usual: Floats | None = None,
    *,
    doubt: float = 0.0,
    largest: float = math.inf,
) -> float:
    """The k >= 1 with mean of square / (k variance + noise) = 1, at most _LARGEST_EXCESS.

    With `usual`, the squares that coefficients like these usually have, _SHARED of them count
    beside those that were seen. No ratio counts as more than `largest`. It is 1 if the mean is at
    most `doubt` standard deviations of chance above 1, or `_FEW` where they are few.
    """
    low, high = 0.0, math.log(_LARGEST_EXCESS)
    shared = 0.0 if usual is None else _SHARED

    def excess(k: float) -> float:
        expected = k * variance + noise
        found = float(np.minimum(square / expected, largest).sum())
        if usual is not None:
            found += shared * float((usual / expected).mean())
        return found / (square.size + shared)

    if excess(1.0) <= 1.0 + min(doubt * math.sqrt(2.0 / (square.size + shared)), _FEW):
        return 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if excess(math.exp(middle)) > 1.0:
            low = middle
        else:
            high = middle
    return math.exp(low)


def noisy_coefficients(
    tables: Sequence[MeasuredTable],
    interactions: Interactions,
    universe: Universe,
    *,
    cells_variance: float = math.inf,
) -> NoisyCoefficients | None:
    """Combine tables of sums into one estimate for every coefficient that they determine.

    A table with independent noise of equal variance in all its cells has independent noise in its
    coefficients (McKenna et al. 2021; Xiao et al. 2023); for hierarchies with unequal groups their
    small correlations are left out. `cells_variance` is that of the noise of the cells, if they
    were measured too.
    """
    if not tables:
        return None
    weighted = np.zeros(interactions.size)
    precision = np.zeros(interactions.size)
    margins: list[tuple[int, ...]] = []
    for table in tables:
        margin = Margin(table.event.table, table.event.coarsening)
        resolutions = interactions.resolutions(margin, universe)
        places = interactions.margin_places(resolutions)
        noise = interactions.margin_noise(resolutions) * max(table.variance, LEAST_VARIANCE)
        values = interactions.margin_forward(resolutions, table.noisy_counts)
        weighted[places] += values / noise
        precision[places] += 1.0 / noise
        margins.append(resolutions)
    places = np.flatnonzero(precision)
    return NoisyCoefficients(
        interactions,
        places,
        weighted[places] / precision[places],
        precision[places],
        tuple(m for m in dict.fromkeys(margins) if not any(_inside(m, other) for other in margins)),
        cells_variance,
    )


def _inside(margin: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a margin says nothing that another, different one does not."""
    return margin != other and all(a <= b for a, b in zip(margin, other, strict=True))


# One-way sums: what tables of single attributes need, without a transform of the universe.


OneWay = Callable[[int], Floats]
"""A one-way table of an attribute, by its number."""


def one_way_sums(cells: Floats, shape: tuple[int, ...]) -> list[Floats]:
    """The sums over the codes of every attribute, by halving: two passes over the cells."""
    if len(shape) == 1:
        return [cells.reshape(-1)]
    middle = len(shape) // 2
    first, second = shape[:middle], shape[middle:]
    table = cells.reshape(math.prod(first), math.prod(second))
    return one_way_sums(table.sum(axis=1), first) + one_way_sums(table.sum(axis=0), second)


def added_up(parts: list[Floats]) -> Floats:
    """For every cell the sum of one number per attribute, chosen by its code; flat, C order."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    first, second = added_up(parts[:middle]), added_up(parts[middle:])
    return np.add.outer(first, second).reshape(-1)


def sandwich(left: Floats, table: Floats, right: Floats) -> Floats:
    """The product left @ table @ right.T, summed in an order that no number of threads changes."""
    half = (left[:, :, None] * table[None, :, :]).sum(axis=1)
    return np.asarray((half[:, None, :] * right[None, :, :]).sum(axis=2))


def better_known(
    tables: Sequence[MeasuredTable], universe: Universe, cells_variance: float
) -> list[MeasuredTable]:
    """The tables whose counts have clearly less noise than the same sums of measured cells."""
    limit = _CLEARLY * cells_variance * universe.size
    return [table for table in tables if table.variance * table.event.cells <= limit]


# The cell table: Laplace noise on every cell of the universe, used count by count. A sum of such
# noises has another law: tables of it are used as those with Gaussian noise are, by sums.


def cell_table(measurements: Measurements, universe: Universe) -> MeasuredTable | None:
    """The table with Laplace noise on every cell of the universe, if there is one."""
    for table in measurements.tables:
        finest = table.event.table == universe.names and not any(table.event.coarsening)
        one_laplace = table.event.mechanism == LAPLACE and table.event.summed == 1
        if finest and one_laplace and table.event.threshold is None:
            return table
    return None
