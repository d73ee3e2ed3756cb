"""What `synth check` prints: lists that can be read, cut short where that saves something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.config import load_config, warnings
from synth.config.schema.problems import COMPARISON_BUDGET, Report
from synth.config.summary import report_lines

GOOD = Path(__file__).parents[2] / "configs" / "good"
SMALL = (GOOD / "small.yaml").read_text(encoding="utf-8")


def lines_of(folder: Path, *changes: tuple[str, str]) -> list[str]:
    text = SMALL
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return report_lines(load_config(path))


def line_of(lines: list[str], word: str) -> str:
    (line,) = [line for line in lines if line.split()[0] == word]
    return line


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        ("[Female, Male]", "Female, Male"),
        ('[Female, "Paris, France"]', 'Female, "Paris, France"'),
        ("[Female, 'say \"x\"']", 'Female, "say \\"x\\""'),
        ('[Female, "Xhosa\'s"]', 'Female, "Xhosa\'s"'),
        ('[Female, " x"]', 'Female, " x"'),
        ("[Female, b, c, d, e, f, g]", "Female, b, c, d, e, f, g"),
        ("[Female, b, c, d, e, f, g, h]", "Female, b, c, d, e, f, ..."),
    ],
)
def test_levels_are_told_apart(tmp_path: Path, levels: str, shown: str) -> None:
    line = line_of(lines_of(tmp_path, ("[Female, Male]", levels)), "sex")
    assert line.split(maxsplit=2)[2] == shown


def test_bins_need_no_quotes(tmp_path: Path) -> None:
    line = line_of(lines_of(tmp_path), "height")
    assert line.endswith("[0, 1.5), [1.5, 1.8), [1.8, 2.5]")


@pytest.mark.parametrize(
    ("columns", "product"),
    [
        (4, "2 x 2 x 2 x 2 x 2 x 11 x 3 = 1,056 cells"),
        (5, "2 x 2 x 2 x 2 x 2 x 2 x ... (8 columns) = 2,112 cells"),
    ],
)
def test_a_long_product_is_cut_short(tmp_path: Path, columns: int, product: str) -> None:
    flag = "{name: f%d, type: categorical, levels: [a, b], out_of_domain: a, source: s}"
    added = "".join(f"  - {flag % i}\n" for i in range(columns))
    lines = lines_of(tmp_path, ("domain:\n", f"domain:\n{added}"))
    assert line_of(lines, "universe") == f"universe  {product}"


def test_a_rule_with_many_levels_is_cut_short(tmp_path: Path) -> None:
    bins = ("maximum: 99\n    bin_width: 10", "maximum: 21\n    bin_width: 2")
    rule = "impossible: [{sex: Male, age: [" + ", ".join(
        f'"[{low}, {low + 2})"' for low in range(0, 20, 2)
    )
    lines = lines_of(tmp_path, bins, ("output:", f"{rule}]}}]\noutput:"))
    line = line_of(lines, "impossible")
    assert line.endswith("[14, 16)|...")


def test_suggestions_end_once_there_are_too_many_to_compare() -> None:
    """Not even the candidates are listed any more: a long list of slips is refused quickly."""
    listed = []

    def candidates(count: int) -> Iterator[str]:
        for number in range(count):
            listed.append(number)
            yield f"level {number}"

    report = Report()
    assert report.suggest("levle 7", candidates(10)) == "did you mean `level 7`?"
    assert report.suggest("level", candidates(COMPARISON_BUDGET)) == ""
    listed.clear()
    assert report.suggest("levle 7", candidates(10)) == ""
    assert listed == []


@pytest.mark.parametrize(
    ("written", "otherwise", "note"),
    [
        ("epsilon: 1\n", "epsilon: 11\n", "privacy.epsilon is 11: that protects very little"),
        ("epsilon: 1\n", "epsilon: 1\n  delta: 1e-9\n", "privacy.delta is above ledger.delta_cap"),
        ("epsilon: 1\n", "epsilon: 2.5\n", "privacy.epsilon is above ledger.epsilon_cap"),
        ("unit: record", "unit: {column: age, max_records: 2}", "age: identifies persons"),
        (
            "output:",
            "workload: {marginals: 4}\noutput:",
            "workload.marginals is 4, but there are 3 columns",
        ),
        ("[Female, Male]", '[Female, "female "]', "sex: the levels `Female` and `female `"),
    ],
)
def test_a_note(tmp_path: Path, written: str, otherwise: str, note: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SMALL.replace(written, otherwise), encoding="utf-8")
    before = warnings(load_config(GOOD / "small.yaml"))
    after = warnings(load_config(path))
    new = [sentence for sentence in after if sentence not in before]
    assert any(sentence.startswith(note) for sentence in new)


def notes_on_delta(folder: Path, delta: str, *, cap: str = "0.1", rest: str = "") -> list[str]:
    text = SMALL.replace("epsilon: 1\n", f"epsilon: 1\n  delta: {delta}\n")
    text = text.replace("epsilon_cap: 2}", f"epsilon_cap: 2, delta_cap: {cap}}}")
    path = folder / "config.yaml"
    path.write_text(text + rest, encoding="utf-8")
    return [note for note in warnings(load_config(path)) if "delta" in note]


def test_a_delta_that_is_of_no_use_is_noted(tmp_path: Path) -> None:
    (note,) = notes_on_delta(tmp_path, "1e-9", cap="0", rest="strategy: identity\n")
    assert "strategy identity is pure" in note
    assert notes_on_delta(tmp_path, "0", rest="strategy: identity\n") == []


def test_a_delta_within_the_cap_is_no_note(tmp_path: Path) -> None:
    assert notes_on_delta(tmp_path, "1e-9", cap="1e-9") == []
    (note,) = notes_on_delta(tmp_path, "1e-9", cap="9e-10")
    assert note.endswith("a run that spends it will be refused")


def test_a_delta_that_would_allow_to_show_a_record_is_noted(tmp_path: Path) -> None:
    expected = "workload: {expected_records: 5000}\n"
    (note,) = notes_on_delta(tmp_path, "1/5000", rest=expected)
    assert note.startswith("privacy.delta is not below 1 / workload.expected_records")
    assert notes_on_delta(tmp_path, "1/5001", rest=expected) == []


def test_clamping_without_a_missing_level_is_noted() -> None:
    (note,) = warnings(load_config(GOOD / "small.yaml"))
    assert note.startswith("height: a value that is empty or no number counts in the first bin")


def test_as_many_columns_as_there_are_and_the_default_are_no_note(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{SMALL}workload: {{marginals: 3}}\n", encoding="utf-8")
    assert len(warnings(load_config(path))) == 1
    assert "marginals" not in str(warnings(load_config(GOOD / "one-column.yaml")))
