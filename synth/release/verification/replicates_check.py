"""Replicates of a stranger, under other arithmetic: whether they are ours but for last digits."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.config import Config
from synth.config.release import count_columns
from synth.domain.counts import Counts, difference
from synth.estimate import Replicates
from synth.estimate.rounding import MOST_MOVED
from synth.release.rows.blocks import BLOCK_ROWS
from synth.release.rows.replicates_file import cell_columns
from synth.release.verification.readback import ReadbackError, column_codes
from synth.release.verification.trial_reading import Limits, TrialError, require_readable


def nearly_the_same(
    file: IO[bytes], ours: Replicates, config: Config
) -> tuple[Replicates, int] | None:
    """What the file holds and how many records were moved, if that is all that differs.

    In no replicate more than `MOST_MOVED` records may stand in another cell, by one in each, and
    none of the published ones. Whether the file is written as it should be is not looked at.
    """
    try:
        theirs = _read(file, ours, config)
    except (ReadbackError, TrialError, pa.ArrowException, OSError, TypeError, ValueError):
        return None
    shape = config.universe.shape
    moved = 0
    pairs = zip([ours.published, *ours.counts], [theirs.published, *theirs.counts], strict=True)
    for number, (own, found) in enumerate(pairs):
        if int(found.sum()) != int(own.sum(dtype=np.int64)):
            return None
        apart = difference(_filled(theirs.columns, found), _filled(ours.columns, own), shape).apart
        if apart.max(initial=0) > 1 or apart.sum() > (2 * MOST_MOVED if number else 0):
            return None
        moved += int(apart.sum()) // 2
    return theirs, moved


def _filled(columns: tuple[NDArray[Any], ...], counts: NDArray[Any]) -> Counts:
    places = np.flatnonzero(counts)
    return Counts(tuple(column[places] for column in columns), counts[places].astype(np.int64))


def _read(file: IO[bytes], ours: Replicates, config: Config) -> Replicates:
    """The lines of the file; every value is checked against the domain."""
    lines = ours.published.size
    slack = MOST_MOVED * len(ours.counts)
    codes, counts = read_replicates(
        file, config, len(ours.counts), least=max(0, lines - slack), most=lines + slack
    )
    kept = tuple(own.astype(known.dtype) for known, own in zip(ours.columns, codes, strict=True))
    return Replicates(kept, counts[0], tuple(counts[1:]), ours.factor)


def read_replicates(
    file: IO[bytes], config: Config, replicates: int, *, least: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes of every line, a row per column, and the counts: of the release, then of each.

    Raises: ReadbackError for other columns than so many replicates have, for a value outside of
    the declared domain and for a negative count; TrialError for less lines than `least` or more
    than `most`.
    """
    columns = cell_columns(config)
    names = count_columns(replicates)
    widest = sum(max((len(t.encode()) for t in column.texts), default=0) for column in columns)
    require_readable(file, Limits(least, most, BLOCK_ROWS, len(columns) + len(names), widest))
    texts = [column.name for column in columns if column.published_type == "text"]
    opened = pq.ParquetFile(file, read_dictionary=texts)
    if opened.schema_arrow.names != [*(column.name for column in columns), *names]:
        raise ReadbackError("the columns are others")
    lines = opened.metadata.num_rows
    codes = np.empty((len(columns), lines), dtype=np.int64)
    counts = np.empty((len(names), lines), dtype=np.int64)
    row = 0
    for batch in opened.iter_batches(batch_size=BLOCK_ROWS, use_threads=False):
        here = slice(row, row + batch.num_rows)
        for place, column in enumerate(columns):
            codes[place, here] = column_codes(column, batch.column(place), row, text=False)
        for place, name in enumerate(names):
            counts[place, here] = np.asarray(batch.column(name))
        row += batch.num_rows
    if counts.min(initial=0) < 0:
        raise ReadbackError("a count is negative")
    return codes, counts
