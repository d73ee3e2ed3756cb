"""The linear theory of measured margins: components, their precision, and query variances.

Partition 0 of an attribute sums it out, the last one is that of the codes, and the declared
resolutions are between them. Where groups of different sizes have the same parent, one more
partition, which is never measured, merges the groups of equal size. The functions on the codes are
split into mutually orthogonal levels: level l holds what is constant on the groups of partition l
and sums to zero in every group of partition l - 1.

A component is one level per axis; a margin tells about it if its partition is at least the level
on every axis. Components that the same margins tell about are kept together in one class, named by
its largest member: the classes are the meets (axis by axis minima) of the margins. So nothing here
grows with the number of cells, nor with 2^attributes.

In units where a query of the attribute's energy (`Question`) is divided by the number of codes, the
precision of a class under margins B with noise variance v_B is sum over B of 1 / (v_B N_B), N_B
their cells, for balanced hierarchies (McKenna, Miklau, Hay, Machanavajjhala 2018, section 8; Xiao,
He, Zhang, Kifer 2023). The least squares variance of a query is the sum over classes of its energy
over the precision. It is exact if every hierarchy in use is balanced; of the others (`Axis`) it is
within 1 %, rarely up to 11 % too large.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from synth.config import WorkloadConfig
from synth.domain import Attribute, Margin, Universe

Floats = NDArray[np.float64]

Intervals = Literal["prefix", "range"]
Kind = Literal["marginal", "prefix", "range", "cells"]
Integer = TypeVar("Integer", bound=np.integer[Any])

CANCELLED = 1e-11
"""An energy below this share of the sum that it was taken from is rounding."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The partitions of the codes of one attribute, coarsest first.

    Shapes and units: `groups[r]` groups in partition r. `noise_factor[l, r]` is n times the mean
    over an orthonormal basis of level l of sum_g f_g^2 over the groups g of partition r (f_g: the
    value of f on g), n codes, for l <= r: the variance with which isotropic noise of variance 1/n
    on those groups hides a unit-norm query of level l. With groups of equal sizes it is groups[r]
    for every l, and exact for every function of the level; otherwise it is an average that
    leaves out how the noise of different functions is correlated.
    """

    name: str
    groups: tuple[int, ...]
    noise_factor: Floats
    group_of: NDArray[np.int64]
    """The group of every code in every partition."""
    measured: tuple[int, ...]
    """The partition of every declared resolution, from summed out to the codes."""
    bins: int
    """Codes that are no missing level."""

    @property
    def depth(self) -> int:
        """The finest partition, that of the codes."""
        return len(self.groups) - 1

    @property
    def is_balanced(self) -> bool:
        """Whether the noise factor depends on the measured partition alone."""
        return all(
            abs(self.noise_factor[level, last] - self.groups[last]) < 1e-9 * self.groups[last]
            for last in self.measured
            for level in range(last + 1)
            if self._dimension(level)
        )

    def cell_energy(self) -> Floats:
        """The mean over all codes of the squared norm, over n, of their part up to each level."""
        size = self.groups[-1]
        return np.asarray(self.groups, dtype=np.float64) / size**2

    def interval_energy(self, kind: Intervals) -> Floats:
        """The same for intervals of bins: those from the first bin on, or all of them.

        A group g of c codes adds |interval in g|^2 / c. The bins of g up to position k are S_k;
        sum_k S_k^2 = sum over the bins of g of (2 rank + 1)(m - position), and the sum over all
        pairs of positions of (S_b - S_a)^2 is (m + 1) sum_k S_k^2 - (sum_k S_k)^2. Where there
        are coarser resolutions, c leaves a missing level out: there it is nearly always a group
        of its own, so that sums over bins have none of its noise.
        """
        bins, size = self.bins, self.groups[-1]
        later = (bins - np.arange(bins)).astype(np.float64)  # positions beyond each bin
        counted = self.group_of if len(self.measured) == 2 else self.group_of[:, :bins]
        energy = np.empty(self.depth + 1)
        for partition, count in enumerate(self.groups):
            group = self.group_of[partition, :bins]
            squares = np.bincount(group, (2 * _ranks(group) + 1) * later, count)
            if kind == "range":
                sums = np.bincount(group, later, count)
                squares = (bins + 1) * squares - sums**2
            codes = np.maximum(np.bincount(counted[partition], minlength=count), 1)
            energy[partition] = (squares / codes).sum()
        return energy / (interval_count(bins, kind) * size)

    @cached_property
    def _precisions(self) -> list[Floats]:
        factors = self.noise_factor.T
        return [
            np.where(np.arange(len(each)) <= level, 1.0 / np.maximum(each, 1.0), 0.0)
            for level, each in enumerate(factors)
        ]

    def precision_at(self, partition: int) -> Floats:
        """What a noise precision of 1 in a partition adds to that of every level: 0 beyond it."""
        return self._precisions[partition]

    def _dimension(self, level: int) -> int:
        return self.groups[level] - (self.groups[level - 1] if level else 0)


def interval_count(bins: int, kind: Intervals) -> int:
    """How many intervals there are: `bins` from the first bin on, or bins (bins + 1) / 2."""
    return bins if kind == "prefix" else bins * (bins + 1) // 2


def axis_of(attribute: Attribute) -> Axis:
    """The partitions of one attribute, from summed out to its codes."""
    partitions: list[NDArray[np.int64]] = []
    measured = []
    for resolution in range(attribute.depth + 1):
        finer = np.array(attribute.groups(attribute.depth - resolution), dtype=np.int64)
        if partitions:
            by_size = _merged_by_size(partitions[-1], finer)
            if by_size is not None:
                partitions.append(by_size)
        measured.append(len(partitions))
        partitions.append(finer)
    counts = [np.bincount(partition) for partition in partitions]
    groups = tuple(len(count) for count in counts)
    factor = np.zeros((len(partitions), len(partitions)))
    inverse = [1 / count[row] for count, row in zip(counts, partitions, strict=True)]
    for level, here in enumerate(inverse):
        part = here - inverse[level - 1] if level else here
        dimension = groups[level] - (groups[level - 1] if level else 0)
        for last in range(level, len(partitions)):
            if dimension:
                trace = float((part * inverse[last]).sum())
                factor[level, last] = attribute.size * trace / dimension
            else:  # nothing is in this level, but a class that is named by it holds those before
                factor[level, last] = factor[level - 1, last]
    group_of = np.stack(partitions)
    return Axis(attribute.name, groups, factor, group_of, tuple(measured), attribute.bin_count)


def _merged_by_size(coarse: NDArray[np.int64], fine: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Groups of `fine` of equal size within one of `coarse` as one; None if that is nothing new."""
    sizes = np.bincount(fine)[fine]
    merged = np.unique(coarse * (fine.size + 1) + sizes, return_inverse=True)[1]
    count = merged.max() + 1
    return merged if coarse.max() + 1 < count < fine.max() + 1 else None


