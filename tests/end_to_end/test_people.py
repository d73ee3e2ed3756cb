"""A table with many records for each person, from the command line to a verified release."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.command_line import synth

MOST = 2
PEOPLE = 300


def visits() -> str:
    """Visits of people to three towns: some come once, some a hundred times."""
    rng = np.random.default_rng(3)
    lines = ["person,age,sex,town"]
    for person in range(PEOPLE):
        sex = ["Female", "Male"][person % 2]
        for _ in range(100 if person % 50 == 0 else 1 + person % 4):
            town = ["Nord", "Süd", "Other"][rng.integers(3)]
            lines.append(f"p{person},{person % 90},{sex},{town}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("delta", ["0", "1e-4"], ids=["laplace", "gaussian"])
def test_a_release_about_people(project, delta):
    path = project(
        people=visits(),
        privacy={"epsilon": 8, "delta": delta, "unit": {"column": "person", "max_records": MOST}},
        ledger={"epsilon_cap": 10, "delta_cap": "1e-3"},
        strategy={"tables": [["age"], ["sex", "town"]]},
    )
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    folder = path.parent / "outputs" / "small"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["guarantee"]["max_records_per_unit"] == MOST
    assert manifest["guarantee"]["sensitivity_l1"] == MOST
    expected = {"L1": MOST, "squared L2": MOST**2}
    for event in manifest["accounting"]["events"]:
        assert event["sensitivity"] == expected[event["sensitivity_norm"]]
    rows = pq.read_table(folder / "synthetic.parquet")
    # 75 people have one record, the other 225 more: 2 of each count
    assert abs(rows.num_rows - (75 + 2 * 225)) < 60
    assert "person" not in rows.column_names
