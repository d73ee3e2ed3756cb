"""The counting is audited on files of the configured format, for every unit and relation."""

import csv
import itertools
from fractions import Fraction
from random import Random

import pytest

from synth.audit import counting, render
from synth.audit.audit import AuditedPlan
from synth.audit.canaries import Canaries
from synth.audit.counting import audit_counting
from synth.audit.findings import TableChange
from synth.audit.made_up_sources import MadeUpRecords, MadeUpSource, awkward_texts, text_of
from synth.config import load_config
from synth.curator.counting.tabulate import every_cell, tabulate
from synth.domain import Attribute

from .conftest import keyed_bytes

PERSON = {"column": "id", "max_records": 2}
POSTGRES = {"path": None, "url": "postgresql://db.example.org/people", "table": "people"}
UNITS = counting.UNITS
CSV = {"delimiter": ";", "quote": "'", "escape": "\\", "encoding": "windows-1252"}


@pytest.fixture
def all_units(monkeypatch, small_audits):  # noqa: ARG001
    """As many units in all combinations as a real audit has."""
    monkeypatch.setattr(counting, "UNITS", UNITS)


RELATIONS = ("add-remove", "replace-one")
RECORD_OR_PERSON = {"record": "record", "person": PERSON}
SOURCES = {
    "Parquet": ({"path": "people-*.parquet"}, "Parquet", ""),
    "CSV of a dialect": ({"path": "people.csv.gz"} | CSV, "CSV", ""),
    "in place of PostgreSQL": (POSTGRES, "CSV", "PostgreSQL"),
}
COUNTED = [
    ("Parquet", "record", "replace-one"),
    ("Parquet", "person", "add-remove"),
    ("CSV of a dialect", "person", "replace-one"),
    ("in place of PostgreSQL", "record", "add-remove"),
]
"""Every two of format, unit and relation; of CSV as it is without options, beside this."""


def test_every_two_of_format_unit_and_relation_meet():
    asked = (("CSV", "Parquet"), RECORD_OR_PERSON, RELATIONS)
    counted = [(SOURCES[kind][1], *others) for kind, *others in COUNTED]
    for one, other in itertools.combinations(range(3), 2):
        met = {(case[one], case[other]) for case in counted}
        assert met >= set(itertools.product(asked[one], asked[other]))


@pytest.mark.usefixtures("all_units")
@pytest.mark.parametrize(("kind", "unit", "neighbours"), COUNTED)
def test_no_neighbours_differ_by_more_than_is_charged(run_audit, kind, unit, neighbours):
    """And the largest change is met, so the test has no room."""
    source, format_, in_place_of = SOURCES[kind]
    privacy = {"neighbours": neighbours, "unit": RECORD_OR_PERSON[unit]}
    report = run_audit(source=source, privacy=privacy, strategy="identity")
    assert not report.exceeded
    found = report.counting
    assert (found.format, found.in_place_of) == (format_, in_place_of)
    assert ("PostgreSQL" in render(report)) == bool(in_place_of)
    assert found.neighbours == (24 if neighbours == "replace-one" else 32)
    for table in found.tables:
        assert table.largest_l1 == table.charged_l1
        assert 0 < table.largest_of_crowd <= table.charged_l1 * table.crowd


SEEN = {
    "name": "seen", "type": "date", "first": "2026-01-30", "last": "2026-02-04",
    "resolution": "day", "missing": [""], "out_of_domain": "missing", "source": "test",
}  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "domain"),
    [("record", None), ("person", [SEEN])],
    ids=["records, beside the domain", "persons, in the domain"],
)
def test_records_of_a_period_are_audited_among_those_of_others(
    run_audit, monkeypatch, unit, domain
):
    """Made-up records have dates of the period, of others and none; the largest change is met."""
    monkeypatch.setattr(counting, "UNITS", 2)
    report = run_audit(
        "2026-01",
        release={"id": "small-{period}"},
        source={"where": {"column": "seen", "within": "period"}},
        series={"every": "month", "first": "2026-01", "rows": "new", "horizon": 2},
        privacy={"unit": RECORD_OR_PERSON[unit]},
        strategy="identity",
        **({} if domain is None else {"domain": domain}),
    )
    assert not report.exceeded
    assert report.faults == ()
    for table in report.counting.tables:
        assert table.largest_l1 == table.charged_l1


def test_a_run_compares_hundreds_of_neighbours():
    pairs = list(counting._subsets())
    neighbours = [
        sum(
            counting._are_neighbours(one, other, replaced=replaced)
            for place, one in enumerate(pairs)
            for other in pairs[:place]
        )
        for replaced in (False, True)
    ]
    assert neighbours == [32, 24]
    assert counting.GROUPS * min(neighbours) >= 144


