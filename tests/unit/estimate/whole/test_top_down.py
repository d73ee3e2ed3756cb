"""Top-down: groups of hierarchies move where noise does not explain their gaps, and only there."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.domain import Universe
from synth.estimate import estimate_whole
from synth.estimate.interactions import Interactions
from synth.estimate.sums import NoisyCoefficients, noisy_coefficients
from synth.estimate.whole import top_down
from synth.measurements import MeasuredTable, Measurements

Draw = Callable[..., NDArray[np.int64]]
Floats = NDArray[np.float64]
MakeUniverse = Callable[..., Universe]

SIDE = 64
LEVELS = tuple(tuple(code // width for code in range(SIDE)) for width in (16, 4))
SHAPE = (SIDE, SIDE)
STEP = "move groups of the hierarchies to noisy sums that the fit contradicts"
UNEQUAL = [
    (7, ((0, 0, 0, 0, 1, 1, 1), (0, 0, 1, 2, 3, 3, 3))),
    (1, ()),
    (4, ((1, 0, 1, 0),)),
]


@pytest.fixture(name="square")
def _square(make_deep_universe: MakeUniverse) -> Universe:
    return make_deep_universe([(SIDE, LEVELS), (SIDE, LEVELS)])


@pytest.fixture(name="truth")
def _truth() -> Floats:
    """A corner of many records, the rest empty."""
    table = np.zeros(SHAPE)
    table[:16, :24] = np.random.default_rng(1).poisson(40.0, (16, 24))
    return table.reshape(-1)


@pytest.fixture(name="noisy_of")
def _noisy_of(measure: Callable[..., MeasuredTable]) -> Callable[..., NoisyCoefficients]:
    def build(universe: Universe, counts: Floats, seed: int) -> NoisyCoefficients:
        whole = counts.astype(np.int64)
        table = measure(universe, universe.names, whole, seed=seed, epsilon=Fraction(1))
        found = noisy_coefficients([table], Interactions.of(universe), universe)
        assert found is not None
        return found

    return build


def everywhere(values: Floats) -> NDArray[np.bool_]:
    return np.ones(values.size, dtype=bool)


def test_only_universes_of_hierarchies_alone(make_deep_universe: MakeUniverse) -> None:
    def answer(axes: list[Any]) -> bool:
        return top_down.has_hierarchies(Interactions.of(make_deep_universe(axes)))

    assert answer(UNEQUAL)
    assert answer([(4, ((0, 0, 1, 1),))])
    assert not answer([*UNEQUAL, (2, ())])
    assert not answer([(1, ())])


def test_margins_go_one_attribute_at_a_time(make_deep_universe: MakeUniverse) -> None:
    interactions = Interactions.of(make_deep_universe(UNEQUAL))
    assert list(top_down._margins(interactions)) == [
        (None, (0, 0, 0)),
        ((0, 0, 0), (1, 0, 0)),
        ((0, 0, 0), (0, 0, 1)),
        ((0, 0, 0), (1, 0, 1)),
        ((1, 0, 1), (2, 0, 1)),
        ((1, 0, 1), (1, 0, 2)),
        ((1, 0, 1), (2, 0, 2)),
    ]


def test_groups_lie_in_their_parents(make_deep_universe: MakeUniverse) -> None:
    interactions = Interactions.of(make_deep_universe(UNEQUAL))
    values = np.random.default_rng(3).random(28)
    for parent, margin in top_down._margins(interactions):
        if parent is None:
            continue
        parents = top_down._parents(interactions, margin, parent)
        fine = interactions.margin_sums(margin, values)
        coarse = interactions.margin_sums(parent, values)
        assert np.allclose(np.bincount(parents, fine, coarse.size), coarse, rtol=1e-12)


def test_nearest_sums_meet_the_conditions_of_the_least_squares() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        parents = np.sort(generator.integers(0, 4, 30))
        wanted = generator.normal(1.0, 5.0, 30)
        weight = generator.uniform(0.2, 3.0, 30)
        totals = generator.uniform(0.0, 20.0, 4) * (np.bincount(parents, minlength=4) > 0)
        nearest = top_down._nearest(wanted, weight, parents, totals)
        assert np.all(nearest >= 0.0)
        assert np.allclose(np.bincount(parents, nearest, 4), totals, rtol=0, atol=1e-9)
        slope = (nearest - wanted) / weight
        for parent in range(4):
            here, free = parents == parent, nearest > 0.0
            if not (here & free).any():
                continue
            price = slope[here & free]
            assert np.ptp(price) < 1e-9  # the same price for every sum that is not 0 ...
            assert np.all(slope[here & ~free] >= price.mean() - 1e-9)  # ... and none is cheaper


def test_sums_without_possible_cells_stay_empty() -> None:
    nearest = top_down._nearest(
        np.array([3.0, 9.0, 5.0]),
        np.array([1.0, 0.0, 1.0]),
        np.zeros(3, dtype=int),
        np.array([4.0]),
    )
    assert np.allclose(nearest, [1.0, 0.0, 3.0])


def test_groups_are_scaled_to_their_sums_by_uncertain_values(square: Universe) -> None:
    interactions = Interactions.of(square)
    generator = np.random.default_rng(7)
    values = generator.uniform(0.5, 9.0, SIDE * SIDE)
    ratio = np.where(generator.random(values.size) < 0.5, 1.0, 0.1)
    sums = interactions.margin_sums((1, 2), values)
    wanted = sums * generator.uniform(0.7, 1.4, sums.size)
    scaled = top_down._scale(interactions, (1, 2), values, ratio, wanted)
    assert np.allclose(interactions.margin_sums((1, 2), scaled), wanted, rtol=1e-8)
    power = (np.log(scaled / values) / ratio).reshape(4, 16, 16, 4)
    assert np.all(np.ptp(power, axis=(1, 3)) < 1e-9)


def test_groups_of_nothing_stay_nothing_and_sums_can_vanish(square: Universe) -> None:
    interactions = Interactions.of(square)
    values = np.ones(SHAPE)
    values[:16, :16] = 0.0
    wanted = np.full(16, 256.0)
    wanted[:2] = 5.0, 0.0
    scaled = top_down._scale(interactions, (1, 1), values.reshape(-1), np.ones(4096), wanted)
    sums = interactions.margin_sums((1, 1), scaled)
    assert sums[0] == 0.0
    assert sums[1] < 1e-6
    assert np.allclose(sums[2:], 256.0)


def test_errors_are_seen_where_there_are_some() -> None:
    generator = np.random.default_rng(11)
    expected = np.geomspace(1.0, 1e4, 500)
    noise = np.full(500, 50.0)
    false_alarms = 0
    for _ in range(300):
        alone = generator.normal(0.0, np.sqrt(noise))
        false_alarms += top_down._errors(alone, expected, noise) is not None
    # at most one in a hundred is meant: more than 12 of 300 would happen in 1e-5 of all seeds
    assert false_alarms <= 12
    for power in (0.0, 1.0):
        error = expected**power / np.mean(expected**power) * 200.0
        gap = generator.normal(0.0, np.sqrt(noise + error))
        found = top_down._errors(gap, expected, noise)
        assert found is not None
        assert found.power == power
        assert np.abs(found.shares - error / (error + noise)).max() < 0.15
        assert found.gain > 0.0


def test_groups_that_cannot_hold_anyone_count_for_nothing() -> None:
    generator = np.random.default_rng(13)
    noise = np.full(200, 4.0)
    gap = generator.normal(0.0, 6.0, 200)
    expected = np.full(200, 20.0)
    with_empty = top_down._errors(
        np.append(gap, 0.0), np.append(expected, 0.0), np.append(noise, 0.0)
    )
    without = top_down._errors(gap, expected, noise)
    assert with_empty is not None
    assert without is not None
    assert with_empty.shares[-1] == 0.0
    assert np.array_equal(with_empty.shares[:-1], without.shares)
    assert top_down._errors(np.zeros(1), np.zeros(1), np.zeros(1)) is None


def test_counts_that_agree_with_the_noise_stay(
    square: Universe, truth: Floats, noisy_of: Callable[..., NoisyCoefficients]
) -> None:
    right = truth + 1e-3
    moved = 0
    for seed in range(20):
        noisy, total = noisy_of(square, truth, seed), float(right.sum())
        values, _, report = top_down.top_down(
            noisy, right, np.minimum(right, 1.0), everywhere(right), total=total
        )
        assert np.allclose(values, right, rtol=1e-12) == (not report["moved"])
        moved += bool(report["moved"])
    # each of six margins in at most one of a hundred
    assert moved <= 6


def test_records_spread_over_empty_cells_are_taken_back(
    square: Universe, truth: Floats, noisy_of: Callable[..., NoisyCoefficients]
) -> None:
    wrong = truth * 0.98 + 0.3
    variance = np.minimum(wrong, 1.0)
    for seed in range(3):
        noisy = noisy_of(square, truth, seed)
        interactions = noisy.interactions
        values, left, report = top_down.top_down(
            noisy, wrong, variance, everywhere(wrong), total=float(noisy.values[0]) * SIDE
        )
        assert np.all(values >= 0.0)
        assert np.allclose(left / values, variance / wrong)
        assert report["moved"]
        raw = interactions.inverse(noisy.values)
        noise = np.sqrt(SIDE * SIDE / noisy.precision[0])
        for margin in ((0, 0), (1, 0), (1, 1), (2, 2)):
            after, before = (
                np.linalg.norm(interactions.margin_sums(margin, table - truth))
                for table in (values, wrong)
            )
            assert after < 0.5 * before
            assert after < 2.0 * noise  # about what the raw sums are off by
        assert np.abs(values - truth).sum() < 0.2 * np.abs(raw - truth).sum()


def test_finer_groups_keep_the_sums_of_coarser_ones(
    square: Universe, truth: Floats, noisy_of: Callable[..., NoisyCoefficients]
) -> None:
    wrong = truth * 0.98 + 0.3
    for total in (15_000.0, float(wrong.sum())):
        values, _, report = top_down.top_down(
            noisy_of(square, truth, 1),
            wrong,
            np.minimum(wrong, 1.0),
            everywhere(wrong),
            total=total,
        )
        assert report["moved"]
        assert values.sum() == pytest.approx(total, rel=1e-9)


def test_a_group_of_nothing_loses_no_records_of_its_parent(
    square: Universe, truth: Floats, noisy_of: Callable[..., NoisyCoefficients]
) -> None:
    """What the noisy sums give to a group that cannot grow stays with the others."""
    wrong = truth.reshape(SHAPE) * 0.98 + 0.3
    wrong[:16, :16] = 1e-12
    wrong = wrong.reshape(-1)
    noisy = noisy_of(square, truth, 1)
    total = float(noisy.values[0]) * SIDE
    values, _, report = top_down.top_down(noisy, wrong, wrong, everywhere(wrong), total=total)
    assert report["moved"]
    assert values.sum() == pytest.approx(total, rel=1e-6)


def test_sums_of_any_size_meet_small_totals() -> None:
    one = np.ones(3)
    alike = np.zeros(3, dtype=int)
    sums = np.array([3e15, 1e15, 3e15])
    nearest = top_down._nearest(sums, one, alike, np.array([0.1]))
    assert np.allclose(nearest, [0.05, 0.0, 0.05], rtol=1e-12)


def test_impossible_cells_stay_empty(
    make_deep_universe: MakeUniverse, noisy_of: Callable[..., NoisyCoefficients]
) -> None:
    rule = {"a0": tuple(range(16)), "a1": tuple(range(20))}
    universe = make_deep_universe([(SIDE, LEVELS), (SIDE, LEVELS)], [rule])
    possible = universe.possible()
    truth = np.where(possible, 3.0, 0.0)
    noisy = noisy_of(universe, truth, 0)
    wrong = np.where(possible, 2.0, 0.0)
    total = float(truth.sum())
    values, _, _ = top_down.top_down(noisy, wrong, wrong, possible, total=total)
    assert np.all(values[~possible] == 0.0)
    assert values.sum() == pytest.approx(total)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_any_universe_gives_finite_counts(
    make_deep_universe: MakeUniverse,
    noisy_of: Callable[..., NoisyCoefficients],
    seed: int,
    scale: float,
) -> None:
    generator = np.random.default_rng(seed)
    rules = [{"a0": (0, 1, 2, 3), "a2": (1, 3)}, {"a2": (int(generator.integers(4)),)}]
    universe = make_deep_universe(UNEQUAL, rules[: seed % 3])
    possible = universe.possible()
    truth = np.where(possible, np.rint(scale * generator.gamma(0.3, 10.0, 28)), 0.0)
    values = np.where(possible, scale * generator.gamma(0.3, 10.0, 28), 0.0)
    values[generator.random(28) < 0.2] = 0.0
    variance = values * generator.random(28)
    noisy = noisy_of(universe, truth, seed)
    total = float(truth.sum())
    moved, left, _ = top_down.top_down(noisy, values, variance, possible, total=total)
    assert np.isfinite(moved).all()
    assert np.isfinite(left).all()
    assert np.all(moved >= 0.0)
    assert np.all(moved[~possible] == 0.0)


def test_the_estimate_takes_this_step_with_hierarchies_only(
    make_config: Callable[..., Any],
    square: Universe,
    truth: Floats,
    measure: Callable[..., MeasuredTable],
    make_deep_universe: MakeUniverse,
) -> None:
    flat = make_deep_universe([(SIDE, ()), (SIDE, ())])
    for universe, taken in ((square, True), (flat, False)):
        config = replace(make_config((2, 2), cells=False), universe=universe)
        whole = truth.astype(np.int64)
        table = measure(universe, universe.names, whole, seed=4, epsilon=Fraction(1))
        steps = estimate_whole(Measurements("t", "0" * 64, (table,)), config).report["steps"]
        names = [step["step"] for step in steps]
        assert (STEP in names) == taken
        assert ("anchor to noisy sums that the fit contradicts" in names) != taken


def test_the_number_of_records_is_moved_to_once(
    make_config: Callable[..., Any],
    square: Universe,
    truth: Floats,
    measure: Callable[..., MeasuredTable],
) -> None:
    """Rare noise moves it a part of the way, and that is what the first margin did."""
    config = replace(make_config((2, 2), cells=False), universe=square)
    table = measure(square, square.names, truth.astype(np.int64), seed=4, epsilon=Fraction(2))
    steps = estimate_whole(Measurements("t", "0" * 64, (table,)), config).report["steps"]
    moved = next(step for step in steps if step["step"] == "move to the number of records")
    assert moved["moved_to"] == pytest.approx(moved["fitted"], rel=1e-9)
