"""A look before the plan: when there is one, what is read from it, and that any number leads on."""

import io
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from synth.config import PersonUnit
from synth.config.guarantee import MIN_EPSILON_PER_RECORD
from synth.planning import charged_events, forecast, plan_events, plan_look, plan_schedule
from synth.planning.look import (
    ALONE,
    LOOK_SHARE,
    MOST_RECORDS,
    SURE,
    TOGETHER,
    after_look,
    hidden_records,
    is_drawable,
    is_modelled,
    look_of,
    seen_by,
)
from synth.planning.printed import render
from synth.planning.problem import Seen, problem_of
from synth.planning.strategies import ways_to_spend
from synth.planning.weighing import choose, possible_plans
from synth.privacy import Budget, SelectionEvent, total_budget
from tests.unit.planning import conftest as fixtures

THIN = (10, 10, 10, 10, 3)
MANY = 10**7
HELD, TOO_LARGE = (10,) * 5, (10,) * 6


def rendered(plan):
    stream = io.StringIO()
    render(plan, Console(file=stream, width=200))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("sizes", "named", "looks"),
    [
        (THIN, {}, True),
        (THIN, {"expected": 1_000}, True),
        (THIN, {"expected": 1_500}, False),
        (THIN, {"expected": 4_000, "epsilon": "1/10"}, True),
        (THIN, {"expected": 34_000, "epsilon": "1/10"}, False),
        (THIN, {"total": 1_000}, False),
        (THIN, {"strategy": "identity"}, False),
        (THIN, {"strategy": "adaptive"}, False),
        (THIN, {"strategy": "sparse"}, False),
        ((10, 10, 10, 10, 2), {}, False),
        ((10,) * 12, {}, True),
        ((10,) * 12, {"expected": 10**9}, True),
        ((10,) * 12, {"total": 500, "neighbours": "replace-one"}, False),
    ],
)
def test_there_is_a_look_where_a_universe_may_be_thin(configure, sizes, named, looks):
    config = configure(sizes, **{"strategy": "auto", "order": 2} | named)
    assert (plan_look(config) is not None) == looks
    charged = charged_events(config)
    assert total_budget(charged, delta=Fraction(0)) == Budget(config.privacy.epsilon, Fraction(0))
    if looks:
        assert plan_schedule(config) is None
        assert charged == plan_look(config).events
    else:
        assert plan_events(config, None) == plan_events(config)


@pytest.mark.parametrize(("epsilon", "delta"), [("1/10", "1/1000000"), ("3", "0")])
def test_look_and_what_is_left_are_exactly_the_budget(configure, epsilon, delta):
    config = configure(THIN, strategy="auto", order=2, epsilon=epsilon, delta=delta)
    look = plan_look(config)
    assert look.event.epsilon == LOOK_SHARE * Fraction(epsilon) <= Fraction(epsilon) / 20
    assert look.event.epsilon + look.after.epsilon == Fraction(epsilon)
    assert look.after.delta == Fraction(delta)
    for way in possible_plans(config):
        events = way.charged
        spent = total_budget(events, delta=Fraction(delta))
        assert spent.epsilon <= look.after.epsilon
        assert look.allows(events)
        dearer = [replace(e, epsilon=e.epsilon and e.epsilon * 2) for e in events]
        assert look.allows(dearer) == (not any(e.epsilon for e in events))


def test_choices_count_against_what_is_left(configure):
    config = configure(THIN, strategy="auto", order=2)
    look = plan_look(config)
    events = possible_plans(config)[0].charged
    assert look.allows(events)
    assert not look.allows([*events, SelectionEvent(3, Fraction(1, 10**6))])


@pytest.mark.parametrize(("unit", "most"), [("record", 1), (PersonUnit("id", 3), 3)])
def test_its_sensitivity_is_that_of_a_table(configure, unit, most):
    look = plan_look(configure(THIN, strategy="auto", order=2, unit=unit))
    assert look.event.sensitivity_l1 == most
    assert look.event.as_table.noise_scale_records == most / look.event.epsilon


