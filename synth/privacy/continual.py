"""Counting that goes on: which sums of periods get noise, and how the count so far follows.

Let x_j be the counts of one table over the records of period j = 1, ..., T. The release of period
t needs x_1 + ... + x_t, for every t. A factorization says which *nodes*, sums of periods with whole
weights, are counted and get noise at period t, and which weighted sum of the nodes so far is the
cumulative count. Its horizon T is fixed beforehand, and so is the charge of all its nodes together.

Two kinds:

* `Tree`: a node of level l is the sum of arity^l consecutive periods, aligned. The cumulative count
  is the sum of the fewest nodes that cover the periods so far (Chan, Shi, Song 2011; Dwork, Naor,
  Pitassi, Rothblum 2010). With an arity above the horizon there is one level: the increments.
* `Toeplitz`, for Gaussian noise alone: the node of period t is the sum over j <= t of c_(t-j) x_j,
  c the coefficients of (1 - z)^(-1/2), times a scale and rounded: the square root of the matrix of
  prefix sums (Fichtenberger, Henzinger, Upadhyay 2023; Henzinger, Upadhyay, Upadhyay 2023).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.privacy.accounting import GAUSSIAN, LAPLACE, TableEvent

MOST_PERIODS = 1000
"""No horizon is longer."""
_FACTOR_STEPS = 1 << 20
"""A factor of a variance is rounded up to a multiple of one over this."""
_ROUNDED = Fraction(1, 12)
"""The variance of what rounding to whole numbers leaves."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Node:
    """One weighted sum of periods, counted and noised once.

    `period` is the period of the horizon, from 1, at whose end it is measured; `weights` are pairs
    (period of the horizon, whole weight of at least 1), ascending, none after `period`.
    """

    period: int
    weights: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Factorization(ABC):
    """Which nodes are measured over a horizon, and what each release is made of.

    Privacy: let a table be charged `event`, and let every node of it be measured with independent
    noise of `node_event(event)`. Then all nodes of the horizon together cost at most `event`:
    pure epsilon-DP for Laplace noise, rho-zCDP for Gaussian noise, for add-remove neighbours. The
    proof is in docs/privacy.md, step 14; in short, for one record of period j, and s = 1:

    * A node counts a record of period j `weight_j` times in one cell, whichever that is when it
      is counted, and not at all if j has weight 0 in it. So the record moves that node by
      weight_j in L1 and in L2 norm. That holds too if the record's other values were corrected
      between two nodes, or if it came after some of them: it is missing there.
    * Tree: a record is in at most one node of each of the `levels`, with weight 1, and each node
      costs a level's share of the budget.
    * Toeplitz: the squared changes of all nodes are c_0^2 + c_1^2 + ... over the periods from j
      on, at most `column_norm_squared`, for which the noise is made.
    * A person's records of the horizon are at most m in every node's count, those of the first
      periods first (`PeriodSelection.bounded_from`). If rows are only added, his i-th record is of
      no later period in a later node, so that all nodes of a level hold at most m of them, and,
      because c falls, the changes by his i-th record are at most c_0, c_1, ... from its first
      node on: together m times those of a record, by the triangle inequality.
    * Budgets of nodes are fixed, so they compose whatever was published meanwhile.

    Requires: a record keeps its period; one whose period changes counts as two. For persons no row
    is deleted: one that is makes room for another, which counts as one more.
    Raises: ValueError for a horizon or a parameter that is not allowed.
    """

    horizon: int

    def __post_init__(self) -> None:
        _check_horizon(self.horizon)

    @abstractmethod
    def nodes_at(self, period: int) -> tuple[Node, ...]:
        """The nodes that are measured at the end of a period of the horizon, in order."""

    @abstractmethod
    def node_event(self, event: TableEvent) -> TableEvent:
        """The noise of one node of a table that is charged `event` for the whole horizon."""

    @abstractmethod
    def cumulative_event(
        self, event: TableEvent, period: int, *, finished_cycles: int = 0
    ) -> TableEvent:
        """The law of the noise of the cumulative count, after so many horizons that ended.

        It is no charge: its budget is that of a table with as much noise.
        """

    @abstractmethod
    def variance(self, period: int, mechanism: str) -> Fraction:
        """That of the noise of a cumulative count, in units of one table with the whole budget.

        In the limit of wide noise; `noise_variance(cumulative_event(...))` is exact.
        """

    @abstractmethod
    def weights_at(self, period: int) -> tuple[tuple[int, Fraction], ...]:
        """Which nodes the cumulative count is the sum of: pairs (number of the node, weight).

        Nodes are numbered from 0 in the order in which they are measured.
        """

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """JSON values."""

    @staticmethod
    def from_plain(plain: Any) -> Factorization:
        """Read a factorization back; raises KeyError, TypeError or ValueError if it is damaged.

        Ensures: `to_plain` of the result is `plain`.
        """
        if type(plain) is not dict:
            raise ValueError("a factorization is not an object")
        found: Factorization
        if plain["kind"] == Tree.kind:
            found = Tree(plain["horizon"], plain["arity"])
        elif plain["kind"] == Toeplitz.kind:
            found = Toeplitz(plain["horizon"], plain["scale"])
        else:
            raise ValueError("a factorization is of a kind that is not known")
        if found.to_plain() != plain:
            raise ValueError("a factorization has one written form")
        return found

    def mean_variance(self, mechanism: str) -> Fraction:
        """The mean of `variance` over the horizon."""
        every = (self.variance(period, mechanism) for period in range(1, self.horizon + 1))
        return sum(every, Fraction(0)) / self.horizon

    def nodes_until(self, period: int) -> tuple[Node, ...]:
        """All nodes that are measured up to the end of a period, in order."""
        return tuple(node for each in range(1, period + 1) for node in self.nodes_at(each))

    def combine(self, noisy_counts: Sequence[Ints], period: int) -> Ints:
        """The noisy cumulative counts after `period` of a horizon, after others that ended.

        `noisy_counts` are those of all nodes, of whole horizons that ended first, in order.

        Ensures: the same whole numbers on every machine: floating point numbers are multiplied
        and added cell by cell, in the order of the nodes, and rounded once.
        Raises: ValueError for another number of nodes.
        """
        self._check(period)
        each, now = len(self.nodes_until(self.horizon)), len(self.nodes_until(period))
        cycles, beyond = divmod(len(noisy_counts) - now, each)
        if cycles < 0 or beyond:
            raise ValueError("the nodes are not those of whole horizons and the periods so far")
        weights = [
            (cycle * each + number, weight)
            for cycle in range(cycles + 1)
            for number, weight in self.weights_at(self.horizon if cycle < cycles else period)
        ]
        if all(weight == 1 for _, weight in weights):
            counts = np.zeros_like(noisy_counts[0], dtype=np.int64)
            for number, _ in weights:
                counts += noisy_counts[number]
            return counts
        summed = np.zeros(noisy_counts[0].shape, dtype=np.float64)
        for number, weight in weights:
            summed += float(weight) * noisy_counts[number].astype(np.float64)
        return np.rint(summed).astype(np.int64)

    def _check(self, period: int) -> None:
        if type(period) is not int or not 1 <= period <= self.horizon:
            raise ValueError("the period lies outside the horizon")


