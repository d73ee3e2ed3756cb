"""The forecast that `auto` plans by beside the outcome, and its choice beside the best family.

    python benchmarks/forecasts.py
    python benchmarks/forecasts.py --families --tables bfi,chain --epsilons 0.1,1
    python benchmarks/forecasts.py --report

The four shipped tables, `adult-wide` of `benchmarks/wide.py`, made-up ones of `benchmarks/look.py`
and those of `benchmarks/packaged_tables.py` (ASIDE, FRESH and FINE only if named). Nothing is told
but the columns, of tables `...-told` the number of records, too; of those `...-in-groups` the
longest column has a hierarchy. Asked for are all tables of up to three (of two where there are more
than 20), and single cells up to the dense limit. All is done as in a run: look, plan, noise,
choices, estimate, whole counts, gate. Printed are, by number of columns and of the cells, mean
total variations: forecast after the look, outcome, ratio. `--families` measures the best split of
all other families, too. Everything is appended to a file, by which a run is resumed; the report has
the shares within factors of 1.5 and 2.5, what was furthest off, and where another family was better
by more than 10 % of the figure that plans are compared by, the mean over all draws: `auto` whatever
it chose, of a family all splits.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import as_a_run, budgeted, noise_of
from look import MADE, best_of_kinds, rows_of
from numpy.typing import NDArray
from packaged_tables import ASIDE, FINE, FRESH, GROUPED, PACKAGED, SEEN, columns_of
from tables import ROOT, real
from thin import counted
from wide import adult, levels

from synth import load_config
from synth.config import Config, OutputConfig, WeightedMarginal, WorkloadConfig
from synth.curator.counting.tabulate import FilledCells, Held
from synth.curator.measuring import measure_counted
from synth.curator.seal import Sensitive
from synth.domain import DENSE_LIMIT_CELLS, Attribute, Conjunction, PublicTotal, Universe
from synth.domain.attribute import balanced_levels
from synth.domain.counts import Counts
from synth.estimate.maximum_entropy import quick_guess
from synth.planning.look import problem_to_plan
from synth.planning.weighing import choose, figure_of
from synth.release.derivation import derive

Line = dict[str, Any]
RESULTS = Path(__file__).parent / "forecast_results.jsonl"
GROUPS = {"shipped": ("adult", "nltcs", "diamonds", "flights", "adult-wide")}
GROUPS |= {"made-up": tuple(MADE), "seen": tuple(SEEN), "aside": tuple(ASIDE)}
GROUPS |= {"fresh": tuple(FRESH), "fine": tuple(FINE)}
TOLD, IN_GROUPS = "-told", "-in-groups"
GROUPS |= {"grouped": (*GROUPED, "classes-in-groups"), "told": ("classes-told", "uniform-told")}
MOST_NUMBERED = 1 << 62
"""Of fewer cells each has a number of its own."""
WORST, LONGEST = 15, 20.0
"""LONGEST: a family is left out where a fit of it to the table took more seconds before."""
BUDGET = ("table", "epsilon", "delta")
DRAW = (*BUDGET, "draw")


@lru_cache(maxsize=1)
def table(name: str) -> tuple[Universe, NDArray[np.int64]]:
    """The universe of a table and its records, one line of codes each."""
    if name.endswith(TOLD):
        return table(name.removesuffix(TOLD))
    if name.endswith(IN_GROUPS):
        universe, rows = table(name.removesuffix(IN_GROUPS))
        axis = int(np.argmax(universe.shape))
        edges = tuple(map(Fraction, range(universe.shape[axis] + 1)))
        halved = Attribute(universe.names[axis], "integer", edges=edges)
        halved = replace(halved, hierarchy=balanced_levels(halved, 2))
        others = universe.attributes
        return Universe((*others[:axis], halved, *others[axis + 1 :])), rows
    if name in MADE:
        sizes, rows = rows_of(name)
        return Universe(tuple(levels(f"c{i:02}", size) for i, size in enumerate(sizes))), rows
    if name in PACKAGED:
        attributes, rows = columns_of(name)
        return Universe(attributes), rows
    if name == "adult-wide":
        config, columns = adult()
        return config.universe, np.stack(columns, axis=1)
    config, counts = real(name)
    places = np.unravel_index(np.repeat(np.arange(counts.size), counts), config.universe.shape)
    return Universe(config.universe.attributes), np.stack(places, axis=1)


def configured(universe: Universe, epsilon: str, delta: str) -> Config:
    """What is asked for, with nothing said of the records."""
    orders = (1, 2, 3) if len(universe.attributes) <= 20 else (1, 2)
    asked = [names for k in orders for names in combinations(universe.names, k)]
    marginals = tuple(WeightedMarginal(names, Fraction(1)) for names in asked)
    config = replace(
        load_config(ROOT / "configs" / "adult.yaml"),
        universe=universe,
        public_totals=(),
        output=OutputConfig(None, ("csv",), None, "uniform"),
        workload=WorkloadConfig(marginals, cells=universe.size <= DENSE_LIMIT_CELLS),
    )
    return budgeted(config, Fraction(epsilon), Fraction(delta), "auto")


def held(universe: Universe, rows: NDArray[np.int64]) -> Sensitive[Held]:
    """The records by cell, as a run holds them."""
    if universe.size > DENSE_LIMIT_CELLS:
        cells, numbers = np.unique(rows, axis=0, return_counts=True)
        return Sensitive(FilledCells(tuple(cells.T), numbers.astype(np.int64)))
    return Sensitive(counted(rows, range(len(universe.shape)), universe.shape))


def outcome(counts: Counts, config: Config, rows: NDArray[np.int64]) -> dict[str, float]:
    """The mean total variation of what is published, by number of columns, then of the cells."""
    columns, weights = np.stack(counts.columns, axis=1), counts.values
    asked = [(str(len(m.attributes)), m.attributes) for m in config.workload.marginals]
    asked += [("cells", config.universe.names)] if config.workload.cells else []
    found: dict[str, list[float]] = {}
    for group, names in asked:
        axes = [config.universe.names.index(name) for name in names]
        sizes = [config.universe.shape[axis] for axis in axes]
        cells = prod(sizes)
        if cells < MOST_NUMBERED:
            tables = (columns, rows)
            ours, truth = (np.ravel_multi_index(tuple(t[:, axes].T), sizes) for t in tables)
        else:
            every = np.concatenate([columns[:, axes], rows[:, axes]]).astype(np.int64)
            places = np.unique(every, axis=0, return_inverse=True)[1].reshape(-1)
            ours, truth = places[: len(columns)], places[len(columns) :]
        if cells > len(ours) + len(truth):
            filled, places = np.unique(np.concatenate([ours, truth]), return_inverse=True)
            ours, truth, cells = places[: len(ours)], places[len(ours) :], len(filled)
        gap = np.bincount(ours, weights, cells) / max(1, weights.sum())
        gap -= np.bincount(truth, minlength=cells) / len(rows)
        found.setdefault(group, []).append(0.5 * float(np.abs(gap).sum()))
    return {group: float(np.mean(each)) for group, each in found.items()}


def lines_of(
    where: Sequence[str], draw: int, families: bool, known: Sequence[Line]
) -> Iterator[Line]:
    """What is not known yet of a draw at a budget: of the chosen plan, then of other families."""
    here = [line for line in known if line["table"] == where[0]]
    done = {line["plan"] for line in here if [line[key] for key in DRAW] == [*where, draw]}
    if done and not families:
        return
    universe, rows = table(where[0])
    config = configured(universe, *where[1:])
    if where[0].endswith(TOLD):
        number = PublicTotal(Conjunction({}), len(rows), "a benchmark")
        config = replace(config, public_totals=(number,))
    first = as_a_run(config, held(universe, rows), draw)
    problem = problem_to_plan(config, first.look.noisy_counts if first.look else None)
    chosen = choose(problem).chosen
    slow = {line["plan"] for line in here if line["seconds"] > LONGEST and not line["is_chosen"]}
    done |= slow - {chosen.spending.tables}
    weighed = best_of_kinds(problem) if families else {chosen.spending.tables: chosen}
    for plan, each in ((plan, weighed[plan]) for plan in weighed if plan not in done):
        start, measured = time.perf_counter(), first
        if each is not chosen:
            stream = noise_of(config, draw)
            tables = each.spending.schedule or each.spending.first
            fit = partial(quick_guess, universe=universe)
            measured = measure_counted(config, tables, held(universe, rows), stream, fit)
            measured = replace(measured, look=first.look)
        errors = outcome(derive(measured, config).counts, config, rows)
        groups = {g: "cells" if g[0] == "cells" else str(g[1]) for g, _ in each.errors}
        in_groups = [(group, errors[key]) for group, key in groups.items()]
        yield dict(zip(DRAW, (*where, draw), strict=True)) | {
            "group": next(group for group, names in GROUPS.items() if where[0] in names),
            "plan": plan,
            "noise": each.spending.noise,
            "is_chosen": each is chosen,
            "cells": universe.size,
            "records": len(rows),
            "planned for": problem.records,
            "is_guess": problem.records_are_assumed,
            "visible": problem.seen.visible if problem.seen else None,
            "forecast": {groups[group]: error for group, error in each.errors},
            "outcome": errors,
            "figure": figure_of(problem, in_groups, len(rows)),
            "seconds": round(time.perf_counter() - start, 1),
        }


def ratios(line: Line) -> dict[str, float]:
    """Forecast / outcome by number of columns."""
    return {key: line["forecast"][key] / max(each, 1e-9) for key, each in line["outcome"].items()}


def written(line: Line) -> str:
    """A row of Markdown for what was published once."""
    three = (line["forecast"], line["outcome"], ratios(line))
    figures = (" ".join(f"{each[key]:.3g}" for key in line["outcome"]) for each in three)
    plan = f"{line['plan']}, {line['noise']}{', chosen' if line['is_chosen'] else ''}"
    where = " | ".join(str(line[key]) for key in DRAW)
    return f"| {where} | {plan} | {' | '.join(figures)} | {line['figure']:.4f} |"


def heading(names: str) -> None:
    print(f"\n| {names.replace(', ', ' | ')} |\n|{'---|' * len(names.split(', '))}")


def report(lines: Sequence[Line]) -> None:
    """Print the shares, what was furthest off, and where another family was better."""
    chosen = [line for line in lines if line["is_chosen"]]
    every = [(line, order, each) for line in chosen for order, each in ratios(line).items()]
    heading("of, ratios, within 1.5, within 2.5, lowest, median, highest")
    for title in ("", "group", "columns", "epsilon", "delta", "is_guess", "plan", "table"):
        parts: dict[str, list[float]] = {}
        for line, order, ratio in every:
            part = order if title == "columns" else line.get(title, "all")
            parts.setdefault(f"{title} {part}", []).append(ratio)
        for name, found in parts.items():
            near = [f"{np.mean([1 / most <= r <= most for r in found]):.1%}" for most in (1.5, 2.5)]
            three = [f"{each:.2f}" for each in np.quantile(found, (0, 0.5, 1))]
            print("|", " | ".join([name, str(len(found)), *near, *three]), "|")
    heading("table, epsilon, delta, draw, columns, plan, forecast, outcome, ratio")
    for line, order, ratio in sorted(every, key=lambda each: -abs(np.log(each[2] + 1e-9)))[:WORST]:
        pair = f"{line['forecast'][order]:.4f} | {line['outcome'][order]:.4f}"
        where = " | ".join([*(str(line[key]) for key in DRAW), order, line["plan"]])
        print(f"| {where} | {pair} | {ratio:.2f} |")
    heading("table, epsilon, delta, chosen, best, chosen / best")
    regrets: dict[str, list[float]] = {}
    for where in dict.fromkeys(tuple(line[key] for key in BUDGET) for line in chosen):
        here = [line for line in lines if tuple(line[key] for key in BUDGET) == where]
        mine = [line for line in here if line["is_chosen"]]
        draws = {line["draw"] for line in mine}
        of_plan: dict[str, dict[int, float]] = {}
        for line in here:
            of_plan.setdefault(line["plan"], {})[line["draw"]] = line["figure"]
        means = {
            plan: float(np.mean([*each.values()]))
            for plan, each in of_plan.items()
            if each.keys() == draws
        }
        if len(of_plan) > 1 and means:
            best = min(means, key=lambda plan: means[plan])
            regret = float(np.mean([line["figure"] for line in mine])) / means[best]
            for group in (mine[0]["group"], "all"):
                regrets.setdefault(group, []).append(regret)
            if regret > 1.1:
                plans = ", ".join(sorted({line["plan"] for line in mine}))
                print(f"| {' | '.join(where)} | {plans} | {best} | {regret:.2f} |")
    for group, found in regrets.items():
        near = f"{np.mean([each <= 1.1 for each in found]):.1%} of {len(found)}"
        print(f"\nWithin 10 % of the best family, {group}: {near}; mean {np.mean(found):.3f}")


def main() -> None:
    """Read the command line and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default="shipped,made-up,seen", help=", ".join(GROUPS))
    parser.add_argument("--epsilons", default="0.1,0.3,1,3,10")
    parser.add_argument("--deltas", default="0,1e-9")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--report", action="store_true", help="only report what is in the file")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.results.touch()
    known: list[Line] = [json.loads(line) for line in options.results.open()]
    names = [each for name in options.tables.split(",") for each in GROUPS.get(name, (name,))]
    budgets = options.epsilons.split(","), options.deltas.split(",")
    heading("table, epsilon, delta, draw, plan, forecast, outcome, ratio, figure")
    runs = product(names, *budgets, range(options.draws))
    for *where, draw in () if options.report else runs:
        try:
            for line in lines_of(where, draw, options.families, known):
                known.append(line)
                with options.results.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(written(line), flush=True)
        except Exception:  # what fails is to be known, and the rest to go on
            print(*where, draw, "failed", traceback.format_exc(), flush=True)
    report([line for line in known if line["table"] in names])


if __name__ == "__main__":
    main()
