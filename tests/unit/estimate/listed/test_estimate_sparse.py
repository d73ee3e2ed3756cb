"""The estimate of a universe that is never held, against the records that it was measured from."""

import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from synth.domain import Conjunction, PublicTotal
from synth.domain.counts import inside, is_possible
from synth.estimate.listed import class_fit, points
from synth.estimate.listed.estimate import estimate_listed, has_room
from synth.estimate.listed.tables import SumTable

SIZES = (10,) * 24
HEAVY = 3


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, 10, 20_000)]
    for _ in SIZES[1:]:
        stays = generator.random(20_000) < 0.6
        other = np.minimum(generator.geometric(0.35, 20_000) - 1, 9)
        columns.append(np.where(stays, columns[-1], other))
    for column in columns:  # three rows that are there 400 times
        column[: 400 * HEAVY] = np.repeat(generator.integers(0, 10, HEAVY), 400)
    return columns


@pytest.fixture
def measured(make, records):
    universe = make.universe(*SIZES)
    axes = [(i,) for i in range(24)] + [(i, i + 1) for i in range(23)]
    tables = [make.sums(universe, records, each, epsilon="1/10") for each in axes]
    listed = make.listing(universe, records, threshold=100, epsilon="1/2", false_cells=500, seed=3)
    return universe, make.measurements(listed, *tables)


def shares(columns, weights, axes):
    cells = sum(columns[axis].astype(np.int64) * 10**k for k, axis in enumerate(axes))
    sums = np.bincount(cells, weights=weights, minlength=10 ** len(axes))
    return sums / sums.sum()


def distance(records, counts, axes):
    truth = shares(records, None, axes)
    return 0.5 * np.abs(truth - shares(counts.columns, counts.values, axes)).sum()


def configured(make_config, universe, **named):
    return replace(make_config((2,), **named), universe=universe)


def test_marginals_are_kept_and_heavy_cells_found(make_config, measured, records):
    universe, measurements = measured
    fitted = estimate_listed(measurements, configured(make_config, universe), seed=4)
    counts = fitted.round(5)
    assert abs(counts.total - 20_000) < 150
    ones = [distance(records, counts, (i,)) for i in range(24)]
    twos = [distance(records, counts, (i, i + 1)) for i in range(23)]
    assert np.mean(ones) < 0.015
    assert np.mean(twos) < 0.06
    independent = []
    for i in range(23):
        truth = shares(records, None, (i, i + 1))
        apart = np.multiply.outer(shares(records, None, (i + 1,)), shares(records, None, (i,)))
        independent.append(0.5 * np.abs(truth - apart.reshape(-1)).sum())
    assert np.mean(independent) > 4 * np.mean(twos)
    heavy = np.argsort(-counts.values)[:HEAVY]
    assert np.abs(counts.values[heavy] - 400).max() < 15
    for place in heavy:
        codes = [int(column[place]) for column in counts.columns]
        assert any(codes == [int(c[400 * k]) for c in records] for k in range(HEAVY))
    listing = measurements.tables[0]
    false = counts.at(tuple(listing.codes.T), universe.shape)
    assert (false > 0).sum() == HEAVY
    (step,) = [s for s in fitted.report["steps"] if "listed_cells" in s]
    assert step["kept_cells"] == HEAVY
    assert step["listed_cells"] == 500 + HEAVY


def test_where_records_fill_the_cells_points_add_no_noise_of_their_own(make, make_config):
    universe, size = make.universe(8, 8, 8, 8), 50_000
    generator = np.random.default_rng(2)
    columns = [np.minimum(generator.geometric(0.4, size) - 1, 7) for _ in range(4)]
    pairs = [(0, 1), (1, 2), (2, 3)]
    measured = make.measurements(*(make.sums(universe, columns, pair) for pair in pairs))
    counts = estimate_listed(measured, configured(make_config, universe), seed=4).round(5)
    assert counts.total == size
    again = [generator.choice(column, size) for column in columns]
    for pair in pairs:
        apart = 0.5 * np.abs(of_pair(columns, None, pair) - of_pair(counts.columns, counts, pair))
        fresh = 0.5 * np.abs(of_pair(columns, None, pair) - of_pair(again, None, pair))
        assert apart.sum() < 0.3 * fresh.sum()


