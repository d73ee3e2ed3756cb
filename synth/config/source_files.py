"""A source as it is opened, and the files that it names; nothing here opens one."""

from __future__ import annotations

import glob
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from synth.errors import DISTRIBUTION, SourceError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Dialect:
    """How a CSV source is written."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    """That of the quote: quotes in a quoted field are doubled. Else that of the next character."""
    encoding: str = "utf-8"
    decimal: str = "."
    """What stands before the decimals of a number."""
    header: tuple[str, ...] | None = None
    """The columns in their order, where the files have no line of names; None: they have one."""


@dataclass(frozen=True)
class FileSource:
    """The raw data are files."""

    path: Path
    """A file or glob, absolute; `{period}` already filled in."""
    dialect: Dialect
    disposal: Literal["keep", "delete"]
    disposal_reason: str
    sheet: str | None = None
    """Of a workbook: the name of its sheet, or its number from 1; None: it has one."""

    @property
    def shown(self) -> str:
        """What messages call the source."""
        return self.path.name

    @property
    def kind(self) -> str:
        """What kind of files they are, by their names."""
        return file_kind(self.path)


@dataclass(frozen=True)
class PostgresSource:
    """The raw data are a table or view of a PostgreSQL database."""

    url: str
    """Where the database is; user and password come from the environment."""
    table: str
    disposal: Literal["keep"]
    disposal_reason: str
    view_reason: str | None = None
    """Why a view is as good as a table here; None refuses views."""

    @property
    def shown(self) -> str:
        """What messages call the source."""
        return self.table


@dataclass(frozen=True)
class SparkSource:
    """The raw data are a table that Spark knows, or files at an address that Spark reads."""

    table: str
    master: str | None
    """Where the Spark session runs; None leaves it to the surrounding Spark configuration."""
    disposal: Literal["keep"]
    disposal_reason: str

    @property
    def shown(self) -> str:
        """What messages call the source."""
        return self.table


class RecordsInMemory(Protocol):
    """A table that a program handed over, or that arrives through a pipe."""

    @property
    def schema(self) -> pa.Schema:
        """The names and types of its columns; no record is read for it."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All records, with these columns in this order, in bounded batches."""


@dataclass(frozen=True)
class FrameSource:
    """The raw data are a table in the memory of the program that publishes."""

    disposal: Literal["keep"]
    disposal_reason: str
    records: RecordsInMemory | None = field(default=None, compare=False, repr=False)
    """No part of a configuration: attached where they are read, and nowhere else."""

    kind: ClassVar[str] = "frame"
    shown: ClassVar[str] = "in memory"
    """What messages call the source."""


SourceConfig = FileSource | PostgresSource | SparkSource | FrameSource
"""Where the raw data are and what happens to them after the measurement."""


CSV, JSON_LINES, EXCEL = "csv", "json-lines", "excel"
PARQUET, ARROW = "parquet", "arrow"
SPSS, STATA, SAS = "spss", "stata", "sas"
FRAME = FrameSource.kind
MADE_UP = "made-up"
"""The kind of records that were made up for a rehearsal. No configuration can ask for it."""

FILE_KINDS = {
    CSV: (".csv", ".tsv", ".txt"),
    JSON_LINES: (".jsonl", ".ndjson"),
    PARQUET: (".parquet",),
    ARROW: (".arrow", ".feather"),
    EXCEL: (".xlsx",),
    SPSS: (".sav", ".zsav"),
    STATA: (".dta",),
    SAS: (".sas7bdat", ".xpt"),
}
"""The kinds of files, with the endings of their names."""

PACKINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Behind the ending of CSV files and JSON lines; .zip alone is CSV."""

FILES_LIBRARIES = {EXCEL: "openpyxl", SPSS: "pyreadstat", STATA: "pyreadstat", SAS: "pyreadstat"}
"""The libraries that read the kinds for which DuckDB and Arrow have none."""


def packing(path: Path) -> str:
    """The ending that says how a text file is packed; empty for one that is not."""
    name = path.name.lower()
    return next((ending for ending in PACKINGS if name.endswith(ending)), "")


def file_kind(path: Path) -> str:
    """The kind of a file, by its name. Requires: the name ends as the loader demands."""
    name = path.name.lower().removesuffix(packing(path))
    return next((kind for kind, endings in FILE_KINDS.items() if name.endswith(endings)), CSV)


def is_gzip(path: Path) -> bool:
    """Whether the name says a gzipped text file."""
    return packing(path) == ".gz"


def source_files(source: SourceConfig) -> tuple[Path, ...]:
    """The files that the configured path or glob names now, in name order; none of a database.

    Requires: the path ends as the loader demands, so all files are of one format.
    Ensures: no file is named twice, by whatever names and links.
    Raises: SourceError if a path or glob names none, or one of them by two names, or a directory
    may not be looked into, or if the library that a database or a cluster needs is not installed.
    """
    if isinstance(source, FrameSource):
        if source.records is None:
            raise SourceError(
                "the records of this configuration come from a program, and none were handed over",
                why="`source` says frame: true, so no file or database is named",
                fix="publish from Python: synth.run(config, source=table)",
            )
        return ()
    _require_library(source)
    if not isinstance(source, FileSource):
        return ()
    try:
        if glob.has_magic(str(source.path)) and not source.path.exists():
            root = Path(source.path.anchor)
            files = sorted(set(root.glob(str(source.path.relative_to(root)))))
        else:
            files = [source.path]
        files = [path for path in files if path.is_file()]
    except PermissionError:
        raise SourceError.may_not_be_read(source.shown) from None
    if not files:
        raise SourceError(
            f"source.path names no file: {source.path}",
            why="it may have been deleted after an earlier run, as source.disposal says"
            if source.disposal == "delete"
            else "",
            fix="check the path; it is relative to the directory of the configuration",
        )
    repeated = named_twice(files)
    if repeated is not None:
        one, other = repeated
        raise SourceError(
            f"source.path names one file twice: {one} and {other}",
            why="each of its records would be counted twice, and the noise covers one",
            fix="write a pattern that leaves the link out, or move the link elsewhere",
        )
    return tuple(files)


def named_twice(files: Sequence[Path]) -> tuple[Path, Path] | None:
    """Two of these names that lead to one file, by whatever links; None if there are none."""
    first: dict[tuple[int, int], Path] = {}
    for path in files:
        status = path.stat()
        other = first.setdefault((status.st_dev, status.st_ino), path)
        if other is not path:
            return other, path
    return None


def _require_library(source: FileSource | PostgresSource | SparkSource) -> None:
    """Refuse a source whose library is not installed, with the extra that brings it."""
    if isinstance(source, FileSource):
        library, extra = FILES_LIBRARIES.get(source.kind), "files"
    elif isinstance(source, PostgresSource):
        library, extra = "psycopg", "postgres"
    else:
        library, extra = "pyspark", "spark"
    if library is not None and importlib.util.find_spec(library) is None:
        raise SourceError(
            f"the source needs the Python library {library}, which is not installed",
            fix=f"install it with synth: pip install '{DISTRIBUTION}[{extra}]'",
        )
