"""The worked study: its code runs, and its tables are those of the benchmark's results."""

import contextlib
import io
import re

import pytest
import yaml

import synth
from tests.docs.carried_out import ROOT, blocks, printed_by
from tests.docs.test_signing_page import DOCS

PAGE = DOCS / "how-to" / "worked-study.md"
COLUMNS = ("sex", "marital-status", "income", "education-num")


@pytest.fixture
def place(tmp_path):
    """A release of fewer columns of Adult, with few replicates: a whole one takes a minute."""
    config = yaml.safe_load((ROOT / "configs" / "adult.yaml").read_text(encoding="utf-8"))
    config["domain"] = [each for each in config["domain"] if each["name"] in COLUMNS]
    config["source"]["path"] = str(ROOT / "data" / "adult.csv.gz")
    config["ledger"]["path"] = str(tmp_path / "ledger.sqlite")
    config["output"] |= {"directory": str(tmp_path / "outputs"), "replicates": 8}
    path = tmp_path / "adult.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    synth.run(path)
    return tmp_path


def test_the_code_of_the_page_finds_the_gap(place, monkeypatch):
    monkeypatch.chdir(place)
    ((mark, _, code),) = blocks(PAGE)
    assert mark == "study"
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    (gap,) = names["gap"]["estimate"]
    assert gap == pytest.approx(0.1945, abs=0.05)
    assert names["adjusted"]["estimate"] == pytest.approx(0.37, abs=0.5)
    assert "sampling_se" in printed.getvalue()


def test_the_tables_are_those_of_the_results():
    printed = printed_by("benchmarks/worked_study.py", "--markdown")
    (shown,) = re.findall(
        r"<!-- results -->\n\n(.*?)\n\n<!-- end of results -->", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert shown == printed.strip()
