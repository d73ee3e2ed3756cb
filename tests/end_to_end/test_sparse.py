"""A universe of 10^30 cells through the command line: published, verified, and tampered with."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from synth.errors import VerificationError
from synth.release import verify_release
from tests.command_line import synth

NAMES = [f"c{i:02}" for i in range(30)]
RECORDS = 6000
HEAVY = 1500
"""Records of the first of all cells: more than the threshold of any list."""
CONFIGURATION = {
    "schema_version": 1,
    "release": {
        "id": "sparse",
        "title": "Made-up answers",
        "description": "For tests",
        "curators": ["Test Office"],
        "contact": "data@example.org",
        "intended_use": "Testing",
        "region": "Nowhere",
        "sector": "Government",
        "license": "CC-BY-4.0",
    },
    "source": {"path": "answers.csv", "disposal": "keep", "disposal_reason": "made up"},
    "privacy": {
        "epsilon": 2,
        "neighbours": "add-remove",
        "unit": "record",
        "justification": "A test needs no more.",
    },
    "ledger": {"path": "state/ledger.sqlite", "population": "nobody", "epsilon_cap": 2},
    "domain": [
        {"name": name, "type": "categorical", "levels": [str(code) for code in range(10)]}
        | {"out_of_domain": "0", "source": "test"}
        for name in NAMES
    ],
    "impossible": [{"c00": ["7", "8"], "c01": "9"}],
    "public_totals": [{"where": {"c02": "3"}, "total": 321, "source": "a register"}],
    "strategy": "sparse",
    "workload": {"marginals": 1},
    "output": {"directory": "outputs"},
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The folder of a release, made once."""
    place = tmp_path_factory.mktemp("sparse")
    generator = np.random.default_rng(8)
    columns = {}
    for name in NAMES:
        codes = np.minimum(generator.geometric(0.3, RECORDS) - 1, 9)
        codes[:HEAVY] = 1
        columns[name] = codes
    pyarrow.csv.write_csv(pa.table(columns), place / "answers.csv")
    path = place / "sparse.yaml"
    path.write_text(yaml.safe_dump(CONFIGURATION), encoding="utf-8")
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    return place / "outputs" / "sparse"


def event_of(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (event,) = [e for e in manifest["accounting"]["events"] if "threshold" in e]
    return manifest, event


def test_a_release_of_a_universe_that_cannot_be_held_stands(published):
    manifest, event = event_of(published)
    assert manifest["domain"]["universe_size"] == 10**30
    listing = manifest["quality"]["listing"]
    rows = pq.read_table(published / "synthetic.parquet").to_pandas()
    assert listing["rows_in_listed_cells"] + listing["rows_from_the_model"] == len(rows)
    assert listing["listed_cells"] == event["listed_cells"]
    assert listing["listed_cells_with_rows"] < 10
    assert listing["threshold"] < HEAVY
    assert any("are not listed" in text for text in manifest["purpose"]["limitations"])
    assert (rows["c02"] == "3").sum() == 321
    assert not (rows["c00"].isin(["7", "8"]) & (rows["c01"] == "9")).any()
    heavy = int((rows == "1").all(axis=1).sum())
    assert abs(heavy - HEAVY) < 200
    for name in NAMES[3:]:
        share = (rows[name] == "0").mean()
        assert abs(share - 0.3 * (1 - HEAVY / RECORDS)) < 0.06
    card = (published / "README.md").read_text(encoding="utf-8")
    assert f"whose noisy count is at least {event['threshold']}" in card


def changed_file(published, change):
    """A copy of the release with other measurements; returns what the verifier finds."""
    folder = published.with_name("changed")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(published, folder)
    path = folder / "measurements.parquet"
    table = pq.read_table(path)
    pq.write_table(change(table), path)
    with pytest.raises(VerificationError) as caught:
        verify_release(folder)
    return "\n".join(caught.value.findings)


def replaced(table, name, value):
    """The first listed cell gets another value in this column."""
    column = table.column(name).combine_chunks()
    first = pa.array([True] + [False] * (len(column) - 1))
    number = table.column_names.index(name)
    changed = pc.if_else(first, pa.scalar(value, column.type), column)
    return table.set_column(number, table.schema.field(number), changed)


def test_a_count_below_the_threshold_is_found(published):
    _, event = event_of(published)
    found = changed_file(published, lambda t: replaced(t, "noisy_count", event["threshold"] - 1))
    assert "lists a cell below the threshold" in found


def test_a_listed_cell_out_of_order_is_found(published):
    found = changed_file(published, lambda t: replaced(t, "code:c00", 9))
    assert "does not list cells in ascending order" in found


def test_an_impossible_listed_cell_is_found(published):
    def change(table):
        """The last listed cell with 7 in the first column gets 9, the largest code, in the next."""
        column = table.column("code:c01").combine_chunks()
        first = np.asarray(table.column("code:c00").fill_null(-1))
        last = int(np.flatnonzero(first == 7)[-1])
        mask = pa.array(np.arange(len(first)) == last)
        changed = pc.if_else(mask, pa.scalar(9, column.type), column)
        number = table.column_names.index("code:c01")
        return table.set_column(number, table.schema.field(number), changed)

    assert "lists an impossible cell" in changed_file(published, change)


def test_another_listed_cell_gives_other_rows(published):
    """A change that the file's own rules allow shows in the checksum and in what is rebuilt."""
    _, event = event_of(published)
    found = changed_file(published, lambda t: replaced(t, "noisy_count", 20 + event["threshold"]))
    assert "measurements.parquet: its bytes were changed" in found
    assert "synthetic.csv: byte " in found
