"""Parallel composition on tiny populations: the exact probabilities of all releases together.

Everybody is counted in one release about all and in one about their part, with discrete Laplace
noise whose alpha is an exact fraction. In place of epsilon stands exp(epsilon) = 1 / alpha; sums of
epsilons are products, and the largest part has the smallest alpha.
"""

from fractions import Fraction
from itertools import product

import pytest

ALPHAS = {None: Fraction(1, 2), "a": Fraction(1, 3), "b": Fraction(2, 3)}
NUMBERS = range(-2, 4)


def probability(outcome, population, alphas=ALPHAS):
    """P(all noisy counts); a person is the set of parts in which they have a record."""
    found = Fraction(1)
    for (part, alpha), noisy in zip(alphas.items(), outcome, strict=True):
        count = sum(part is None or part in person for person in population)
        found *= (1 - alpha) / (1 + alpha) * alpha ** abs(noisy - count)
    return found


def largest_factor(before, after):
    factors = [
        probability(outcome, before) / probability(outcome, after)
        for outcome in product(NUMBERS, repeat=len(ALPHAS))
    ]
    return max(*factors, *(1 / factor for factor in factors))


PROMISED = 1 / (ALPHAS[None] * min(ALPHAS["a"], ALPHAS["b"]))


@pytest.mark.parametrize("others", [[], [{"a"}], [{"b"}], [{"a"}, {"b"}]])
def test_nobody_of_one_part_loses_more_than_everybody_and_the_largest_part(others):
    factors = [largest_factor(others, [*others, person]) for person in ({"a"}, {"b"}, set())]
    assert max(factors) == PROMISED
    assert factors == [6, 3, 2]


def test_somebody_of_two_parts_loses_more_than_is_promised():
    """The statement that nobody belongs to two parts is what the rule rests on."""
    assert largest_factor([], [{"a", "b"}]) == 9 > PROMISED
