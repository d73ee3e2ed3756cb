"""The mechanisms: the law of the noise of an event, and the threshold of a partition selection.

In a partition selection every non-empty cell gets discrete Laplace noise with alpha >= exp(-epsilon
/ s), s the sensitivity in L1 norm, and is listed if its noisy count is at least the threshold t.
Empty cells are never listed, so nothing is paid for the size of the universe, but a cell that one
unit alone fills tells that it is there: this may happen with probability delta (Korolova,
Kenthapadi, Mishra, Ntoulas 2009; Desfontaines, Voss, Gipson 2022).

Proof. Let D and D' be neighbours that differ by at most s in L1 norm. Let N be the cells that are
filled in D and empty in D', with counts v_j >= 1, R those filled in D' and empty in D, with counts
w_j >= 1, and C those filled in both: all v_j, w_j and the differences in C add up to at most s. Let
g(v) = P(v + X >= t) = alpha^(t-v) / (1+alpha) for v < t. It is convex, so for k cells the sum of
g over N and R is largest with one count of s-k+1 and k-1 of 1, and that is convex in k: G_N + G_R,
the sums over N and R, are together at most the larger of g(s) and s g(1), which delta must reach.
Let O be a set of outputs and O_C what those in which no cell of N or R is listed say of C. No cell
of R is listed under D, and one of N with probability at most G_N; so P(D in O) <= G_N + P(D in
O_C). No cell of N is listed under D', and none of R with probability at least 1 - G_R, whatever is
said of C; so P(D' in O) >= (1 - G_R) P(D' in O_C). Every cell of C changes a probability by a
factor of alpha^-|difference| at most, so P(D in O_C) <= min(1, z) with z = exp(epsilon) P(D' in
O_C). And min(1, z) <= (1 - G_R) z + G_R, for any z >= 0: up to 1 because G_R z <= G_R, and from
there on because the right side grows. So P(D in O) <= exp(epsilon) P(D' in O) + G_N + G_R.

For a replaced unit only one of the two units fills cells that are empty in the neighbour; counting
both in s is safe.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.law import first_above, power_bounds
from synth.privacy import LookEvent, OpenTableEvent, TableEvent
from synth.privacy.accounting import GAUSSIAN, LAPLACE, PARTITION_SELECTION


def threshold_of_delta(law: DiscreteLaplace, *, delta: Fraction) -> int:
    """The smallest threshold for which partition selection is (law.epsilon, delta)-DP.

    Privacy: a function of public numbers; see the proof above.
    Raises: ValueError unless 0 < delta < 1.
    """
    if not 0 < delta < 1:
        raise ValueError("delta lies between 0 and 1")
    return first_above(
        law.sensitivity_l1, lambda threshold: is_private(law, threshold=threshold, delta=delta)
    )


def is_private(law: DiscreteLaplace, *, threshold: int, delta: Fraction) -> bool:
    """Whether partition selection with this threshold is (law.epsilon, delta)-DP by the proof.

    Rounding: decided by upper bounds, so never in favour of a threshold that is too small.
    """
    changed = law.sensitivity_l1
    if threshold <= changed:
        return False
    return _reaches(law, threshold - changed, delta) and _reaches(
        law, threshold - 1, delta / changed
    )


def _reaches(law: DiscreteLaplace, exponent: int, limit: Fraction) -> bool:
    """Whether an upper bound of alpha^exponent / (1+alpha) is at most the limit."""
    bits = 128 + (limit.denominator // limit.numerator).bit_length()
    _, high = power_bounds(law.alpha, exponent, bits)
    return high <= limit * (1 + law.alpha) * (1 << bits)


def noise_law(event: TableEvent | OpenTableEvent | LookEvent) -> DiscreteLaplace | DiscreteGaussian:
    """The law of the noise in every cell of a measured table.

    Privacy: the parameters of the law are those of the event, so what is drawn is what is paid.
    Quick: limits are compared, and nothing is tabulated.
    Raises: ValueError for a mechanism that is not known, noise too wide to be drawn, or a sum of
    noises, which is never drawn as such.
    """
    if isinstance(event, TableEvent) and event.summed != 1:
        raise ValueError("a sum of noisy tables is not measured")
    if event.mechanism in (LAPLACE, PARTITION_SELECTION) and event.epsilon is not None:
        return DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    if (
        not isinstance(event, LookEvent)
        and event.mechanism == GAUSSIAN
        and event.rho is not None
        and event.sensitivity_l2_squared is not None
    ):
        return DiscreteGaussian(event.rho, event.sensitivity_l2_squared)
    raise ValueError(f"no noise is known for mechanism {event.mechanism!r}")


def noise_variance(event: TableEvent) -> float:
    """The variance of the noise in one cell, in records squared.

    Raises: ValueError for noise that is never drawn, because it is too wide.
    """
    return event.summed * noise_law(replace(event, summed=1)).variance


def keeps_its_delta(event: TableEvent) -> bool:
    """Whether the threshold of a partition selection is high enough; True for any other event."""
    if event.delta is None or event.epsilon is None or event.threshold is None:
        return True
    law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    return is_private(law, threshold=event.threshold, delta=event.delta)
