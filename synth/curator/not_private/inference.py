"""What the raw data look like, for a draft: private, and never part of a run.

`synth draft` shows its keeper what a configuration could say. Everything here is computed from
raw data without noise, so it is marked as unconfirmed and refused by every other command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from synth.config import FileSource, SourceConfig
from synth.config.source_files import CSV
from synth.curator.files.csv_source import CsvFile, read_header
from synth.curator.files.duckdb_engine import DuckDBEngine, duckdb_engine
from synth.curator.files.text_tables import FileCodebook
from synth.curator.not_private.misfits import (
    COMMA,
    GROUPED,
    KEPT,
    MISSING_WORDS,
    looks_like_data,
)
from synth.curator.not_private.proposals import (
    CODES,
    RecordsOfPersons,
    missing_codes,
    persons,
    records_of_persons,
)
from synth.curator.not_private.source_texts import ELSEWHERE, SourceTexts, open_texts
from synth.curator.seal import with_source_open
from synth.errors import SourceError

NO_CODEBOOK = FileCodebook()


ISO_DATE = (
    "[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
DOTTED_DATE = "(0?[1-9]|[12][0-9]|3[01])[.](0?[1-9]|1[0-2])[.][1-9][0-9]{3}"

NEVER = "(([29]999-12-31)([T ](00:00:00|23:59:59))?|31[.]12[.][29]999)"
"""Days by which registers say that something has not ended, or that no day is known."""

LONGEST_CODE = 12
"""Characters of a code for missing values, as in 99.000000."""

NEARLY_ALL = 0.95
"""So many of the filled values say what the column holds."""

QUANTILES = 41
"""So many numbers of a column, at equal ranks from the smallest to the largest."""


@dataclass(frozen=True)
class InferredColumn:
    """One column of the raw data. Secret: every field but the name comes from the records."""

    name: str
    records: int
    filled: int
    """Values that are neither empty nor a word for a missing one."""
    missing_words: tuple[str, ...]
    numbers: int
    """How many filled values are finite numbers."""
    whole: int
    """How many filled values are whole numbers of at most 53 bits."""
    padded: int
    """How many filled values begin with a zero that a number would not have (`007`)."""
    dates: int
    minimum: float | None
    maximum: float | None
    """The smallest and the largest number that is no code for a missing value."""
    distinct: int
    """About how many different filled values there are; exact if `levels` is not None."""
    levels: tuple[str, ...] | None
    """Every filled value, sorted, if there are at most as many as were asked for."""
    codes: tuple[str, ...] = ()
    """Filled values that look like codes for missing ones, as they are written."""
    quantiles: tuple[float, ...] = ()
    """Of the numbers that are no such code, about; empty if no value is a number."""
    commas: int = 0
    """How many filled values are numbers with a decimal comma."""
    grouped: int = 0
    """How many filled values are numbers with marks between thousands."""
    kept: int = 0
    """How many values hold bytes that the encoding does not have."""
    iso_dates: int = 0
    """How many filled values are a day in ISO 8601, with a time or without."""
    times: int = 0
    """How many of these have a time."""
    dotted_dates: int = 0
    """How many filled values are a day such as 31.1.2024."""
    first_year: int | None = None
    last_year: int | None = None
    """The years of the earliest and the latest of all these days that are no codes."""
    codebook: FileCodebook = NO_CODEBOOK
    """What the file itself says of the column."""

    @property
    def is_numeric(self) -> bool:
        """Whether nearly all filled values are numbers."""
        return self.filled > 0 and self.numbers >= NEARLY_ALL * self.filled


@dataclass(frozen=True)
class InferredTable:
    """The columns of a source in their order, and the names of those that cannot be counted."""

    columns: tuple[InferredColumn, ...]
    uncountable: tuple[str, ...]
    repeated: tuple[str, ...]
    source: SourceConfig
    """As it was read: with names for its columns, if they were asked for."""
    has_unnamed: bool = False
    """Whether the header leaves the name of a column empty."""
    person: RecordsOfPersons | None = None
    """The column that seems to say whose a record is, if several records are one person's."""

    @property
    def may_lack_header(self) -> bool:
        """Whether the names of the columns look like the values of a record."""
        source = self.source
        if not isinstance(source, FileSource) or source.kind != CSV or source.dialect.header:
            return False
        names = [*(column.name for column in self.columns), *self.uncountable, *self.repeated]
        listed = [column for column in self.columns if column.levels]
        repeats = [column for column in listed if column.name in (column.levels or ())]
        return bool(looks_like_data(names)) or (bool(listed) and len(repeats) == len(listed))


