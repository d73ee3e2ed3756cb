"""The adaptive schedule: fixed, exact, and the same whatever the order of the columns."""

from fractions import Fraction
from itertools import combinations, permutations

import pytest

from synth.config import PersonUnit, RangeQueries
from synth.domain import Margin
from synth.planning import adaptive as planned
from synth.planning import forecast, plan_events, plan_schedule
from synth.planning.adaptive import (
    MOST_ROUNDS,
    START,
    candidates_of,
    likely_tables,
    schedule_of,
)
from synth.planning.problem import problem_of
from synth.planning.rounds import Candidate, choice_share
from synth.privacy import OpenTableEvent, SelectionEvent, largest_rho, total_budget

SIZES = (3, 7, 4, 2)
DELTA = Fraction(1, 10**6)


def adaptive(configure, sizes=SIZES, **changes):
    return configure(sizes, **({"strategy": "adaptive", "cells": False} | changes))


def tables(problem):
    return [each.margin.names for each in candidates_of(problem)]


@pytest.mark.parametrize("epsilon", ["1/10", "1", "7/3", "1/1000"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_without_delta_all_epsilons_add_up_to_the_whole(configure, epsilon, neighbours):
    config = adaptive(configure, epsilon=epsilon, neighbours=neighbours)
    schedule = plan_schedule(config)
    assert total_budget(schedule.events, delta=Fraction(0)).epsilon == config.privacy.epsilon
    share = choice_share(schedule.candidates)
    for each in schedule.rounds:
        assert each.selection.epsilon / (each.selection.epsilon + each.table.epsilon) == share


@pytest.mark.parametrize("epsilon", ["1/10", "1", "7/3"])
def test_with_delta_everything_is_at_most_the_configured_pair(configure, epsilon):
    config = adaptive(configure, epsilon=epsilon, delta="1/1000000")
    schedule = plan_schedule(config)
    total = total_budget(schedule.events, delta=DELTA)
    assert total.delta == DELTA
    assert config.privacy.epsilon * Fraction(999_999, 10**6) < total.epsilon
    assert total.epsilon <= config.privacy.epsilon
    rho = sum((event.rho for event in schedule.first), Fraction(0))
    for each in schedule.rounds:
        square = each.selection.epsilon**2 / 2
        rho += each.table.rho + square
        share = float(choice_share(schedule.candidates))
        assert float(square / (square + each.table.rho)) == pytest.approx(share)
    assert rho == largest_rho(config.privacy.epsilon, DELTA)


@pytest.mark.parametrize("strategy", ["adaptive", "auto", "identity"])
@pytest.mark.parametrize("delta", ["0", "1/1000"])
@pytest.mark.parametrize(("neighbours", "units"), [("add-remove", 1), ("replace-one", 2)])
def test_every_planned_table_has_the_sensitivity_of_a_person(
    configure, strategy, delta, neighbours, units
):
    """Three records each: 3 in L1 norm and 9 squared, for every unit that changes."""
    config = configure(
        (3,) * 6,
        order=2,
        strategy=strategy,
        delta=delta,
        neighbours=neighbours,
        unit=PersonUnit("person", 3),
        cells=False,
    )
    schedule = plan_schedule(config)
    events = [*plan_events(config), *([] if schedule is None else schedule.events)]
    tables = [event for event in events if not isinstance(event, SelectionEvent)]
    gaussian = [event for event in tables if event.rho is not None]
    assert {event.sensitivity_l1 for event in tables} == {3 * units}
    assert {event.sensitivity_l2_squared for event in gaussian} <= {9 * units}
    assert bool(gaussian) == (delta != "0" and strategy != "identity")


def test_the_charge_does_not_depend_on_what_is_chosen(configure):
    config = adaptive(configure, delta="1/1000000")
    schedule = plan_schedule(config)
    charged = total_budget(schedule.events, delta=DELTA)
    count = len(schedule.rounds)
    for order in (schedule.candidates[:count], schedule.candidates[::-1][:count]):
        events = list(schedule.first)
        for each, candidate in zip(schedule.rounds, order, strict=True):
            events += [each.selection, each.event(candidate)]
        assert total_budget(events, delta=DELTA) == charged


def test_rounds_have_one_candidate_less_each_and_there_are_as_many_whatever_the_data(configure):
    schedule = plan_schedule(adaptive(configure))
    assert len(schedule.rounds) == min(len(schedule.candidates), 2 * len(SIZES), MOST_ROUNDS)
    left = len(schedule.candidates)
    kinds = [type(event) for event in schedule.events[len(SIZES) :]]
    assert kinds == [SelectionEvent, OpenTableEvent] * len(schedule.rounds)
    for number, each in enumerate(schedule.rounds):
        assert each.selection.candidates == left - number
    wide = plan_schedule(adaptive(configure, (2,) * 12))
    assert len(wide.rounds) == MOST_ROUNDS


def test_the_first_tables_are_those_of_the_plan(configure):
    config = adaptive(configure)
    assert plan_events(config) == plan_schedule(config).first
    first = sum(event.epsilon for event in plan_events(config))
    assert float(first) == pytest.approx(float(START), rel=1e-4)


@pytest.mark.parametrize("strategy", ["auto", "identity"])
def test_other_strategies_have_no_schedule(configure, strategy):
    config = adaptive(configure, strategy=strategy)
    assert plan_schedule(config) is None
    assert forecast(config).to_plain()["choices"] is None


def test_candidates_lie_inside_the_workload(configure):
    problem = problem_of(adaptive(configure))
    names = problem.universe.names
    slow = [t for order in (2, 3) for t in combinations(names, order)]
    assert tables(problem) == sorted(slow, key=lambda t: (len(t), t))
    assert all(0 < each.weight <= 1 for each in candidates_of(problem))
    assert max(each.weight for each in candidates_of(problem)) == 1


def test_weights_count_what_the_workload_shares(configure):
    problem = problem_of(adaptive(configure))
    asked = [t for order in (1, 2, 3) for t in combinations(problem.universe.names, order)]
    shared = {
        each.margin.names: sum(len(set(t) & set(each.margin.names)) for t in asked)
        for each in candidates_of(problem)
    }
    for each in candidates_of(problem):
        assert each.weight == Fraction(shared[each.margin.names], max(shared.values()))


def test_ranges_are_asked_for_too(configure):
    config = adaptive(configure, order=1)
    assert candidates_of(problem_of(config)) == ()
    assert plan_schedule(config).rounds == ()
    assert sum(event.epsilon for event in plan_schedule(config).first) == 1
    ranges = RangeQueries(config.universe.names[:2], "prefix", Fraction(1))
    object.__setattr__(config.workload, "ranges", (ranges,))
    assert tables(problem_of(config)) == [config.universe.names[:2]]


@pytest.mark.parametrize(
    ("limit", "value", "expected"),
    [
        ("MOST_CANDIDATES", 9, 6),
        ("MOST_CANDIDATES", 5, 0),
        ("MOST_CELLS_IN_ALL", 100, 6),
        ("LARGEST_CANDIDATE_CELLS", 27, 6),
    ],
)
def test_large_workloads_lose_their_highest_orders(configure, monkeypatch, limit, value, expected):
    monkeypatch.setattr(planned, limit, value)
    candidates_of.cache_clear()
    problem = problem_of(adaptive(configure))
    found = candidates_of(problem)
    candidates_of.cache_clear()
    assert len(found) == expected
    if limit == "LARGEST_CANDIDATE_CELLS":
        slow = [t for o in (2, 3) for t in combinations(range(4), o)]
        sizes = [SIZES[a] * SIZES[b] * (SIZES[c[0]] if c else 1) for a, b, *c in slow]
        assert len(found) == sum(size <= value for size in sizes)
        assert max(each.cells for each in found) <= value


def test_the_order_of_the_columns_changes_nothing(configure):
    seen = set()
    for order in permutations(range(3)):
        config = adaptive(
            configure, [SIZES[i] for i in order], names=[f"column-{i}" for i in order]
        )
        schedule = plan_schedule(config)
        plain = [(frozenset(c.margin.names), c.cells, c.weight) for c in schedule.candidates]
        likely = [frozenset(event.table) for event in likely_tables(problem_of(config))]
        seen.add((tuple(plain), tuple(likely), tuple(schedule.rounds)))
    assert len(seen) == 1


def test_the_penalty_is_the_noise_of_the_whole_table(configure):
    schedule = plan_schedule(adaptive(configure))
    for candidate in schedule.candidates:
        event = schedule.rounds[0].event(candidate)
        deviation = 2**0.5 * float(event.noise_scale_records)  # about, for a small rate
        found = schedule.rounds[0].expected_l1(candidate)
        assert type(found) is int
        assert found == pytest.approx(0.798 * deviation * candidate.cells, rel=0.01)


def test_likely_tables_are_a_run_of_the_schedule(configure):
    problem = problem_of(adaptive(configure, delta="1/1000000"))
    schedule, likely = schedule_of(problem), likely_tables(problem)
    assert likely[: len(schedule.first)] == schedule.first
    later = likely[len(schedule.first) :]
    assert len(later) == len({event.table for event in later}) == len(schedule.rounds)
    pairs = {frozenset(p) for event in later for p in combinations(event.table, 2)}
    assert len(pairs) == 6


def test_the_plan_lists_what_may_be_chosen(configure):
    config = adaptive(configure)
    told = forecast(config).to_plain()["choices"]
    assert [each["attributes"] for each in told["candidates"]] == [
        list(names) for names in tables(problem_of(config))
    ]
    assert (
        sum(Fraction(r["epsilon_of_choice"]) + Fraction(r["epsilon"]) for r in told["rounds"])
        + (sum(event.epsilon for event in plan_events(config)))
        == 1
    )


@pytest.mark.parametrize(
    ("cells", "share"),
    [([4, 6], "1/8"), ([64], "1/8"), ([99, 101], "1/10"), ([100, 3156], "1/40"), ([1], "1/8")],
)
def test_the_larger_tables_are_the_less_of_a_round_pays_for_its_choice(cells, share):
    candidates = [Candidate(Margin(("a",), (0,)), each, Fraction(1)) for each in cells]
    assert choice_share(candidates) == Fraction(share)
