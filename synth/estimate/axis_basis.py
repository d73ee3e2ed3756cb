"""The basis of one attribute: contrasts between the groups of its hierarchy, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Split:
    """How one resolution splits the groups of the next coarser one.

    Group g has the children child[g, 0], child[g, 1], ...; -1 where it has fewer. The contrast j
    of a group is `before` on its children before j and -`own` on child j, of unit length.
    """

    child: Ints
    before: Floats
    own: Floats
    rows: Ints
    """Where the contrast stands among the contrasts of this split."""

    @property
    def contrasts(self) -> int:
        return int((self.child[:, 1:] >= 0).sum())

    def steps(self) -> list[tuple[int, Ints | slice]]:
        """Every j from 1, with the groups that have such a child."""
        found: list[tuple[int, Ints | slice]] = []
        for j in range(1, self.child.shape[1]):
            has = self.child[:, j] >= 0
            found.append((j, slice(None) if has.all() else np.flatnonzero(has)))
        return found


class AxisBasis:
    """An orthonormal basis of the functions of one attribute's codes.

    The first function is constant. Then come, for every resolution from the coarsest, the
    contrasts between the groups of that resolution that lie in one group of the resolution
    before: contrast j of a group compares its child j with the mean of the children before it.
    Without a hierarchy these are the Helmert contrasts. A function of resolution r is constant
    on the groups of r, so it can be computed from their sums alone.
    """

    def __init__(self, size: int, levels: tuple[tuple[int, ...], ...] = ()) -> None:
        """`levels` holds the group of every code for each coarser resolution, coarsest first."""
        self.size = size
        self.depth = len(levels) + 1 if size > 1 else 0
        chain = [np.zeros(size, dtype=np.int64), *map(np.array, levels), np.arange(size)]
        sizes = [np.bincount(groups).astype(np.float64) for groups in chain]
        self._splits = tuple(
            _split(chain[i], chain[i + 1], sizes[i + 1]) for i in range(len(chain) - 1)
        )
        counts = [1, *(split.contrasts for split in self._splits)]
        self.starts = np.cumsum([0, *counts])
        """Where the functions of each resolution begin; resolution 0 is the constant."""
        self.level = np.repeat(np.arange(len(counts)), counts)
        """The resolution of every basis function."""
        self.groups = tuple(chain)
        """The group of every code at every resolution."""

    @property
    def is_flat(self) -> bool:
        """Whether there is no coarser resolution."""
        return len(self._splits) == 1

    def group_count(self, resolution: int) -> int:
        """The number of groups at a resolution, which is the number of functions up to it."""
        return int(self.starts[resolution + 1])

    def forward(self, sums: Floats, resolution: int) -> Floats:
        """Inner products with the functions up to `resolution`, from the sums of its groups.

        Shapes: the first axis is that of the attribute, in and out.
        """
        out = np.empty(sums.shape)
        for number in range(resolution - 1, -1, -1):
            split = self._splits[number]
            part = out[self.starts[number + 1] : self.starts[number + 2]]
            running = sums[split.child[:, 0]]
            for j, groups in split.steps():
                child = sums[split.child[groups, j]]
                rows = split.rows[groups, j]
                part[rows] = _times(split.before[groups, j], running[groups])
                part[rows] -= _times(split.own[groups, j], child)
                running[groups] += child
            sums = running
        out[0] = sums[0] * (1.0 / math.sqrt(self.size))
        return out

    def inverse(self, coefficients: Floats) -> Floats:
        """The function of the codes that has these coefficients."""
        values = coefficients[:1] * (1.0 / math.sqrt(self.size))
        for number, split in enumerate(self._splits):
            part = coefficients[self.starts[number + 1] : self.starts[number + 2]]
            children = np.empty((self.group_count(number + 1), *coefficients.shape[1:]))
            running = values.copy()
            for j, groups in reversed(split.steps()):
                contrast = part[split.rows[groups, j]]
                own = _times(split.own[groups, j], contrast)
                children[split.child[groups, j]] = running[groups] - own
                running[groups] += _times(split.before[groups, j], contrast)
            children[split.child[:, 0]] = running
            values = children
        return values

    def squares(self, weights: Floats, resolution: int) -> Floats:
        """The sum of weight times squared value over groups, for every function up to a resolution.

        `weights` has one entry per group of the resolution: sums over its codes for the sum over
        codes, ones for the sum over groups.
        """
        out = np.empty(weights.shape)
        for number in range(resolution - 1, -1, -1):
            split = self._splits[number]
            part = out[self.starts[number + 1] : self.starts[number + 2]]
            running = weights[split.child[:, 0]]
            for j, groups in split.steps():
                child = weights[split.child[groups, j]]
                rows = split.rows[groups, j]
                part[rows] = _times(split.before[groups, j] ** 2, running[groups])
                part[rows] += _times(split.own[groups, j] ** 2, child)
                running[groups] += child
            weights = running
        out[0] = weights[0] * (1.0 / self.size)
        return out


def _times(factors: Floats, rows: Floats) -> Floats:
    return np.asarray(factors.reshape(-1, *[1] * (rows.ndim - 1)) * rows)


def _split(parent: Ints, groups: Ints, weights: Floats) -> _Split:
    """The children of every parent group, in the order of their first code."""
    parent_of = np.zeros(weights.size, dtype=np.int64)
    parent_of[groups] = parent
    counts = np.bincount(parent_of, minlength=int(parent.max()) + 1)
    children = np.split(np.argsort(parent_of, kind="stable"), np.cumsum(counts)[:-1])
    width = max(map(len, children))
    child = np.full((len(children), width), -1)
    before, own = np.zeros(child.shape), np.zeros(child.shape)
    rows = np.full(child.shape, -1)
    row = 0
    for group, members in enumerate(children):
        child[group, : len(members)] = members
        weight = weights[members]
        earlier = np.cumsum(weight)[:-1]
        added = weight[1:]
        before[group, 1 : len(members)] = np.sqrt(added / (earlier * (earlier + added)))
        own[group, 1 : len(members)] = np.sqrt(earlier / (added * (earlier + added)))
        rows[group, 1 : len(members)] = np.arange(row, row + len(members) - 1)
        row += len(members) - 1
    return _Split(child, before, own, rows)


# Helmert contrasts along one axis of a table: the basis of an attribute without a hierarchy.
#
# What `AxisBasis` does where there is one resolution, without looking up groups.
#


_LONG_AXIS = 512
_LONG_FOR_FEW, _FEW = 32, 1024
"""A longer axis is taken as a whole, and not code by code: the same bytes, by running sums. That
pays sooner where no more than a few numbers belong to a code."""


def to_front(table: Floats, axis: int) -> Floats:
    """`np.moveaxis(table, axis, 0)`, whose search for axes takes longer than a small table."""
    return table.transpose(_orders(table.ndim, axis)[0])


def to_place(table: Floats, axis: int) -> Floats:
    """`np.moveaxis(table, 0, axis)`, undoing `to_front`."""
    return table.transpose(_orders(table.ndim, axis)[1])


@cache
def _orders(dimensions: int, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rest = [other for other in range(dimensions) if other != axis]
    return (axis, *rest), (*range(1, axis + 1), 0, *range(axis + 1, dimensions))


def _is_long(source: Floats) -> bool:
    """Whether the first axis is taken as a whole."""
    codes = source.shape[0]
    return bool(codes > (_LONG_FOR_FEW if source[0].size <= _FEW else _LONG_AXIS))


def contrasts(table: Floats, axis: int) -> Floats:
    """The coefficients along one axis: the inner products with the Helmert contrasts."""
    source = to_front(table, axis)
    size = source.shape[0]
    if _is_long(source):
        before = np.cumsum(source, axis=0)
        out = np.empty(source.shape)
        np.multiply(before[-1], 1.0 / math.sqrt(size), out=out[0])
        np.multiply(source[1:], -_numbers(source), out=out[1:])
        out[1:] += before[:-1]
        out[1:] *= _scales(source)
        return to_place(out, axis)
    out = np.empty(source.shape)
    running = source[0].copy()
    for j in range(1, size):
        np.multiply(source[j], -float(j), out=out[j])
        out[j] += running
        out[j] *= 1.0 / math.sqrt(j * (j + 1))
        running += source[j]
    np.multiply(running, 1.0 / math.sqrt(size), out=out[0])
    return to_place(out, axis)


def expand(table: Floats, axis: int) -> Floats:
    """The function that has these coefficients along one axis (the transpose of contrasts)."""
    source = to_front(table, axis)
    size = source.shape[0]
    if _is_long(source):
        parts = np.empty(source.shape)
        np.multiply(source[0], 1.0 / math.sqrt(size), out=parts[0])
        np.multiply(source[:0:-1], _scales(source)[::-1], out=parts[1:])
        after = np.cumsum(parts, axis=0)[::-1]
        out = parts[::-1]  # the function at j is made of the part of j and of all after it
        out[1:] = out[:-1] * -_numbers(source) + after[1:]
        out[0] = after[0]
        return to_place(out, axis)
    out = np.empty(source.shape)
    running = source[0] * (1.0 / math.sqrt(size))
    for j in range(size - 1, 0, -1):
        part = source[j] * (1.0 / math.sqrt(j * (j + 1)))
        np.multiply(part, -float(j), out=out[j])
        out[j] += running
        running += part
    out[0] = running
    return to_place(out, axis)


def squared_contrasts(table: Floats, axis: int) -> Floats:
    """The inner products along one axis with the squares of the contrasts."""
    source = to_front(table, axis)
    size = source.shape[0]
    if _is_long(source):
        numbers = _numbers(source)
        before = np.cumsum(source, axis=0)
        out = np.empty(source.shape)
        np.multiply(before[-1], 1.0 / size, out=out[0])
        np.multiply(source[1:], numbers * numbers, out=out[1:])
        out[1:] += before[:-1]
        out[1:] *= 1.0 / (numbers * (numbers + 1.0))
        return to_place(out, axis)
    out = np.empty(source.shape)
    running = source[0].copy()
    for j in range(1, size):
        np.multiply(source[j], float(j * j), out=out[j])
        out[j] += running
        out[j] *= 1.0 / (j * (j + 1))
        running += source[j]
    np.multiply(running, 1.0 / size, out=out[0])
    return to_place(out, axis)


def _numbers(source: Floats) -> Floats:
    """1, 2, ... along the first axis."""
    return np.arange(1.0, source.shape[0]).reshape(-1, *(1,) * (source.ndim - 1))


def _scales(source: Floats) -> Floats:
    """1 / sqrt(j (j + 1)) along the first axis."""
    j = _numbers(source)
    return np.asarray(1.0 / np.sqrt(j * (j + 1.0)))
