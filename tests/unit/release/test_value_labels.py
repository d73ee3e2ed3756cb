"""Labels of values in a release: every document says what codes mean, and rows keep the codes."""

import csv
import json

import pytest

from synth.errors import VerificationError
from synth.release.verification import verify_folder
from synth.strict_json import write_json
from tests.release_folder import seal
from tests.unit.release.conftest import LABELLED


@pytest.fixture
def made(released):
    return released(domain=LABELLED)


def document(made, name):
    return json.loads((made.folder / name).read_text(encoding="utf-8"))


def test_the_rows_keep_the_codes(made):
    with (made.folder / "synthetic.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["smokes"] for row in rows} <= {"A", "B", "C", ""}
    assert {row["children"] for row in rows} <= {"0", "1", "2", "3"}


def test_the_table_schema_has_categories_with_values_and_labels(made):
    resources = document(made, "datapackage.json")["resources"]
    schema, *_ = [each["schema"] for each in resources if "schema" in each]
    smokes, children, years = schema["fields"]
    assert smokes["categories"] == [
        {"value": "A", "label": "No"},
        {"value": "B", "label": "Yes | often"},
        {"value": "C"},
    ]
    assert smokes["constraints"]["enum"] == ["A", "B", "C"]
    assert children["categories"][3] == {"value": 3, "label": "three or more"}
    assert [each["value"] for each in children["categories"]] == [0, 1, 2, 3]
    assert "categories" not in years
    assert years["enumLabels"] == {"0": "less than a year"}


def test_croissant_lists_values_with_their_labels(made):
    sets = {each["@id"]: each for each in document(made, "croissant.json")["recordSet"]}
    rows = sets["levels/smokes"]["data"]
    assert [tuple(row.values()) for row in rows] == [
        ("A", "No"), ("B", "Yes | often"), ("C", "C"),
    ]  # fmt: skip
    assert [field["name"] for field in sets["levels/children"]["field"]] == ["name", "label"]


def test_the_card_and_the_page_say_what_codes_mean(made):
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "`A` (No), `B` (Yes \\| often), `C` or missing (not \\<asked\\>); " in card
    page = (made.folder / "index.html").read_text(encoding="utf-8")
    for words in ("A (No)", "missing (not &lt;asked&gt;)", "3 (three or more)"):
        assert words in page
    column = document(made, "manifest.json")["domain"]["columns"][0]
    assert "'X' (refused)" in column["missing_rule"]


def test_a_missing_level_has_the_labels_of_its_words_if_none_of_its_own(released):
    labels = {"A": "No", "X": "refused", "Y": "not asked"}
    column = LABELLED[0] | {"labels": labels, "missing": ["", "X", "Y"]}
    made = released(domain=[column, *LABELLED[1:]])
    assert "missing (refused, not asked)" in (made.folder / "README.md").read_text("utf-8")
    assert "missing (refused, not asked)" in (made.folder / "index.html").read_text("utf-8")


def test_a_changed_label_is_seen_by_who_verifies(made):
    verify_folder(made.folder, derivation=made.derive)
    path = made.folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["configuration"]["domain"][0]["labels"]["A"] = "Never"
    path.write_bytes(write_json(manifest, indent=1))
    seal(made.folder)
    with pytest.raises(VerificationError, match="hash"):
        verify_folder(made.folder, derivation=made.derive)
