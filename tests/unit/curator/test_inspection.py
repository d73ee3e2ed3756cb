"""Decimal marks, files without names and inspection: what is counted is what is said."""

from random import Random

import pytest
import yaml

from synth.audit.made_up_sources import MadeUpSource
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.not_private import inspection
from synth.curator.not_private.exact_cells import exact_cells
from synth.curator.not_private.inspection import inspect_source
from synth.curator.not_private.inspection_text import inspection_lines, inspection_plain
from tests.conftest import SMALL, merged

COST = {
    "name": "cost", "type": "number", "edges": [-10, 0, 1, 2, 10], "missing": ["?"],
    "out_of_domain": "missing", "source": "t",
}  # fmt: skip
TOWN = {**SMALL["domain"][2], "levels": ["Nord", "Other"]}


def configured(tmp_path, content, **source):
    (tmp_path / "people.csv").write_text(content)
    changes = {"domain": [COST, TOWN], "workload": {"marginals": 1}, "source": source}
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(merged(SMALL, changes)))
    return load_config(path)


def counts(config, tmp_path):
    cells = exact_cells(config, config.source, source_files(config.source), directory=tmp_path)
    found = {}
    for *codes, count in zip(*cells.columns, cells.counts, strict=True):
        found[tuple(map(int, codes))] = int(count)
    return found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1,5", 2), ("0,999", 1), (",5", 1), ("5,", 3), ("+1,5e0", 2), (" 1,5 ", 2), ("7", 3),
        ("-3,25", 0), ("1.5", 4), ("1,2,3", 4), ("1.000,5", 4), ("1_0,5", 4), ("?", 4), ("", 4),
        ("inf", 4), (",", 4),
    ],
)  # fmt: skip
def test_a_text_is_a_number_by_the_same_rule_after_the_mark_is_exchanged(tmp_path, text, code):
    config = configured(tmp_path, f"cost;town\n{text};Nord\n", delimiter="semicolon", decimal=",")
    assert counts(config, tmp_path) == {(code, 0): 1}


def test_a_file_without_names_is_read_from_its_first_record(tmp_path):
    content = "\ufeffx,1.5,Nord,more\ny,0.5\nz,0.5,Other\n"
    config = configured(tmp_path, content, header=["id", "cost", "town"])
    assert counts(config, tmp_path) == {(2, 0): 1, (1, 1): 1}


@pytest.mark.parametrize(
    "source", [{}, {"delimiter": ";", "decimal": ","}, {"header": ["town", "id", "cost"]}]
)
def test_made_up_sources_of_an_audit_are_written_as_they_are_read(tmp_path, source):
    config = configured(tmp_path, "", **source)
    records = [("1.5", "Nord"), ("0.25", "Other"), ("?", "1,5"), ("-1", "1.5")]
    written, files = MadeUpSource.of(config).write(tmp_path, records)
    cells = exact_cells(config, written, files, directory=tmp_path)
    rows = zip(*cells.columns, cells.counts, strict=True)
    assert sorted(tuple(map(int, row)) for row in rows) == [
        (0, 1, 1), (1, 1, 1), (2, 0, 1), (4, 1, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("most_values", [1 << 16, 3])
def test_what_is_said_is_what_is_counted_however_little_is_held(tmp_path, monkeypatch, most_values):
    monkeypatch.setattr(inspection, "MOST_VALUES", most_values)
    random = Random(7)
    costs = ["1.5", "?", "", "x", "1,5", "-11", "11", "10", "nan", "inf", "1e1", "NA"]
    rows = [f'"{random.choice(costs)}",{random.choice(["Nord", "nord", "q"])}' for _ in range(400)]
    config = configured(tmp_path, "cost,town\n" + "\n".join(rows))
    files = source_files(config.source)
    found = inspect_source(config, config.source, files, directory=tmp_path)
    cost, town = found.columns
    assert found.records == cost.records == town.records == 400
    counted = counts(config, tmp_path)
    missing = sum(count for codes, count in counted.items() if codes[0] == 4)
    assert missing == cost.declared_missing + cost.below + cost.above + cost.nowhere
    assert sum(n for codes, n in counted.items() if codes[1] == 0) == town.fits
    values = [row.split('"')[1] for row in rows]
    assert cost.declared_missing == values.count("?")
    assert cost.below == values.count("-11")
    assert cost.above == values.count("11") + values.count("inf")
    said = {words: each.records for words, each in cost.misfits.items()}
    assert said["written with a decimal comma"] == values.count("1,5")
    assert said["a word for a missing value"] == values.count("nan") + values.count("NA")
    assert not list(tmp_path.glob("scratch-*"))


def test_totals_and_impossible_cells_that_records_contradict_are_named(tmp_path):
    config = configured(tmp_path, "cost,town\n1.5,Nord\n5,Nord\n5,Other\n")
    path = tmp_path / "small.yaml"
    plain = yaml.safe_load(path.read_text())
    plain["public_totals"] = [
        {"where": {}, "total": 9, "source": "register"},
        {"where": {"town": "Other"}, "total": 1, "source": "register"},
    ]
    plain["impossible"] = [{"town": "Nord", "cost": "[2, 10]"}]
    for changes, said in (
        (
            plain,
            [
                "all records: 3 records, as a run counts them; declared is a public total of 9.",
                "1 records, as a run counts them; declared is none",
            ],
        ),
        ({**plain, "public_totals": plain["public_totals"][1:], "impossible": []}, []),
    ):
        path.write_text(yaml.safe_dump(changes))
        config = load_config(path)
        found = inspect_source(
            config, config.source, source_files(config.source), directory=tmp_path
        )
        *_, last = text = list(inspection_lines(found))
        for words in said:
            assert any(words in line for line in text)
        assert ("No trouble was found" in last) == (not said)
        assert len(inspection_plain(found)["contradicted"]) == len(said)


def test_a_source_without_a_record_is_trouble(tmp_path):
    config = configured(tmp_path, "cost,town\n")
    found = inspect_source(config, config.source, source_files(config.source), directory=tmp_path)
    assert [*inspection_lines(found)][-1].startswith("no record was read: ")