def of_pair(columns, counts, pair):
    cells = columns[pair[0]].astype(np.int64) * 8 + columns[pair[1]]
    sums = np.bincount(cells, weights=None if counts is None else counts.values, minlength=64)
    return sums / sums.sum()


THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ANOTHER_MACHINE = dict.fromkeys(THREADS, "4") | {
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4",
}
"""What libraries let one pretend: four threads, no AVX, nor AVX-512 in numpy."""


def test_the_bytes_do_not_depend_on_threads_or_the_processor(monkeypatch, capsys):
    monkeypatch.setattr(class_fit, "_THREADS", 1)
    monkeypatch.setattr(points, "_THREADS", 1)
    with threadpool_limits(1):
        exec(SCRIPT, {})
    here = capsys.readouterr().out
    assert len(here.strip()) == 64
    modules = "import synth.estimate.listed.class_fit as f, synth.estimate.listed.points as p"
    settings = "f._THREADS = p._THREADS = 4\nf._SHORT = 0"  # no table is too short
    done = subprocess.run(
        [sys.executable, "-c", f"{modules}\n{settings}\n{SCRIPT}"],
        env=dict(os.environ) | ANOTHER_MACHINE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == here


SCRIPT = """
import hashlib
import numpy as np
from itertools import combinations
from synth.domain import Attribute, Margin, Universe
from synth.estimate.listed.class_fit import fit_classes
from synth.planning.costs import tables_to_choose_by
from synth.estimate.listed.support import spread
from synth.estimate.listed.tables import SumTable
generator = np.random.default_rng(0)
universe = Universe(tuple(Attribute(str(i), "categorical", tuple("abcdef")) for i in range(6)))
tables = []
for axes in [*combinations(range(6), 2), (0, 1, 2), (2, 3, 5)]:
    margin = Margin(tuple(str(axis) for axis in axes), (0,) * len(axes))
    values = generator.integers(0, 8_000 // 6 ** len(axes), (6,) * len(axes)).astype(float)
    tables.append(SumTable(margin, axes, values, 9.0))
model = fit_classes(tables, universe, 4_000.0)
none = [np.zeros(0, dtype=np.int64)] * 6
by = tables_to_choose_by(universe.shape, [(0, 1, 2)], 90)
assert len(by) == 22
found = spread(model, universe, 7, listed=none, counts=np.zeros(0), chosen_by=by)
digest = hashlib.sha256(found.values.tobytes())
for column in (*found.columns, model.shares, *model.laws):
    digest.update(np.ascontiguousarray(column).tobytes())
print(digest.hexdigest())
"""


def test_impossible_cells_stay_empty_and_totals_hold(make_config, make, records):
    impossible = (Conjunction({"a0": (0, 1, 2), "a1": (7, 8)}), Conjunction({"a5": (9,)}))
    universe = make.universe(*SIZES, impossible=impossible)
    keep = is_possible(records, universe)
    columns = [column[keep] for column in records]
    tables = [make.sums(universe, columns, (i,), epsilon="1/10") for i in range(24)]
    listed = make.listing(universe, columns, threshold=100, false_cells=40)
    totals = (
        PublicTotal(Conjunction({"a3": (1, 2)}), 4321, "a register"),
        PublicTotal(Conjunction({"a3": (2, 5), "a9": (0,)}), 17, "a register"),
        PublicTotal(
            Conjunction({"a4": (9,), "a6": (9,), "a8": (9,), "a10": (9,)}), 3, "a register"
        ),
        PublicTotal(Conjunction({}), 17_000, "a register"),
    )
    config = replace(configured(make_config, universe), public_totals=totals)
    possible = is_possible(tuple(listed.codes.T), universe)
    listed = replace(
        listed, codes=listed.codes[possible], noisy_counts=listed.noisy_counts[possible]
    )
    fitted = estimate_listed(make.measurements(listed, *tables), config, seed=1)
    counts = fitted.round(2)
    assert is_possible(counts.columns, universe).all()
    assert is_possible(fitted.columns, universe).all()
    for total in totals:
        assert counts.values[inside(counts.columns, universe, total.where)].sum() == total.total
    assert (counts.values > 0).all()


@pytest.mark.parametrize("total", [0, 5])
def test_a_total_of_all_records_where_nobody_was_seen(make_config, make, records, total):
    universe = make.universe(*SIZES)
    listed = make.listing(universe, [column[:0] for column in records], threshold=52)
    totals = (PublicTotal(Conjunction({}), total, "a register"),)
    config = replace(configured(make_config, universe), public_totals=totals)
    counts = estimate_listed(make.measurements(listed), config, seed=1).round(2)
    assert counts.total == total


def test_a_declared_number_of_rows_is_met_without_any_table_of_sums(make_config, make, records):
    universe = make.universe(*SIZES)
    listed = make.listing(universe, records, threshold=52, false_cells=20)
    config = configured(make_config, universe, rows=5000)
    counts = estimate_listed(make.measurements(listed), config, seed=1).round(2)
    assert counts.total == 5000
    without = configured(make_config, universe)
    alone = estimate_listed(make.measurements(listed), without, seed=1).round(2)
    assert abs(alone.total - 400 * HEAVY) < 30
    assert len(alone.values) == HEAVY


def test_no_record_at_all(make_config, make):
    universe = make.universe(*SIZES)
    none = [np.zeros(0, dtype=np.int64)] * 24
    tables = [make.sums(universe, none, (i,)) for i in range(24)]
    config = configured(make_config, universe)
    counts = estimate_listed(make.measurements(*tables), config, seed=1).round(2)
    assert counts.total == 0
    assert len(counts.columns) == 24


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("threshold", "false_cells"), [(35, 8_800), (40, 5_300)])
def test_a_list_full_of_noise_adds_no_records(make_config, make, threshold, false_cells, seed):
    universe = make.universe(2, 3, 3, 7, 7, 9, 9, 8)
    records = make.chain(universe.shape, 891, seed)
    tables = [make.sums(universe, records, (i,), epsilon="9/80", seed=seed) for i in range(8)]
    listed = make.listing(
        universe,
        records,
        threshold=threshold,
        epsilon="1/10",
        false_cells=false_cells,
        seed=seed,
    )
    fitted = estimate_listed(
        make.measurements(listed, *tables), configured(make_config, universe), seed=4
    )
    counts = fitted.round(5)
    assert abs(counts.total - 891) < 120  # five standard deviations of the noisy total
    assert np.mean([distance(records, counts, (i,)) for i in range(8)]) < 0.1


