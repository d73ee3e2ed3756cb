"""The tree: which attributes hang together, and the law of each one given its parent.

Chow, Liu 1968: of all tree-shaped models the likeliest is the spanning tree with the largest sum
of mutual information. Here the pairs are those that some noisy table holds, and their information
is what is left after the expected contribution of the noise is taken off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
from synth.estimate.listed.tables import (
    Columns,
    SumTable,
    View,
    combined,
    groups_of,
    one_way,
    shrunk,
)

Floats = NDArray[np.float64]

_LEAST_SHARE = 0.02
"""A pair keeps at least this part of what it would have without any dependence."""
_SWEEPS = 20


@dataclass(frozen=True, eq=False)
class Branch:
    """One attribute of the tree: `law[a, b]` is the chance of its code b if its parent has a.

    A root has no parent, and a law of one row.
    """

    axis: int
    parent: int | None
    law: Floats


@dataclass(frozen=True, eq=False)
class Tree:
    """A model of all attributes, parents before children, and the records that it spreads."""

    branches: tuple[Branch, ...]
    total: float
    one_way: tuple[Floats, ...]

    @property
    def edges(self) -> int:
        """The number of attributes with a parent."""
        return sum(branch.parent is not None for branch in self.branches)

    def log_probability(self, columns: Columns) -> Floats:
        """The log of the chance of every given cell; minus infinity where it is zero."""
        found = np.zeros(len(columns[0]))
        with np.errstate(divide="ignore"):
            for branch in self.branches:
                log = np.log(branch.law)
                row: Any = 0 if branch.parent is None else columns[branch.parent]
                found += log[row, columns[branch.axis]]
        return found


def fit_tree(tables: Sequence[SumTable], universe: Universe, total: float) -> Tree:
    """Fit shares of single attributes, choose pairs, and fit those of the tree.

    Ensures: the law of every attribute, over all, is its share among single attributes, as far
    as a few rounds of proportional fitting bring it there.
    """
    total = max(total, 0.0)
    shares = one_way(tables, universe, total)
    pairs = _pairs(tables, universe, shares, total)
    neighbours: dict[int, list[tuple[int, Floats]]] = {}
    for pair in _spanning(pairs, len(shares)):
        joint = pair.fitted(universe, shares, total)
        (first, _), (second, _) = pair.view
        neighbours.setdefault(first, []).append((second, joint))
        neighbours.setdefault(second, []).append((first, joint.T))
    branches: list[Branch] = []
    seen: set[int] = set()
    for root in range(len(shares)):
        if root in seen:
            continue
        seen.add(root)
        branches.append(Branch(root, None, shares[root][None, :]))
        waiting = [root]
        while waiting:
            parent = waiting.pop(0)
            for child, joint in neighbours.get(parent, []):
                if child not in seen:
                    seen.add(child)
                    branches.append(Branch(child, parent, _conditional(joint, shares[child])))
                    waiting.append(child)
    return Tree(tuple(branches), total, tuple(shares))


@dataclass(frozen=True, eq=False)
class _Pair:
    """The noisy table of two attributes, and how many nats its dependence is worth."""

    view: tuple[View, View]
    sums: Floats
    variance: float
    gain: float

    def fitted(self, universe: Universe, shares: Sequence[Floats], total: float) -> Floats:
        """The joint law of the codes: shrunk, never negative, with the shares of each."""
        groups = [groups_of(universe, view) for view in self.view]
        parts = [shares[axis] for axis, _ in self.view]
        sides = [
            np.bincount(g, weights=p).astype(np.float64) for g, p in zip(groups, parts, strict=True)
        ]
        even = np.outer(*sides)
        joint = even + shrunk(self.sums - even * total, math.sqrt(self.variance)) / total
        joint = np.maximum(joint, _LEAST_SHARE * even)
        for _ in range(_SWEEPS):
            joint *= _ratio(sides[0], joint.sum(axis=1))[:, None]
            joint *= _ratio(sides[1], joint.sum(axis=0))
        inner = [_ratio(p, s[g]) for p, s, g in zip(parts, sides, groups, strict=True)]
        whole = joint[groups[0]][:, groups[1]]
        return np.asarray(whole * inner[0][:, None] * inner[1])


def _pairs(
    tables: Sequence[SumTable], universe: Universe, shares: Sequence[Floats], total: float
) -> list[_Pair]:
    if total <= 0.0:
        return []
    found = []
    for view, sums, variance in combined(tables, 2):
        first, second = view
        sides = [np.bincount(groups_of(universe, each), weights=shares[each[0]]) for each in view]
        even = np.outer(*sides) * total
        excess = (sums - even) ** 2 - variance
        gain = float((excess / (2.0 * (even + math.sqrt(variance)))).sum())
        found.append(_Pair((first, second), sums, variance, gain))
    return found


def _spanning(pairs: Sequence[_Pair], attributes: int) -> list[_Pair]:
    """The pairs of the tree of largest gain; a pair without gain is left out."""
    root = list(range(attributes))

    def find(axis: int) -> int:
        while root[axis] != axis:
            axis = root[axis]
        return axis

    chosen = []
    for pair in sorted(pairs, key=lambda each: (-each.gain, each.view)):
        ends = [find(axis) for axis, _ in pair.view]
        if pair.gain > 0.0 and ends[0] != ends[1]:
            root[ends[1]] = ends[0]
            chosen.append(pair)
    return chosen


def _ratio(above: Floats, below: Floats) -> Floats:
    """The quotients, 0 where nothing is divided."""
    return np.asarray(np.divide(above, below, out=np.zeros(above.shape), where=below > 0.0))


def _conditional(joint: Floats, share: Floats) -> Floats:
    """The law of the second attribute for every code of the first; `share` where that is empty."""
    rows = joint.sum(axis=1, keepdims=True)
    law = np.divide(joint, rows, out=np.zeros(joint.shape), where=rows > 0.0)
    law[rows[:, 0] <= 0.0] = share
    return np.asarray(law)