def _check_horizon(horizon: int) -> None:
    if type(horizon) is not int or not 1 <= horizon <= MOST_PERIODS:
        raise ValueError(f"a horizon has 1 to {MOST_PERIODS} periods")


def _check_charged(event: TableEvent) -> None:
    if event.threshold is not None:
        raise ValueError("a list of cells cannot be added up over periods")


@dataclass(frozen=True)
class Tree(Factorization):
    """Sums of `arity`^l consecutive periods, for every level l that fits the horizon.

    Privacy: see `Factorization`. Each level has an equal share of the budget.
    """

    arity: int
    kind = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.arity) is not int or not 2 <= self.arity <= self.horizon + 1:
            raise ValueError("the arity of a tree is 2 at least, and at most the horizon and one")

    @cached_property
    def levels(self) -> int:
        """In how many nodes a record is at most: floor(log_arity(horizon)) + 1."""
        levels = 1
        while self.arity**levels <= self.horizon:
            levels += 1
        return levels

    def nodes_at(self, period: int) -> tuple[Node, ...]:
        """One node of every level whose number of periods divides the period; the lowest first."""
        self._check(period)
        sizes = (self.arity**level for level in range(self.levels))
        return tuple(
            Node(period, tuple((each, 1) for each in range(period - size + 1, period + 1)))
            for size in sizes
            if period % size == 0
        )

    def summed_nodes(self, period: int) -> int:
        """How many nodes a cumulative count is the sum of: digits of the period, added up.

        The digit of the top level may be the arity or more.
        """
        self._check(period)
        return _digit_sum(period, self.arity, self.levels)

    def node_event(self, event: TableEvent) -> TableEvent:
        """See `Factorization`: the budget over the number of levels."""
        _check_charged(event)
        if event.rho is not None:
            return replace(event, rho=event.rho / self.levels)
        if event.epsilon is not None:
            return replace(event, epsilon=event.epsilon / self.levels)
        raise ValueError("a table has a budget")

    def cumulative_event(
        self, event: TableEvent, period: int, *, finished_cycles: int = 0
    ) -> TableEvent:
        """See `Factorization`: so many independent noises of nodes, added up."""
        nodes = finished_cycles * self.summed_nodes(self.horizon) + self.summed_nodes(period)
        return replace(self.node_event(event), summed=nodes)

    def variance(self, period: int, mechanism: str) -> Fraction:
        """See `Factorization`: the nodes that are summed, each with a share of the budget."""
        shares = self.levels if mechanism == GAUSSIAN else self.levels**2
        return Fraction(self.summed_nodes(period) * shares)

    def weights_at(self, period: int) -> tuple[tuple[int, Fraction], ...]:
        """See `Factorization`: the largest nodes first that begin where the last one ended."""
        self._check(period)
        places = {
            (node.period, len(node.weights)): number
            for number, node in enumerate(self.nodes_until(period))
        }
        found, end = [], 0
        for level in reversed(range(self.levels)):
            size = self.arity**level
            while end + size <= period:
                end += size
                found.append((places[end, size], Fraction(1)))
        return tuple(found)

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {"kind": self.kind, "horizon": self.horizon, "arity": self.arity}


