"""Files of counts by cell: of replicates, and of the release before in a cumulative series.

Replicates of a stranger may differ from ours by last digits, under other arithmetic. The counts of
the release before are kept by the next one; its folder holds them, so that it can be verified
alone, and where the release before lies beside it, both are compared.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.config import Config, config_from_public
from synth.config.release import count_columns
from synth.domain.counts import (
    Counts,
    cell_words,
    code_type,
    difference,
    goes_back,
    is_possible,
    new_cells,
)
from synth.errors import ConfigError, OutputError, VerificationError
from synth.estimate import Replicates
from synth.estimate.rounding import MOST_MOVED
from synth.release.contents import MANIFEST, PREVIOUS, data_files
from synth.release.rows.blocks import BLOCK_ROWS
from synth.release.rows.parquet_files import cell_columns, write_counts
from synth.release.verification.findings import Findings
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.parquet_layout import rewriting_findings
from synth.release.verification.readback import ReadbackError, column_codes, published_counts
from synth.release.verification.trial_reading import Limits, TrialError, blocks, require_readable
from synth.strict_json import JsonError, parse_json


def nearly_the_same(
    file: IO[bytes], ours: Replicates, config: Config
) -> tuple[Replicates, int] | None:
    """What the file holds and how many records were moved, if that is all that differs.

    In no replicate more than `MOST_MOVED` records may stand in another cell, by one in each, and
    none of the published ones. Whether the file is written as it should be is not looked at.
    """
    try:
        theirs = _read_replicates(file, ours, config)
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


def _read_replicates(file: IO[bytes], ours: Replicates, config: Config) -> Replicates:
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
    widest = sum(column.longest_text_bytes for column in columns)
    texts = tuple(column.name for column in columns if column.published_type == "text")
    require_readable(
        file, Limits(least, most, BLOCK_ROWS, len(columns) + len(names), widest, texts)
    )
    opened = pq.ParquetFile(file, read_dictionary=texts)
    if opened.schema_arrow.names != [*(column.name for column in columns), *names]:
        raise ReadbackError("the columns are others")
    lines = opened.metadata.num_rows
    codes = np.empty((len(columns), lines), dtype=np.int64)
    counts = np.empty((len(names), lines), dtype=np.int64)
    row = 0
    for batch in blocks(opened, BLOCK_ROWS):
        here = slice(row, row + batch.num_rows)
        for place, column in enumerate(columns):
            codes[place, here] = column_codes(column, batch.column(place), row, text=False)
        for place, name in enumerate(names):
            counts[place, here] = np.asarray(batch.column(name))
        row += batch.num_rows
    if counts.min(initial=0) < 0:
        raise ReadbackError("a count is negative")
    return codes, counts


CELLS_PER_BYTE = 64
"""A byte of the file holds fewer cells than this: each has codes and a count of its own."""
ALWAYS_READ = 1 << 20


@dataclass(frozen=True, eq=False)
class Previous:
    """A published release that another one follows."""

    counts: Counts
    manifest_sha256: str


def release_before(
    directory: Path, config: Config, *, records: int | None = None
) -> Previous | None:
    """The release that this one follows, from its folder in a directory; None if it is the first.

    `records`: how many it must have, where it is a stranger's.

    Raises: OutputError if it is not there, or another one is.
    """
    name = config.previous_release_id
    if name is None:
        return None
    fix = "publish the periods in their order: `synth due` does"
    if not (directory / name).is_dir():
        raise OutputError(
            f"the release before, {name}, is not in the output directory",
            why="a cumulative release keeps its records and adds to them",
            fix=fix,
        )
    try:
        folder = Folder(directory / name)
        return _published(folder, config, records)
    except (
        FolderError,
        JsonError,
        ConfigError,
        VerificationError,
        LookupError,
        TypeError,
    ) as error:
        said = " ".join(str(error).split())
        raise OutputError(
            f"the release before, {name}, cannot be read: {said}",
            why="a cumulative release keeps its records and adds to them",
            fix="restore its folder; `synth verify` says what is wrong with it",
        ) from None


def _published(folder: Folder, config: Config, records: int | None) -> Previous:
    """The counts in the data files of a folder. Raises: see `release_before`."""
    content = folder.read(MANIFEST)
    manifest = parse_json(content)
    theirs = config_from_public(manifest["configuration"])
    if theirs.release.id != config.previous_release_id:
        raise FolderError("it is the release of another period")
    if theirs.universe != config.universe or theirs.series != config.series:
        raise FolderError("it belongs to another series, or declares other columns")
    (name, *_) = data_files(theirs)
    stated = {entry["path"]: entry for entry in manifest["files"]}[name]
    if records is not None and stated["rows"] != records:
        raise FolderError(f"it has {stated['rows']} rows, and {PREVIOUS} has {records}")
    if folder.sha256(name) != stated["sha256"]:
        raise FolderError(f"{name} is not the file that its manifest lists")
    counts, problems = published_counts(folder, name, theirs, rows=stated["rows"])
    if counts is None:
        raise FolderError("; ".join(problems))
    return Previous(counts, hashlib.sha256(content).hexdigest())


def check_previous(
    folder: Folder, config: Config, findings: Findings, manifest: dict[str, Any]
) -> Counts | None:
    """The counts of the release before as the folder has them; None if it has none such.

    Where that release lies beside this one, both must say the same of it.
    Raises: FolderError if `previous.parquet` is not as it is written.
    """
    counts, told = _read_previous(folder, config)
    stated = manifest.get("series", {}).get("previous", {})
    found, note = _beside(folder.path.parent, config, counts, stated.get("manifest_sha256"))
    if told:
        findings.notes.append(f"{PREVIOUS}: {told}")
    if note:
        findings.notes.append(note)
        return counts
    same = findings.conclude(
        f"{PREVIOUS} holds the counts of the release before, which lies beside this one", found
    )
    return counts if same else None


def _read_previous(folder: Folder, config: Config) -> tuple[Counts, str]:
    """The counts in the folder's file, and what of its bytes was not compared."""
    try:
        with folder.open(PREVIOUS) as file:
            most = max(ALWAYS_READ, CELLS_PER_BYTE * folder.sizes[PREVIOUS])
            codes, (counts,) = read_replicates(file, config, 0, least=0, most=most)
            found = _counts(codes, counts, config)
        with folder.open(PREVIOUS) as file:
            wrong, told = rewriting_findings(
                file, lambda stream: write_counts(stream, found, config)
            )
    except (ReadbackError, TrialError, pa.ArrowException, OSError, TypeError, ValueError) as error:
        if isinstance(error, FolderError):
            raise
        raise FolderError(f"{PREVIOUS}: {' '.join(str(error).split())}") from None
    if wrong:
        raise FolderError(f"{PREVIOUS}: {'; '.join(wrong)}")
    return found, told


