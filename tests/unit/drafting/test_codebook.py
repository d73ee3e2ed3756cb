"""Columns from a public codebook: what it says is confirmed, what it lacks is not."""

import json

import pytest

from synth.drafting import from_codebook
from synth.errors import ConfigError

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": "1e3"}},
    {"name": "rate", "type": "number"},
    {"name": "sex", "constraints": {"enum": ["f", "m"]}, "title": "Sex\nof person"},
    {"name": "free", "type": "string"},
    {"name": "born", "type": "time"},
    {
        "name": "seen",
        "type": "date",
        "format": "%d.%m.%Y",
        "constraints": {"minimum": "2020-01-01", "maximum": "2023-12-31"},
    },
    {
        "name": "built",
        "type": "date",
        "constraints": {"required": True, "minimum": "1500-01-01", "maximum": "2023-12-31"},
    },
    {"name": "left", "type": "date", "constraints": {"minimum": "31.12.2020"}},
    {
        "name": "month",
        "type": "yearmonth",
        "constraints": {"minimum": "1990-01", "maximum": "2020-12"},
    },
    {
        "name": "moment",
        "type": "datetime",
        "constraints": {"minimum": "2020-01-01T00:00:00", "maximum": "2020-12-31T12:00:00"},
    },
    {"name": "cost", "type": "integer", "constraints": {"minimum": 0, "maximum": 1000000}},
    {"name": "words", "constraints": {"enum": ["=1+1", "ok"]}},
    {"name": "clamped", "constraints": {"enum": ["clamp", "ok"]}},
    {"name": "kids", "type": "integer", "constraints": {"required": True, "minimum": 0}},
    {"name": "yes", "type": "boolean"},
    {"name": "no", "type": "boolean", "trueValues": ["J"], "falseValues": ["N"]},
    {"name": "class", "type": "string", "categories": [{"value": "a", "label": "A"}, "b"]},
    {"name": "shape", "type": "geojson"},
    {
        "name": "smokes",
        "type": "integer",
        "categories": [{"value": 0, "label": "No"}, {"value": 1, "label": "Yes"}, {"value": 2}],
        "missingValues": ["", {"value": "9", "label": "refused"}],
    },
    {
        "name": "children",
        "type": "integer",
        "constraints": {"minimum": 0, "maximum": 2},
        "categories": [{"value": 0}, {"value": 1}, {"value": 2, "label": "two or more"}],
    },
    {"name": "old", "constraints": {"enum": ["1", "2"]}, "enumLabels": {"1": "=x", "2": "Yes"}},
    {"name": "twice", "categories": [{"value": v, "label": "same"} for v in ("a", "b")]},
]


def read(tmp_path, content, **options):
    path = tmp_path / "datapackage.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return {column.name: column for column in from_codebook(path, **options)}


