"""Time and peak memory of whole runs, as a user starts them.

    python benchmarks/whole_run.py configs/nltcs.yaml configs/adult.yaml --repeats 5
    python benchmarks/whole_run.py --made-up 8,9 --repeats 1
    python benchmarks/whole_run.py --wide 35,100 --repeats 1

`--made-up 8` is a table of 10^8 cells: eight attributes of ten levels, 1,000,000 records of a
mixture of thirty products, in Parquet; `strategy: identity`, epsilon 1, all pairs in the workload.
`--wide 100` is a table of 100 columns of 2 to 30 levels, 100,000 records (170,000 with fewer
columns): a mixture of forty products in which every second column copies half of its codes, through
a random map, from a column before it; `auto`, epsilon 1, delta 1e-9, all pairs in the workload; the
time of `synth plan` besides.
Each run is `synth run` on a fresh copy of the configurations and the data, followed by
`synth verify`. Time is wall-clock and processor time of the process and its children, memory the
largest resident set of any single one. Beside each run of a file stands a floor from the same
minute: reading the source with pandas and writing it again as CSV.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]

FLOOR = """
import sys, pandas, yaml
from pathlib import Path
path = Path(sys.argv[1])
source = yaml.safe_load(path.read_text())["source"]["path"]
pandas.read_csv(path.parent / source, dtype=str, keep_default_na=False).to_csv("floor.csv")
"""


def measured(command: list[str], place: Path) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak memory in MB of one command."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(command)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


MADE_UP = """
schema_version: 1
release: {{id: made-up, title: A made-up table, description: For a benchmark.,
  curators: [Nobody], contact: nobody@example.org, intended_use: Benchmark, region: Nowhere,
  sector: Other, license: CC0-1.0}}
source: {{path: rows.parquet, disposal: keep, disposal_reason: Made up}}
privacy: {{epsilon: 1, delta: 0, neighbours: add-remove, unit: record, justification: Made up}}
ledger: {{path: state/ledger.sqlite, population: nobody, epsilon_cap: 1, delta_cap: 0}}
domain:
{attributes}
workload: {{marginals: 2, cells: true}}
strategy: {strategy}
output: {{directory: outputs, formats: [csv, parquet]}}
"""
RECORDS, PARTS = 1_000_000, 30
DENSE_ATTRIBUTES = 9
"""From more attributes than this on, the universe is measured as a list of its heavy cells."""


WIDE = """
schema_version: 1
release: {{id: wide, title: A wide table, description: For a benchmark.,
  curators: [Nobody], contact: nobody@example.org, intended_use: Benchmark, region: Nowhere,
  sector: Other, license: CC0-1.0}}
source: {{path: rows.parquet, disposal: keep, disposal_reason: Made up}}
privacy: {{epsilon: 1, delta: 1e-9, neighbours: add-remove, unit: record, justification: Made up}}
ledger: {{path: state/ledger.sqlite, population: nobody, epsilon_cap: 1, delta_cap: 1e-9}}
domain:
{attributes}
workload: {{marginals: 2, expected_records: {records}}}
strategy: auto
output: {{directory: outputs, formats: [csv, parquet]}}
"""
PRODUCTS, FEWEST_LEVELS, MOST_LEVELS = 40, 2, 30
MANY_COLUMNS = 100
WIDE_RECORDS, NARROWER_RECORDS = 100_000, 170_000
"""Of a table of `MANY_COLUMNS` columns or more, and of fewer."""


def make_up_wide(place: Path, columns: int) -> str:
    """Write the rows and the configuration of a wide table; the name of the configuration."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(columns)
    records = WIDE_RECORDS if columns >= MANY_COLUMNS else NARROWER_RECORDS
    logs = generator.uniform(np.log(FEWEST_LEVELS), np.log(MOST_LEVELS + 1), columns)
    sizes = np.exp(logs).astype(int).clip(FEWEST_LEVELS, MOST_LEVELS)
    part = generator.choice(PRODUCTS, size=records, p=generator.dirichlet(np.ones(PRODUCTS)))
    codes, entries = [], []
    for number, size in enumerate(sizes):
        shares = generator.dirichlet(np.full(size, 0.6), size=PRODUCTS).cumsum(axis=1)
        own = (generator.random(records)[:, None] > shares[part]).sum(axis=1).clip(0, size - 1)
        if number % 2:
            other = int(generator.integers(number))
            copied = generator.integers(0, size, size=sizes[other])[codes[other]]
            own = np.where(generator.random(records) < 0.5, copied, own)
        codes.append(own)
        levels = ", ".join(f"'level {code}'" for code in range(size))
        entries.append(
            f"  - {{name: c{number}, type: categorical, levels: [{levels}], "
            "out_of_domain: level 0, source: made up}"
        )
    words = {f"c{n}": pa.array([f"level {code}" for code in own]) for n, own in enumerate(codes)}
    pq.write_table(pa.table(words), place / "rows.parquet")
    text = WIDE.format(attributes="\n".join(entries), records=records)
    (place / "wide.yaml").write_text(text)
    return "wide.yaml"


