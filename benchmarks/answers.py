"""How long `synth errors` takes on releases that are there: a process for every question.

    python benchmarks/answers.py outputs/adult-1994 outputs/nltcs-1982-1994 outputs/wide

Asked are all records; one value; a value of each of six columns of the largest noisy table, or of
as many as it has; every cell over as many of these columns as `synth errors` answers at once; a
share; and the difference of a share between two groups.
Printed are seconds on the clock and of the processor, with Python's start in them, and how many
numbers were answered. Releases with replicates are asked twice, as `measured` and `replicates`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from synth.domain.attribute import written
from synth.measurements.intervals import MOST_CONDITIONS
from synth.reading import Release
from synth.reading.answers import LARGEST_MARGINAL


def questions(release: Release) -> Iterator[tuple[str, list[str]]]:
    """What is asked, in words and as options of the command."""
    universe = release.config.universe
    largest = max(
        (table.event for table in release.measurements.tables), key=lambda e: len(e.table)
    )
    columns = [
        universe.attribute(name)
        for name, steps in zip(largest.table, largest.coarsening, strict=True)
        if not steps and universe.attribute(name).size > 1
    ][:MOST_CONDITIONS]
    conditions = [f"{written(each.name)}={written(each.label(0))}" for each in columns]
    names = [written(each.name) for each in columns]
    while math.prod(each.size for each in columns[: len(names)]) > LARGEST_MARGINAL:
        names.pop()
    yield "all records", []
    yield "one condition", ["--query", conditions[0]]
    yield f"{len(conditions)} conditions", ["--query", ", ".join(conditions)]
    yield f"marginal of {len(names)} columns", ["--marginal", ",".join(names)]
    if len(columns) < 2:
        return
    yield "share", ["--share", conditions[0], "--within", conditions[1]]
    other = f"{written(columns[1].name)}={written(columns[1].label(1))}"
    yield "difference", ["--share", conditions[0], "--difference", conditions[1], other]


def timed(release: Path, options: list[str]) -> tuple[float, float, int]:
    """Seconds on the clock and of the processor, and the number of answers."""
    words = [sys.executable, "-m", "synth", "errors", str(release), "--json", *options]
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(words, stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"failed: {' '.join(words)}")
        said.seek(0)
        answers = len(json.load(said)["answers"])
    return seconds, usage.ru_utime + usage.ru_stime, answers


def main() -> None:
    """Read the arguments, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", type=Path, nargs="+")
    releases = parser.parse_args().releases
    print("| release | asked | answers | method | on the clock | processor |")
    print("|---|---|---|---|---|---|")
    for path in releases:
        release = Release(path)
        has_replicates = "replicates" in release.manifest["post_processing"]
        for words, options in questions(release):
            for method in ("measured", "replicates")[: 1 + has_replicates]:
                clock, processor, answers = timed(path, [*options, "--method", method])
                line = f"| {release.id} | {words} | {answers:,} | {method} "
                print(f"{line}| {clock:.1f} s | {processor:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
