"""Wide tables, far above the dense limit: how far rows from latent classes are from the truth.

    python benchmarks/wide.py
    python benchmarks/wide.py --ways columns,pairs --epsilons 0.1,1,10 --deltas 0,1e-9 --draws 3
    python benchmarks/wide.py --tables adult-coarse,adult-digits --ways auto,pairs --draws 3

Fourteen columns of Adult: `adult-wide` with amounts in 100 bins (6.4e17 cells), `adult-coarse` with
amounts in four parts, `adult-digits` with up to four binary digits of every code of `adult-wide`,
the first ones, for columns: 47 questions with two answers. `columns` measures every column,
`pairs` every column with 20 % of the budget and every pair of columns with the rest; `auto` is what
is planned after a look for all tables of up to three columns. Printed are
mean total variations of all tables of one, two and three columns, and of those of three with at
most 10,000 cells; seconds of the estimate with its rounding, on the clock and of the processor.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import gzip
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
from accuracy import budgeted
from numpy.typing import NDArray
from tables import ROOT, encode
from thin import run

from synth import load_config
from synth.config import Config, OutputConfig, WeightedMarginal, WorkloadConfig
from synth.domain import Attribute, Margin, Universe
from synth.domain.attribute import with_halves
from synth.domain.counts import margin_sums
from synth.estimate.listed.estimate import estimate_listed
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.planning.problem import problem_of
from synth.planning.spending import Purse
from synth.privacy import TableEvent
from synth.privacy.accounting import LAPLACE

Columns = Sequence[NDArray[np.int64]]

AMOUNTS = {
    "age": (16, 1, 85),
    "fnlwgt": (0, 15_000, 100),
    "capital-gain": (0, 1_000, 100),
    "capital-loss": (0, 44, 100),
    "hours-per-week": (1, 1, 99),
}
"""Where the first bin begins, how wide each is, and how many there are."""
SMALL_CELLS = 10_000
MOST_DIGITS = 4


def adult() -> tuple[Config, Columns]:
    """A configuration of fourteen columns with amounts in 100 bins, and the records."""
    with gzip.open(ROOT / "data" / "adult.csv.gz", "rt", newline="") as source:
        rows = pd.read_csv(source, dtype=str, keep_default_na=False)
    attributes = []
    for name in rows.columns.drop("education-num"):
        if name in AMOUNTS:
            low, width, bins = AMOUNTS[name]
            edges = tuple(Fraction(low + width * k) for k in range(bins + 1))
            attributes.append(with_halves(Attribute(name, "integer", edges=edges)))
        else:
            levels = tuple(sorted(set(rows[name].str.strip())))
            attributes.append(Attribute(name, "categorical", levels))
    return configured(attributes), [encode(rows[each.name], each) for each in attributes]


def coarse() -> tuple[Config, Columns]:
    """The same with amounts in four parts."""
    config, columns = adult()
    sizes = [4 if each.name in AMOUNTS else each.size for each in config.universe.attributes]
    attributes = [
        each if each.size == size else levels(each.name, size)
        for each, size in zip(config.universe.attributes, sizes, strict=True)
    ]
    codes = zip(columns, sizes, config.universe.shape, strict=True)
    return configured(attributes), [column * size // many for column, size, many in codes]


def digits() -> tuple[Config, Columns]:
    """The first four binary digits of every code, each a column."""
    config, columns = adult()
    attributes, found = [], []
    for attribute, column in zip(config.universe.attributes, columns, strict=True):
        last = (attribute.size - 1).bit_length() - 1
        for place in range(last, max(-1, last - MOST_DIGITS), -1):
            attributes.append(levels(f"{attribute.name} {place}", 2))
            found.append(column >> place & 1)
    return configured(attributes), found


def levels(name: str, size: int) -> Attribute:
    """A column of so many levels."""
    return Attribute(name, "categorical", tuple(map(str, range(size))))


def configured(attributes: Sequence[Attribute]) -> Config:
    """All tables of up to three of these columns are asked for."""
    return replace(
        load_config(ROOT / "configs" / "adult.yaml"),
        universe=Universe(tuple(attributes)),
        public_totals=(),
        output=OutputConfig(None, ("csv",), None, "uniform"),
        workload=WorkloadConfig(
            tuple(
                WeightedMarginal(names, Fraction(1))
                for order in (1, 2, 3)
                for names in combinations([each.name for each in attributes], order)
            ),
            cells=False,
        ),
    )


TABLES = {"adult-wide": adult, "adult-coarse": coarse, "adult-digits": digits}


def events_of(config: Config, way: str) -> Sequence[TableEvent]:
    """The tables of a way; those of single columns get shares that suit their sizes."""
    problem = problem_of(config)
    names = config.universe.names
    purse = Purse(config.privacy.epsilon, "gaussian" if config.privacy.delta else "laplace")
    power = 2 / 3 if config.privacy.delta else 1 / 2
    columns = [Margin((name,), (0,)) for name in names]
    shares = np.array([margin.cells(config.universe) ** power for margin in columns])
    if way == "columns":
        return purse.events(problem, columns, shares.tolist())
    pairs = [Margin(pair, (0, 0)) for pair in combinations(names, 2)]
    shares *= 0.25 * len(pairs) / shares.sum()
    return purse.events(problem, [*columns, *pairs], [*shares.tolist(), *[1.0] * len(pairs)])


def measure(config: Config, rows: Columns, events: Sequence[TableEvent], seed: int) -> Measurements:
    """The tables with noise."""
    generator = np.random.default_rng(seed)
    tables = []
    for event in events:
        margin = Margin(event.table, event.coarsening)
        counts = margin_sums(rows, np.ones(len(rows[0])), config.universe, margin).astype(np.int64)
        variance = noise_variance(event)
        if event.mechanism == LAPLACE:
            success = -math.expm1(-1.0 / float(event.noise_scale_records))
            noise = generator.geometric(success, counts.size)
            noise -= generator.geometric(success, counts.size)
        else:
            noise = np.rint(generator.normal(0.0, variance**0.5, counts.size)).astype(np.int64)
        tables.append(MeasuredTable(event, counts + noise, variance))
    return Measurements("benchmark", "0" * 64, tuple(tables))


def errors(rows: Columns, columns: Columns, weights: NDArray[np.int64], shape) -> list[float]:
    """Mean total variations: one, two, three columns, and small tables of three."""
    found: list[list[float]] = [[], [], [], []]
    for order in (1, 2, 3):
        for axes in combinations(range(len(shape)), order):
            sizes = tuple(shape[axis] for axis in axes)
            truth, ours = (
                np.bincount(
                    np.ravel_multi_index(tuple(each[axis] for axis in axes), sizes),
                    weights=count,
                    minlength=math.prod(sizes),
                )
                for each, count in ((rows, None), (columns, weights))
            )
            apart = 0.5 * float(np.abs(truth / truth.sum() - ours / ours.sum()).sum())
            found[order - 1].append(apart)
            if order == 3 and math.prod(sizes) <= SMALL_CELLS:
                found[3].append(apart)
    return [float(np.mean(each)) for each in found]


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default="adult-wide", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--ways", default="pairs")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--deltas", default="0,1e-9")
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    print(
        "| table | measured | epsilon | delta | 1 / 2 / 3-way / small 3-way | s | s of processor |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, way in product(options.tables.split(","), options.ways.split(",")):
        plain, rows = TABLES[name]()
        shape = plain.universe.shape
        for epsilon in options.epsilons.split(","):
            for delta in options.deltas.split(","):
                config = budgeted(plain, Fraction(epsilon), Fraction(delta), "auto")
                found, wall, used = [], 0.0, 0.0
                for seed in range(options.draws):
                    if way == "auto":
                        measured = run(config, np.stack(rows, axis=1), seed)
                    else:
                        measured = measure(config, rows, events_of(config, way), seed)
                    start, clock = time.perf_counter(), time.process_time()
                    counts = estimate_listed(measured, config, seed=seed).round(seed)
                    wall += time.perf_counter() - start
                    used += time.process_time() - clock
                    columns = [column.astype(np.int64) for column in counts.columns]
                    found.append(errors(rows, columns, counts.values, shape))
                means = "/".join(f"{value:.4f}"[1:] for value in np.mean(found, axis=0))
                seconds = f"{wall / options.draws:.1f} | {used / options.draws:.1f}"
                print(f"| {name} | {way} | {epsilon} | {delta} | {means} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
