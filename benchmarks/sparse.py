"""Sparse universes: how far the published counts are from the truth, and what is lost.

Made-up records with known dependence and some heavy cells are measured as a run would measure
them (a table of the universe with a threshold, one- and two-way tables, pure epsilon), fitted and
rounded. Errors are mean total variations of all one-way and many two-way tables, beside those of

    listed     the cells that reached the threshold, alone, as noisy: what is lost without a model
    product    independent columns with the noisy one-way tables
    sample     a fresh sample of as many records from the true law: what no method need beat

    python benchmarks/sparse.py [--columns 12,30] [--records 100000,1000000] [--epsilon 1]
    python benchmarks/sparse.py --dense
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from synth.config import Config, OutputConfig, PrivacyConfig, ReleaseConfig, WorkloadConfig
from synth.domain import Attribute, Universe
from synth.domain.counts import Counts, cell_order, cell_words, new_cells
from synth.estimate import estimate_whole
from synth.estimate.listed.estimate import estimate_listed
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent

LEVELS = 10
HEAVY_CELLS = 20
HEAVY_SHARE = 0.05
PAIRS = 150
"""At most so many two-way tables are compared."""
UNIVERSE_SHARE = Fraction(1, 2)
"""The part of epsilon for the table of the universe; the rest is for the tables of sums."""

Columns = list[NDArray[np.int64]]


def records_of(columns: int, records: int, seed: int) -> Columns:
    """A random tree of dependences between skewed columns, and a few rows that repeat often."""
    generator = np.random.default_rng([11, columns, seed])
    laws = np.random.default_rng([12, columns])
    found: Columns = []
    for column in range(columns):
        own = laws.dirichlet(np.full(LEVELS, 1.0))
        if not column:
            found.append(generator.choice(LEVELS, records, p=own))
            continue
        parent = found[int(laws.integers(column))]
        width = laws.uniform(0.8, 2.0)
        shape = laws.permutation(LEVELS)
        distance = np.abs(np.subtract.outer(shape, np.arange(LEVELS)))
        law = 0.6 * np.exp(-0.5 * (distance / width) ** 2)
        law = law / law.sum(axis=1, keepdims=True) * 0.6 + 0.4 * own
        ends = np.cumsum(law, axis=1)
        drawn = (generator.random(records)[:, None] > ends[parent]).sum(axis=1)
        found.append(np.minimum(drawn, LEVELS - 1))
    heavy = int(HEAVY_SHARE * records)
    places = generator.integers(HEAVY_CELLS, size=heavy)
    for column in found:
        column[:heavy] = laws.integers(LEVELS, size=HEAVY_CELLS)[places]
    return found


def measured(rows: Columns, epsilon: Fraction, pairs: int, *, dense: bool, seed: int):
    """The noisy tables of a run, drawn here by numpy: only their law matters."""
    generator = np.random.default_rng([13, len(rows), seed])
    universe = Universe(
        tuple(
            Attribute(f"c{i:02}", "categorical", tuple(map(str, range(LEVELS))))
            for i in range(len(rows))
        )
    )
    tables = [universe_table(rows, universe, epsilon * UNIVERSE_SHARE, generator, dense)]
    chosen = [(i,) for i in range(len(rows))] + best_pairs(rows, pairs)
    each = epsilon * (1 - UNIVERSE_SHARE) / len(chosen)
    for axes in chosen:
        names = tuple(universe.names[axis] for axis in axes)
        cells = LEVELS ** len(axes)
        counts = np.bincount(number(rows, axes), minlength=cells)
        noise = laplace(generator, cells, float(each))
        event = TableEvent(names, cells, 1, each)
        tables.append(MeasuredTable(event, counts + noise, variance_of(float(each))))
    return universe, Measurements("benchmark", "0" * 64, tuple(tables))


def best_pairs(rows: Columns, number_of_pairs: int) -> list[tuple[int, int]]:
    """The pairs with most dependence: a stand-in for a choice, which would be paid for."""
    part = [column[:: max(1, len(column) // 50_000)] for column in rows]
    found = []
    for axes in combinations(range(len(rows)), 2):
        joint = np.bincount(number(part, axes), minlength=LEVELS**2).reshape(LEVELS, -1)
        joint = joint / joint.sum()
        even = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        found.append((float(np.abs(joint - even).sum()), axes))
    return sorted(axes for _, axes in sorted(found, reverse=True)[:number_of_pairs])


def universe_table(
    rows: Columns,
    universe: Universe,
    epsilon: Fraction,
    generator: np.random.Generator,
    dense: bool,
) -> MeasuredTable:
    """Every cell with noise, or those that reach the threshold for one expected false cell."""
    rate = float(epsilon)
    a = math.exp(-rate)
    words = cell_words(rows, universe.shape)
    order = cell_order(words)
    first = np.flatnonzero(new_cells([word[order] for word in words]))
    counts = np.diff(first, append=len(order))
    codes = np.stack([column[order[first]] for column in rows], axis=1)
    if dense:
        noisy = laplace(generator, universe.size, rate)
        noisy[words[0][order[first]]] += counts
        event = TableEvent(universe.names, universe.size, 1, epsilon)
        return MeasuredTable(event, noisy, variance_of(rate))
    theta = max(1, math.ceil(math.log(universe.size / (1 + a)) / rate))
    noisy = counts + laplace(generator, counts.size, rate)
    kept = noisy >= theta
    false = generator.poisson(universe.size * (a**theta / (1 + a)))
    false_codes = generator.integers(0, LEVELS, (false, len(rows)))
    false_values = theta + generator.geometric(1 - a, false) - 1
    codes = np.concatenate([codes[kept], false_codes])
    noisy = np.concatenate([noisy[kept], false_values])
    order = np.lexsort(tuple(codes.T[::-1]))
    event = TableEvent(universe.names, universe.size, 1, epsilon, threshold=theta)
    return MeasuredTable(event, noisy[order], variance_of(rate), codes[order])


def laplace(generator: np.random.Generator, size: int, rate: float) -> NDArray[np.int64]:
    stop = 1 - math.exp(-rate)
    return generator.geometric(stop, size) - generator.geometric(stop, size)


def variance_of(rate: float) -> float:
    return 0.5 / math.sinh(0.5 * rate) ** 2


def number(columns: Columns, axes: tuple[int, ...]) -> NDArray[np.int64]:
    cells = np.zeros(len(columns[0]), dtype=np.int64)
    for axis in axes:
        cells = cells * LEVELS + columns[axis]
    return cells


def shares(columns, weights, axes: tuple[int, ...]) -> NDArray[np.float64]:
    sums = np.bincount(number(columns, axes), weights=weights, minlength=LEVELS ** len(axes))
    return sums / max(float(sums.sum()), 1e-300)


def distances(rows: Columns, columns, weights, product=None) -> tuple[float, float]:
    """Mean total variation of the one-way tables and of some two-way tables."""
    every = list(combinations(range(len(rows)), 2))
    pairs = every[:: max(1, len(every) // PAIRS)]
    found = []
    for group in ([(axis,) for axis in range(len(rows))], pairs):
        errors = []
        for axes in group:
            truth = shares(rows, None, axes)
            if product is None:
                other = shares(columns, weights, axes)
            else:
                other = np.ones(1)
                for axis in axes:
                    other = np.multiply.outer(other, product[axis]).reshape(-1)
            errors.append(0.5 * float(np.abs(truth - other).sum()))
        found.append(float(np.mean(errors)))
    return found[0], found[1]


def clipped_one_way(measurements: Measurements) -> list[NDArray[np.float64]]:
    found = []
    for table in measurements.tables:
        if len(table.event.table) == 1:
            values = np.maximum(table.noisy_counts, 0).astype(np.float64)
            found.append(values / values.sum())
    return found


def config_of(universe: Universe, epsilon: Fraction) -> Config:
    return Config(
        name="benchmark",
        release=ReleaseConfig("b", "B", "", (), "", "", "", "", ""),
        source=None,
        privacy=PrivacyConfig(
            epsilon=epsilon,
            delta=Fraction(0),
            neighbours="add-remove",
            unit="record",
            justification="",
        ),
        ledger=None,
        universe=universe,
        public_totals=(),
        workload=WorkloadConfig((), cells=False),
        strategy="auto",
        output=OutputConfig(Path(), ("csv",), None, "uniform"),
        public={},
    )


def cell_error(rows: Columns, counts: Counts, shape: tuple[int, ...]) -> float:
    """Total variation over the cells of a universe whose number fits one word."""
    true, those = cell_words(rows, shape)[0], cell_words(counts.columns, shape)[0]
    cells, place = np.unique(np.concatenate([true, those]), return_inverse=True)
    size = len(cells)
    left = np.bincount(place[: len(true)], minlength=size) / len(true)
    right = np.bincount(place[len(true) :], weights=counts.values, minlength=size)
    return 0.5 * float(np.abs(left - right / counts.total).sum())


def compare(columns: int, records: int, epsilon: Fraction, pairs: int, seed: int) -> None:
    rows = records_of(columns, records, seed)
    universe, measurements = measured(rows, epsilon, pairs, dense=False, seed=seed)
    config = config_of(universe, epsilon)
    start, used = time.perf_counter(), time.process_time()
    fitted = estimate_listed(measurements, config, seed=seed)
    counts = fitted.round(seed)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    listing = measurements.tables[0]
    fresh = records_of(columns, records, seed + 1000)
    print(
        f"1e{columns} cells, {records:,} records, epsilon {epsilon}, {pairs} pairs, draw {seed}: "
        f"{listing.noisy_counts.size} listed, {counts.total:,} rows, "
        f"{seconds:.2f} s ({used:.2f} s of processor)"
    )
    for step in fitted.report["steps"]:
        print("   ", step)
    lines = {
        "synth": distances(rows, counts.columns, counts.values),
        "listed": distances(rows, list(listing.codes.T), listing.noisy_counts),
        "product": distances(rows, None, None, clipped_one_way(measurements)),
        "sample": distances(rows, fresh, None),
    }
    for name, (one, two) in lines.items():
        print(f"    {name:8} 1-way {one:.4f}  2-way {two:.4f}", flush=True)


def against_dense(columns: int, records: int, epsilon: Fraction, pairs: int, seed: int) -> None:
    """The same records by both estimators, in a universe that both can hold."""
    rows = records_of(columns, records, seed)
    print(f"1e{columns} cells, {records:,} records, epsilon {epsilon}, {pairs} pairs, draw {seed}")
    for name in ("sparse", "dense"):
        universe, measurements = measured(rows, epsilon, pairs, dense=name == "dense", seed=seed)
        config = config_of(universe, epsilon)
        config = replace(config, workload=WorkloadConfig((), cells=True))
        start = time.process_time()
        if name == "dense":
            counts = estimate_whole(measurements, config).round(seed)
        else:
            counts = estimate_listed(measurements, config, seed=seed).round(seed)
        one, two = distances(rows, counts.columns, counts.values)
        joint = cell_error(rows, counts, universe.shape)
        print(
            f"    {name:8} 1-way {one:.4f}  2-way {two:.4f}  cells {joint:.4f}  "
            f"({time.process_time() - start:.1f} s of processor)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--columns", default="12,30")
    parser.add_argument("--records", default="100000,1000000")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--pairs", type=int, default=None)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--dense", action="store_true")
    options = parser.parse_args()
    epsilon = Fraction(options.epsilon)
    columns = "6" if options.dense else options.columns
    for width in map(int, columns.split(",")):
        for records in map(int, options.records.split(",")):
            for seed in range(options.draws):
                pairs = width - 1 if options.pairs is None else options.pairs
                (against_dense if options.dense else compare)(width, records, epsilon, pairs, seed)


if __name__ == "__main__":
    main()
