"""Whole counts: within one, unbiased by enumeration, totals and impossible cells exact."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config import Config
from synth.estimate import required_atoms, round_counts
from synth.estimate.rounding import systematic

MakeConfig = Callable[..., Config]


def exact_mean(values: NDArray[np.float64], total: int | None = None) -> NDArray[np.float64]:
    """The mean over u uniform in [0, 1): the counts are constant between the breakpoints."""
    running = np.cumsum(values)
    edges = np.unique(np.concatenate([[0.0, 1.0], 1.0 - (running - np.floor(running))]))
    mean = np.zeros(values.size)
    for low, high in pairwise(edges):
        mean += (high - low) * systematic(values, 0.5 * (low + high), total)
    return mean


@pytest.mark.parametrize(
    "values",
    [[0.2, 0.3, 0.0, 1.7, 2.5], [1.0, 2.0], [0.01] * 30, [5.25, 0.5, 0.25, 0.99, 3.0, 0.0]],
)
def test_rounding_is_within_one_and_unbiased(values: list[float]) -> None:
    table = np.array(values)
    assert exact_mean(table) == pytest.approx(table)
    for u in np.linspace(0.0, 0.999, 37):
        counts = systematic(table, float(u))
        assert np.all(counts >= np.floor(table))
        assert np.all(counts <= np.ceil(table))
        assert abs(counts.sum() - table.sum()) < 1.0


def test_rounding_to_a_whole_total_is_unbiased_and_keeps_it() -> None:
    table = np.array([0.4, 1.1, 0.0, 2.5])
    assert exact_mean(table, 4) == pytest.approx(table)
    for u in (0.0, 0.3, 1.0 - 2.0**-53):
        assert systematic(table, u, 4).sum() == 4


def test_huge_totals_are_met() -> None:
    table = np.full(3, 1e12 + 0.25)
    assert systematic(table, 1.0 - 2.0**-53, 3 * 10**12 + 1).sum() == 3 * 10**12 + 1


def test_counts_of_an_estimate_without_totals(make_config: MakeConfig) -> None:
    values = np.random.default_rng(2).gamma(0.5, 1.0, size=60)
    config = make_config((5, 4, 3))
    counts = round_counts(values, required_atoms(config), 2**255 + 1)
    assert counts.dtype == np.int64
    assert np.all(np.abs(counts - values) < 1.0)
    assert np.array_equal(counts, round_counts(values, required_atoms(config), 2**255 + 1))
    drawn = {round_counts(values, required_atoms(config), seed).tobytes() for seed in range(9)}
    assert len(drawn) > 1


def test_crossing_totals_and_impossible_cells_hold(make_config: MakeConfig) -> None:
    config = make_config(
        (4, 3, 2),
        impossible=[{"a0": (0,), "a1": (2,)}],
        totals=[
            ({}, 101),
            ({"a0": (0, 1)}, 40),
            ({"a1": (1, 2)}, 77),
            ({"a0": (1,), "a2": (0,)}, 13),
        ],
    )
    possible = config.universe.possible()
    values = np.random.default_rng(3).gamma(0.4, 3.0, size=24) * possible
    for seed in range(20):
        counts = round_counts(values, required_atoms(config), seed)
        assert np.all(counts >= 0)
        assert np.all(counts[~possible] == 0)
        for total in config.public_totals:
            assert counts[config.universe.members(total.where)].sum() == total.total


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_a_declared_number_of_rows_is_met(make_config: MakeConfig, rows: int) -> None:
    config = make_config((4, 3), rows=rows)
    values = np.random.default_rng(4).gamma(0.4, 3.0, size=12)
    assert round_counts(values, required_atoms(config), 5).sum() == rows


def test_no_mass_still_meets_the_total(make_config: MakeConfig) -> None:
    config = make_config((4, 3), rows=7, impossible=[{"a0": (0,)}])
    counts = round_counts(np.zeros(12), required_atoms(config), 5)
    assert counts.sum() == 7
    assert counts.reshape(4, 3)[0].sum() == 0
