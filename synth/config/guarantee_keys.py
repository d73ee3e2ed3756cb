"""The keys that say what is promised, and who keeps count."""

from __future__ import annotations

from fractions import Fraction

from synth.config.choices import Either
from synth.config.limits import DELTA_MEANS, MAX_DELTA, MIN_EPSILON_PER_RECORD, NOISE_ALONE
from synth.config.rules import NOT_EMPTY, ONE_LINE
from synth.config.scalars import Choice, Exact, Text, Whole
from synth.config.shapes import Key, ListOf, Record
from synth.config.texts import name, people, prose

ZERO, ONE = Fraction(0), Fraction(1)

EPSILON = Exact(
    "The privacy budget of this release",
    MIN_EPSILON_PER_RECORD,
    Fraction(1000),
    why=f"{NOISE_ALONE}, a larger one protects nobody",
)

UNIT = Either(
    "What one unit of privacy is: a record, or all records of one person",
    "record, or {column: ..., max_records: ...}",
    single=Choice("Each record is protected by itself", ("record",)),
    record=Record(
        "All records of one person are protected together",
        (
            Key("column", name("The source column that identifies the person"), required=True),
            Key(
                "max_records",
                Whole("How many records of one person are counted at most", 1, 1_000_000),
                required=True,
            ),
        ),
    ),
)

PRIVACY = Record(
    "The guarantee: budget, neighbouring relation and privacy unit",
    (
        Key(
            "epsilon",
            EPSILON,
            required=True,
        ),
        Key(
            "delta",
            Exact("The delta of the budget; 0 is pure privacy", ZERO, MAX_DELTA, why=DELTA_MEANS),
            default=ZERO,
        ),
        Key(
            "neighbours",
            Choice(
                "add-remove protects whether a unit is there at all; replace-one what it holds, "
                "with the number of records declared public",
                ("add-remove", "replace-one"),
            ),
            required=True,
        ),
        Key("unit", UNIT, required=True),
        Key("justification", prose("Why this guarantee is enough; published"), required=True),
    ),
)

DISJOINT_PART = Record(
    "The part of the population that the source is about, where nobody belongs to two parts",
    (
        Key("name", people("One of the parts; may hold {period}"), required=True),
        Key(
            "parts",
            ListOf(
                "All parts, now and later; every release names the same ones",
                people("The name of one part"),
                minimum=2,
                maximum=1_000,
                noun="parts",
            ),
            required=True,
        ),
        Key(
            "source",
            prose("Why nobody belongs to two parts, and who says so; published"),
            required=True,
        ),
    ),
)

LEDGER = Record(
    "The budget ledger of the population, over all its releases",
    (
        Key(
            "path",
            Text("The ledger's file, relative to this file", (NOT_EMPTY, ONE_LINE), 1_000),
            required=True,
            private=True,
        ),
        Key(
            "population",
            people("The name of the people that the budget protects"),
            required=True,
        ),
        Key(
            "epsilon_cap",
            Exact(
                "The most that all releases may spend", ZERO, Fraction(10**6), above_minimum=True
            ),
            required=True,
        ),
        Key(
            "delta_cap",
            Exact("The largest sum of deltas", ZERO, ONE, below_maximum=True),
            default=ZERO,
        ),
        Key("disjoint_part", DISJOINT_PART),
    ),
)
