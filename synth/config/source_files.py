"""The files that a configured source names; nothing here opens one."""

from __future__ import annotations

import glob
from pathlib import Path

from synth.config.types import SourceConfig
from synth.errors import SourceError

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")


def is_parquet(path: Path) -> bool:
    """Whether the name says Parquet."""
    return path.name.lower().endswith(".parquet")


def is_gzip(path: Path) -> bool:
    """Whether the name says a gzipped text file."""
    return path.name.lower().endswith(".gz")


def source_files(source: SourceConfig) -> tuple[Path, ...]:
    """The files that the configured path or glob names now, in name order.

    Raises: SourceError if there is none, if an ending is unknown, or if formats are mixed.
    """
    if glob.has_magic(str(source.path)) and not source.path.exists():
        root = Path(source.path.anchor)
        files = sorted(root.glob(str(source.path.relative_to(root))))
    else:
        files = [source.path]
    files = [path for path in files if path.is_file()]
    if not files:
        raise SourceError(
            f"source.path names no file: {source.path.name}",
            fix="check the path; it is relative to the directory of the configuration",
        )
    for path in files:
        if not (is_parquet(path) or path.name.lower().endswith(CSV_ENDINGS)):
            raise SourceError(
                f"source.path has an unknown ending: {path.name}",
                fix="use files that end in .csv, .csv.gz or .parquet",
            )
    if len({is_parquet(path) for path in files}) > 1:
        raise SourceError(
            "source.path names both Parquet and CSV files",
            why="the same text may be written differently in the two",
            fix="convert the files to one format, or narrow the pattern",
        )
    return tuple(files)
