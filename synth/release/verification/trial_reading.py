"""A stranger's Parquet file, read on trial: in a process of its own, with little memory and time.

A file of a few bytes can stand for gigabytes, or for hours. Reading it here is safe if another
process has read the whole of it before, in the same blocks, texts in the same form, and stayed
within its limits; that process answers with one sentence, and ends.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

LEAST_BYTES = 1 << 29
BYTES_PER_VALUE = 32
"""Of a row group, with what unpacking it takes; texts may have as many bytes again."""

LEAST_SECONDS = 60
ROWS_PER_SECOND = 1_000_000

WALL_FACTOR = 10
"""On a busy machine a process waits; what is limited is the time that it computes."""

MOST_ANSWER = 300


@dataclass(frozen=True)
class Limits:
    """What a file may hold: known from the configuration, or from what was rebuilt."""

    least_rows: int
    most_rows: int
    rows_per_group: int
    most_columns: int
    bytes_per_row: int = 0
    """Of the texts of one row, all columns together."""
    texts: tuple[str, ...] = ()
    """Columns that are read as codes with a dictionary, which every row group has for itself."""

    @property
    def memory_bytes(self) -> int:
        """What reading one row group after another may take, beside the libraries."""
        rows = min(self.rows_per_group, self.most_rows)
        return LEAST_BYTES + rows * (self.most_columns * BYTES_PER_VALUE + 2 * self.bytes_per_row)

    @property
    def seconds(self) -> int:
        """The processor time that it may take."""
        return LEAST_SECONDS + self.most_rows // ROWS_PER_SECOND


class TrialError(ValueError):
    """A file cannot be read within its limits; says why."""


def require_readable(file: IO[bytes], limits: Limits) -> None:
    """Read a file on trial; its position is then its beginning.

    Raises: TrialError if it is no Parquet, holds other numbers of rows, or needs more than it may.
    """
    file.seek(0)
    # started as a file, so that nothing of the package is imported; -P: nor what lies about
    most = map(str, (limits.memory_bytes, limits.seconds))
    command = [sys.executable, "-P", __file__, json.dumps(asdict(limits)), *most]
    # as one arena: how many the allocator sets aside, of 64 MB each, depends on how threads meet;
    # and by none but that of the system: another sets 1 GB aside, if that is just allowed
    by_system = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    try:
        done = subprocess.run(
            command,
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WALL_FACTOR * limits.seconds,
            env={**os.environ, **by_system},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TrialError(f"was not read within {WALL_FACTOR * limits.seconds} s") from None
    finally:
        file.seek(0)
    if done.returncode:
        told = done.stdout.decode(errors="replace")[:MOST_ANSWER]
        raise TrialError(told or _ending(done.returncode, limits))


def _ending(code: int, limits: Limits) -> str:
    """How the process ended, where it could not say what is wrong."""
    how = f"the signal {-code}" if code < 0 else f"the exit code {code}"
    return (
        f"takes more than the {limits.memory_bytes >> 20} MB of memory or {limits.seconds} s of "
        f"processor time that such a file can need (reading it ended with {how})"
    )


def _trial(limits: Limits, memory_bytes: int, seconds: int) -> str:
    """What is wrong with the file that is the standard input; empty if nothing is."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    _limit(memory_bytes, seconds)
    with os.fdopen(0, "rb") as stream:
        try:
            return _finding(pq.ParquetFile(stream, read_dictionary=limits.texts), limits)
        except KeyError:
            return "does not have the columns of texts that are declared"
        except (pa.ArrowException, OSError, ValueError) as error:
            return f"not readable as Parquet: {' '.join(str(error).split())}"


def _limit(memory_bytes: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if sys.platform == "linux":  # elsewhere the size of a process says little, and binds nothing
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        present = int(pages) * resource.getpagesize()
        most = present + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _finding(file: pq.ParquetFile, limits: Limits) -> str:
    described = file.metadata
    groups = [described.row_group(number).num_rows for number in range(described.num_row_groups)]
    if not limits.least_rows <= described.num_rows <= limits.most_rows:
        expected = f"{limits.least_rows}"
        if limits.least_rows != limits.most_rows:
            expected += f" to {limits.most_rows}"
        return f"holds {described.num_rows} rows, expected {expected}"
    if sum(groups) != described.num_rows or any(n > limits.rows_per_group for n in groups):
        return "states other numbers of rows for its row groups than were written"
    if described.num_columns > limits.most_columns:
        return f"has {described.num_columns} columns, expected {limits.most_columns} at most"
    rows, held, held_rows = 0, list[pa.RecordBatch](), 0
    for batch in blocks(file, limits.rows_per_group):
        rows, held_rows = rows + batch.num_rows, held_rows + batch.num_rows
        if held_rows > limits.rows_per_group:  # as a reader holds that gathers one block of rows
            held, held_rows = [], batch.num_rows
        held.append(batch)
    return "" if rows == described.num_rows else f"holds {rows} rows, and states another number"


def blocks(file: pq.ParquetFile, rows: int) -> Iterator[pa.RecordBatch]:
    """All rows, at most so many at a time, of one row group after another.

    Not of all row groups at once: such a reader holds what it has unpacked of those before.
    """
    for number in range(file.num_row_groups):
        yield from file.iter_batches(rows, [number], use_threads=False)


if __name__ == "__main__":
    answer = _trial(Limits(**json.loads(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(answer)
    sys.stdout.flush()
    os._exit(1 if answer else 0)  # what libraries do when they are taken down decides nothing
