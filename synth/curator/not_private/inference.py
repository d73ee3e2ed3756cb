"""What the raw data look like, for a draft: private, and never part of a run.

`synth draft` shows its keeper what a configuration could say. Everything here is computed from
raw data without noise, so it is marked as unconfirmed and refused by every other command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from synth.config import Dialect, FileSource, SourceConfig
from synth.config.source_files import CSV
from synth.curator.files.csv_source import CsvFile, read_header
from synth.curator.files.duckdb_engine import DuckDBEngine, duckdb_engine
from synth.curator.files.text_tables import FileCodebook
from synth.curator.not_private.misfits import COMMA, KEPT, MISSING_WORDS, looks_like_data
from synth.curator.not_private.source_texts import SourceTexts, open_texts
from synth.curator.seal import with_source_open
from synth.errors import SourceError

ELSEWHERE = FileSource(Path("table"), Dialect(), "keep", "")
"""For the DuckDB that only looks at what another engine sends."""


NO_CODEBOOK = FileCodebook()


ISO_DATE = (
    "[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
DOTTED_DATE = "(0?[1-9]|[12][0-9]|3[01])[.](0?[1-9]|1[0-2])[.][1-9][0-9]{3}"


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
    distinct: int
    """About how many different filled values there are; exact if `levels` is not None."""
    levels: tuple[str, ...] | None
    """Every filled value, sorted, if there are at most as many as were asked for."""
    commas: int = 0
    """How many filled values are numbers with a decimal comma."""
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
    """The years of the earliest and the latest of all these days."""
    codebook: FileCodebook = NO_CODEBOOK
    """What the file itself says of the column."""


@dataclass(frozen=True)
class InferredTable:
    """The columns of a source in their order, and the names of those that cannot be counted."""

    columns: tuple[InferredColumn, ...]
    uncountable: tuple[str, ...]
    repeated: tuple[str, ...]
    source: SourceConfig
    """As it was read: with names for its columns, if they were asked for."""

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
        names = found.names
        if not names:
            return InferredTable((), found.uncountable, found.repeated, source)
        codebooks = texts.codebooks()
        words = [(*MISSING_WORDS, *codebooks.get(name, NO_CODEBOOK).missing) for name in names]
        with _records(source, texts, names, spill) as connection:
            row = connection.execute(_summary(words, _decimal(source))).fetchone()
        if row is None:
            raise SourceError(f"the source {source.shown} could not be read to its end")
        width = (len(row) - 1) // len(names)
        parts = [row[1 + width * n : 1 + width * (n + 1)] for n in range(len(names))]
        few = [n for n, part in enumerate(parts) if part[8] <= 2 * max_levels + 10]
        levels: dict[int, tuple[str, ...]] = {}
        if few:
            with _records(source, texts, [names[n] for n in few], spill) as connection:
                lists = connection.execute(_levels([words[n] for n in few])).fetchone() or ()
            levels = {
                n: tuple(sorted(values or ()))
                for n, values in zip(few, lists, strict=True)
                if len(values or ()) <= max_levels
            }
    columns = tuple(
        InferredColumn(
            name=name,
            records=row[0],
            filled=part[0],
            missing_words=tuple(sorted(part[1] or ())),
            numbers=part[2],
            whole=part[3],
            padded=part[4],
            dates=part[5],
            minimum=part[6],
            maximum=part[7],
            distinct=len(levels[n]) if n in levels else part[8],
            levels=levels.get(n),
            commas=part[9],
            kept=part[10],
            iso_dates=part[11],
            times=part[12],
            dotted_dates=part[13],
            first_year=None if part[14] is None else int(part[14]),
            last_year=None if part[15] is None else int(part[15]),
            codebook=codebooks.get(name, NO_CODEBOOK),
        )
        for n, (name, part) in enumerate(zip(names, parts, strict=True))
    )
    return InferredTable(columns, found.uncountable, found.repeated, source)


@contextmanager
def _records(
    source: SourceConfig, texts: SourceTexts, names: Sequence[str], spill: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with a view `records` whose columns c0, c1, ... are the named ones, as text."""
    place = source if isinstance(source, FileSource) else ELSEWHERE
    with duckdb_engine(place, (), spill) as engine, texts.streams(names) as readers:
        streams = [f"stream_{number}" for number in range(len(readers))]
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


def _create_view(engine: DuckDBEngine, streams: Sequence[str], names: Sequence[str]) -> None:
    columns = ", ".join(
        f"CAST({_identifier(name)} AS VARCHAR) AS c{number}" for number, name in enumerate(names)
    )
    parts = " UNION ALL ".join(f"SELECT {columns} FROM {stream}" for stream in streams)
    engine.connection.execute(f"CREATE TEMPORARY VIEW records AS {parts}")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _decimal(source: SourceConfig) -> str:
    is_csv = isinstance(source, FileSource) and source.kind == CSV
    return source.dialect.decimal if isinstance(source, FileSource) and is_csv else "."


def _listed(words: Sequence[str]) -> str:
    return ", ".join("'" + word.replace("'", "''") + "'" for word in words)


def _summary(missing: Sequence[Sequence[str]], decimal: str) -> str:
    """One row: the number of records, then sixteen values for every column.

    `missing` has the words for missing values of every column.
    """
    inner, outer = [], ["count(*)"]
    for n, words in enumerate(map(_listed, missing)):
        c, v, x = f"c{n}", f"v{n}", f"x{n}"
        value = f"CASE WHEN {c} = '' OR {c} IN ({words}) THEN NULL ELSE {c} END"
        plain = f"NOT contains({c}, '_') AND length({c}) <= 1000"
        marked = value
        if decimal != ".":
            plain += f" AND NOT contains({c}, '.')"
            marked = f"replace({value}, '{decimal}', '.')"
        number = f"CASE WHEN {plain} THEN TRY_CAST({marked} AS DOUBLE) END"
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
                f"{found}(CASE WHEN regexp_full_match({v}, '{ISO_DATE}') THEN left({v}, 4) "
                f"WHEN regexp_full_match({v}, '{DOTTED_DATE}') THEN right({v}, 4) END)"
                for found in ("min", "max")
            ),
        ]
    source = f"SELECT {', '.join(inner)} FROM records" if inner else "SELECT 1 FROM records"
    return f"SELECT {', '.join(outer)} FROM ({source})"


def _levels(missing: Sequence[Sequence[str]]) -> str:
    """One row: for every column, the list of its filled values."""
    lists = [
        f"list(DISTINCT c{n}) FILTER (WHERE c{n} <> '' AND c{n} NOT IN ({words}))"
        for n, words in enumerate(map(_listed, missing))
    ]
    return f"SELECT {', '.join(lists)} FROM records"
