"""The shape of a release, its files, log lines and exit code do not depend on the data."""

import json
import re
import shutil

import pyarrow.parquet as pq
import pytest

from synth import pipeline
from synth.config import load_config
from synth.noise import NoiseStream

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
    return {
        "log": log.lines,
        "files": sorted(path.name for path in folder.iterdir()),
        "header": (folder / "synthetic.csv").read_text().splitlines()[0],
        "types": [(field.name, str(field.type)) for field in schema],
        "manifest": shape_of(json.loads((folder / "manifest.json").read_text())),
        "cells": pq.read_metadata(folder / "measurements.parquet").num_rows,
    }


@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_gives_the_same_outward_shape(project, log, kind, tmp_path):
    full = type(log)()
    expected = facts(publish(project(people=INPUTS["full"]), full), full)
    shutil.rmtree(tmp_path / "outputs")
    shutil.rmtree(tmp_path / "state")
    assert facts(publish(project(people=INPUTS[kind]), log), log) == expected


def test_the_number_of_rows_of_the_source_is_nowhere(project, log):
    count = 4_271
    folder = publish(project(people=HEADER + "34,Female,Nord\n" * count), log)
    number = re.compile(rf"(?<![\w.]){count}(?!\w)|{count:,}")
    assert number.search(f"rows: {count}")
    texts = ["\n".join(log.lines)]
    texts += [(folder / name).read_text() for name in ("manifest.json", "README.md")]
    assert not any(number.search(text) for text in texts)
    assert pq.read_metadata(folder / "synthetic.parquet").num_rows != count
