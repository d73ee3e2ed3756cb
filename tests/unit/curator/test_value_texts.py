"""Values of typed files as texts: total, and as an export to CSV would write them."""

import math
from datetime import date, datetime, time, timedelta

import pytest

from synth.curator.files.readable_texts import moment_text, number_text, text_of, texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.0, "7"), (-0.0, "0"), (0.1, "0.1"), (-2.5, "-2.5"), (1e15 + 1, "1000000000000001"),
        (-(2.0**62), "-4611686018427387904"), (2.0**63, "9.223372036854776e+18"),
        (1e22, "1e+22"), (5e-324, "5e-324"), (math.inf, "inf"), (math.nan, "nan"),
        (True, "true"), (False, "false"), (12, "12"), ("07", "07"), ("", ""),
        (date(2020, 1, 31), "2020-01-31"), (datetime(2020, 1, 31), "2020-01-31T00:00:00"),
        (time(7, 5), "07:05:00"), (timedelta(days=1, seconds=1), "86401"),
    ],
)  # fmt: skip
def test_a_value_is_written_in_one_way(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize("value", [1.5, 7.0, -1e300, 123456789012345.0, 2.0**53 + 2, 1 / 3])
def test_the_text_of_a_number_means_that_number(value):
    assert float(number_text(value)) == value


def test_texts_are_null_for_no_value_alone_and_keep_what_they_hold():
    found = texts([None, "", "x", b"\xff", "\ud800", "\U000f00ff", 7.0, [1]])
    assert found.null_count == 1
    written = found.to_pylist()
    assert len({*written}) == 8
    assert written[:4] == [None, "", "x", "\U000f00ff"]


ORIGIN = datetime(1960, 1, 1)


@pytest.mark.parametrize(
    ("seconds", "is_date", "text"),
    [
        (0, True, "1960-01-01"), (-86400, True, "1959-12-31"), (-0.5, True, "1959-12-31"),
        (86399.9, False, "1960-01-01T23:59:59"), (1e300, True, None),
        (-1e12, False, None),
    ],
)  # fmt: skip
def test_a_moment_outside_of_the_calendar_is_none(seconds, is_date, text):
    assert moment_text(ORIGIN, seconds, is_date=is_date) == text
