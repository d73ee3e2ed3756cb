"""The whole estimator: promises on any universe, exactness of totals, the same bytes always."""

import json
from collections.abc import Callable
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config import Config
from synth.errors import BugError
from synth.estimate import estimate_whole, required_atoms, round_counts
from synth.estimate.whole.sharpening import SHARPENING
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent

MakeConfig = Callable[..., Config]
MakeMeasurements = Callable[..., Measurements]
Draw = Callable[..., NDArray[np.int64]]

SHAPES = [(1,), (7,), (1, 1, 1), (1, 6, 1), (40, 30), (2,) * 8, (6, 5, 4, 3), (3, 1, 2, 1, 5)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("records", [0, 3, 2000])
def test_any_shape_and_size_gives_a_table_of_counts(
    shape: tuple[int, ...],
    records: int,
    make_config: MakeConfig,
    make_measurements: MakeMeasurements,
    draw_table: Draw,
    draw_noise: Draw,
) -> None:
    config = make_config(shape)
    noisy = draw_table(shape, records, 1) + draw_noise(prod(shape), decay=1.0, seed=2)
    result = estimate_whole(make_measurements(config, noisy), config)
    assert result.values.shape == (prod(shape),)
    assert result.values.dtype == np.float64
    assert np.all(np.isfinite(result.values))
    assert np.all(result.values >= 0.0)
    json.dumps(result.report, allow_nan=False)
    counts = round_counts(result.values, required_atoms(config), 3)
    assert np.all(np.abs(counts - result.values) < 1.0)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "5", "20"])
@pytest.mark.parametrize("sensitivity", [1, 2, 4])
def test_any_budget_and_sensitivity(
    epsilon: str,
    sensitivity: int,
    make_config: MakeConfig,
    make_measurements: MakeMeasurements,
    draw_table: Draw,
    draw_noise: Draw,
) -> None:
    config = make_config((6, 5, 4))
    budget = Fraction(epsilon)
    truth = draw_table((6, 5, 4), 2000, 1)
    decay = float(budget) / sensitivity
    noisy = truth + draw_noise(120, decay=decay, seed=2)
    measured = make_measurements(config, noisy, epsilon=budget, sensitivity=sensitivity)
    values = estimate_whole(measured, config).values
    assert np.all(np.isfinite(values))
    # Where there is much noise the estimate is far better than the noisy table set to zero below
    # zero, and never much worse.
    clipped = np.abs(np.maximum(noisy, 0) - truth).sum()
    assert np.abs(values - truth).sum() < (0.75 if decay < 0.03 else 1.25) * clipped + 3.0


def test_a_budget_without_noise_gives_the_table_back(
    make_config: MakeConfig, draw_table: Draw
) -> None:
    config = make_config((6, 5, 4))
    truth = draw_table((6, 5, 4), 2000, 1)
    event = TableEvent(config.universe.names, 120, 1, Fraction(100_000))
    measured = Measurements("t", "0" * 64, (MeasuredTable(event, truth, 0.0),))
    assert estimate_whole(measured, config).values == pytest.approx(truth, abs=1e-6)


def test_huge_counts_pass_through(
    make_config: MakeConfig, make_measurements: MakeMeasurements, draw_noise: Draw
) -> None:
    config = make_config((4, 5))
    truth = np.arange(20) * 10**11
    noisy = truth + draw_noise(20, decay=1.0, seed=3)
    values = estimate_whole(make_measurements(config, noisy), config).values
    assert np.abs(values - truth).max() < 20.0


def test_beats_clipping_and_keeps_sums(
    make_config: MakeConfig,
    make_measurements: MakeMeasurements,
    draw_table: Draw,
    draw_noise: Draw,
) -> None:
    shape = (6, 5, 4, 8, 7)
    config = make_config(shape)
    truth = draw_table(shape, 8000, 4)
    noisy = truth + draw_noise(truth.size, decay=1.0, seed=5)
    values = estimate_whole(make_measurements(config, noisy), config).values
    clipped = np.maximum(noisy, 0) * (noisy.sum() / np.maximum(noisy, 0).sum())
    for axes in [(1, 2, 3, 4), (0, 3, 4), ()]:
        error = np.abs((values - truth).reshape(shape).sum(axis=axes)).sum()
        other = np.abs((clipped - truth).reshape(shape).sum(axis=axes)).sum()
        assert error < 0.6 * other


