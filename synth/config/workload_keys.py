"""The keys that say what the release should answer, and which tables are measured for it."""

from __future__ import annotations

from fractions import Fraction

from synth.config.choices import Either
from synth.config.domain_keys import MAX_COLUMNS
from synth.config.scalars import Choice, Exact, Flag, Whole
from synth.config.shapes import Key, ListOf, Record
from synth.config.texts import label, name

MAX_MARGINALS = 10_000
MAX_RANGES = 1_000
MAX_TABLES = 10_000

DEFAULT_ORDER = 3
"""The workload is every table of up to so many columns, where nothing else is written."""

DEFAULT_WORKLOAD = {
    "marginals": DEFAULT_ORDER,
    "cells": True,
    "ranges": None,
    "expected_records": None,
}

COLUMNS = ListOf(
    "The columns of one table",
    name("A column of the domain"),
    minimum=1,
    maximum=MAX_COLUMNS,
    noun="columns",
)

WEIGHT = Key(
    "weight",
    Exact("How much its errors count (1)", Fraction(1, 10**9), Fraction(10**9)),
    default=Fraction(1),
)

WORKLOAD = Record(
    "What the release should answer well",
    (
        Key(
            "marginals",
            Either(
                "A number k for every table of up to k columns, or a list of tables",
                "a whole number, or a list of tables",
                single=Whole("All tables of up to so many columns", 1, MAX_COLUMNS),
                several=ListOf(
                    "Tables",
                    Either(
                        "One table: its columns, with or without a weight",
                        "a list of columns, or {columns: [...], weight: ...}",
                        several=COLUMNS,
                        record=Record(
                            "One table with its weight",
                            (
                                Key("columns", COLUMNS, required=True),
                                WEIGHT,
                            ),
                        ),
                    ),
                    minimum=1,
                    maximum=MAX_MARGINALS,
                    noun="tables",
                ),
            ),
            default=DEFAULT_ORDER,
        ),
        Key("cells", Flag("Whether single cells of the universe matter"), default=True),
        Key(
            "ranges",
            ListOf(
                "Counts over intervals of columns of type integer or number",
                Record(
                    "Queries with one interval for each column, all of which hold together",
                    (
                        Key(
                            "columns",
                            ListOf(
                                "The columns, each with an interval of its own",
                                name("A column of type integer or number"),
                                minimum=1,
                                maximum=MAX_COLUMNS,
                                noun="columns",
                            ),
                            required=True,
                        ),
                        Key(
                            "kind",
                            Choice(
                                "prefix asks for every interval from the first bin on, range for "
                                "every interval",
                                ("prefix", "range"),
                            ),
                            required=True,
                        ),
                        WEIGHT,
                    ),
                ),
                maximum=MAX_RANGES,
                noun="sets of queries",
            ),
        ),
        Key(
            "expected_records",
            Whole("A public guess of the number of records, never from the data", 1, 10**12),
        ),
    ),
)

STRATEGY = Either(
    "Which tables are measured: auto lets the planner choose, identity measures every cell of the "
    "universe, adaptive chooses step by step from what it measured, sparse lists the heavy cells "
    "beside small tables, as auto does for a large universe, tables lists them",
    "one of: auto, identity, adaptive, sparse; or {tables: [...]}",
    single=Choice("A word for the choice", ("auto", "identity", "adaptive", "sparse")),
    record=Record(
        "The tables that are measured, and no others",
        (
            Key(
                "tables",
                ListOf(
                    "Every table that is measured",
                    ListOf(
                        "The columns of one table; all columns make the universe",
                        Either(
                            "A column as it is, or at a level of its hierarchy",
                            "a column, or {column: ..., level: ...}",
                            single=name("A column of the domain"),
                            record=Record(
                                "A column at a level of its hierarchy",
                                (
                                    Key("column", name("The column"), required=True),
                                    Key("level", label("A level by its name"), required=True),
                                ),
                            ),
                        ),
                        minimum=1,
                        maximum=MAX_COLUMNS,
                        noun="columns",
                    ),
                    minimum=1,
                    maximum=MAX_TABLES,
                    noun="tables",
                ),
                required=True,
            ),
        ),
    ),
)
