"""Mutation campaign: lines that privacy rests on are broken one by one, and tests must notice.

    python benchmarks/mutants.py
    python benchmarks/mutants.py --files synth/bookkeeping synth/noise/stream.py
    python benchmarks/mutants.py --only "counters without the lane"

`mutant_tables` says what is changed, and which tests must see it. The project is copied to a
temporary directory; there the tests are run once as they are, which they must pass, and then for
each mutant alone, until the first fails. A change whose old text does not stand in its file exactly
once stops the campaign, so the tables cannot rot; tests that cannot be started do not count as a
mutant caught, those that do not end in time do. Every mutant is listed with what caught it; if
one survives, the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mutant_tables import MUTANTS, Mutant
from mutant_tables.mutant import ROOT

LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "outputs", "state", ".*_cache")
LONGEST_SECONDS = 300
FAILED = 1
"""The exit code of pytest when tests ran and one failed."""


def main() -> int:
    arguments = parse()
    mutants = chosen(arguments.only, arguments.files)
    if not mutants:
        sys.exit("no mutant is so called, or in these files")
    for mutant in mutants:
        mutant.broken((ROOT / mutant.file).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        copy = Path(directory) / "project"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        before = run(copy, tests, LONGEST_SECONDS * len(tests))
        if before.returncode:
            print(before.stdout + before.stderr)
            sys.exit("the tests fail without any mutant")
        survivors = [mutant for mutant in mutants if not is_killed(copy, mutant)]
    print(f"{len(mutants)} mutants, {len(mutants) - len(survivors)} killed")
    for mutant in survivors:
        print(f"survived: {mutant.name} ({mutant.file})")
    return 1 if survivors else 0


def chosen(only: Sequence[str], files: Sequence[str]) -> list[Mutant]:
    """The mutants of these names, and in these files or folders; all without either."""
    return [
        mutant
        for mutant in MUTANTS
        if (not only or mutant.name in only)
        and (not files or any(f"{mutant.file}/".startswith(f.rstrip("/") + "/") for f in files))
    ]


def is_killed(copy: Path, mutant: Mutant) -> bool:
    """Whether a test fails under the mutant; says which, and how long that took."""
    place = copy / mutant.file
    source = place.read_text(encoding="utf-8")
    start = time.perf_counter()
    write(place, mutant.broken(source))
    try:
        done = run(copy, mutant.tests, LONGEST_SECONDS)
        killed = done.returncode == FAILED
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
        by = failed.group(1) if failed else ""
        if done.returncode not in (0, FAILED):
            print(done.stdout + done.stderr)
            sys.exit(f"{mutant.name}: its tests could not be run")
    except subprocess.TimeoutExpired:
        killed, by = True, "not ending in time"
    finally:
        write(place, source)
    verdict = f"killed by {by}" if killed else "SURVIVED"
    print(f"{time.perf_counter() - start:6.1f} s  {mutant.name}: {verdict}", flush=True)
    return killed


def write(place: Path, source: str) -> None:
    """Write a module, and forget what was compiled of it: the clock may not tell them apart."""
    place.write_text(source, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(place))).unlink(missing_ok=True)


def run(copy: Path, tests: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy on the copy, also in processes that they start."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="names of mutants")
    parser.add_argument("--files", nargs="+", default=[], help="files or folders of the product")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
