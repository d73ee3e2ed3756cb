"""The public rule: dense or sparse, the threshold, and what is measured beside the list."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from synth.config import PersonUnit
from synth.domain import DENSE_LIMIT_CELLS, Margin
from synth.noise import DiscreteLaplace
from synth.noise.mechanism import is_private, threshold_of_delta
from synth.planning import forecast, plan_events, plan_schedule
from synth.planning.listed import (
    FALSE_CELLS,
    expected_false_cells,
    is_sparse,
    listing_event,
    unlisted_share,
)
from synth.planning.printed import render
from synth.planning.problem import problem_of
from synth.planning.strategies import LARGEST_LOW_ORDER_CELLS, MOST_ATTRIBUTES
from synth.privacy import total_budget

WIDE = (10,) * 30
SMALL = (3, 4, 5)


def wide(configure, **changes):
    return configure(WIDE, strategy="sparse", order=2, **changes)


def test_the_rule_is_the_size_or_the_word(configure):
    assert DENSE_LIMIT_CELLS == 10**9
    assert not is_sparse(problem_of(configure((10,) * 9, strategy="auto")))
    assert is_sparse(problem_of(configure((*(10,) * 9, 2), strategy="auto", order=1)))
    assert is_sparse(problem_of(configure(SMALL, strategy="sparse")))


def test_the_list_comes_first_and_every_attribute_is_measured(configure):
    events = plan_events(wide(configure))
    listing, *others = events
    assert listing.threshold is not None
    assert listing.cells == 10**30
    assert all(event.threshold is None for event in others)
    alone = {event.table for event in others if len(event.table) == 1}
    assert alone == {(name,) for name in wide(configure).universe.names}
    assert all(event.cells <= LARGEST_LOW_ORDER_CELLS for event in others)
    assert all(len(event.table) <= MOST_ATTRIBUTES for event in others)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "7"])
def test_the_budget_is_spent_exactly(configure, epsilon):
    for sizes in (WIDE, SMALL):
        config = configure(sizes, strategy="sparse", order=2, epsilon=epsilon)
        total = total_budget(plan_events(config), delta=Fraction(0))
        assert total.epsilon == Fraction(epsilon)
        assert total.delta == 0


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_budget_with_delta_is_kept(configure, neighbours):
    delta = "1/1000000000"
    config = wide(configure, delta=delta, neighbours=neighbours, total=10**6)
    events = plan_events(config)
    total = total_budget(events, delta=Fraction(delta))
    assert total.epsilon <= 1
    assert total.delta <= Fraction(delta)
    listing = events[0]
    assert listing.mechanism == "partition-selection"
    law = DiscreteLaplace(listing.epsilon, listing.sensitivity_l1)
    assert is_private(law, threshold=listing.threshold, delta=listing.delta)
    assert listing.threshold == threshold_of_delta(law, delta=listing.delta)


def test_partition_selection_counts_all_records_of_a_person(configure):
    one = problem_of(wide(configure, delta="1/1000000"))
    many = problem_of(wide(configure, delta="1/1000000", unit=PersonUnit("id", 4)))
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    alone, together = (listing_event(each, epsilon, delta) for each in (one, many))
    assert together.sensitivity_l1 == 4
    # four times the noise scale, and four records in one cell instead of one
    assert together.threshold > 4 * (alone.threshold - 1)


def test_a_higher_threshold_of_delta_is_not_taken(configure):
    """In a small universe the pure list has the lower threshold."""
    problem = problem_of(configure(SMALL, strategy="sparse", delta="1/1000000000"))
    event = listing_event(problem, Fraction(1), Fraction(1, 10**9))
    assert event.mechanism == "discrete-laplace"
    assert event.delta is None


def test_the_threshold_keeps_false_cells_within_the_limit(configure):
    problem = problem_of(wide(configure))
    event = listing_event(problem, Fraction(1), Fraction(0))
    assert event.threshold == 60
    found = expected_false_cells(event)
    law = DiscreteLaplace(Fraction(1), 1)
    assert found == pytest.approx(float(10**30 * law.alpha**60 / (1 + law.alpha)), rel=1e-12)
    assert FALSE_CELLS / math.e < found <= FALSE_CELLS
    assert expected_false_cells(replace(event, threshold=None)) is None


def test_the_threshold_ignores_the_records(configure):
    """What is known of the number of records never moves the threshold of a given budget."""
    thresholds = {
        listing_event(
            problem_of(wide(configure, expected=expected)), Fraction(1), Fraction(0)
        ).threshold
        for expected in (None, 1, 10**6, 10**12)
    }
    assert len(thresholds) == 1


def test_more_records_are_listed_of_a_smaller_threshold(configure):
    event = listing_event(problem_of(wide(configure)), Fraction(1), Fraction(0))
    shares = [unlisted_share(replace(event, threshold=t), 10**6) for t in (1, 10, 100, 10**7)]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] == 1
    assert unlisted_share(replace(event, threshold=None), 10**6) == 0


def test_tables_that_are_given_are_measured_beside_the_list(configure):
    config = wide(configure)
    names = config.universe.names
    pair = Margin(names[:2], (0, 0))
    full = Margin(names, (0,) * 30)
    without = plan_events(replace(config, strategy=(pair,)))
    assert [(event.table, event.threshold) for event in without] == [(pair.names, None)]
    assert without[0].epsilon == 1
    listing, other = plan_events(replace(config, strategy=(pair, full)))
    assert listing.threshold is not None
    assert other.table == pair.names
    assert listing.epsilon + other.epsilon == 1
    only, total = plan_events(replace(config, strategy=(full,)))
    assert (total.table, total.cells, total.epsilon) == ((), 1, Fraction(1, 50))
    assert only == listing_event(problem_of(config), Fraction(49, 50), Fraction(0))
    assert only.threshold == 61


@pytest.mark.parametrize("sizes", [(40,), (8, 8), (3, 4, 5)])
@pytest.mark.parametrize("order", [1, 2])
def test_the_universe_is_never_a_table_beside_its_own_list(configure, sizes, order):
    events = plan_events(configure(sizes, strategy="sparse", order=min(order, len(sizes))))
    assert events[0].threshold is not None
    assert all(len(event.table) < len(sizes) for event in events[1:])
    assert total_budget(events, delta=Fraction(0)).epsilon == 1


def test_the_order_of_columns_does_not_matter(configure):
    sizes = (10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
    names = [f"c{size}" for size in sizes]
    one = configure(sizes, names=names, strategy="sparse", order=2)
    other = configure(sizes[::-1], names=names[::-1], strategy="sparse", order=2)

    def tables(config):
        return sorted((sorted(e.table), e.epsilon, e.threshold or 0) for e in plan_events(config))

    assert tables(one) == tables(other)


def test_the_forecast_of_a_list(configure):
    config = configure((10,) * 12, strategy="sparse", order=2, expected=10**6)
    plan = forecast(config, with_alternatives=True)
    assert plan_schedule(config) is None
    assert plan.threshold == plan.tables[0].threshold
    assert plan.expected_false_cells <= FALSE_CELLS
    assert plan.phantom_records_if_clipped is None
    assert plan.single_cell is None
    assert len(plan.queries) >= 12
    assert plan.costs.memory_bytes < 10**9
    plain = plan.to_plain()
    assert plain["threshold"] == plan.threshold
    assert plain["expected_false_cells"] == plan.expected_false_cells


def test_the_page_says_what_is_listed(configure, capsys):
    from rich.console import Console

    render(forecast(wide(configure)), Console(width=200))
    page = capsys.readouterr().out
    threshold = plan_events(wide(configure))[0].threshold
    assert "about 10^30 combinations of values (cells)" in page
    assert f"at least {threshold:,}" in page


def test_a_list_alone_answers_nothing_by_sums(configure):
    config = wide(configure)
    full = Margin(config.universe.names, (0,) * 30)
    plan = forecast(replace(config, strategy=(full,)))
    assert plan.queries == ()
    assert len(plan.unanswered) == 30 + 30 * 29 // 2


def test_in_a_small_universe_few_cells_are_listed_by_noise_alone(configure):
    problem = problem_of(configure((2, 5, 7, 6, 2, 16, 9), strategy="sparse"))
    event = listing_event(problem, Fraction(1, 2), Fraction(0))
    assert expected_false_cells(event) <= 1_209.6
    assert expected_false_cells(replace(event, threshold=event.threshold - 1)) > 1_209.6
