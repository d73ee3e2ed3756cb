"""What `synth check` prints: lists that can be read, cut short where that saves something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.config import load_config
from synth.config.problems import COMPARISON_BUDGET, Report
from synth.config.report import report_lines

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