def test_noise_hides_about_ln_n_scales(configure):
    problem = problem_of(configure((10,) * 6, strategy="auto"))
    assert hidden_records(problem) == 14  # ln(10^6) = 13.8
    tenth = replace(problem, privacy=replace(problem.privacy, epsilon=Fraction(1, 10)))
    assert hidden_records(tenth) == 140
    tiny = replace(problem, privacy=replace(problem.privacy, epsilon=Fraction(1, 10**30)))
    assert hidden_records(tiny) == MOST_RECORDS


def test_a_number_decides_if_it_stands_out_of_its_noise(configure):
    problem = problem_of(configure(THIN, strategy="auto", order=2, expected=700))
    look = look_of(problem)
    deviation = (4 * 50**2) ** 0.5  # two counts with noise of variance 2 * 50^2
    low, high = round(SURE * deviation) - 10, round(SURE * deviation) + 10
    assert seen_by(look, (low, 0)).records is None
    assert seen_by(look, (high, 0)) == Seen(high, 0.0, seen_by(look, (high, 0)).most)
    assert seen_by(look, (0, 2_000)).visible == 1.0
    assert seen_by(look, (-3_000, 9_000)).visible == 1.0
    assert seen_by(look, (9_000, -3_000)).visible == 0.0
    nobody = seen_by(look, (-9_000, -3_000))
    assert nobody == Seen(None, None, round(SURE * deviation), round(deviation))
    unsure = after_look(problem, look, (low, 0))
    assert unsure.records == 700, "the hint, if it may be right"
    assert unsure.considered_records == (unsure.seen.most,)
    untold = after_look(replace(problem, workload=more(problem, None)), look, (low, 0))
    assert untold.records == low, "better than 10,000, which nothing speaks for"
    nothing = after_look(replace(problem, workload=more(problem, None)), look, (0, 0))
    assert nothing.records == round(deviation)
    contradicted = after_look(replace(problem, workload=more(problem, 10**6)), look, (0, 0))
    assert contradicted.records == seen_by(look, (0, 0)).most < 600
    sure = after_look(replace(problem, workload=more(problem, 10**6)), look, (5_000, 5_000))
    assert sure.records == 10_000, "the hint does no harm"
    assert sure.considered_records == (10_000,)
    assert not sure.records_are_assumed


def more(problem, expected):
    return replace(problem.workload, expected_records=expected)


def measures_universe(config, events):
    return any(event.table == config.universe.names for event in events)


def test_the_share_that_noise_cannot_hide_decides_about_the_universe(configure):
    config = configure(THIN, strategy="auto", order=2)
    for records in (1_000, 20_000, 10**6):
        together = round((TOGETHER + 0.1) * records)
        alone = round((ALONE - 0.05) * records)
        assert measures_universe(config, plan_events(config, (records - together, together)))
        assert not measures_universe(config, plan_events(config, (records - alone, alone)))


def test_no_plan_after_a_look_makes_choices(configure):
    config = configure(THIN, strategy="auto", order=2, cells=False)
    for counts in ((10**3, 0), (10**7, 0), (0, 10**5)):
        problem = after_look(problem_of(config), plan_look(config), counts)
        assert all(way.spending.tables != "adaptive" for way in choose(problem).weighed)


numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-2_000, 200_000)


@settings(max_examples=30, deadline=None)
@given(few=numbers, many=numbers, delta=st.sampled_from(["0", "1/1000000"]))
def test_every_look_leads_to_a_plan(few, many, delta):
    config = fixtures.configure.__wrapped__()((150, 140), strategy="auto", order=2, delta=delta)
    look = plan_look(config)
    events = plan_events(config, (few, many))
    assert look.allows(events)
    assert events in [way.first for way in possible_plans(config)]
    assert events == plan_events(config, (few, many)), "the same for whoever verifies"


