"""Replicates against the truth: is their spread that of the errors, and what do they cost?

    python benchmarks/replicates.py --tables nltcs,adult,binary,mixture --epsilons 0.3,1,3 --seeds 4
    python benchmarks/replicates.py --cost nltcs,adult,million,wide --replicates 40

`factor` is that of the release, a mean over the seeds. `needed` is what it should have been, over
all coefficients that contrast one, two or three columns: squared errors of the release over the
mean squares of its replicates. `held` is the share of 95 % intervals that hold the true count of
random conjunctions over one, two and three columns; `shifted` which part of them the fit shrinks by
the rule of the manifest, and the share that holds of these; `held` is of the others.

`--cost` prints seconds of one estimate with rounding and gate, seconds of all replicates, how many
lines they have and the bytes of their file. `million` is a made-up table of 10^6 cells, `wide` one
of 30 columns and 10^30 cells.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from tables import SHAPES, mixture, table

from synth.config import Config, WorkloadConfig
from synth.config.workload import WeightedMarginal
from synth.domain import Attribute, Universe
from synth.domain.counts import Counts
from synth.domain.universe import Margin
from synth.estimate.axis_basis import contrasts
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.release.derivation import derive
from synth.release.manifest.processing import LARGEST_SHIFT
from synth.release.rows.parquet_files import write_replicates

QUERIES, MOST_COLUMNS = 60, 3
MADE_UP = {"million": ((10,) * 6, 200_000), "wide": ((10,) * 30, 50_000)}


def made(name: str) -> tuple[Config, Counts]:
    """A configuration and the true counts."""
    if name not in MADE_UP:
        config, truth = table(name)
        if name in SHAPES:
            names = config.universe.names
            every = [c for n in range(1, MOST_COLUMNS + 1) for c in combinations(names, n)]
            asked = tuple(map(WeightedMarginal, every))
            workload = WorkloadConfig(asked, cells=True, expected_records=int(truth.sum()))
            config = replace(config, workload=workload)
        return config, Counts.of_all(truth, config.universe.shape)
    shape, records = MADE_UP[name]
    levels = tuple("0123456789")
    universe = Universe(tuple(Attribute(f"a{i}", "categorical", levels) for i in range(len(shape))))
    pairs = tuple(map(WeightedMarginal, combinations(universe.names, 2)))
    workload = WorkloadConfig(pairs, cells=False)
    config = replace(table("binary")[0], universe=universe, workload=workload)
    if universe.size <= 10**6:
        generator = np.random.default_rng(7)
        return config, Counts.of_all(generator.multinomial(records, mixture(shape, 10, 0.3)), shape)
    generator = np.random.default_rng(7)
    laws = generator.dirichlet(np.full(10, 0.5), (10, len(shape)))
    part = generator.integers(10, size=records)
    rows = [
        (generator.random(records)[:, None] > np.cumsum(laws[part, i], axis=1)).sum(axis=1)
        for i in range(len(shape))
    ]
    cells, counts = np.unique(np.minimum(np.stack(rows, axis=1), 9), axis=0, return_counts=True)
    return config, Counts(tuple(cells.T.astype(np.uint8)), counts)


def measured(config: Config, truth: Counts, seed: int) -> Measurements:
    """What a run of the configuration would measure, with noise from a seed."""
    generator = np.random.default_rng([seed, 5])
    tables = []
    for event in plan_events(config):
        sums = truth.sums(config.universe, Margin(event.table, event.coarsening))
        noisy = sums + draw_noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return Measurements("benchmark", "", tuple(tables))


def low_orders(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of the squares of all coefficients that contrast 1, 2 and 3 columns."""
    order = np.zeros(cells.shape, dtype=np.int64)
    for axis, size in enumerate(cells.shape):
        cells = contrasts(cells, axis)
        line = (np.arange(size) > 0).astype(np.int64)
        order += line.reshape([-1 if i == axis else 1 for i in range(order.ndim)])
    return np.bincount(order.ravel(), cells.ravel() ** 2)[1 : MOST_COLUMNS + 1]


