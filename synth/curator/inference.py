"""What the raw data look like, for a draft: private, and never part of a run.

`synth draft` shows its keeper what a configuration could say. Everything here is computed from
raw data without noise, so it is marked as unconfirmed and refused by every other command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.types import Dialect, FileSource, SourceConfig
from synth.curator.duckdb_engine import DuckDBEngine, duckdb_engine
from synth.curator.measuring import with_source_open
from synth.curator.misfits import MISSING_WORDS
from synth.curator.source_texts import SourceTexts, open_texts
from synth.errors import SourceError

if TYPE_CHECKING:
    import duckdb


ELSEWHERE = FileSource(Path("table"), Dialect(), "keep", "")
"""For the DuckDB that only looks at what another engine sends."""


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


@dataclass(frozen=True)
class InferredTable:
    """The columns of a source in their order, and the names of those that cannot be counted."""

    columns: tuple[InferredColumn, ...]
    uncountable: tuple[str, ...]
    repeated: tuple[str, ...]


def infer(
    source: SourceConfig, files: Sequence[Path], *, directory: Path, max_levels: int
) -> InferredTable:
    """Look at every column of a source.

    Privacy: none. The result is computed from raw data without noise; it may be shown to their
    keeper alone. Exceptions carry words of the command line only.
    Ensures: nothing is printed, and what spills goes to a private directory under `directory`,
    which is gone when this returns or raises.
    Raises: SourceError, SynthError, always raised afresh.
    """
    return with_source_open(directory, lambda scratch: _infer(source, files, scratch, max_levels))


def _infer(
    source: SourceConfig, files: Sequence[Path], scratch: Path, max_levels: int
) -> InferredTable:
    with open_texts(source, files, scratch) as texts:
        found = texts.find_columns()
        names = found.names
        if not names:
            return InferredTable((), found.uncountable, found.repeated)
        with _records(source, texts, names, scratch) as connection:
            row = connection.execute(_summary(len(names))).fetchone()
        if row is None:
            raise SourceError(f"the source {source.shown} could not be read to its end")
        width = (len(row) - 1) // len(names)
        parts = [row[1 + width * n : 1 + width * (n + 1)] for n in range(len(names))]
        few = [n for n, part in enumerate(parts) if part[-1] <= 2 * max_levels + 10]
        levels: dict[int, tuple[str, ...]] = {}
        if few:
            with _records(source, texts, [names[n] for n in few], scratch) as connection:
                lists = connection.execute(_levels(len(few))).fetchone() or ()
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
        )
        for n, (name, part) in enumerate(zip(names, parts, strict=True))
    )
    return InferredTable(columns, found.uncountable, found.repeated)


@contextmanager
def _records(
    source: SourceConfig, texts: SourceTexts, names: Sequence[str], scratch: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with a view `records` whose columns c0, c1, ... are the named ones, as text."""
    place = source if isinstance(source, FileSource) else ELSEWHERE
    with duckdb_engine(place, (), scratch) as engine, texts.streams(names) as readers:
        streams = [f"stream_{number}" for number in range(len(readers))]
        for stream, reader in zip(streams, readers, strict=True):
            engine.stream(stream, reader)
        _create_view(engine, streams, names)
        yield engine.connection


def counted_values(
    source: SourceConfig, texts: SourceTexts, name: str, scratch: Path, bound: int
) -> tuple[int, ...]:
    """How often the values of one column repeat; what must be sorted is spilled.

    Six counts: records, those without a value, values, values that repeat, the most records of
    one value, and the records beyond `bound` of each value.
    """
    with _records(source, texts, [name], scratch) as connection:
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


def _summary(columns: int) -> str:
    """One row: the number of records, then nine values for every column."""
    words = ", ".join("'" + word + "'" for word in MISSING_WORDS)
    inner, outer = [], ["count(*)"]
    for n in range(columns):
        c, v, x = f"c{n}", f"v{n}", f"x{n}"
        value = f"CASE WHEN {c} = '' OR {c} IN ({words}) THEN NULL ELSE {c} END"
        plain = f"NOT contains({c}, '_') AND length({c}) <= 1000"
        number = f"CASE WHEN {plain} THEN TRY_CAST({value} AS DOUBLE) END"
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
        ]
    source = f"SELECT {', '.join(inner)} FROM records" if inner else "SELECT 1 FROM records"
    return f"SELECT {', '.join(outer)} FROM ({source})"


def _levels(columns: int) -> str:
    """One row: for every column, the list of its filled values."""
    words = ", ".join("'" + word + "'" for word in MISSING_WORDS)
    lists = [
        f"list(DISTINCT c{n}) FILTER (WHERE c{n} <> '' AND c{n} NOT IN ({words}))"
        for n in range(columns)
    ]
    return f"SELECT {', '.join(lists)} FROM records"