def infer(
    source: SourceConfig,
    files: Sequence[Path],
    *,
    directory: Path,
    max_levels: int,
    names_columns: bool = False,
) -> InferredTable:
    """Look at every column of a source; `names_columns` calls those of a CSV file c1, c2, ...

    Privacy: none. The result is computed from raw data without noise; it may be shown to their
    keeper alone. Exceptions carry words of the command line only.
    Ensures: nothing is printed, and what spills goes to a private directory under `directory`,
    which is gone when this returns or raises.
    Raises: SourceError, SynthError, always raised afresh.
    """

    def work(spill: Path) -> InferredTable:
        named = _with_names(source, files) if names_columns else source
        return _infer(named, files, spill, max_levels)

    return with_source_open(directory, work)


def _with_names(source: SourceConfig, files: Sequence[Path]) -> SourceConfig:
    """The source without a line of names: as many names as the first record has fields."""
    if not isinstance(source, FileSource) or source.kind != CSV:
        raise SourceError("only CSV files can be without a line of names")
    width = len(read_header(CsvFile(files[0], source.dialect), source.shown))
    header = tuple(f"c{number}" for number in range(1, width + 1))
    return replace(source, dialect=replace(source.dialect, header=header))


def _infer(
    source: SourceConfig, files: Sequence[Path], spill: Path, max_levels: int
) -> InferredTable:
    with open_texts(source, files, spill) as texts:
        found = texts.find_columns()
        names = tuple(filter(None, found.names))
        has_unnamed = len(names) < len(found.names)
        if not names:
            return InferredTable((), found.uncountable, found.repeated, source, has_unnamed)
        codebooks = texts.codebooks()
        words = [(*MISSING_WORDS, *codebooks.get(name, NO_CODEBOOK).missing) for name in names]
        with _records(source, texts, names, spill) as connection:
            row = connection.execute(_summary(words, _decimal(source))).fetchone()
        if row is None:
            raise SourceError(f"the source {source.shown} could not be read to its end")
        width = (len(row) - 1) // len(names)
        parts = [row[1 + width * n : 1 + width * (n + 1)] for n in range(len(names))]
        columns = [
            _column(name, row[0], part, codebooks.get(name, NO_CODEBOOK), _decimal(source))
            for name, part in zip(names, parts, strict=True)
        ]
        further = [
            (n, column.distinct <= 2 * max_levels + 10, column.is_numeric)
            for n, column in enumerate(columns)
        ]
        looked_at = [n for n, is_listed, is_measured in further if is_listed or is_measured]
        if looked_at:
            with _records(source, texts, [names[n] for n in looked_at], spill) as connection:
                asked = [(words[n], columns[n].codes, *further[n][1:]) for n in looked_at]
                answer = connection.execute(_second(asked, _decimal(source))).fetchone() or ()
            for n, values, quantiles in zip(looked_at, answer[::2], answer[1::2], strict=True):
                columns[n] = _completed(columns[n], values, quantiles, max_levels)
        person = None
        found_persons = persons(columns)
        if found_persons:
            with _records(source, texts, found_persons[:1], spill) as connection:
                person = records_of_persons(connection, found_persons)
    return InferredTable(
        tuple(columns), found.uncountable, found.repeated, source, has_unnamed, person
    )


def _column(
    name: str, records: int, part: Sequence[Any], codebook: FileCodebook, decimal: str
) -> InferredColumn:
    """A column as the first pass over the records shows it."""
    codes = {text: int(float(text.replace(decimal, "."))) for text in part[16] or {}}
    times: Counter[int] = Counter()
    for text, code in codes.items():
        times[code] += part[16][text]
    apart = missing_codes(times, low=part[17], high=part[18], distinct=part[8])
    others = [float(code) for code in times if code not in apart]
    low, high = (
        pick([*others, *([] if bound is None else [bound])], default=None)
        for pick, bound in ((min, part[17]), (max, part[18]))
    )
    return InferredColumn(
        name=name,
        records=records,
        filled=part[0],
        missing_words=tuple(sorted(part[1] or ())),
        numbers=part[2],
        whole=part[3],
        padded=part[4],
        dates=part[5],
        minimum=part[6] if low is None else low,
        maximum=part[7] if high is None else high,
        distinct=part[8],
        levels=None,
        codes=tuple(
            sorted([*(text for text, code in codes.items() if code in apart), *(part[19] or ())])
        ),
        commas=part[9],
        grouped=part[20],
        kept=part[10],
        iso_dates=part[11],
        times=part[12],
        dotted_dates=part[13],
        first_year=None if part[14] is None else int(part[14]),
        last_year=None if part[15] is None else int(part[15]),
        codebook=codebook,
    )