def test_a_plan_that_cannot_be_drawn_gives_way_to_one_that_was_checked(configure, monkeypatch):
    config = configure((150, 140), strategy="auto", order=2)
    checked = plan_events(config)
    monkeypatch.setattr("synth.planning.weighing.is_drawable", lambda _: False)
    assert plan_events(config, (10**6, 10**6)) == checked


def test_the_smallest_epsilon_that_a_configuration_may_have_can_be_looked_with(configure):
    least = MIN_EPSILON_PER_RECORD
    config = configure(THIN, strategy="auto", order=2, epsilon=str(least))
    assert charged_events(config) == plan_look(config).events
    assert is_drawable(plan_look(config).event.as_table)
    assert plan_look(config).allows(plan_events(config, (-5, 10**15)))


def test_the_forecast_shows_the_look_and_the_dearest_plan(configure):
    config = configure(THIN, strategy="auto", order=2)
    plan = forecast(config, with_alternatives=True)
    text = rendered(plan)
    assert "A look comes first: epsilon 0.02" in text
    assert "- if it finds 1,000 records: " in text
    assert [records for records, _ in plan.after_look] == [1_000, 10_000, 100_000, 1_000_000]
    assert plan.to_plain()["look"]["epsilon_after"] == "49/50"
    most = max(sum(event.cells for event in way.dearest) for way in possible_plans(config))
    after = forecast(config, events=plan_events(config, (MANY, 0)), noisy_counts=(MANY, 0))
    assert after.records == MANY
    assert plan.costs.memory_bytes >= after.costs.memory_bytes
    assert most >= sum(event.cells for event in plan.tables)


def test_without_a_look_nothing_is_said_of_one(configure):
    plan = forecast(configure((3, 4), strategy="auto", order=2), with_alternatives=True)
    assert plan.look is None
    assert plan.to_plain()["look"] is None
    assert "look" not in rendered(plan)


@pytest.mark.parametrize(
    ("sizes", "seen", "modelled"),
    [
        (HELD, Seen(500, 0.0, 900), True),
        (HELD, Seen(500, 0.9, 900), False),
        (HELD, Seen(500, None, 900), False),
        (HELD, None, False),
        (HELD[:3], Seen(500, 0.0, 900), False),
        ((100, 100, 100), Seen(500, 0.0, 900), False),
        (TOO_LARGE, Seen(500, 0.0, 900), True),
        (TOO_LARGE, Seen(500, 0.4, 900), True),
        (TOO_LARGE, Seen(500, 0.9, 900), False),
        (HELD, Seen(500, 0.4, 900), False),
        (TOO_LARGE, Seen(None, None, 900), True),
        (TOO_LARGE, Seen(10**7, None, 10**8), False),
        (TOO_LARGE, None, True),
    ],
)
def test_one_model_is_planned_for_where_noise_hides_the_records(configure, sizes, seen, modelled):
    problem = replace(problem_of(configure(sizes, strategy="auto")), seen=seen)
    assert is_modelled(problem) is modelled
    names = {way.tables for way in ways_to_spend(problem)}
    assert ("1-way + all pairs" in names) is modelled
    assert ("all 1-way alike" in names) is not modelled


def test_triples_are_weighed_where_one_model_is_planned_for(configure):
    problem = problem_of(configure((20,) * 6, strategy="auto", cells=False, delta="1e-9"))
    for visible in (0.2, 0.4):
        seen = replace(problem, seen=Seen(60_000, visible, 90_000))
        assert is_modelled(seen)
        orders = {len(event.table) for way in ways_to_spend(seen) for event in way.events}
        assert {2, 3} <= orders


def test_a_budget_near_the_least_that_can_be_drawn_is_planned(configure):
    """What noise of a share of it would tell is compared, not drawn."""
    config = configure((10,) * 5, strategy="auto", epsilon="1e-10", expected=10**6)
    assert all(map(is_drawable, plan_events(config)))
