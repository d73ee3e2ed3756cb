"""Tables of Spark: how the configuration names them, and what of them can be counted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyspark.sql.functions as f
import pyspark.sql.types as types
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType

from synth.config.source import PARQUET_FILES
from synth.config.source_files import named_twice
from synth.curator.engine import require_columns
from synth.errors import SourceError

ABSOLUTE = re.compile(r"/|[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
IDENTIFIER = r"(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`)"
CATALOG_TABLE = re.compile(rf"{IDENTIFIER}(?:\.{IDENTIFIER})*")
BLANKS = "[ \t\n\x0b\x0c\r]*"
NUMBER = (
    f"^{BLANKS}[+-]?([0-9]+([.][0-9]*)?([eE][+-]?[0-9]+)?|[.][0-9]+([eE][+-]?[0-9]+)?"
    f"|[iI][nN][fF]([iI][nN][iI][tT][yY])?){BLANKS}$"
)
NUMBER_CHARACTERS = 1_000
FORMATS_WITH_LINES = frozenset({"csv", "json", "text", "xml"})


@dataclass(frozen=True)
class OpenTable:
    """A table whose rows are the records, and the columns that Spark says it has."""

    frame: DataFrame
    shown: str

    def kinds(self, columns: Sequence[str], *, person_column: str | None) -> dict[str, str]:
        """The kind of every column by its declared type: int64, float64 or string.

        Raises: SourceError if a column is missing, twice or of a type that cannot be counted,
        or if the person column is neither whole numbers nor text.
        """
        fields = self.frame.schema.fields
        require_columns(columns, columns, [field.name for field in fields], source=self.shown)
        types = {field.name: field.dataType for field in fields}
        kinds = {column: self._kind(column, types[column]) for column in columns}
        if person_column is not None and (
            kinds[person_column] == "float64" or _is_collated(types[person_column])
        ):
            raise SourceError(
                f"the source {self.shown} does not hold {person_column!r} as whole numbers or text",
                why="one person written in two ways would count as two",
                fix="write the column with one type, whole numbers or text without a collation",
            )
        return kinds

    def records(self, kinds: dict[str, str], numbers: dict[str, str]) -> DataFrame:
        """The columns in their kinds, and texts as numbers under the names of `numbers`.

        Ensures: total on every value. Bytes that are no UTF-8 are replaced within their value,
        and texts compare by bytes. A number is what `Records.as_number` says.
        """
        session = self.frame.sparkSession
        session.conf.set("spark.sql.ansi.enabled", "true")  # else small decimals get exponents
        try:
            declared = {field.name: field.dataType for field in self.frame.schema.fields}
            columns = [
                _as_kind(column, kind, declared[column]).alias(column)
                for column, kind in kinds.items()
            ]
            texts = self.frame.select(*columns)  # none of these casts can fail
        finally:
            session.conf.set("spark.sql.ansi.enabled", "false")
        return texts.select("*", *(_as_number(text).alias(name) for text, name in numbers.items()))

    def _kind(self, column: str, declared: DataType) -> str:
        if isinstance(declared, types.IntegralType):
            return "int64"
        if isinstance(declared, types.FloatType | types.DoubleType):
            return "float64"
        plain = (
            types.StringType,
            types.CharType,
            types.VarcharType,
            types.BooleanType,
            types.DecimalType,
            types.DateType,
            types.TimestampType,
            types.TimestampNTZType,
            types.NullType,
        )
        if isinstance(declared, plain):
            return "string"
        raise SourceError(
            f"the source {self.shown} holds {column!r} in a type that cannot be counted",
            fix="write the column as text, whole numbers, floats, decimals, dates, timestamps or "
            "booleans",
        )


def open_table(session: SparkSession, table: str, columns: Sequence[str]) -> OpenTable:
    """The table that `table` names: ``parquet.`address` ``, or a table of the catalog.

    Raises: SourceError if there is none, if it is a view or a text format, or if Parquet files
    hold one of the columns differently; errors of Spark as they are.
    """
    files = PARQUET_FILES.fullmatch(table)
    if files is not None:
        return _open_parquet(session, table, files[1], columns)
    if CATALOG_TABLE.fullmatch(table) is None:
        raise SourceError(
            f"the source is not the name of a table of Spark: {table}",
            fix="write catalog.schema.table (parts with other characters than letters, digits "
            "and _ in backticks), or parquet.`/absolute/path`",
        )
    frame = session.read.table(table)
    if session.catalog.getTable(table).tableType in ("VIEW", "TEMPORARY"):
        raise SourceError(
            f"the source {table} is a view",
            why="a view can make one row of several people's records, and fail on a value",
            fix="name the table behind it, or write the rows of the view to a table",
        )
    if _provider(session, table) in FORMATS_WITH_LINES:
        raise SourceError(
            f"the source {table} is stored as lines of text",
            why="a line that does not fit could stop the run, which would tell about one record",
            fix="write the rows to a table stored as Parquet or ORC",
        )
    if _provider(session, table) == "parquet":
        _refuse_milliseconds(_needed_schemas(session, frame, columns), table, columns)
    return OpenTable(frame, table)


def _needed_schemas(
    session: SparkSession, frame: DataFrame, columns: Sequence[str]
) -> list[dict[str, str]]:
    return [
        {name: described for name, described in schema if name in columns}
        for schema in _schemas(session, frame.inputFiles())
    ]


def _provider(session: SparkSession, table: str) -> str:
    described: Any = session.sql(f"DESCRIBE TABLE EXTENDED {table}")
    rows = [json.loads(row) for row in described._jdf.toJSON().collectAsList()]
    about_table = False
    for row in rows:
        about_table |= row["col_name"] == "# Detailed Table Information"
        if about_table and row["col_name"] == "Provider":
            return str(row["data_type"]).lower()
    return ""


def _open_parquet(
    session: SparkSession, table: str, address: str, columns: Sequence[str]
) -> OpenTable:
    if ABSOLUTE.match(address) is None:
        raise SourceError(
            f"the source names files of Spark by a relative path: {table}",
            why="it would depend on where Spark runs",
            fix="write an absolute path, or an address such as hdfs://host/path",
        )
    frame = session.read.parquet(address)
    _require_each_once(frame, table)
    _require_one_schema(session, frame, table, columns)
    return OpenTable(frame, table)


def _require_each_once(frame: DataFrame, shown: str) -> None:
    """Refuse files of this machine that have two names here; other file systems have no links."""
    here = [Path(unquote(urlsplit(name).path)) for name in frame.inputFiles() if _is_local(name)]
    if named_twice([path for path in here if path.is_file()]) is not None:
        raise SourceError(
            f"the source {shown} names one file twice",
            why="each of its records would be counted twice, and the noise covers one",
            fix="write an address that leaves the links out, or move the links elsewhere",
        )


def _is_local(address: str) -> bool:
    """Whether an address is of a file of this machine, as Spark names its files."""
    return urlsplit(address).scheme in ("", "file")


def _require_one_schema(
    session: SparkSession, frame: DataFrame, shown: str, columns: Sequence[str]
) -> None:
    """Refuse files that differ in a column; Spark would count missing ones as null.

    A column that is in no file is one that their paths give (`column=value`).
    """
    schemas = _needed_schemas(session, frame, columns)
    _refuse_milliseconds(schemas, shown, columns)
    differing = [
        repr(column) for column in columns if len({schema.get(column) for schema in schemas}) > 1
    ]
    if differing:
        raise SourceError(
            f"the files of the source {shown} differ in the column {', '.join(differing)}",
            why="a column that is missing, or of another type, would be counted wrongly",
            fix="write all files with the same columns and types",
        )


def _schemas(session: SparkSession, files: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """The names and types of every file's columns, from its footer."""
    context: Any = session.sparkContext
    jvm, configuration = context._jvm, context._jsc.hadoopConfiguration()
    statuses = jvm.java.util.ArrayList()
    for address in files:
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(address))
        statuses.append(path.getFileSystem(configuration).getFileStatus(path))
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader
    for footer in reader.readAllFootersInParallel(configuration, statuses):
        schema = footer.getParquetMetadata().getFileMetaData().getSchema()
        fields = [schema.getType(number) for number in range(schema.getFieldCount())]
        yield [(field.getName(), _described(field)) for field in fields]


