"""What people read: the data card, its snippets, and the page on the release folder."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from synth.domain.counts import Counts
from synth.estimate.rounding import LAST_DIGITS, MOST_MOVED
from synth.release.documents.snippets import load_snippets
from synth.release.verification.manifest_check import ATTESTED_ONLY
from synth.release.verification.rebuild import REAL_TOLERANCE
from synth.release.write import write_release
from tests.unit.release.conftest import released_in

PAGE = Path(__file__).parents[3] / "docs" / "release-folder.md"

TOTAL = {"total": 300, "source": "census"}


def manifest_of(made):
    return json.loads((made.folder / "manifest.json").read_text(encoding="utf-8"))


def card_of(made):
    return (made.folder / "README.md").read_text(encoding="utf-8")


def snippets(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("data_file", ["csv", "parquet"])
def test_the_python_snippets_of_the_card_run(released, data_file):
    made = released(output={"formats": [data_file]})
    code = [c for c in snippets(card_of(made), "python") if "polars" not in c]
    assert len(code) == 2
    check = "\nassert people.shape[1] == 3 and noisy.shape == (45, 6)\nprint(len(people))"
    command = [sys.executable, "-W", "error", "-c", "\n".join(code) + check]
    done = subprocess.run(command, cwd=made.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == int(made.derive(made.measurements, made.config).counts.total)


AWKWARD = {
    "domain": [
        {"name": "code", "type": "categorical", "levels": ["001", "01", "1", "NA", "T", "1e3"]}
        | {"missing": [""], "out_of_domain": "missing", "source": "test"},
        {"name": 'the "age", it\'s', "type": "integer", "edges": [0, 1, 2, 10**15]}
        | {"missing": [""], "out_of_domain": "missing", "source": "test"},
        {"name": "flag", "type": "categorical", "levels": ["0", "1"], "out_of_domain": "0"}
        | {"source": "test"},
        {"name": "income", "type": "number", "edges": ["-0.3", "0.1", 5000]}
        | {"missing": ["?"], "out_of_domain": "missing", "source": "test"},
    ],
    "workload": {"marginals": 1},
}
"""Text that looks like numbers, truth values and NA; whole numbers with missing values."""


def plain_columns(people):
    """A data frame as lists by name, missing values as None."""
    return {name: [None if pd.isna(value) else value for value in people[name]] for name in people}


@pytest.fixture(scope="module")
def awkward_release(tmp_path_factory):
    return released_in(tmp_path_factory.mktemp("awkward"), **AWKWARD)


@pytest.fixture
def awkward(awkward_release, monkeypatch):
    """An awkward release as the working directory, and its rows as Parquet holds them."""
    made = awkward_release
    monkeypatch.chdir(made.folder)
    rows = pq.read_table("synthetic.parquet").to_pydict()
    assert {"001", "01", "1", "NA", "T", "1e3", None} == set(rows["code"])
    assert None in rows['the "age", it\'s']
    return made, rows


@pytest.mark.parametrize("formats", [["csv"], ["csv", "parquet"], ["parquet"]])
def test_the_code_for_pandas_loads_what_was_published(awkward, formats):
    made, rows = awkward
    code = load_snippets(manifest_of(made)["domain"]["columns"], formats)["pandas"]
    assert formats != ["csv", "parquet"] or code in card_of(made)
    names: dict = {}
    exec(code, names)
    people = names["people"]
    assert [str(kind).lower() for kind in people.dtypes] == ["string", "int64", "string", "float64"]
    assert people.iloc[:, 1].dtype == pd.Int64Dtype()
    assert plain_columns(people) == rows


@pytest.mark.parametrize("formats", [["csv"], ["csv", "parquet"], ["parquet"]])
def test_the_code_for_duckdb_loads_what_was_published(awkward, formats):
    made, rows = awkward
    query = load_snippets(manifest_of(made)["domain"]["columns"], formats)["duckdb"]
    assert formats != ["csv", "parquet"] or query in card_of(made)
    found = duckdb.connect().sql(query).to_arrow_table()
    assert [str(kind) for kind in found.schema.types] == ["string", "int64", "string", "double"]
    assert found.to_pydict() == rows


@pytest.mark.parametrize("formats", [["csv"], ["csv", "parquet"], ["parquet"]])
def test_the_code_for_polars_loads_what_was_published(awkward, formats):
    made, rows = awkward
    code = load_snippets(manifest_of(made)["domain"]["columns"], formats)["polars"]
    assert formats != ["csv", "parquet"] or code in card_of(made)
    names: dict = {}
    exec(code, names)
    people = names["people"]
    assert [str(kind) for kind in people.dtypes] == ["String", "Int64", "String", "Float64"]
    assert people.to_dict(as_series=False) == rows


R_CHECK = """
for (column in people) {
    stopifnot(class(column) == if (is.character(column)) "character" else "numeric")
    cat(sum(is.na(column)), length(column), "\\n")
}
cat(people[["code"]], sep = ",", fill = FALSE)
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R on the machine")
def test_the_code_for_r_loads_what_was_published(awkward):
    made, rows = awkward
    code = load_snippets(manifest_of(made)["domain"]["columns"], ["csv"])["r"]
    done = subprocess.run(["Rscript", "-e", code + R_CHECK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *counted, codes = done.stdout.splitlines()
    missing = [f"{values.count(None)} {len(values)} " for values in rows.values()]
    assert counted == missing
    assert codes.split(",") == ["NA" if code is None else code for code in rows["code"]]


def test_the_code_for_polars_and_r_names_every_type(awkward):
    made, _ = awkward
    code = load_snippets(manifest_of(made)["domain"]["columns"], ["csv"])
    age = '"the \\"age\\", it\'s"'
    for line in ('"code": pl.String,', f"{age}: pl.Int64,", '"income": pl.Float64,'):
        assert f"        {line}\n" in code["polars"]
    assert 'null_values=[""]' in code["polars"]
    for line in ('"code" = "character",', f'{age} = "numeric",', '"flag" = "character",'):
        assert f"        {line}\n" in code["r"]
    assert 'na.strings = ""' in code["r"]
    assert code["r"] in card_of(made)


def test_whole_numbers_are_integers_in_r_where_they_fit(released):
    assert '        "age" = "integer",\n' in card_of(released())


def test_a_single_column_with_missing_values_is_loaded_as_published(released, monkeypatch):
    made = released(domain=[AWKWARD["domain"][0]], workload={"marginals": 1})
    monkeypatch.chdir(made.folder)
    code = load_snippets(manifest_of(made)["domain"]["columns"], ["csv"])
    rows = pq.read_table("synthetic.parquet").to_pydict()
    names: dict = {}
    exec(code["pandas"], names)
    assert plain_columns(names["people"]) == rows
    assert duckdb.connect().sql(code["duckdb"]).to_arrow_table().to_pydict() == rows
    exec(code["polars"], names)
    assert names["people"].to_dict(as_series=False) == rows


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "(estimated from noisy counts)"),
        ({"output": {"rows": 300}}, "300 (declared, public)"),
        ({"public_totals": [TOTAL | {"where": {}}]}, "300 (declared, public)"),
        ({"public_totals": [TOTAL | {"where": {"sex": "Female"}}]}, "(estimated from"),
        (
            {"public_totals": [TOTAL | {"where": {"sex": ["Female", "Male", "missing"]}}]},
            "300 (declared, public)",
        ),
    ],
)
def test_the_card_says_whether_the_number_of_rows_is_public(measured, changes, words):
    made = measured(**changes)
    counts = np.zeros(made.config.universe.size, dtype=np.int64)
    counts[0] = 300

    def derive(measurements, config, *_):
        return replace(
            made.derive(measurements, config),
            counts=Counts.of_all(counts, config.universe.shape),
        )

    write_release(
        made.folder,
        config=made.config,
        measurements_file=made.measurements_file,
        receipt=made.receipt,
        derivation=derive,
    )
    assert words in card_of(made)
    rows = manifest_of(made)["post_processing"]["rows"]
    assert (rows["basis"] == "public") == ("public" in words)


