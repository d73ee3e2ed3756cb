"""Parallel composition, against everybody's own losses added up one person at a time."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.privacy import Budget
from synth.privacy.population import parallel_total

BUDGETS = st.builds(
    Budget,
    st.fractions(min_value=0, max_value=3, max_denominator=30),
    st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=30),
)
PARTS = ("a", "b", "c")
RELEASES = st.lists(st.tuples(st.sampled_from([None, *PARTS]), BUDGETS), max_size=8)
NOTHING = Budget(Fraction(0), Fraction(0))


def added(releases, *parts):
    return sum((budget for part, budget in releases if part in parts), NOTHING)


@given(RELEASES)
def test_it_is_what_the_person_loses_who_loses_most_and_never_more_than_the_sum(releases):
    total = parallel_total(added(releases, None), [added(releases, part) for part in PARTS])
    people = [added(releases, None, part) for part in PARTS]
    assert total.epsilon == max(person.epsilon for person in people)
    assert total.delta == max(person.delta for person in people)
    everything = added(releases, None, *PARTS)
    assert total.epsilon <= everything.epsilon
    assert total.delta <= everything.delta


def test_epsilon_and_delta_come_from_their_own_largest_part():
    large = Budget(Fraction(1), Fraction(0))
    uncertain = Budget(Fraction(1, 2), Fraction(1, 10))
    assert parallel_total(NOTHING, [large, uncertain]) == Budget(Fraction(1), Fraction(1, 10))


@pytest.mark.parametrize("parts", [[], [NOTHING]])
def test_without_a_charged_part_everybody_counts(parts):
    whole = Budget(Fraction(1, 3), Fraction(1, 7))
    assert parallel_total(whole, parts) == whole
