"""What a look gains in small universes: random parts of real tables.

    python benchmarks/small_universes.py --tables aside --parts 80
    python benchmarks/small_universes.py --tables aside --few
    python benchmarks/small_universes.py --tables aside --beside 0.05,0.2,0.6 --parts 14
    python benchmarks/small_universes.py --tables seen,aside,fresh --either --parts 250 --first 0

A part is 500 to 50,000 records and two to four columns of a table of
`benchmarks/packaged_tables.py`, 60 to 20,000 cells, or of `--few` records 150 to 4,000 and two to
eight columns, 300 to 500,000 cells, drawn by a seed; nothing else is told. All is
done as in a run, once as `auto` does and once without a look. Printed are, by how many scales of
noise all cells together have for 1,000 records, the figure that plans are compared by as a multiple
of the figure without (geometric mean, extremes, how often it is more than a tenth worse), how many
forecasts for the true number of records are within factors of 1.5 and 2.5 of the outcome, and how
many rows too many there are with a look, in standard deviations of all that was measured of their
number (mean and root mean square).

`--beside` shows what tables of single columns do beside the cells, without a look: the total
variation of 1-way and 2-way tables and of cells where single columns get such a part of epsilon, as
multiples of those of the universe alone (geometric mean over the parts, extremes), DRAWS each.

`--either` measures, after one look at every part, both the best plan with the universe and the best
one of smaller tables: the figure of the first as a multiple of that of the second, and of the kind
that `auto` takes as a multiple of the better one. Parts have two to nine columns and up to 20,000
records there, in 500 to 400,000 cells, at one of EPSILONS each.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from unittest import mock

import numpy as np
from accuracy import as_a_run, events_of, measure, noise_of
from forecasts import GROUPS, configured, held, outcome, table
from numpy.typing import NDArray
from thin import counted

from synth.config import Config
from synth.curator.measuring import Measurements, measure_counted
from synth.domain import Universe
from synth.estimate.maximum_entropy import quick_guess
from synth.estimate.number import noisy_number
from synth.planning import plan_look
from synth.planning.look import problem_to_plan
from synth.planning.problem import Problem, problem_of
from synth.planning.spending import ADAPTIVE, Spending
from synth.planning.strategies import ways_to_spend
from synth.planning.usefulness import usefulness
from synth.planning.weighing import _ways, choose, figure_of
from synth.release.derivation import derive

RECORDS = (500, 2_000, 10_000, 50_000)
CELLS, COLUMNS = (60, 20_000), (2, 4)
FEW_RECORDS, CELLS_OF_FEW, COLUMNS_OF_FEW = (150, 4_000), (300, 500_000), (2, 8)
EITHER_RECORDS, CELLS_OF_EITHER, COLUMNS_OF_EITHER = (400, 20_000), (500, 400_000), (2, 9)
EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
DRAWS = 4
LOADS = (0.0, 0.2, 1.0, 5.0, 20.0)
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """What one way of planning came to: the figure, and forecast / outcome of every kind.

    `too_many`: rows, in standard deviations of the noisy number of records.
    """

    figure: float
    ratios: tuple[float, ...]
    too_many: float


@dataclass(frozen=True)
class Shape:
    """How many columns, cells and records parts have; without records, one of some numbers."""

    columns: tuple[int, int]
    cells: tuple[int, int]
    records: tuple[int, int] | None = None


SHAPE = Shape(COLUMNS, CELLS)
SHAPE_OF_FEW = Shape(COLUMNS_OF_FEW, CELLS_OF_FEW, FEW_RECORDS)
SHAPE_OF_EITHER = Shape(COLUMNS_OF_EITHER, CELLS_OF_EITHER, EITHER_RECORDS)


def part_of(names: Sequence[str], seed: int, shape: Shape) -> tuple[str, Universe, Rows]:
    """A random part of one of these tables."""
    (least, most), cells = shape.columns, shape.cells
    generator = np.random.default_rng(seed)
    while True:
        name = names[generator.integers(len(names))]
        universe, rows = table(name)
        number = int(generator.integers(least, most + 1))
        if shape.records:
            records = int(np.exp(generator.uniform(*np.log(shape.records))))
        else:
            records = int(generator.choice(RECORDS))
        if len(universe.shape) < number or records > 2 * len(rows):
            continue
        axes = sorted(generator.choice(len(universe.shape), number, replace=False))
        sizes = [universe.shape[axis] for axis in axes]
        if min(sizes) > 1 and cells[0] <= prod(sizes) <= cells[1]:
            chosen = generator.choice(len(rows), min(records, len(rows)), replace=False)
            part = Universe(tuple(universe.attributes[axis] for axis in axes))
            return name, part, rows[chosen][:, axes]


def came_to(config: Config, measured: Measurements, problem: Problem, rows: Rows) -> Outcome:
    """What was published, beside what was forecast of this plan for so many records."""
    counts = derive(measured, config).counts
    errors = outcome(counts, config, rows)
    way = choose(problem).chosen.spending
    forecast = usefulness(problem, way.events, len(rows), way.schedule)
    found = [errors["cells" if each.kind == "cells" else str(each.columns)] for each in forecast]
    groups = [(each.kind, each.columns) for each in forecast]
    figure = figure_of(problem_of(config), list(zip(groups, found, strict=True)), len(rows))
    pairs = zip(forecast, found, strict=True)
    ratios = tuple(each.share / max(error, 1e-9) for each, error in pairs)
    noisy = noisy_number(measured)
    return Outcome(figure, ratios, (counts.total - len(rows)) / (noisy[1] if noisy else 1.0))


def both(universe: Universe, rows: Rows, epsilon: str, seed: int) -> tuple[Outcome, Outcome]:
    """As `auto` does, and without a look."""
    config = configured(universe, epsilon, "0")
    first = as_a_run(config, held(universe, rows), seed)
    problem = problem_to_plan(config, first.look.noisy_counts if first.look else None)
    looked = came_to(config, first, problem, rows)
    if plan_look(config) is None:
        return looked, looked
    blind = problem_of(config)
    way = choose(blind).chosen.spending
    fit = partial(quick_guess, universe=universe)
    stream = noise_of(config, seed)
    tables = way.schedule or way.first
    second = measure_counted(config, tables, held(universe, rows), stream, fit)
    return looked, came_to(config, second, blind, rows)


def mean_errors(config: Config, rows: Rows, way: str, seed: int) -> Rows:
    """The mean total variation of what is published this way, by number of columns and of cells."""
    truth = counted(rows, range(len(config.universe.shape)), config.universe.shape)
    events = events_of(config, config.privacy.epsilon, config.privacy.delta, way)
    draws = (measure(config, truth, events, 1_000 * seed + draw) for draw in range(DRAWS))
    found = [outcome(derive(drawn, config).counts, config, rows) for drawn in draws]
    return np.mean([[each["1"], each["2"], each["cells"]] for each in found], axis=0)


def beside(names: Sequence[str], seeds: range, epsilons: Sequence[str], shares: str) -> None:
    """Print what tables of single columns do beside the cells."""
    print("| epsilon | single columns | 1-way | 2-way | cells |\n|---|---|---|---|---|")
    for epsilon in epsilons:
        logs: dict[str, list[Rows]] = {}
        for seed in seeds:
            _, universe, rows = part_of(names, seed, SHAPE)
            config = configured(universe, epsilon, "0")
            alone = mean_errors(config, rows, "identity", seed)
            for share in shares.split(","):
                errors = mean_errors(config, rows, f"1-way {share}", seed)
                logs.setdefault(share, []).append(np.log(errors / alone))
        for share, each in logs.items():
            three = np.exp([np.mean(each, 0), np.min(each, 0), np.max(each, 0)]).T
            row = " | ".join("{:.2f} ({:.2f} to {:.2f})".format(*figures) for figures in three)
            print(f"| {epsilon} | {share} | {row} |", flush=True)


def either(names: Sequence[str], seeds: range) -> None:
    """Print what the universe and smaller tables come to after the same look."""
    print("| part | records | epsilon | auto | visible | universe / tables |\n|" + "---|" * 6)
    ratios, regrets = [], []
    for seed in seeds:
        name, universe, rows = part_of(names, seed, SHAPE_OF_EITHER)
        epsilon = EPSILONS[seed % len(EPSILONS)]
        config = configured(universe, epsilon, ("0", "1e-9")[seed % 2])
        first = as_a_run(config, held(universe, rows), seed)
        problem = problem_to_plan(config, first.look.noisy_counts if first.look else None)
        if problem.seen is None or problem.seen.visible is None:
            continue
        taken = choose(problem).chosen.spending
        figures = [
            figure_of_kind(problem, config, first, rows, seed, cells) for cells in (True, False)
        ]
        if None in figures:
            continue
        ratios.append(figures[0] / figures[1])
        has_cells = any(event.table == universe.names for event in taken.events)
        regrets.append(figures[not has_cells] / min(figures))
        shape = " x ".join(map(str, universe.shape))
        row = f"{name} {shape} | {len(rows)} | {epsilon} | {taken.tables}"
        print(f"| {row} | {problem.seen.visible:.2f} | {ratios[-1]:.2f} |", flush=True)
    found = np.array(regrets)
    print(f"\n{len(found)} parts, universe better in {np.mean(np.array(ratios) < 1):.0%};", end=" ")
    print(f"auto / better: mean {found.mean():.3f}, within a tenth {np.mean(found < 1.1):.1%}")


def figure_of_kind(
    problem: Problem, config: Config, first: Measurements, rows: Rows, seed: int, cells: bool
) -> float | None:
    """The figure of the best plan that measures the universe, or of the best that does not.

    None if there is no such plan.
    """

    def of_this_kind(_: Problem, ways: Sequence[Spending]) -> list[Spending]:
        full = problem.full.names
        return [
            way
            for way in ways
            if way.schedule is None or way.tables != ADAPTIVE
            if any(event.table == full for event in way.events) == cells
        ]

    weighing = "synth.planning.weighing"
    with (
        mock.patch(f"{weighing}.suitable", of_this_kind),
        mock.patch("synth.planning.look.is_drowned", return_value=not cells),
        mock.patch(f"{weighing}.is_drowned", return_value=not cells),
    ):
        forget_plans()
        ways = of_this_kind(problem, [*ways_to_spend(problem)])
        best = choose(problem).chosen if ways else None
    forget_plans()
    if best is None:
        return None
    stream, fit = noise_of(config, seed), partial(quick_guess, universe=config.universe)
    tables = best.spending.schedule or best.spending.first
    measured = measure_counted(config, tables, held(config.universe, rows), stream, fit)
    errors = outcome(derive(replace(measured, look=first.look), config).counts, config, rows)
    groups = [group for group, _ in best.errors]
    found = [(g, errors["cells" if g[0] == "cells" else str(g[1])]) for g in groups]
    return figure_of(problem_of(config), found, len(rows))  # whatever the look says of weights


def forget_plans() -> None:
    """What was chosen by another rule."""
    choose.cache_clear()
    _ways.cache_clear()


def within(outcomes: Sequence[Outcome]) -> str:
    ratios = np.array([ratio for each in outcomes for ratio in each.ratios])
    near = (np.mean((ratios < most) & (ratios > 1 / most)) for most in (1.5, 2.5))
    return ", ".join(f"{each:.0%}" for each in near)


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default="aside", help=", ".join(GROUPS))
    parser.add_argument("--epsilons", default="0.1,0.3,1,3")
    parser.add_argument("--parts", type=int, default=80)
    parser.add_argument("--first", type=int, default=200, help="the seed of the first part")
    parser.add_argument("--few", action="store_true", help="few records, in more cells")
    parser.add_argument("--beside", help="parts of epsilon for single columns")
    parser.add_argument("--either", action="store_true", help="the universe, and smaller tables")
    options = parser.parse_args()
    names = [each for name in options.tables.split(",") for each in GROUPS.get(name, (name,))]
    if options.beside:
        seeds = range(options.first, options.first + options.parts)
        beside(names, seeds, options.epsilons.split(","), options.beside)
        return
    if options.either:
        either(names, range(options.first, options.first + options.parts))
        return
    found: dict[str, list[tuple[Outcome, Outcome]]] = {}
    for seed in range(options.first, options.first + options.parts):
        name, universe, rows = part_of(names, seed, SHAPE_OF_FEW if options.few else SHAPE)
        for epsilon in options.epsilons.split(","):
            one, other = pair = both(universe, rows, epsilon, seed)
            load = universe.size / float(epsilon) / 1_000
            rank = max(i for i, least in enumerate(LOADS) if load >= least)
            most = f" to {LOADS[rank + 1]:g}" if rank + 1 < len(LOADS) else " or more"
            for group in ("all", f"epsilon {epsilon}", f"load {LOADS[rank]:g}{most}"):
                found.setdefault(group, []).append(pair)
            shape = " x ".join(map(str, universe.shape))
            ratio = one.figure / other.figure
            print(f"{name} {shape}, {len(rows)} records, {epsilon}: {ratio:.3f}", flush=True)
    print("\n| of | parts | with a look / without | worse by a tenth | forecasts, without | rows |")
    print("|---|---|---|---|---|---|")
    for group, pairs in found.items():
        ratios = np.array([one.figure / other.figure for one, other in pairs])
        mean = f"{np.exp(np.log(ratios).mean()):.3f} ({ratios.min():.2f} to {ratios.max():.2f})"
        shares = f"{within([one for one, _ in pairs])}; {within([other for _, other in pairs])}"
        too_many = np.array([one.too_many for one, _ in pairs])
        number = f"{too_many.mean():+.2f}, {np.sqrt((too_many**2).mean()):.2f}"
        worse = f"{np.mean(ratios > 1.1):.0%}"
        print(f"| {group} | {len(pairs)} | {mean} | {worse} | {shares} | {number} |")


if __name__ == "__main__":
    main()
