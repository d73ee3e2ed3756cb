"""Partition selection: noise on non-empty cells alone, and what the threshold must then be.

Every non-empty cell gets discrete Laplace noise with alpha >= exp(-epsilon / s), s the sensitivity
in L1 norm, and is listed if its noisy count is at least the threshold t. Empty cells are never
listed, so nothing is paid for the size of the universe, but a cell that one unit alone fills tells
that it is there: this may happen with probability delta (Korolova, Kenthapadi, Mishra, Ntoulas
2009; Desfontaines, Voss, Gipson 2022).

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

from fractions import Fraction

from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.exponential import power_bounds
from synth.noise.law import first_above


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
