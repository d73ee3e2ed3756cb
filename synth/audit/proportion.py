"""Exact bounds of an unknown probability from a number of successes (Clopper, Pearson 1934)."""

from __future__ import annotations

SLACK = 1e-9
"""Far more than what floating point leaves open in a bound, relative to it."""


def at_least(successes: int, trials: int, miss: float) -> float:
    """A bound that is above the true probability with probability at most `miss`.

    Formula: the p for which P(Binomial(trials, p) >= successes) = miss; 0 without successes. It
    also holds for trials that depend on each other, as long as each succeeds with at most the
    true probability whatever the others gave.
    Rounding: down.
    """
    from scipy.stats import beta

    if not successes:
        return 0.0
    return float(beta.ppf(miss, successes, trials - successes + 1)) * (1 - SLACK)


def at_most(successes: int, trials: int, miss: float) -> float:
    """A bound that is below the true probability with probability at most `miss`.

    Formula: the p for which P(Binomial(trials, p) <= successes) = miss; 1 if all succeeded.
    Rounding: up.
    """
    from scipy.stats import beta

    if successes == trials:
        return 1.0
    return min(1.0, float(beta.isf(miss, successes + 1, trials - successes)) * (1 + SLACK))
