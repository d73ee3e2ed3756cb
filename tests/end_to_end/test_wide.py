"""Above the dense limit, with pairs: what the model cannot hold is mended and published."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import yaml

from tests.command_line import synth

RECORDS = 1200
TWINS = 96
"""Levels of two columns that are the same: more than the classes that so few records have."""
OTHERS = [12] * 6
NAMES = ["twin-a", "twin-b", *(f"c{number}" for number in range(len(OTHERS)))]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The place of a release, made once."""
    place = tmp_path_factory.mktemp("wide")
    generator = np.random.default_rng(5)
    twins = generator.integers(0, TWINS, RECORDS)
    columns = [twins, (twins * 5 + 3) % TWINS]
    columns += [generator.integers(0, size, RECORDS) for size in OTHERS]
    pyarrow.csv.write_csv(pa.table(dict(zip(NAMES, columns, strict=True))), place / "rows.csv")
    sizes = [TWINS, TWINS, *OTHERS]
    domain = [
        {"name": name, "type": "integer", "minimum": 0, "maximum": size - 1, "bin_width": 1}
        | {"out_of_domain": "clamp", "source": "test"}
        for name, size in zip(NAMES, sizes, strict=True)
    ]
    plain = {
        "schema_version": 1,
        "release": {
            "id": "wide",
            "title": "Made-up answers",
            "description": "For tests",
            "curators": ["Test Office"],
            "contact": "data@example.org",
            "intended_use": "Testing",
            "region": "Nowhere",
            "sector": "Government",
            "license": "CC-BY-4.0",
        },
        "source": {"path": "rows.csv", "disposal": "keep", "disposal_reason": "made up"},
        "privacy": {"epsilon": 8, "neighbours": "add-remove", "unit": "record"}
        | {"justification": "A test needs little noise."},
        "ledger": {"path": "state/ledger.sqlite", "population": "nobody", "epsilon_cap": 8},
        "domain": domain,
        "workload": {"marginals": 2, "expected_records": RECORDS},
        "strategy": {"tables": [NAMES[:2], NAMES[2:4], NAMES[3:5], NAMES[4:6], NAMES[6:8]]},
        "output": {"directory": "outputs"},
    }
    (place / "wide.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
    done = synth("run", place / "wide.yaml")
    assert done.returncode == 0, done.stderr
    return place


def test_what_the_classes_cannot_hold_is_mended_without_a_loss_of_records(published):
    manifest = json.loads((published / "outputs" / "wide" / "manifest.json").read_text())
    gate = manifest["quality"]["gate"]
    assert gate["outcome"] == "raked"
    assert gate["contradicted"] == 0
    rows = pyarrow.csv.read_csv(published / "outputs" / "wide" / "synthetic.csv")
    assert abs(rows.num_rows - RECORDS) < 60
    first, second = (rows[name].to_numpy() for name in NAMES[:2])
    assert (second == (first * 5 + 3) % TWINS).mean() > 0.4
    for name, size in zip(NAMES[2:], OTHERS, strict=True):
        shares = np.bincount(rows[name].to_numpy(), minlength=size) / rows.num_rows
        assert np.abs(shares - 1 / size).max() < 0.05
