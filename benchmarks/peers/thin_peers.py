"""Few records in very many cells: what ours publishes beside what peers publish.

    python benchmarks/peers/thin_peers.py --epsilons 0.1,1,10 --deltas 0,1e-9 --draws 5
    python benchmarks/peers/run.py --environments ENVS --peers dpmm-mst --tables thin-chain
    python benchmarks/peers/thin_peers.py --peer dpmm-mst
    python benchmarks/peers/thin_peers.py --tables packaged --draws 1

Tables of 1,000 to 3,000 records in 10^7 to 10^9 cells: two made up as in `thin.py`, and ten columns
of some records of Adult; and, if asked for, the real ones of `packaged_tables.py`. Ours is `auto`,
by the code of a run with exact noise, and is told nothing of the number of records. Printed are
mean total variations of all tables of one, two and three columns; beside them by how many records
the published total is off, and the standard deviation of what the measured tables say of the total.
`--peer` prints the runs of a peer in results.jsonl.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from results import load

sys.path.insert(0, str(Path(__file__).parents[1]))

import thin
import wide
from accuracy import budgeted
from forecasts import configured
from forecasts import table as real
from packaged_tables import PACKAGED

from synth.config import Config
from synth.domain import Margin
from synth.measurements import Measurements
from synth.release.derivation import derive

ORDERS = 3
ADULT_RECORDS = 2_000
ADULT_PARTS = {"age": 10, "hours-per-week": 6}
"""Amounts of Adult that are kept, each in so many parts of as many bins."""
ADULT_DROPPED = ("fnlwgt", "capital-gain", "capital-loss", "native-country")


def made_up(made: thin.Made) -> tuple[Config, wide.Columns]:
    """One of the kinds of `thin.py`, without a word on the number of records."""
    rows = made.draw(np.random.default_rng(5), made.sizes, made.records)
    return thin.configured(made, Fraction(1), "auto", None), tuple(rows.T)


def adult() -> tuple[Config, wide.Columns]:
    """Ten columns of a few records of Adult."""
    config, columns = wide.adult()
    universe = config.universe
    kept = [axis for axis, name in enumerate(universe.names) if name not in ADULT_DROPPED]
    sizes = [ADULT_PARTS.get(universe.names[axis], universe.shape[axis]) for axis in kept]
    rows = np.random.default_rng(6).choice(len(columns[0]), ADULT_RECORDS, replace=False)
    made = thin.Made(tuple(sizes), ADULT_RECORDS, thin.uniform)
    codes = [
        columns[axis][rows] * size // universe.shape[axis]
        for axis, size in zip(kept, sizes, strict=True)
    ]
    return thin.configured(made, Fraction(1), "auto", None), codes


def packaged(name: str) -> tuple[Config, wide.Columns]:
    """A real table of a package."""
    universe, rows = real(name)
    return configured(universe, "1", "0"), tuple(rows.T)


THIN: dict[str, Callable[[], tuple[Config, wide.Columns]]] = {
    "thin-chain": lambda: made_up(
        thin.Made((11, 9, 10, 12, 10, 8, 10, 9), 1_304, thin.chain),
    ),
    "thin-classes": lambda: made_up(
        thin.Made((6, 8, 5, 9, 7, 10, 6, 4, 8, 5), 3_000, thin.classes),
    ),
    "thin-adult": adult,
}
TABLES = THIN | {name: partial(packaged, name) for name in PACKAGED}


def spread_of_total(measured: Measurements, config: Config) -> float:
    """The standard deviation of the best sum of what every table says of the number of records."""
    known = 0.0
    for table in measured.tables:
        margin = Margin(table.event.table, table.event.coarsening)
        known += 1.0 / (margin.cells(config.universe) * table.variance)
    return known**-0.5


def ours(name: str, epsilons: list[str], deltas: list[str], draws: int) -> None:
    """Rows of a table in Markdown: a line for every budget."""
    plain, columns = TABLES[name]()
    shape, records = plain.universe.shape, np.stack(columns, axis=1)
    for epsilon in epsilons:
        for delta in deltas:
            config = budgeted(plain, Fraction(epsilon), Fraction(delta), "auto")
            found, off, spreads, tables = [], [], [], set()
            start = time.process_time()
            for seed in range(draws):
                measured = thin.run(config, records, seed)
                counts = derive(measured, config).counts
                codes = [column.astype(np.int64) for column in counts.columns]
                found.append(wide.errors(columns, codes, counts.values, shape)[:ORDERS])
                off.append(int(counts.total) - len(records))
                spreads.append(spread_of_total(measured, config))
                tables.add(len(measured.tables))
            seconds = (time.process_time() - start) / draws
            far = sum(
                abs(each) > max(0.02 * len(records), 2 * spread)
                for each, spread in zip(off, spreads, strict=True)
            )
            print(
                f"| {name} | {epsilon} | {delta} | {figures(found)} | {spans(found)} |"
                f" {' '.join(f'{each:+}' for each in off)} | {np.mean(spreads):.1f} | {far} |"
                f" {min(tables)}-{max(tables)} | {seconds:.0f} |",
                flush=True,
            )


def figures(found: list[list[float]]) -> str:
    """Means over the runs."""
    return "/".join(f"{value:.4f}"[1:] for value in np.mean(found, axis=0))


def spans(found: list[list[float]]) -> str:
    """Standard deviations over the runs."""
    return "/".join(f"{value:.4f}"[1:] for value in np.std(found, axis=0))


def peers(name: str, peer: str) -> None:
    """The same of the runs of a peer that are there."""
    records = len(TABLES[name]()[1][0])
    done = [run for run in load() if (run.peer, run.table, run.status) == (peer, name, "done")]
    for epsilon in dict.fromkeys(run.epsilon for run in done):
        runs = [run for run in done if run.epsilon == epsilon]
        found = [list(run.tvd[:ORDERS]) for run in runs]
        off = " ".join(f"{run.rows - records:+}" for run in runs if run.rows is not None)
        seconds = np.mean([run.cpu_seconds for run in runs])
        print(
            f"| {name} | {epsilon} | {runs[0].delta} | {figures(found)} | {spans(found)} |"
            f" {off} | | | {len(runs)} runs | {seconds:.0f} |",
            flush=True,
        )


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=",".join(THIN), help="packaged: all real ones")
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--deltas", default="0,1e-9")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--peer", help="print its runs in place of ours")
    options = parser.parse_args()
    print("| table | epsilon | delta | 1 / 2 / 3-way | sd | off by | sd | too far | tables | s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    names = PACKAGED if options.tables == "packaged" else options.tables.split(",")
    for name in names:
        if options.peer:
            peers(name, options.peer)
        else:
            ours(name, options.epsilons.split(","), options.deltas.split(","), options.draws)


if __name__ == "__main__":
    main()
