"""Costs: straight lines that grow with the cells, and rows only if they are public."""

from fractions import Fraction

from synth.domain import Attribute, Universe
from synth.plan.costs import forecast_costs as costs_of
from synth.privacy import TableEvent


def forecast_costs(universe, *, formats, total):
    event = TableEvent(universe.names, universe.size, 1, Fraction(1))
    return costs_of(universe, [event], formats=formats, total=total)


def columns(count, levels):
    return Universe(tuple(Attribute(f"c{i}", "categorical", levels) for i in range(count)))


def test_costs_of_rows_are_those_of_their_text():
    universe = columns(2, ("a", "bcd"))  # a mean of two letters and a separator
    without = forecast_costs(universe, formats=("csv",), total=None)
    with_rows = forecast_costs(universe, formats=("csv",), total=1000)
    assert with_rows.disk_bytes - without.disk_bytes == 1000 * 2 * 3
    assert with_rows.memory_bytes == without.memory_bytes


def test_costs_are_near_a_measured_run():
    """Six columns of ten levels: 19.5 processor seconds, 314 MB (docs/planning.md)."""
    costs = forecast_costs(
        columns(6, tuple(f"v{i}" for i in range(10))), formats=("csv", "parquet"), total=None
    )
    assert Fraction(1, 2) < Fraction(costs.seconds) / Fraction("19.5") < 2
    assert Fraction(1, 2) < Fraction(costs.memory_bytes, 314 * 10**6) < 2
    assert Fraction(1, 2) < Fraction(costs.disk_bytes, 492_000 + 115_000 + 50_000) < 2


def test_universes_of_any_size_have_costs():
    costs = forecast_costs(columns(30, tuple("0123456789")), formats=("csv",), total=None)
    assert costs.memory_bytes > 10**30


def test_a_universe_that_is_too_large_costs_what_its_tables_cost():
    universe = columns(30, tuple("0123456789"))
    table = TableEvent(universe.names[:2], 100, 1, Fraction(1))
    small = costs_of(universe, [table], formats=("csv",), total=None)
    assert small.memory_bytes < 10**9
    twice = costs_of(universe, [table, table], formats=("csv",), total=None)
    assert twice.memory_bytes - small.memory_bytes == 130 * 100


def test_costs_of_a_large_universe_are_near_a_measured_run():
    """Eight columns of ten levels, 10^8 cells: 1.1 GB, 46 MB of noisy counts, kept twice."""
    costs = forecast_costs(columns(8, tuple("0123456789")), formats=("csv",), total=None)
    assert Fraction(1, 2) < Fraction(costs.memory_bytes, 1_094_000_000) < 2
    assert Fraction(1, 2) < Fraction(costs.disk_bytes, 2 * 45_700_000) < 2
    assert costs.seconds < 120


def test_a_billion_cells_need_less_memory_than_if_they_were_estimated_at_once():
    costs = forecast_costs(columns(9, tuple("0123456789")), formats=("csv",), total=None)
    assert 4 * 10**9 < costs.memory_bytes < 20 * 10**9