@pytest.fixture
def columns(tmp_path):
    schema = {"fields": FIELDS, "missingValues": ["", "-"]}
    table = {"name": "people", "path": "nowhere.csv", "schema": schema}
    return read(tmp_path, {"resources": [table, {"name": "text", "path": "x.pdf"}]})


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("age", ["type: integer", "minimum: 0", "maximum: 99", 'missing: ["", "-"]']),
        ("pay", ["type: number", f"edges: !CONFIRM [{', '.join(map(str, range(0, 1001, 100)))}]"]),
        ("seen", ["type: date", "first: 2020-01-01", "last: 2023-12-31", 'format: "%d.%m.%Y"']),
        ("seen", ["resolution: !CONFIRM day", "out_of_domain: missing"]),
        ("built", ["first: 1500-01", "resolution: !CONFIRM month", "out_of_domain: clamp"]),
        ("left", ["first: !CONFIRM", "last: !CONFIRM"]),
        ("month", ["type: date", "first: 1990-01", "last: 2020-12", "resolution: month"]),
        ("moment", ["type: datetime", "first: 2020-01-01", "last: 2020-12-31"]),
        ("cost", ["maximum: 1000000", "bin_width: !CONFIRM 50000"]),
        ("words", ['levels: !CONFIRM ["=1+1", ok]']),
        ("clamped", ["levels: !CONFIRM [clamp, ok]"]),
        ("rate", ["type: number", "edges: !CONFIRM"]),
        ("sex", ["type: categorical", "levels: [f, m]", 'title: "Sex of person"']),
        ("free", ["levels: !CONFIRM []", 'missing: ["", "-"]', "out_of_domain: missing"]),
        ("kids", ["minimum: 0", "maximum: !CONFIRM", "out_of_domain: clamp"]),
        ("yes", ['levels: !CONFIRM ["true", "false"]']),
        ("no", ["levels: [J, \"N\"]"]),
        ("class", ["levels: [a, b]", "labels: {a: A}"]),
        ("smokes", ["type: categorical", 'levels: ["0", "1", "2"]', 'missing: ["", "9"]']),
        ("smokes", ['labels: {"0": "No", "1": "Yes", "9": refused}']),
        ("children", ["type: integer", "maximum: 2", 'labels: {"2": "two or more"}']),
        ("old", ['labels: {"2": "Yes"}']),
        ("age", ['source: "codebook datapackage.json (field age)"']),
    ],
)  # fmt: skip
def test_entries(columns, name, lines):
    found = [entry.line() for entry in columns[name].entries]
    assert [line for line in lines if line not in found] == []


def test_a_column_without_missing_values_has_no_missing_level(columns):
    assert not [entry for entry in columns["kids"].entries if entry.key == "missing"]


def test_labels_that_cannot_be_taken_over_are_counted(columns):
    assert not [entry for entry in columns["twice"].entries if entry.key == "labels"]
    assert [columns[name].advice[0].split(":")[0] for name in ("old", "twice")] == [
        "1 labels left out", "2 labels left out",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["born", "shape"])
def test_what_cannot_be_counted_is_left_out_with_a_reason(columns, name):
    assert columns[name].left_out
    assert not columns[name].entries


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("{", {}, "no JSON"),
        ("[" * 100_000, {}, "no JSON"),
        ("[]", {}, "no list of named fields"),
        ({"fields": []}, {}, "no list of named fields"),
        ({"fields": [{"type": "integer"}]}, {}, "no list of named fields"),
        ({"fields": FIELDS}, {"resource": "people"}, "no list `resources`"),
        ({"resources": []}, {}, "0 such tables"),
        (
            {"resources": [
                {"name": "one", "schema": {"fields": FIELDS[:1]}},
                {"name": "two", "schema": {"fields": FIELDS[1:]}},
            ]},
            {},
            "one, two",
        ),
    ],
)  # fmt: skip
def test_what_is_no_codebook_is_refused(tmp_path, content, options, words):
    with pytest.raises(ConfigError, match=r"datapackage\.json") as caught:
        read(tmp_path, content, **options)
    assert words in str(caught.value)


def test_a_table_can_be_chosen_and_a_plain_schema_needs_no_choice(tmp_path):
    tables = [{"name": n, "schema": {"fields": [{"name": n}]}} for n in ("one", "two")]
    assert list(read(tmp_path, {"resources": tables}, resource="two")) == ["two"]
    assert list(read(tmp_path, {"fields": [{"name": "three"}]})) == ["three"]


@pytest.mark.parametrize("bound", ["1e999999999", "-1e-999999999", 1e308, "NaN", "1/3", "9" * 50])
def test_a_number_beyond_use_is_still_to_be_given_and_costs_nothing(tmp_path, bound):
    limits = {"minimum": 0, "maximum": bound}
    fields = [{"name": kind, "type": kind, "constraints": limits} for kind in ("integer", "number")]
    drafted = read(tmp_path, {"fields": fields})
    assert "maximum: !CONFIRM" in [entry.line() for entry in drafted["integer"].entries]
    assert "edges: !CONFIRM" in [entry.line() for entry in drafted["number"].entries]
