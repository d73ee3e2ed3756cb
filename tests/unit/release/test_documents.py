"""What people read: the data card, its snippets, and the page on the release folder."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth.release.manifest.reference import field_reference
from synth.release.verification.attested import ATTESTED_ONLY
from synth.release.verification.rows_check import CELL_TOLERANCE, TOTAL_VARIATION_TOLERANCE

PAGE = Path(__file__).parents[3] / "docs" / "release-folder.md"


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
    assert int(done.stdout) == int(made.derive(made.measurements, made.config).counts.sum())


def test_the_sql_snippet_of_the_card_runs(released, monkeypatch):
    import duckdb

    made = released()
    monkeypatch.chdir(made.folder)
    (query,) = snippets(card_of(made), "sql")
    rows = duckdb.connect().execute(query).fetchall()[0][0]
    assert rows == int(made.derive(made.measurements, made.config).counts.sum())


def test_missing_values_survive_the_snippet_for_pandas(released):
    made = released()
    people = pd.read_csv(made.folder / "synthetic.csv", keep_default_na=False, na_values=[""])
    counts = made.derive(made.measurements, made.config).counts
    missing = counts.reshape(made.config.universe.shape)[:, 2, :].sum()
    assert people["sex"].isna().sum() == missing > 0


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
    assert "Pure DP with epsilon = 1 for one" in card
    assert "`age` = `18` with `town` = `x\\|y`" in card
    assert "- 40 rows with `town` = `<Other>` (a count from elsewhere)" in card
    assert "{{" not in card
    assert "{%" not in card


def test_the_page_lists_every_field_as_the_schema_describes_it():
    text = PAGE.read_text(encoding="utf-8")
    assert text.split("<!-- fields -->")[1].strip() == field_reference().strip()


def test_the_page_lists_every_field_that_is_only_attested():
    text = PAGE.read_text(encoding="utf-8")
    for field in ATTESTED_ONLY:
        assert f"`{field}`" in text


def test_the_page_states_the_tolerance():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"at most {CELL_TOLERANCE} records in any cell" in text
    assert f"{100 * TOTAL_VARIATION_TOLERANCE:g} % of all records" in text