@lru_cache(maxsize=16)
def axes_of(universe: Universe) -> tuple[Axis, ...]:
    """The axes of a universe, in the order of their names: the same ones for every budget.

    Ensures: no figure of the plan depends on the order of the columns, not even by rounding.
    """
    return tuple(axis_of(each) for each in sorted(universe.attributes, key=lambda a: a.name))


def point_of(axes: Sequence[Axis], margin: Margin) -> tuple[int, ...]:
    """The partition of every axis in a margin; 0 where it is summed out."""
    point = [0] * len(axes)
    for name, steps in zip(margin.names, margin.coarsening, strict=True):
        place = _place(axes, name)
        point[place] = axes[place].measured[-1 - steps]
    return tuple(point)


def margin_at(universe: Universe, axes: Sequence[Axis], point: Sequence[int]) -> Margin:
    """The margin with these partitions: the inverse of `point_of`."""
    steps = {
        axis.name: len(axis.measured) - 1 - axis.measured.index(partition)
        for axis, partition in zip(axes, point, strict=True)
        if partition
    }
    names = tuple(name for name in universe.names if name in steps)
    return Margin(names, tuple(steps[name] for name in names))


def _ranks(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many earlier codes are in the same group."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.searchsorted(ordered, ordered)
    ranks = np.empty_like(group)
    ranks[order] = np.arange(group.size) - first
    return ranks


@dataclass(frozen=True, eq=False)
class Question:
    """Queries that are asked together: the cells of a marginal, or all intervals.

    Shapes and units: `energy[axis][r]` is the mean over the queries of the squared norm of their
    part up to level r of that axis, divided by the number of codes of the axis; axes that are
    not in it are summed out, their energy is 1 at every level. `queries` says how many there are.
    """

    attributes: tuple[str, ...]
    kind: Kind
    weight: Fraction
    queries: int
    energy: dict[int, NDArray[np.float64]]

    @property
    def is_table(self) -> bool:
        """Whether every record is in exactly one of the queries."""
        return self.kind in ("marginal", "cells")

    def bound(self, axes: Sequence[Axis]) -> tuple[int, ...]:
        """The partitions of the smallest margin that answers every query."""
        return tuple(axis.depth if i in self.energy else 0 for i, axis in enumerate(axes))


@lru_cache(maxsize=16)
def questions_of(workload: WorkloadConfig, axes: tuple[Axis, ...]) -> tuple[Question, ...]:
    """One question per marginal, then one per set of ranges, in the workload's order.

    The same ones for every budget, so that what is worked out for them is kept once.
    """
    marginals = (marginal(m.attributes, axes, weight=m.weight) for m in workload.marginals)
    ranges = (_intervals(r.attributes, axes, r.kind, r.weight) for r in workload.ranges)
    return (*marginals, *ranges)


def marginal(
    attributes: Iterable[str], axes: Sequence[Axis], *, weight: Fraction = Fraction(1)
) -> Question:
    """The cells of one marginal at the finest resolution."""
    attributes = tuple(attributes)
    places = sorted(_place(axes, name) for name in attributes)
    cells = math.prod(axes[place].groups[-1] for place in places)
    energy = {place: axes[place].cell_energy() for place in places}
    return Question(attributes, "marginal", weight, cells, energy)


@lru_cache(maxsize=16)
def cells_of(attributes: tuple[str, ...], axes: tuple[Axis, ...]) -> Question:
    """The single cells of the universe."""
    finest = marginal(attributes, axes)
    return Question(finest.attributes, "cells", finest.weight, finest.queries, finest.energy)


def _intervals(
    attributes: tuple[str, ...],
    axes: Sequence[Axis],
    kind: Literal["prefix", "range"],
    weight: Fraction,
) -> Question:
    places = sorted(_place(axes, name) for name in attributes)
    count = math.prod(interval_count(axes[place].bins, kind) for place in places)
    energy = {place: axes[place].interval_energy(kind) for place in places}
    return Question(attributes, kind, weight, count, energy)


def _place(axes: Sequence[Axis], name: str) -> int:
    """The place of a column among axes that are in the order of their names."""
    return bisect_left(axes, name, key=lambda axis: axis.name)


@dataclass(frozen=True, eq=False)
class Components:
    """The classes of components that some margins tell about.

    Shapes: `margins` M x axes and `classes` C x axes hold partitions (`Axis`).
    """

    axes: tuple[Axis, ...]
    margins: NDArray[np.int64]
    classes: NDArray[np.int64]

    @cached_property
    def information(self) -> Floats:
        """M x C: what a noise precision of 1 in a margin adds to the precision of a class."""
        noise = np.ones((len(self.margins), len(self.classes)))
        covered = np.ones(noise.shape, dtype=bool)
        for i, axis in enumerate(self.axes):
            level, measured = self.classes[:, i], self.margins[:, i]
            if not measured.any():
                continue
            noise *= axis.noise_factor[level[None, :], measured[:, None]]
            covered &= level[None, :] <= measured[:, None]
        return np.divide(1.0, noise, out=np.zeros_like(noise), where=covered & (noise > 0))

    def energy(self, questions: tuple[Question, ...]) -> Floats:
        """Q x C: the mean over each question's queries of their energy in each class."""
        if questions not in self._energies:
            self._energies[questions] = self._energy(questions)
        return self._energies[questions]

    @cached_property
    def _energies(self) -> dict[tuple[Question, ...], Floats]:
        return {}

    def _energy(self, questions: Sequence[Question]) -> Floats:
        below = np.ones((len(questions), len(self.classes)))
        for row, question in zip(below, questions, strict=True):
            for place, energy in question.energy.items():
                row *= energy[self.classes[:, place]]
        parts = np.zeros_like(below)
        for number, lower in enumerate(self._lower):  # smaller classes first
            parts[:, number] = below[:, number] - parts[:, lower].sum(axis=1)
        parts[parts < CANCELLED * below] = 0.0
        return parts

    def variances(self, questions: tuple[Question, ...], precisions: Sequence[float]) -> Floats:
        """The least squares variance of every question, given the precision of every margin."""
        return self.energy(questions) @ inverse(np.array(precisions) @ self.information)

    def answers(self, questions: tuple[Question, ...]) -> NDArray[np.bool_]:
        """Whether some margin is at least as fine as the question, so that it can be answered."""
        if questions not in self._answers:
            bounds = np.array([question.bound(self.axes) for question in questions], dtype=np.uint8)
            found = np.zeros(len(questions), dtype=bool)
            for margin in self.margins.astype(np.uint8):
                found |= (margin >= bounds).all(axis=1)
            self._answers[questions] = found
        return self._answers[questions]

    @cached_property
    def _answers(self) -> dict[tuple[Question, ...], NDArray[np.bool_]]:
        return {}

    @cached_property
    def _lower(self) -> list[NDArray[np.int64]]:
        levels = np.ascontiguousarray(self.classes.T.astype(np.uint8))  # a depth is a small number
        return [
            np.flatnonzero((levels[:, :number] <= levels[:, number, None]).all(axis=0))
            for number in range(len(self.classes))
        ]


def variances_by_part(
    axes: Sequence[Axis],
    margins: Sequence[tuple[int, ...]],
    questions: Sequence[Question],
    precisions: Sequence[float],
) -> list[float | None]:
    """The same variances one question at a time; None where no margin answers all of it.

    The components of a set of axes are known as well as all margins that hold these are together:
    nothing has the size of all margins by all of their meets.
    Requires: margins of few axes each.
    """
    most = max((len(question.energy) for question in questions), default=0)
    precision_of: dict[tuple[int, ...], Floats] = {}
    for margin, precision in zip(margins, precisions, strict=True):
        held = {
            place: axes[place].precision_at(level) for place, level in enumerate(margin) if level
        }
        for part in _subsets(tuple(held), most):
            known = np.array(precision)
            for place, share in held.items():
                known = np.multiply.outer(known, share[1:]) if place in part else known * share[0]
            precision_of[part] = precision_of.get(part, 0.0) + known
    found: list[float | None] = []
    for question in questions:
        places = tuple(sorted(question.energy))
        if places not in precision_of or not precision_of[places].flat[-1]:
            found.append(None)
            continue
        variance = 0.0
        for part in _subsets(places, most):
            energy = np.array(1.0)
            for place in places:
                own = question.energy[place]
                energy = (
                    np.multiply.outer(energy, np.diff(own)) if place in part else energy * own[0]
                )
            variance += float((energy / precision_of[part]).sum())
        found.append(variance)
    return found


def _subsets(places: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """All subsets of at most so many places, in their order."""
    sizes = range(min(most, len(places)) + 1)
    return chain.from_iterable(combinations(places, size) for size in sizes)


def inverse(precisions: Floats) -> Floats:
    """1 / P; a huge number instead of infinity, so that a zero energy stays zero."""
    return 1 / np.maximum(precisions, 1e-200)


@lru_cache(maxsize=16)
def components_of(axes: tuple[Axis, ...], margins: tuple[tuple[int, ...], ...]) -> Components:
    """The classes of the margins with these partitions.

    An axis with groups of unequal sizes has a noise factor that differs from level to level, so
    classes are split until each has one level there.
    """
    rows = np.array(margins, dtype=np.int64).reshape(len(margins), len(axes))
    classes = _meets(rows)
    for i, axis in enumerate(axes):
        if classes[:, i].any() and not axis.is_balanced:
            lowered = [classes.copy() for _ in range(axis.depth + 1)]
            for level, rows_to_lower in enumerate(lowered):
                np.minimum(rows_to_lower[:, i], level, out=rows_to_lower[:, i])
            classes = _distinct(np.concatenate(lowered))
    order = np.lexsort((*classes.T[::-1], classes.sum(axis=1)))
    return Components(axes, rows, classes[order])


def _meets(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows and the minima of any of them."""
    compact = _distinct(rows.astype(np.uint8))  # a depth is a small number
    known = set(_row_bytes(compact))
    new = compact
    while len(new):
        table = _from_bytes(known, compact.shape[1])
        fresh: set[bytes] = set()
        for row in new:
            fresh.update(_row_bytes(np.minimum(table, row)))
        fresh -= known
        known |= fresh
        new = _from_bytes(fresh, compact.shape[1])
    return _from_bytes(known, compact.shape[1]).astype(np.int64)


def _row_bytes(rows: NDArray[np.uint8]) -> list[bytes]:
    whole: list[bytes] = np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").ravel().tolist()
    return whole


def _from_bytes(rows: Iterable[bytes], width: int) -> NDArray[np.uint8]:
    joined = b"".join(row.ljust(width, b"\0") for row in rows)  # numpy strips zeros at the end
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, width)


def _distinct(rows: NDArray[Integer]) -> NDArray[Integer]:
    return np.unique(rows, axis=0)
