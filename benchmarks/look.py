"""The plan after a look beside the best of all kinds of plans, on tables of known kinds.

    python benchmarks/look.py
    python benchmarks/look.py --tables clustered,nltcs --epsilons 1

The tables of `benchmarks/thin.py`, four more made-up ones, NLTCS and Adult. For each the best
split of every kind of plan (the universe alone, with 1-way tables, small tables alone, ...) is
measured and published whole but for its files, once, with noise of one seed. Printed is the figure
that `auto` compares plans by, from the real errors: of the plan after a look (the most frequent of
so many draws of the look), and of the plan that goes without one and is told nothing, both as
multiples of the best kind.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from thin import CELLS, TABLES, Made, configured, counted, looked_at, measured, profile_of

from synth.config import Config, load_config
from synth.config.source_files import source_files
from synth.curator.counting.tabulate import filled_cells
from synth.planning import plan_look
from synth.planning.look import after_look
from synth.planning.problem import Problem, problem_of
from synth.planning.spending import ADAPTIVE
from synth.planning.weighing import Alternative, by_group, choose, figure_of
from synth.privacy import TableEvent
from synth.release.derivation import derive

Ints = NDArray[np.int64]
CONFIGS = Path(__file__).parents[1] / "configs"
LOOKS = 20
SEED = 5


def geometric(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Independent columns, every level half as frequent as the one before."""
    columns = [np.minimum(generator.geometric(0.5, records) - 1, size - 1) for size in sizes]
    return np.stack(columns, axis=1)


def scattered(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Cells anywhere in the universe, the k-th in proportion to k^-1.2."""
    rank = np.minimum(generator.zipf(1.2, records).astype(np.float64), 1e15).astype(np.int64)
    cells = rank * 2_654_435_761 % math.prod(sizes)
    return np.stack(np.unravel_index(cells, sizes), axis=1)


def clustered(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """Forty kinds of records; of each record one value in ten is another."""
    centres = generator.integers(0, sizes, (40, len(sizes)))
    rows = centres[generator.choice(40, records, p=generator.dirichlet(np.ones(40)))]
    moved = generator.random(rows.shape) < 0.1
    rows[moved] = generator.integers(0, np.broadcast_to(sizes, rows.shape))[moved]
    return rows


def flows(generator: np.random.Generator, sizes: tuple[int, ...], records: int) -> Ints:
    """From where and to where: half to a near place, the others as many as come there at all."""
    places = sizes[0]
    law = generator.permutation(1 / np.arange(1.0, places + 1))
    start, far = generator.choice(places, (2, records), p=law / law.sum())
    near = np.clip(start + np.rint(generator.normal(0, places / 50, records)), 0, places - 1)
    stays = generator.random(records) < 0.5
    return np.stack([start, np.where(stays, near, far)], axis=1).astype(np.int64)


MADE = TABLES | {
    "clustered": Made((8,) * 6, 10_000, clustered),
    "scattered": Made((12, 10, 10, 9, 8), 20_000, scattered),
    "geometric": Made((10,) * 6, 30_000, geometric),
    "flows": Made((300, 300), 30_000, flows),
}
REAL = ("nltcs", "adult")


def rows_of(name: str) -> tuple[tuple[int, ...], Ints]:
    """The shape of a table and its records."""
    if name in MADE:
        made = MADE[name]
        return made.sizes, made.draw(np.random.default_rng(SEED), made.sizes, made.records)
    config = load_config(CONFIGS / f"{name}.yaml")
    if config.source is None:
        raise SystemExit(f"{name} has no source")
    with tempfile.TemporaryDirectory() as place:
        found = filled_cells(config, config.source, source_files(config.source), Path(place))
        cells = found.consume()
    codes = np.stack(cells.columns, axis=1).astype(np.int64)
    return config.universe.shape, np.repeat(codes, cells.counts, axis=0)


def outcome(config: Config, rows: Ints, events: Sequence[TableEvent]) -> float:
    """The figure of what is published."""
    counts = derive(measured(config, rows, events, SEED), config).counts
    columns, values, shape = np.stack(counts.columns, axis=1), counts.values, config.universe.shape
    found: dict[int, list[float]] = {}
    asked = [(len(m.attributes), m.attributes) for m in config.workload.marginals]
    for group, names in [*asked, (CELLS, config.universe.names)]:
        axes = [config.universe.names.index(name) for name in names]
        ours = counted(columns, axes, shape, values) / max(1, values.sum())
        gap = ours - counted(rows, axes, shape) / len(rows)
        found.setdefault(group, []).append(0.5 * float(np.abs(gap).sum()))
    problem = problem_of(config)
    groups = by_group(problem.questions, [0.0] * len(problem.questions))
    errors = [
        ((kind, order), float(np.mean(found[CELLS if kind == "cells" else order])))
        for (kind, order), _ in groups
    ]
    return figure_of(problem, errors, len(rows))


def best_of_kinds(problem: Problem) -> dict[str, Alternative]:
    """The best split of every kind of plan, by the forecast."""
    found: dict[str, Alternative] = {}
    for each in choose(problem).weighed:
        if each.spending.tables != ADAPTIVE:
            found.setdefault(each.spending.tables, each)
    return found


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join([*MADE, *REAL]))
    parser.add_argument("--epsilons", default="0.1,1")
    options = parser.parse_args()
    print("| table | cells | records | epsilon | beyond T | best kind | after a look | untold |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.tables.split(","):
        sizes, rows = rows_of(name)
        for epsilon in options.epsilons.split(","):
            made = Made(sizes, len(rows), geometric)  # the columns alone count
            config = configured(made, Fraction(epsilon), "auto", None)
            look, problem = plan_look(config), problem_of(config)
            if look is None:
                raise SystemExit(f"{name} has too few cells for a look")
            beyond = profile_of(rows, sizes, look.event.firsts)
            led: Counter[Alternative] = Counter()
            for seed in range(LOOKS):
                seen = looked_at(config, rows, seed)
                led[choose(after_look(problem, look, seen)).chosen] += 1
            after = led.most_common(1)[0][0]
            told = configured(made, Fraction(epsilon), "auto", len(rows))
            figures = {
                kind: outcome(config, rows, each.spending.events)
                for kind, each in best_of_kinds(problem_of(told)).items()
            }
            least = min(figures, key=lambda kind: figures[kind])
            best = figures[least]
            mine = outcome(config, rows, after.spending.events)
            untold = outcome(config, rows, choose(problem).chosen.spending.events)
            print(
                f"| {name} | {config.universe.size:,} | {len(rows):,} | {epsilon} "
                f"| {beyond[-1] / len(rows):.2f} | {least} "
                f"| {after.spending.tables}, {mine / best:.2f} | {untold / best:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