def test_the_decoded_measurements_have_the_labels_of_their_cells(released, monkeypatch):
    made = released()
    monkeypatch.chdir(made.folder)
    names: dict = {}
    exec(snippets(card_of(made), "python")[-1], names)
    noisy = names["noisy"]
    universe = made.config.universe
    codes = universe.codes(np.arange(universe.size))
    for attribute, code in zip(universe.attributes, codes, strict=True):
        assert noisy[attribute.name].tolist() == [attribute.label(int(c)) for c in code]


def test_words_of_the_configuration_cannot_bend_the_card(released):
    title = "A `code` | <script>alert(1)</script> [link](x) # *bold*"
    card = card_of(released(release={"title": title}))
    assert card.splitlines()[0] == (
        r"# A \`code\` \| \<script\>alert(1)\</script\> \[link\](x) \# \*bold\*"
    )


def test_the_card_names_guarantee_rules_and_totals(released, busy):
    card = card_of(released(**busy))
    assert "Pure DP with epsilon = 1 for adding or removing\none record; " in card
    assert "`age` = `18` with `town` = `x\\|y`" in card
    assert "- 40 rows with `town` = `<Other>` (a count from elsewhere)" in card
    assert "{{" not in card
    assert "{%" not in card


def test_the_list_of_fields_is_up_to_date():
    written = runpy.run_path(str(PAGE.parent / "site" / "fields.py"))
    _, listed = written["PAGE"].read_text(encoding="utf-8").split(written["MARKER"])
    assert listed == f"\n{written['field_reference']()}", "python docs/site/fields.py"


def test_the_page_lists_every_field_that_is_only_attested():
    text = PAGE.read_text(encoding="utf-8")
    for field in ATTESTED_ONLY:
        assert f"`{field}`" in text


def test_the_page_states_the_tolerance():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"1 part in {1 / LAST_DIGITS:,.0f} of the sum" in text
    assert f"no more than {MOST_MOVED} records" in text
    assert f"1 part in {1 / REAL_TOLERANCE:,.0f}" in text