def _completed(
    column: InferredColumn,
    values: list[str] | None,
    quantiles: list[float] | None,
    max_levels: int,
) -> InferredColumn:
    """The column with what the second pass shows of it: levels, and how numbers spread."""
    spread = tuple(quantiles or ())
    if values is None or len(values) > max_levels:
        return replace(column, quantiles=spread)
    return replace(column, levels=tuple(sorted(values)), distinct=len(values), quantiles=spread)


@contextmanager
def _records(
    source: SourceConfig, texts: SourceTexts, names: Sequence[str], spill: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with a view `records` whose columns c0, c1, ... are the named ones, as text."""
    place = source if isinstance(source, FileSource) else ELSEWHERE
    with duckdb_engine(place, (), spill) as engine, texts.streams(names) as readers:
        streams = {f"stream_{number}": each.schema for number, each in enumerate(readers)}
        for stream, reader in zip(streams, readers, strict=True):
            engine.stream(stream, reader)
        _create_view(engine, streams, names)
        yield engine.connection


def counted_values(
    source: SourceConfig, texts: SourceTexts, name: str, spill: Path, bound: int
) -> tuple[int, ...]:
    """How often the values of one column repeat; what must be sorted is spilled.

    Six counts: records, those without a value, values, values that repeat, the most records of
    one value, and the records beyond `bound` of each value.
    """
    with _records(source, texts, [name], spill) as connection:
        row = connection.execute(
            "SELECT coalesce(sum(n), 0), coalesce(sum(n) FILTER (WHERE id = ''), 0), "
            "count(*) FILTER (WHERE id <> ''), count(*) FILTER (WHERE id <> '' AND n > 1), "
            "coalesce(max(n) FILTER (WHERE id <> ''), 0), "
            "coalesce(sum(greatest(n - ?, 0)) FILTER (WHERE id <> ''), 0) "
            "FROM (SELECT coalesce(c0, '') AS id, count(*) AS n FROM records GROUP BY 1)",
            [bound],
        ).fetchone()
    return tuple(int(value) for value in row or (0,) * 6)


def _create_view(
    engine: DuckDBEngine, streams: Mapping[str, pa.Schema], names: Sequence[str]
) -> None:
    parts = []
    for stream, schema in streams.items():
        texts = (_text(_identifier(name), schema.field(name).type) for name in names)
        columns = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        parts.append(f"SELECT {columns} FROM {stream}")
    engine.connection.execute(f"CREATE TEMPORARY VIEW records AS {' UNION ALL '.join(parts)}")


def _text(column: str, kind: pa.DataType) -> str:
    """The text of a value as a run reads it: of a float that is whole, the whole number."""
    text = f"CAST({column} AS VARCHAR)"
    if not pa.types.is_floating(kind):
        return text
    whole = f"isfinite({column}) AND {column} = trunc({column}) AND abs({column}) < 2.0 ** 63"
    return f"CASE WHEN {whole} THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE {text} END"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _decimal(source: SourceConfig) -> str:
    is_csv = isinstance(source, FileSource) and source.kind == CSV
    return source.dialect.decimal if isinstance(source, FileSource) and is_csv else "."


def _listed(words: Sequence[str]) -> str:
    return ", ".join("'" + word.replace("'", "''") + "'" for word in words)


def _summary(missing: Sequence[Sequence[str]], decimal: str) -> str:
    """One row: the number of records, then 21 values for every column.

    `missing` has the words for missing values of every column.
    """
    inner, outer = [], ["count(*)"]
    codes = ", ".join(map(str, CODES))
    for n, words in enumerate(missing):
        c, v, x = f"c{n}", f"v{n}", f"x{n}"
        value, number = _value(c, words), _number(c, words, decimal)
        words = _listed(words)
        inner += [f"{c}", f"{value} AS {v}", f"{number} AS {x}"]
        finite = f"CASE WHEN isfinite({x}) THEN {x} END"
        outer += [
            f"count({v})",
            f"list(DISTINCT {c}) FILTER (WHERE {c} IN ({words}))",
            f"count({finite})",
            f"count(*) FILTER (WHERE isfinite({x}) AND {x} = trunc({x}) AND abs({x}) < 2.0 ** 53)",
            f"count(*) FILTER (WHERE regexp_matches({v}, '^[+-]?0[0-9]'))",
            f"count(*) FILTER (WHERE regexp_matches({v}, '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
            f" OR regexp_matches({v}, '^[0-9]{{1,2}}[./][0-9]{{1,2}}[./]([0-9]{{2}}){{1,2}}$'))",
            f"min({finite})",
            f"max({finite})",
            f"approx_count_distinct({v})",
            f"count(*) FILTER (WHERE regexp_full_match({v}, '{COMMA.pattern}'))",
            f"count(*) FILTER (WHERE regexp_matches({c}, '{KEPT.pattern}'))",
            f"count(*) FILTER (WHERE regexp_full_match({v}, '{ISO_DATE}'))",
            f"count(*) FILTER (WHERE regexp_full_match({v}, '{ISO_DATE}') AND length({v}) > 10)",
            f"count(*) FILTER (WHERE regexp_full_match({v}, '{DOTTED_DATE}'))",
            *(
                f"{found}(CASE WHEN regexp_full_match({v}, '{NEVER}') THEN NULL "
                f"WHEN regexp_full_match({v}, '{ISO_DATE}') THEN left({v}, 4) "
                f"WHEN regexp_full_match({v}, '{DOTTED_DATE}') THEN right({v}, 4) END)"
                for found in ("min", "max")
            ),
            f"histogram({c}) FILTER (WHERE {x} IN ({codes}) AND length({c}) <= {LONGEST_CODE})",
            *(f"{found}({finite}) FILTER (WHERE {x} NOT IN ({codes}))" for found in ("min", "max")),
            f"list(DISTINCT {c}) FILTER (WHERE regexp_full_match({v}, '{NEVER}'))",
            f"count(*) FILTER (WHERE regexp_full_match({v}, {_listed([GROUPED.pattern])}))",
        ]
    source = f"SELECT {', '.join(inner)} FROM records" if inner else "SELECT 1 FROM records"
    return f"SELECT {', '.join(outer)} FROM ({source})"


def _value(column: str, words: Sequence[str]) -> str:
    """What is written in a column, null where that is a word for a missing value."""
    return f"CASE WHEN {column} = '' OR {column} IN ({_listed(words)}) THEN NULL ELSE {column} END"


def _number(column: str, words: Sequence[str], decimal: str) -> str:
    """The number that is written in a column, or null."""
    plain = f"NOT contains({column}, '_') AND length({column}) <= 1000"
    marked = _value(column, words)
    if decimal != ".":
        plain += f" AND NOT contains({column}, '.')"
        marked = f"replace({marked}, '{decimal}', '.')"
    return f"CASE WHEN {plain} THEN TRY_CAST({marked} AS DOUBLE) END"


def _second(asked: Sequence[tuple[Sequence[str], Sequence[str], bool, bool]], decimal: str) -> str:
    """One row: for every column, its filled values, and quantiles of its numbers.

    Of each column: words for missing values, codes for them, and which of the two is wanted.
    """
    ranks = ", ".join(str(rank / (QUANTILES - 1)) for rank in range(QUANTILES))
    found = []
    for n, (words, codes, is_listed, is_measured) in enumerate(asked):
        values, quantiles = "NULL", "NULL"
        if is_listed:
            filled = f"c{n} <> '' AND c{n} NOT IN ({_listed(words)})"
            values = f"coalesce(list(DISTINCT c{n}) FILTER (WHERE {filled}), [])"
        if is_measured:
            number = _number(f"c{n}", (*words, *codes), decimal)
            finite = f"CASE WHEN isfinite({number}) THEN {number} END"
            quantiles = f"approx_quantile({finite}, [{ranks}])"
        found += [values, quantiles]
    return f"SELECT {', '.join(found)} FROM records"
