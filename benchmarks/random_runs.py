"""Whole runs of random configurations: each ends in a verified release or is refused unspent.

    python benchmarks/random_runs.py --first-seed 1 --runs 1000

Every seed makes a configuration with its records (`fuzz_harness/configurations.py`): columns of
one code and of many, hierarchies, levels without a possible cell, totals of nothing, people with
several records, every strategy; universes of one cell to more than 10^30, a third of them too large
to hold; half of the budgets with a delta; up to 100,000 records. `synth run` must end with exit
code 0, and then `synth verify` too, or with exit code 2 before anything was spent, or with exit
code 1 because the gate before publishing refused what contradicts its own measurements. The number
of rows of a release that no public total fixes must be within six standard deviations of what was
measured of it. Any other end is a crash, as is a warning of numpy, which is an error here. The
inputs of a crash are kept; with one the exit code is 1.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from fuzz_harness.configurations import RELEASE, write_project

os.environ["PYTHONWARNINGS"] = "error::RuntimeWarning"
sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.command_line import synth

REFUSED_BY_THE_GATE = "contradict"
MOST_DEVIATIONS = 6


def crash(place: Path, seed: int, ends: Counter[str]) -> str | None:
    """What is wrong with the run of a seed; None if it came to a clean end."""
    configuration = write_project(place, seed, any_size=True)
    done = synth("run", configuration)
    if done.returncode == 2 and "reserved" not in done.stderr:
        ends["refused"] += 1
        return None
    if done.returncode == 1 and REFUSED_BY_THE_GATE in done.stderr:
        ends["refused by the gate"] += 1
        return None
    if done.returncode:
        return f"run ended with {done.returncode}: {done.stderr}"
    folder = place / "outputs" / RELEASE["id"]
    verified = synth("verify", folder)
    if verified.returncode:
        return f"verify ended with {verified.returncode}: {verified.stdout}{verified.stderr}"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    ends["released"] += 1
    ends[f"gate: {manifest['quality']['gate']['outcome']}"] += 1
    return _wrong_total(place, manifest)


def _wrong_total(place: Path, manifest: dict[str, Any]) -> str | None:
    """What is wrong with the number of rows, where the noisy tables alone decide it."""
    configuration = yaml.safe_load((place / "random.yaml").read_text(encoding="utf-8"))
    events = [each for each in manifest["accounting"]["events"] if "threshold" not in each]
    if configuration.get("public_totals") or "rows" in configuration["output"] or not events:
        return None
    if configuration.get("impossible"):  # the records there are no rows
        return None
    deviation = min(math.sqrt(event["cells"] * event["variance"]) for event in events)
    counted = _counted(place / "rows.csv", configuration["privacy"]["unit"])
    published = next(each["rows"] for each in manifest["files"] if "rows" in each)
    if abs(published - counted) > MOST_DEVIATIONS * deviation + 1:
        return f"{published} rows for {counted} records, measured to {deviation:.1f}"
    return None


def _counted(path: Path, unit: Any) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        if unit == "record":
            return sum(1 for record in csv.reader(file) if record) - 1
        people = Counter(record[unit["column"]] for record in csv.DictReader(file))
    return sum(min(count, unit["max_records"]) for count in people.values())


def main() -> None:
    """Read the command line; run seed after seed, so many or until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    kept = Path(tempfile.mkdtemp(prefix="random-runs-"))
    ends: Counter[str] = Counter()
    seed = options.first_seed
    while time.monotonic() < end and seed < options.first_seed + options.runs:
        place = kept / str(seed)
        place.mkdir()
        problem = crash(place, seed, ends)
        if problem is None:
            shutil.rmtree(place)
        else:
            ends["crashed"] += 1
            print(f"seed {seed}, kept in {place}: {problem}", flush=True)
        seed += 1
    print(f"{seed - options.first_seed} configurations: {dict(ends)}")
    if ends["crashed"]:
        raise SystemExit(1)
    shutil.rmtree(kept)


if __name__ == "__main__":
    main()
