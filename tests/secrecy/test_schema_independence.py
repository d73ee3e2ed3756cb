"""The shape of a release, its files, log lines and exit code do not depend on the data."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

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
DEPENDS_ON_NOISE = {"value", "rows", "bytes", "sha256", "public_seed"}


def shape_of(value):
    """A JSON value with its numbers and noise-dependent texts left out."""
    if isinstance(value, dict):
        return {k: None if k in DEPENDS_ON_NOISE else shape_of(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape_of(item) for item in value]
    return None if isinstance(value, int | float) else value


@pytest.fixture
def published(project):
    def publish(people: str):
        path = project(people=people)
        finished = subprocess.run(
            [sys.executable, "-m", "synth", "run", str(path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return path.parent / "outputs" / "small", finished

    return publish


def facts(folder, finished):
    """Everything about a run that an outsider can see, except numbers that carry noise."""
    schema = pq.read_schema(folder / "synthetic.parquet")
    return {
        "exit": finished.returncode,
        "log": finished.stderr,
        "files": sorted(path.name for path in folder.iterdir()),
        "header": (folder / "synthetic.csv").read_text().splitlines()[0],
        "types": [(field.name, str(field.type)) for field in schema],
        "manifest": shape_of(json.loads((folder / "manifest.json").read_text())),
        "cells": pq.read_metadata(folder / "measurements.parquet").num_rows,
    }


def test_every_input_gives_the_same_outward_shape(published, tmp_path):
    import shutil

    seen = {}
    for name, people in INPUTS.items():
        folder, finished = published(people)
        assert finished.returncode == 0, finished.stderr
        seen[name] = facts(folder, finished)
        shutil.rmtree(tmp_path / "outputs")
        shutil.rmtree(tmp_path / "state")
    for name, fact in seen.items():
        assert fact == seen["full"], name


def test_the_number_of_rows_of_the_source_is_nowhere(published):
    count = 4_271
    folder, finished = published(HEADER + "34,Female,Nord\n" * count)
    assert finished.returncode == 0, finished.stderr
    assert str(count) not in finished.stdout + finished.stderr
    for name in ("manifest.json", "README.md"):
        text = (folder / name).read_text()
        assert str(count) not in text
        assert f"{count:,}" not in text
