"""The guarantee and its account: the budget, what it protects, and who keeps count of it."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import PERIOD, Choice, Exact, FilePath, Whole, name, people, prose
from synth.config.schema.shapes import Either, Key, ListOf, record
from synth.config.source import PARQUET_FILES, Source
from synth.domain import format_number
from synth.errors import Problem

ZERO, ONE = Fraction(0), Fraction(1)

MAX_EPSILON_PER_RECORD = Fraction(50)
"""Above it a count is off by 1 with probability below 1e-21: practically no noise."""

MIN_EPSILON_PER_RECORD = Fraction(1, 10_000)
"""Below it the noise of a single count has a scale of more than 10,000 records."""

MAX_DELTA = Fraction(1, 1_000)
"""Above it, publishing the records of one unit in a thousand as they are would be allowed."""

DELTA_MEANS = "with the probability delta the release may reveal a unit altogether"

NOISE_ALONE = "a smaller epsilon publishes nothing but noise"
NO_PROMISE = "the noise is practically nothing there: a larger epsilon promises nothing"


Neighbours = Literal["add-remove", "replace-one"]

UNITS_CHANGED: dict[Neighbours, int] = {"add-remove": 1, "replace-one": 2}
"""How many units' records differ between neighbours: replacing is removing and adding."""

EPSILON = Exact(
    "The privacy budget of this release",
    MIN_EPSILON_PER_RECORD,
    Fraction(1000),
    why=f"{NOISE_ALONE}, a larger one protects nobody",
)


@dataclass(frozen=True)
class PersonUnit:
    """All records of one person are protected together."""

    column: Annotated[str, name("The source column that identifies the person")]
    max_records: Annotated[
        int, Whole("How many records of one person are counted at most", 1, 1_000_000)
    ]


@dataclass(frozen=True, kw_only=True)
class PrivacyConfig:
    """The guarantee: budget, neighbouring relation and privacy unit."""

    epsilon: Annotated[Fraction, EPSILON]
    delta: Annotated[
        Fraction,
        Exact("The delta of the budget; 0 is pure privacy", ZERO, MAX_DELTA, why=DELTA_MEANS),
    ] = ZERO
    neighbours: Annotated[
        Neighbours,
        Choice(
            "add-remove protects whether a unit is there at all; replace-one what it holds, "
            "with the number of records declared public",
            get_args(Neighbours),
        ),
    ]
    unit: Annotated[
        Literal["record"] | PersonUnit,
        Either(
            "What one unit of privacy is: a record, or all records of one person",
            "record, or {column: ..., max_records: ...}",
            single=Choice("Each record is protected by itself", ("record",)),
            record=record(PersonUnit),
        ),
    ]
    justification: Annotated[str, prose("Why this guarantee is enough; published")]

    def checked(self, path: Place, report: Report) -> Self:
        """The budget suits the unit and the neighbours."""
        records = 1 if self.unit == "record" else self.unit.max_records
        wrong = epsilon_problem(self.epsilon, neighbours=self.neighbours, max_records=records)
        if wrong is not None:
            here = (*path, "epsilon")
            report.add(here, expected=wrong.expected, why=wrong.why, fix=wrong.fix)
        return self


def epsilon_problem(
    epsilon: Fraction, *, neighbours: Neighbours, max_records: int
) -> Problem | None:
    """What is wrong with a budget for this relation and unit, or None."""
    records = UNITS_CHANGED[neighbours] * max_records
    shared = "" if records == 1 else f": {records:,} records may differ between neighbours"
    low, high = MIN_EPSILON_PER_RECORD * records, MAX_EPSILON_PER_RECORD * records
    expected, why, fix = "", "", ""
    if epsilon > high:
        expected, why = f"at most {format_number(high)}{shared}", NO_PROMISE
        fix = "choose an epsilon that is meant as a promise, such as 1"
    elif epsilon < low:
        expected, why = f"at least {format_number(low)}{shared}", NOISE_ALONE
        fix = "raise the epsilon" + (", or lower max_records" if max_records > 1 else "")
    if not expected:
        return None
    return Problem(None, "epsilon", format_number(epsilon), expected, why, fix)


@dataclass(frozen=True)
class DisjointPart:
    """The part of the population that the source is about, where nobody belongs to two parts."""

    name: Annotated[str, replace(people("One of the parts; may hold {period}"), dated=True)]
    parts: Annotated[
        tuple[str, ...],
        ListOf(
            "All parts, now and later; every release names the same ones",
            people("The name of one part"),
            minimum=2,
            maximum=1_000,
            noun="parts",
        ),
    ]
    """All parts of the population, sorted."""
    source: Annotated[str, prose("Why nobody belongs to two parts, and who says so; published")]

    def checked(self, path: Place, report: Report) -> Self:
        """One of parts that cannot be taken for each other, in their order."""
        first: dict[str, str] = {}
        for number, part in enumerate(self.parts):
            same = first.setdefault(as_read(part), part)
            if same is not part:
                report.add(
                    (*path, "parts", number),
                    found=quoted(part),
                    expected="parts that differ in more than blanks and capital letters",
                    why=f"the same people could be charged as {quoted(same)} and as this part",
                )
        if self.name not in self.parts:
            report.add(
                (*path, "name"),
                found=quoted(self.name),
                expected="one of: " + ", ".join(self.parts),
                fix=report.suggest(self.name, self.parts),
            )
        return replace(self, parts=tuple(sorted(self.parts)))


