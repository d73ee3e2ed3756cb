"""The estimator with tables of sums: slow solvers where the answer is known, promises elsewhere."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from synth.config import Config
from synth.domain import Margin, Universe
from synth.estimate import estimate_whole, loglinear, required_atoms, round_counts
from synth.estimate.whole import estimate as estimate_module
from synth.estimate.whole import model as model_module
from synth.estimate.whole import towards_sums
from synth.estimate.whole.model import WholeModel
from synth.measurements import MeasuredTable, Measurements

MakeConfig = Callable[..., Config]
MakeUniverse = Callable[..., Universe]
Measure = Callable[..., MeasuredTable]
Draw = Callable[..., NDArray[np.int64]]
Tables = tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]

DEEP = [
    (6, ((0, 0, 0, 0, 1, 1), (0, 0, 1, 1, 2, 3))),
    (3, ()),
    (4, ((0, 0, 1, 1),)),
]
SHAPE = (6, 3, 4)
NAMES = ("a0", "a1", "a2")
ONE_WAY: Tables = tuple(((name,), (0,)) for name in NAMES)
PAIRS: Tables = tuple((pair, (0, 0)) for pair in combinations(NAMES, 2))
COARSE: Tables = (
    (("a0", "a1"), (2, 0)),
    (("a0", "a2"), (1, 1)),
    (("a0",), (0,)),
    (("a1", "a2"), (0, 1)),
)
FULL: Tables = ((NAMES, (0, 0, 0)),)
IMPOSSIBLE = [{"a0": (1,), "a2": (0, 3)}]
PLAIN, FROM_SUMS, FIRM = estimate_module._Way
NO_NOISE = Fraction(10**9)


@pytest.fixture(name="deep")
def _deep(make_deep_universe: MakeUniverse) -> Universe:
    return make_deep_universe(DEEP, IMPOSSIBLE)


@pytest.fixture(name="counts")
def _counts(deep: Universe, draw_table: Draw) -> NDArray[np.int64]:
    return (draw_table(SHAPE, 3000, 1) + 2) * deep.possible()


@pytest.fixture(name="config")
def _config(make_config: MakeConfig, deep: Universe) -> Config:
    return replace(make_config((2, 2), cells=False), universe=deep)


@pytest.fixture(name="exact")
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(towards_sums, "_TOLERANCE", 1e-14)
    monkeypatch.setattr(towards_sums, "_ITERATIONS", 2000)
    monkeypatch.setattr(loglinear, "_TOLERANCE", 1e-14)


def family(
    universe: Universe, counts: NDArray[np.int64], tables: Tables, measure: Measure, **noise: object
) -> list[MeasuredTable]:
    return [
        measure(universe, names, counts, coarsening=steps, **{"seed": i, **noise})
        for i, (names, steps) in enumerate(tables)
    ]


def run(config: Config, *tables: MeasuredTable) -> NDArray[np.float64]:
    return estimate_whole(Measurements("t", "0" * 64, tables), config).values


def largest_entropy(
    universe: Universe, counts: NDArray[np.int64], tables: Tables
) -> NDArray[np.float64]:
    """Iterative proportional fitting, until nothing moves: slow, and exact."""
    cells = np.eye(universe.size)
    found = universe.possible().astype(float)
    matrices = [
        np.array([Margin(*table).sums(universe, cell) for cell in cells]).T for table in tables
    ]
    for _ in range(20_000):
        before = found.copy()
        for matrix in matrices:
            now = matrix @ found
            factor = np.divide(matrix @ counts, now, out=np.ones(now.size), where=now > 0.0)
            found = found * (factor @ matrix)
        if np.abs(found - before).max() < 1e-12:
            break
    return found


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("tables", [ONE_WAY, PAIRS, COARSE, ONE_WAY + COARSE])
def test_tables_without_noise_are_met_from_wherever_the_fit_starts(
    tables: Tables,
    deep: Universe,
    counts: NDArray[np.int64],
    config: Config,
    measure: Measure,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the classes of these tables; from an even table it is that of largest entropy."""
    exact = family(deep, counts, tables, measure, rho=NO_NOISE, seed=None)
    found = run(config, *exact)
    for names, steps in tables:
        margin = Margin(names, steps)
        wanted = margin.sums(deep, counts)
        assert margin.sums(deep, found) == pytest.approx(wanted, rel=1e-4, abs=1e-2)
    even = np.full(deep.size, math.log(counts.sum() / deep.possible().sum()))
    monkeypatch.setattr(estimate_module, "_by_classes", lambda *_: (even, None))
    largest = largest_entropy(deep, counts, tables)
    assert run(config, *exact) == pytest.approx(largest, rel=1e-4, abs=1e-3)


