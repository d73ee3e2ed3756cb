"""Attributes: codes, labels and bins against their definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config.columns import DOMAIN
from synth.config.schema.problems import Report
from synth.config.schema.yaml_tree import from_json
from synth.domain import CLAMP, MISSING, Attribute, format_number

DETERMINISTIC = settings(derandomize=True, deadline=None)


def integer(minimum: int, maximum: int, width: int, missing: tuple[str, ...] = ()) -> Attribute:
    """The attribute that the loader makes of minimum, maximum and bin width."""
    values = {
        "name": "x",
        "type": "integer",
        "minimum": minimum,
        "maximum": maximum,
        "bin_width": width,
        "missing": list(missing),
        "out_of_domain": CLAMP,
        "source": "s",
    }
    report = Report()
    (column,) = DOMAIN.read(from_json([values]), (), report)
    assert report.problems() == ()
    return column.attribute


@DETERMINISTIC
@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 70))
def test_integer_bins_hold_every_number_once(minimum: int, span: int, width: int) -> None:
    attribute = integer(minimum, minimum + span, width)
    inside = [attribute.integer_bounds(code) for code in range(attribute.bin_count)]
    numbers = [n for low, high in inside for n in range(low, high + 1)]
    assert numbers == list(range(minimum, minimum + span + 1))
    sizes = [high - low + 1 for low, high in inside]
    assert set(sizes[:-1]) <= {width}
    assert 1 <= sizes[-1] <= width


@DETERMINISTIC
@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 70))
def test_integer_bins_agree_with_half_open_edges(minimum: int, span: int, width: int) -> None:
    attribute = integer(minimum, minimum + span, width)
    for code in range(attribute.bin_count):
        low, high = attribute.integer_bounds(code)
        for number in range(low, high + 1):
            edges = attribute.edges
            first = max(i for i in range(attribute.bin_count) if edges[i] <= number)
            assert first == code
            assert number <= edges[-1]


def test_the_last_bin_may_be_shorter() -> None:
    ages = integer(17, 90, 5)
    assert ages.bin_count == 15
    assert ages.label(0) == "[17, 22)"
    assert ages.label(14) == "[87, 90]"
    assert ages.integer_bounds(14) == (87, 90)


def test_bins_of_one_number_are_named_by_it() -> None:
    grades = integer(1, 16, 1, missing=("?",))
    assert grades.labels == (*map(str, range(1, 17)), MISSING)
    assert grades.size == 17
    assert grades.missing_code == 16
    assert all(grades.is_single_value(code) for code in range(16))
    assert not grades.is_single_value(16)


def test_labels_of_numbers_are_intervals() -> None:
    edges = tuple(map(Fraction, ("-1000", "0", "0.5", "1000000")))
    income = Attribute("income", "number", edges=edges, missing=("NA",))
    assert income.labels == ("[-1000, 0)", "[0, 0.5)", "[0.5, 1000000]", MISSING)


ATTRIBUTES = [
    Attribute("a", "categorical", levels=("x", "y, z", "[1, 2)", "1"), missing=("",)),
    Attribute("b", "categorical", levels=("0", "1")),
    integer(-7, 90, 5, missing=("",)),
    integer(0, 3, 1),
    integer(5, 5, 1),
    Attribute("c", "number", edges=tuple(map(Fraction, ("-1.5", "-0.25", "0", "0.5", "2")))),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.labels[0])
def test_a_label_names_its_code_and_nothing_else_does(attribute: Attribute) -> None:
    for code, label in enumerate(attribute.labels):
        assert attribute.code_of(label) == code
    others = ["", "z", "[", "17", "[0, 5)", "0.5", "[-7, -2]", "-8", "1e9", "[0, 0.50)", "[5, 5]"]
    for other in others:
        if other not in attribute.labels:
            assert attribute.code_of(other) is None
    assert (attribute.code_of(MISSING) is None) == (not attribute.missing)


def test_where_unknown_and_unreadable_values_go() -> None:
    edges = tuple(map(Fraction, (0, 10, 20)))
    clamped = Attribute("n", "number", edges=edges, out_of_domain=CLAMP)
    assert clamped.out_of_domain_code is None
    assert clamped.unreadable_code == 0
    with_missing = Attribute("n", "number", edges=edges, missing=("",), out_of_domain=CLAMP)
    assert with_missing.unreadable_code == 2
    labelled = Attribute("n", "number", edges=edges, out_of_domain="[10, 20]")
    assert labelled.out_of_domain_code == labelled.unreadable_code == 1
    with pytest.raises(ValueError, match="no level"):
        _ = Attribute("n", "number", edges=edges, out_of_domain="other").out_of_domain_code


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(20), "20"),
        (Fraction(-3, 2), "-1.5"),
        (Fraction(1, 1000), "0.001"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**20), "1" + "0" * 20),
    ],
)
def test_numbers_are_written_exactly(value: Fraction, text: str) -> None:
    assert format_number(value) == text
