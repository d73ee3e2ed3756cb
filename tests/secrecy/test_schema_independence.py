"""The shape of a release, its files, log lines and exit code do not depend on the data."""

import json
import re
import shutil
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from synth.config import load_config
from synth.job import pipeline
from synth.noise import NoiseStream
from synth.progress import Stage, Step, watched_by
from tests.command_line import synth
from tests.release_folder import files_of

HEADER = "age,sex,town\n"
INPUTS = {
    "empty": HEADER,
    "one row": HEADER + "34,Female,Nord\n",
    "an extreme row": HEADER + "1e308,,\x00\n",
    "a novel level": HEADER + "34,Female,Atlantis\n" * 3,
    "constant": HEADER + "34,Female,Nord\n" * 500,
    "all missing": HEADER + ",,\n" * 500,
    "full": HEADER + "".join(f"{i % 100},Male,Süd\n" for i in range(5000)),
}
DEPENDS_ON_NOISE = {
    "value", "rows", "bytes", "sha256", "seed", "measurements_content_hash", "steps",
    "gate", "usefulness",
}  # fmt: skip
KEY = bytes(range(32))


def shape_of(value):
    """A JSON value with its numbers and noise-dependent texts left out."""
    if isinstance(value, dict):
        return {k: None if k in DEPENDS_ON_NOISE else shape_of(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape_of(item) for item in value]
    return None if isinstance(value, int | float) else value


def publish(path, log):
    """The whole job with the noise of a fixed key; returns the release folder."""
    config = load_config(path)
    pipeline.measure(config, log=log, stream=NoiseStream(key=KEY))
    return pipeline.publish(config, log=log).path


def facts(folder, log):
    """Everything about a run that an outsider can see, except numbers that carry noise."""
    schema = pq.read_schema(folder / "synthetic.parquet")
    manifest = json.loads((folder / "manifest.json").read_text())
    for order in manifest["quality"]["fit"]["queries"]:  # which fit the noise best and worst
        order["best"] = order["worst"] = None
    return {
        "log": list(log.lines),
        "files": sorted(files_of(folder)),
        "header": (folder / "synthetic.csv").read_text().splitlines()[0],
        "types": [(field.name, str(field.type)) for field in schema],
        "manifest": shape_of(manifest),
        "cells": pq.read_metadata(folder / "measurements.parquet").num_rows,
    }


class Reports:
    """What the measuring process reports; the figures of loops are all kept."""

    def __init__(self):
        self.heard = []

    def entered(self, step):
        self.heard.append(step)

    def advanced(self, done, total, unit):
        self.heard.append((done, total, unit))


@pytest.mark.parametrize("strategy", ["auto", "identity", "adaptive"])
def test_every_input_gives_the_same_reports_of_progress(project, log, strategy, tmp_path):
    heard = {}
    for kind in ("empty", "an extreme row", "full"):
        reports = Reports()
        path = project(people=INPUTS[kind], strategy=strategy)
        with watched_by(reports):
            pipeline.measure(load_config(path), log=log, stream=NoiseStream(key=KEY))
        heard[kind] = reports.heard
        shutil.rmtree(tmp_path / "state")
    steps = [each for each in heard["full"] if isinstance(each, Step)]
    assert steps[0] == Step(Stage.COUNTING)
    assert {step.stage for step in steps[1:]} == {Stage.NOISE}
    cells = {total for _, total, _ in (each for each in heard["full"] if isinstance(each, tuple))}
    assert bool(cells) == (strategy != "adaptive"), "figures would tell which table is chosen"
    assert len(INPUTS["full"].splitlines()) - 1 not in cells
    for kind, reports in heard.items():
        assert reports == heard["full"], kind


@pytest.mark.parametrize("kind", ["empty", "full"])
def test_a_scheduled_job_writes_the_same_lines_for_every_input(project, kind):
    """The command line, without a terminal: standard error line by line."""
    path = project(people=INPUTS[kind], strategy="identity")
    finished = synth("run", path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.splitlines() == [
        "configuration accepted: 45 cells",
        "reserved: epsilon 1 of nobody",
        "measured: 45 noisy counts",
        "discarded: source kept, no temporary file left",
        "written: release verified from its bytes",
        "published: small",
    ]


def test_every_input_gives_the_same_outward_shape(project, log, tmp_path, monkeypatch):
    """The hash of the reservation, too, which is random by the token of the run alone."""
    token = SimpleNamespace(token_hex=lambda size: "5a" * size)
    monkeypatch.setattr("synth.bookkeeping.run_directory.secrets", token)
    seen = {}
    for kind, people in INPUTS.items():
        log.lines.clear()
        seen[kind] = facts(publish(project(people=people), log), log)
        shutil.rmtree(tmp_path / "outputs")
        shutil.rmtree(tmp_path / "state")
    for kind, found in seen.items():
        assert found == seen["full"], kind


def test_the_number_of_rows_of_the_source_is_nowhere(project, log):
    count = 4_271
    folder = publish(project(people=HEADER + "34,Female,Nord\n" * count), log)
    number = re.compile(rf"(?<![\w.]){count}(?!\w)|{count:,}")
    assert number.search(f"rows: {count}")
    texts = ["\n".join(log.lines)]
    texts += [(folder / name).read_text() for name in ("manifest.json", "README.md")]
    assert not any(number.search(text) for text in texts)
    assert pq.read_metadata(folder / "synthetic.parquet").num_rows != count
