"""The keys that say where the raw data are: files, a database table, or a Spark table."""

from __future__ import annotations

from synth.config.rules import (
    DATABASE_ADDRESS,
    DATABASE_TABLE,
    DELIMITER_NAMES,
    ENCODING_NAMES,
    ENCODINGS,
    ESCAPE_CHARACTER,
    NO_CREDENTIALS,
    NOT_EMPTY,
    ONE_CHARACTER,
    ONE_LINE,
    QUOTE_CHARACTER,
    SOURCE_FILE,
)
from synth.config.scalars import Choice, Named, Text
from synth.config.shapes import Key, ListOf, Record
from synth.config.texts import prose

PLACES = ("path", "url", "spark")
"""The keys of which a source has exactly one."""

CSV, PARQUET, POSTGRESQL = "csv", "parquet", "postgresql"
SPARK_TABLE, SPARK_PARQUET = "spark", "spark-parquet"
"""The kinds of sources, as the public form names them."""

DIALECT = ("delimiter", "quote", "escape", "encoding", "decimal", "header")
"""The keys that concern CSV files only."""

SPARK = Record(
    "A table that Spark counts",
    (
        Key(
            "table",
            Text("The table, as Spark calls it; may hold {period}", (NOT_EMPTY, ONE_LINE), 1_000),
            required=True,
        ),
        Key(
            "master",
            Text("Where Spark runs, such as local[2]; else as its surroundings say", (NOT_EMPTY,)),
            private=True,
        ),
    ),
)

SOURCE = Record(
    "Where the raw data are, how they are written, and what happens to them afterwards",
    (
        Key(
            "kind",
            Choice(
                "What the records come from: CSV or Parquet files, a table of PostgreSQL or of "
                "Spark, or Parquet files that Spark reads",
                (CSV, PARQUET, POSTGRESQL, SPARK_TABLE, SPARK_PARQUET),
            ),
            required=True,
            derived=True,
        ),
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
            "url",
            Text(
                "Address of a PostgreSQL database, without user and password",
                rules=(NOT_EMPTY, ONE_LINE, NO_CREDENTIALS, DATABASE_ADDRESS),
                max_length=1_000,
            ),
            private=True,
        ),
        Key(
            "table",
            Text(
                "Table or view of that database, as table or schema.table; may hold {period}",
                rules=(NOT_EMPTY, ONE_LINE, DATABASE_TABLE),
            ),
        ),
        Key(
            "view_reason",
            prose(
                "Why the table may be a view or a foreign table, or hold rows of one: every row "
                "comes from one record, by expressions that no value stops; published"
            ),
        ),
        Key("spark", SPARK),
        Key(
            "delimiter",
            Named(
                Text(
                    "Between the fields of a CSV file: a character, or tab, comma, semicolon, pipe",
                    rules=(ONE_CHARACTER,),
                ),
                DELIMITER_NAMES,
            ),
            default=",",
        ),
        Key(
            "quote",
            Text('Around a field that holds a delimiter; "" for none', rules=(QUOTE_CHARACTER,)),
            default='"',
        ),
        Key(
            "escape",
            Text(
                "Before a character that is meant as it stands, everywhere; if left out, a quote "
                "in a quoted field is doubled",
                rules=(ESCAPE_CHARACTER,),
            ),
        ),
        Key(
            "encoding",
            Named(Choice("The encoding of a CSV file", ENCODINGS), ENCODING_NAMES),
            default="utf-8",
        ),
        Key(
            "decimal",
            Choice("The decimal mark of the numbers in a CSV file", (".", ",")),
            default=".",
        ),
        Key(
            "header",
            ListOf(
                "The columns of CSV files without a line of names, in their order; if left out, "
                "the first line of every file names them",
                Text("The name of a column", rules=(NOT_EMPTY, ONE_LINE)),
                minimum=1,
                noun="names",
            ),
        ),
        Key(
            "disposal",
            Choice(
                "What happens to the source files once the noisy counts are safe; keep for "
                "databases",
                ("keep", "delete"),
            ),
            required=True,
        ),
        Key(
            "disposal_reason", prose("Why the source is kept (required for keep); it is published")
        ),
    ),
)
