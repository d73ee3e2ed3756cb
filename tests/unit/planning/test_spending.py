"""Budgets in whole parts; the number of records is always known, if need be by its own table."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.config import PersonUnit
from synth.domain import Margin
from synth.planning import charged_events, forecast, plan_events
from synth.planning.look import problem_to_plan
from synth.planning.noise_sums import noise_variance
from synth.planning.problem import problem_of
from synth.planning.spending import (
    PARTS,
    TOTAL_SHARE,
    Purse,
    Spending,
    table_event,
    total_is_known,
    whole_parts,
    with_total,
)
from synth.privacy import largest_rho, total_budget

WIDE = (11, 9, 10, 12, 10, 8)
STRATEGIES = ["auto", "identity", "sparse", "adaptive", "pair", "universe"]


def planned(configure, strategy, **named):
    config = configure(WIDE, **named)
    names = config.universe.names
    given = {
        "pair": (Margin(names[:2], (0, 0)),),
        "universe": (Margin(names, (0,) * len(names)), Margin(names[:2], (0, 0))),
    }
    return replace(config, strategy=given.get(strategy, strategy))


def deviation(events):
    """The standard deviation of the least squares number of records."""
    told = [1 / (noise_variance(e) * e.cells) for e in events if e.threshold is None]
    return sum(told) ** -0.5


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [
        ("1/10", "0", None),
        ("4", "1/1000000000", None),
        ("1", "0", 900),
        ("1/10", "1/1000000000", 900),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_number_of_records_is_known_under_every_strategy(
    configure, strategy, epsilon, delta, expected
):
    config = planned(configure, strategy, epsilon=epsilon, delta=delta, order=2, expected=expected)
    events = plan_events(config)
    problem = problem_to_plan(config)
    assert total_is_known(problem, events)
    alone = 2**0.5 / float(TOTAL_SHARE * problem.privacy.epsilon)
    within = 0.005 * (expected or 0)
    gaussian = any(event.rho for event in events)
    assert deviation(events) <= max(alone, within) * (3 if gaussian else 1) * (1 + 1e-9)
    assert sum(not event.table for event in events) <= 1
    total = total_budget(charged_events(config), delta=config.privacy.delta)
    assert total.epsilon <= Fraction(epsilon)
    assert total.delta <= Fraction(delta)
    if not config.privacy.delta:
        assert total.epsilon == Fraction(epsilon)


def test_noise_on_every_cell_leaves_a_fiftieth_for_the_total(configure):
    universe, total = plan_events(planned(configure, "identity"))
    assert total.table == ()
    assert total.cells == 1
    assert total.sensitivity_l1 == universe.sensitivity_l1 == 1
    assert (universe.epsilon, total.epsilon) == (Fraction(49, 50), Fraction(1, 50))


def test_a_declared_total_is_not_measured(configure):
    (universe,) = plan_events(planned(configure, "identity", total=1_000))
    assert universe.epsilon == 1


def test_a_universe_whose_sum_is_good_enough_stays_alone(configure):
    (small,) = plan_events(configure((10, 10), strategy="identity"))
    assert small.epsilon == 1
    (expected,) = plan_events(planned(configure, "identity", expected=1_000_000))
    assert expected.epsilon == 1


def test_a_person_with_several_records_counts_with_all_of_them(configure):
    *_, total = plan_events(planned(configure, "identity", unit=PersonUnit("id", 4)))
    assert total.table == ()
    assert total.sensitivity_l1 == 4


def test_the_forecast_of_a_total_has_no_attributes(configure):
    plan = forecast(planned(configure, "identity"))
    assert [list(table.table) for table in plan.tables][-1] == []
    assert plan.to_plain()["tables"][-1]["cells"] == 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_the_total_is_given_the_other_tables_give_up(configure, noise):
    config = configure(WIDE, delta="1/1000000000")
    problem, names = problem_of(config), config.universe.names
    spent = Fraction(1) if noise == "laplace" else Fraction(1, 50)
    tables = [Margin(names[:5], (0,) * 5), Margin(names[1:], (0,) * 5)]
    events = tuple(table_event(problem, table, spent / 2, noise=noise) for table in tables)
    way = with_total(problem, Spending("tables", events, noise))
    assert way.events[-1].table == ()
    kept = [event.epsilon if noise == "laplace" else event.rho for event in way.events]
    assert kept[:-1] == [spent * (1 - TOTAL_SHARE) / 2] * 2
    assert sum(kept) == spent


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
