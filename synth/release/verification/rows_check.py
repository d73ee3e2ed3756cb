"""The data files: parsed back, counted, held against the rules and against the rebuilt rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from synth.config import Config
from synth.domain import Universe
from synth.domain.counts import Counts, difference
from synth.release.column_codes import ReadbackError
from synth.release.columns import Column, published_columns
from synth.release.contents import CSV
from synth.release.csv_file import csv_chunks
from synth.release.parquet_file import expected_blocks, write_parquet
from synth.release.parquet_layout import rewriting_findings
from synth.release.readback import (
    counts_of_csv,
    counts_of_parquet,
    open_parquet,
)
from synth.release.verification.folder import Folder, FolderError

if TYPE_CHECKING:
    pass


def published_counts(
    folder: Folder, name: str, config: Config, *, rows: int
) -> tuple[Counts | None, list[str]]:
    """The counts of a data file as published, or the finding that it holds no such rows."""
    columns = published_columns(config.universe, config.output.bins)
    try:
        with folder.open(name) as file:
            if name == CSV:
                return counts_of_csv(file, config.universe, columns), []
            return counts_of_parquet(file, config.universe, columns, rows=rows), []
    except ReadbackError as error:
        return None, [f"{name}: {error}"]
    except FolderError as error:
        return None, [str(error)]


def rule_findings(name: str, counts: Counts, config: Config) -> Iterator[str]:
    """Impossible cells that are not empty, public totals and row numbers that are not met."""
    universe = config.universe
    for rule in universe.impossible:
        rows = counts.inside(universe, rule)
        if rows:
            yield f"{name}: {rows} rows are impossible ({rule.describe(universe)})"
    for entry in config.public_totals:
        rows = counts.inside(universe, entry.where)
        if rows != entry.total:
            yield (
                f"{name}: {rows} rows with {entry.where.describe(universe)}, expected "
                f"{entry.total} from the public total"
            )
    if config.output.rows is not None and counts.total != config.output.rows:
        yield f"{name}: {counts.total} rows, expected {config.output.rows} from the configuration"


def count_findings(name: str, found: Counts, expected: Counts, universe: Universe) -> list[str]:
    """The cells whose number of rows is not that of the rebuilt counts."""
    apart = difference(found, expected, universe.shape)
    if not len(apart.found):
        return []
    codes = [int(column[0]) for column in apart.columns]
    cell = universe.cell(codes)
    labels = ", ".join(
        f"{attribute.name}={attribute.label(code)}"
        for attribute, code in zip(universe.attributes, codes, strict=True)
    )
    return [
        f"{name}: {len(apart.found)} cells differ from the counts rebuilt from the measurements; "
        f"the first is cell {cell} ({labels}): found {int(apart.found[0])} rows, expected "
        f"{int(apart.expected[0])}"
    ]


def csv_findings(
    folder: Folder, name: str, counts: Counts, config: Config, *, seed: int
) -> list[str]:
    """The first byte at which the file is not the expansion of the counts."""
    columns = published_columns(config.universe, config.output.bins)
    position, line = 0, 1
    with folder.open(name) as file:
        for expected in csv_chunks(counts, columns, seed=seed):
            wanted = bytes(expected)
            found = file.read(len(wanted))
            if found != wanted:
                offset = _first_difference(found, wanted)
                line += wanted[:offset].count(b"\n")
                if offset == len(found):
                    return [f"{name}: ends at byte {position + offset}, in line {line}"]
                return [
                    f"{name}: byte {position + offset + 1} (line {line}) is "
                    f"{found[offset : offset + 1]!r}, expected {wanted[offset : offset + 1]!r}"
                ]
            position += len(wanted)
            line += wanted.count(b"\n")
        if file.read(1):
            return [f"{name}: goes on after its last row, at byte {position + 1}"]
    return []


def _first_difference(found: bytes, wanted: bytes) -> int:
    for start in range(0, len(found), 4096):
        if found[start : start + 4096] != wanted[start : start + 4096]:
            for offset in range(start, min(start + 4096, len(found))):
                if found[offset] != wanted[offset]:
                    return offset
    return len(found)


def parquet_findings(
    folder: Folder, name: str, counts: Counts, config: Config, *, seed: int
) -> tuple[list[str], str]:
    """The first value that is not that of the expansion of the counts, or the first byte.

    The second text says so if another version of pyarrow wrote the file and its bytes, but for
    their layout, could not be compared.
    """
    columns = published_columns(config.universe, config.output.bins)
    try:
        with folder.open(name) as file:
            open_parquet(file, columns, rows=counts.total)
            found, told = rewriting_findings(
                file,
                lambda stream: write_parquet(stream, counts, columns, seed=seed),
            )
    except (ReadbackError, OSError) as error:
        return [f"{name}: {error}"], ""
    if not found and not told:
        return [], ""
    values = _value_findings(folder, name, counts, config, seed=seed)
    return values or [f"{name}: {finding}" for finding in found], told


def _value_findings(
    folder: Folder, name: str, counts: Counts, config: Config, *, seed: int
) -> list[str]:
    import pyarrow as pa

    columns = published_columns(config.universe, config.output.bins)
    start = 0
    try:
        with folder.open(name) as file:
            source = open_parquet(file, columns, rows=counts.total)
            blocks = expected_blocks(counts, columns, seed=seed)
            for group, wanted in enumerate(blocks):
                found = source.read_row_group(group, use_threads=False)
                if found.num_rows != wanted.num_rows:
                    return [f"{name}: row group {group} holds {found.num_rows} rows"]
                finding = _value_finding(columns, found, wanted, start)
                if finding:
                    return [f"{name}: {finding}"]
                start += wanted.num_rows
    except ReadbackError as error:
        return [f"{name}: {error}"]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        return [f"{name}: not readable as Parquet: {error}"]
    return []


def _longest(texts: Any) -> int:
    """The bytes of the longest text: one text of a dictionary may stand in every row."""
    import pyarrow.compute as pc

    return int(pc.max(pc.binary_length(texts)).as_py() or 0)


def _are_levels(values: Any, column: Column) -> bool:
    """Whether every text of a dictionary is a level, used or not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.is_in(values.dictionary, value_set=pa.array(column.texts, pa.string()))
    return len(known) == 0 or bool(pc.all(known).as_py())


def _value_finding(columns: tuple[Column, ...], found: Any, wanted: Any, start: int) -> str:
    for position, column in enumerate(columns):
        values = found.column(position).combine_chunks()
        if column.published_type == "text":
            if _longest(values.dictionary) > max(len(text.encode()) for text in column.texts):
                return f"column {column.name!r}: holds a text that is longer than any level"
            if len(values.dictionary) > len(column.texts) or not _are_levels(values, column):
                return f"column {column.name!r}: holds a text that is no level, or one twice"
            stored = wanted.column(position)
            if values.dictionary.equals(stored.dictionary) and values.indices.equals(
                stored.indices
            ):
                continue
            values = values.dictionary_decode()
        expected = wanted.column(position).cast(values.type)
        if values.equals(expected):
            continue
        for row in range(len(values)):
            left, right = values[row].as_py(), expected[row].as_py()
            if left != right:
                return (
                    f"row {start + row + 1}, column {column.name!r}: found {left!r}, "
                    f"expected {right!r}"
                )
    return ""