@pytest.mark.usefixtures("exact")
def test_a_gaussian_table_of_the_universe_without_noise_is_given_back(
    deep: Universe, counts: NDArray[np.int64], config: Config, measure: Measure
) -> None:
    (exact,) = family(deep, counts, FULL, measure, rho=NO_NOISE, seed=None)
    assert run(config, exact) == pytest.approx(counts, abs=0.01)


@pytest.mark.parametrize("levels", [(), ((0, 0, 0, 1, 1, 1),)])
def test_several_levels_without_a_possible_cell(
    levels: tuple[tuple[int, ...], ...],
    make_deep_universe: MakeUniverse,
    make_config: MakeConfig,
    draw_table: Draw,
    measure: Measure,
) -> None:
    """A contrast between two such levels is nothing on every possible cell."""
    axes = [(6, levels), (4, ((0, 0, 1, 1),) if levels else ())]
    universe = make_deep_universe(axes, [{"a0": (0, 1, 2)}])
    counts = draw_table((6, 4), 3000, 1) * universe.possible()
    config = replace(make_config((2, 2), cells=True), universe=universe)
    noise = {"epsilon": Fraction(1, 2)}
    for tables in (
        ((("a0", "a1"), (0, 0)), (("a0",), (0,))),
        ((("a0",), (0,)), (("a1",), (0,))),
    ):
        values = run(config, *family(universe, counts, tables, measure, **noise))
        assert np.isfinite(values).all()
        assert np.all(values[~universe.possible()] == 0.0)
        assert values.sum() == pytest.approx(counts.sum(), rel=0.05)


def test_only_the_variance_of_a_table_of_sums_matters(
    deep: Universe, counts: NDArray[np.int64], config: Config, measure: Measure
) -> None:
    laplace = family(deep, counts, ONE_WAY, measure, epsilon=Fraction(1, 2))
    gaussian = [
        replace(table, event=other.event)
        for table, other in zip(
            laplace, family(deep, counts, ONE_WAY, measure, rho=Fraction(1, 7)), strict=True
        )
    ]
    assert np.array_equal(run(config, *laplace), run(config, *gaussian))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("cells", [False, True])
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1)])
def test_sums_that_are_known_are_those_of_the_whole_counts(
    cells: bool,
    epsilon: Fraction,
    counts: NDArray[np.int64],
    deep: Universe,
    config: Config,
    measure: Measure,
) -> None:
    config = replace(config, workload=replace(config.workload, cells=cells))
    full = measure(deep, NAMES, counts, epsilon=epsilon, seed=9)
    known = family(deep, counts, ONE_WAY, measure, rho=Fraction(10**4), seed=None)
    result = estimate_whole(Measurements("t", "0" * 64, (full, *known)), config)
    whole = round_counts(result.values, required_atoms(config), 5)
    fraction = result.values - np.floor(result.values)
    for name, steps in ONE_WAY:
        margin = Margin(name, steps)
        aim = margin.sums(deep, counts)
        assert margin.sums(deep, result.values) == pytest.approx(aim, abs=0.05)
        # Rounding gives a cell with fraction f the variance f (1 - f).
        rounding = np.sqrt(margin.sums(deep, fraction * (1.0 - fraction)))
        assert np.all(np.abs(margin.sums(deep, whole) - aim) <= 0.05 + 4.0 * rounding)


@pytest.mark.parametrize(
    ("tables", "with_cells", "records"),
    [
        (ONE_WAY, False, 3000),
        (PAIRS, True, 3000),
        (COARSE, False, 3000),
        (FULL, True, 3000),
        (FULL + COARSE, False, 3000),
        (COARSE, True, 0),
        (PAIRS, False, 0),
    ],
    ids=["single", "pairs, cells", "coarse", "full, cells", "all", "coarse, nobody", "nobody"],
)
def test_any_tables_give_counts_that_keep_every_promise(
    tables: Tables,
    with_cells: bool,
    records: int,
    deep: Universe,
    config: Config,
    measure: Measure,
    draw_table: Draw,
) -> None:
    counts = draw_table(SHAPE, records, 3) * deep.possible()
    noisy = family(deep, counts, tables, measure, rho=Fraction(1, 50))
    if with_cells:
        noisy.append(measure(deep, NAMES, counts, epsilon=Fraction(1, 3), seed=8))
    config = replace(config, workload=replace(config.workload, cells=True))
    result = estimate_whole(Measurements("t", "0" * 64, tuple(noisy)), config)
    assert np.all(np.isfinite(result.values))
    assert np.all(result.values >= 0.0)
    assert np.all(result.values[~deep.possible()] == 0.0)
    json.dumps(result.report, allow_nan=False)
    assert len(result.report["residuals"]) == len(noisy)
    assert "tilt towards the noisy sums" in [step["step"] for step in result.report["steps"]]
    whole = round_counts(result.values, required_atoms(config), 4)
    assert np.all(np.abs(whole - result.values) < 1.0)


