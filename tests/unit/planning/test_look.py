"""A look before the plan: when there is one, what is read from it, and that any number leads on."""

import io
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from synth.config import PersonUnit, RangeQueries, WeightedMarginal
from synth.config.guarantee import MIN_EPSILON_PER_RECORD
from synth.domain import Attribute, Universe
from synth.domain.attribute import balanced_levels
from synth.planning import charged_events, forecast, plan_events, plan_look
from synth.planning.look import (
    CELLS_OF_A_SEEN_PAIR,
    LOOK_SHARE,
    MOST_RECORDS,
    MOST_SEEN_PAIRS,
    after_look,
    found,
    hidden_records,
    is_drawable,
    is_modelled,
    look_of,
    seen_by,
    seen_pairs,
    suitable,
)
from synth.planning.printed import render
from synth.planning.problem import (
    ASSUMED_DEPENDENCE,
    DEPENDENCES,
    ITS_SPREAD,
    MEAN_DEPENDENCE,
    SURE,
    Seen,
    problem_of,
)
from synth.planning.strategies import ways_to_spend
from synth.planning.weighing import choose, possible_plans
from synth.privacy import Budget, SelectionEvent, total_budget
from tests.unit.planning import conftest as fixtures

THIN = (10, 10, 10, 10, 3)
MANY = 10**7
HELD, TOO_LARGE = (10,) * 5, (10,) * 6
ONES = {"strategy": "auto", "order": 1, "cells": False}
TWOS = {"strategy": "auto", "order": 2, "cells": False}


def rendered(plan):
    stream = io.StringIO()
    render(plan, Console(file=stream, width=200))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("sizes", "named", "looks"),
    [
        (THIN, {}, True),
        (THIN, {"expected": 1_000, "epsilon": "100"}, True),
        (THIN, {"expected": 1_500, "epsilon": "100"}, False),
        (THIN, {"expected": 2_999}, True),
        (THIN, {"expected": 3_000}, False),
        (THIN, {"expected": 29_999, "epsilon": "1/10"}, True),
        (THIN, {"expected": 30_000, "epsilon": "1/10"}, False),
        (THIN, {"total": 2_999}, True),
        (THIN, {"total": 3_000}, False),
        (THIN, {"total": 5_999, "neighbours": "replace-one"}, True),
        (THIN, {"total": 6_000, "neighbours": "replace-one"}, False),
        (THIN, {"strategy": "identity"}, False),
        (THIN, {"strategy": "adaptive"}, False),
        (THIN, {"strategy": "sparse"}, False),
        ((10, 10, 10, 10, 2), {"epsilon": "20"}, False),
        ((10, 10, 10, 10, 2), {"epsilon": "19"}, True),
        ((10, 100), {"epsilon": "1"}, False),
        ((10, 101), {"epsilon": "1"}, True),
        ((10, 10), {"epsilon": "1/10"}, False),
        ((10, 11), {"epsilon": "1/10"}, True),
        ((20_000,), {"order": 1}, False),
        ((20_001,), {"order": 1}, True),
        ((20_000, 1), {"order": 1}, False),
        ((10,) * 12, {}, True),
        ((10,) * 12, {"expected": 10**9}, True),
        ((10,) * 12, {"total": 500, "neighbours": "replace-one"}, True),
    ],
)
def test_there_is_a_look_where_noise_may_hide_the_records(configure, sizes, named, looks):
    config = configure(sizes, **{"strategy": "auto", "order": 2} | named)
    assert (plan_look(config) is not None) == looks
    charged = charged_events(config)
    assert total_budget(charged, delta=Fraction(0)) == Budget(config.privacy.epsilon, Fraction(0))
    if looks:
        assert charged == plan_look(config).events
    else:
        assert plan_events(config, None) == plan_events(config)


