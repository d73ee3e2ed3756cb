"""What Spark's failures become: sentences without a word of Spark's own message."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from synth.errors import SourceError, SynthError

OUT_OF_MEMORY_EXIT = 3
"""How Java ends with -XX:+ExitOnOutOfMemoryError."""
EXIT_SECONDS = 5

NOT_FOUND = frozenset(
    {
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
        "CATALOG_NOT_FOUND",
        "REQUIRES_SINGLE_PART_NAMESPACE",
        "UNSUPPORTED_FEATURE.CATALOG_OPERATION",
    }
)
NO_FILES = frozenset({"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"})


@contextmanager
def translated_failures(shown: str, process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Turn whatever pyspark, its bridge to Java and the system raise into words of our own.

    Raises: SourceError, or SynthError if memory was short.
    """
    try:
        yield
        return
    except SynthError:
        raise
    except Exception as error:
        if not _is_of_a_library(error) and not _has_ended(process):
            raise
        failed = _failure(error, shown, process)
    raise failed


def _is_of_a_library(error: Exception) -> bool:
    from py4j.protocol import Py4JError
    from pyarrow import ArrowException
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException | Py4JError | ArrowException | OSError | EOFError)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether Java has ended; then pyspark fails in ways of its own, such as a wrong attribute."""
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _failure(error: Exception, shown: str, process: subprocess.Popen[bytes]) -> SynthError:
    """A new error in words of the configuration; what the old one says is not looked at.

    Only the name of its kind is, and that only if Spark gives it before it reads a record.
    """
    kind = _kind(error)
    if kind is None and _exit_code(error, process) == OUT_OF_MEMORY_EXIT:
        return SynthError(
            "there was not enough memory to count the records with Spark",
            fix="run on a larger machine or cluster, or raise spark.driver.memory",
        )
    if kind in NOT_FOUND:
        return SourceError(
            f"Spark knows no table {shown}",
            fix="check the name (source.spark.table, --spark), and the catalog that Spark is told",
        )
    if kind in NO_FILES:
        return SourceError(
            f"Spark finds no Parquet file at {shown}",
            fix="check the address (source.spark.table, --spark); it must exist where Spark runs",
        )
    return SourceError(
        f"Spark could not count the records of {shown}",
        why="a file is damaged or may not be read, or Spark lost an executor, its memory or "
        "its connection",
        fix="check the table and the cluster with a query of your own, then start the same "
        "command again",
    )


def _kind(error: Exception) -> str | None:
    from pyspark.errors import AnalysisException

    return error.getCondition() if isinstance(error, AnalysisException) else None


def _exit_code(error: Exception, process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of Java if it has ended; a lost connection is noticed a little earlier."""
    from py4j.protocol import Py4JNetworkError

    try:
        lost = isinstance(error, Py4JNetworkError | OSError | EOFError)
        return process.wait(EXIT_SECONDS if lost else 0)
    except subprocess.TimeoutExpired:
        return None