@pytest.mark.parametrize("with_cells", [False, True])
def test_public_totals_hold_exactly_beside_noisy_sums(
    with_cells: bool, make_config: MakeConfig, measure: Measure, draw_table: Draw
) -> None:
    config = make_config(
        SHAPE,
        impossible=IMPOSSIBLE,
        totals=[({}, 3000), ({"a0": (0, 1)}, 1234), ({"a1": (1,)}, 17), ({"a2": (2,)}, 0)],
    )
    universe = config.universe
    possible = universe.possible()
    counts = draw_table(SHAPE, 3000, 2) * possible
    noisy = family(universe, counts, ONE_WAY + PAIRS, measure, rho=Fraction(1, 20))
    if with_cells:
        noisy.append(measure(universe, NAMES, counts, epsilon=Fraction(1, 2), seed=7))
    result = estimate_whole(Measurements("t", "0" * 64, tuple(noisy)), config)
    whole = round_counts(result.values, required_atoms(config), 6)
    assert np.all(whole[~possible] == 0)
    for total in config.public_totals:
        members = universe.members(total.where)
        assert result.values[members].sum() == pytest.approx(total.total, rel=1e-12, abs=1e-9)
        assert whole[members].sum() == total.total


def test_a_universe_without_possible_cells_stays_empty(
    make_deep_universe: MakeUniverse, config: Config, measure: Measure
) -> None:
    universe = make_deep_universe(DEEP, [{"a1": (0, 1, 2)}])
    nothing = np.zeros(universe.size, dtype=np.int64)
    noisy = family(universe, nothing, ONE_WAY, measure, rho=Fraction(1, 20))
    assert np.array_equal(run(replace(config, universe=universe), *noisy), nothing)


