"""Fuzzing: files that an attacker may hand over, grown by what they reach in the code.

    pip install '.[fuzz]'
    python benchmarks/fuzz.py config --seconds 300
    python benchmarks/fuzz.py csv parquet verify --seconds 300
    python benchmarks/fuzz.py signature approval ledger --seconds 60 --json

Each target (see `fuzz_harness/targets.py`) takes any bytes and must come to a clean end: a valid
configuration, counts, a verified release, or the error of the package with the exit code of the
contract. Anything else is a crash: another exception, a message with a word that no
configuration holds, more than 10 s of processor time, or more than 4 GB of memory. The inputs
start from a few seeds and are changed by atheris (libFuzzer), which keeps those that reach new
branches of the Python code; native libraries are run, not watched. `executions`, the coverage
after the seeds and at the end (branches), and every distinct crash with its input are reported;
with a crash the exit code is 1 and the inputs stay in the directory that is named.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz_harness.seeds import make_release
from fuzz_harness.targets import TARGETS

NEEDS_RELEASE = ("verify", "ledger")
LINE = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)/")
MEMORY_MEGABYTES = 4096
TIMEOUT_SECONDS = 60
GRACE_SECONDS = 2
"""A process that ends this much before its time was killed by what it was fed."""


def fuzz(name: str, seconds: int, longest: int) -> dict[str, object]:
    """Fuzz one target for so many seconds, over every crash; returns the figures."""
    place = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    if name in NEEDS_RELEASE:
        (place / "base").mkdir()
        make_release(place / "base")
    corpus = place / "corpus"
    corpus.mkdir()
    seeds = TARGETS[name].seeds(place)
    for number, content in enumerate(seeds):
        (corpus / f"seed-{number:03}").write_bytes(content)
    executions, started, killed = 0, time.monotonic(), 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    coverage: list[tuple[int, int, int]] = []
    ends: dict[str, int] = {}
    crashes: dict[str, dict[str, object]] = {}
    slowest = 0.0
    while (left := seconds - (time.monotonic() - started)) > GRACE_SECONDS:
        said = child(name, place, corpus, int(left), longest)
        lines = [tuple(map(int, (m[1], m[3], m[4], m[5]))) for m in LINE.finditer(said)]
        executions += max((line[0] for line in lines), default=0)
        coverage += [line[1:] for line in lines]
        found = json.loads((place / "found.json").read_text())
        slowest = max(slowest, found["slowest_seconds"])
        for end, times in found["ends"].items():
            ends[end] = ends.get(end, 0) + times
        for crash in found["crashes"]:
            known = crashes.setdefault(crash["where"] + crash["what"], crash | {"times": 0})
            known["times"] = int(str(known["times"])) + crash["times"]
        if time.monotonic() - started < seconds - GRACE_SECONDS:
            killed += 1
            (place / f"killed-{killed}.txt").write_text(said)
            if killed > 20 or not lines:
                break
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    result: dict[str, object] = {
        "target": name,
        "seconds": round(time.monotonic() - started),
        "processor_seconds": round(
            spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
        ),
        "executions": executions,
        "seeds": len(seeds),
        "coverage_of_seeds": coverage[0][0] if coverage else 0,
        "coverage": coverage[-1][0] if coverage else 0,
        "features": coverage[-1][1] if coverage else 0,
        "corpus": coverage[-1][2] if coverage else 0,
        "ends": ends,
        "slowest_seconds": round(slowest, 2),
        "peak_megabytes": spent.ru_maxrss >> 10,
        "crashes": list(crashes.values()),
        "killed": killed,
    }
    if crashes or killed:
        result["directory"] = str(place)
    else:
        shutil.rmtree(place)
    return result


def child(name: str, place: Path, corpus: Path, seconds: int, longest: int) -> str:
    """One process of libFuzzer; what it said."""
    command = [sys.executable, "-m", "fuzz_harness.child", name, str(place)]
    command += [f"-max_total_time={seconds}", f"-rss_limit_mb={MEMORY_MEGABYTES}"]
    command += [f"-timeout={TIMEOUT_SECONDS}", f"-max_len={longest}", "-print_final_stats=1"]
    command += [f"-artifact_prefix={place}/killed-", str(corpus)]
    (place / "found.json").write_text('{"ends": {}, "slowest_seconds": 0, "crashes": []}')
    for own in ("fuzzed", "scratch"):
        shutil.rmtree(place / own, ignore_errors=True)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    return done.stderr.decode(errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", nargs="+", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=300, help="for each target")
    parser.add_argument("--longest", type=int, default=1 << 16, help="bytes of an input, at most")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bad = False
    for name in options.target:
        result = fuzz(name, options.seconds, options.longest)
        bad = bad or bool(result["crashes"] or result["killed"])
        if options.json:
            print(json.dumps(result), flush=True)
        else:
            print("\n".join(f"{key}: {value}" for key, value in result.items()), flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
