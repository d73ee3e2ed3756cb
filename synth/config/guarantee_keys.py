"""The keys that say what is read, what is promised for it, and who keeps count."""

from __future__ import annotations

from fractions import Fraction

from synth.config.choices import Either
from synth.config.limits import DELTA_MEANS, MAX_DELTA, MIN_EPSILON_PER_RECORD, NOISE_ALONE
from synth.config.rules import (
    ENCODINGS,
    NOT_EMPTY,
    ONE_CHARACTER,
    ONE_LINE,
    QUOTE_CHARACTER,
    SOURCE_FILE,
)
from synth.config.scalars import Choice, Exact, Text, Whole
from synth.config.shapes import Key, Record
from synth.config.texts import line, name, prose

ZERO, ONE = Fraction(0), Fraction(1)

EPSILON = Exact(
    "The privacy budget of this release",
    MIN_EPSILON_PER_RECORD,
    Fraction(1000),
    why=f"{NOISE_ALONE}, a larger one protects nobody",
)

SOURCE = Record(
    "Where the raw data are, how they are written, and what happens to them afterwards",
    (
        Key(
            "path",
            Text(
                "File or glob of CSV, gzipped CSV or Parquet, relative to this file; may hold "
                "{period}",
                rules=(NOT_EMPTY, ONE_LINE, SOURCE_FILE),
                max_length=1_000,
            ),
            required=True,
            private=True,
            unless=("url", "spark"),
        ),
        Key(
            "delimiter",
            Text("Between the fields of a CSV file", rules=(ONE_CHARACTER,)),
            default=",",
            private=True,
        ),
        Key(
            "quote",
            Text('Around a field that holds a delimiter; "" for none', rules=(QUOTE_CHARACTER,)),
            default='"',
            private=True,
        ),
        Key(
            "escape",
            Text("Before a quote inside a quoted field", rules=(QUOTE_CHARACTER,)),
            default='"',
            private=True,
        ),
        Key(
            "encoding",
            Choice("The encoding of a CSV file", ENCODINGS),
            default="utf-8",
            private=True,
        ),
        Key(
            "disposal",
            Choice(
                "What happens to the source files once the noisy counts are safe",
                ("keep", "delete"),
            ),
            required=True,
        ),
        Key(
            "disposal_reason", prose("Why the source is kept (required for keep); it is published")
        ),
    ),
    later=("url", "table", "spark"),
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

LEDGER = Record(
    "The budget ledger of the population, over all its releases",
    (
        Key(
            "path",
            Text("The ledger's file, relative to this file", (NOT_EMPTY, ONE_LINE), 1_000),
            required=True,
            private=True,
        ),
        Key("population", line("The name of the people that the budget protects"), required=True),
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
    ),
)
