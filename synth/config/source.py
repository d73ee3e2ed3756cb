"""The source: where the raw data are, how they are written, and what happens to them.

Where the bytes lie (a path, an address, a cluster) stays with the curator. Which kind of source
they are, which table is counted, why its rows are records and how CSV text is split decide what
is counted, so they are hashed, approved and published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from synth.config.edges import DateFormat, TimeZone
from synth.config.schema.problems import Place, Refused, Report
from synth.config.schema.scalars import (
    MOST_OF_A_NAME,
    NOT_EMPTY,
    ONE_LINE,
    Choice,
    FilePath,
    Flag,
    Rule,
    Text,
    line,
    named,
    prose,
)
from synth.config.schema.shapes import Key, ListOf, record
from synth.config.schema.yaml_tree import from_json
from synth.config.source_files import (
    ARROW,
    CSV,
    EXCEL,
    FILE_KINDS,
    FRAME,
    JSON_LINES,
    MADE_UP,
    PACKINGS,
    PARQUET,
    SAS,
    SPSS,
    STATA,
    Dialect,
    FileSource,
    FrameSource,
    PostgresSource,
    SourceConfig,
    SparkSource,
    file_kind,
)
from synth.errors import ConfigError

PLACES = ("path", "url", "spark", "frame")
"""The keys of which a source has exactly one."""

POSTGRESQL = "postgresql"
SPARK_TABLE, SPARK_PARQUET = "spark", "spark-parquet"
"""The kinds of sources, as the public form names them."""

FILES_IN_WORDS = {
    PARQUET: "Parquet files",
    ARROW: "Arrow files",
    JSON_LINES: "files of JSON lines",
    EXCEL: "Excel workbooks",
    SPSS: "SPSS files",
    STATA: "Stata files",
    SAS: "SAS files",
}
"""What the kinds of files are called, but for CSV, of which there is more to say."""

PARQUET_FILES = re.compile(r"parquet\.`([^`]+)`", re.IGNORECASE)
"""How a table of Spark is written that is no table: Parquet files at an address."""

MOST_NAME_BYTES = 63
"""Of the name of a table or a schema, in PostgreSQL as it is built."""


def _any_case(ending: str) -> str:
    """A pattern of an ending in small or capital letters: JSON Schema knows no flag for that."""
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in ending.removeprefix("."))


_PACKED = "|".join(map(_any_case, PACKINGS))
_TEXTS = "|".join(_any_case(each) for kind in (CSV, JSON_LINES) for each in FILE_KINDS[kind])
_OTHERS = "|".join(
    _any_case(each)
    for kind, endings in FILE_KINDS.items()
    if kind not in (CSV, JSON_LINES)
    for each in endings
)

SOURCE_FILE = Rule(
    rf"\.(?:(?:{_TEXTS})(?:\.(?:{_PACKED}))?|{_any_case('.zip')}|{_OTHERS})$",
    "a file name or glob that ends in .csv (.tsv, .txt), .jsonl (.ndjson), .parquet, .arrow "
    "(.feather), .xlsx, .sav (.zsav), .dta, .sas7bdat or .xpt; CSV and JSON lines may be packed: "
    f"{', '.join(PACKINGS)}",
    fix="save .xls and .ods as .xlsx, and .rds, .RData, .por and .dbf as .csv or .parquet; unpack "
    "other archives",
)

NO_CREDENTIALS = Rule(
    r"^(?!.*@)(?!.*[?&](?:user|password|passfile|passwd)=)",
    "an address without user and password",
    why="a configuration is shown to others, and the environment is not",
    fix="give them by PGUSER and PGPASSWORD, PGPASSFILE or PGSERVICE, as for psql",
    found="an address with a user or a password",
)

_SETTING = (
    "(?:host|port|sslmode|sslrootcert|sslcrl|channel_binding|gssencmode|connect_timeout"
    "|target_session_attrs|load_balance_hosts)=[^&#?]*"
)
DATABASE_ADDRESS = Rule(
    rf"^postgres(?:ql)?://[^@/?#\s]*(?:/[^@/?#\s]*)?(?:\?{_SETTING}(?:&{_SETTING})*)?$",
    "an address such as postgresql://host:5432/database?sslmode=verify-full",
    why="settings other than host, port, TLS and time limits are not for a configuration",
)

DATABASE_TABLE = Rule(
    r"^[^.]+(?:\.[^.]+)?$",
    "table or schema.table, as the database stores the names, without quotes",
)

ONE_CHARACTER = Rule(
    "^[\\t\\u0020-\\u007e]$",
    "one ASCII character, or one of the words tab, comma, semicolon, pipe",
    fix="write a tab as the word tab",
)

QUOTE_CHARACTER = Rule("^[\\u0020-\\u007e]?$", 'one ASCII character, or "" for none')

ESCAPE_CHARACTER = Rule(
    "^[\\u0020-\\u007e]$",
    "one ASCII character",
    fix="leave `escape` out where quotes in a quoted field are doubled, or nothing is escaped",
)

_PARTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)
ENCODINGS = ("utf-8", "latin-1", "windows-1252", *(f"iso-8859-{part}" for part in _PARTS))
"""Encodings in which the bytes of ASCII mean ASCII, so that delimiters can be found."""

_ENCODINGS_BY_OTHER_NAMES = {
    "utf-8": ("utf8", "utf_8"),
    "latin-1": ("latin1", "latin_1", "iso-8859-1", "iso8859-1", "iso_8859_1", "l1"),
    "windows-1252": ("windows1252", "windows_1252", "cp1252", "cp-1252"),
    **{f"iso-8859-{n}": (f"iso8859-{n}", f"iso_8859_{n}") for n in _PARTS},
    "iso-8859-15": ("iso8859-15", "iso_8859_15", "latin-9", "latin9"),
}
ENCODING_NAMES = {
    written: encoding
    for encoding, others in _ENCODINGS_BY_OTHER_NAMES.items()
    for name in (encoding, *others)
    for written in (name, name.upper(), name.capitalize())
    if written != encoding
}
"""What else the encodings are called."""

DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass(frozen=True)
class SparkTable:
    """A table that Spark counts."""

    table: Annotated[
        str,
        Text(
            "The table, as Spark calls it; may hold {period}",
            (NOT_EMPTY, ONE_LINE),
            1_000,
            dated=True,
        ),
    ]
    master: Annotated[
        str | None,
        Key(
            Text("Where Spark runs, such as local[2]; else as its surroundings say", (NOT_EMPTY,)),
            private=True,
        ),
    ] = None


@dataclass(frozen=True)
class WhereConfig:
    """Which records are those of a period, by a column of dates."""

    column: Annotated[str, line("The column of dates or times, as the source writes it")]
    within: Annotated[
        Literal["period"], Choice("The period of the series that the date lies in", ("period",))
    ]
    format: DateFormat = None
    time_zone: TimeZone = "UTC"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the raw data are, how they are written, and what happens to them afterwards."""

    kind: Annotated[
        str | None,
        Key(
            Choice(
                "What the records come from: files of a kind, a table of PostgreSQL or of "
                "Spark, Parquet files that Spark reads, a table in memory, or nowhere: made up "
                "for a rehearsal",
                (*FILE_KINDS, POSTGRESQL, SPARK_TABLE, SPARK_PARQUET, FRAME, MADE_UP),
            ),
            required=True,
            derived=True,
        ),
    ] = None
    path: Annotated[
        Path | None,
        Key(
            FilePath(
                "File or glob of CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata or SAS, "
                "relative to this file; may hold {period}",
                (NOT_EMPTY, ONE_LINE, SOURCE_FILE),
                dated=True,
            ),
            required=True,
            private=True,
            unless=("url", "spark", "frame"),
        ),
    ] = None
    url: Annotated[
        str | None,
        Key(
            Text(
                "Address of a PostgreSQL database, without user and password",
                (NOT_EMPTY, ONE_LINE, NO_CREDENTIALS, DATABASE_ADDRESS),
                1_000,
            ),
            private=True,
        ),
    ] = None
    table: Annotated[
        str | None,
        Text(
            "Table or view of that database, as table or schema.table; may hold {period}",
            (NOT_EMPTY, ONE_LINE, DATABASE_TABLE),
            dated=True,
        ),
    ] = None
    view_reason: Annotated[
        str | None,
        prose(
            "Why the table may be a view or a foreign table, or hold rows of one: every row "
            "comes from one record, by expressions that no value stops; published"
        ),
    ] = None
    spark: Annotated[SparkTable | None, record(SparkTable)] = None
    where: Annotated[WhereConfig | None, record(WhereConfig)] = None
    frame: Annotated[
        bool | None,
        Key(
            Flag("true: a program hands a table over, by synth.run(config, source=table)"),
            private=True,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        named(
            Text(
                "Between the fields of a CSV file: a character, or tab, comma, semicolon, pipe",
                (ONE_CHARACTER,),
            ),
            DELIMITER_NAMES,
        ),
    ] = Dialect.delimiter
    quote: Annotated[
        str | None,
        Text('Around a field that holds a delimiter; "" for none', (QUOTE_CHARACTER,)),
    ] = Dialect.quote
    escape: Annotated[
        str | None,
        Text(
            "Before a character that is meant as it stands, everywhere; if left out, a quote "
            "in a quoted field is doubled",
            (ESCAPE_CHARACTER,),
        ),
    ] = None
    encoding: Annotated[
        str | None, named(Choice("The encoding of a CSV file", ENCODINGS), ENCODING_NAMES)
    ] = Dialect.encoding
    decimal: Annotated[
        str | None, Choice("The decimal mark of the numbers in a CSV file", (".", ","))
    ] = Dialect.decimal
    header: Annotated[
        tuple[str, ...] | None,
        ListOf(
            "The columns of CSV files without a line of names, in their order; if left out, "
            "the first line of every file names them",
            Text("The name of a column", (NOT_EMPTY, ONE_LINE), MOST_OF_A_NAME),
            minimum=1,
            noun="names",
        ),
    ] = Dialect.header
    sheet: Annotated[
        str | None,
        Text("The sheet of a workbook: its name, or its number from 1", (NOT_EMPTY, ONE_LINE)),
    ] = None
    disposal: Annotated[
        Literal["keep", "delete"],
        Choice(
            "What happens to the source files once the noisy counts are safe; keep for databases",
            ("keep", "delete"),
        ),
    ]
    disposal_reason: Annotated[
        str | None, prose("Why the source is kept (required for keep); it is published")
    ] = None

    def checked(self, path: Place, report: Report) -> Self:
        """The source is in one place, and every key concerns it."""
        if self.disposal == "keep" and self.disposal_reason is None:
            report.add(
                (*path, "disposal_reason"),
                found="nothing",
                expected="a reason, because the source is kept",
                why="the release promises that raw data go, or says why they stay",
                fix="add `disposal_reason`, or write disposal: delete",
            )
        self._check_dialect(path, report)
        if report.public:
            self._check_kind(path, report)
        else:
            self._check_place(path, report)
        return self

    def _check_dialect(self, path: Place, report: Report) -> None:
        """No column comes twice, and the characters of the dialect differ where they must."""
        names = self.header or ()
        twice = next((i for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            report.add((*path, "header", twice), expected="every name once")
        for name, mark in (("quote", self.quote), ("escape", self.escape)):
            if mark is not None and mark == self.delimiter:
                report.add((*path, name), expected="another character than the delimiter")
                return
        if self.quote == "" and self.decimal == self.delimiter:
            report.add(
                (*path, "decimal"),
                expected="another mark than the delimiter, because there are no quotes",
                why="a number with that mark would be two fields",
            )

    def _check_kind(self, path: Place, report: Report) -> None:
        """What a manifest names of a table is there; all else its normal form settles."""
        table = {POSTGRESQL: "table", SPARK_TABLE: "spark"}.get(self.kind or "")
        if table is not None and getattr(self, table) is None:
            report.add((*path, table), found="nothing", expected="the table of the source")
        if self.spark is not None and PARQUET_FILES.fullmatch(self.spark.table):
            expected = "a table, not the address of files"
            report.add((*path, "spark", "table"), expected=expected)

    def _check_place(self, path: Place, report: Report) -> None:
        places = [key for key in PLACES if report.is_written((*path, key))]
        if len(places) > 1:
            report.add(
                (*path, places[1]),
                found=" and ".join(f"`{key}`" for key in places),
                expected="one of them",
                why="all records of a release come from one place",
            )
            return
        (place,) = places
        if self.frame is False:
            report.add((*path, "frame"), expected="true, or another place of the records")
        if place == "url":
            self._check_table(path, report)
        else:
            self._refuse_table(place, path, report)
        if self.sheet is not None and (self.path is None or file_kind(self.path) != EXCEL):
            report.add(
                (*path, "sheet"),
                found="the key `sheet`",
                expected="it beside the `path` of a workbook (.xlsx) alone",
            )
        if self.path is not None and file_kind(self.path) in (CSV, PARQUET):
            return
        if self.path is None and self.disposal == "delete":
            report.add(
                (*path, "disposal"),
                expected="keep, because only files can be deleted",
                why="synth never changes a database; its keeper deletes what is to go",
                fix="write disposal: keep, with a disposal_reason that says what becomes of the "
                "table",
            )
        for key in (name for name in asdict(Dialect()) if report.is_written((*path, name))):
            report.add(
                (*path, key),
                found=f"the key `{key}`",
                expected="it beside `path` alone"
                if self.path is None
                else "it beside the `path` of CSV files alone",
                why="it says how a CSV file is written",
            )

    def _check_table(self, path: Place, report: Report) -> None:
        """The table is there, by no name that PostgreSQL would cut: two could become one."""
        if self.table is None:
            expected = "the table of the database"
            report.add((*path, "table"), found="nothing", expected=expected)
        elif any(len(part.encode()) > MOST_NAME_BYTES for part in self.table.split(".")):
            report.add(
                (*path, "table"),
                expected=f"names of at most {MOST_NAME_BYTES} bytes",
                why="PostgreSQL cuts longer names, so that two of them could mean one table",
            )

    def _refuse_table(self, place: str, path: Place, report: Report) -> None:
        if report.is_written((*path, "table")):
            report.add(
                (*path, "table"),
                found="the key `table`",
                expected="`table` beside `url` alone",
                fix="write spark: {table: ...} for a table of Spark" if place == "spark" else "",
            )
        if report.is_written((*path, "view_reason")):
            report.add(
                (*path, "view_reason"),
                found="the key `view_reason`",
                expected="it beside `url` alone",
            )

    @property
    def config(self) -> SourceConfig:
        """The source as it is opened. Requires: it is in exactly one place, none of a manifest."""
        disposal, reason = self.disposal, self.disposal_reason or ""
        if self.path is not None:
            return FileSource(self.path, self.dialect, disposal, reason, self.sheet)
        if self.spark is not None:
            return SparkSource(self.spark.table, self.spark.master, "keep", reason)
        if self.frame:
            return FrameSource("keep", reason)
        return PostgresSource(self.url or "", self.table or "", "keep", reason, self.view_reason)

    @property
    def dialect(self) -> Dialect:
        """The dialect of CSV files as it takes effect: without an escape, quotes are doubled."""
        said = {name: getattr(self, name) for name in asdict(Dialect())}
        return Dialect(**{**said, "escape": self.quote if self.escape is None else self.escape})

    @property
    def public(self) -> Source:
        """The section in its normal form: the kind, what concerns that kind, and the disposal.

        Ensures: two sections that split the same bytes into the same records are equal here; the
        section of a manifest gives itself.
        """
        kind = self.kind or self._kind_of_place
        concerned: dict[str, Any] = {}
        if kind == CSV:
            concerned = asdict(self.dialect)
            concerned["escape"] = concerned["escape"] or None
        elif kind == EXCEL:
            concerned = {"sheet": self.sheet}
        elif kind == POSTGRESQL:
            concerned = {"table": self.table, "view_reason": self.view_reason}
        elif kind == SPARK_TABLE:
            concerned = {"spark": self.spark}
        elsewhere = dict.fromkeys((*asdict(Dialect()), "sheet", "table", "view_reason", "spark"))
        return replace(self, **{**elsewhere, **concerned, "kind": kind})

    @property
    def _kind_of_place(self) -> str:
        if self.path is not None:
            return file_kind(self.path)
        if self.spark is not None:
            return SPARK_PARQUET if PARQUET_FILES.fullmatch(self.spark.table) else SPARK_TABLE
        if self.frame:
            return FRAME
        return POSTGRESQL


def parse_source(written: Mapping[str, Any]) -> SourceConfig:
    """The source that keys of the section `source` name on the command line.

    Raises: ConfigError if they break its rules.
    """
    report = Report(base=Path.cwd())
    with suppress(Refused):
        source: Source = record(Source).read(from_json(written), ("source",), report)
        return source.config
    raise ConfigError("the command line", report.problems())


def records_in_words(source: Mapping[str, Any]) -> str:
    """What the records of a source are, from its public form, after "the records are"."""
    kind = source["kind"]
    if kind == POSTGRESQL:
        return f"the rows of the PostgreSQL table {source['table']}"
    if kind == SPARK_TABLE:
        return f"the rows of the Spark table {source['spark']['table']}"
    if kind in FILES_IN_WORDS:
        sheet = source.get("sheet")
        return f"the rows of {FILES_IN_WORDS[kind]}" + (f", sheet {sheet}" if sheet else "")
    if kind == FRAME:
        return "the rows of a table that a program held in memory"
    if kind == MADE_UP:
        return "rows that were made up for a rehearsal, about nobody"
    if kind == SPARK_PARQUET:
        return "the rows of Parquet files, read by Spark"
    delimiter, quote, encoding = source["delimiter"], source["quote"], source["encoding"]
    marks = f"quote {quote!r}" if quote else "no quote"
    marks += f", escape {source['escape']!r}" if source.get("escape") else ""
    marks += f", encoding {encoding}"
    marks += f", decimal mark {source['decimal']!r}" if source["decimal"] != "." else ""
    marks += ", without a line of names" if source.get("header") else ""
    return f"those of CSV files with delimiter {delimiter!r}, {marks}"
