"""120 people in 75,000 cells: the release is made, and says what it is useless for."""

import json
from fractions import Fraction

import pandas as pd
import pytest

from synth.config import load_config
from synth.errors import ContradictionError
from synth.estimate import gate
from synth.estimate.balanced import MOST_CELLS
from synth.job import pipeline
from synth.job.account import open_ledger
from tests.command_line import synth
from tests.conftest import SMALL


def test_a_thin_table_is_published_with_the_words_that_say_so(project):
    age, sex, town = SMALL["domain"]
    towns = {**town, "levels": [*town["levels"], *(f"place {n}" for n in range(60))]}
    path = project(
        strategy="identity",
        domain=[{**age, "bin_width": 1}, sex, towns],
        workload={"marginals": 2, "expected_records": 100},
    )
    plan = synth("plan", path)
    assert plan.returncode == 0, plan.stderr
    said = " ".join(plan.stdout.split())
    assert "pairs of columns: mostly noise" in said
    assert "What would help, planned again with each change:" in said
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    (warning,) = [line for line in lines if line.startswith("forecast: ")]
    assert "pairs of columns" in warning
    assert lines.index(warning) == 1  # before anything is reserved
    folder = path.parent / "outputs" / "small"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    useful = manifest["quality"]["usefulness"]
    assert useful["records"] == manifest["post_processing"]["rows"]["number"]
    by_order = {each["columns"]: each for each in useful["tables"]}
    assert by_order[2]["verdict"] == "mostly noise"
    page = (folder / "index.html").read_text(encoding="utf-8")
    card = (folder / "README.md").read_text(encoding="utf-8")
    for each in useful["tables"]:
        assert each["sentence"] in page
        assert each["sentence"] in card
    assert page.index("mostly noise") < page.index('id="use"')
    assert card.index("mostly noise") < card.index("## The guarantee")


def test_few_records_in_very_many_cells_are_rounded_in_balance_and_stand(project):
    """Up to 32,768 records in more than 131,072 cells: rounded to parts of a record first."""
    age, sex, town = SMALL["domain"]
    towns = {**town, "levels": [*town["levels"], *(f"place {n}" for n in range(440))]}
    path = project(
        strategy="auto",
        domain=[{**age, "bin_width": 1}, sex, towns],
        public_totals=[{"where": {"sex": "Male"}, "total": 61, "source": "a register"}],
        workload={"marginals": 1, "cells": False},
        output={"replicates": 2},
    )
    assert load_config(path).universe.size > MOST_CELLS
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    folder = path.parent / "outputs" / "small"
    verified = synth("verify", folder)
    assert verified.returncode == 0, verified.stdout
    rows = pd.read_csv(folder / "synthetic.csv", dtype=str)
    assert (rows["sex"] == "Male").sum() == 61


def test_a_well_filled_table_brings_no_warning(project):
    path = project(workload={"marginals": 1, "cells": False}, privacy={"epsilon": 2})
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    assert "mostly noise" not in done.stderr


def test_what_the_gate_refused_is_published_by_a_better_program_and_charged_once(
    project, log, monkeypatch
):
    config = load_config(project(workload={"marginals": 1}))
    pipeline.measure(config, log=log)
    with monkeypatch.context() as worse:
        never = property(lambda _: 2.0)  # no counts are near enough, not even those without noise
        worse.setattr(gate.Comparison, "ratio", never)
        with pytest.raises(ContradictionError, match="nothing was published") as refused:
            pipeline.publish(config, log=log)
    assert refused.value.exit_code == 1
    assert not pipeline.release_folder(config).exists()
    assert pipeline.publish(config, log=log).path.name == "small"
    ledger, population = open_ledger(config)
    with ledger:
        assert ledger.position(population).spent.epsilon == Fraction(1)
