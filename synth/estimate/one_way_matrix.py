"""Coefficients of single attributes: sums over cells of weight x function x function, divided by.

In the basis of contrasts such a matrix is far from its diagonal where few codes have nearly all
records; over the codes of an attribute it is diagonal. What couples the attributes is taken to be
of rank one, as it is where their weights are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.axis_basis import contrasts, expand
from synth.estimate.interactions import Interactions
from synth.estimate.solver import Map

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Single:
    """Where the contrasts of an attribute without groups stand in a vector of coefficients.

    `room` is the square of what a contrast is divided by: the cells of a code.
    """

    axis: int
    own: Ints
    room: float


@dataclass(frozen=True, eq=False)
class Singles:
    """Where the constant, over the root of `room`, and all contrasts of single attributes stand."""

    constant: int
    room: float
    axes: tuple[Single, ...]

    @staticmethod
    def of(
        parts: Sequence[tuple[Interactions, Ints, Sequence[int]]],
    ) -> Singles | None:
        """Of coefficients given part by part, one after another; None if others are among them.

        Each part has its interactions, the places of its coefficients in them, ascending, and the
        numbers of its attributes in the universe. The first one has the constant.
        """
        found: list[Single] = []
        start = 0
        for interactions, places, axes in parts:
            component = interactions.component[places]
            known = int((component == 0).sum())
            if known != (start == 0):
                return None
            for axis, basis, stride in zip(
                axes, interactions.axes, interactions.strides, strict=True
            ):
                own = np.flatnonzero(component == stride) if basis.size > 1 else places[:0]
                if own.size and basis.is_flat and own.size == basis.size - 1:
                    found.append(Single(axis, start + own, interactions.size / basis.size))
                    known += own.size
            if known != places.size:
                return None
            start += places.size
        return Singles(0, float(parts[0][0].size), tuple(found)) if start else None

    def divider_in_units(self, weights: Sequence[Floats], unit: Floats) -> Map:
        """Division by that matrix plus a diagonal of 1 / unit^2, of coefficients in these units."""
        divide = self.divider(weights, 1.0 / (unit * unit))
        return lambda vector: divide(vector / unit) / unit

    def divider(self, weights: Sequence[Floats], added: Floats) -> Map:
        """Division by the matrix of these weights of the codes plus a diagonal.

        `weights` are those of each of `axes`; `added` is the same for all contrasts of an
        attribute.
        Ensures: the matrix is positive definite, if weights and what is added are positive.
        """
        total = max([1e-300, *(float(weight.sum()) for weight in weights)])
        parts = [
            _Part.of(each, weight, total, float(added[each.own[0]]))
            for each, weight in zip(self.axes, weights, strict=True)
        ]
        common = np.zeros(added.size)
        common[self.constant] = math.sqrt(total / self.room)

        def alone(vector: Floats) -> Floats:
            found = vector / added
            for part in parts:
                found[part.own] = part.divide(vector[part.own])
            return found

        for part in parts:
            common[part.own] = part.common
        solved = alone(common)
        size = 1.0 + float((common * solved).sum())

        def divide(vector: Floats) -> Floats:
            found = alone(vector)
            return np.asarray(found - solved * (float((common * found).sum()) / size))

        return divide


@dataclass(frozen=True, eq=False)
class _Part:
    """One attribute's part of the matrix less what couples attributes.

    Over its codes it is a diagonal, of which `over` is the inverse, less a matrix of rank one.
    """

    own: Ints
    over: Floats
    common: Floats
    solved: Floats
    left: float

    @staticmethod
    def of(single: Single, weight: Floats, total: float, added: float) -> _Part:
        over = 1.0 / (weight / single.room + added)
        common = contrasts(weight[:, None], 0)[1:, 0] / math.sqrt(total * single.room)
        solved = _centred(common, over)
        left = 1.0 - float((common * solved).sum())
        return _Part(single.own, over, common, solved, max(left, 1e-12))

    def divide(self, vector: Floats) -> Floats:
        found = _centred(vector, self.over)
        return found + self.solved * (float((self.common * found).sum()) / self.left)


def _centred(vector: Floats, over: Floats) -> Floats:
    """Contrasts of one attribute, divided by a diagonal over its codes."""
    codes = expand(np.append(0.0, vector)[:, None], 0)[:, 0] * over
    codes -= over * (codes.sum() / over.sum())
    return contrasts(codes[:, None], 0)[1:, 0]
