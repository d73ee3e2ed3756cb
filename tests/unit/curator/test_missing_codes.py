"""Which numbers a draft takes for codes of missing values, by cases that offices have."""

import duckdb
import pytest

from synth.curator.not_private.inference import InferredColumn
from synth.curator.not_private.proposals import (
    CODES,
    ROUND_BOUNDS,
    is_called_identifier,
    missing_codes,
    persons,
    records_of_persons,
)


def codes_among(numbers):
    """As `infer` asks: how often codes occur, and the bounds of all other numbers."""
    found = {n: numbers.count(n) for n in numbers if n in CODES}
    others = [number for number in numbers if number not in CODES]
    low, high = min(others, default=None), max(others, default=None)
    return sorted(missing_codes(found, low=low, high=high, distinct=len(set(numbers))))


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([1, 2, 3, 4, 5, 99], [99]),
        ([0, 1, 2, 9], [9]),
        ([0, 1, 9], [9]),
        ([1, 2, 3, 4, 5, 8, 9], [8, 9]),
        ([1, 2, 3, 4, -9, -8], [-9, -8]),
        ([0, 1, -1], [-1]),
        ([1, 2, 3, 4, 5, 97, 98, 99], [97, 98, 99]),
        ([*range(30, 140), 9999, 9999], [9999]),
        ([*range(80, 200), -1, -1], [-1]),
        ([*range(18, 86), 999, 999], [999]),
        ([22.5, *range(10, 60), 999, 999], [999]),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], []),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], []),
        ([1, 2, 3, 4, 5, 6, 8], []),
        ([-2, -1, 0, 1, 2], []),
        ([-3, -2, -1, 0, 1, 2, 3], []),
        ([*range(18, 100)], []),
        ([*range(-8, 35)], []),
        ([*range(-20, 35)], []),
        ([*range(0, 30_000, 7), 9999], []),
        ([*range(30, 140), 999], []),
        ([9, 99], []),
        ([5, 7, 9, 99], []),
        ([], []),
    ],
)
def test_codes_stand_apart(numbers, codes):
    assert codes_among(numbers) == codes


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("patient_id", True), ("patientId", True), ("Patient ID", True), ("PID", True),
        ("id", True), ("hh.nr", True), ("age", False), ("paid", False), ("idle", False),
        ("covid", False), ("zip", False),
    ],
)  # fmt: skip
def test_names_of_identifiers(name, expected):
    assert is_called_identifier(name) is expected


def column(name, *, distinct, records=1_000, filled=1_000, levels=None):
    return InferredColumn(
        name=name, records=records, filled=filled, missing_words=(), numbers=0, whole=0, padded=0,
        dates=0, minimum=None, maximum=None, distinct=distinct, levels=levels,
    )  # fmt: skip


def test_persons_are_identifiers_that_repeat_and_those_of_people_come_first():
    columns = [
        column("case_id", distinct=300),
        column("patient_id", distinct=400),
        column("serial_id", distinct=1_000),
        column("region_id", distinct=12),
        column("half_id", distinct=300, filled=500),
        column("few_id", distinct=40, levels=("a",) * 40),
        column("zip", distinct=300),
    ]
    assert persons(columns) == ["patient_id", "case_id"]


@pytest.mark.parametrize(
    ("sizes", "bound"), [([1] * 100, 1), ([3] * 100, 5), ([1] * 99 + [9_999], 1_000), ([], 1)]
)
def test_the_bound_is_the_smallest_round_one_that_leaves_nearly_all_records_in(sizes, bound):
    ids = [f"p{n}" for n, size in enumerate(sizes) for _ in range(size)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE records (c0 VARCHAR)")
        connection.execute("INSERT INTO records SELECT unnest(?::VARCHAR[])", [[*ids, "", None]])
        found = records_of_persons(connection, ["id", "other"])
    assert (found.column, found.max_records, found.others) == ("id", bound, ("other",))
    assert bound in ROUND_BOUNDS
