"""Loading files: paths, periods, and files that are none."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest

from synth.config import Dialect, PersonUnit, load_config
from synth.errors import ConfigError, Problem
from synth.planning import forecast

GOOD = Path(__file__).parents[2] / "configs" / "good"
SMALL = (GOOD / "small.yaml").read_text(encoding="utf-8")


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problems_of(path: Path, period: str | None = None) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_config(path, period=period)
    assert caught.value.exit_code == 2
    assert caught.value.name == str(path)
    assert str(caught.value)
    return caught.value.problems


def test_every_key_arrives_as_it_was_meant() -> None:
    config = load_config(GOOD / "every-key.yaml", period="2020-q1")
    assert config.period == "2020-q1"
    assert config.release.id == "people-2020-q1"
    assert config.release.description == "A small table.\nIn two lines."
    assert config.release.curators == ("Office", "Other Office")
    assert config.release.supersedes == ("people-2019",)
    assert config.release.homepage == "https://example.org/data/people/"
    assert config.release.temporal_coverage == "2019-04/2020-03"
    declared = config.public["release"]
    assert all(getattr(config.release, name) for name in declared)
    assert len(declared) == len(fields(config.release))
    assert config.source is not None
    assert config.source.path == GOOD / "people-2020-q1-*.csv.gz"
    assert config.source.dialect == Dialect("\t", "'", "\\", "windows-1252")
    assert (config.source.disposal, config.source.disposal_reason) == ("delete", "Nothing is kept")
    assert config.privacy.epsilon == Fraction(1, 3)
    assert config.privacy.delta == Fraction(1, 10**9)
    assert config.privacy.neighbours == "replace-one"
    assert config.privacy.unit == PersonUnit("person", 4)
    assert config.ledger is not None
    assert config.ledger.path == GOOD / "ledger.sqlite"
    assert config.ledger.epsilon_cap == Fraction(9, 2)
    sex, age, children, income = config.universe.attributes
    assert sex.labels == ("Female", "Male", "missing")
    assert (age.labels[0], age.labels[-1]) == ("[17, 22)", "[87, 90]")
    assert children.labels == ("0", "1", "2", "[3, 20]")
    assert children.out_of_domain_code == 3
    assert income.labels == ("[-1000, 0)", "[0, 0.5)", "[0.5, 1000000]", "missing")
    assert [dict(rule.codes) for rule in config.universe.impossible] == [
        {"sex": (1,), "children": (1, 2)},
        {"age": (0,), "income": (3,)},
    ]
    (total,) = config.public_totals
    assert (dict(total.where.codes), total.total, total.source) == ({}, 1000, "register")
    assert [(m.attributes, m.weight) for m in config.workload.marginals] == [
        (("sex",), 1),
        (("sex", "age"), 1),
        (("children", "income"), Fraction(1, 2)),
    ]
    assert not config.workload.cells
    assert config.strategy == "identity"
    assert config.output.directory == GOOD.parent / "outputs"
    assert (config.output.formats, config.output.rows) == (("parquet",), 1000)
    assert config.output.bins == "interval"


def test_what_is_left_out_has_its_default() -> None:
    config = load_config(GOOD / "small.yaml")
    assert config.period is None
    assert config.privacy.delta == 0
    assert config.strategy == "auto"
    assert config.output.formats == ("csv", "parquet")
    assert config.output.rows is None
    assert config.output.bins == "uniform"
    assert config.universe.impossible == ()
    assert config.public_totals == ()
    assert config.source is not None
    assert config.source.dialect == Dialect()
    assert [len(m.attributes) for m in config.workload.marginals] == [1, 1, 1, 2, 2, 2, 3]
    assert config.workload.cells


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, SMALL.replace("directory: outputs", "directory: ../elsewhere"))
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    config = load_config("../config.yaml")
    assert config.source is not None
    assert config.source.path == tmp_path / "people.csv"
    assert config.output.directory == tmp_path.parent / "elsewhere"
    assert config.name == "../config.yaml"


def test_nothing_that_is_named_is_opened(tmp_path: Path) -> None:
    load_config(write(tmp_path, SMALL))
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize("period", ["Q1", "", "a b", "../x", "{period}", "x" * 41, "2020\n"])
def test_a_period_is_a_word(period: str) -> None:
    (problem,) = problems_of(GOOD / "every-key.yaml", period)
    assert problem.path == "--period"
    assert problem.line is None


def test_a_period_needs_a_place_and_a_place_needs_a_period(tmp_path: Path) -> None:
    (problem,) = problems_of(GOOD / "small.yaml", "2020")
    assert (problem.path, problem.line) == ("release.id", 3)
    assert problem.fix == "write id: people-2020-{period}, or leave --period out"
    problems = problems_of(GOOD / "every-key.yaml")
    assert [problem.path for problem in problems] == ["release.id", "source.path"]
    only_source = SMALL.replace("people.csv", "people-{period}.csv")
    assert len(problems_of(write(tmp_path, only_source), "2020")) == 1
    both = only_source.replace("people-2020", '"{period}"')
    config = load_config(write(tmp_path, both), period="2020")
    assert config.release.id == "2020"
    assert config.source is not None
    assert config.source.path.name == "people-2020.csv"


def test_a_part_named_by_the_period_needs_one() -> None:
    path = GOOD / "disjoint-part.yaml"
    assert [(problem.path, problem.fix) for problem in problems_of(path)] == [
        (place, "give one with --period")
        for place in ("release.id", "source.path", "ledger.disjoint_part.name")
    ]


@pytest.mark.parametrize(
    "source",
    [
        'path: "births-{period}.csv"',
        'path: "{period}/*.csv"',
        'path: "*/{period}.csv"',
        'path: "../{period}/x/../*.csv"',
        'url: postgresql://host/registry\n  table: "births_{period}"',
        'spark: {table: "births_{period}"}',
        'spark: {table: "parquet.`/data/{period}/part-*`"}',
    ],
)
def test_a_part_named_by_the_period_has_records_that_are(tmp_path: Path, source: str) -> None:
    text = (GOOD / "disjoint-part.yaml").read_text(encoding="utf-8")
    written = text.replace('path: "people-{period}.csv"', source)
    assert written != text
    config = load_config(write(tmp_path, written), period="2020-q1")
    assert config.ledger is not None
    assert config.ledger.disjoint_part is not None
    assert config.ledger.disjoint_part.name == "2020-q1"


@pytest.mark.parametrize("part", ["2020-q1", "2021-q1"])
def test_a_fixed_part_may_have_records_of_any_period(tmp_path: Path, part: str) -> None:
    text = (GOOD / "disjoint-part.yaml").read_text(encoding="utf-8")
    text = text.replace('name: "{period}"', f"name: {part}")
    assert load_config(write(tmp_path, text), period="2020-q1").period == "2020-q1"


def test_periods_are_releases_of_their_own() -> None:
    first, second = (load_config(GOOD / "every-key.yaml", period=p) for p in ("a", "b"))
    assert first.hash != second.hash
    assert first.public["release"]["id"] == "people-a"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path / "none.yaml")
    assert problem.found == "no such file"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path)
    assert problem.found == "a directory"


@pytest.mark.parametrize("name", ["people.csv", "people.CSV.gz", "x.tsv", "x.parquet"])
def test_a_data_file_is_no_configuration_and_is_not_opened(tmp_path: Path, name: str) -> None:
    (problem,) = problems_of(tmp_path / name)
    assert problem.found == "a data file, by its name"
    assert "`source.path`" in problem.fix


def test_data_by_another_name_are_not_quoted(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, "age,sex\n17,secret\n"))
    assert problem.found == "text that is no YAML mapping"
    assert "secret" not in str(problem)


@pytest.mark.parametrize("error", [PermissionError, OSError])
def test_a_file_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    (problem,) = problems_of(tmp_path / "config.yaml")
    assert problem.found.startswith("a file that")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path / "nul\x00.yaml")
    assert problem.expected == "a readable YAML file"


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    bad = SMALL.encode().replace(b"A small table", b"A sm\xe4ll table")
    (problem,) = problems_of(write(tmp_path, bad))
    assert (problem.line, problem.found) == (5, "the byte 0xE4")


def test_a_file_that_is_far_too_large(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, b"#" * (2**22 + 1)))
    assert problem.found == "a larger file"


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    plain = load_config(GOOD / "small.yaml")
    marked = load_config(write(tmp_path, b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode()))
    assert marked.public == plain.public


def test_a_half_character_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, SMALL.replace("title: People", 'title: "\\ud800" #')))
    assert problem.path == "release.title"


def test_no_quote_character_means_no_escape_either(tmp_path: Path) -> None:
    text = SMALL.replace("path: people.csv", 'path: people.csv\n  quote: ""')
    source = load_config(write(tmp_path, text)).source
    assert source is not None
    assert (source.dialect.quote, source.dialect.escape) == ("", "")


def test_quotes_are_doubled_unless_there_is_an_escape_character(tmp_path: Path) -> None:
    for written, dialect in {
        'quote: "\'"': Dialect(quote="'", escape="'"),
        'quote: ""\n  escape: "\\\\"': Dialect(quote="", escape="\\"),
        'escape: "\\\\"': Dialect(quote='"', escape="\\"),
    }.items():
        text = SMALL.replace("path: people.csv", f"path: people.csv\n  {written}")
        source = load_config(write(tmp_path, text)).source
        assert source is not None
        assert source.dialect == dialect


def test_a_huge_number_of_tables_is_refused(tmp_path: Path) -> None:
    head, rest = SMALL.split("domain:\n")
    columns = "".join(
        f"  - {{name: c{i}, type: categorical, levels: [a, b], out_of_domain: a, source: s}}\n"
        for i in range(300)
    )
    output = rest[rest.index("output:") :]
    text = f"{head}domain:\n{columns}workload: {{marginals: 1000}}\n{output}"
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.path == "workload.marginals"
    assert problem.expected == "at most 10,000 tables"


def test_very_many_bins_in_very_many_columns_are_refused_early(tmp_path: Path) -> None:
    column = "type: integer, minimum: 0, maximum: 99999, out_of_domain: clamp, source: s}"
    columns = "".join(f"  - {{name: c{i}, {column}\n" for i in range(100))
    head, rest = SMALL.split("domain:\n")
    output = rest[rest.index("output:") :]
    text = f"{head}domain:\n{columns}workload: {{marginals: [[c99]]}}\n{output}"
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.found == "more than 1,000,000 levels and bins in the first 11 columns"


def test_a_rule_with_very_many_levels_is_quick(tmp_path: Path) -> None:
    """Many levels, all named again in a rule: looked up, not searched."""
    levels = ", ".join(f"l{i}" for i in range(5_000))
    text = SMALL.replace("[Female, Male]", f"[{levels}]").replace("domain: Female", "domain: l0")
    config = load_config(write(tmp_path, f"{text}impossible: [{{sex: [{levels}], age: missing}}]"))
    assert len(config.universe.impossible[0].codes["sex"]) == 5_000


def test_loading_needs_no_heavy_library() -> None:
    code = (
        "import sys; from synth.config import load_config; load_config(sys.argv[1]);"
        "heavy = {'pandas', 'scipy', 'pyarrow', 'ibis', 'duckdb'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    path = str(GOOD / "small.yaml")
    subprocess.run([sys.executable, "-c", code, path], check=True)


def test_more_columns_than_an_array_has_axes_are_refused_where_every_cell_is_counted(
    tmp_path: Path,
) -> None:
    """A run would fail after its charge, even on an empty table."""
    one = "{{name: c{}, type: categorical, levels: [x], out_of_domain: x, source: a codebook}}"

    def with_more(columns: int) -> Path:
        before, after = SMALL.split("domain:\n")
        before += "workload: {marginals: 1}\n"
        more = "".join(f"  - {one.format(number)}\n" for number in range(columns))
        return write(tmp_path, f"{before}domain:\n{more}{after}")

    known = len(load_config(GOOD / "small.yaml").universe.attributes)
    assert len(load_config(with_more(64 - known)).universe.attributes) == 64
    (problem,) = problems_of(with_more(65 - known))
    assert "65 columns" in problem.found
    assert "64 columns" in problem.expected


def test_more_combinations_than_a_float_can_count_are_refused(tmp_path: Path) -> None:
    """Twenty levels each. Just below the limit, everything is forecast."""
    levels = ", ".join(f"x{level}" for level in range(20))
    one = f"type: categorical, levels: [{levels}], out_of_domain: x0, source: a codebook"

    def with_more(columns: int) -> Path:
        more = "".join(f"  - {{name: c{number}, {one}}}\n" for number in range(columns))
        before, after = SMALL.split("domain:\n")
        return write(tmp_path, f"{before}workload: {{marginals: 1}}\ndomain:\n{more}{after}")

    plan = forecast(with_more(228), with_alternatives=True)
    assert plan.universe_size > 10**298
    assert all(math.isfinite(query.sd_records) for query in plan.queries)
    (problem,) = problems_of(with_more(231))
    assert problem.found == "about 10^302 combinations of values"
    assert problem.expected == "at most 10^300"
