"""Two years of a series: a growing table in PostgreSQL, a timer, kills and a host that goes away.

    python benchmarks/two_years.py --rows 100000 --seed 1
    python benchmarks/two_years.py --rows 100000 --seed 2 --delta 1e-6 --pairs

A table of visits begins with so many rows and grows by 5 % in each of 24 months. On the days on
which a timer would fire, `synth due --today DATE` is started as cron and systemd start it; half of
the first starts of a month are struck: killed at a random instant with all processes, or the server
is away, or goes away meanwhile. Two months the machine is off. After every start, what is published
is held against what is due, and what a person is told against what failed; in the end every release
is verified, and the ledger, the feed and the exit codes. The first promise that does not hold ends
the benchmark with exit code 1.

Then the releases are held against the truth: the intervals of every month, the error of the last
one against a release of everything by a 24th of the budget (`--splits` of them), and against the
binary tree.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from schedule_harness import outcomes
from schedule_harness.growing_table import GrowingTable
from schedule_harness.schedule import Asked, LostError, Schedule
from schedule_harness.timer import Timer

from synth.config import load_config
from synth.planning.series import forecast_series
from synth.reading import Release
from tests.engines.conftest import running_server

ROOT = Path(__file__).parents[1]


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--rows", type=int, default=100_000, help="in the first month")
    asked.add_argument("--growth", type=float, default=0.05, help="the share of a later month")
    asked.add_argument("--periods", type=int, default=24)
    asked.add_argument("--release", choices=("all", "new"), default="all")
    asked.add_argument("--epsilon", default="1")
    asked.add_argument("--delta", default="0")
    asked.add_argument("--pairs", action="store_true", help="measure all pairs of columns alone")
    asked.add_argument("--seed", type=int, default=1, help="of the table and of the strikes")
    asked.add_argument("--splits", type=int, default=3, help="releases by a share of the budget")
    asked.add_argument("--undisturbed", action="store_true", help="no strikes: figures alone")
    asked.add_argument("--directory", type=Path, help="where to work; kept")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as scratch, running_server() as server:
        if server is None:
            raise SystemExit("no PostgreSQL server is installed (no initdb)")
        place = options.directory or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        os.environ["PGUSER"] = "synth"
        timer = Timer(
            (sys.executable, "-m", "synth"),
            place,
            {"PYTHONPATH": str(ROOT), "PGUSER": "synth", "MPLCONFIGDIR": str(place)},
        )
        schedule = Schedule(
            Asked(
                "month",
                options.periods,
                options.release,
                GrowingTable(options.rows, options.growth, options.seed),
                options.epsilon,
                options.delta,
                pairs=options.pairs,
            ),
            place,
            server,
            timer,
            options.seed,
            0.0 if options.undisturbed else 0.5,
        )
        try:
            found = simulate(schedule, options.splits)
        except LostError as error:
            sys.exit(f"{error}\nsee {place}")
    print(json.dumps(found, indent=2))


def simulate(schedule: Schedule, splits: int) -> dict[str, Any]:
    """The years, and what came of them."""
    begun = time.monotonic()
    schedule.pass_years(lambda said: print(said, file=sys.stderr, flush=True))
    found = schedule.require_whole()
    found["seconds"] = round(time.monotonic() - begun)
    end = schedule.asked.due_on(schedule.asked.horizon) + timedelta(1)
    if (said := schedule.status(end)).exit_code not in (0, 4):
        raise LostError(f"status in the end: {said}")
    periods = outcomes.coverage(schedule)
    found["intervals that hold"] = outcomes.require_covering(periods)
    found["of the worst period"] = min(each["held"] / each["cells"] for each in periods)
    found["noise over what is stated"] = [round(each["noise_over_stated"], 3) for each in periods]
    found["total variation"] = [round(each["total_variation"], 5) for each in periods]
    found["rows"] = [each["rows"] for each in periods]
    if schedule.asked.rows == "all":
        found["last release"] = last_release(schedule, splits)
    return found


def last_release(schedule: Schedule, splits: int) -> dict[str, Any]:
    """The error of the last release, in noise of one release for the whole budget."""
    asked = schedule.asked
    config = load_config(schedule.config, period=asked.label(1))
    planned = outcomes.planned_noise(config)
    theory = forecast_series(config).periods[-1]
    truth = outcomes.truth_of(schedule, asked.horizon)
    last = Release(schedule.outputs / f"visits-{asked.label(asked.horizon)}")
    split = outcomes.split_budget(schedule, schedule.place, seeds=splits)
    mine = outcomes.noise_units(last, truth, planned)
    of_split = math.sqrt(fmean(outcomes.error_of_tables(each, truth) ** 2 for each in split))
    of_last = outcomes.error_of_tables(last, truth)
    variation = outcomes.total_variation(last, truth)
    of_splits = fmean(outcomes.total_variation(each, truth) for each in split)
    return {
        "noise": mine,
        "noise by theory": theory.noise,
        "binary tree by theory": theory.noise_of_binary_tree,
        "split by theory": theory.noise_if_split,
        "over binary tree": mine / (theory.noise_of_binary_tree or 1.0),
        "count error, records": of_last,
        "count error if split, records": of_split,
        "over split": of_last / of_split,
        "total variation of the rows": variation,
        "total variation of the rows if split": of_splits,
        "rows over split": variation / of_splits,
    }


if __name__ == "__main__":
    main()