def test_impossible_cells_and_crossing_totals_are_exact(
    make_config: MakeConfig,
    make_measurements: MakeMeasurements,
    draw_table: Draw,
    draw_noise: Draw,
) -> None:
    config = make_config(
        (4, 3, 5),
        impossible=[{"a0": (3,)}, {"a1": (0,), "a2": (1, 2)}],
        totals=[({}, 500), ({"a0": (0, 1)}, 321), ({"a1": (1,)}, 5), ({"a2": (4,)}, 0)],
    )
    possible = config.universe.possible()
    truth = draw_table((4, 3, 5), 500, 6) * possible
    noisy = truth + draw_noise(60, decay=1.0, seed=7)
    result = estimate_whole(make_measurements(config, noisy), config)
    counts = round_counts(result.values, required_atoms(config), 8)
    assert np.all(result.values[~possible] == 0.0)
    assert np.all(counts[~possible] == 0)
    assert np.all(np.abs(counts - result.values) < 1.0)
    for total in config.public_totals:
        members = config.universe.members(total.where)
        assert result.values[members].sum() == pytest.approx(total.total, rel=1e-12, abs=1e-9)
        assert counts[members].sum() == total.total


def test_a_universe_without_possible_cells_is_empty(
    make_config: MakeConfig, make_measurements: MakeMeasurements
) -> None:
    config = make_config((2, 3), impossible=[{}])
    result = estimate_whole(make_measurements(config, np.arange(6)), config)
    assert np.array_equal(result.values, np.zeros(6))
    assert np.array_equal(round_counts(result.values, required_atoms(config), 1), np.zeros(6))


def test_totals_where_the_noise_saw_nobody(
    make_config: MakeConfig, make_measurements: MakeMeasurements
) -> None:
    config = make_config((2, 3), totals=[({"a0": (1,)}, 10)])
    result = estimate_whole(make_measurements(config, np.full(6, -500)), config)
    assert result.values.reshape(2, 3)[1].sum() == pytest.approx(10.0)


def test_declared_rows_scale_the_table(
    make_config: MakeConfig, make_measurements: MakeMeasurements, draw_table: Draw
) -> None:
    noisy = draw_table((5, 4), 400, 9)
    plain, scaled = make_config((5, 4), cells=False), make_config((5, 4), rows=4000, cells=False)
    one = estimate_whole(make_measurements(plain, noisy), plain).values
    ten = estimate_whole(make_measurements(scaled, noisy), scaled).values
    assert ten.sum() == pytest.approx(4000.0, rel=1e-12)
    assert np.allclose(ten / 4000.0, one / one.sum())


def test_sharpening_only_where_single_cells_matter(
    make_config: MakeConfig,
    make_measurements: MakeMeasurements,
    draw_table: Draw,
    draw_noise: Draw,
) -> None:
    noisy = draw_table((9, 8, 7), 900, 1) + draw_noise(504, decay=1.0, seed=2)

    def steps(cells: bool) -> list[str]:
        config = make_config((9, 8, 7), cells=cells)
        report = estimate_whole(make_measurements(config, noisy), config).report
        return [step["step"] for step in report["steps"]]

    assert SHARPENING in steps(True)
    assert SHARPENING not in steps(False)


def test_report_states_the_residuals_against_the_noisy_table(
    make_config: MakeConfig, make_measurements: MakeMeasurements, draw_table: Draw
) -> None:
    config = make_config((5, 4))
    noisy = draw_table((5, 4), 400, 9) - 3
    result = estimate_whole(make_measurements(config, noisy), config)
    (residual,) = result.report["residuals"]
    wanted = float(np.sqrt(((noisy - result.values) ** 2).mean()))
    assert residual["table"] == ["a0", "a1"]
    assert residual["root_mean_square_residual"] == pytest.approx(wanted)
    assert residual["total_residual"] == pytest.approx(float((noisy - result.values).sum()))


def test_measurements_of_a_wrong_size_are_a_bug(
    make_config: MakeConfig, make_measurements: MakeMeasurements
) -> None:
    config = make_config((5, 4))
    with pytest.raises(BugError, match="no measured table"):
        estimate_whole(Measurements("t", "0", ()), config)
    with pytest.raises(BugError, match="does not have the size"):
        estimate_whole(make_measurements(config, np.zeros(19)), config)