def _refuse_milliseconds(
    schemas: Sequence[Mapping[str, str]], shown: str, columns: Sequence[str]
) -> None:
    """Refuse timestamps in milliseconds.

    Spark makes microseconds of them, and stops at a value that is too large for that.
    """
    found = [
        repr(column)
        for column in columns
        if any("TIMESTAMP(MILLIS" in schema.get(column, "") for schema in schemas)
    ]
    if found:
        raise SourceError(
            f"the files of the source {shown} hold {', '.join(found)} in milliseconds",
            why="Spark stops at a time so far away that it has no microseconds, which would tell "
            "about one record",
            fix="write the timestamps in microseconds",
        )


def _described(field: Any) -> str:
    """The type of a Parquet column, without its name and whether it may be null."""
    if not field.isPrimitive():
        return "group"
    primitive = field.asPrimitiveType()
    logical = field.getLogicalTypeAnnotation()
    length = primitive.getTypeLength()
    return (
        f"{primitive.getPrimitiveTypeName().toString()} {length} {logical and logical.toString()}"
    )


def number_names(kinds: dict[str, str]) -> dict[str, str]:
    """The text columns, each with a new name for the column that holds it as a number."""
    taken = "number" + max((name for name in kinds), key=len)
    texts = [column for column, kind in kinds.items() if kind == "string"]
    return {column: f"{taken} {number}" for number, column in enumerate(texts)}


def _as_kind(column: str, kind: str, declared: DataType) -> Column:
    if kind == "int64":
        return _named(column).cast("bigint")
    if kind == "float64":
        return _named(column).cast("double")
    if isinstance(declared, types.TimestampType | types.TimestampNTZType):
        seconds = f.regexp_replace(_named(column).cast("string"), "[.][0-9]+$", "")
        is_instant = isinstance(declared, types.TimestampType)
        return f.concat(seconds, f.lit("Z")) if is_instant else seconds  # by the clock of UTC
    text = f.collate(_named(column).cast("string"), "UTF8_BINARY")
    kept = f.concat(f.lit("\U000f0000"), f.hex(text))  # so that different ids stay different
    return f.when(f.is_valid_utf8(text), text).otherwise(f.when(text.isNotNull(), kept))


def _as_number(column: str) -> Column:
    """A text as float64, null where it is no number.

    Java also reads `1d`, hexadecimal floats and digits after control characters; a pattern whose
    time is linear decides instead.
    """
    text = _named(column)
    is_number = (f.length(text) <= NUMBER_CHARACTERS) & text.rlike(NUMBER)
    return f.when(is_number, text.try_cast("double"))


def _is_collated(declared: DataType) -> bool:
    """Whether Spark takes texts for equal that are written in two ways."""
    return getattr(declared, "collation", "UTF8_BINARY") != "UTF8_BINARY"


def _named(column: str) -> Column:
    quoted = column.replace("`", "``")
    return f.col(f"`{quoted}`")
