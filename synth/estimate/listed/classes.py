"""The model: latent classes, in each of which the attributes are independent.

p(x) = sum over classes k of pi_k times the product over attributes j of B_k[j, x_j] (Lazarsfeld,
Henry 1968; a mixture of products). Its parameters are whole numbers, so that what is drawn from it
is drawn in whole numbers, on every machine alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.listed.penalty import PLAIN, Severity

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Columns = Sequence[NDArray[Any]]

ONE_BITS = 31
ONE = 1 << ONE_BITS
"""A share of one, in the whole numbers that hold shares."""
_BLOCK_CELLS = 1 << 22
"""Cells times classes that are looked at together."""


@dataclass(frozen=True, eq=False)
class Classes:
    """A mixture of products over all attributes, and the records that it spreads.

    Shapes and units: `shares[k]` is that of class k, `laws[j][k, x]` that of code x of attribute j
    among the records of class k; int64, in units of 1 / `ONE`. `shares` and every row of a law sum
    to `ONE`. `total` is in records. `severity` is what the fit held the classes back by.
    """

    shares: Ints
    laws: tuple[Ints, ...]
    total: float
    severity: Severity = PLAIN

    @staticmethod
    def independent(shares: Sequence[Floats], total: float) -> Classes:
        """One class: attributes with these shares that do not depend on each other."""
        laws = tuple(whole_shares(share[None, :]) for share in shares)
        return Classes(np.array([ONE]), laws, total)

    @staticmethod
    def of(
        shares: NDArray[Any],
        laws: Sequence[NDArray[Any]],
        total: float,
        severity: Severity = PLAIN,
    ) -> Classes:
        """From real numbers >= 0; each law has one row per class."""
        first = whole_shares(shares[None, :])[0]
        return Classes(first, tuple(map(whole_shares, laws)), total, severity)

    def table(self, axes: Sequence[int]) -> Floats:
        """The chances of the cells of some attributes, flat in C order.

        Of two halves of the attributes, about alike in cells, every class has a law; nothing has
        the size of all cells times the number of classes.
        """
        sizes = [self.laws[axis].shape[1] for axis in axes]
        ways = range(1, max(2, len(axes)))
        middle = min(ways, key=lambda way: max(prod(sizes[:way]), prod(sizes[way:])))
        weighted = self._laws_of(axes[:middle]) * (self.shares / ONE)[:, None]
        if len(axes) == 1:
            return np.asarray(weighted.sum(axis=0))
        others = self._laws_of(axes[middle:])
        return np.asarray(np.einsum("ka,kb->ab", weighted, others).reshape(-1))

    def _laws_of(self, axes: Sequence[int]) -> Floats:
        """By class, the chances of the cells of some attributes."""
        first, *others = ((self.laws[axis] / ONE) for axis in axes)
        for law in others:
            first = (first[:, :, None] * law[:, None, :]).reshape(self.shares.size, -1)
        return np.asarray(first)

    def log_probability(self, columns: Columns) -> Floats:
        """The log of the chance of every given cell; minus infinity where it is zero."""
        number = len(columns[0])
        found = np.empty(number)
        with np.errstate(divide="ignore"):
            logs = [np.log(law / ONE).T for law in self.laws]
            prior = np.log(self.shares / ONE)
        step = max(1, _BLOCK_CELLS // self.shares.size)
        for start in range(0, number, step):
            block = slice(start, start + step)
            each = np.broadcast_to(prior, (min(step, number - start), prior.size)).copy()
            for log, column in zip(logs, columns, strict=True):
                each += log[column[block]]
            largest = each.max(axis=1)
            finite = np.isfinite(largest)
            each = each[finite] - largest[finite, None]
            largest[finite] += np.log(np.exp(each).sum(axis=1))
            found[block] = largest
        return found


def whole_shares(shares: NDArray[Any]) -> Ints:
    """Every row in whole numbers that sum to `ONE`; what is lost goes to the largest remainders.

    Requires: numbers >= 0, some of them above zero in every row.
    """
    exact = shares.astype(np.float64)
    exact *= ONE / np.cumsum(exact, axis=1)[:, -1:]
    found = np.floor(exact).astype(np.int64)
    return found + _largest(exact - found, ONE - found.sum(axis=1))


def _largest(remainders: Floats, wanted: Ints) -> Ints:
    """One in as many places of every row as are wanted there, those of the largest remainders."""
    order = np.argsort(-remainders, axis=1, kind="stable")
    chosen = np.arange(remainders.shape[1]) < wanted[:, None]
    found = np.zeros(remainders.shape, dtype=np.int64)
    np.put_along_axis(found, order, chosen.astype(np.int64), axis=1)
    return found
