"""Random sources and neighbours of them: one unit never moves the counts by more than is stated.

    python benchmarks/random_sources/run.py files postgres --cases 60

Seeds count from `--first-seed`; every case is one source and one neighbour of it, from its seed
alone. With `--every 20`, every 20th case of files goes through the command line as well, and exit
code and log must be the same for both. A seed with a wrong end is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from random_sources import files, postgres
from random_sources.outcome import HEADINGS, Outcome, summary
from tests.engines.conftest import running_server

Trial = Callable[[int], Outcome]


@contextmanager
def trial_of_files(place: Path, every: int) -> Iterator[Trial]:
    """Large fields among them."""
    yield lambda seed: files.tried(seed, place, by_command=every > 0 and seed % every == 0)


@contextmanager
def trial_of_postgres(place: Path) -> Iterator[Trial]:
    """On a server of our own."""
    with running_server() as server:
        if server is None:
            raise SystemExit("no PostgreSQL server is installed (no initdb)")
        with postgres.prepared(server):
            yield lambda seed: postgres.tried(server, seed, place)


def outcomes(trial: Trial, seeds: range) -> list[Outcome]:
    """Every seed tried; what is wrong is said at once."""
    found = []
    for seed in seeds:
        found.append(trial(seed))
        if found[-1].problem:
            print(f"seed {seed} ({found[-1].source}): {found[-1].problem}", flush=True)
    return found


def main() -> None:
    """Read the command line; try seed after seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="+", choices=("files", "postgres"))
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=20)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.cases)
    rows, is_wrong = [], False
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for kind in options.kinds:
            trials = {
                "files": lambda: trial_of_files(place, options.every),
                "postgres": lambda: trial_of_postgres(place),
            }
            with trials[kind]() as trial:
                found = outcomes(trial, seeds)
            rows.append(summary(kind, found))
            is_wrong |= any(each.problem for each in found)
    print(HEADINGS, *rows, sep="\n")
    if is_wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
