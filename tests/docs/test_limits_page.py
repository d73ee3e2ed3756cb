"""The page on what can be answered: picture and tables are what the planner says today."""

import math
import runpy

import pytest

from tests.docs.test_signing_page import DOCS

PAGE = (DOCS / "limits.md").read_text(encoding="utf-8")
MADE = runpy.run_path(str(DOCS / "site" / "limits.py"))


def test_the_tables_and_the_picture_are_up_to_date():
    assert MADE["with_tables"](PAGE) == PAGE, "python docs/site/limits.py"
    drawn = (DOCS / "images" / "limits.svg").read_text(encoding="utf-8")
    assert MADE["picture"]() == drawn, "python docs/site/limits.py"
    assert "](images/limits.svg)" in PAGE


def test_random_halves_are_as_wrong_as_drawn_ones():
    """By the noise of the tables themselves: least squares from the universe and the total."""
    plan = MADE["planned"]("nltcs")
    cells, sd = plan.universe_size, MADE["single_cell"](plan).sd_records
    without_total = math.sqrt(cells) * sd / 2
    assert without_total < MADE["half_sd"](plan) < 1.02 * without_total
    assert MADE["half_sd"](plan) > math.sqrt(plan.records)


def test_what_the_page_says_of_the_curve_holds():
    by_name = {each.name: each for each in MADE["families"](MADE["of_every_order"]("adult"))}
    four, six = by_name["4 columns"], by_name["6 columns"]
    assert four.queries == pytest.approx(six.queries / 4, rel=0.15)
    assert six.error == pytest.approx(four.error / 6, rel=0.05)
    assert MADE["one_by_one"](MADE["planned"]("adult"), 1e5) > 50_000
    assert "is off by some ten records" in PAGE
    assert math.sqrt(100 / 2 * 1.84) == pytest.approx(10, rel=0.05)
