"""`synth inspect` from the command line: what did not arrive, why, and nothing else."""

import gzip
import json
import stat

import pandas as pd
import pytest
import yaml

from tests.command_line import synth

CANARY = "canary-4711"
NUMBER = {
    "name": "systolic", "type": "number", "edges": [80, 100, 120, 140, 200], "missing": [""],
    "out_of_domain": "missing", "source": "t",
}  # fmt: skip
SEX = {
    "name": "sex", "type": "categorical", "levels": ["Female", "Male"], "missing": ["?"],
    "out_of_domain": "missing", "source": "t",
}  # fmt: skip
CODE = {
    "name": "code", "type": "integer", "minimum": 1, "maximum": 5, "bin_width": 1,
    "out_of_domain": "clamp", "source": "t",
}  # fmt: skip


def inspected(config, *words):
    done = synth("inspect", config, "--json", *words)
    assert done.returncode == 0, done.stderr
    assert "PRIVATE" in done.stderr
    assert CANARY not in done.stderr
    return json.loads(done.stdout)


def with_source(config, **keys):
    """Write keys of the source into a configuration."""
    written = yaml.safe_load(config.read_text())
    written["source"] |= keys
    config.write_text(yaml.safe_dump(written))


def contents(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def by_name(found):
    return {column["name"]: column for column in found["columns"]}


def decimal_commas():
    """3,054 records, of which 2,707 have decimals behind a comma."""
    values = [f'"{90 + n % 90},{n % 9 + 1}"' for n in range(2707)]
    return "systolic\n" + "\n".join([*values, *["120"] * 347]) + "\n"


def test_decimal_commas_are_told_with_what_mends_them(project):
    config = project(domain=[NUMBER], workload={"marginals": 1})
    place = config.parent
    (place / "people.csv").write_text(decimal_commas())
    before = contents(place)
    found = inspected(config)
    assert contents(place) == before, "no ledger, no report, no spill"
    (column,) = found["columns"]
    assert (found["records"], column["fits"], column["nowhere"]) == (3054, 347, 2707)
    assert column["reasons"][0]["reason"] == "written with a decimal comma"
    assert column["reasons"][0]["counted_as"] == {"missing": 2707}
    assert found["sentences"] == [
        "systolic: 2,707 of 3,054 values fit nowhere; 2,707 are written with a decimal comma: "
        'add `decimal: ","` to source'
    ]
    with_source(config, decimal=",")
    (column,) = inspected(config)["columns"]
    assert (column["fits"], column["nowhere"]) == (3054, 0)


RECORDS = [
    ("100.5", "Female", "1"), ("230", "female ", "9"), ("", "?", "2"), ("7", "m", "-3"),
    ("nan", CANARY, "5"), ("1e2", "Male", ""), ("x", "Male", "3.5"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_every_format_says_where_each_value_goes(project, name):
    config = project(domain=[NUMBER, SEX, CODE], workload={"marginals": 1}, source={"path": name})
    table = pd.DataFrame(RECORDS, columns=["systolic", "sex", "code"])
    path = config.parent / name
    if path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(table.to_csv(index=False).encode()))
    else:
        path.write_text(table.to_csv(index=False))
    found = inspected(config)
    assert found["records"] == len(RECORDS)
    columns = by_name(found)
    counts = ("fits", "declared_missing", "below", "above", "nowhere")
    assert [columns["systolic"][key] for key in counts] == [2, 1, 1, 1, 2]
    assert [columns["sex"][key] for key in counts] == [3, 1, 0, 0, 3]
    assert [columns["code"][key] for key in counts] == [4, 0, 1, 1, 1]
    reasons = {each["reason"]: each for each in columns["sex"]["reasons"]}
    assert reasons["another spelling of a level (case, blanks)"]["examples"] == {"female ": 1}
    assert reasons["code not in the codebook"]["examples"] == {"m": 1, CANARY: 1}
    assert {e["reason"] for e in columns["code"]["reasons"]} == {
        "below the smallest number", "above the largest number", "empty"
    }  # fmt: skip


def test_latin_1_read_as_utf_8_is_told(project):
    config = project()
    text = "age,sex,town\n" + "34,Female,Süd\n" * 30
    (config.parent / "people.csv").write_bytes(text.encode("latin-1"))
    (reason,) = by_name(inspected(config))["town"]["reasons"]
    assert "not in encoding utf-8" in reason["reason"]
    assert "windows-1252" in reason["fix"]
    with_source(config, encoding="latin1")
    assert by_name(inspected(config))["town"]["fits"] == 30


def test_a_file_without_names_is_told_and_can_be_read(project):
    config = project(domain=[{**CODE, "name": "34", "maximum": 99}], workload={"marginals": 1})
    (config.parent / "people.csv").write_text("34,Female\n67,Male\n12,Male\n")
    found = inspected(config)
    assert found["records"] == 2
    assert found["first_line_looks_like_data"]
    assert "header: [...]" in found["sentences"][0]
    with_source(config, header=["34", "sex"])
    found = inspected(config)
    assert (found["records"], found["first_line_looks_like_data"]) == (3, False)
    assert synth("run", config).returncode == 0


def test_records_that_are_left_out_are_counted(project):
    config = project(privacy={"unit": {"column": "person", "max_records": 2}})
    rows = ["a,34,Female,Nord"] * 5 + [
        "b,34,Female,Nord",
        ",34,Female,Nord",
        "c,34",
        "d,1,Male,Nord,x",
    ]
    (config.parent / "people.csv").write_text("person,age,sex,town\n" + "\n".join(rows))
    found = inspected(config)
    assert found["left_out"] == {
        "too_few_fields": 1,
        "too_long": 0,
        "more_fields": 1,
        "unreadable": 0,
    }
    person = found["person"]
    assert (person["ids"], person["repeated"], person["most"]) == (3, 1, 5)
    assert (person["beyond_bound"], person["without_id"]) == (3, 1)


def test_a_record_that_is_too_long_is_counted_and_never_shown(project):
    config = project(people="age,sex,town\n34,Female," + CANARY * 2_000_000 + "\n67,Male,Nord\n")
    found = inspected(config)
    assert found["records"] == 1
    assert found["left_out"] == {
        "too_few_fields": 0,
        "too_long": 1,
        "more_fields": 0,
        "unreadable": 0,
    }
    assert CANARY not in json.dumps(found)


def test_an_id_that_repeats_is_told_where_the_unit_is_a_record(project):
    config = project()
    rows = [f"p{n % 7},34,Female,Nord" for n in range(20)]
    (config.parent / "people.csv").write_text("patient_id,age,sex,town\n" + "\n".join(rows))
    found = inspected(config)
    assert [(each["name"], each["repeated"]) for each in found["id_like"]] == [("patient_id", 7)]
    assert any("max_records" in sentence for sentence in found["sentences"])


def test_a_report_is_private_and_outside_of_releases(project):
    config = project()
    report = config.parent / "report.txt"
    done = synth("inspect", config, "--report", report)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{report}\n"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert "records read: 120" in report.read_text()
    assert not (config.parent / "state").exists()
    (config.parent / "rel").mkdir()
    (config.parent / "rel" / "manifest.json").write_text("{}")
    for place in (report, config.parent / "rel" / "report.txt"):
        refused = synth("inspect", config, "--report", place)
        assert refused.returncode == 1
        assert "WARNING" not in refused.stderr
    (config.parent / "people.csv").unlink()
    assert synth("inspect", config).returncode == 1