def make_up(place: Path, attributes: int) -> str:
    """Write the rows and the configuration of a made-up table; the name of the configuration."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(3)
    part = generator.choice(PARTS, size=RECORDS, p=generator.dirichlet(np.ones(PARTS)))
    columns, entries = {}, []
    levels = ", ".join(f"'{code}'" for code in range(10)).join("[]")
    for number in range(attributes):
        shares = generator.dirichlet(np.full(10, 0.5), size=PARTS).cumsum(axis=1)
        codes = (generator.random(RECORDS)[:, None] > shares[part]).sum(axis=1).clip(0, 9)
        columns[f"a{number}"] = pa.array(codes.astype(str))
        entries.append(
            f"  - {{name: a{number}, type: categorical, levels: {levels}, out_of_domain: '0', "
            "source: made up}"
        )
    pq.write_table(pa.table(columns), place / "rows.parquet")
    strategy = "identity" if attributes <= DENSE_ATTRIBUTES else "sparse"
    text = MADE_UP.format(attributes="\n".join(entries), strategy=strategy)
    (place / "made-up.yaml").write_text(text)
    return "made-up.yaml"


def made_up_round(attributes: int) -> dict[str, tuple[float, float, float]]:
    """A whole run of a made-up table, and its verification."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        config = make_up(place, attributes)
        synth = [sys.executable, "-m", "synth"]
        run = measured([*synth, "run", config], place)
        [release] = (path for path in (place / "outputs").iterdir() if path.is_dir())
        for file in sorted(release.iterdir()):
            print(f"  {file.name}: {file.stat().st_size:,} bytes", file=sys.stderr)
        return {"run": run, "verify": measured([*synth, "verify", str(release)], place)}


def wide_round(columns: int) -> dict[str, tuple[float, float, float]]:
    """The plan of a wide table, a whole run and its verification."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        synth, config = [sys.executable, "-m", "synth"], make_up_wide(place, columns)
        plan = measured([*synth, "plan", config], place)
        run = measured([*synth, "run", config], place)
        [release] = (path for path in (place / "outputs").iterdir() if path.is_dir())
        return {
            "plan": plan,
            "run": run,
            "verify": measured([*synth, "verify", str(release)], place),
        }


def one_round(config: str) -> dict[str, tuple[float, float, float]]:
    """A whole run, its verification and the floor, each in a fresh place."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("configs", "data"):
            shutil.copytree(ROOT / part, place / part)
        synth = [sys.executable, "-m", "synth"]
        run = measured([*synth, "run", config], place)
        [release] = (path for path in (place / "outputs").iterdir() if path.is_dir())
        return {
            "run": run,
            "verify": measured([*synth, "verify", str(release)], place),
            "floor": measured([sys.executable, "-c", FLOOR, config], place),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="*")
    parser.add_argument("--made-up", default="", help="numbers of attributes of ten levels")
    parser.add_argument("--wide", default="", help="numbers of columns of 2 to 30 levels")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'configuration':<22}{'command':<9}{'wall s':>9}{'cpu s':>9}{'peak MB':>9}")
    work = [(Path(config).name, partial(one_round, config)) for config in options.configs]
    for number in filter(None, options.made_up.split(",")):
        work.append((f"10^{number} cells", partial(made_up_round, int(number))))
    for columns in filter(None, options.wide.split(",")):
        work.append((f"{columns} columns", partial(wide_round, int(columns))))
    for config, once in work:
        rounds = [once() for _ in range(options.repeats)]
        for command in rounds[0]:
            figures = [statistics.median(each[command][i] for each in rounds) for i in range(3)]
            wall, processor, memory = figures
            print(f"{config:<22}{command:<9}{wall:>9.2f}{processor:>9.2f}{memory:>9.0f}")


if __name__ == "__main__":
    main()
