"""Above the dense limit: which tables are weighed, their exact budgets, and what is chosen."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synth.config import PersonUnit, WeightedMarginal
from synth.domain import Margin, Universe
from synth.domain.attribute import with_halves
from synth.planning import plan_events, wide
from synth.planning.listed import LISTED_SHARES
from synth.planning.margins import errors_of_columns
from synth.planning.problem import problem_of
from synth.planning.weighing import choose
from synth.planning.wide import (
    CELLS_PER_RECORD,
    CODES_OF_A_GROUP,
    FEWEST_GROUPS,
    ONE_WAY_PARTS,
    TRIPLE_PARTS,
    is_wide,
    wide_ways,
)
from synth.privacy import SelectionEvent, largest_rho, total_budget

DELTA = Fraction(1, 10**9)
SIZES = (5, 6, 7, 8, 9, 10, 11, 12, 5, 6, 7, 8)
"""3 x 10^10 cells."""


def problem_with(configure, **changes):
    settings = {"strategy": "auto", "cells": False, "total": 100_000, "order": 2} | changes
    return problem_of(configure(SIZES, **settings))


def part_of(way, order):
    """What part of the budget of its small tables goes to those of one order."""
    found = [event for event in way.events if event.table and event.threshold is None]
    budgets = {event: event.rho or event.epsilon for event in found}
    ours = sum(budget for event, budget in budgets.items() if len(event.table) == order)
    return float(ours / sum(budgets.values()))


def orders_of(way):
    """The numbers of columns of its small tables, each once."""
    return {len(event.table) for event in way.events if event.threshold is None}


def test_the_rule_is_the_size_alone(configure):
    assert is_wide(problem_of(configure((10,) * 10, order=1)))
    assert not is_wide(problem_of(configure((10,) * 9, order=1, strategy="sparse")))


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_every_family_is_weighed_with_every_part(configure, delta):
    problem = problem_with(configure, delta=delta, order=3)
    ways = list(wide_ways(problem))
    noises = {way.noise for way in ways}
    assert noises == ({"laplace", "gaussian"} if delta != "0" else {"laplace"})
    for noise in noises:
        own = [way for way in ways if way.noise == noise]
        assert [way.tables for way in own].count("1-way") == 1
        pairs = [way for way in own if way.tables == "1-way + all pairs"]
        assert [part_of(way, 1) for way in pairs] == pytest.approx(ONE_WAY_PARTS, abs=1e-3)
        assert all(len(way.events) == 12 + 66 for way in pairs)
        triples = [way for way in own if way.tables == "1-way + all pairs + triples"]
        parts = [part_of(way, 3) for way in triples]
        assert parts == pytest.approx(TRIPLE_PARTS if noise == "gaussian" else (), abs=1e-3)


def test_all_pairs_get_noise_alike(configure):
    """And 1-way tables of N codes epsilon like N^(1/2), rho like N^(2/3)."""
    for way in wide_ways(problem_with(configure, delta="1e-9")):
        pairs = [event for event in way.events if len(event.table) == 2]
        assert len({event.rho or event.epsilon for event in pairs}) <= 2  # what is left over
        ones = {event.table: event for event in way.events if len(event.table) == 1}
        power = 1 / 2 if way.noise == "laplace" else 2 / 3
        first, last = ones["column-0",], ones["column-7",]
        budgets = [float(event.rho or event.epsilon) for event in (first, last)]
        assert budgets[1] / budgets[0] == pytest.approx((12 / 5) ** power, rel=0.01)


@pytest.mark.parametrize(("noise", "power"), [("laplace", 1 / 2), ("gaussian", 2 / 3)])
@pytest.mark.parametrize("is_grouped", [False, True])
def test_covering_tables_get_the_more_budget_the_more_columns_and_cells_they_have(
    configure, noise, power, is_grouped
):
    """The cells that are measured: of an amount in groups, those of its groups."""
    sizes = (2, 3, 2, 3, 2, 9, 11, 12, 13, 9, 10, 11, 12, 64)
    settings = {"strategy": "auto", "cells": False, "total": 2**12, "order": 2}
    config = configure(sizes, delta="1e-9", **settings)
    if is_grouped:
        *rest, last = config.universe.attributes
        edges = tuple(map(Fraction, range(65)))
        amount = with_halves(replace(last, kind="integer", levels=(), edges=edges))
        config = replace(config, universe=Universe((*rest, amount)))
        config = replace(config, public_totals=config.public_totals[1:])
    problem = problem_of(config)
    ways = [way for way in wide_ways(problem) if way.tables == "covering tables"]
    ways = [way for way in ways if way.noise == noise]
    assert ways
    for way in ways:
        events = [event for event in way.events if event.table]
        assert any(any(event.coarsening) for event in events) == is_grouped
        margins = [Margin(event.table, event.coarsening) for event in events]
        assert len({len(margin.names) for margin in margins}) > 1
        expected = np.array(errors_of_columns(problem, margins)) ** power
        shares = np.array([float(event.rho or event.epsilon) for event in events])
        assert shares / shares.sum() == pytest.approx(expected / expected.sum(), rel=0.01)


@pytest.mark.parametrize("epsilon", ["1/10", "7/3"])
@pytest.mark.parametrize("strategy", ["auto", "sparse"])
@pytest.mark.parametrize("unit", ["record", PersonUnit("id", 4)])
def test_every_way_spends_exactly_what_there_is(configure, epsilon, strategy, unit):
    problem = problem_with(
        configure, epsilon=epsilon, strategy=strategy, delta="1e-9", cells=True, unit=unit, order=3
    )
    for way in wide_ways(problem):
        charged = way.charged
        pure = sum((each.epsilon for each in charged if each.epsilon), Fraction(0))
        rho = sum((each.rho for each in charged if getattr(each, "rho", None)), Fraction(0))
        if way.noise == "gaussian":
            choices = [each.epsilon for each in charged if isinstance(each, SelectionEvent)]
            rho += sum((epsilon**2 / 2 for epsilon in choices), Fraction(0))
            pure -= sum(choices)
        kept = DELTA / 2 if way.low_order_share is not None else DELTA
        if way.noise == "gaussian":
            assert rho == largest_rho(Fraction(epsilon) - pure, kept)
        else:
            assert pure == Fraction(epsilon)
            assert rho == 0
        spent = total_budget(charged, delta=DELTA)
        assert spent.epsilon <= Fraction(epsilon)
        assert spent.delta <= DELTA


def test_a_selection_leaves_the_gaussian_tables_their_delta(configure):
    """In a universe so large that delta lists more cells than pure noise does."""
    config = configure((10,) * 30, strategy="sparse", delta="1e-9", order=1, total=10**5)
    ways = list(wide_ways(problem_of(config)))
    assert {way.noise for way in ways} == {"laplace", "gaussian"}
    for way in ways:
        assert way.events[0].mechanism == "partition-selection"
        assert total_budget(way.events, delta=DELTA).delta <= DELTA


def test_a_list_is_weighed_where_cells_are_asked_for(configure):
    def listed(**changes):
        ways = wide_ways(problem_with(configure, **changes))
        return {1 - way.low_order_share if way.low_order_share else None for way in ways}

    assert listed(cells=False) == {None}
    assert listed(cells=True) == {None, *LISTED_SHARES}
    assert listed(strategy="sparse", cells=False) == {*LISTED_SHARES}


def test_no_list_is_chosen_where_hardly_two_records_share_a_cell(configure):
    """Three records for every million cells: a list would say nothing for its budget."""
    chosen = choose(problem_with(configure, cells=True)).chosen.spending
    assert all(event.threshold is None for event in chosen.events)
    assert dict(choose(problem_with(configure, cells=True)).chosen.errors)["cells", 12] > 0.999


def test_pairs_asked_for_are_a_family_if_they_are_not_all(configure):
    config = configure(SIZES, strategy="auto", cells=False, total=100_000)
    names = config.universe.names
    tables = (names[:3], names[3:4])
    marginals = tuple(WeightedMarginal(each, Fraction(1)) for each in tables)
    few = replace(config, workload=replace(config.workload, marginals=marginals))
    ways = {way.tables: way for way in wide_ways(problem_of(few))}
    asked = [e.table for e in ways["1-way + pairs asked for"].events if len(e.table) == 2]
    assert asked == list(combinations(names[:3], 2))
    everything = {way.tables for way in wide_ways(problem_with(configure))}
    assert "1-way + pairs asked for" not in everything


def test_triples_have_room_for_the_records(configure):
    """And are those inside a table of the workload."""
    problem = problem_with(configure, delta="1e-9", order=3, total=1500)
    way = next(way for way in wide_ways(problem) if 3 in orders_of(way))
    sizes = dict(zip(problem.universe.names, SIZES, strict=True))
    expected = {
        names
        for names in combinations(problem.universe.names, 3)
        if math.prod(sizes[name] for name in names) <= CELLS_PER_RECORD * 1500
    }
    assert {event.table for event in way.events if len(event.table) == 3} == expected
    assert 0 < len(expected) < 220
    pairs_only = problem_with(configure, delta="1e-9", order=2)
    assert all(3 not in orders_of(way) for way in wide_ways(pairs_only))


def test_the_smallest_pairs_come_first_if_there_are_too_many(configure, monkeypatch):
    def pairs_of():
        wide._tables.cache_clear()
        wide._ways.cache_clear()
        ways = {way.tables: way for way in wide_ways(problem_with(configure))}
        return [event for event in ways["1-way + all pairs"].events if len(event.table) == 2]

    every = sorted(event.cells for event in pairs_of())
    monkeypatch.setattr(wide, "MOST_PAIRS", 5)
    assert sorted(event.cells for event in pairs_of()) == every[:5]
    monkeypatch.setattr(wide, "MOST_PAIRS", 100)
    monkeypatch.setattr(wide, "MOST_CELLS_IN_ALL", sum(every[:8]))
    assert sorted(event.cells for event in pairs_of()) == every[:8]
    monkeypatch.setattr(wide, "SMALL_TABLE_CELLS", every[2])
    assert sorted(event.cells for event in pairs_of()) == [c for c in every if c <= every[2]]
    wide._tables.cache_clear()
    wide._ways.cache_clear()


def test_pairs_are_measured_where_the_signal_is_strong_enough(configure):
    """Strong and weak is what the budget and the number of records make of it."""
    strong = choose(problem_with(configure, epsilon="3", delta="1e-9")).chosen.spending
    assert 2 in orders_of(strong)
    weak = choose(problem_with(configure, epsilon="1/10", total=2000)).chosen.spending
    assert orders_of(weak) <= {0, 1}
    assert weak.tables == "1-way"


def test_more_columns_leave_less_for_the_one_way_tables_of_a_strong_signal(configure):
    """The weaker the pairs, the larger the part of the 1-way tables."""
    parts = []
    for total in (10**4, 10**5, 10**7):
        chosen = choose(problem_with(configure, epsilon="3", total=total)).chosen.spending
        parts.append(part_of(chosen, 1))
    assert parts == sorted(parts, reverse=True)
    assert parts[0] > parts[-1]


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_the_plan_does_not_depend_on_the_order_of_columns(configure, delta):
    config = configure(SIZES, strategy="auto", delta=delta, epsilon="3", total=10**5)
    turned = replace(config, universe=Universe(config.universe.attributes[::-1]))

    def as_a_set(events):
        return {(frozenset(e.table), e.cells, e.epsilon, e.rho, e.threshold) for e in events}

    first = plan_events(config)
    assert len(first) > 12
    assert as_a_set(first) == as_a_set(plan_events(turned))
    choose.cache_clear()
    assert plan_events(config) == first


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_pairs_may_be_chosen_up_to_half_of_them(configure, delta):
    problem = problem_of(configure((4,) * 16, strategy="auto", order=2, cells=False, delta=delta))
    ways = [way for way in wide_ways(problem) if way.schedule is not None]
    assert {way.tables for way in ways} == {"1-way + chosen pairs"}
    assert {len(way.schedule.rounds) for way in ways} == {16, 32}, "of 120 pairs"
    for way in ways:
        schedule = way.schedule
        assert len(schedule.guesses_after) == 4
        assert len(schedule.candidates) == 120
        assert all(each.weight == 1 for each in schedule.candidates)
        assert [len(event.table) for event in way.first] == [1] * 16
        assert len({event.table for event in way.events}) == len(way.events)
        left = [each.selection.candidates for each in schedule.rounds]
        assert left == list(range(120, 120 - len(left), -1))
        assert sum(e.cells for e in way.dearest) >= sum(e.cells for e in way.events)


@pytest.mark.parametrize(("columns", "counts"), [(30, {30, 60, 120}), (60, {60, 120, 200})])
def test_of_many_columns_no_more_than_two_hundred_pairs_may_be_chosen(configure, columns, counts):
    problem = problem_of(configure((3,) * columns, strategy="auto", order=2, cells=False))
    choosing = [way for way in wide_ways(problem) if way.schedule is not None]
    assert {len(way.schedule.rounds) for way in choosing} == counts


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_of_few_columns_half_of_the_pairs_or_a_triple_or_two_may_be_chosen(configure, delta):
    problem = problem_of(configure((4,) * 7, strategy="auto", cells=False, delta=delta))
    choosing = [way for way in wide_ways(problem) if way.schedule is not None]
    pairs = [way for way in choosing if way.tables == "1-way + chosen pairs"]
    assert {len(way.schedule.rounds) for way in pairs} == {7, 10}, "of 21 pairs"
    found = [way for way in choosing if way not in pairs]
    assert {way.tables for way in found} == {"1-way + all pairs + chosen triples"}
    assert {len(way.schedule.rounds) for way in found} == {1, 2}
    for way in found:
        assert [len(event.table) for event in way.first] == [1] * 7 + [2] * 21
        assert [len(each.margin.names) for each in way.schedule.candidates] == [3] * 35
        assert [*way.schedule.guesses_after] == [0]
        assert total_budget(way.charged, delta=problem.privacy.delta).epsilon <= 1
    more = problem_of(configure((4,) * 9, strategy="auto", cells=False, delta=delta))
    assert {way.tables for way in wide_ways(more) if way.schedule} == {"1-way + chosen pairs"}
    pairs_only = problem_of(configure((4,) * 7, strategy="auto", cells=False, order=2))
    assert {way.tables for way in wide_ways(pairs_only) if way.schedule} == {"1-way + chosen pairs"}


def test_a_list_of_heavy_cells_stands_beside_no_choices(configure):
    problem = problem_with(configure, strategy="sparse", cells=True)
    assert all(way.schedule is None for way in wide_ways(problem))


def resolutions_of(configure, *, hierarchy=True, **changes):
    """The groups of a column of 64 bins in the pairs of every way, by the ways' 1-way parts."""
    config = configure(SIZES, **({"strategy": "auto", "cells": False, "order": 2} | changes))
    first, *rest = config.universe.attributes
    edges = tuple(map(Fraction, range(65)))
    amount = replace(first, kind="integer", levels=(), edges=edges)
    amount = with_halves(amount) if hierarchy else amount
    universe = Universe((amount, *rest))
    problem = problem_of(replace(config, universe=universe, public_totals=config.public_totals[1:]))
    found = {}
    for way in wide_ways(problem):
        if way.tables == "1-way + all pairs" and way.noise == "laplace":
            pairs = [event for event in way.events if len(event.table) == 2]
            ours = [event for event in pairs if amount.name in event.table]
            (step,) = {event.coarsening[event.table.index(amount.name)] for event in ours}
            assert all(not any(event.coarsening) for event in pairs if event not in ours)
            other = problem.universe.attribute(ours[0].table[1])
            assert ours[0].cells == (64 >> step) * other.size
            ones = [event for event in way.events if len(event.table) == 1]
            assert not any(any(event.coarsening) for event in ones)
            found[round(part_of(way, 1), 2)] = 64 >> step
    return found


def test_the_weaker_the_signal_the_coarser_pairs_are_measured(configure):
    """At the coarsest level of 64 / c groups, c = CODES_OF_A_GROUP / q, but `FEWEST_GROUPS`."""
    strong = resolutions_of(configure, epsilon="10", total=2**20)
    assert set(strong.values()) == {64}
    weak = resolutions_of(configure, epsilon="1/10", total=2**10)
    assert set(weak.values()) == {8}
    between = resolutions_of(configure, epsilon="1/4", total=3 * 2**15)
    codes = sum(SIZES) - SIZES[0] + 64
    for part, groups in between.items():
        noise = 2 * (4 * 66 / (1 - part)) ** 2  # of Laplace noise with that epsilon a pair
        q = 3 * 2**15 / math.sqrt(noise * codes)
        least = max(64 * q / CODES_OF_A_GROUP, FEWEST_GROUPS)
        assert groups / 2 < min(least, 64) <= groups
    assert len(set(between.values())) > 1


def test_without_a_hierarchy_pairs_are_measured_at_the_codes(configure):
    found = resolutions_of(configure, hierarchy=False, epsilon="1/10", total=2**10)
    assert set(found.values()) == {64}
