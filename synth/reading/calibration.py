"""Simulated errors made as large as the noisy cells say that the published ones are.

A redraw resembles the estimate more than it resembles the raw table, so simulated errors are too
small where the estimator is wrong in ways that it does not show. The noisy table of all cells
tells by how much, on average. With x the true, y the noisy and p the published coefficients of an
orthonormal basis, noise z of variance v, and p - x the error,

    E (p - x)^2 = E (p - y)^2 - v + 2 E (p - x) z

(Stein 1981): the first term is seen, and the last one comes from the redraws, whose noise is known.
Coefficients are taken together by order, the number of columns that they contrast; an order of n
coefficients is seen to within v sqrt(2 / n). So the ratios of seen to simulated mean squares are
drawn towards one ratio of the lowest orders together, as many as are needed to know it, and none
is taken to be below 1. Nothing but the release is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.axis_basis import contrasts as along
from synth.estimate.axis_basis import expand

KNOWN_TO = 0.5
"""The common ratio is taken from as few orders as give it with this standard error."""

SPREAD = 2.0
"""How far ratios of single orders are expected to be from the common one (standard deviation).

Both were fixed on made-up tables; see docs/benchmarks.md."""


def contrasts(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients of a table in the product of one orthonormal Helmert basis per axis."""
    for axis in range(table.ndim):
        table = along(table, axis)
    return table


def from_contrasts(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """The table of these coefficients."""
    for axis in range(coefficients.ndim):
        coefficients = expand(coefficients, axis)
    return coefficients


def orders(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """How many axes every coefficient contrasts."""
    found = np.zeros(shape, dtype=np.int64)
    for axis, size in enumerate(shape):
        line = (np.arange(size) > 0).astype(np.int64)
        found += line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return found


@dataclass(frozen=True, eq=False)
class Calibration:
    """By how much to multiply simulated errors, for every order from 0.

    `ratios` are those of mean squares; `factors` their roots.
    """

    ratios: tuple[float, ...]

    @property
    def factors(self) -> tuple[float, ...]:
        """What an error of each order is multiplied by."""
        return tuple(map(math.sqrt, self.ratios))

    def enlarged(self, errors: NDArray[np.integer]) -> NDArray[np.float32]:
        """The errors of one redraw (in the shape of the universe) with every order enlarged."""
        found = contrasts(errors.astype(np.float64))
        found *= np.asarray(self.factors)[orders(errors.shape)]
        return from_contrasts(found).astype(np.float32)


class Evidence:
    """Adds up, order by order, what the noisy cells and the redraws say."""

    def __init__(
        self, noisy: NDArray[np.integer], published: NDArray[np.integer], variance: float
    ) -> None:
        """Tables in the shape of the universe; `variance` is that of the noise in every cell."""
        self._order = orders(noisy.shape).ravel()
        self._variance = variance
        self._sizes = np.bincount(self._order).astype(np.float64)
        self._seen = self._squares(noisy.astype(np.float64) - published)
        self._simulated = np.zeros_like(self._sizes)
        self._common = np.zeros_like(self._sizes)
        self._redraws = 0

    def add(self, errors: NDArray[np.integer], noise: NDArray[np.integer]) -> None:
        """One redraw: its errors and the noise of its cells."""
        found = contrasts(errors.astype(np.float64)).ravel()
        drawn = contrasts(noise.astype(np.float64)).ravel()
        self._simulated += np.bincount(self._order, found**2)
        self._common += np.bincount(self._order, found * drawn)
        self._redraws += 1

    def calibration(self) -> Calibration:
        """The ratios that all of it gives. Requires: a redraw was added."""
        simulated = np.maximum(self._simulated / self._redraws, 1e-9)
        shown = self._seen - self._sizes * self._variance + 2 * self._common / self._redraws
        doubt = self._variance * np.sqrt(2 * self._sizes)
        return Calibration(tuple(_drawn_together(shown, simulated, doubt)))

    def _squares(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = np.bincount(self._order, contrasts(table).ravel() ** 2)
        return squares.astype(np.float64)


def _drawn_together(
    shown: NDArray[np.float64], simulated: NDArray[np.float64], doubt: NDArray[np.float64]
) -> list[float]:
    """The ratio of every order: its own and the common one, weighed by how well each is known."""
    common = 1.0
    least = math.inf
    for top in range(1, len(shown)):
        below = slice(1, top + 1)
        total = float(simulated[below].sum())
        error = math.sqrt(float((doubt[below] ** 2).sum())) / total
        if error < least:
            least, common = error, max(1.0, float(shown[below].sum()) / total)
        if error <= KNOWN_TO:
            break
    found = []
    for own, size, error in zip(shown, simulated, doubt, strict=True):
        weight = 1 / (1 + (float(error / size) / SPREAD) ** 2)
        found.append(max(1.0, weight * float(own / size) + (1 - weight) * common))
    return found
