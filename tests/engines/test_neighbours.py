"""One person more or less moves the counts by that person's own records, on every engine."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import counts_of, write_csv

NAMES = ["person", "age", "sex", "town"]
MAXIMUM = 3


def made_up_records():
    rng = np.random.default_rng(11)
    ids = ["a", "b", "c", "Ü", "e e", ""]
    sexes, towns = ["Female", "Male", ""], ["Nord", "Süd", "Rom"]
    return [
        (ids[rng.integers(6)], int(rng.integers(0, 99)), sexes[rng.integers(3)],
         towns[rng.integers(3)])
        for _ in range(60)
    ]  # fmt: skip


@pytest.fixture(params=["duckdb", "postgres"])
def count(request, project, tmp_path):
    """Counts rows with a bound of MAXIMUM records per person."""
    unit = {"unit": {"column": "person", "max_records": MAXIMUM}}
    if request.param == "postgres":
        server = request.getfixturevalue("server")
        place = {"path": None, "url": server.url(), "table": "neighbours"}
        kinds = {"person": "text", "age": "int", "sex": "text", "town": "text"}

        def in_database(rows):
            server.fill("neighbours", kinds, rows)
            return counts_of(project(people=None, source=place, privacy=unit))

        return in_database

    def in_file(rows):
        write_csv(tmp_path / "people.csv", NAMES, rows)
        return counts_of(project(people=None, privacy=unit))

    return in_file


def test_a_person_adds_the_same_counts_among_others_as_alone(count):
    records = made_up_records()
    everybody = count(records)
    for person in ("a", "Ü", "e e", ""):
        own = [record for record in records if record[0] == person]
        others = [record for record in records if record[0] != person]
        alone = count(own)
        assert alone.sum() == (min(MAXIMUM, len(own)) if person else 0)
        assert np.array_equal(everybody - count(others), alone), person


def test_the_order_of_records_and_the_number_of_others_change_nothing(count):
    records = made_up_records()
    many = [(f"other {number}", 1, "Male", "Nord") for number in range(500)]
    expected = count(records)
    assert np.array_equal(count(records[::-1]), expected)
    beside = count([*many, *records, *many])
    assert np.array_equal(beside - count([*many, *many]), expected)
