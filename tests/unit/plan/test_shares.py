"""Budgets in whole parts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.domain import Margin
from synth.plan.problem import problem_of
from synth.plan.spending import PARTS, Purse, whole_parts
from synth.privacy import largest_rho


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda found: sum(found) > 1e-6))
def test_parts_add_up_and_nothing_but_the_largest_is_rounded_up(shares):
    parts = whole_parts(shares)
    assert sum(parts) == PARTS
    largest = parts.index(max(parts))
    for number, (part, share) in enumerate(zip(parts, shares, strict=True)):
        wanted = PARTS * share / sum(shares)
        assert part >= 0
        if number != largest:
            assert wanted - 1.001 <= part <= wanted * (1 + 1e-12)


def test_events_carry_exactly_the_purse(configure):
    config = configure((2, 3), neighbours="replace-one", delta="1/1000")
    problem = problem_of(config)
    margins = [Margin(("column-0",), (0,)), Margin(("column-1",), (0,))]
    events = Purse(Fraction(1, 3), "laplace").events(problem, margins, [1.0, 2.0])
    assert sum(event.epsilon for event in events) == Fraction(1, 3)
    assert [event.sensitivity_l1 for event in events] == [2, 2]
    assert events[1].epsilon / events[0].epsilon == pytest.approx(2, rel=1e-5)
    events = Purse(Fraction(1, 3), "gaussian").events(problem, margins, [1.0, 2.0])
    assert sum(event.rho for event in events) == largest_rho(Fraction(1, 3), Fraction(1, 1000))
    assert {event.mechanism for event in events} == {"discrete-gaussian"}
    assert [event.sensitivity_l2_squared for event in events] == [2, 2]


def test_a_table_with_next_to_nothing_is_left_out(configure):
    problem = problem_of(configure((2, 3)))
    margins = [Margin(("column-0",), (0,)), Margin(("column-1",), (0,))]
    (event,) = Purse(Fraction(1), "laplace").events(problem, margins, [1e-9, 1.0])
    assert event.table == ("column-1",)
    assert event.epsilon == 1
