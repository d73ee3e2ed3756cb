"""Forecast beside outcome where the universe has far more cells than there are records.

    python benchmarks/thin.py --draws 2
    python benchmarks/thin.py --ways auto --tables classes,wide --epsilons 1 --untold

Six made-up tables of different kinds. Printed is, for tables of one, two and three columns and for
single cells, the total variation that `synth plan` forecasts and the mean of what is published
after the whole of a release but its files: noise, estimate, whole counts, gate. The planner is told
the number of records (`workload.expected_records`) unless `--untold`.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
from accuracy import as_a_run, budgeted
from numpy.typing import NDArray

from synth.config import (
    Config,
    OutputConfig,
    PrivacyConfig,
    ReleaseConfig,
    WeightedMarginal,
    WorkloadConfig,
)
from synth.curator.counting.tabulate import FilledCells, Held
from synth.curator.seal import Sensitive
from synth.domain import DENSE_LIMIT_CELLS, Attribute, Universe
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.planning import plan_look
from synth.planning.look import problem_to_plan
from synth.planning.weighing import choose
from synth.privacy import TableEvent
from synth.privacy.accounting import LAPLACE
from synth.release.derivation import derive

Ints = NDArray[np.int64]
MOST_COLUMNS_BY_THREE = 12
CELLS = 0
"""The group of the single cells."""


@dataclass(frozen=True)
class Made:
    """The records of a made-up table, one line of codes each."""

    sizes: tuple[int, ...]
    records: int
    draw: Callable[[np.random.Generator, tuple[int, ...], int], Ints]


def uniform(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Independent columns, all levels alike."""
    return generator.integers(0, sizes, (records, len(sizes)))