@dataclass(frozen=True)
class LedgerConfig:
    """The budget ledger of the population, over all its releases."""

    path: Annotated[
        Path,
        Key(FilePath("The ledger's file, relative to this file", follows_links=True), private=True),
    ]
    population: Annotated[str, people("The name of the people that the budget protects")]
    epsilon_cap: Annotated[
        Fraction,
        Exact("The most that all releases may spend", ZERO, Fraction(10**6), above_minimum=True),
    ]
    delta_cap: Annotated[
        Fraction, Exact("The largest sum of deltas", ZERO, ONE, below_maximum=True)
    ] = ZERO
    disjoint_part: Annotated[DisjointPart | None, record(DisjointPart)] = None
    """None: the release may be about everybody in the population."""

    def checked(self, path: Place, report: Report) -> Self:
        """One account over all periods."""
        if PERIOD in self.population:
            report.add(
                (*path, "population"),
                expected="a name without {period}",
                why="what is published of the same people in several periods adds up in one "
                "account",
                fix="name the people; if nobody is in two periods, declare `disjoint_part`",
            )
        return self


_PART = ("ledger", "disjoint_part")
WILDCARDS = "*?[{\\"
"""What patterns of files and of Spark leave open."""


def check_part_and_neighbours(ledger: LedgerConfig, privacy: PrivacyConfig, report: Report) -> None:
    """Parts are charged in parallel only where nobody can be replaced by one of another part."""
    if ledger.disjoint_part is not None and privacy.neighbours == "replace-one":
        report.add(
            _PART,
            expected="no part, or privacy.neighbours: add-remove",
            why="somebody who is replaced by one of another part changes what two parts release",
            fix="leave `disjoint_part` out: then the release is charged to everybody",
        )


def check_part_of_a_period(source: Source, report: Report) -> None:
    """Where the period names the part, it must select the records, too."""
    if PERIOD not in report.text_at((*_PART, "name")):
        return
    steps, is_address = place_of_records(source)
    place = report.text_at(("source", *steps))
    files = PARQUET_FILES.fullmatch(place)
    if is_address:
        place = posixpath.normpath(place if files is None else files[1])
    key = ".".join(steps)
    if PERIOD not in place:
        report.add(
            (*_PART, "name"),
            expected=f"a fixed part, or {{period}} in source.{key} as well",
            why="else every period measures the same records, and only one of them is charged",
            fix="leave `disjoint_part` out, unless each period has records of its own: then write "
            f"{{period}} where source.{key} names them",
        )
    elif is_address and may_overlap(place):
        refuse_overlap((*_PART, "name"), report)


def place_of_records(source: Source) -> tuple[tuple[str, ...], bool]:
    """The key that says which records are measured, and whether it names files."""
    if source.path is not None:
        return ("path",), True
    if source.frame:
        return ("frame",), False
    if source.spark is not None:
        return ("spark", "table"), PARQUET_FILES.fullmatch(source.spark.table) is not None
    return ("table",), False


def refuse_overlap(path: Place, report: Report, *, or_else: str = "") -> None:
    """Report a pattern that may name a file for two periods."""
    report.add(
        path,
        expected="periods whose files cannot overlap",
        why="with * ? [ beside {period}, or with **, the files of one period can be among "
        "those of another",
        fix="give each period a folder of its own, as in {period}/*.csv" + or_else,
    )


def may_overlap(place: str) -> bool:
    """Whether a pattern may name a file for two periods, judged on the safe side."""
    steps = place.split("/")
    beside = "".join(step.replace(PERIOD, "") for step in steps if PERIOD in step)
    return "**" in steps or any(mark in beside for mark in WILDCARDS)


UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Characters that show nothing and are no format marks (Cf): those which Unicode calls ignorable by
default (DerivedCoreProperties, Default_Ignorable_Code_Point), and the empty Braille pattern."""


def as_read(name: str) -> str:
    """A name of people without what a reader overlooks; who is the same has one of them.

    Blanks and marks of no width go, and so do capital letters and the ways in which Unicode
    writes one letter (NFKC).
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (letter for letter in folded if unicodedata.category(letter) != "Cf")
    return "".join(UNSEEN.sub("", "".join(seen)).split())