def test_a_listed_cell_needs_room_in_every_table(make):
    universe = make.universe(2, 2)
    columns = (np.array([0, 0, 1]), np.array([0, 1, 1]))
    records = [np.repeat(column, [90, 10, 200]) for column in columns]
    tables = [SumTable.of(make.sums(universe, records, (axis,)), universe) for axis in (0, 1)]
    noisy = np.array([100, 95, 203])

    def room(counts, variance=25.0, certain=math.inf):
        keep = np.ones(3, dtype=bool)
        return has_room(
            columns, counts, keep, noisy, tables, universe, variance=variance, certain=certain
        ).tolist()

    assert room(noisy - 2.0, variance=2500.0) == [True, True, True]
    assert room(noisy - 2.0) == [True, False, True]  # 98 + 93 of 100 in the first row
    assert room(noisy - 2.0, certain=94) == [True, True, True]
    assert room(np.array([90.0, 10.0, 200.0]), variance=0.0) == [True, True, True]


def test_single_columns_stay_right_where_points_meet_many_listed_cells(make_config, make):
    """Half of the records are in listed cells that the model of the others would fill as well."""
    universe = make.universe(6, 5, 4, 3)
    records = make.chain(universe.shape, 40_000, 2)
    tables = [make.sums(universe, records, (i,), epsilon=1) for i in range(4)]
    listed = make.listing(universe, records, threshold=300, epsilon=1, false_cells=0)
    config = configured(make_config, universe)
    counts = estimate_listed(make.measurements(listed, *tables), config, seed=4).round(5)
    for axis, size in enumerate(universe.shape):
        truth = np.bincount(records[axis], minlength=size)
        found = np.bincount(counts.columns[axis], weights=counts.values, minlength=size)
        assert 0.5 * np.abs(found - truth).sum() < 0.002 * 40_000