def skewed(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Independent columns, level k in proportion to 1 / k."""
    columns = [generator.choice(size, records, p=_harmonic(size)) for size in sizes]
    return np.stack(columns, axis=1)


def classes(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Five kinds of records, each with columns of its own that are independent."""
    kind = generator.choice(5, records, p=_harmonic(5))
    columns = []
    for size in sizes:
        laws = generator.dirichlet(np.full(size, 0.4), 5).cumsum(axis=1)
        columns.append((generator.random(records)[:, None] > laws[kind]).sum(axis=1))
    return np.minimum(np.stack(columns, axis=1), np.array(sizes) - 1)


def chain(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Every column is, three times of four, decided by the column before it."""
    columns = [generator.choice(sizes[0], records, p=_harmonic(sizes[0]))]
    for size in sizes[1:]:
        copied = generator.random(records) < 0.75
        fresh = generator.choice(size, records, p=_harmonic(size))
        columns.append(np.where(copied, columns[-1] % size, fresh))
    return np.stack(columns, axis=1)


def _harmonic(size: int) -> NDArray[np.float64]:
    law = 1.0 / np.arange(1, size + 1)
    return law / law.sum()


TABLES = {
    "uniform": Made((6, 8, 5, 9, 7, 10), 2_000, uniform),
    "skewed": Made((12, 9, 10, 8, 6, 5, 4), 5_000, skewed),
    "classes": Made((2, 3, 2, 9, 7, 9, 6, 9), 891, classes),
    "chain": Made((11, 9, 10, 12, 10, 8), 1_304, chain),
    "wide": Made((2,) * 16, 600, classes),
    "long": Made((120, 30, 25), 2_000, skewed),
}


def configured(made: Made, epsilon: Fraction, strategy: str, expected: int | None) -> Config:
    """A configuration without data, with a guess of the number of records or without."""
    names = [f"c{i:02}" for i in range(len(made.sizes))]
    attributes = tuple(
        Attribute(name, "categorical", tuple(map(str, range(size))))
        for name, size in zip(names, made.sizes, strict=True)
    )
    orders = 3 if len(names) <= MOST_COLUMNS_BY_THREE else 2
    marginals = tuple(
        WeightedMarginal(chosen, Fraction(1))
        for order in range(1, orders + 1)
        for chosen in combinations(names, order)
    )
    config = Config(
        name="thin",
        release=ReleaseConfig("thin", "", "", (), "", "", "", "", ""),
        source=None,
        privacy=PrivacyConfig(
            epsilon=Fraction(1),
            delta=Fraction(0),
            neighbours="add-remove",
            unit="record",
            justification="",
        ),
        ledger=None,
        universe=Universe(attributes),
        public_totals=(),
        workload=WorkloadConfig(marginals, cells=True, expected_records=expected),
        strategy="auto",
        output=OutputConfig(None, ("csv",), None, "uniform"),
        public={},
    )
    return budgeted(config, epsilon, Fraction(0), "auto" if strategy == "auto" else "identity")


def measured(config: Config, rows: Ints, events: Sequence[TableEvent], seed: int) -> Measurements:
    """The planned tables, with noise of the exact law drawn in floating point."""
    generator = np.random.default_rng(seed)
    tables, universe = [], config.universe
    for event in events:
        if event.mechanism != LAPLACE:
            raise SystemExit("this benchmark draws Laplace noise alone")
        counts = counted(rows, [universe.names.index(name) for name in event.table], universe.shape)
        success = -np.expm1(-1.0 / float(event.noise_scale_records))
        noise = generator.geometric(success, counts.size)
        noise -= generator.geometric(success, counts.size)
        tables.append(MeasuredTable(event, counts + noise, noise_variance(event)))
    return Measurements("thin", "", tuple(tables))


def counted(
    rows: Ints, axes: Sequence[int], shape: tuple[int, ...], weights: Ints | None = None
) -> Ints:
    """The table over some axes, flat."""
    sizes = tuple(shape[axis] for axis in axes)
    if not sizes:
        return np.array([len(rows)])
    cells = np.ravel_multi_index(tuple(rows[:, axis] for axis in axes), sizes)
    return np.bincount(cells, weights, prod(sizes)).astype(np.int64)


def looked_at(config: Config, rows: Ints, seed: int) -> tuple[int, ...] | None:
    """The noisy counts of the look that comes before the plan; None if there is none."""
    look = plan_look(config)
    if look is None:
        return None
    success = -math.expm1(-float(look.event.epsilon / look.event.sensitivity_l1))
    generator = np.random.default_rng([seed, 1])
    profile = profile_of(rows, config.universe.shape, look.event.firsts)
    noise = generator.geometric(success, profile.size) - generator.geometric(success, profile.size)
    return tuple(int(each) for each in profile + noise)


def profile_of(rows: Ints, sizes: tuple[int, ...], firsts: Sequence[int]) -> Ints:
    """How many records are in each class of places of their cell."""
    _, counts = np.unique(np.ravel_multi_index(tuple(rows.T), sizes), return_counts=True)
    later = [int(np.maximum(counts - (first - 1), 0).sum()) for first in firsts]
    return np.array(later) - np.array([*later[1:], 0])


def run(config: Config, rows: Ints, seed: int) -> Measurements:
    """What a run measures of these records, by its own code, with exact noise."""
    universe = config.universe
    if universe.size > DENSE_LIMIT_CELLS:
        cells, numbers = np.unique(rows, axis=0, return_counts=True)
        held: Sensitive[Held] = Sensitive(FilledCells(tuple(cells.T), numbers.astype(np.int64)))
    else:
        held = Sensitive(counted(rows, range(len(universe.shape)), universe.shape))
    return as_a_run(config, held, seed)


def outcome(config: Config, rows: Ints, seed: int) -> list[float]:
    """The mean total variation of what is published, by number of columns, then of the cells."""
    made = run(config, rows, seed)
    counts, shape = derive(made, config).counts, config.universe.shape
    columns, values = np.stack(counts.columns, axis=1), counts.values
    found: dict[int, list[float]] = {}
    asked = [(len(m.attributes), m.attributes) for m in config.workload.marginals]
    for group, names in [*asked, (CELLS, config.universe.names)]:
        axes = [config.universe.names.index(name) for name in names]
        ours = counted(columns, axes, shape, values) / max(1, values.sum())
        gap = ours - counted(rows, axes, shape) / len(rows)
        found.setdefault(group, []).append(0.5 * float(np.abs(gap).sum()))
    return [float(np.mean(each)) for each in found.values()]


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--ways", default="identity,auto")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--untold", action="store_true")
    options = parser.parse_args()
    print("| table | epsilon | strategy | forecast | outcome | forecast / outcome |")
    print("|---|---|---|---|---|---|")
    for name in options.tables.split(","):
        made = TABLES[name]
        rows = made.draw(np.random.default_rng(5), made.sizes, made.records)
        for epsilon in options.epsilons.split(","):
            for way in options.ways.split(","):
                config = configured(
                    made, Fraction(epsilon), way, None if options.untold else made.records
                )
                chosen = choose(problem_to_plan(config, looked_at(config, rows, 0))).chosen
                forecast = [error for _, error in chosen.errors]
                draws = [outcome(config, rows, seed) for seed in range(options.draws)]
                mean = np.mean(draws, axis=0)
                figures = (
                    " ".join(f"{value:.3f}" for value in forecast),
                    " ".join(f"{value:.3f}" for value in mean),
                    " ".join(f"{f / o:.2f}" for f, o in zip(forecast, mean, strict=True)),
                )
                what = f"{way}: {chosen.spending.tables}"
                print(f"| {name} | {epsilon} | {what} |", " | ".join(figures), "|", flush=True)


if __name__ == "__main__":
    main()
