"""Where the time of a run goes, stage by stage.

    python benchmarks/stages.py configs/nltcs.yaml configs/adult.yaml --repeats 5

Every round works on a fresh copy of the configurations and the data: `synth measure` in a process
of its own, as in a run, then `synth publish` in a process whose functions are timed. The check of
what was written comes last and does much of it again; its share of documents and page is shown
apart. Seconds of wall-clock time, medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

PUBLISH = """
import json, sys, time
start = time.perf_counter()
from synth.config import load_config
from synth.job import pipeline
from synth.release import write
from synth.job.log import StageLog
from synth.release.verification import rebuild

spent, checking = {}, False

def timed(module, name, stage):
    function = getattr(module, name)
    def wrapper(*given, **options):
        begin = time.perf_counter()
        try:
            return function(*given, **options)
        finally:
            key = f"check: {stage}" if checking else stage
            spent[key] = spent.get(key, 0.0) + time.perf_counter() - begin
    setattr(module, name, wrapper)

def check_timed():
    function = write.verify_folder
    def wrapper(*given, **options):
        global checking
        checking, begin = True, time.perf_counter()
        try:
            return function(*given, **options)
        finally:
            checking = False
            spent["check of the release"] = time.perf_counter() - begin
    write.verify_folder = wrapper

config = load_config(sys.argv[1])
timed(write, "derive", "estimate, rounding, forecast")
derive = write.derive
write.write_release.__kwdefaults__["derivation"] = lambda *given: derive(*given)
timed(write, "side_by_side", "rows")
for module in (write, rebuild):
    timed(module, "build_manifest", "documents and page")
    timed(module, "render_data_card", "documents and page")
    timed(module, "metadata_documents", "documents and page")
    timed(module, "render_page", "documents and page")
check_timed()
spent["start and configuration"] = time.perf_counter() - start
pipeline.publish(config, log=StageLog(sys.stderr))
spent["publishing, all of it"] = time.perf_counter() - start
print(json.dumps(spent))
"""


def one_round(config: str) -> dict[str, float]:
    """The seconds of every stage of one run."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("configs", "data"):
            shutil.copytree(ROOT / part, place / part)
        start = time.perf_counter()
        measure = [sys.executable, "-m", "synth", "measure", config]
        subprocess.run(
            measure, cwd=place, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        measured = time.perf_counter() - start
        publish = [sys.executable, "-c", PUBLISH, config]
        done = subprocess.run(
            publish,
            cwd=place,
            check=True,
            capture_output=True,
            text=True,
        )
        return {"measuring, all of it": measured, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    """Print a table of stages by configurations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="+")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    columns = {}
    for config in options.configs:
        rounds = [one_round(config) for _ in range(options.repeats)]
        columns[config] = {
            stage: statistics.median(each[stage] for each in rounds) for stage in rounds[0]
        }
    print(f"{'stage':<32}" + "".join(f"{Path(config).stem:>12}" for config in columns))
    for stage in next(iter(columns.values())):
        print(f"{stage:<32}" + "".join(f"{each[stage]:>12.2f}" for each in columns.values()))


if __name__ == "__main__":
    main()
