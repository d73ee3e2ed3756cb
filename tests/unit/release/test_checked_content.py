"""What `verify` holds rows and measurements against, one rule at a time."""

import io
from dataclasses import replace

import numpy as np
import pytest

from synth.domain.counts import Counts
from synth.measurements import write_measurements
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.verification.findings import Compared, Findings
from synth.release.verification.folder import Folder
from synth.release.verification.measurements_check import read_measured
from synth.release.verification.rebuild import rule_findings

from .conftest import BUSY


def rows_of(made):
    """Counts that keep every rule."""
    counts = made.derive(made.measurements, made.config).counts
    return counts.of_every_cell(made.config.universe.shape)


def told(made, counts, **output):
    config = replace(made.config, output=replace(made.config.output, **output))
    listed = Counts.of_all(counts, config.universe.shape)
    return list(rule_findings(listed, config))


@pytest.fixture
def made(measured):
    return measured(**BUSY)


def test_rows_that_keep_every_rule_are_right(made):
    counts = rows_of(made)
    assert told(made, counts) == []
    assert told(made, counts, rows=int(counts.sum())) == []


def test_one_row_in_an_impossible_cell_is_told(made):
    counts = rows_of(made)
    (rule,) = made.config.universe.impossible
    counts[np.flatnonzero(made.config.universe.members(rule))[0]] += 1
    (finding,) = told(made, counts)
    assert "1 rows are impossible" in finding


@pytest.mark.parametrize("more", [-1, 1])
def test_a_total_that_is_not_met_is_told(made, more):
    counts = rows_of(made)
    (entry,) = made.config.public_totals
    inside = made.config.universe.members(entry.where) & (counts > 0)
    counts[np.flatnonzero(inside)[0]] += more
    (finding,) = told(made, counts)
    assert f"{entry.total + more} rows with" in finding


@pytest.mark.parametrize("more", [-1, 1])
def test_another_number_of_rows_is_told(made, more):
    counts = rows_of(made)
    total = int(counts.sum())
    (finding,) = told(made, counts, rows=total + more)
    assert f"{total} rows, expected {total + more}" in finding


@pytest.mark.parametrize("more", [b"\n", b"0", b"\x00"])
def test_a_byte_after_the_last_row_is_told(made, more):
    """Even one that adds no row."""
    columns = published_columns(made.config.universe, made.config.output.bins)
    counts = made.derive(made.measurements, made.config).counts
    text = b"".join(map(bytes, csv_chunks(counts, columns, seed=7)))
    for content, findings in ((text, []), (text + more, ["goes on behind its last byte"])):
        compared = Compared(io.BytesIO(content), lines=True)
        compared.writelines(csv_chunks(counts, columns, seed=7))
        found = compared.findings()
        assert len(found) == len(findings)
        assert all(part in whole for part, whole in zip(findings, found, strict=True))


@pytest.mark.parametrize("place", [0, 1, 7, 100])
@pytest.mark.parametrize("blocks", [1, 5, 1000])
def test_the_first_other_byte_is_told_with_its_line(place, blocks):
    content = b"a,b\n" * 30
    other = bytearray(content)
    other[place] ^= 1
    compared = Compared(io.BytesIO(bytes(other)), lines=True)
    for start in range(0, len(content), blocks):
        compared.write(content[start : start + blocks])
    (finding,) = compared.findings()
    assert finding.startswith(f"byte {place + 1} (line {place // 4 + 1}) is ")
    short = Compared(io.BytesIO(content[:place]))
    short.write(content)
    assert short.findings() == [f"ends before byte {place + 1}"]


FOREIGN = {
    "another release": {"release_id": "other"},
    "another configuration": {"configuration_hash": "0" * 64},
    "other events": {},
}


@pytest.mark.parametrize("what", FOREIGN)
def test_measurements_that_are_of_something_else_are_told(made, tmp_path, what):
    """The file is whole and well formed, and only not the one that the manifest speaks of."""
    foreign = replace(made.measurements, **FOREIGN[what])
    if what == "other events":
        (table,) = made.measurements.tables
        doubled = replace(table.event, epsilon=2 * table.event.epsilon)
        foreign = replace(made.measurements, tables=(replace(table, event=doubled),))
    folder = tmp_path / "release"
    folder.mkdir()
    write_measurements(folder / "measurements.parquet", foreign)
    findings = Findings()
    found = read_measured(Folder(folder), made.config, findings, other_arithmetic=False)
    assert found is None
    (finding,) = findings.found
    assert what in finding


def test_measurements_of_the_configuration_are_taken(made, tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    write_measurements(folder / "measurements.parquet", made.measurements)
    findings = Findings()
    assert read_measured(Folder(folder), made.config, findings, other_arithmetic=False)
    assert findings.found == []
