"""Two columns of many codes: where main effects suffice, what they start from, and their fit."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.domain import Universe
from synth.estimate.blocks.estimate import BlocksEstimate, estimate_blocks
from synth.estimate.main_effects import main_effects, suffice
from synth.estimate.whole import estimate as whole
from synth.estimate.whole.estimate import WholeEstimate, estimate_whole
from synth.measurements import MeasuredTable, Measurements

Make = Callable[..., Any]
Measure = Callable[..., MeasuredTable]


def test_they_suffice_for_two_plain_columns_beside_tables_of_one(
    make_universe: Make, make_deep_universe: Make, measure: Measure
) -> None:
    pair = make_universe((4, 1, 5))
    counts = np.zeros(20, dtype=np.int64)
    names = (("a2",), ("a0", "a2"), ("a1", "a2"))
    single, cells, with_one_code = (measure(pair, n, counts, epsilon=Fraction(1)) for n in names)
    assert suffice(pair, [])
    assert suffice(pair, [single, with_one_code])
    assert not suffice(pair, [single, cells])
    assert not suffice(make_universe((4, 5, 2)), [])
    assert not suffice(make_universe((20,)), [])
    assert not suffice(make_deep_universe([(4, ((0, 0, 1, 1),)), (5, ())]), [])


def one_way_of(universe: Universe) -> Callable[[int], NDArray[np.float64]]:
    """The numbers of cells of every code, if all are possible."""
    return lambda axis: np.full(universe.shape[axis], universe.size / universe.shape[axis])


def test_a_start_has_the_sums_that_noise_does_not_hide(
    make_universe: Make, measure: Measure
) -> None:
    universe = make_universe((3, 4))
    counts = np.array([[10, 20, 30, 40], [1, 2, 3, 4], [5, 5, 5, 5]]).reshape(-1)
    tables = [measure(universe, (name,), counts, epsilon=Fraction(50)) for name in ("a0", "a1")]
    effects = main_effects(universe, tables, 130.0, one_way_of(universe))
    assert np.exp(effects[0]) / 3 == pytest.approx(np.array([100, 10, 20]) / 130, abs=1e-3)
    assert np.exp(effects[1]) / 4 == pytest.approx(np.array([16, 27, 38, 49]) / 130, abs=1e-3)


def test_empty_codes_do_not_take_the_records_of_others(
    make_universe: Make, measure: Measure
) -> None:
    """Of 1,000 codes one has all 2,000 records; the noise of each has deviation 28."""
    universe = make_universe((1000, 2))
    counts = np.zeros((1000, 2), dtype=np.int64)
    counts[7] = 1000
    table = measure(universe, ("a0",), counts.reshape(-1), epsilon=Fraction(1, 20), seed=1)
    [effect] = main_effects(universe, [table], 2000.0, one_way_of(universe)).values()
    shares = np.exp(effect) / 1000
    assert shares.sum() == pytest.approx(1.0)
    assert shares[7] > 0.5  # 0.08 if all sums were taken to be positive, and no more
    assert shares.min() > 0.0


# Two columns whose records gather: neither independent nor hidden.


SIZE, RECORDS = 40, 10_000


@pytest.fixture(name="truth", scope="module")
def _truth() -> NDArray[np.int64]:
    generator = np.random.default_rng(5)
    first = np.minimum(generator.geometric(0.15, RECORDS) - 1, SIZE - 1)
    far = np.minimum(generator.geometric(0.1, RECORDS) - 1, SIZE - 1)
    second = np.where(generator.random(RECORDS) < 0.4, (3 * first) % SIZE, far)
    return np.bincount(first * SIZE + second, minlength=SIZE * SIZE)


@pytest.fixture(name="measured_with", scope="module")
def _measured_with(
    make_universe: Make, make_config: Make, measure: Measure, truth: NDArray[np.int64]
) -> Make:
    def measured(budget: Fraction, seed: int) -> tuple[Any, Measurements]:
        """The cells for half of a budget, and both columns."""
        universe = make_universe((SIZE, SIZE))
        tables = [
            measure(universe, universe.names, truth, epsilon=budget / 2, seed=seed),
            measure(universe, ("a0",), truth, epsilon=budget / 4, seed=seed + 1),
            measure(universe, ("a1",), truth, epsilon=budget / 4, seed=seed + 2),
        ]
        config = make_config((SIZE, SIZE), epsilon=Fraction(1))
        config = replace(config, workload=replace(config.workload, cells=0))
        return config, Measurements("r", "h", tuple(tables))

    return measured


@pytest.fixture(name="measured", scope="module", params=[Fraction(1), Fraction(1, 20)])
def _measured(request: pytest.FixtureRequest, measured_with: Make) -> tuple[Any, Measurements]:
    found: tuple[Any, Measurements] = measured_with(request.param, 1)
    return found


@pytest.fixture(name="estimates", scope="module")
def _estimates(measured: tuple[Any, Measurements]) -> tuple[WholeEstimate, BlocksEstimate]:
    """At once and by blocks."""
    config, measurements = measured
    return estimate_whole(measurements, config), estimate_blocks(measurements, config)


of_estimates = pytest.mark.xdist_group("estimates by main effects")
"""They take seconds, and are made once: these tests run in one process."""


def distance(values: NDArray[Any], truth: NDArray[np.int64]) -> float:
    return 0.5 * float(np.abs(values / values.sum() - truth / truth.sum()).sum())


@of_estimates
def test_it_is_the_same_in_blocks(
    estimates: tuple[WholeEstimate, BlocksEstimate], truth: NDArray[np.int64]
) -> None:
    held, passed = estimates
    values = np.concatenate([block for _, block in passed.blocks()])
    error = distance(held.values, truth)
    assert 0.5 * np.abs(values - held.values).sum() < (0.1 * error + 0.005) * RECORDS
    learned = passed.end.fit.mixture
    assert held.end is not None
    assert held.end.fit.mixture is not None
    assert learned is not None
    assert learned.weights == pytest.approx(held.end.fit.mixture.weights, abs=0.06)
    assert passed.cells.noisy is not None
    assert passed.cells.noisy.posterior.mixture == learned


@of_estimates
def test_every_stage_of_the_fit_is_done(estimates: tuple[WholeEstimate, BlocksEstimate]) -> None:
    """Few codes have nearly all records: by contrasts, not by codes, none of them would be."""
    for found in estimates:
        stops = [step["stop"] for step in found.report["steps"] if "stop" in step]
        assert len(stops) >= 3
        assert set(stops) == {"promised gain below tolerance"}


@pytest.mark.parametrize(("budget", "most"), [(Fraction(1), 1.0), (Fraction(1, 20), 1.07)])
def test_it_tells_as_much_as_an_interaction_of_every_cell(
    measured_with: Make,
    truth: NDArray[np.int64],
    monkeypatch: pytest.MonkeyPatch,
    budget: Fraction,
    most: float,
) -> None:
    drawn = [measured_with(budget, seed) for seed in (1, 4, 7, 10)]
    ours = np.mean([distance(estimate_whole(m, config).values, truth) for config, m in drawn])
    monkeypatch.setattr(whole, "suffice", lambda *_: False)
    theirs = np.mean([distance(estimate_whole(m, config).values, truth) for config, m in drawn])
    assert ours < most * theirs


@of_estimates
def test_another_fit_keeps_what_was_learned(
    measured: tuple[Any, Measurements], estimates: tuple[WholeEstimate, BlocksEstimate]
) -> None:
    (_, measurements), (held, passed) = measured, estimates
    ends = [held.end, held.again(measurements, held.round(1)).end]
    mixtures = [None if end is None else end.fit.mixture for end in ends]
    assert mixtures[0] is not None
    assert mixtures[0] == mixtures[1]
    again = passed.again(measurements, passed.round(1))
    assert again.end.fit.mixture == passed.end.fit.mixture
    values, others = (
        np.concatenate([block for _, block in each.blocks()]) for each in (passed, again)
    )
    assert 0.5 * np.abs(values - others).sum() < 0.01 * RECORDS