@pytest.mark.parametrize(("epsilon", "delta"), [("1/10", "1/1000000"), ("3", "0")])
def test_look_and_what_is_left_are_exactly_the_budget(configure, epsilon, delta):
    config = configure(THIN, strategy="auto", order=2, epsilon=epsilon, delta=delta)
    look = plan_look(config)
    assert look.event.pairs
    assert look.event.epsilon == 2 * LOOK_SHARE * Fraction(epsilon) <= Fraction(epsilon) / 20
    assert look.event.epsilon + look.after.epsilon == Fraction(epsilon)
    alone = plan_look(configure(THIN, **ONES, epsilon=epsilon, delta=delta))
    assert not alone.event.pairs
    assert alone.event.epsilon == LOOK_SHARE * Fraction(epsilon)
    assert alone.event.epsilon + alone.after.epsilon == Fraction(epsilon)
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
@pytest.mark.parametrize(("neighbours", "units"), [("add-remove", 1), ("replace-one", 2)])
def test_its_sensitivity_is_that_of_a_table_and_with_pairs_of_two(
    configure, unit, most, neighbours, units
):
    """A unit changes the classes as it does a table, and the count of the pairs by as much."""
    for asked, times in ((ONES, 1), (TWOS, 2)):
        event = plan_look(configure(THIN, **asked, unit=unit, neighbours=neighbours)).event
        assert bool(event.pairs) == (times == 2)
        assert event.sensitivity_l1 == times * units * most
        assert event.as_table.cells == event.counts == 1 + times
        assert event.as_table.noise_scale_records == event.sensitivity_l1 / event.epsilon
        assert event.as_table.noise_scale_records == units * most / LOOK_SHARE, "of either kind"


def test_noise_hides_about_ln_n_scales(configure):
    problem = problem_of(configure((10,) * 6, strategy="auto"))
    assert hidden_records(problem) == 14  # ln(10^6) = 13.8
    tenth = replace(problem, privacy=replace(problem.privacy, epsilon=Fraction(1, 10)))
    assert hidden_records(tenth) == 140
    tiny = replace(problem, privacy=replace(problem.privacy, epsilon=Fraction(1, 10**30)))
    assert hidden_records(tiny) == MOST_RECORDS


@pytest.mark.parametrize(("asks", "tail"), [(ONES, ()), (TWOS, (700,)), (TWOS, (-(10**9),))])
def test_a_number_decides_if_it_stands_out_of_its_noise(configure, asks, tail):
    """Whatever the count of the pairs is, it is no class: the records are those of the two."""
    problem = problem_of(configure(THIN, **asks, expected=700))
    look = look_of(problem)
    deviation = (4 * 50**2) ** 0.5  # two counts with noise of variance 2 * 50^2
    low, high = round(SURE * deviation) - 10, round(SURE * deviation) + 10

    def seen(*classes):
        return seen_by(problem, look, (*classes, *tail))

    assert seen(low, 0).records is None
    assert seen(low, 0).apart is None
    assert seen(high, 0) == Seen(high, 0.0, seen(high, 0).most, apart=seen(high, 0).apart)
    assert seen(0, 2_000).visible == 1.0
    assert seen(-3_000, 9_000).visible == 1.0
    assert seen(9_000, -3_000).visible == 0.0
    nobody = seen(-9_000, -3_000)
    assert nobody == Seen(None, 0.0, round(SURE * deviation), round(deviation))
    unsure = after_look(problem, look, (low, 0, *tail))
    assert unsure.records == 700, "the hint, if it may be right"
    assert unsure.considered_records == (low, low + round(deviation)), "and a deviation more"
    untold = after_look(replace(problem, workload=more(problem, None)), look, (low, 0, *tail))
    assert untold.records == low, "better than 10,000, which nothing speaks for"
    nothing = after_look(replace(problem, workload=more(problem, None)), look, (0, 0, *tail))
    assert nothing.records == round(deviation)
    contradicted = after_look(replace(problem, workload=more(problem, 10**6)), look, (0, 0, *tail))
    assert contradicted.records == seen(0, 0).most < 600
    hinted = replace(problem, workload=more(problem, 10**6))
    sure = after_look(hinted, look, (5_000, 5_000, *tail))
    assert sure.records == 10_000, "the hint does no harm"
    assert sure.considered_records == (10_000,)
    assert not sure.records_are_assumed


