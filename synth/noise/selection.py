"""A private choice among candidates: permute-and-flip, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from synth.noise.law import exponential_bounds
from synth.noise.stream import NoiseStream

WORD_BITS = 64
_GUARD = 32
"""Further bits of the bounds, so that one word decides but once in 2^60 flips."""


def permute_and_flip(
    scores: Sequence[int | Fraction],
    *,
    epsilon: Fraction,
    sensitivity: int | Fraction,
    stream: NoiseStream,
    number: int,
) -> int:
    """The index of a candidate whose score is probably high.

    The candidates are put in random order; each one in turn is taken with probability
    exp(-epsilon (best - score) / (2 sensitivity)). The best one is taken surely when its turn
    comes.

    Privacy: pure `epsilon`-DP for scores of which each changes by at most `sensitivity` between
    neighbours (McKenna, Sheldon 2020). Every probability is the exact one: exp is never rounded,
    it is compared with as many random bits as that takes. All candidates are flipped for,
    whichever is taken, so the work hardly depends on the scores.
    Requires: `number` is used once per stream, for this choice. `scores` may be secret.
    Raises: TypeError for floats; ValueError without candidates, or for an epsilon or a
    sensitivity that is not positive.
    """
    if type(epsilon) is not Fraction or type(sensitivity) not in (int, Fraction):
        raise TypeError("epsilon and the sensitivity of a choice must be exact")
    if any(type(score) not in (int, Fraction) for score in scores):
        raise TypeError("the scores of a choice must be exact")
    if epsilon <= 0 or sensitivity <= 0:
        raise ValueError("epsilon and the sensitivity of a choice must be positive")
    if not scores:
        raise ValueError("a choice needs candidates")
    words = stream.words_of_selection(number)
    order = random_order(len(scores), words)
    best = max(scores)
    factor = epsilon / (2 * sensitivity)
    taken = [is_taken(factor * (best - scores[index]), words) for index in order]
    return order[taken.index(True)]


def random_order(count: int, words: Iterator[int]) -> list[int]:
    """The numbers below `count` in an order that is uniform among all (Fisher, Yates 1938)."""
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        other = uniform_below(last + 1, words)
        order[last], order[other] = order[other], order[last]
    return order


def uniform_below(limit: int, words: Iterator[int]) -> int:
    """A whole number from 0 to limit - 1, exactly uniform: words beyond a multiple are left out.

    Requires: 1 <= limit <= 2^64.
    """
    multiple = (1 << WORD_BITS) // limit * limit
    return next(word for word in words if word < multiple) % limit


def is_taken(rate: Fraction, words: Iterator[int]) -> bool:
    """True with probability exp(-rate), exactly.

    U is uniform in [0, 1) and its binary digits come word by word. The answer U < exp(-rate) is
    given when the interval of all continuations lies on one side of bounds of exp(-rate).

    Requires: rate >= 0.
    """
    prefix = bits = 0
    while True:
        prefix, bits = prefix << WORD_BITS | next(words), bits + WORD_BITS
        if rate == 0:
            return True
        low, high = exponential_bounds(rate, bits + _GUARD)
        if prefix + 1 << _GUARD <= low:
            return True
        if prefix << _GUARD >= high:
            return False
