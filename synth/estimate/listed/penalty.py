"""The penalty on what latent classes know: how severe it is, and what neighbours share.

What the classes know of an attribute X is the mutual information I(class; X); see `class_fit`.

**Neighbours.** I(class; X) = I(class; G) + I(class; X | G) for groups G of codes: what a class
knows of the groups costs less than what it knows inside them, so codes of one group borrow from
each other. Groups are those of the hierarchy, or runs of 2, 4, 8, ... bins of an ordered attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from synth.domain import Attribute

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GRID = 2.0**-20


class Severity(NamedTuple):
    """How a fit holds classes back: what they know of an attribute costs them.

    Knowledge I costs weight * bend * log(1 + I / bend): about weight * I where it is little, and
    hardly more where it is much. With an infinite bend it is weight * I.
    """

    weight: float
    bend: float

    @property
    def reported(self) -> dict[str, float | None]:
        """As in the report of an estimate; no number is infinite there."""
        return {"weight": self.weight, "bend": self.bend if math.isfinite(self.bend) else None}


PLAIN = Severity(1.0, math.inf)


@dataclass(frozen=True, eq=False)
class Penalty:
    """What knowledge of all attributes costs: by code, and more for the groups of every level."""

    own: Floats
    more: Floats
    rows: Ints
    """The codes of the groups, one group after another; a code is in one group of every level."""
    starts: Ints
    levels: tuple[tuple[Ints, Ints], ...]
    """By level: codes, and the group of each."""

    @staticmethod
    def of(attributes: Sequence[Attribute], starts: Ints) -> Penalty:
        """Put the groups of all attributes, whose codes begin at `starts`, into one row."""
        own, more, rows, ends = [], [], [np.zeros(0, dtype=np.int64)], [0]
        levels: list[list[tuple[Ints, Ints]]] = []
        for attribute, start in zip(attributes, starts, strict=True):
            weight, coarser = _levels(attribute)
            own.append(np.full(attribute.size, weight))
            for level, (group_of, extra) in enumerate(coarser):
                if level == len(levels):
                    levels.append([])
                codes = start + np.arange(attribute.size)
                levels[level].append((codes, len(ends) - 1 + group_of))
                sizes = np.bincount(group_of)
                rows.append(start + np.argsort(group_of, kind="stable"))
                ends.extend((ends[-1] + np.cumsum(sizes)).tolist())
                more.append(np.full(sizes.size, extra))
        joined = tuple(
            (np.concatenate([codes for codes, _ in level]), np.concatenate([g for _, g in level]))
            for level in levels
        )
        extra_of_all = np.concatenate([np.zeros(0), *more])
        return Penalty(
            np.concatenate(own), extra_of_all, np.concatenate(rows), np.array(ends[:-1]), joined
        )

    def sums(self, values: Floats) -> Floats:
        """Over the codes of every group, along the first axis."""
        return np.asarray(np.add.reduceat(values[self.rows], self.starts, axis=0))

    def spread(self, groups: Floats, codes: Floats) -> None:
        """Add to every code what its group of every level has."""
        for rows, group_of in self.levels:
            codes[rows] += groups[group_of]


def _levels(attribute: Attribute) -> tuple[float, list[tuple[Ints, float]]]:
    """What knowledge of an attribute costs: a weight of I(class; X), and more for its groups.

    What a class knows inside the groups of a level of g groups, of which there are as many, costs
    w = max(1, (log2 g - 1) / 1.5) of what it knows of a few: the finer, the more noise there is to
    be taken for knowledge. Over levels l, the finest first, the sum of w_l I(class; X_l | X_l+1) is
    that of (w_l - w_l-1) I(class; X_l), the first one w_0 I(class; X_0).
    """
    if not attribute.hierarchy and not attribute.is_ordered:
        return 1.0, []
    own = before = _weight(attribute.size)
    levels = []
    for groups in _coarser(attribute):
        size = int(groups.max()) + 1
        weight = _weight(size)
        if weight < before:
            levels.append((groups, weight - before))
        before = weight
        if size == 1 or weight == 1.0:
            break
    return own, levels


def _coarser(attribute: Attribute) -> Iterator[Ints]:
    """The groups of every code, level by level, the finest first; missing values stay apart."""
    if attribute.hierarchy:
        for step in range(1, attribute.depth):
            yield np.asarray(attribute.groups(step), dtype=np.int64)
        return
    width = 2
    while width < attribute.bin_count:
        groups = np.arange(attribute.size) // width
        if attribute.missing_code is not None:
            groups[attribute.missing_code] = (attribute.bin_count - 1) // width + 1
        yield groups
        width *= 2


def _weight(groups: int) -> float:
    return max(1.0, round((math.log2(groups) - 1.0) / 1.5 / _GRID) * _GRID)
