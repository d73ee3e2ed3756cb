"""The bounds are those of the binomial law, summed up in exact fractions."""

from fractions import Fraction
from math import comb

import pytest

from synth.audit.canaries import at_least, at_most


def upper_tail(successes, trials, share):
    """P(Binomial(trials, share) >= successes), exactly."""
    share = Fraction(share)
    right, all_ = share.numerator, share.denominator
    ways = (
        comb(trials, k) * right**k * (all_ - right) ** (trials - k)
        for k in range(successes, trials + 1)
    )
    return Fraction(sum(ways), all_**trials)


CASES = [(1, 1), (3, 10), (10, 10), (60, 100), (999, 1000), (1, 500)]


@pytest.mark.parametrize("miss", [0.05, 1e-3, 1e-9])
@pytest.mark.parametrize(("successes", "trials"), CASES)
def test_the_lower_bound_is_the_share_at_which_so_many_successes_are_a_surprise(
    successes, trials, miss
):
    bound = at_least(successes, trials, miss)
    assert upper_tail(successes, trials, bound) <= Fraction(miss)
    assert upper_tail(successes, trials, bound * (1 + 1e-6)) > Fraction(miss)


@pytest.mark.parametrize("miss", [0.05, 1e-3, 1e-9])
@pytest.mark.parametrize(("successes", "trials"), CASES)
def test_the_upper_bound_is_the_lower_one_of_the_failures(successes, trials, miss):
    bound = at_most(successes, trials, miss)
    if successes == trials:
        assert bound == 1
        return
    # P(at most so many) = 1 - P(one more or more)
    assert 1 - upper_tail(successes + 1, trials, bound) <= Fraction(miss)
    assert 1 - upper_tail(successes + 1, trials, bound * (1 - 1e-6)) > Fraction(miss)


def test_nothing_that_succeeded_tells_nothing():
    assert at_least(0, 100, 0.001) == 0
    assert at_least(0, 0, 0.001) == 0
    assert at_most(0, 0, 0.001) == 1
