"""Numbers from text: exact, bounded, and never guessed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config import parse_epsilon
from synth.config.schema.scalars import decimal, ratio, whole
from synth.domain import format_number
from synth.errors import ConfigError

DETERMINISTIC = settings(derandomize=True, deadline=None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", Fraction(1)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1e-9", Fraction(1, 10**9)),
        ("2.5E+2", Fraction(250)),
        ("-1.5", Fraction(-3, 2)),
        ("+3", Fraction(3)),
        ("012", Fraction(12)),
        ("0.30000000000000004", Fraction(30000000000000004, 10**17)),
    ],
)
def test_decimal_text_has_its_exact_value(text: str, value: Fraction) -> None:
    assert decimal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "nan", "inf", "-inf", "Infinity", "1_000", "1,5", "0x10", "1e", "e5", "1e5.5"),
        *("1/3", "--1", "1 ", "\u0661", "\uff11", "1e31", "1e999999", "1e-999999", "1" * 60),
        "1e" + "9" * 100_000,
        "0." + "1" * 100_000,
    ],
)
def test_other_text_is_no_decimal_number(text: str) -> None:
    assert decimal(text) is None


@pytest.mark.parametrize(("text", "value"), [("1/3", Fraction(1, 3)), ("10/4", Fraction(5, 2))])
def test_a_ratio_has_its_exact_value(text: str, value: Fraction) -> None:
    assert ratio(text) == value


@pytest.mark.parametrize("text", ["1/0", "1/-3", "-1/3", "1/2/3", "1.5/2", "/", "1/" + "3" * 1000])
def test_other_text_is_no_ratio(text: str) -> None:
    assert ratio(text) is None


@pytest.mark.parametrize("text", ["01", "1.0", "1e3", "0x1", "", "-", "1_0", "\u0663", "9" * 50])
def test_other_text_is_no_whole_number(text: str) -> None:
    assert whole(text) is None


@DETERMINISTIC
@given(st.integers(-(10**38), 10**38))
def test_whole_numbers_come_back(number: int) -> None:
    assert whole(str(number)) == number


@DETERMINISTIC
@given(st.integers(-(10**15), 10**15), st.integers(0, 20))
def test_decimal_numbers_come_back_from_their_written_form(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    assert decimal(format_number(value)) == value


@DETERMINISTIC
@given(st.fractions(min_value=0, max_denominator=10**12))
def test_fractions_come_back_from_their_written_form(value: Fraction) -> None:
    assert ratio(format_number(value)) == value


def test_a_budget_from_the_command_line_is_exact() -> None:
    assert parse_epsilon(" 0.1 ") == Fraction(1, 10)


@pytest.mark.parametrize("text", ["0", "-1", "1e-5", "1001", "nan", "", "one"])
def test_a_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_epsilon(text)
    assert "privacy" not in caught.value.name
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "found", "why"),
    [
        ("nan", '"nan"', "that is no exact number"),
        ("1.2.3", '"1.2.3"', "that is no exact number"),
        ("", "nothing", "a comma at an end, or two in a row"),
        (" ", "nothing", "a comma at an end, or two in a row"),
        ("0", '"0"', "a smaller epsilon publishes nothing but noise"),
    ],
)
def test_a_budget_is_refused_for_its_own_reason(text: str, found: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_epsilon(text)
    (problem,) = caught.value.problems
    assert problem.found == found
    assert problem.why.startswith(why)