def _digit_sum(period: int, arity: int, levels: int) -> int:
    digits, left = 0, period
    for level in reversed(range(levels)):
        digits += left // arity**level
        left %= arity**level
    return digits


@dataclass(frozen=True)
class Toeplitz(Factorization):
    """Sums of all periods so far, weighted by their age: the root of the matrix of prefix sums.

    `scale` is what the weights of (1 - z)^(-1/2) are multiplied by before they are rounded.

    Privacy: see `Factorization`. Gaussian noise alone.
    """

    scale: int
    kind = "toeplitz"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.scale) is not int or not 1 <= self.scale <= 1 << 16:
            raise ValueError("the scale of a factorization is a whole number up to 65536")

    @property
    def ages(self) -> tuple[int, ...]:
        """The weight of a period in the node of its own, the next, ... period; never rising."""
        return _rounded_root(self.horizon, self.scale)

    @property
    def column_norm_squared(self) -> int:
        """How far one record moves all nodes together, squared: that of the first period."""
        return sum(weight**2 for weight in self.ages)

    def nodes_at(self, period: int) -> tuple[Node, ...]:
        """One node of all periods so far."""
        self._check(period)
        ages = self.ages
        weights = tuple((each, ages[period - each]) for each in range(1, period + 1))
        return (Node(period, weights),)

    def node_event(self, event: TableEvent) -> TableEvent:
        """See `Factorization`: the whole budget, and the sensitivity of all nodes together."""
        _check_charged(event)
        if event.sensitivity_l2_squared is None:
            raise ValueError("weighted sums of periods are for Gaussian noise alone")
        wide = event.sensitivity_l2_squared * self.column_norm_squared
        return replace(event, sensitivity_l2_squared=wide)

    def cumulative_event(
        self, event: TableEvent, period: int, *, finished_cycles: int = 0
    ) -> TableEvent:
        """See `Factorization`: one discrete Gaussian of the same variance, rounded up.

        The sum of weighted discrete Gaussians is rounded to whole numbers, which adds 1/12 of a
        record squared. How close the law is to it: `tests/exact/test_continual.py`.
        """
        self._check(period)
        _check_charged(event)
        if event.rho is None or event.sensitivity_l2_squared is None:
            raise ValueError("weighted sums of periods are for Gaussian noise alone")
        factor = finished_cycles * self._factors[-1] + self._factors[period - 1]
        sigma_squared = event.sigma_squared * factor + _ROUNDED
        return replace(event, rho=event.sensitivity_l2_squared / (2 * sigma_squared))

    def variance(self, period: int, mechanism: str) -> Fraction:
        """See `Factorization`."""
        self._check(period)
        if mechanism != GAUSSIAN:
            raise ValueError("weighted sums of periods are for Gaussian noise alone")
        return self._factors[period - 1]

    def weights_at(self, period: int) -> tuple[tuple[int, Fraction], ...]:
        """See `Factorization`: the coefficients of 1 / ((1 - z) c(z)), the last node first in it.

        The nodes are c * x (convolution over periods) and the cumulative counts 1/(1 - z) * x.
        """
        self._check(period)
        powers = _inverse_numerators(self.horizon, self.scale)
        return tuple(
            (node - 1, Fraction(powers[period - node], self.scale ** (period - node + 1)))
            for node in range(1, period + 1)
        )

    def to_plain(self) -> dict[str, Any]:
        """JSON values."""
        return {"kind": self.kind, "horizon": self.horizon, "scale": self.scale}

    @property
    def _factors(self) -> tuple[Fraction, ...]:
        """The variance of the cumulative counts over that of a table with the whole budget.

        Rounding: up, to multiples of 2^-20.
        """
        return _variance_factors(self.horizon, self.scale)


