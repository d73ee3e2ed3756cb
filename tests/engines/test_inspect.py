"""`synth inspect` says of a table in a database what it says of the same table in a file."""

from __future__ import annotations

import json

import yaml

from tests.command_line import synth
from tests.conftest import SMALL, merged

from .conftest import counts_of, write_csv

KINDS = {"age": "int", "rate": "float4", "pay": "numeric(10, 2)", "sex": "text"}
ROWS = [
    (n % 120, (n % 9) / 8, f"{n % 400}.25", ["Female", "Male", "male", None, "x"][n % 5])
    for n in range(300)
]  # fmt: skip
DOMAIN = [
    SMALL["domain"][0],
    {"name": "rate", "type": "number", "edges": [0, 0.5, 0.75], "missing": [""],
     "out_of_domain": "missing", "source": "t"},
    {"name": "pay", "type": "number", "edges": [0, 100, 200], "out_of_domain": "clamp",
     "source": "t"},
    SMALL["domain"][1],
]  # fmt: skip


def inspected(path, source):
    changes = {"domain": DOMAIN, "workload": {"marginals": 1}, "source": {"path": None} | source}
    path.write_text(yaml.safe_dump(merged(SMALL, changes)))
    done = synth("inspect", path, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_table_and_a_file_are_told_alike_and_as_a_run_counts_them(tmp_path, server):
    server.fill("inspected", KINDS, ROWS)
    write_csv(tmp_path / "people.csv", list(KINDS), ROWS)
    table = inspected(tmp_path / "t.yaml", {"url": server.url(), "table": "inspected"})
    file = inspected(tmp_path / "f.yaml", {"path": "people.csv"})
    assert table["records"] == 300
    for one, other in zip(table["columns"], file["columns"], strict=True):
        keys = ("fits", "declared_missing", "below", "above", "nowhere")
        assert [one[key] for key in keys] == [other[key] for key in keys], one["name"]
        assert {r["reason"]: r["counted_as"] for r in one["reasons"]} == {
            r["reason"]: r["counted_as"] for r in other["reasons"]
        }
    counts = counts_of(tmp_path / "t.yaml")
    sex = table["columns"][3]
    assert counts.sum(axis=(0, 1, 2))[2] == sex["declared_missing"] + sex["nowhere"] == 180
    rate = table["columns"][1]
    assert counts.sum(axis=(0, 2, 3))[2] == rate["above"]
