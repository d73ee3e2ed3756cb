"""Proposals for a draft, which its keeper confirms or not; never part of a run.

Which column seems to say whose a record is, and how many records people have; which numbers of a
column look like codes for missing values: 99 beside 1 to 5, 9 beside 0 to 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import duckdb

OF_PERSONS = {
    "person", "patient", "pat", "subject", "participant", "respondent", "proband", "client",
    "customer", "member", "insured", "user", "pseudonym", "pid", "uid", "ssn", "mrn", "patid",
    "patientid", "personid", "persid", "persnr", "pnr", "userid", "subjid", "usubjid", "clientid",
    "customerid", "memberid", "kunde", "versicherte", "versicherter",
}  # fmt: skip
OF_SOMETHING = {"id", "ids", "idnr", "idno", "identifier", "key", "nr", "no", "hhid", "household"}
"""Words in the names of columns that tell one person, or one of something, from another."""

MOST_RECORDS = 50
"""More records for each value, on average, are no records of one person."""

REPEATS = 0.9
"""Fewer different values for each record mean that some people have several."""

ROUND_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
KEPT_RECORDS = 0.95
"""So many of all records a bound should leave in."""


class Judged(Protocol):
    """What is asked of a column."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def records(self) -> int:
        """How many records there are."""

    @property
    def filled(self) -> int:
        """How many have a value."""

    @property
    def distinct(self) -> int:
        """About how many different values there are."""

    @property
    def levels(self) -> tuple[str, ...] | None:
        """The values, where they are few."""


@dataclass(frozen=True)
class RecordsOfPersons:
    """A column with the same value in all records of one person, and a bound on their number."""

    column: str
    max_records: int
    """The smallest round bound that leaves nearly all records in."""
    others: tuple[str, ...]
    """Further columns of that kind."""


def is_called_identifier(name: str) -> bool:
    """Whether the name of a column says that it tells persons, or other things, apart."""
    return not (OF_PERSONS | OF_SOMETHING).isdisjoint(_words(name))


def persons(columns: Sequence[Judged]) -> list[str]:
    """Columns that are called like identifiers and repeat; those of persons come first."""
    found = [
        column.name
        for column in columns
        if column.levels is None
        and is_called_identifier(column.name)
        and column.filled >= 0.95 * column.records
        and column.filled / MOST_RECORDS <= column.distinct < REPEATS * column.filled
    ]
    return sorted(found, key=lambda name: OF_PERSONS.isdisjoint(_words(name)))


def _words(name: str) -> set[str]:
    """The words of a name such as patient_id, patientId or `Patient ID`, in small letters."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return set(re.split(r"[^a-z0-9]+", parted.lower()))


def records_of_persons(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> RecordsOfPersons:
    """How many records each person has: the first of `names`, which is column c0 of `records`."""
    bounded = ", ".join(f"coalesce(sum(least(n, {bound})), 0)" for bound in ROUND_BOUNDS)
    row = connection.execute(
        f"SELECT coalesce(sum(n), 0), {bounded} FROM "
        "(SELECT count(*) AS n FROM records WHERE c0 <> '' GROUP BY c0)"
    ).fetchone()
    total, *kept = row or (0,)
    enough = (
        bound
        for bound, records in zip(ROUND_BOUNDS, kept, strict=True)
        if records >= KEPT_RECORDS * total
    )
    return RecordsOfPersons(names[0], next(enough, ROUND_BOUNDS[-1]), tuple(names[1:]))


CODES = (
    *range(-9, 0),
    *(sign * digit * ones for sign in (-1, 1) for ones in (11, 111, 1111, 11111, 111111)
      for digit in (6, 7, 8, 9)),
    *(7, 8, 9, 96, 97, 98, 996, 997, 998, 9996, 9997, 9998),
    *(-96, -97, -98, -996, -997, -998, -9996, -9997, -9998),
)  # fmt: skip
"""Numbers by which questionnaires, registers and programs say that there is no value."""

MOST_CODES = 20
"""A column with more different numbers is taken for a measured quantity."""

MOST_NEGATIVE_CODES = 3
"""More of them beside a measured quantity are taken for measured, too."""

FAR = 0.15
"""How far from a measured quantity such a number stands, in parts of its range."""


def missing_codes(
    found: Mapping[int, int], *, low: float | None, high: float | None, distinct: int
) -> frozenset[int]:
    """Those of `found` that stand apart from all other numbers of the column.

    `found` says how often the numbers of CODES occur; `low` and `high` are the bounds of all
    others, and `distinct` is about how many different numbers there are.
    """
    if low is None or high is None or low == high:
        return frozenset()
    while low - 1 in found and low < 0:
        low -= 1
    while high + 1 in found:
        high += 1
    is_measured = distinct > MOST_CODES
    apart = max(3.0, FAR * (high - low))
    above = sorted(code for code in found if code > high)
    if is_measured:
        above = [code for code in above if code - high >= apart and found[code] > 1]
    elif above and (above[-1] - high < 3 or above[0] - high < 2):
        above = []
    below = [code for code in found if code < low]
    if low < 0:
        below = [code for code in below if low - code >= apart and found[code] > 1]
    elif below and (
        min(below) == -high < -1  # a scale around zero
        or (is_measured and len(below) > MOST_NEGATIVE_CODES)
    ):
        below = []
    return frozenset((*above, *below))
