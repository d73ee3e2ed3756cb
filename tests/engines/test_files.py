"""Files on DuckDB: schemas that change, many files, and memory that does not grow with rows."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import synth

from .conftest import counts_of

COLUMNS = {"age": [34, 67], "sex": ["Female", "Male"], "town": ["Nord", "Süd"]}
CHANGED = {
    "a column is gone": {"age": [1], "sex": ["Male"]},
    "a column is called otherwise": {"age": [1], "sex": ["Male"], "Town": ["Nord"]},
    "a column became a list": {"age": [1], "sex": ["Male"], "town": [["Nord"]]},
    "a column became bytes": {"age": [1], "sex": [b"Male"], "town": ["Nord"]},
}


@pytest.mark.parametrize("kind", CHANGED)
def test_a_schema_that_changes_in_the_middle_of_a_glob(project, tmp_path, kind):
    """The run stops before any count and any charge, and goes on once the file is mended."""
    path = project(people=None, source={"path": "part-*.parquet"})
    for number in (1, 3):
        pq.write_table(pa.table(COLUMNS), tmp_path / f"part-{number}.parquet")
    pq.write_table(pa.table(CHANGED[kind]), tmp_path / "part-2.parquet")
    finished = synth("measure", path)
    assert finished.returncode == 1, finished.stderr
    assert "the source part-*.parquet" in finished.stderr
    assert "part-2" not in finished.stderr
    if kind != next(iter(CHANGED)):
        return  # what follows does not depend on what had changed
    assert not (tmp_path / "state" / "ledger.sqlite").exists()
    pq.write_table(pa.table(COLUMNS), tmp_path / "part-2.parquet")
    assert synth("measure", path).returncode == 0
    assert json.loads(synth("ledger", path, "--json").stdout)["spent"]["epsilon"] == "1"


def test_types_may_change_between_files_where_each_can_be_counted(project, tmp_path):
    path = project(people=None, source={"path": "part-*.parquet"})
    ages = [
        pa.array([34, 67], pa.int8()), pa.array([34, 67], pa.uint32()), pa.array([34.0, 67.0]),
        pa.array(["34", "67"]), pa.array(["34", "67"]).dictionary_encode(),
        pa.array(["34", "67"], pa.large_string()), pa.array([34, 67], pa.uint64()),
    ]  # fmt: skip
    for number, age in enumerate(ages):
        pq.write_table(pa.table({**COLUMNS, "age": age}), tmp_path / f"part-{number}.parquet")
    counts = counts_of(path)
    assert counts[1, 0, 0] == counts[3, 1, 1] == len(ages)
    assert counts.sum() == 2 * len(ages)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_hundreds_of_files_are_one_source(project, tmp_path, kind):
    path = project(people=None, source={"path": f"part-*.{kind}"})
    for number in range(200):
        file = tmp_path / f"part-{number}.{kind}"
        if kind == "csv":
            file.write_text("age,sex,town\n34,Female,Nord\n67,Male,Süd\n")
        else:
            pq.write_table(pa.table(COLUMNS), file)
    counts = counts_of(path)
    assert counts[1, 0, 0] == counts[3, 1, 1] == 200
    assert counts.sum() == 400


MEASURE = """
import re, sys
from dataclasses import replace
from pathlib import Path
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.seal import quiet_libraries
from synth.curator.counting.tabulate import tabulate
config = load_config(sys.argv[1])
for path in map(Path, sys.argv[2:]):
    source = replace(config.source, path=path)
    with quiet_libraries():
        tabulate(config, source, source_files(source), path.parent)
    # What `getrusage` tells includes the peak of the process that started this one.
    print(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
sys.exit()
"""


def peaks(configuration, *paths, before=""):
    """Of the memory of a process of its own, in MB, after it has counted each of these files."""
    finished = synth(configuration, *paths, program=before + MEASURE)
    assert finished.returncode == 0, finished.stderr
    return [int(line) for line in finished.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["csv.gz", "parquet"])
def test_memory_stays_flat_while_rows_grow(project, tmp_path, kind):
    """Those of the second file have 80 MB more of text."""
    path = project(people=None, source={"path": f"people.{kind}"})
    sizes = (8_000, 48_000)
    town = "N" * 2_000
    for rows in sizes:
        if kind == "parquet":
            columns = {"age": [34] * rows, "sex": ["Female"] * rows, "town": [town] * rows}
            pq.write_table(pa.table(columns), tmp_path / f"{rows}.parquet", row_group_size=8_000)
        else:
            with gzip.open(tmp_path / f"{rows}.csv.gz", "wb", compresslevel=1) as stream:
                stream.write(b"age,sex,town\n")
                for _ in range(rows // 1_000):
                    stream.write(f"34,Female,{town}\n".encode() * 1_000)
    megabytes = peaks(path, *(tmp_path / f"{rows}.{kind}" for rows in sizes))
    assert megabytes[1] - megabytes[0] < 50, megabytes


def test_what_was_read_of_a_parquet_file_is_let_go(tmp_path):
    from synth.curator.files.parquet_source import open_parquet

    values = np.random.default_rng(3).random(1_000_000)
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"age": values}), path, row_group_size=25_000)
    size = path.stat().st_size
    assert size > 7_500_000
    del values
    (stream,) = open_parquet("large.parquet", [path], ["age"], person_column=None)
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in stream.reader()]
    assert max(held) < size / 3
