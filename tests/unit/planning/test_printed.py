"""What `synth plan` prints and what it gives to programs."""

import io
import json
from fractions import Fraction

import pytest
from rich.console import Console

from synth.planning import compare, forecast
from synth.planning.printed import render, to_json
from synth.planning.usefulness import in_one_sentence

ADULT = (2, 5, 7, 6, 2, 16, 9)


def rendered(forecasts, **options):
    stream = io.StringIO()
    render(forecasts, Console(file=stream, width=80, **options))
    return stream.getvalue()


def test_json_holds_every_query_exactly(configure):
    plan = forecast(configure(ADULT, epsilon="1/3", total=48_842))
    plain = json.loads(to_json(plan))
    assert plain["epsilon"] == "1/3"
    assert plain["universe_size"] == 120_960
    assert plain["tables"][0]["cells"] == 120_960
    assert len(plain["queries"]) == 7 + 21 + 35
    assert plain["queries"][0] == {
        "attributes": ["column-0"],
        "kind": "marginal",
        "law": "exact",
        "cells": 2,
        "summed_cells": 60_480,
        "sd_records": plan.queries[0].sd_records,
        "half_width_95": plan.queries[0].half_width_95,
        "simultaneous_95": plan.queries[0].simultaneous_95,
        "mean_absolute_error_records": plan.queries[0].mean_absolute_error_records,
        "l1_records": plan.queries[0].l1_records,
        "total_variation": plan.queries[0].total_variation,
        "weight": "1",
    }
    several = json.loads(
        to_json(compare(configure(ADULT, total=48_842), [Fraction(1, 3), Fraction(2)]))
    )
    assert [one["epsilon"] for one in several] == ["1/3", "2"]
    assert several[0] == plain


def test_a_wide_workload_is_grouped_by_order(configure):
    text = rendered(forecast(configure(ADULT, total=48_842)))
    assert "120,960 combinations of values (cells), 0 of them impossible" in text
    assert "1-way (7 tables)" in text
    assert "3-way (35 tables)" in text
    assert "1.36" in text
    assert "0.425 in every empty cell" in text
    words = " ".join(text.split())
    assert "51,464 records, 1.05 times the declared total" in words
    assert "Least accurate per cell: column-0; column-4; column-0 x column-4." in words
    assert text.endswith("Nothing was read and nothing was spent.\n")


def test_tables_of_the_same_size_are_one_line(configure):
    text = rendered(forecast(configure((2,) * 16)))
    assert "3-way (560 tables)" in text
    assert "median" not in text
    assert "Least accurate" not in text
    assert "--json lists every query." in text


def test_a_narrow_workload_names_every_query(configure):
    text = rendered(forecast(configure((2, 3), order=2)))
    assert "column-0 x column-1" in text
    assert "-way (" not in text  # no groups
    assert "declared total" not in text


def test_budgets_stand_side_by_side(configure):
    text = rendered(
        compare(configure(ADULT, total=48_842), [Fraction(1, 10), Fraction(1), Fraction(10)])
    )
    heading = next(line for line in text.splitlines() if line.startswith("query"))
    assert heading.split() == ["query", "0.1", "1", "10"]
    cell = next(line for line in text.splitlines() if line.startswith("one combination"))
    assert cell.split()[-3:] == ["14.1", "1.36", "0.00953"]


@pytest.mark.parametrize("sizes", [(2, 3), ADULT, (2,) * 12])
def test_the_page_is_plain_and_eighty_columns_wide(configure, sizes):
    config = configure(sizes)
    for forecasts in (forecast(config), compare(config, [Fraction(1, n) for n in (1, 2, 4, 8)])):
        text = rendered(forecasts)
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80


def test_level_names_are_no_markup(configure):
    config = configure((2, 3))
    plan = forecast(config)
    assert "[bold]" in rendered(type(plan)(**{**vars(plan), "release_id": "[bold]x[/bold]"}))


@pytest.mark.parametrize("epsilons", [["1"], ["1/10", "1"]])
def test_every_cost_is_called_rough(configure, epsilons):
    text = rendered(compare(configure(ADULT), [Fraction(epsilon) for epsilon in epsilons]))
    needs = next(line for line in text.splitlines() if line.startswith("needs"))
    assert needs.count("roughly") == 3


def test_alternatives_stand_below_with_the_chosen_one_first(configure):
    config = configure((2, 5, 7), strategy="auto", total=20_000)
    text = rendered(forecast(config, with_alternatives=True))
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("what is measured"))
    assert lines[start].split()[-4:] == ["1-way", "2-way", "3-way", "cells"]
    assert lines[start + 2].startswith("* ")
    names = " ".join(line[:40] for line in lines[start + 2 :])
    for name in ("universe (identity)", "universe + 1-way", "best marginals", "all 2-way alike"):
        assert name in names
    assert "for 20,000 records (declared or expected)" in " ".join(text.split())
    assert "records (assumed)" in " ".join(
        rendered(forecast(configure((2, 5)), with_alternatives=True)).split()
    )


def test_several_tables_and_what_they_do_not_answer_are_said(configure):
    from synth.domain import Margin

    tables = tuple(Margin((f"column-{i}",), (0,)) for i in range(3))
    text = rendered(forecast(configure((2, 5, 7), strategy=tables, delta="1/1000")))
    assert "1-way           3" in text
    words = " ".join(text.split())
    assert "Not answered by sums of these tables: 4 of the workload" in words
    assert "least squares sums of all noisy tables (95 %: approximate)" in words
    assert "in every empty cell" not in words
    plain = json.loads(to_json(forecast(configure((2, 5, 7), strategy=tables))))
    assert plain["unanswered"][0] == ["column-0", "column-1"]
    assert plain["single_cell"] is None


def test_alternatives_are_compared_by_budget(configure):
    config = configure((2, 5, 7), strategy="auto", total=20_000)
    plans = compare(config, [Fraction(1, 10), Fraction(1)], with_alternatives=True)
    text = rendered(plans)
    assert "of the tables chosen" in text
    assert "epsilon 0.1: " in text
    plain = json.loads(to_json(plans))
    errors = plain[0]["alternatives"][0]["expected_total_variation"]
    assert [(each["kind"], each["attributes"]) for each in errors][-1] == ("cells", 3)


@pytest.mark.parametrize("epsilons", [["1"], ["1/10", "1"]])
def test_a_table_of_errors_ends_with_what_it_means(configure, epsilons):
    plans = compare(configure(ADULT, total=48_842), [Fraction(each) for each in epsilons])
    words = " ".join(rendered(plans).split())
    assert "That means, with 48,842 records: " in words
    for plan in plans:
        assert f"{in_one_sentence(plan.usefulness)}." in words
    assert words.index("That means") > words.index("one combination (a cell)")


@pytest.mark.parametrize(
    ("neighbours", "expected"),
    [
        ("add-remove", "adding or removing one record (neighbours: add-remove)"),
        ("replace-one", "replacing one record (neighbours: replace-one)"),
    ],
)
def test_who_is_protected_is_said_in_plain_words_first(configure, neighbours, expected):
    config = configure((2, 3), neighbours=neighbours, total=100)
    assert f"protects   {expected}" in rendered(forecast(config))
