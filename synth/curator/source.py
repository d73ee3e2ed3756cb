"""Sources: files opened as Ibis tables of text or numbers, without any guess about types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.source_files import is_parquet
from synth.config.types import SourceConfig
from synth.curator.csv_source import as_read, open_csv
from synth.curator.parquet_source import open_parquet
from synth.errors import SourceError

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend


@dataclass(frozen=True)
class OpenFile:
    """The needed columns of one file, and how a configured text looks in them."""

    records: ibis.Table
    as_read: Callable[[str], str]


def open_source(
    connection: Backend,
    source: SourceConfig,
    files: Sequence[Path],
    columns: Sequence[str],
    *,
    person_column: str | None,
) -> list[OpenFile]:
    """The named columns of every file; values as text (CSV) or their declared type (Parquet).

    Requires: `columns` comes from the configuration.
    Ensures: no value of a record can stop the run; what becomes of it depends on it alone.
    Raises: SourceError, in words of the configuration, for what concerns a whole file.
    """
    shown = source.path.name
    for path in files:
        if any(character in str(path) for character in "*?["):
            raise SourceError(
                f"the source {shown} names a file with one of the characters * ? [ in its path",
                why="the engine would take the name for a pattern and count other files",
                fix="rename the file or its directory",
            )
    if is_parquet(files[0]):
        tables = open_parquet(connection, shown, files, columns, person_column=person_column)
        return [OpenFile(table, lambda text: text) for table in tables]
    read = partial(as_read, encoding=source.dialect.encoding)
    return [
        OpenFile(open_csv(connection, shown, path, columns, source.dialect), read) for path in files
    ]
