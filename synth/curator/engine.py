"""Engines: where records lie, and how an expression over them is counted there.

An engine is all that differs between files, a database and a cluster. It opens the source as
Ibis tables whose columns are of three kinds and streams the result of an expression over them;
what a record counts for is decided in `encode` and `tabulate`, once for all engines.

A new engine is one module with one context manager, named in `open_engine`:

* it connects when it is entered, silently, and leaves nothing behind when it is left;
* `open_records` looks at names and declared types only, and says by a SourceError, in words of
  the configuration, what cannot be counted: it is called before the charge as well (`preflight`),
  when no record may be read;
* the columns of `Records.table` are int64, float64 or string, and no value makes reading one
  fail: integers become int64, floats float64, and text, booleans (`true`), exact decimals, dates
  (ISO), timestamps (`2020-01-31 13:00:00`, without fractions of seconds, by the clock of UTC and
  with a Z behind it where the type knows the instant) and unsigned 64-bit integers become string;
* texts compare by their bytes, whatever the collation of the database;
* errors of its library leave the context manager as SourceError or SynthError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from synth.config import FileSource, FrameSource, PostgresSource, SourceConfig
from synth.config.series import PeriodSelection
from synth.domain import Universe
from synth.errors import SourceError

NUMBER_CHARACTERS = 1_000
"""A longer text is no number."""

Key = str | int | float
"""A text of the configuration, as a column of one of the three kinds has it."""


@dataclass(frozen=True)
class Records:
    """Some records of the source, and how texts in them are read as numbers."""

    table: ibis.Table
    """The needed columns by their configured names; each is int64, float64 or string, or coded."""
    as_number: Callable[[str], ir.FloatingValue]
    """A text column, by its name, as float64; null where the text is no number.

    A number is decimal digits with an optional sign, point and exponent, or `inf` or `infinity`
    in any case; ASCII blanks around it do not count. It has no digit separators and at most 1,000
    characters. Numbers beyond float64 become infinite, those too small become zero.
    """
    coded: Set[str] = frozenset()
    """Columns that hold the code of each value instead, as int32 that is never null."""


def key_kind(codes: Mapping[Key, int]) -> str:
    """The kind of the column that the keys of a lookup come from."""
    return {str: "string", int: "int64", float: "float64"}[type(next(iter(codes)))]


class Engine(Protocol):
    """An open source: its records, and a way to count them where they lie."""

    @property
    def counts_where_records_lie(self) -> bool:
        """Whether a table of counts is made by the engine, and only counted cells come back.

        False where records are read in this process anyway: to sort them takes memory and time.
        """

    def open_records(
        self, columns: Sequence[str], *, person_column: str | None
    ) -> Sequence[Records]:
        """The named columns of all records, in one or more parts that are counted together.

        Requires: called once; `columns` comes from the configuration.
        Ensures: no record is read. The person column is whole numbers in every part, or text in
        every part.
        Raises: SourceError, in words of the configuration, for what concerns a whole source.
        """

    def lookup(self, codes: Mapping[Key, int]) -> ibis.Table:
        """A small table of the configuration's own: a row per key, `key` and `code`.

        Requires: called after `open_records`; not empty; keys of one kind (whole numbers of 64
        bits, floats without NaN, or texts).
        Ensures: it can be joined with records in `batches`, which then still hold no more than
        that table and a batch of records in memory. `key` is int64, float64 or string, `code`
        int32, neither of them null.
        """

    def computed_once(self, value: ir.IntegerValue) -> ir.IntegerValue:
        """The value, so that a filter on it does not compute it anew for each of its steps.

        Some optimisers write the expression of a column in the place of the column, below every
        step that led to it: what takes eight steps has no end then.
        """

    def batches(self, expression: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression over the opened tables, in the order it asks for.

        Requires: all its columns are int64 without nulls; taken to its end at most once.
        Ensures: rows arrive in bounded batches; the result is never held as a whole.
        """


def open_engine(
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    universe: Universe,
    selection: PeriodSelection | None = None,
) -> AbstractContextManager[Engine]:
    """The engine for a source; `files` are those that it names, `spill` is for what spills.

    Where it is quicker, columns come as codes of the universe, but not that of the selection. An
    engine is loaded when a source needs it: psycopg and pyspark are extras that need not be
    installed.
    """
    if isinstance(source, FileSource | FrameSource):
        from synth.curator.counting.lookup import codes_of_texts
        from synth.curator.files.duckdb_engine import duckdb_engine

        codes = codes_of_texts(universe)
        if selection is not None:
            codes.pop(selection.column, None)
        return duckdb_engine(source, files, spill, codes)
    if isinstance(source, PostgresSource):
        from synth.curator.postgres.engine import postgres_engine

        return postgres_engine(source)
    from synth.curator.spark.engine import spark_engine

    return spark_engine(source, spill)


def require_columns(
    columns: Sequence[str], names: Sequence[str], found: Sequence[str], *, source: str
) -> None:
    """Refuse a file that lacks a column or has it twice; `names` are the configured names."""
    counts = {name: found.count(column) for column, name in zip(columns, names, strict=True)}
    missing = [repr(name) for name, count in counts.items() if count == 0]
    twice = [repr(name) for name, count in counts.items() if count > 1]
    if missing:
        raise SourceError(
            f"the source {source} has no column {', '.join(missing)}",
            why="every configured column must be in every source file",
            fix="correct `domain` or `source` (delimiter, quote, encoding), or give the right file",
        )
    if twice:
        raise SourceError(
            f"the source {source} has more than one column {', '.join(twice)}",
            fix="give each column of the source a name of its own",
        )
