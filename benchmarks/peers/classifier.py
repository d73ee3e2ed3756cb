"""Income told by a classifier that is trained on published rows, ours and those of peers.

    python benchmarks/peers/classifier.py --environments ENVS --peers dpmm-mst,dpmm-aim

Four fifths of the fourteen columns of Adult (`wide.py`) are published at epsilon 1 and delta 1e-9,
by `auto` (with exact noise, by the code of a run) and by the peers (`run.py` says how they are
set up). The classifier of `synth evaluate`, naive Bayes, is trained on each of these tables, and
on the records themselves; it is tested on the last fifth, which none of them saw. Printed is how
often it names the level of income rightly.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from exchange import Request, read_rows, write_request
from numpy.typing import NDArray
from run import DELTA, HERE, ONE_THREAD, PEERS

sys.path.insert(0, str(HERE.parent))

import thin
import wide
from accuracy import budgeted

from synth.domain import Universe
from synth.evaluation.comparisons import NaiveBayes, Table, features
from synth.release.derivation import derive

Rows = NDArray[np.int64]
TARGET = "income"


def table_of(universe: Universe, rows: Rows) -> Table:
    """Records as filled cells."""
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    return Table(universe, tuple(np.ascontiguousarray(c) for c in cells.T), counts)


def rows_of_peer(peer: str, environments: Path, seed: int, sizes: tuple[int, ...], rows: Rows):
    """What a peer publishes of these records."""
    package, mechanism = PEERS[peer]
    names = {f"a{position}": size for position, size in enumerate(sizes)}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_request(folder, Request(mechanism, 1.0, float(DELTA), seed, names), rows)
        driver = HERE / f"drive_{package.replace('-', '_')}.py"
        subprocess.run(
            [environments / package / "bin" / "python", driver, folder],
            cwd=folder,
            env={**os.environ, **ONE_THREAD},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return read_rows(folder)


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", type=Path)
    parser.add_argument("--peers", default="")
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    plain, columns = wide.adult()
    universe = plain.universe
    target = universe.names.index(TARGET)
    records = np.random.default_rng(0).permutation(np.stack(columns, axis=1))
    fifth = len(records) // 5
    testing, training = records[:fifth], records[fifth:]
    config = budgeted(plain, Fraction(1), Fraction(DELTA), "auto")

    def right(table: Table) -> float:
        trained = NaiveBayes.train(table, target)
        told = trained.predict(testing, features(table, target))
        return float((told == testing[:, target]).mean())

    def ours(seed: int) -> Table:
        counts = derive(thin.run(config, training, seed), config).counts
        return Table(universe, tuple(c.astype(np.int64) for c in counts.columns), counts.values)

    print("| rows of | told rightly | smallest, largest |\n|---|---|---|")
    commonest = np.bincount(training[:, target]).argmax()
    print(f"| the commonest level | {(testing[:, target] == commonest).mean():.4f} | |")
    print(f"| the records | {right(table_of(universe, training)):.4f} | |", flush=True)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for name in ["synth", *filter(None, options.peers.split(","))]:
        found = []
        for seed in seeds:
            if name == "synth":
                found.append(right(ours(seed)))
            else:
                rows = rows_of_peer(name, options.environments, seed, universe.shape, training)
                found.append(right(table_of(universe, rows)))
        print(f"| {name} | {np.mean(found):.4f} | {min(found):.4f}, {max(found):.4f} |", flush=True)


if __name__ == "__main__":
    main()
