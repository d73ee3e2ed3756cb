"""The keys that say what can be counted: columns, impossible cells, known totals."""

from __future__ import annotations

from fractions import Fraction

from synth.config.choices import MapOf, OneOrList
from synth.config.hierarchy_keys import categorical_hierarchy, ordered_hierarchy
from synth.config.rules import ONE_LINE
from synth.config.scalars import Choice, Exact, Text, Whole
from synth.config.shapes import Key, ListOf, Record, Variants
from synth.config.texts import label, line, name, prose

LARGEST = 2**53 - 1
"""The largest whole number that every common reader of numbers keeps exactly."""

FARTHEST = Fraction(10) ** 15
"""The largest edge of a `number` column."""

MAX_COLUMNS = 1_000
MAX_LEVELS = 100_000
MAX_RULES = 1_000


def _attribute(kind: str, description: str, *keys: Key) -> Record:
    return Record(
        description,
        (
            Key("name", name("The column, as the source writes it"), required=True),
            Key("type", Choice("The kind of column", (kind,)), required=True),
            *keys,
            Key(
                "missing",
                ListOf(
                    "How the source writes a missing value; declaring it makes the missing level",
                    Text('One such text; "" is an empty field', rules=(ONE_LINE,)),
                    maximum=100,
                ),
                default=[],
            ),
            Key(
                "out_of_domain",
                label("Where any other value goes: missing, clamp (ordered only), or a level"),
                required=True,
            ),
            Key("source", prose("Where levels and bounds come from; published"), required=True),
            Key("title", line("Title of the column for people")),
            Key("description", prose("Description of the column")),
        ),
    )


DOMAIN = ListOf(
    "The columns of the release, in order, with every level or bin that they can take",
    Variants(
        "One column",
        {
            "categorical": _attribute(
                "categorical",
                "A column with a list of levels",
                Key(
                    "levels",
                    ListOf(
                        "Every level, as the source writes it",
                        name("One level"),
                        minimum=1,
                        maximum=MAX_LEVELS,
                    ),
                    required=True,
                ),
                categorical_hierarchy(MAX_LEVELS),
            ),
            "integer": _attribute(
                "integer",
                "A column of whole numbers in bins: minimum and maximum, or edges",
                Key("minimum", Whole("The smallest number", -LARGEST, LARGEST)),
                Key("maximum", Whole("The largest number", -LARGEST, LARGEST)),
                Key("bin_width", Whole("Numbers per bin (1); the last may be shorter", 1, LARGEST)),
                Key(
                    "edges",
                    ListOf(
                        "Where bins begin, and the largest number at the end",
                        Whole("One edge", -LARGEST, LARGEST),
                        minimum=2,
                        maximum=MAX_LEVELS + 1,
                    ),
                ),
                ordered_hierarchy(
                    Whole("One edge", -LARGEST, LARGEST),
                    Whole("Numbers per bin; the last may be shorter", 1, LARGEST),
                    MAX_LEVELS,
                ),
            ),
            "number": _attribute(
                "number",
                "A column of numbers in bins",
                Key(
                    "edges",
                    ListOf(
                        "Where bins begin, and the largest number at the end",
                        Exact("One edge", -FARTHEST, FARTHEST, ratios=False),
                        minimum=2,
                        maximum=MAX_LEVELS + 1,
                    ),
                    required=True,
                ),
                ordered_hierarchy(
                    Exact("One edge", -FARTHEST, FARTHEST, ratios=False),
                    Exact(
                        "The width of a bin; the last may be shorter",
                        Fraction(0),
                        2 * FARTHEST,
                        ratios=False,
                        above_minimum=True,
                    ),
                    MAX_LEVELS,
                ),
            ),
        },
    ),
    minimum=1,
    maximum=MAX_COLUMNS,
    noun="columns",
)

LEVELS = OneOrList(
    "A level, or a list of levels",
    label('A level, a whole number, a bin such as "[20, 25)", or missing'),
    maximum=MAX_LEVELS,
)

IMPOSSIBLE = ListOf(
    "Combinations of levels that cannot occur, by public logic",
    MapOf("Column to level or levels; all must hold together", LEVELS, minimum=1),
    maximum=MAX_RULES,
    noun="combinations",
)

PUBLIC_TOTALS = ListOf(
    "Numbers of records known from elsewhere, never computed from the data; held exactly",
    Record(
        "One known total",
        (
            Key(
                "where",
                MapOf("Column to level or levels; {} is all records", LEVELS),
                required=True,
            ),
            Key("total", Whole("The number of records", 0, 10**12), required=True),
            Key("source", prose("Where the number is published"), required=True),
        ),
    ),
    maximum=MAX_RULES,
    noun="totals",
)
