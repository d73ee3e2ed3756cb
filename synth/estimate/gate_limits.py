"""How far true counts can be from noisy sums: limits that noise passes with a given small chance.

All limits are upper bounds of the tail (Chernoff), never approximations of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from synth.planning.noise_sums import LARGEST_RATE, chernoff, laplace_cumulant, laplace_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

_TILTS = 256
_KNOWN = 4096
"""Limits that are kept: of thousands of tables many have one noise and one number of cells."""
_NO_DUAL = 4.0
"""From this variance on, the other terms of Poisson's formula are lost in the last digit."""


def sum_limit(event: TableEvent, noises: int, miss: float) -> float:
    """An h with P(|S| > h) <= miss for the sum S of so many noises of a table.

    Laplace noise: Chernoff's bound with the moments of the exact law. Gaussian noise: the discrete
    Gaussian is sub-Gaussian with its sigma (Canonne, Kamath, Steinke 2020), and so are sums.
    """
    noises *= event.summed
    if event.mechanism == GAUSSIAN:
        return math.sqrt(2.0 * noises * float(event.sigma_squared) * math.log(2.0 / miss))
    return _laplace_sum_limit(_rate(event), noises, miss)


@lru_cache(maxsize=_KNOWN)
def _laplace_sum_limit(rate: float, noises: int, miss: float) -> float:
    if noises == 1:  # P(|Z| > h) = 2 a^(h+1) / (1 + a)
        return max(0.0, -math.log(miss * (1.0 + math.exp(-rate)) / 2.0) / rate)
    return chernoff(rate, noises, miss / 2.0)


def spread_limit(event: TableEvent, noises: int, miss: float) -> float:
    """An h that the spread of the noises of so many cells exceeds with a chance of `miss` at most.

    The spread is the sum of the absolute noises of a Laplace table, and that of the squared ones of
    a Gaussian table: each law has moments of the one and not, or not so simply, of the other.
    """
    if event.mechanism == GAUSSIAN:
        if event.summed > 1:
            return (
                _gaussian_sums_spread_limit(noises, miss)
                * event.summed
                * float(event.sigma_squared)
            )
        return _gaussian_spread_limit(float(event.sigma_squared), noises, miss)
    if event.summed > 1:
        return _laplace_sums_spread_limit(_rate(event), event.summed, noises, miss)
    return _laplace_spread_limit(_rate(event), noises, miss)


@lru_cache(maxsize=_KNOWN)
def _gaussian_spread_limit(variance: float, noises: int, miss: float) -> float:
    own = _log_theta(variance)

    def cumulant(tilt: float) -> float:
        # E exp(s Z^2) is a quotient of two sums of exp(-k^2 / 2 v) over all whole numbers k
        share = tilt / (2.0 * variance)
        wider = 1.0 / (1.0 / variance - 2.0 * share)
        return _log_theta(wider) - own

    return _least(cumulant, noises, miss, scale=1.0 / (2.0 * variance))


@lru_cache(maxsize=_KNOWN)
def _laplace_spread_limit(rate: float, noises: int, miss: float) -> float:
    def cumulant_of_absolute(tilt: float) -> float:
        # E exp(t |Z|) = (1 - a) / (1 + a) (1 + a e^t) / (1 - a e^t)
        tilted = math.exp(rate * (tilt - 1.0))
        a = math.exp(-rate)
        return math.log((1.0 - a) / (1.0 + a) * (1.0 + tilted) / (1.0 - tilted))

    return _least(cumulant_of_absolute, noises, miss, scale=rate)


@lru_cache(maxsize=_KNOWN)
def _gaussian_sums_spread_limit(noises: int, miss: float) -> float:
    """That of variance 1: of sub-Gaussian Z is E exp(s Z^2) at most that of a normal number."""
    return _least(lambda tilt: -0.5 * math.log1p(-tilt), noises, miss, scale=0.5)


@lru_cache(maxsize=_KNOWN)
def _laplace_sums_spread_limit(rate: float, summed: int, noises: int, miss: float) -> float:
    deviation = math.sqrt(summed * laplace_variance(rate))

    def cumulant_of_absolute(tilt: float) -> float:
        # e^(t |S|) = 2 cosh(t S) - e^(-t |S|), and E e^(-t |S|) >= e^(-t E |S|) >= e^(-t sd)
        share = tilt * rate
        of_sum = summed * laplace_cumulant(rate, share)
        return of_sum + math.log(2.0 - math.exp(-share * deviation - of_sum))

    return _least(cumulant_of_absolute, noises, miss, scale=rate)


def too_few(expected: float, miss: float) -> float:
    """A number that a sum of independent rare events falls below with a chance of `miss` at most.

    Chernoff: P(X <= (1 - d) m) <= exp(-m d^2 / 2) for the mean m.
    """
    if expected <= 0.0:
        return 0.0
    return max(0.0, expected - math.sqrt(2.0 * expected * math.log(1.0 / miss)))


def rounding_allowance(
    published: NDArray[np.float64], runs: float, miss: float
) -> NDArray[np.float64]:
    """How far whole counts may be from the fitted ones because they are whole.

    Systematic rounding keeps every run of cells in order to within one: a sum over `runs` runs is
    off by `runs` at most. It also keeps every expectation, and what is rounded has a variance of
    at most its own size: Bernstein's bound for as many independent cells, in which a single
    offset errs less, and balanced rounding still less. The smaller of the two.
    """
    log = math.log(2.0 / miss)
    return np.minimum(runs, np.sqrt(2.0 * (published + 1.0) * log) + log / 3.0)


def _rate(event: TableEvent) -> float:
    return min(float(1 / event.noise_scale_records), LARGEST_RATE)


def _least(cumulant: Callable[[float], float], noises: int, miss: float, *, scale: float) -> float:
    """The least of (n log E exp(t scale X) - log miss) / (t scale) over tilts 0 < t < 1."""
    return min(
        (noises * cumulant(tilt) - math.log(miss)) / (tilt * scale) for tilt in _tilts(noises)
    )


def _tilts(noises: int) -> list[float]:
    """Tilts from near 0, where many noises have their best one, to near 1."""
    smallest = 0.01 / math.sqrt(noises)
    step = math.log(0.999 / smallest) / (_TILTS - 1)
    return [smallest * math.exp(step * i) for i in range(_TILTS)]


def _log_theta(variance: float) -> float:
    """Log of the sum of exp(-k^2 / (2 v)) over all whole k; Poisson's formula for large v."""
    if variance < 1.0:
        terms = (math.exp(-(k**2) / (2.0 * variance)) for k in range(1, 60))
        return math.log1p(2.0 * math.fsum(terms))
    if variance >= _NO_DUAL:
        return 0.5 * math.log(2.0 * math.pi * variance)
    dual = math.fsum(math.exp(-2.0 * math.pi**2 * variance * k**2) for k in range(1, 4))
    return 0.5 * math.log(2.0 * math.pi * variance) + math.log1p(2.0 * dual)