@lru_cache(maxsize=64)
def _rounded_root(horizon: int, scale: int) -> tuple[int, ...]:
    """round(scale binom(2k, k) / 4^k) for k = 0, 1, ..., at least 1. Rounding: to the nearest."""
    exact, found = Fraction(scale), []
    for k in range(horizon):
        found.append(max(1, round(exact)))
        exact *= Fraction(2 * k + 1, 2 * k + 2)
    return tuple(found)


@lru_cache(maxsize=64)
def _inverse_numerators(horizon: int, scale: int) -> tuple[int, ...]:
    """W_k = scale^(k + 1) w_k for the power series w(z) = 1 / ((1 - z) c(z)).

    c(z) w(z) = 1 / (1 - z) says: the sum over j = 0..k of c_j w_(k-j) is 1, with c_0 = scale.
    """
    ages = _rounded_root(horizon, scale)
    found: list[int] = []
    for k in range(horizon):
        known = 0  # the sum over j of c_j W_(k-j) scale^(j - 1), the last j first
        for j in range(k, 0, -1):
            known = known * scale + ages[j] * found[k - j]
        found.append(scale**k - known)
    return tuple(found)


@lru_cache(maxsize=64)
def _variance_factors(horizon: int, scale: int) -> tuple[Fraction, ...]:
    norm = sum(age**2 for age in _rounded_root(horizon, scale))
    numerators = _inverse_numerators(horizon, scale)
    factors, summed, step = [], 0, scale**2
    for k, numerator in enumerate(numerators):
        summed = summed * step + numerator**2  # over scale^(2 (k + 1))
        up = -(-_FACTOR_STEPS * norm * summed // step ** (k + 1))
        factors.append(Fraction(up, _FACTOR_STEPS))
    return tuple(factors)


def rounded_scale(horizon: int) -> int:
    """The power of two that weights are multiplied by: the smallest that is large enough.

    The last weight is about scale / sqrt(pi horizon); with a scale of 1.5 sqrt(horizon) at least,
    and of 8 at least, the variances are within 0.5 % of those without rounding.
    """
    return max(8, 1 << math.ceil(math.log2(1.5 * math.sqrt(horizon))))


@lru_cache(maxsize=64)
def choose_factorization(mechanism: str, horizon: int) -> Factorization:
    """The factorization whose cumulative counts have the least mean variance over the horizon.

    Among trees of every arity and, where every table has Gaussian noise, a Toeplitz matrix.

    Privacy: a function of public numbers. `mechanism` is that of the tables; with tables of both,
    `discrete-laplace`.
    Raises: ValueError for a mechanism whose tables are not added up, or a horizon out of range.
    """
    if mechanism not in (LAPLACE, GAUSSIAN):
        raise ValueError(f"tables of {mechanism!r} are not added up over periods")
    _check_horizon(horizon)
    arity = min(range(2, horizon + 2), key=lambda each: _mean_of_tree(each, horizon, mechanism))
    best: Factorization = Tree(horizon, arity)
    if mechanism == GAUSSIAN:
        root = Toeplitz(horizon, rounded_scale(horizon))
        if root.mean_variance(mechanism) < best.mean_variance(mechanism):
            return root
    return best


def _mean_of_tree(arity: int, horizon: int, mechanism: str) -> int:
    """The mean variance times the horizon."""
    levels = Tree(horizon, arity).levels
    left, digits = np.arange(1, horizon + 1), 0
    for level in reversed(range(levels)):
        digits += int((left // arity**level).sum())
        left = left % arity**level
    return digits * (levels if mechanism == GAUSSIAN else levels**2)


def factorization_of(events: Sequence[TableEvent], horizon: int) -> Factorization:
    """The chosen factorization of tables that are charged these events."""
    gaussian = all(event.mechanism == GAUSSIAN for event in events)
    return choose_factorization(GAUSSIAN if gaussian else LAPLACE, horizon)