def test_noisy_sums_make_sums_better_and_cells_no_worse(
    make_config: MakeConfig, measure: Measure, draw_table: Draw
) -> None:
    shape = (8, 6, 5, 4)
    config = make_config(shape, cells=False)
    universe = config.universe
    counts = draw_table(shape, 2000, 4)
    alone, beside = np.zeros(2), np.zeros(2)

    def errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
        margins = [Margin((name,), (0,)) for name in universe.names]
        sums = sum(np.abs(margin.sums(universe, values - counts)).sum() for margin in margins)
        return np.array([sums, np.abs(values - counts).sum()])

    for seed in range(4):
        full = measure(universe, universe.names, counts, epsilon=Fraction(1, 10), seed=10 * seed)
        tables = [
            measure(universe, (name,), counts, epsilon=Fraction(1, 10), seed=10 * seed + i)
            for i, name in enumerate(universe.names, start=1)
        ]
        alone += errors(run(config, full))
        beside += errors(run(config, full, *tables))
    assert beside[0] < 0.6 * alone[0]
    assert beside[1] < 1.05 * alone[1]


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
print(conftest.digest_of_estimates())
"""


def test_the_same_bytes_with_any_number_of_threads(digest_of_estimates: Callable[[], str]) -> None:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parents[1])],
        env={**os.environ, **dict.fromkeys(names, "2")},
        capture_output=True,
        text=True,
        check=True,
    )
    with threadpool_limits(1):
        assert done.stdout.strip() == digest_of_estimates()


@pytest.mark.parametrize("shape", [(1,), (1, 4), (4, 1), (1, 1, 3)])
@pytest.mark.parametrize("names", [(), ("a0",)])
def test_the_total_and_attributes_of_one_level_can_be_measured(
    shape: tuple[int, ...], names: tuple[str, ...], make_config: MakeConfig, measure: Measure
) -> None:
    config = make_config(shape, cells=False)
    counts = np.full(config.universe.size, 20)
    full = measure(config.universe, config.universe.names, counts, epsilon=Fraction(1, 5), seed=1)
    known = measure(config.universe, names, counts, rho=Fraction(10**4), seed=None)
    assert run(config, full, known).sum() == pytest.approx(counts.sum(), abs=0.5)
    assert run(config, known).sum() == pytest.approx(counts.sum(), abs=0.5)


def test_tables_that_noise_drowned_do_not_move_cells_that_are_known(
    make_deep_universe: MakeUniverse, make_config: MakeConfig, measure: Measure
) -> None:
    """Noise that is a little larger than usual is no sign that five known records are twelve."""
    halves = [(0,) * 32 + (1,) * 33, (0, 0, 1, 1)]
    universe = make_deep_universe([(65, (halves[0],)), (4, (halves[1],))])
    config = replace(make_config((2, 2), cells=False), universe=universe)
    counts = np.zeros(universe.size, dtype=np.int64)
    counts[[36, 80, 93, 121, 196]] = 1
    cells = measure(universe, ("a0", "a1"), counts, epsilon=Fraction(8), seed=None)
    for seed in range(4):
        drowned = [
            measure(universe, (name,), counts, epsilon=Fraction(1, 2), seed=seed)
            for name in universe.names
        ]
        assert run(config, cells, *drowned).sum() == pytest.approx(5.0, abs=0.5)


def test_cells_and_pairs_together_are_no_worse_than_cells_where_noise_drowns_the_pairs(
    make_config: MakeConfig, measure: Measure, draw_table: Draw
) -> None:
    shape = (2,) * 10
    config = make_config(shape, cells=False)
    pairs = list(combinations(config.universe.names, 2))
    together, alone = 0.0, 0.0
    for seed in range(3):
        counts = draw_table(shape, 5000, seed)
        cells = measure(config.universe, config.universe.names, counts, epsilon=Fraction(1, 20))
        sums = [
            measure(config.universe, pair, counts, epsilon=Fraction(1, 900), seed=number)
            for number, pair in enumerate(pairs, start=1)
        ]
        together += float(np.abs(run(config, cells, *sums) - counts).sum())
        alone += float(np.abs(run(config, cells) - counts).sum())
    assert together <= 1.02 * alone


@pytest.mark.parametrize("way", [PLAIN, FROM_SUMS])
def test_noisy_sums_gain_weight_when_all_interactions_are_fitted(
    way: Any,
    make_config: MakeConfig,
    measure: Measure,
    draw_table: Draw,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before, a model is off everywhere; unless it starts from the sums, which it then trusts."""
    config = make_config((4, 3, 5), cells=False)
    counts = draw_table((4, 3, 5), 3000, 1)
    cells = measure(config.universe, config.universe.names, counts, epsilon=Fraction(1, 5))
    pair = measure(config.universe, ("a0", "a1"), counts, epsilon=Fraction(1), seed=1)
    done: list[str] = []

    def told(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            done.append(name)
            return function(*given, **named)

        return call

    monkeypatch.setattr(model_module, "trusted", told("doubt", model_module.trusted))
    monkeypatch.setattr(WholeModel, "weigh_evidence", told("evidence", WholeModel.weigh_evidence))
    monkeypatch.setattr(estimate_module, "_ways", lambda _: (way,))
    run(config, cells, pair)
    assert {"doubt", "evidence"} <= set(done)
    assert done[0] == ("doubt" if way is FROM_SUMS else "evidence")


def test_columns_that_are_measured_beside_drowned_cells_do_no_harm(
    make_config: MakeConfig, measure: Measure, draw_table: Draw
) -> None:
    """The fit begins with main effects under their prior, not with what noisy columns say."""
    shape = (90, 90)
    config = make_config(shape, cells=False)
    universe = config.universe
    off = {"alone": 0.0, "with columns": 0.0}
    for seed in range(3):
        counts = draw_table(shape, 1000, seed)
        truth = counts.reshape(shape)
        cells = measure(universe, universe.names, counts, epsilon=Fraction(1), seed=seed)
        columns = [
            measure(universe, (name,), counts, epsilon=Fraction(1, 10), seed=seed + 10 * number)
            for number, name in enumerate(universe.names, start=1)
        ]
        for name, tables in {"alone": (cells,), "with columns": (cells, *columns)}.items():
            found = run(config, *tables).reshape(shape)
            off[name] += sum(
                float(np.abs(found.sum(axis) / found.sum() - truth.sum(axis) / truth.sum()).sum())
                for axis in (0, 1)
            )
    assert off["with columns"] <= 1.05 * off["alone"]


def test_single_columns_are_no_worse_for_tables_of_them_that_noise_drowned(
    make_config: MakeConfig, measure: Measure, draw_table: Draw
) -> None:
    """A small universe whose cells tell single columns far better than those tables do."""
    shape = (7, 3, 2, 10)
    config = make_config(shape, cells=False)
    universe = config.universe
    off = {"alone": 0.0, "with columns": 0.0}
    for seed in range(6):
        counts = draw_table(shape, 500, seed)
        cells = measure(universe, universe.names, counts, epsilon=Fraction(1), seed=seed)
        columns = [
            measure(universe, (name,), counts, epsilon=Fraction(1, 80), seed=seed + 10 * number)
            for number, name in enumerate(universe.names, start=1)
        ]
        for name, tables in {"alone": (cells,), "with columns": (cells, *columns)}.items():
            found = run(config, *tables)
            off[name] += sum(
                float(np.abs(Margin((one,), (0,)).sums(universe, found - counts)).sum())
                for one in universe.names
            )
    assert off["with columns"] <= 1.1 * off["alone"]


@pytest.mark.parametrize(
    ("tables", "epsilon", "misfits", "tried"),
    [
        (ONE_WAY, 1, (1.05,), [PLAIN]),
        (ONE_WAY, 1, (1.15, 1.0), [PLAIN, FROM_SUMS]),
        (ONE_WAY, 1, (1.0, 1.0), [PLAIN]),
        (ONE_WAY, 1, (1.5, 1.3, 1.1), [PLAIN, FROM_SUMS, FROM_SUMS]),
        ((), 1, (1.15,), [PLAIN]),
        (ONE_WAY, Fraction(1, 10), (1.15, 1.11, 1.0), [PLAIN, FROM_SUMS, FIRM]),
    ],
)
def test_where_a_fit_is_off_another_starts_from_the_noisy_sums(
    tables: Tables,
    epsilon: Fraction | int,
    misfits: tuple[float, ...],
    tried: list[Any],
    deep: Universe,
    counts: NDArray[np.int64],
    config: Config,
    measure: Measure,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one with the smallest misfit is taken."""
    attempt, left = estimate_module._attempt, list(misfits)
    made = []

    def with_misfit(*given: Any) -> Any:
        own = replace(attempt(*given), misfit=left.pop(0))
        made.append((given[-1], own))
        return own

    monkeypatch.setattr(estimate_module, "_attempt", with_misfit)
    monkeypatch.setattr(estimate_module.NoisySums, "misfit_limit", lambda _: 1.2)
    measured = family(deep, counts, FULL, measure, epsilon=Fraction(1))
    measured += family(deep, counts, tables, measure, epsilon=Fraction(epsilon))
    found = estimate_whole(Measurements("t", "0" * 64, tuple(measured)), config)
    assert [way for way, _ in made] == tried
    best = min((own for _, own in made), key=lambda own: own.misfit)
    if tables:
        moved, _ = towards_sums.move_to_total(best.values, best.ratio, float(found.values.sum()))
        assert found.values == pytest.approx(moved, rel=1e-9)
    starts = [step["step"] for step in found.report["steps"]]
    assert ("start from the noisy sums" in starts) == (FROM_SUMS in tried)


def test_single_columns_of_pairs_alone_are_those_of_the_classes(
    make_config: MakeConfig, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column with many empty levels: they are found out, in spite of the noise of its pairs."""
    shape = (60, 6, 5)
    config = make_config(shape, cells=False)
    universe = config.universe
    generator = np.random.default_rng(3)
    filled = generator.choice(60, 8, replace=False)
    codes = [generator.choice(filled, 5000), *(generator.integers(0, k, 5000) for k in (6, 5))]
    counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=universe.size)
    tables = family(universe, counts, PAIRS, measure, epsilon=Fraction(1, 20))

    def off() -> float:
        found = run(config, *tables).reshape(shape).sum(axis=(1, 2))
        return float(np.abs(found - counts.reshape(shape).sum(axis=(1, 2))).sum())

    mine = off()
    monkeypatch.setattr(estimate_module, "_has_plain_columns", lambda _: False)
    assert mine < 0.7 * off()


def test_columns_in_groups_keep_what_their_tables_say(
    deep: Universe, counts: NDArray[np.int64], config: Config, measure: Measure
) -> None:
    tables = family(deep, counts, PAIRS, measure, epsilon=Fraction(1))
    steps = estimate_whole(Measurements("t", "0" * 64, tuple(tables)), config).report["steps"]
    names = [step["step"] for step in steps]
    assert "start from the latent classes of the noisy sums" in names
    assert "rake single columns to those of the latent classes" not in names
