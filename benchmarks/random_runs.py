"""Whole runs of random configurations: each ends in a verified release or is refused unspent.

    python benchmarks/random_runs.py --first-seed 1 --seconds 600

Every seed makes a configuration with its records (`fuzz_harness/configurations.py`): columns of
one code and of many, hierarchies, levels without a possible cell, totals of nothing, people with
several records, every strategy. `synth run` must end with exit code 0, and then `synth verify`
too, or with exit code 2 before anything was spent. Any other end is a crash, as is a warning of
numpy, which is an error here. The inputs of a crash are kept; with one the exit code is 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzz_harness.configurations import RELEASE, write_project

STRICT = [sys.executable, "-W", "error::RuntimeWarning", "-m", "synth"]
LONGEST_SECONDS = 600


def crash(place: Path, seed: int, ends: Counter[str]) -> str | None:
    """What is wrong with the run of a seed; None if it came to a clean end."""
    configuration = write_project(place, seed)
    done = _synth("run", configuration)
    if done.returncode == 2 and "reserved" not in done.stderr:
        ends["refused"] += 1
        return None
    if done.returncode:
        return f"run ended with {done.returncode}: {done.stderr}"
    verified = _synth("verify", place / "outputs" / RELEASE["id"])
    if verified.returncode:
        return f"verify ended with {verified.returncode}: {verified.stdout}{verified.stderr}"
    ends["released"] += 1
    return None


def _synth(command: str, path: Path) -> subprocess.CompletedProcess[str]:
    words = [*STRICT, command, str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_SECONDS)


def main() -> None:
    """Read the command line; run seed after seed until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    kept = Path(tempfile.mkdtemp(prefix="random-runs-"))
    ends: Counter[str] = Counter()
    seed = options.first_seed
    while time.monotonic() < end:
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