def _counts(codes: Any, counts: Any, config: Config) -> Counts:
    shape = config.universe.shape
    columns = tuple(column.astype(code_type(shape)) for column in codes)
    words = cell_words(columns, shape)
    if counts.size and (goes_back(words).any() or not new_cells(words).all()):
        raise ReadbackError("its cells do not ascend")
    if (counts < 1).any():
        raise ReadbackError("a cell has no record")
    if not is_possible(columns, config.universe).all():
        raise ReadbackError("an impossible cell has records")
    if float(counts.sum(dtype=np.float64)) >= 2.0**53:
        raise ReadbackError("there are more records than any table has")
    return Counts(columns, counts)


def _beside(
    directory: Path, config: Config, counts: Counts, stated: str | None
) -> tuple[list[str], str]:
    """How the release before, if it lies in this directory, differs; else a note of that.

    `stated` is the hash of its manifest that this release names.
    """
    name = config.previous_release_id or ""
    if not (directory / name).is_dir():
        return [], (
            f"{PREVIOUS} was taken for the counts of {name}, and the hash of its manifest is "
            "protected by the checksums alone: put the folders of both releases into one "
            "directory to compare them"
        )
    try:
        before = release_before(directory, config, records=counts.total)
    except OutputError as error:
        return [f"{PREVIOUS}: {error}"], ""
    if before is None:
        return [], ""
    found = []
    if before.manifest_sha256 != stated:
        found.append(f"{MANIFEST}: series.previous: {name} beside this release has another one")
    apart = difference(counts, before.counts, config.universe.shape).apart.size
    if apart:
        found.append(f"{PREVIOUS}: has other counts than {name} in {apart} combinations of values")
    return found, ""
