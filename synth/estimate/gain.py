"""The gain: how a difference in the noisy sums moves the expected counts of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.one_way import one_way_sums
from synth.estimate.solver import Map
from synth.estimate.sums import NoisyCoefficients, trusted

Floats = NDArray[np.float64]

_SMALL_MATRIX = 200
"""Up to this many coefficients of one-way tables their common uncertainty is a full matrix."""


@dataclass(frozen=True, eq=False)
class Gain:
    """Counts move by variance * S' weigh(d), d the difference in the noisy sums.

    S is the map from counts to the measured coefficients; the variance of a count is `ratio` times
    its expectation, so that a count of 0 stays 0 while the expected counts change.
    """

    sums: NoisyCoefficients
    ratio: Floats
    weigh: Map

    def move(self, expected: Floats) -> Floats:
        """The expected counts, moved by what the noisy sums say."""
        gap = self.sums.values - self.sums.of(expected)
        return expected * (1.0 + self.ratio * self.sums.expand(self.weigh(gap)))


def joint_gain(sums: NoisyCoefficients, expected: Floats, variance: Floats) -> Gain:
    """The gain where the counts are known too, with these means and variances.

    By the Gaussian rule a difference d in the sums moves the counts by
    variance * S' (S variance S' + 1 / precision)^-1 d. For one-way tables the matrix is inverted
    while it is small; else its diagonal stands for it.
    """
    spread = sums.interactions.squares(variance)[sums.places]
    firm = trusted(sums, sums.values - sums.of(expected), spread)
    noise = 1.0 / firm.precision
    if not sums.is_one_way or sums.places.size > _SMALL_MATRIX:
        weight = 1.0 / (spread + noise)
        return Gain(sums, _ratio(variance, expected), lambda gap: weight * gap)
    matrix = np.diag(noise) + _common_variance(sums, variance)
    inverse = _inverse(matrix)
    return Gain(
        sums, _ratio(variance, expected), lambda gap: np.asarray((inverse * gap).sum(axis=1))
    )


def _common_variance(sums: NoisyCoefficients, variance: Floats) -> Floats:
    """S variance S' for one-way tables: from the two-way tables of the variance."""
    interactions = sums.interactions
    single = one_way_sums(variance, interactions.shape)
    matrix = np.zeros((sums.places.size, sums.places.size))
    pairs: dict[tuple[int, ...], Floats] = {}
    depths = tuple(basis.depth for basis in interactions.axes)
    for component, table in interactions.tables(variance, 2):
        levels = interactions.levels(component)
        axes = tuple(axis for axis, level in enumerate(levels) if level)
        if len(axes) == 2 and all(levels[axis] == depths[axis] for axis in axes):
            pairs[axes] = table.reshape([interactions.shape[axis] for axis in axes])
    for axis, functions, rows in sums.one_way:
        for other, others, columns in sums.one_way:
            if axis < other:
                block = _sandwich(functions, pairs[axis, other], others)
            elif axis > other:
                block = _sandwich(others, pairs[other, axis], functions).T
            else:
                block = _sandwich(functions, np.diag(single[axis]), others)
            matrix[np.ix_(rows, columns)] = block
    return matrix


def _sandwich(left: Floats, table: Floats, right: Floats) -> Floats:
    """The product left @ table @ right.T, summed in an order that no number of threads changes."""
    half = (left[:, :, None] * table[None, :, :]).sum(axis=1)
    return np.asarray((half[:, None, :] * right[None, :, :]).sum(axis=2))


def plain_gain(sums: NoisyCoefficients, expected: Floats) -> Gain:
    """The gain where only the sums are known: the slope of their likelihood, for Poisson counts."""
    precision = sums.precision
    return Gain(sums, _ratio(expected, expected), lambda gap: gap * precision)


def _ratio(variance: Floats, expected: Floats) -> Floats:
    return np.divide(variance, expected, out=np.zeros(variance.size), where=expected > 0)


def _inverse(matrix: Floats) -> Floats:
    """The inverse of a positive definite matrix, by elimination in a fixed order of operations.

    Not LAPACK: its last digits depend on the number of threads.
    """
    work = np.concatenate([matrix, np.eye(len(matrix))], axis=1)
    for row in range(len(matrix)):
        work[row] /= work[row, row]
        factors = work[:, row].copy()
        factors[row] = 0.0
        work -= factors[:, None] * work[row]
    return work[:, len(matrix) :]
