"""Time and peak memory of whole runs, as a user starts them.

    python benchmarks/whole_run.py configs/nltcs.yaml configs/adult.yaml --repeats 5

Each run is `synth run` on a fresh copy of the configurations and the data, followed by
`synth verify`. Time is wall-clock and processor time of the process and its children, memory the
largest resident set of any single one. Beside each run stands a floor from the same minute:
reading the source with pandas and writing it again as CSV.
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


def one_round(config: str) -> dict[str, tuple[float, float, float]]:
    """A whole run, its verification and the floor, each in a fresh place."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("configs", "data"):
            shutil.copytree(ROOT / part, place / part)
        synth = [sys.executable, "-m", "synth"]
        run = measured([*synth, "run", config], place)
        [release] = (place / "outputs").iterdir()
        return {
            "run": run,
            "verify": measured([*synth, "verify", str(release)], place),
            "floor": measured([sys.executable, "-c", FLOOR, config], place),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="+")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'configuration':<22}{'command':<9}{'wall s':>9}{'cpu s':>9}{'peak MB':>9}")
    for config in options.configs:
        rounds = [one_round(config) for _ in range(options.repeats)]
        for command in ("run", "verify", "floor"):
            figures = [statistics.median(each[command][i] for each in rounds) for i in range(3)]
            wall, processor, memory = figures
            print(f"{Path(config).name:<22}{command:<9}{wall:>9.2f}{processor:>9.2f}{memory:>9.0f}")


if __name__ == "__main__":
    main()
