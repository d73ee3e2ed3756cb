"""Growth: time and memory of whole runs against cells, rows and columns, and beside two peers.

    python benchmarks/scale.py --families cells,rows,columns --largest 1e6
    python benchmarks/scale.py --families peers --largest 1e6 --diffprivlib PYTHON

Every point is a made-up table and a run of its own, in a process of its own; the results are
appended to `benchmarks/scale_results.jsonl`, and points that stand there are not run again. Time
is that of `synth.run` from the call to the published folder, with the time of every stage as the
stages report it. Memory is the largest resident set of any single process of the tree (the
measuring process is a child). `scale_plots.py` draws the curves.

* `cells`: 10^3 to 10^8 cells, attributes of ten levels, 100,000 rows, noise on every cell.
* `rows`: 10^3 to 10^7 rows, 100,000 cells, noise on every cell.
* `columns`: 4, 5, 10 and 20 columns of one and the same number of cells (2^20), 100,000 rows.
* `sparse`: 10^10 to 10^30 cells, ten levels, 100,000 rows, what the planner chooses.
* `kinds`: 10^6 to 10^9 cells and 10^6 rows of four kinds: even, as one over the level (Zipf),
  geometric (here 10^8 cells are four columns of a hundred levels), and gathered around forty
  centres; what the planner chooses for tables of one to three columns and single cells.
* `two`: the same kinds in two columns of 1,000, 3,162 and 10,000 levels each.
* `peers`: counting and noise only, from a Parquet file of 1,000,000 rows: `synth measure`, which
  also checks the noise generator, keeps the ledger and makes its results durable; OpenDP and
  diffprivlib as in `scale_peers.py`, which end with the noisy counts in memory. `--diffprivlib`
  names a Python interpreter that has it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

HERE = Path(__file__).parent
RESULTS = HERE / "scale_results.jsonl"
BLOCK_ROWS = 1 << 20
PEERS = ("synth", "opendp", "diffprivlib")
KINDS = ("even", "zipf", "geometric", "clustered")
CENTRES = 40


@dataclass(frozen=True)
class Point:
    """One run: a table of `columns` attributes of `levels` levels each, with so many rows."""

    family: str
    columns: int
    levels: int
    rows: int
    way: str = "run"
    kind: str = "falling"

    @property
    def cells(self) -> int:
        """The size of the universe."""
        return self.levels**self.columns

    @property
    def size(self) -> int:
        """What the family grows in, without the columns."""
        return self.rows if self.family == "rows" else self.cells


def points(family: str) -> list[Point]:
    """The points of a family, small ones first."""
    if family == "cells":
        return [Point(family, digits, 10, 100_000) for digits in range(3, 9)]
    if family == "rows":
        return [Point(family, 5, 10, 10**digits) for digits in range(3, 8)]
    if family == "columns":
        shapes = ((4, 32), (5, 16), (10, 4), (20, 2))
        return [Point(family, columns, levels, 100_000) for columns, levels in shapes]
    if family == "sparse":
        return [Point(family, columns, 10, 100_000) for columns in (10, 12, 15, 20, 25, 30)]
    if family == "kinds":
        ten = {kind: [(digits, 10) for digits in range(6, 10)] for kind in KINDS}
        ten["geometric"][2] = (4, 100)
        return [
            Point(family, *ten[kind][place], 10**6, kind=kind)
            for place in range(4)
            for kind in KINDS
        ]
    if family == "two":
        levels = (1000, 3162, 10_000)
        return [Point(family, 2, size, 10**6, kind=kind) for size in levels for kind in KINDS]
    if family == "peers":
        return [Point(family, digits, 10, 10**6, way) for digits in range(5, 9) for way in PEERS]
    raise SystemExit(f"unknown family: {family}")


def drawn(generator: np.random.Generator, point: Point, count: int) -> list[np.ndarray]:
    """The codes of so many rows, column by column; independent columns but for the centres."""
    shape = (point.columns, count)
    if point.kind == "falling":
        codes = point.levels * generator.random(shape) ** 2
    elif point.kind == "even":
        codes = generator.integers(point.levels, size=shape)
    elif point.kind == "zipf":
        weights = 1 / np.arange(1, point.levels + 1)
        codes = generator.choice(point.levels, shape, p=weights / weights.sum())
    elif point.kind == "geometric":
        codes = np.minimum(generator.geometric(0.3, shape) - 1, point.levels - 1)
    else:
        of_all = np.random.default_rng(point.columns)  # the same centres for every block of rows
        centres = of_all.integers(point.levels, size=(point.columns, CENTRES))
        shares = of_all.dirichlet(np.ones(CENTRES))
        codes = centres[:, generator.choice(CENTRES, count, p=shares)]
        moved = generator.random(shape) < 0.1
        codes[moved] = generator.integers(point.levels, size=int(moved.sum()))
    return list(codes.astype(np.int32))


def write_rows(path: Path, point: Point) -> None:
    """Write the rows."""
    generator = np.random.default_rng([point.columns, point.levels, point.rows])
    names = [f"c{number}" for number in range(point.columns)]
    schema = pa.schema([(name, pa.int32()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, point.rows, BLOCK_ROWS):
            count = min(BLOCK_ROWS, point.rows - start)
            codes = drawn(generator, point, count)
            writer.write_table(pa.table(dict(zip(names, codes, strict=True)), schema=schema))


def write_config(path: Path, point: Point) -> None:
    """Write the configuration of the point beside its rows."""
    dense = point.family not in ("sparse", "kinds", "two")
    attribute = {
        "type": "integer",
        "minimum": 0,
        "maximum": point.levels - 1,
        "bin_width": 1,
        "out_of_domain": "clamp",
        "source": "made up",
    }
    domain = [{"name": f"c{number}"} | attribute for number in range(point.columns)]
    plain = {
        "schema_version": 1,
        "release": {
            "id": "scale",
            "title": "Growth",
            "description": "A made-up table",
            "curators": ["Benchmark"],
            "contact": "data@example.org",
            "intended_use": "Benchmark",
            "region": "Nowhere",
            "sector": "Government",
            "license": "CC-BY-4.0",
        },
        "source": {"path": "rows.parquet", "disposal": "keep", "disposal_reason": "made up"},
        "privacy": {
            "epsilon": 1,
            "neighbours": "add-remove",
            "unit": "record",
            "justification": "Made-up data.",
        },
        "ledger": {"path": "state/ledger.sqlite", "population": "nobody", "epsilon_cap": 1},
        "domain": domain,
        "workload": {"marginals": 3 if point.family in ("kinds", "two") else 1, "cells": True},
        "strategy": "identity" if dense else "auto",
        "output": {"directory": "outputs"},
    }
    path.write_text(yaml.safe_dump(plain, sort_keys=False))


class StageTimer:
    """A watcher that adds up the seconds of every stage; of nested ones the inner one counts."""

    def __init__(self) -> None:
        """Start the clock."""
        self.seconds: dict[str, float] = {}
        self._now = "other"
        self._since = time.perf_counter()

    def entered(self, step) -> None:
        """The stage before this one ends."""
        self.stop()
        self._now = "other" if step is None else step.stage.value

    def advanced(self, done, total, unit) -> None:
        """How far it is does not matter here."""

    def stop(self) -> None:
        """Add what has passed to the stage under way."""
        now = time.perf_counter()
        self.seconds[self._now] = self.seconds.get(self._now, 0.0) + now - self._since
        self._since = now


def run_here(config: Path) -> None:
    """One whole run in this process; prints its seconds, stage by stage, and memory in MB."""
    import synth
    from synth.progress import watched_by

    timer = StageTimer()
    with watched_by(timer):
        synth.run(config)
    timer.stop()
    memory = {
        "publishing": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "measuring": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }
    print(json.dumps({"stages": timer.seconds, "peaks_mb": memory}))


def commands(point: Point, place: Path, diffprivlib: str | None) -> list[str] | None:
    """The command of a point, or None if the interpreter that it needs is not known."""
    config = str(place / "scale.yaml")
    if point.way == "run":
        return [sys.executable, __file__, "--run-here", config]
    if point.way == "synth":
        return [sys.executable, "-m", "synth", "measure", config]
    python = sys.executable if point.way == "opendp" else diffprivlib
    if python is None:
        return None
    sizes = [str(point.columns), str(point.levels)]
    return [python, str(HERE / "scale_peers.py"), point.way, str(place / "rows.parquet"), *sizes]


def measured(point: Point, limit: float, diffprivlib: str | None) -> dict[str, object] | None:
    """Run one point; its seconds and memory, or how it failed."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        command = commands(point, place, diffprivlib)
        if command is None:
            return None
        write_rows(place / "rows.parquet", point)
        write_config(place / "scale.yaml", point)
        load = os.getloadavg()[0]
        start = time.perf_counter()
        with (place / "said").open("w+") as said, (place / "errors").open("w+") as errors:
            process = subprocess.Popen(command, stdout=said, stderr=errors, cwd=place)
            status, usage = wait(process.pid, start + limit)
            wall = time.perf_counter() - start
            said.seek(0)
            errors.seek(0)
            words, failure = said.read(), errors.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    result: dict[str, object] = {
        **asdict(point),
        "cells": point.cells,
        "wall_s": round(wall, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss / 1024),
        "load": round(load, 1),
        "python": platform.python_version(),
        "status": "done",
    }
    if process.returncode < 0:
        result["status"] = f"stopped after {wall:.0f} s"
    elif process.returncode:
        result["status"] = f"failed: {failure.strip().splitlines()[-1][:200]}"
    elif words.startswith("{"):
        result |= json.loads(words)
    return result


def wait(pid: int, deadline: float) -> tuple[int, resource.struct_rusage]:
    """Wait for a process, or stop it at the deadline."""
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return status, usage
        if time.perf_counter() > deadline:
            os.kill(pid, 15)
            _, status, usage = os.wait4(pid, 0)
            return status or 15, usage
        time.sleep(0.02)


def known() -> set[Point]:
    """The points that were measured before."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    names = Point.__dataclass_fields__
    found = [{name: one[name] for name in names if name in one} for one in map(json.loads, lines)]
    return {Point(**one) for one in found}


def main() -> None:
    """Read the command line and run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", default="cells,rows,columns,sparse,peers")
    parser.add_argument("--largest", type=float, default=1e6, help="cells (or rows), not sparse")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one point")
    parser.add_argument("--diffprivlib", help="a Python interpreter that has diffprivlib")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    parser.add_argument("--run-here", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_here is not None:
        run_here(options.run_here)
        return
    done = set() if options.again else known()
    for family in options.families.split(","):
        for point in points(family):
            too_large = family != "sparse" and point.size > options.largest * 1.1
            if point in done or too_large:
                continue
            result = measured(point, options.limit, options.diffprivlib)
            if result is not None:
                with RESULTS.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
