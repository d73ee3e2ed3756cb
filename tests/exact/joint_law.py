"""The joint law of all noisy counts of two runs, and how far it lets them be told apart.

Given the words, cells are independent, and a cell whose count is the same in both runs has the
same law in both. Of the others, with noise X and counts that differ by d, outputs are merged into
classes of equal ratio P / Q, for all cells with one law together:

    discrete Laplace   ratio alpha^-key           key = |X - d| - |X|
    discrete Gaussian  ratio exp(rate * key)      key = (X - d)^2 - X^2

so nothing is lost. Masses come from the law's own `pmf` and `cdf_bounds`. Laplace outputs are all
in a class. Gaussian ones beyond a window are counted as lost altogether: less than 10^-30 for each
cell. Masses are floats with a relative error below 10^-12: they are sums and products of
positive numbers, each rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from synth.noise import DiscreteGaussian, DiscreteLaplace

BITS = 320
BEYOND = Fraction(1, 10**30)
"""At most this much of a Gaussian lies beyond its window, on either side of a shift too."""
RARE = 1e-16
"""Classes of this probability or less count as lost altogether."""
ROUNDING = 1e-12

Law = DiscreteLaplace | DiscreteGaussian
Changes = tuple[tuple[Law, tuple[int, ...]], ...]
"""For each law the amounts, sorted, by which the counts of its cells differ."""


def changes(one: Iterable[Any], other: Iterable[Any]) -> Changes:
    """How the measured tables of two runs differ.

    Raises: AssertionError if the laws of their noise do: they may not depend on the data.
    """
    found: dict[Law, list[int]] = {}
    for (law, counts), (same, others) in zip(one, other, strict=True):
        assert (law, len(counts)) == (same, len(others)), "the plan depends on the data"
        apart = (b - a for a, b in zip(counts, others, strict=True))
        found.setdefault(law, []).extend(d for d in apart if d)
    return tuple((law, tuple(sorted(all_))) for law, all_ in found.items())


@cache
def largest_cell_ratio(law: DiscreteLaplace, d: int) -> Fraction:
    """sup P / Q for one cell: beyond 0 and d the ratio no longer changes."""
    reach = abs(d) + 2
    ratios = [law.pmf(x) / law.pmf(x - d) for x in range(-reach, reach + 1)]
    assert ratios[:1] + ratios[-1:] == [ratios[1], ratios[-2]], "the ratio is not constant there"
    return max(ratios)


def largest_ratio(all_changes: Changes) -> Fraction:
    """sup P / Q over all outputs of all tables together, for discrete Laplace noise."""
    return math.prod(
        (largest_cell_ratio(law, d) for law, amounts in all_changes for d in amounts),
        start=Fraction(1),
    )


@dataclass(frozen=True)
class Classes:
    """Outputs by their key, `first` being that of the first entries."""

    first: int
    p: np.ndarray
    q: np.ndarray

    def and_then(self, other: Classes) -> Classes:
        """The classes of both together, which are independent."""
        return Classes(
            self.first + other.first,
            np.convolve(self.p, other.p),
            np.convolve(self.q, other.q),
        )


def _classes(masses: dict[int, tuple[Any, Any]]) -> Classes:
    first, last = min(masses), max(masses)
    p, q = np.zeros((2, last - first + 1))
    for key, (one, other) in masses.items():
        p[key - first], q[key - first] = float(one), float(other)
    return Classes(first, p, q)


@cache
def cell_classes(law: Law, d: int) -> Classes:
    """The classes of one cell whose count is `d` higher in the other run."""
    masses: dict[int, tuple[Any, Any]] = {}
    if isinstance(law, DiscreteLaplace):
        low, high = min(0, d), max(0, d)
        masses[abs(low - d) - abs(low)] = law.cdf(low), law.cdf(low - d)
        for x in range(low + 1, high):
            masses[abs(x - d) - abs(x)] = law.pmf(x), law.pmf(x - d)
        masses[abs(high - d) - abs(high)] = 1 - law.cdf(high - 1), 1 - law.cdf(high - d - 1)
        return _classes(masses)
    reach = window(law)
    low, high = -reach - abs(d) - 1, reach + abs(d) + 1
    below = [law.cdf_bounds(x, BITS)[0] for x in range(low - abs(d) - 1, high + abs(d) + 1)]
    pmf = dict(enumerate(np.diff(np.array(below, dtype=object)), low - abs(d)))
    for x in range(low, high + 1):
        parts = (Fraction(int(pmf[y]), 1 << BITS) for y in (x, x - d))
        masses[(x - d) ** 2 - x**2] = tuple(parts)
    return _classes(masses)


@cache
def window(law: DiscreteGaussian) -> int:
    """The reach beyond which at most BEYOND of the noise lies."""
    return law.half_width(1 - BEYOND)


def log_ratio(law: Law) -> float:
    """The loss of a key of 1."""
    return float(law.rate) if isinstance(law, DiscreteGaussian) else -math.log(law.alpha)


def classes_of(law: Law, amounts: tuple[int, ...]) -> Classes:
    """The classes of all cells with this law."""
    found = Classes(0, np.ones(1), np.ones(1))
    for d in amounts:
        found = found.and_then(cell_classes(law, d))
    keys = found.first + np.arange(len(found.p))
    seen = (found.p > 1e-250) & (found.q > 1e-250)
    losses = np.log(found.p[seen]) - np.log(found.q[seen])
    assert np.allclose(losses, keys[seen] * log_ratio(law), rtol=1e-9, atol=1e-9), "not one ratio"
    return found


def hockey_stick(all_changes: Changes, epsilon: Fraction) -> float:
    """sum over all outputs of max(0, P - exp(epsilon) Q): the delta at this epsilon, from above.

    Rounding: up.
    """
    p, q = np.ones(1), np.ones(1)
    beyond = 0.0
    for law, amounts in all_changes:
        found = classes_of(law, amounts)
        kept = found.p > RARE
        beyond += float(found.p[~kept].sum())
        p, q = np.outer(p, found.p[kept]).ravel(), np.outer(q, found.q[kept]).ravel()
        if isinstance(law, DiscreteGaussian):
            beyond += float(BEYOND) * len(amounts)
    growth = math.exp(epsilon)
    lost = float(np.maximum(0.0, p - growth * q).sum())
    return lost + beyond + 3 * ROUNDING * (1 + growth)


def renyi(all_changes: Changes, order: int) -> float:
    """The Renyi divergence of the joint laws, to within 10^-9 of it."""
    moments = 0.0
    for law, amounts in all_changes:
        for d in amounts:
            found = cell_classes(law, d)
            seen = found.q > 0
            p, q = found.p[seen], found.q[seen]
            moments += math.log(math.fsum(p * np.exp((order - 1) * (np.log(p) - np.log(q)))))
    return moments / (order - 1)