@pytest.mark.parametrize(
    ("most", "considered"),
    [
        (700, (700,)),
        (5_000, (1_000, 5_000)),
        (10_000, (1_000, 10_000)),
        (1 << 40, (1_000, 10_000, 100_000, 1_000_000)),
    ],
)
def test_the_most_records_that_there_can_be_is_a_number_that_a_plan_must_suit(
    configure, most, considered
):
    problem = replace(problem_of(configure(THIN, strategy="auto")), seen=Seen(None, None, most))
    assert problem.considered_records == considered


def test_where_noise_hides_so_much_that_all_plans_are_alike_columns_are_measured(configure):
    """A plan that is as bad as any for few records is not taken if more would make it the worst."""
    problem = problem_of(configure((120, 30, 25), strategy="auto", order=3, cells=True))
    for most, likely in ((7_707, 2_707), (5_000, 1_000)):
        rest = replace(problem.privacy, epsilon=Fraction(24, 250))
        left = replace(problem, privacy=rest, seen=Seen(None, None, most, likely))
        assert choose(left).chosen.spending.tables == "all 1-way alike"


def more(problem, expected):
    return replace(problem.workload, expected_records=expected)


def measures_universe(config, events):
    return any(event.table == config.universe.names for event in events)


@pytest.mark.parametrize(
    ("epsilon", "neighbours", "records", "limit"),
    [
        ("1", "add-remove", 20_000, 0.063),
        ("1", "add-remove", 70_000, 0.021),
        ("1/4", "add-remove", 10**6, 0.071),
        ("1/4", "replace-one", 10**6, 0.141),
        ("3", "add-remove", 2_000, 0.030),
    ],
)
def test_cells_for_a_record_noise_and_the_share_that_it_cannot_hide_decide(
    configure, epsilon, neighbours, records, limit
):
    """(ln(12^5 / n) - 3/4 + 3 ln(s)) / 30, s the noise scale of what the look leaves."""
    config = configure((12,) * 5, strategy="auto", order=2, epsilon=epsilon, neighbours=neighbours)
    for apart in (0, records // 20, records // 2):
        for share in (limit - 0.005, limit + 0.005):
            many = round(share * records)
            events = plan_events(config, (records - many, many, apart))
            assert measures_universe(config, events) == (share > limit), (share, apart)


def test_nothing_forces_the_universe_where_only_columns_are_asked_for(configure):
    """Cells would tell more than pairs of small tables, but single columns tell themselves best."""
    for epsilon, records in (("1", 20_000), ("3", 2_000)):
        config = configure((12,) * 5, **ONES, epsilon=epsilon)
        events = plan_events(config, (round(0.9 * records), round(0.1 * records)))
        assert not measures_universe(config, events)
        assert {len(event.table) for event in events} == {1}


@pytest.mark.parametrize("sizes", [(10,) * 6, (10,) * 12], ids=["block by block", "a list"])
@pytest.mark.parametrize(("share", "measured"), [(0.05, False), (0.55, True)])
def test_what_noise_cannot_hide_decides_where_the_universe_is_not_held(
    configure, sizes, share, measured
):
    config = configure(sizes, strategy="auto", order=2, epsilon="1")
    many = round(share * 10**5)
    events = plan_events(config, (10**5 - many, many, 10**4))
    assert measures_universe(config, events) == measured


@pytest.mark.parametrize("more", [(), (10,)], ids=["held", "block by block"])
@pytest.mark.parametrize(("epsilon", "alone"), [("3", False), ("10", True)])
def test_the_universe_is_measured_where_single_records_stand_out(configure, epsilon, alone, more):
    """2,000 lone records in 151,200 cells: triples came out .20 off at 10 where .004 was to be had.

    About ln(151,200 / 2,000) = 4.3 scales are needed, so shares that leave the universe less than
    that part of epsilon are none.
    """
    config = configure((7, 6, 5, 6, 5, 4, 6, *more), strategy="auto", order=3, epsilon=epsilon)
    records = 20_000 if more else 2_000
    for apart in (records // 40, records // 2):
        events = plan_events(config, (records, 0, apart))
        assert measures_universe(config, events) == alone
        if alone:
            (full,) = (event for event in events if event.table == config.universe.names)
            assert full.epsilon > Fraction(43, 10)


def test_a_plan_without_a_look_is_that_for_the_records_that_are_expected(configure):
    """What is starred, and what is measured if as many are found, were two plans."""
    for expected in (None, 3_000, 200_000):
        for sizes in ((3,) * 30, (20, 5, 7, 6, 20, 16, 9), (10,) * 12):
            config = configure(
                sizes, strategy="auto", order=2, epsilon="1/2", cells=False, expected=expected
            )
            plan = forecast(config, with_alternatives=True)
            led_to = found(problem_of(config), plan.look, expected or 10_000)
            alone = choose(replace(after_look(problem_of(config), plan.look, None), seen=led_to))
            assert plan.records == (expected or 10_000)
            assert plan.records_are_assumed == (expected is None)
            assert plan.alternatives[0].spending == alone.chosen.spending
            best = dict(plan.after_look).get(plan.records)
            assert best is None or best.spending == plan.alternatives[0].spending


def test_no_plan_after_a_look_makes_choices(configure):
    config = configure(THIN, strategy="auto", order=2, cells=False)
    for counts in ((10**3, 0, 50), (10**7, 0, 10**6), (0, 10**5, 0)):
        problem = after_look(problem_of(config), plan_look(config), counts)
        assert all(way.spending.tables != "adaptive" for way in choose(problem).weighed)


numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-2_000, 200_000)


@settings(max_examples=30, deadline=None)
@given(
    few=numbers,
    many=numbers,
    apart=numbers,
    sizes=st.sampled_from([(150, 140), (30, 30, 25), (13, 12, 12, 12)]),
    delta=st.sampled_from(["0", "1/1000000"]),
)
def test_every_look_leads_to_a_plan(few, many, apart, sizes, delta):
    config = fixtures.configure.__wrapped__()(sizes, strategy="auto", order=2, delta=delta)
    look = plan_look(config)
    counts = (few, many, apart)[: look.event.counts]
    assert len(counts) == 3
    events = plan_events(config, counts)
    assert look.allows(events)
    assert events in [way.first for way in possible_plans(config)]
    assert events == plan_events(config, counts), "the same for whoever verifies"


def test_a_plan_that_cannot_be_drawn_gives_way_to_one_that_was_checked(configure, monkeypatch):
    config = configure((150, 140), strategy="auto", order=2)
    checked = plan_events(config)
    monkeypatch.setattr("synth.planning.weighing.is_drawable", lambda _: False)
    assert plan_events(config, (10**6, 10**6, 10**5)) == checked


def test_the_smallest_epsilon_that_a_configuration_may_have_can_be_looked_with(configure):
    least = MIN_EPSILON_PER_RECORD
    config = configure(THIN, strategy="auto", order=2, epsilon=str(least))
    assert charged_events(config) == plan_look(config).events
    assert is_drawable(plan_look(config).event.as_table)
    assert plan_look(config).allows(plan_events(config, (-5, 10**15, 10**14)))


def test_the_forecast_shows_the_look_and_the_dearest_plan(configure):
    config = configure(THIN, strategy="auto", order=2)
    plan = forecast(config, with_alternatives=True)
    text = rendered(plan)
    assert "A look comes first: epsilon 0.04" in text
    assert "share their cell, and how far 10 pairs of columns depend on each other." in text
    assert "- if it finds 1,000 records: " in text
    two = forecast(configure((150, 140), strategy="auto", order=2), with_alternatives=True)
    assert ", and how far the columns of one pair depend on each other." in rendered(two)
    assert [records for records, _ in plan.after_look] == [1_000, 10_000, 100_000, 1_000_000]
    assert plan.to_plain()["look"]["epsilon_after"] == "24/25"
    assert plan.to_plain()["look"]["pairs"] == [list(pair) for pair in plan.look.event.pairs]
    most = max(sum(event.cells for event in way.dearest) for way in possible_plans(config))
    counts = (MANY, 0, MANY // 20)
    after = forecast(config, events=plan_events(config, counts), noisy_counts=counts)
    assert after.records == MANY
    assert plan.costs.memory_bytes >= after.costs.memory_bytes
    assert most >= sum(event.cells for event in plan.tables)


def test_a_look_that_sees_no_pairs_is_said_to_tell_nothing_of_them(configure):
    plan = forecast(configure(THIN, **ONES), with_alternatives=True)
    assert "A look comes first: epsilon 0.02" in rendered(plan)
    assert "share their cell. The tables" in rendered(plan)
    assert "depend on each other" not in rendered(plan)
    assert plan.to_plain()["look"]["epsilon_after"] == "49/50"
    assert plan.to_plain()["look"]["pairs"] == []


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
        (HELD, Seen(None, None, 900), False),
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


@pytest.mark.parametrize("name", ["column-0", "column-3"])
def test_a_hierarchy_does_not_keep_columns_from_one_model(configure, name):
    """Only ranges do, in a universe that is held: what they need is measured in their groups."""
    config = configure(HELD, strategy="auto")
    old = config.universe.attribute(name)
    edges = tuple(map(Fraction, range(old.size + 1)))
    amount = replace(old, kind="integer", levels=(), edges=edges)
    amount = replace(amount, hierarchy=balanced_levels(amount, 2))
    columns = [amount if each.name == name else each for each in config.universe.attributes]
    config = replace(config, universe=Universe(tuple(columns)))
    problem = replace(problem_of(config), seen=Seen(500, 0.0, 900))
    assert is_modelled(problem)
    assert "1-way + all pairs" in {way.tables for way in ways_to_spend(problem)}
    for weight, modelled in ((0, True), (1, False)):
        ranges = (RangeQueries((name,), "range", Fraction(weight)),)
        workload = replace(problem.workload, ranges=ranges)
        assert is_modelled(replace(problem, workload=workload)) is modelled


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


def seen_pairs_of(configure, sizes, **named):
    return seen_pairs(problem_of(configure(sizes, **TWOS | named)))


def test_all_pairs_are_seen_where_they_are_few(configure):
    names = [f"column-{i}" for i in range(len(THIN))]
    for asked in (TWOS, TWOS | {"order": 3}, ONES | {"cells": True}):
        assert seen_pairs_of(configure, THIN, **asked) == tuple(combinations(names, 2))
        assert plan_look(configure(THIN, **asked)).event.pairs == tuple(combinations(names, 2))


@pytest.mark.parametrize(
    ("sizes", "asked"),
    [
        (THIN, ONES),
        ((1_001, 1_000), TWOS),
        ((21_000, 1, 1), TWOS),
        ((3_000, 3_000, 3_000), TWOS),
    ],
    ids=["1-way", "two too large", "one varied", "all too large"],
)
def test_no_pairs_are_seen_where_they_tell_nothing(configure, sizes, asked):
    """None is asked for, or none is small: there is no such count."""
    assert seen_pairs_of(configure, sizes, **asked) == ()
    event = plan_look(configure(sizes, **asked)).event
    assert event.counts == len(event.firsts) == 2
    assert event.epsilon == LOOK_SHARE


def test_the_only_pair_is_seen_where_it_is_asked_for_as_a_table(configure):
    """Up to a million cells, whether or not there are columns of one code; not for ranges alone."""
    for sizes in ((150, 140), (150, 140, 1, 1), (1_000, 1_000)):
        pairs = seen_pairs_of(configure, sizes)
        assert pairs == (("column-0", "column-1"),)
        assert seen_pairs_of(configure, sizes, **ONES | {"cells": True}) == pairs
    problem = problem_of(configure((150, 140), **ONES))
    edges = tuple(tuple(map(Fraction, range(size + 1))) for size in (150, 140))
    numeric = tuple(
        replace(each, kind="integer", levels=(), edges=own)
        for each, own in zip(problem.attributes, edges, strict=True)
    )
    ranges = (RangeQueries(problem.universe.names, "range", Fraction(1)),)
    asked = replace(problem.workload, marginals=(), ranges=ranges)
    assert seen_pairs(replace(problem, attributes=numeric, workload=asked)) == ()


def test_a_table_of_two_columns_counts_if_it_is_asked_for(configure):
    """Not if it has no weight, or only one of its columns varies; and as much for intervals."""
    problem = problem_of(configure(THIN, **ONES))
    varied, constant = problem.universe.names[:2], (*problem.universe.names[:1], "constant")

    def seen(names, weight, **changes):
        marginals = (WeightedMarginal(names, Fraction(weight)),)
        workload = replace(problem.workload, marginals=marginals)
        return seen_pairs(replace(problem, **{"workload": workload} | changes))

    one = Attribute("constant", "categorical", ("0",))
    assert len(seen(varied, 1)) == 10
    assert seen(varied, 0) == ()
    assert seen(constant, 1, attributes=(*problem.attributes, one)) == ()
    ranges = (RangeQueries(varied, "range", Fraction(1)),)
    asked = replace(problem.workload, marginals=(), ranges=ranges)
    edges = tuple(map(Fraction, range(11)))
    numeric = [replace(a, kind="integer", levels=(), edges=edges) for a in problem.attributes[:2]]
    with_numbers = (*numeric, *problem.attributes[2:])
    assert len(seen_pairs(replace(problem, workload=asked, attributes=with_numbers))) == 10


@pytest.mark.parametrize("columns", [15, 16, 40])
def test_no_more_pairs_are_seen_than_stand_for_all(configure, columns):
    """And every column is in one of them."""
    every = math.comb(columns, 2)
    pairs = seen_pairs_of(configure, (4,) * columns)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) <= MOST_SEEN_PAIRS
    assert len(pairs) >= min(every, MOST_SEEN_PAIRS // 2)
    assert {name for pair in pairs for name in pair} == {f"column-{i}" for i in range(columns)}


def test_no_large_pair_is_seen(configure):
    """Of 500 x 200 cells a table is counted, of more it is not."""
    pairs = seen_pairs_of(configure, (500, 200, 201, 3))
    assert CELLS_OF_A_SEEN_PAIR == 500 * 200
    seen = {tuple(int(name.removeprefix("column-")) for name in pair) for pair in pairs}
    assert seen == {(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)}


@pytest.mark.parametrize("sizes", [THIN, (4,) * 16])
def test_the_same_pairs_are_seen_whatever_the_order_of_the_columns(configure, sizes):
    config = configure(sizes, strategy="auto", order=2)
    pairs = seen_pairs(problem_of(config))
    backwards = replace(config, universe=Universe(config.universe.attributes[::-1]))
    assert seen_pairs(problem_of(backwards)) == tuple((other, one) for one, other in pairs)


def test_a_public_number_of_records_stands_and_the_look_tells_how_they_gather(configure):
    config = configure(THIN, strategy="auto", order=2, total=900)
    look, problem = plan_look(config), problem_of(config)
    for counts in ((700, 350, 90), (-(10**9), 350, 90), (10**9, 350, 90)):
        after = after_look(problem, look, counts)
        assert after.seen.records == after.records == 900
        assert after.seen.visible == pytest.approx(350 / 900)
        assert after.seen.apart[0] == pytest.approx(2 * 90 / 900)
        assert after.considered_records == (900,)
        assert not after.records_are_assumed
    noisy = configure(THIN, strategy="auto", order=2, total=900, epsilon="1/100")
    unseen = after_look(problem_of(noisy), plan_look(noisy), (700, 350, 90))
    assert unseen.records == 900
    assert unseen.seen.records is None, "900 records do not stand out from the noise of a look"
    assert unseen.seen.visible == 0.0, "nor out of that of their cells"


def test_the_last_count_is_half_of_what_is_apart(configure):
    """A share of the records, with noise of twice the deviation, and not beyond what it can be."""
    problem = problem_of(configure(THIN, **TWOS))
    look = look_of(problem)
    one = (2 * 50**2) ** 0.5  # the deviation of one count
    for apart, share in ((0, 0), (250, 0.05), (2_500, 0.5), (-250, -0.05), (-(10**9), -1)):
        for sign in (1, -1):
            seen = seen_by(problem, look, (9_000, 1_000, sign * apart))
            assert (seen.records, seen.visible) == (10_000, 0.1)
            deviation = pytest.approx(2 * one / 10_000, rel=1e-3)
            assert seen.apart == (pytest.approx(sign * share), deviation)
    alone = problem_of(configure(THIN, **ONES))
    assert seen_by(alone, look_of(alone), (9_000, 1_000)).apart is None


@pytest.mark.parametrize(("seen", "visible"), [(100, 0.0), (300, None)])
def test_what_noise_hides_from_a_look_it_hides_in_the_cells_if_these_are_many(
    configure, seen, visible
):
    """1,500 cells at epsilon 1: their noise is 15 scales for each of 100 records, 5 of 300."""
    problem = problem_of(configure((5, 5, 6, 10), strategy="auto"))
    after = after_look(problem, look_of(problem), (seen, 0, 0))
    assert after.seen.records is None
    assert after.seen.visible == visible
    ways = suitable(after, list(ways_to_spend(after)))
    full = {len(way.events[0].table) == 4 for way in ways}
    assert full == ({False} if visible == 0.0 else {True, False})


def dependence_seen(problem, *apart):
    return replace(problem, seen=Seen(10**4, 0.0, 10**5, apart=apart or None)).dependence


def test_what_was_seen_of_pairs_weighs_as_much_as_its_noise_allows(configure):
    """The mean of a logarithmic normal law, given what was seen with normal noise."""
    problem = problem_of(configure(THIN, **TWOS))
    assert problem.dependence == ASSUMED_DEPENDENCE
    assert dependence_seen(problem) == MEAN_DEPENDENCE
    values = np.geomspace(DEPENDENCES[0], DEPENDENCES[-1], 100_001)
    prior = (np.log(values / MEAN_DEPENDENCE) / ITS_SPREAD + ITS_SPREAD / 2) ** 2
    for share, deviation in product((-0.1, 0.0, 0.03, 0.3, 0.9), (0.02, 0.05, 0.1, 0.28, 9)):
        logs = -(prior + ((values - share) / deviation) ** 2) / 2
        law = np.exp(logs - logs.max())
        mean = values @ law / law.sum()
        assert dependence_seen(problem, share, deviation) == pytest.approx(mean, rel=0.03)
    for share in (0.01, 0.3, 0.9):
        assert dependence_seen(problem, share, 1e-6) == pytest.approx(share, rel=0.05)
    assert dependence_seen(problem, 0.0, 1e-6) == pytest.approx(DEPENDENCES[0])
    assert dependence_seen(problem, 0.0, 0.1) > 0.02, "so much noise hides some dependence"
    assert dependence_seen(problem, 1.0, 1e9) == pytest.approx(MEAN_DEPENDENCE, rel=0.01)


@given(
    apart=st.floats(-1, 1),
    more=st.floats(0, 1),
    deviation=st.floats(-20, 0).map(lambda power: 10.0**power),
)
def test_dependence_is_a_share_and_grows_with_what_was_seen(apart, more, deviation):
    problem = problem_of(fixtures.configure.__wrapped__()(THIN, **TWOS))
    less, greater = (
        dependence_seen(problem, each, deviation) for each in (apart, min(apart + more, 1.0))
    )
    assert DEPENDENCES[0] <= less * (1 + 1e-9)
    assert less <= greater * (1 + 1e-9) <= 1 + 1e-9


@pytest.mark.parametrize("sizes", [HELD, TOO_LARGE])
def test_how_far_pairs_depend_decides_if_they_are_measured(configure, sizes):
    """10,000 records, nearly all alone, of columns that are independent or far from it."""
    problem = problem_of(configure(sizes, **TWOS))
    look = look_of(problem)
    tables = [
        choose(after_look(problem, look, (10_000, 0, apart))).chosen.spending.tables
        for apart in (-2_000, -1_000, 100, 2_000, 5_000)
    ]
    assert tables[:2] == ["1-way", "1-way"]
    assert tables == sorted(tables, key=lambda each: "pairs" in each), "once it pays, it does"
    assert all("pairs" in each for each in tables[-2:])
    assert tables[-1] == "1-way + all pairs"
