"""Hierarchies, range queries and tables to measure, from the file to the Config."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from synth.config import Config, RangeQueries, config_from_public, load_config
from synth.config.summary import describe, report_lines
from synth.domain import Attribute, Margin
from synth.errors import ConfigError, Problem

GOOD = Path(__file__).parents[2] / "configs" / "good"
SMALL = (GOOD / "small.yaml").read_text(encoding="utf-8")
EVERY_FORM = (GOOD / "hierarchies.yaml").read_text(encoding="utf-8")
LEVELS = "    levels: [Female, Male]\n"


def load(folder: Path, text: str) -> Config:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def refused(folder: Path, text: str) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return caught.value.problems


def with_age(hierarchy: str, bins: str = "    bin_width: 10\n") -> str:
    written = "    bin_width: 10\n"
    assert written in SMALL
    return SMALL.replace(written, f"{bins}    hierarchy: {hierarchy}\n")


def with_letters(hierarchy: str, missing: str = "") -> str:
    text = SMALL.replace(LEVELS, f"    levels: [a, b, c, d]\n    hierarchy: {hierarchy}\n{missing}")
    return text.replace("out_of_domain: Female", "out_of_domain: a")


def levels_of(attribute: Attribute) -> dict[str, list[tuple[str, list[str]]]]:
    """Every level by name, coarsest first: the label of each group, and of the codes in it."""
    return {
        level.name: [
            (label, [attribute.label(c) for c, of in enumerate(level.group_of) if of == group])
            for group, label in enumerate(level.labels)
        ]
        for level in attribute.hierarchy
    }


def test_every_form_of_a_hierarchy_arrives_as_it_was_meant() -> None:
    town, age, children, height, hour, day = load_config(
        GOOD / "hierarchies.yaml"
    ).universe.attributes
    assert levels_of(town) == {
        "region": [("West", ["Ahn", "Bee", "Cee", "missing"]), ("East", ["Dorn", "Elm", "no"])],
        "county": [
            ("Upper", ["Ahn", "Cee"]),
            ("Lower", ["Bee"]),
            ("1", ["Dorn", "Elm", "no"]),
            ("missing", ["missing"]),
        ],
    }
    assert list(levels_of(age)) == ["life", "decade"]
    assert [(label, len(codes)) for label, codes in levels_of(age)["life"]] == [
        ("[0, 20)", 20),
        ("[20, 60)", 40),
        ("[60, 99]", 40),
        ("missing", 1),
    ]
    assert levels_of(age)["decade"][9] == ("[90, 99]", [str(n) for n in range(90, 100)])
    assert levels_of(children) == {
        "few": [("[1, 5)", ["1", "2", "3", "4"]), ("5", ["5"])],
        "pairs": [("[1, 3)", ["1", "2"]), ("[3, 5)", ["3", "4"]), ("5", ["5"])],
    }
    assert levels_of(height) == {
        "wide": [
            ("[0, 1.5)", ["[0, 1.5)"]),
            ("[1.5, 2)", ["[1.5, 1.75)", "[1.75, 2)"]),
            ("[2, 2.5]", ["[2, 2.25)", "[2.25, 2.5]"]),
        ]
    }
    assert [level.size for level in hour.hierarchy] == [2, 4, 8, 16]
    assert [level.size for level in day.hierarchy] == [7]


def test_ranges_tables_and_the_guess_arrive_as_they_were_meant() -> None:
    config = load_config(GOOD / "hierarchies.yaml")
    assert config.workload.ranges == (
        RangeQueries(("hour",), "range", Fraction(1)),
        RangeQueries(("age", "height"), "prefix", Fraction(1, 2)),
        RangeQueries(("hour",), "prefix", Fraction(1)),
    )
    assert config.workload.expected_records == 5000
    assert config.strategy == (
        Margin(("town", "age", "height"), (0, 0, 0)),
        Margin(("town", "age"), (2, 1)),
        Margin(("hour",), (0,)),
        Margin(("hour",), (2,)),
        Margin(("day",), (1,)),
    )
    sizes = [table.cells(config.universe) for table in config.strategy if isinstance(table, Margin)]
    assert sizes == [7 * 101 * 5, 2 * 11, 24, 8, 7]
    adaptive = load_config(GOOD / "adaptive.yaml")
    assert (adaptive.strategy, adaptive.workload.ranges) == ("adaptive", ())
    assert adaptive.privacy.delta == Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [
        ("hierarchy: dyadic", "hierarchy: {branching: 2}"),
        (
            "{name: pairs, bin_width: 2}, {name: few, edges: [1, 5, 5]}",
            "{name: few, edges: [1, 5, 5]}, {name: pairs, bin_width: 2}",
        ),
        (
            "East: [Dorn, no, Elm], West: [Ahn, Bee, Cee, missing]",
            "West: [missing, Ahn, Cee, Bee], East: [no, Dorn, Elm]",
        ),
        ("          Lower: Bee\n", "          Lower: [Bee]\n          missing: missing\n"),
        ("edges: [0, 1.50, 2, 2.5]", "edges: [0.0, 15e-1, 2.00, 2.50]"),
        ("columns: [height, age]", "columns: [age, height]"),
        ("weight: 1/2", "weight: 0.5"),
        ("[town, age, height]", "[height, town, age]"),
        ("kind: range}", "kind: range, weight: 1}"),
    ],
)
def test_spelling_does_not_change_the_hash(tmp_path: Path, written: str, otherwise: str) -> None:
    assert written in EVERY_FORM
    config = load(tmp_path, EVERY_FORM.replace(written, otherwise))
    assert config.hash == load_config(GOOD / "hierarchies.yaml").hash


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [
        ("name: decade", "name: decades"),
        ("bin_width: 10", "bin_width: 5"),
        ("hierarchy: dyadic", "hierarchy: {branching: 3}"),
        ("{branching: 16}", "{branching: 5}"),
        ("kind: range", "kind: prefix"),
        ("expected_records: 5000", "expected_records: 5001"),
        ("    - [hour]\n", ""),
    ],
)
def test_meaning_does_change_the_hash(tmp_path: Path, written: str, otherwise: str) -> None:
    assert written in EVERY_FORM
    text = EVERY_FORM.replace("    - {columns: [hour], kind: prefix}\n", "")
    text = text.replace("{column: hour, level: 8 parts}", "hour, age")
    text = text.replace("{column: age, level: decade}", "age").replace("level: 6 parts", "level: x")
    text = text.replace("    - - column: day\n        level: x\n", "")
    assert load(tmp_path, text).hash != load(tmp_path, text.replace(written, otherwise)).hash


def test_a_configuration_without_any_of_it_has_none_of_it_in_its_public_form() -> None:
    public = load_config(GOOD / "small.yaml").public
    assert set(public["workload"]) == {"marginals", "cells"}
    assert public["strategy"] == "auto"
    assert all("hierarchy" not in column for column in public["domain"])


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("workload", "ranges"), []),
        (("workload", "ranges", 1, "columns"), ["height", "age"]),
        (("strategy", "tables", 0), ["age", "town", "height"]),
        (("domain", 4, "hierarchy"), {"branching": 2}),
        (("domain", 3, "hierarchy", 0, "edges", 1), "1.50"),
        (("domain", 0, "hierarchy", 1, "groups", "Lower"), "Bee"),
        (("domain", 2, "hierarchy", 0, "edges", 0), "1"),
    ],
)
def test_a_manifest_in_another_spelling_is_refused(
    place: tuple[str | int, ...], value: object
) -> None:
    public = json.loads(json.dumps(load_config(GOOD / "hierarchies.yaml").public))
    inner = public
    for step in place[:-1]:
        inner = inner[step]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    with pytest.raises(ConfigError, match="normal form"):
        config_from_public(public)


@pytest.mark.parametrize(
    ("width", "edges"),
    [("3", "[0, 3, 6, 9, 11]"), ("11", "[0, 11, 11]"), ("4", "[0, 4, 8, 11]")],
)
def test_a_width_is_the_edges_that_it_makes(tmp_path: Path, width: str, edges: str) -> None:
    bins = "    bin_width: 1\n"
    both = [
        load(
            tmp_path, with_age(f"[{{name: w, {how}}}]", bins).replace("maximum: 99", "maximum: 11")
        )
        for how in (f"bin_width: {width}", f"edges: {edges}")
    ]
    assert both[0].universe == both[1].universe
    assert both[0].hash != both[1].hash


def test_a_single_group_beside_the_missing_values_is_a_level(tmp_path: Path) -> None:
    config = load(tmp_path, with_age("[{name: known, edges: [0, 99]}]"))
    (level,) = config.universe.attribute("age").hierarchy
    assert level.labels == ("[0, 99]", "missing")
    without = SMALL.replace("edges: [0, 1.5, 1.8, 2.5]\n", "edges: [0, 1, 2]\n    hierarchy: X\n")
    (problem,) = refused(tmp_path, without.replace("X", "[{name: known, edges: [0, 2]}]"))
    assert problem.found == "1 group"


def test_problems_of_a_hierarchy_stand_beside_those_of_another_column(tmp_path: Path) -> None:
    text = with_letters("[{name: h, groups: {x: [a, b, e], y: [c]}}]")
    problems = refused(tmp_path, "".join(text.rsplit("    source: codebook\n", 1)))
    assert [problem.path for problem in problems] == [
        'domain[0] "sex" → hierarchy[0].groups.x',
        'domain[2] "height" → source',
    ]


def test_each_level_has_its_problems_at_once(tmp_path: Path) -> None:
    levels = [
        "{name: a, edges: [0, 45, 99]}",
        "{name: b, bin_width: 7}",
        "{name: c}",
        "{name: a, bin_width: 20}",
        "{name: d, bin_width: 20}",
    ]
    problems = refused(tmp_path, with_age(f"[{', '.join(levels)}]"))
    place = 'domain[1] "age" → hierarchy'
    assert sorted(problem.path for problem in problems) == [
        f"{place}[0].edges[1]",
        f"{place}[1].bin_width",
        f"{place}[2]",
        f"{place}[3]",
        f"{place}[3].name",
    ]


def test_a_table_of_a_column_with_a_problem_is_no_second_problem(tmp_path: Path) -> None:
    text = with_age("[{name: w, bin_width: 7}]")
    text += "strategy: {tables: [[{column: age, level: w}], [sex, {column: age, level: v}]]}\n"
    text += "workload: {ranges: [{columns: [age], kind: range}]}\n"
    (problem,) = refused(tmp_path, text)
    assert problem.path == 'domain[1] "age" → hierarchy[0].bin_width'


def test_all_problems_of_a_strategy_are_told_at_once(tmp_path: Path) -> None:
    tables = "[[sex, sexx], [{column: agee, level: w}], [{column: age, level: w}], [sex], [sex]]"
    problems = refused(tmp_path, f"{SMALL}strategy: {{tables: {tables}}}\n")
    assert [problem.path for problem in problems] == [
        "strategy.tables[0][1]",
        "strategy.tables[1][0].column",
        "strategy.tables[2][0].level",
        "strategy.tables[4]",
    ]


def test_a_table_at_two_levels_is_two_tables(tmp_path: Path) -> None:
    tables = "[[age], [{column: age, level: 4 parts}], [{column: age, level: 2 parts}]]"
    config = load(tmp_path, with_age("dyadic") + f"strategy: {{tables: {tables}}}\n")
    assert config.strategy == tuple(Margin(("age",), (step,)) for step in (0, 2, 3))


@pytest.mark.parametrize(("delta", "accepted"), [("1e-3", True), ("0.0010001", False)])
def test_delta_has_a_ceiling(tmp_path: Path, delta: str, accepted: bool) -> None:
    text = SMALL.replace("epsilon: 1\n", f"epsilon: 1\n  delta: {delta}\n")
    if accepted:
        assert load(tmp_path, text).privacy.delta == Fraction(delta)
    else:
        (problem,) = refused(tmp_path, text)
        assert problem.path == "privacy.delta"


def test_an_expected_number_may_repeat_the_public_total(tmp_path: Path) -> None:
    total = "public_totals: [{where: {}, total: 7, source: s}]\nworkload: {expected_records: X}\n"
    assert load(tmp_path, SMALL + total.replace("X", "7")).workload.expected_records == 7
    (problem,) = refused(tmp_path, SMALL + total.replace("X", "8"))
    assert problem.path == "workload.expected_records"
    some = SMALL + total.replace("X", "8").replace("{}", "{sex: Male}")
    assert load(tmp_path, some).workload.expected_records == 8


def test_the_check_shows_the_levels(tmp_path: Path) -> None:
    config = load(tmp_path, with_age("dyadic"))
    lines = report_lines(config)
    at = next(number for number, line in enumerate(lines) if line.split()[0] == "age")
    assert lines[at + 1].split(maxsplit=4) == [
        *("hierarchy", "of", "3", "levels:"),
        "2 parts (3), 4 parts (5), 8 parts (9)",
    ]
    assert sum("hierarchy" in line for line in lines) == 1
    assert describe(config)["columns"][1] == {
        "name": "age",
        "type": "integer",
        "codes": 11,
        "hierarchy": [
            {"name": "2 parts", "groups": 3},
            {"name": "4 parts", "groups": 5},
            {"name": "8 parts", "groups": 9},
        ],
    }


def test_hierarchies_may_group_so_many_codes_together(tmp_path: Path) -> None:
    column = "{type: integer, minimum: 1, maximum: 99999, hierarchy: dyadic, out_of_domain: clamp, "
    wide = "".join(f"  - {column}source: s, name: c{i}}}\n" for i in range(6))
    (problem,) = refused(
        tmp_path, f"{SMALL}workload: {{marginals: 1}}\n".replace("domain:\n", f"domain:\n{wide}")
    )
    assert problem.path == "domain"
    assert problem.found == (
        "more than 4,000,000 levels and bins on the levels of hierarchies in the first 3 columns"
    )


def test_only_in_a_wide_universe_ordered_columns_are_halved_without_being_asked(
    tmp_path: Path,
) -> None:
    """Above 10^9 cells, whatever the source; and what is written stays what is written."""

    def domain(columns: int) -> str:
        column = (
            "  - {{name: c{0}, type: integer, minimum: 0, maximum: 99, bin_width: 1, "
            "out_of_domain: clamp, source: law}}\n"
        )
        head, rest = SMALL.split("domain:\n")
        tail = rest[rest.index("output:") :]
        return f"{head}domain:\n{''.join(map(column.format, range(columns)))}{tail}"

    small, wide = (load(tmp_path, domain(columns)) for columns in (2, 5))
    assert [each.hierarchy for each in small.universe.attributes] == [()] * 2
    names = [[level.name for level in each.hierarchy] for each in wide.universe.attributes]
    assert names == [[f"{2**k} parts" for k in range(1, 7)]] * 5
    assert all("hierarchy" not in column for column in wide.public["domain"])
    again = config_from_public(wide.public)
    assert again.universe == wide.universe