def conjunctions(shape: Sequence[int], generator: np.random.Generator) -> list[list[tuple]]:
    """Random ones over so many columns: of each half of its codes, or one."""
    found = []
    for columns in range(1, MOST_COLUMNS + 1):
        for _ in range(QUERIES):
            axes = sorted(generator.choice(len(shape), columns, replace=False).tolist())
            codes = [
                generator.permutation(shape[a])[: generator.choice([1, (shape[a] + 1) // 2])]
                for a in axes
            ]
            found.append(list(zip(axes, codes, strict=True)))
    return found


def count(cells: NDArray[np.float64], conjunction: list[tuple]) -> float:
    """How many records have one of the codes in each of the columns."""
    place: list = [slice(None)] * cells.ndim
    for axis, codes in conjunction:
        member = np.zeros(cells.shape[axis], dtype=bool)
        member[codes] = True
        place[axis] = member
        cells = cells[tuple(place)]
        place[axis] = slice(None)
    return float(cells.sum())


def compare(name: str, epsilon: str, seeds: int, replicates: int) -> None:
    """One line: a table at one budget."""
    config, truth = made(name)
    config = replace(
        config,
        privacy=replace(config.privacy, epsilon=Fraction(epsilon)),
        output=replace(config.output, replicates=replicates),
    )
    shape = config.universe.shape
    true = truth.of_every_cell(shape).reshape(shape).astype(np.float64)
    factors, errors, spreads = [], [], []
    held, shifted = [], []
    for seed in range(seeds):
        derived = derive(measured(config, truth, seed), config)
        found = derived.replicates
        published = derived.counts.of_every_cell(shape).reshape(shape).astype(np.float64)
        numbers = np.ravel_multi_index([c.astype(np.int64) for c in found.columns], shape)
        every = []
        for counts in found.counts:
            cells = np.zeros(config.universe.size)
            cells[numbers] = counts
            every.append(cells.reshape(shape))
        factors.append(found.factor)
        errors.append(low_orders(published - true))
        spreads.append(np.mean([low_orders(each - published) for each in every], axis=0))
        width = stdtrit(replicates, 0.975)
        for asked in conjunctions(shape, np.random.default_rng([seed, 6])):
            theta = count(published, asked)
            apart = np.array([count(each, asked) - theta for each in every])
            reach = width * np.sqrt(found.factor * np.mean(apart**2))
            held.append(abs(theta - count(true, asked)) <= reach)
            shifted.append(np.mean(apart) ** 2 > LARGEST_SHIFT * np.mean(apart**2))
    needed = np.sum(errors, axis=0) / np.sum(spreads, axis=0)
    by_columns = (seeds, MOST_COLUMNS, QUERIES)
    shrunk = np.reshape(shifted, by_columns)
    shares = [
        np.reshape(held, by_columns)[:, columns][~shrunk[:, columns]].mean()
        for columns in range(MOST_COLUMNS)
    ]
    others = np.reshape(held, by_columns)[shrunk]
    print(
        f"| {name} | {epsilon} | {np.mean(factors):.2f} | "
        + " / ".join(f"{each:.2f}" for each in needed)
        + " | "
        + " / ".join(f"{100 * each:.0f} %" for each in shares)
        + f" | {100 * shrunk.mean():.0f} %, {100 * others.mean() if others.size else 100:.0f} % |",
        flush=True,
    )


def cost(name: str, replicates: int) -> None:
    """One line: what the replicates of a table take."""
    config, truth = made(name)
    config = replace(config, output=replace(config.output, replicates=replicates))
    measurements = measured(config, truth, 1)
    start = time.perf_counter()
    derived = derive(measurements, config)
    middle = time.perf_counter()
    found = derived.replicates
    end = time.perf_counter()
    file = io.BytesIO()
    write_replicates(file, found, config)
    print(
        f"| {name} | {config.universe.size:,} | {middle - start:.1f} | {end - middle:.1f} | "
        f"{found.published.size:,} | {file.tell():,} | {found.factor} |",
        flush=True,
    )


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="")
    parser.add_argument("--epsilons", default="0.3,1,3")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--cost", default="")
    parser.add_argument("--replicates", type=int, default=40)
    arguments = parser.parse_args()
    for name in filter(None, arguments.tables.split(",")):
        for epsilon in arguments.epsilons.split(","):
            compare(name, epsilon, arguments.seeds, arguments.replicates)
    for name in filter(None, arguments.cost.split(",")):
        cost(name, arguments.replicates)


if __name__ == "__main__":
    main()