def test_an_excess_is_said_in_words():
    change = TableChange("age", 2, 3, 4, 9, 10, 25)
    assert change.excesses == [
        "changes the counts by 3 in all, and the plan charges for 2",
        "changes the counts by the square root of 9 in L2 norm, and the plan charges for that of 4",
        "changes the counts by 2.5 in all on average of 10, and the plan charges for 2",
    ]
    assert TableChange("age", 2, 2, None, 9, 10, 20).excesses == []


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("a", "categorical", ("x", "y"), missing=("", "?")),
        Attribute("a", "integer", edges=(Fraction(0), Fraction(2), Fraction(4)), missing=("0",)),
        Attribute("a", "number", edges=(Fraction(0), Fraction(1, 8), Fraction(3)), missing=("-",)),
    ],
    ids=lambda attribute: attribute.kind,
)
def test_every_code_has_a_text(attribute):
    texts = [text_of(attribute, code) for code in range(attribute.size)]
    assert None not in texts
    assert len(set(texts)) == attribute.size
    assert set(attribute.missing) < set(awkward_texts(attribute, Random(1)))


def test_the_text_of_a_code_is_counted_there(project, tmp_path):
    config = load_config(project())
    source = MadeUpSource.of(config)
    for code in range(config.universe.attributes[0].size):
        texts = [text_of(config.universe.attributes[0], code), "Male", "Nord"]
        made_up, files = source.write(tmp_path, [tuple(texts)])
        counts = every_cell(tabulate(config, made_up, files, tmp_path).consume(), config.universe)
        assert counts.sum() == counts[(code * 3 + 1) * 3] == 1


def test_no_two_persons_have_the_same_id(project):
    config = load_config(project(privacy={"unit": PERSON}))
    records = MadeUpRecords(config, MadeUpSource.of(config), Random(1), 100)
    ids = [records.person(number) for number in range(500)]
    assert len(set(ids)) == 500
    assert {"p0", "P0", " p0"} < set(ids)
    assert {row[-1] for row in records.nobodys(many=True)} == {""}


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_records_are_written_in_two_files(project, tmp_path, ending):
    config = load_config(project(source={"path": f"people.{ending}"}))
    rows = [(f"{number}", 'a "quoted"\ntext', "") for number in range(5)]
    source, files = MadeUpSource.of(config).write(tmp_path, rows)
    assert source.path.name == f"made-up-*.{ending}"
    if ending == "csv":
        with files[0].open(newline="") as text:
            assert list(csv.reader(text)) == [["age", "sex", "town"], *map(list, rows[::2])]
    held = tabulate(config, source, files, tmp_path).consume()
    assert every_cell(held, config.universe).sum() == 5


def test_a_format_without_quotes_holds_plain_texts_only(project):
    config = load_config(project(source={"quote": ""}))
    source = MadeUpSource.of(config)
    assert source.holds("plain")
    assert not any(map(source.holds, ["", "a,b", "two\nlines", '"']))


def test_large_tables_are_counted_by_filled_cells(project, monkeypatch):
    monkeypatch.setattr(counting, "MOST_CELLS", 10)
    monkeypatch.setattr(counting, "GROUPS", 1)
    monkeypatch.setattr(counting, "UNITS", 2)
    config = load_config(project(strategy="identity"))
    plan = AuditedPlan.of(config)
    report = audit_counting(config, plan.counted, randomness=keyed_bytes())
    assert [table.largest_l1 for table in report.tables] == [1]
    assert report.sources == 6  # one group, and two crowds


@pytest.mark.parametrize(("most", "wide", "groups"), [(1000, 1000, 6), (1000, 10, 2), (20, 10, 1)])
def test_large_tables_are_counted_less_often(project, monkeypatch, most, wide, groups):
    monkeypatch.setattr(counting, "MOST_CELLS", most)
    monkeypatch.setattr(counting, "WIDE_CELLS", wide)
    config = load_config(project(strategy={"tables": [["age", "sex"], ["age", "town"], ["age"]]}))
    assert counting._groups(config, AuditedPlan.of(config).counted) == groups


def test_the_error_is_split_over_all_bounds(project):
    config = load_config(project(strategy="adaptive", privacy={"epsilon": 8}))
    plan = AuditedPlan.of(config)
    # four rules for every table, one for choices, for records of a source, and for all together
    assert plan.bounds(Canaries.of(config.privacy)) == 4 * len(plan.events) + 1 + 1 + 1 + 1
