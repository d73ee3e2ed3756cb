"""Large universes, tried on small ones: passes by definition, totals, blocks and threads."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts
from synth.errors import BugError
from synth.estimate.blocks.cells import Cells
from synth.estimate.blocks.estimate import (
    ONE,
    BlocksEstimate,
    estimate_blocks,
    round_blocks,
)
from synth.estimate.blocks.groups import PAIRS, CellRules, Groups, PairTables
from synth.estimate.blocks.model import BlocksModel
from synth.estimate.blocks.scores import LOWEST, ROWS, STEP, NoisyCells, Term, mean_score, on_grid
from synth.estimate.blocks.sums import PairSums, parts_of
from synth.estimate.blocks.towards_sums import common_variance
from synth.estimate.loglinear import first_spreads
from synth.estimate.posterior import CellPosterior
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent

Make = Callable[..., Any]
SHAPE = (3, 4, 2, 5, 3)
IMPOSSIBLE = ({"a0": (1,), "a2": (0,), "a4": (2,)}, {"a1": (3,), "a3": (0, 4)})


def dense(counts: Counts, shape: tuple[int, ...]) -> NDArray[np.int64]:
    table = np.zeros(shape, dtype=np.int64)
    table[tuple(counts.columns)] = counts.values
    return table.reshape(-1)


def values_of(found: BlocksEstimate) -> NDArray[np.float64]:
    return np.concatenate([values for _, values in found.blocks()])


def random_log_mean(groups: Groups, seed: int) -> PairTables:
    generator = np.random.default_rng(seed)
    sizes = groups.sizes
    first, second, third = (generator.normal(0.0, 1.0, (sizes[i], sizes[j])) for i, j in PAIRS)
    return PairTables((first, second, third))


def on_cells(groups: Groups, tables: PairTables) -> NDArray[np.float64]:
    """The sum of the three tables at every cell, by definition."""
    o, p, q = np.indices(groups.sizes)
    first, second, third = tables.tables
    return (first[o, p] + second[o, q] + third[p, q]).reshape(-1)


def test_groups_are_cut_where_their_pairs_are_smallest(make_universe: Make) -> None:
    groups = Groups.of(make_universe(SHAPE))
    sizes = {
        (i, j): (np.prod(SHAPE[:i]), np.prod(SHAPE[i:j]), np.prod(SHAPE[j:]))
        for i in range(6)
        for j in range(i, 6)
    }
    cost = {cut: o * p + o * q + p * q for cut, (o, p, q) in sizes.items()}
    assert cost[groups.bounds] == min(cost.values())
    assert np.prod(groups.sizes) == np.prod(SHAPE)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_cells", [1, 7, 1 << 16])
@pytest.mark.parametrize("impossible", [(), IMPOSSIBLE])
def test_a_pass_adds_up_what_every_cell_has_by_definition(
    make_universe: Make, threads: int, block_cells: int, impossible: tuple[Any, ...]
) -> None:
    universe: Universe = make_universe(SHAPE, impossible)
    groups = Groups.of(universe)
    noisy = np.random.default_rng(1).integers(-30, 60, universe.size)
    noisy[[5, 100, 200]] = 65, 300, 4000
    counts = NoisyCells.of(noisy, decay=1.0, block_cells=7)
    cells = Cells(groups, counts, CellRules(groups, ()), threads=threads, block_cells=block_cells)
    log_mean = random_log_mean(groups, 2)
    grid = on_grid(log_mean)
    possible = universe.possible()
    rounded = LOWEST + STEP * np.floor((on_cells(groups, log_mean) - LOWEST) / STEP + 0.5)
    posterior = CellPosterior(noisy, decay=1.0).mean(rounded)
    large = noisy > 64
    posterior[large] = CellPosterior(noisy, decay=1.0).mean(on_cells(groups, log_mean))[large]
    expected = (posterior - np.exp(rounded)) * possible
    table = expected.reshape(groups.sizes)
    terms = [Term(counts.mean_score(), grid), Term(mean_score(), grid, sign=-1)]
    for found in (cells.sums([Term(counts.pull_score(), grid)]), cells.sums(terms)):
        for axis, sums in zip((2, 1, 0), found.tables, strict=True):
            assert sums == pytest.approx(table.sum(axis=axis), rel=2e-3, abs=2e-3)
    blocks = list(cells.blocks(terms))
    assert np.concatenate([v for _, v in blocks]) == pytest.approx(expected, rel=2e-3, abs=2e-3)
    ends = np.cumsum([v.size for _, v in blocks])
    assert [first for first, _ in blocks] == [0, *ends[:-1]]
    assert np.all(np.concatenate([v for _, v in blocks])[~possible] == 0.0)
    sums_of_counts = cells.count_sums(noisy.astype(np.int16))
    whole = np.where(possible, noisy, 0).reshape(groups.sizes)
    for axis, sums in zip((2, 1, 0), sums_of_counts.tables, strict=True):
        assert np.array_equal(sums, whole.sum(axis=axis))
    for axis, sums in zip((2, 1, 0), cells.possible_sums().tables, strict=True):
        assert np.array_equal(sums, possible.reshape(groups.sizes).sum(axis=axis))


TOTALS = (({"a0": (0,)}, 900), ({"a1": (0, 1)}, 1100), ({"a0": (0,), "a3": (2,)}, 40))


@pytest.fixture(name="measured")
def _measured(
    make_config: Make, make_measurements: Make, draw_table: Make, draw_noise: Make
) -> Make:
    def make(**keys: Any) -> tuple[Config, Measurements, NDArray[np.int64]]:
        config = make_config(SHAPE, **keys)
        truth = draw_table(SHAPE, 3000, 1)
        truth[~config.universe.possible()] = 0
        noisy = truth + draw_noise(truth.size, decay=1.0, seed=2)
        return config, make_measurements(config, noisy), truth

    return make


def test_the_same_bytes_with_any_number_of_threads(measured: Make) -> None:
    config, measurements, _ = measured(impossible=IMPOSSIBLE, totals=TOTALS)
    found = [
        estimate_blocks(measurements, config, threads=threads, block_cells=9) for threads in (1, 3)
    ]
    assert len({values_of(each).tobytes() for each in found}) == 1
    assert len({dense(each.round(4), SHAPE).tobytes() for each in found}) == 1
    assert all(each.report == found[0].report for each in found)


@pytest.mark.parametrize("totals", [(), TOTALS])
def test_rounding_does_not_depend_on_the_blocks(measured: Make, totals: tuple[Any, ...]) -> None:
    config, measurements, _ = measured(impossible=IMPOSSIBLE, totals=totals)
    one = estimate_blocks(measurements, config, threads=1)
    noisy = one.cells.noisy
    drawn = set()
    for block_cells in (1, 5, 11, 60, 1 << 16):
        rules = one.cells.rules
        cells = Cells(one.cells.groups, noisy, rules, threads=2, block_cells=block_cells)
        drawn.add(dense(round_blocks(cells, one.term, 6), SHAPE).tobytes())
    assert len(drawn) == 1


def test_rounding_is_that_of_its_definition(measured: Make) -> None:
    config, measurements, _ = measured()
    found = estimate_blocks(measurements, config, block_cells=13)
    values = values_of(found)
    for seed in range(5):
        u = float(np.random.Generator(np.random.Philox(seed)).random())
        units = [round(float(value) * ONE) for value in values]
        running, expected = int(u * ONE), []
        for unit in units:
            expected.append((running + unit) // ONE - running // ONE)
            running += unit
        counts = dense(found.round(seed), SHAPE)
        assert counts.tolist() == expected
        assert np.all(np.abs(counts - values) < 1.0)


@pytest.mark.parametrize("rows", [None, 2500])
def test_required_totals_hold_and_impossible_cells_are_empty(
    measured: Make, rows: int | None
) -> None:
    config, measurements, _ = measured(impossible=IMPOSSIBLE, totals=TOTALS, rows=rows)
    found = estimate_blocks(measurements, config, block_cells=17)
    counts = dense(found.round(3), SHAPE)
    assert np.all(counts[~config.universe.possible()] == 0)
    for total in config.public_totals:
        assert counts[config.universe.members(total.where)].sum() == total.total
    assert rows is None or counts.sum() == rows


def test_an_atom_without_mass_gets_its_total(make_config: Make, make_measurements: Make) -> None:
    config = make_config((4, 5, 3), totals=(({"a0": (2,)}, 77),))
    noisy = np.zeros(60, dtype=np.int64)
    noisy[:20] = 1000
    found = estimate_blocks(make_measurements(config, noisy), config, block_cells=4)
    counts = dense(found.round(1), (4, 5, 3))
    assert counts.reshape(4, 15)[2].sum() == 77


def test_without_noise_the_counts_come_back(
    make_config: Make, draw_table: Make, make_measurements: Make
) -> None:
    config = make_config(SHAPE, epsilon=Fraction(200))
    truth = draw_table(SHAPE, 3000, 1)
    found = estimate_blocks(make_measurements(config, truth, epsilon=Fraction(200)), config)
    assert values_of(found) == pytest.approx(truth, abs=1e-5)


def distances(values: NDArray[Any], truth: NDArray[Any], shape: tuple[int, ...]) -> list[float]:
    gap = (values / values.sum() - truth / truth.sum()).reshape(shape)
    axes = range(len(shape))
    ways = [gap.sum(axis=tuple(b for b in axes if b != a)) for a in axes]
    return [
        0.5 * float(np.mean([np.abs(way).sum() for way in ways])),
        0.5 * float(np.abs(gap).sum()),
    ]


@pytest.mark.parametrize("records", [600, 30_000])
def test_it_is_far_better_than_simplex_projection(
    make_config: Make, make_measurements: Make, draw_table: Make, draw_noise: Make, records: int
) -> None:
    """Few records, fitted to sums, and many, fitted to cells."""
    shape = (9, 8, 7, 6, 5)
    config, truth = make_config(shape), draw_table(shape, records, 1)
    noisy = truth + draw_noise(truth.size, decay=1.0, seed=3)
    found = estimate_blocks(make_measurements(config, noisy), config)
    total = max(float(noisy.sum()), 1.0)
    ordered = np.sort(noisy)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    simplex = np.maximum(noisy - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)
    ours, theirs = (distances(v, truth, shape) for v in (values_of(found), simplex))
    assert ours[0] < 0.75 * theirs[0]
    assert ours[1] < 0.95 * theirs[1]


def test_tables_of_sums_are_met_beside_cells_and_without(
    make_config: Make, measure: Make, draw_table: Make
) -> None:
    config = make_config(SHAPE)
    truth = draw_table(SHAPE, 20_000, 1)
    universe = config.universe
    cells = measure(universe, universe.names, truth, epsilon=Fraction(1, 2), seed=1)
    exact = [
        measure(universe, names, truth, epsilon=Fraction(5), seed=None)
        for names in (("a0",), ("a1", "a4"), ("a2",), ("a3",))
    ]
    for tables in ([cells, *exact], exact):
        found = estimate_blocks(Measurements("t", "0", tuple(tables)), config)
        table = values_of(found).reshape(SHAPE)
        wanted = truth.reshape(SHAPE)
        for rest in ((1, 2, 3, 4), (0, 2, 3), (0, 1, 3, 4), (0, 1, 2, 4)):
            assert table.sum(axis=rest) == pytest.approx(wanted.sum(axis=rest), rel=0.02, abs=6.0)


def test_sums_that_are_remembered_are_those_of_the_same_coefficients(
    make_config: Make, measure: Make, draw_table: Make
) -> None:
    universe = make_config(SHAPE).universe
    truth = draw_table(SHAPE, 3000, 1)
    table = measure(universe, ("a1",), truth, epsilon=Fraction(5), seed=2)
    groups = Groups.of(universe)
    parts = parts_of(groups)
    sums = PairSums.of([table], groups, parts)
    noisy = NoisyCells.of(truth, decay=1.0, block_cells=7)
    cells = Cells(groups, noisy, CellRules(groups, ()), threads=1)

    def model() -> BlocksModel:
        return BlocksModel(cells, parts, sums, base=1.0, noise_variance=2.0)

    spreads = [first_spreads(part.interactions, part.components) for part in parts]
    size = sum(part.places.size for part in parts)
    points = 0.1 * np.random.default_rng(4).normal(size=(2, size))
    kept = model()
    kept.information(points[0])
    before = [kept.pull(points[place]).tobytes() for place in (0, 1, 0, 0)]
    assert before[0] == before[2] == before[3] != before[1]
    kept.weigh_evidence(points[0], spreads)
    fresh = model()
    fresh.weigh_evidence(points[0], spreads)
    found = [each.information(points[0]).tobytes() for each in (kept, fresh)]
    assert found[0] == found[1]
    assert kept.pull(points[0]).tobytes() == fresh.pull(points[0]).tobytes() != before[0]


@pytest.mark.parametrize(("noise_variance", "wait"), [(2.0, True), (200.0, False)])
def test_sums_wait_for_the_last_stage_where_cells_have_little_noise(
    make_config: Make, measure: Make, draw_table: Make, noise_variance: float, wait: bool
) -> None:
    universe = make_config(SHAPE).universe
    truth = draw_table(SHAPE, 3000, 1)
    table = measure(universe, ("a1",), truth, epsilon=Fraction(5), seed=2)
    groups = Groups.of(universe)
    parts = parts_of(groups)
    noisy = NoisyCells.of(truth, decay=1.0, block_cells=7)
    cells = Cells(groups, noisy, CellRules(groups, ()), threads=1)
    theta = 0.1 * np.random.default_rng(4).normal(size=sum(part.places.size for part in parts))

    def slope(sums: PairSums | None, *, complete: bool) -> bytes:
        model = BlocksModel(cells, parts, sums, base=1.0, noise_variance=noise_variance)
        model.is_complete = complete
        model.information(theta)
        return model.pull(theta).tobytes()

    sums = PairSums.of([table], groups, parts)
    alone = slope(None, complete=False)
    assert (slope(sums, complete=False) == alone) is wait
    assert slope(sums, complete=True) != alone


@pytest.mark.parametrize("tables", [[("a0",), ("a3",), ("a4",)], [("a1",), ()], [("a0", "a1")]])
def test_the_common_variance_of_one_way_sums_is_that_of_its_definition(
    make_universe: Make, tables: list[tuple[str, ...]]
) -> None:
    groups = Groups.of(make_universe(SHAPE))
    measured = []
    for names in tables:
        size = Margin(names, (0,) * len(names)).cells(groups.universe)
        event = TableEvent(names, size, 1, Fraction(1, 2))
        measured.append(MeasuredTable(event, np.zeros(size, dtype=np.int64), 8.0))
    sums = PairSums.of(measured, groups, parts_of(groups))
    cells = np.random.default_rng(6).exponential(1.0, groups.sizes)
    first, second, third = (cells.sum(axis=axis) for axis in (2, 1, 0))
    found = common_variance(sums, PairTables((first, second, third)))
    if any(len(names) > 1 for names in tables):
        assert found is None
        return
    assert found is not None
    functions = np.stack(
        [
            on_cells(groups, sums.expand(sums.split(np.eye(len(found))[number])))
            for number in range(len(found))
        ]
    )
    assert np.allclose(found, (functions * cells.reshape(-1)) @ functions.T)


def test_a_pair_that_is_too_large_has_no_interactions(
    monkeypatch: pytest.MonkeyPatch, measured: Make
) -> None:
    monkeypatch.setattr("synth.estimate.blocks.groups.PAIR_LIMIT_CELLS", 100)
    config, measurements, truth = measured()
    found = estimate_blocks(measurements, config)
    held = [value for key, value in found.report["steps"][0].items() if key == "pairs_modelled"]
    assert len(held[0]) < 3
    assert values_of(found).sum() == pytest.approx(truth.sum(), rel=0.1)


def test_measurements_that_do_not_fit_are_refused(
    make_config: Make, make_measurements: Make
) -> None:
    config = make_config((5, 4))
    with pytest.raises(BugError, match="no measured table"):
        estimate_blocks(Measurements("t", "0", ()), config)
    with pytest.raises(BugError, match="does not have the size"):
        estimate_blocks(make_measurements(config, np.zeros(19)), config)


def test_the_grid_of_scores_holds_every_count_that_can_be() -> None:
    assert np.log(1e9) <= LOWEST + STEP * ROWS


def test_noise_alone_has_no_count_that_is_clear_of_noise() -> None:
    for seed in range(12):
        generator = np.random.default_rng(seed)
        noise = generator.geometric(0.05, 200_000) - generator.geometric(0.05, 200_000)
        noisy = NoisyCells.of(noise, decay=-math.log(0.95), block_cells=1 << 16)
        assert noisy.clear_records == 0
