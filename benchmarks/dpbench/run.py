"""Range queries over the histograms of DPBench: `synth` against mechanisms made for them.

    python -m benchmarks.dpbench.run --epsilons 0.1,1 --repeats 10
    python -m benchmarks.dpbench.run --data HEPTH --methods HB,synth --levels

Printed is the scaled error of DPBench (see workloads.py), as a mean over the repeats, the least of
the others in bold, and in the last column the error of `synth` divided by it (less than 1: `synth`
is better). All are pure epsilon, neighbours add or remove one record. `synth` is the *published
whole counts*, never negative; identity, HB, the trees and DAWA are real numbers, mostly signed,
which no table of records has. DAWA and `synth` are told whether prefixes or ranges matter; the
grids are told the number of records, `synth` is told nothing, or with --told its nearest power of
ten.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dpbench import dawa, flat, grids, trees
from benchmarks.dpbench.datasets import (
    DIRECTORY,
    ONE_DIMENSIONAL,
    TWO_DIMENSIONAL,
    Counts,
    histogram,
)
from benchmarks.dpbench.published import synth_counts
from benchmarks.dpbench.workloads import Workload, prefixes, random_ranges, scaled_error

Floats = NDArray[np.float64]
Mechanism = Callable[[Counts, float, np.random.Generator], Floats]

FLAT: dict[str, Mechanism] = {
    "identity": flat.identity,
    "clipped": flat.clipped,
    "simplex": flat.simplex,
    "HB": trees.hb,
}
SQUARE: dict[str, Mechanism] = {
    "QuadTree": trees.quadtree,
    "QuadTree geometric": trees.quadtree_geometric,
    "UGrid": grids.uniform_grid,
    "AGrid": grids.adaptive_grid,
}
METHODS = (*FLAT, "DAWA", *SQUARE, "synth")
BRANCHING = {1: 16, 2: 4}
"""How many groups of the hierarchies of one or two axes make one group of the next level."""


def draws(
    method: str, truth: Counts, epsilon: Fraction, workload: Workload, arguments: argparse.Namespace
) -> list[NDArray[np.generic]]:
    """The estimated tables of one method, one per seed."""
    found: list[NDArray[np.generic]] = []
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.repeats):
        generator = np.random.default_rng([seed, METHODS.index(method)])
        if method == "synth":
            estimate = synth_counts(
                truth.reshape(-1),
                truth.shape,
                epsilon,
                seed,
                kind="prefix" if workload.name == "prefixes" else "range",
                branching=arguments.branching or BRANCHING[truth.ndim],
                levels=arguments.levels,
                told=arguments.told,
            )
        elif method == "DAWA":
            estimate = dawa.dawa(truth, float(epsilon), workload, generator)
        else:
            estimate = (FLAT | SQUARE)[method](truth, float(epsilon), generator)
        found.append(estimate)
    return found


def row(name: str, epsilon: Fraction, workload_of: Callable[..., Workload], arguments) -> str:
    """One line of the table: a data set, a budget and a workload."""
    truth = histogram(name, arguments.directory)
    workload = workload_of(truth.shape)
    errors: dict[str, float] = {}
    for method in arguments.methods:
        if (method in SQUARE and truth.ndim == 1) or (method == "DAWA" and truth.ndim == 2):
            continue
        start = time.perf_counter()
        tables = draws(method, truth, epsilon, workload, arguments)
        seconds = (time.perf_counter() - start) / arguments.repeats
        if arguments.verbose:
            print(f"{name} {workload.name} {method}: {seconds:.2f} s a draw", file=sys.stderr)
        errors[method] = float(np.mean([scaled_error(workload, one, truth) for one in tables]))
    others = {method: error for method, error in errors.items() if method != "synth"}
    best = min(others, key=others.__getitem__, default="")
    cells = []
    for method in arguments.methods:
        text = f"{errors[method]:.2e}" if method in errors else "-"
        cells.append(f"**{text}**" if method == best else text)
    ratio = f"{errors['synth'] / others[best]:.2f}" if best and "synth" in errors else "-"
    start = f"| {name} | {workload.name} | {float(epsilon):g} | "
    return f"{start}{' | '.join(cells)} | {best} | {ratio} |"


def table(names: tuple[str, ...], arguments: argparse.Namespace) -> None:
    """Print the table of the data sets of one dimension."""
    if not names:
        return
    columns = ["data", "workload", "epsilon", *arguments.methods, "best other", "synth / best"]
    print(f"| {' | '.join(columns)} |")
    print("|" + "---|" * len(columns), flush=True)
    for workload_of in (prefixes, random_ranges):
        for epsilon in arguments.epsilons.split(","):
            for name in names:
                print(row(name, Fraction(epsilon), workload_of, arguments), flush=True)
    print()


def main() -> None:
    """Read the command line and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=",".join((*ONE_DIMENSIONAL, *TWO_DIMENSIONAL)))
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where the files are")
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--branching", type=int, help="of synth's hierarchies; else 16, or 4 of two"
    )
    parser.add_argument("--told", action="store_true", help="tell synth the number of records")
    parser.add_argument("--levels", action="store_true", help="measure every level, unplanned")
    parser.add_argument("--verbose", action="store_true", help="seconds, on standard error")
    arguments = parser.parse_args()
    chosen = arguments.data.split(",")
    arguments.methods = arguments.methods.split(",")
    unknown = {*chosen, *arguments.methods} - {*ONE_DIMENSIONAL, *TWO_DIMENSIONAL, *METHODS}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    table(tuple(name for name in ONE_DIMENSIONAL if name in chosen), arguments)
    table(tuple(name for name in TWO_DIMENSIONAL if name in chosen), arguments)


if __name__ == "__main__":
    main()
