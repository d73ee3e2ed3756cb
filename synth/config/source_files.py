"""The files that a configured source names; nothing here opens one."""

from __future__ import annotations

import glob
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from synth.config.types import FileSource, PostgresSource, SourceConfig
from synth.errors import DISTRIBUTION, SourceError


def is_parquet(path: Path) -> bool:
    """Whether the name says Parquet."""
    return path.name.lower().endswith(".parquet")


def is_gzip(path: Path) -> bool:
    """Whether the name says a gzipped text file."""
    return path.name.lower().endswith(".gz")


def source_files(source: SourceConfig) -> tuple[Path, ...]:
    """The files that the configured path or glob names now, in name order; none of a database.

    Requires: the path ends as the loader demands, so all files are of one format.
    Ensures: no file is named twice, by whatever names and links.
    Raises: SourceError if a path or glob names none, or one of them by two names, or a directory
    may not be looked into, or if the library that a database or a cluster needs is not installed.
    """
    if not isinstance(source, FileSource):
        _require_library(source)
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


def _require_library(source: SourceConfig) -> None:
    is_postgres = isinstance(source, PostgresSource)
    library, extra = ("psycopg", "postgres") if is_postgres else ("pyspark", "spark")
    if importlib.util.find_spec(library) is None:
        raise SourceError(
            f"the source needs the Python library {library}, which is not installed",
            fix=f"install it with synth: pip install '{DISTRIBUTION}[{extra}]'",
        )
