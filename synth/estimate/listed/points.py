"""Points drawn from the latent classes, in an even, repeatable way and in whole numbers.

A class has as many points as its share says, and every attribute in it as many points of each code
as its law says: whole numbers that carry what was rounded on to the next class, so that the counts
of single attributes are right to a record or two. Which point of the class has which code is
decided by a Kronecker sequence: point i has for attribute j the number u = frac(i alpha_j + s_j),
and the points with the smallest numbers have the first codes. It fills the unit cube more evenly
than chance (Kuipers, Niederreiter 1974), unless whole multiples of two alphas nearly agree; such
alphas are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.domain import Conjunction, Universe
from synth.domain.counts import code_type, inside
from synth.estimate.listed.classes import ONE_BITS, Classes

Ints = NDArray[np.int64]

_THREADS = 2
_MULTIPLES = 12
"""Multiples of two alphas up to this one are compared."""
_LEAST_APART = 1e-3
"""How far k alpha and l beta must be apart, around the circle, times k l; less for many alphas."""
_APART_FOR_ALL = 0.03
_EXCHANGES = 8
"""How often a point that completes a rule looks for another one, first inside its class."""
_CODES_AT_ONCE = 1 << 22


def drawn_points(model: Classes, universe: Universe, seed: int, points: int) -> list[NDArray[Any]]:
    """The codes of so many points, one array per attribute, class by class.

    Where the last attribute of an impossible rule is drawn, a point that matches the rest of it
    cannot have the codes that would complete it: it exchanges its code with another point, so that
    the counts of the attribute stay, or is given a new one where it finds none to exchange with.

    Ensures: as many points, and none on an impossible cell but where the codes of other attributes
    leave no code that is possible. A function of whole numbers alone.
    """
    kind = code_type(universe.shape)
    generator = np.random.Philox(key=seed)
    shifts = generator.random_raw(len(model.laws) + 1)
    steps = steady_steps(len(model.laws))
    ends = (np.cumsum(model.shares) * points + (int(shifts[-1]) >> 64 - ONE_BITS)) >> ONE_BITS
    starts = np.concatenate([[0], ends])
    numbers = np.arange(points, dtype=np.uint64)

    def draw(axis: int) -> NDArray[Any]:
        words = numbers * np.uint64(steps[axis]) + shifts[axis]
        column = np.empty(points, dtype=kind)
        quotas = quotas_of(model.laws[axis], np.diff(starts))
        codes = np.arange(universe.shape[axis], dtype=kind)
        for (start, end), quota in zip(pairwise(starts), quotas, strict=True):
            if end > start:
                column[start + np.argsort(words[start:end])] = np.repeat(codes, quota)
        return column

    columns: list[NDArray[Any]] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for axis, column in enumerate(pool.map(draw, range(len(model.laws)))):
            columns.append(column)
            rules = tuple(rule for rule in universe.impossible if _last(universe, rule) == axis)
            if rules:
                fixed = _Conditioning(columns, rules, universe, starts, generator)
                fixed.apply(model.laws[axis])
            progress.advance(len(columns) * points, len(model.laws) * points, "cells")
    return columns


def quotas_of(law: Ints, sizes: Ints) -> Iterator[Ints]:
    """How many points of each code every class has: `sizes[k]` in all, in proportion to `law[k]`.

    What is left when a class is rounded, up by the largest remainders, goes on to the next one.

    Ensures: whole numbers >= 0; up to every class, the points of a code are right to within a
    record or two, and to within one over all classes wherever no law is small.
    """
    carried = np.zeros(law.shape[1], dtype=np.int64)
    for shares, size in zip(law, sizes, strict=True):
        owed = carried + shares * int(size)
        quota = np.maximum(owed >> ONE_BITS, 0)
        while (missing := int(size - quota.sum())) != 0:
            left = owed - (quota << ONE_BITS)
            if missing > 0:
                quota[np.argsort(-left, kind="stable")[:missing]] += 1
            else:
                held = np.flatnonzero(quota)
                quota[held[np.argsort(left[held], kind="stable")[:-missing]]] -= 1
        carried = owed - (quota << ONE_BITS)
        yield quota


def _last(universe: Universe, rule: Conjunction) -> int:
    """The last attribute that the rule names."""
    return max((universe.names.index(name) for name in rule.codes), default=-1)


@dataclass(frozen=True, eq=False)
class _Conditioning:
    """The rules whose last attribute is the one just drawn, in place for the points so far.

    `starts` are those of the classes and the end of the last one.
    """

    columns: list[NDArray[Any]]
    rules: tuple[Conjunction, ...]
    universe: Universe
    starts: Ints
    generator: np.random.Philox

    def apply(self, law: Ints) -> None:
        """Exchange codes inside classes, then between them; `law` gives new codes to the rest."""
        column = self.columns[-1]
        left = self._completing(np.arange(column.size), column)
        for _ in range(_EXCHANGES):
            left = self._exchange(left, within=True)
        for _ in range(_EXCHANGES):
            left = self._exchange(left, within=False)
        step = max(1, _CODES_AT_ONCE // law.shape[1])
        for begin in range(0, left.size, step):
            self._renew(left[begin : begin + step], law)

    def _completing(self, places: Ints, codes: NDArray[Any]) -> Ints:
        """Those of the places where a rule would hold in full with these codes."""
        found = np.zeros(places.size, dtype=bool)
        own = [*(column[places] for column in self.columns[:-1]), codes]
        for rule in self.rules:
            found |= inside(own, self.universe, rule)
        return places[found]

    def _below(self, limits: Ints) -> Ints:
        """Random whole numbers from 0 on, below these limits (of at most 2^31)."""
        words = self.generator.random_raw(limits.size) >> np.uint64(64 - ONE_BITS)
        return np.asarray((words.astype(np.int64) * limits) >> ONE_BITS)

    def _exchange(self, places: Ints, *, within: bool) -> Ints:
        """Exchange codes with other points wherever both are possible then; who is left."""
        if not places.size:
            return places
        column = self.columns[-1]
        if within:
            classes = np.searchsorted(self.starts, places, side="right")
            first = self.starts[classes - 1]
            others = first + self._below(self.starts[classes] - first)
        else:
            others = self._below(np.full(places.size, column.size))
        others, chosen = np.unique(others, return_index=True)
        free = ~np.isin(others, places)
        others, asking = others[free], places[chosen[free]]
        refused = np.isin(asking, self._completing(asking, column[others]))
        refused |= np.isin(others, self._completing(others, column[asking]))
        asking, others = asking[~refused], others[~refused]
        column[asking], column[others] = column[others], column[asking]
        return np.setdiff1d(places, asking, assume_unique=True)

    def _renew(self, places: Ints, law: Ints) -> None:
        """Draw codes by the law of the class among those that complete no rule."""
        own = [column[places] for column in self.columns]
        chance = law[np.searchsorted(self.starts, places, side="right") - 1] + 1
        name = self.universe.names[len(own) - 1]
        for rule in self.rules:
            rest = {other: codes for other, codes in rule.codes.items() if other != name}
            matching = np.flatnonzero(inside(own, self.universe, Conjunction(rest)))
            chance[np.ix_(matching, np.asarray(rule.codes[name]))] = 0
        running = np.cumsum(chance, axis=1)
        wanted = self._below(running[:, -1])
        found = (running <= wanted[:, None]).sum(axis=1)
        possible = running[:, -1] > 0
        self.columns[-1][places[possible]] = found[possible]


@lru_cache(maxsize=8)
def steady_steps(number: int) -> tuple[int, ...]:
    """The alphas times 2^64: fractional parts of square roots of primes, the first that are fit."""
    least = min(_LEAST_APART, _APART_FOR_ALL / max(1, number)) * 2.0**64
    multiples = np.arange(1, _MULTIPLES + 1, dtype=np.uint64)
    taken = np.zeros((0, _MULTIPLES), dtype=np.uint64)
    steps: list[int] = []
    for prime in _primes():
        if len(steps) == number:
            break
        step = math.isqrt(prime << 128) % (1 << 64)
        own = np.uint64(step) * multiples
        products = multiples[:, None] * multiples
        fit = True
        for difference in (
            taken[:, :, None] - own[None, None, :],
            taken[:, :, None] + own[None, None, :],
        ):
            apart = np.minimum(difference, np.uint64(0) - difference).astype(np.float64)
            fit = fit and bool((apart * products >= least).all())
        if fit:
            steps.append(step)
            taken = np.vstack([taken, own])
    return tuple(steps)


def _primes() -> Iterator[int]:
    return (n for n in count(2) if all(n % d for d in range(2, math.isqrt(n) + 1)))
