"""Tabulation: from the records of a source to exact counts, still secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from synth.config import Config, PersonUnit, SourceConfig
from synth.config.series import PeriodSelection
from synth.curator.counting.encode import bound_contributions, split_into_words
from synth.curator.counting.lookup import encode_records
from synth.curator.counting.selection import period_attribute, select_records
from synth.curator.engine import Engine, Records, open_engine
from synth.curator.seal import Sensitive
from synth.domain import Margin, Universe
from synth.domain.counts import code_type, margin_cells
from synth.errors import BugError
from synth.privacy import TableEvent

MOSTLY_EMPTY = 32
"""Of a universe with so many cells for each that is filled, tables are added up from those alone:
hundreds of passes over all cells take minutes. Their codes and counts take a byte a cell, about."""
CELLS_AT_ONCE = 1 << 18
"""So many are looked at together, that nothing else has the size of the universe."""


@dataclass(frozen=True)
class CountedCells:
    """Some cells that hold records: the codes of each, and its count."""

    codes: tuple[NDArray[np.int32], ...]
    """One array per attribute of the universe, in its order."""
    counts: NDArray[np.int64]


def tabulate(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    *,
    selection: PeriodSelection | None = None,
) -> Sensitive[NDArray[np.int64]]:
    """Count the records of every cell of the full universe, or those of a selection.

    Privacy: exact counts; secret. Contributions are bounded first when the unit is a person.
    A record changes the count of one cell, by its weight in the selection; see `select_records`.
    Ensures: beside the counts, memory is bounded whatever the number of records.
    Shapes: int64, flat, one count per cell in C order, in records.
    """
    counts = np.zeros(config.universe.size, dtype=np.int64)
    with open_engine(source, files, spill, config.universe, selection) as engine:
        records = _bounded_records(engine, config, selection)
        if engine.counts_where_records_lie:
            for batch in engine.batches(_counted(records)):
                counts[batch.column("word_0").to_numpy()] = batch.column("records").to_numpy()
        else:
            times = {"times": records.weight.cast("int64")} if "weight" in records.columns else {}
            for batch in engine.batches(records.select("word_0", **times)):
                added = batch.column("times").to_numpy() if times else 1
                np.add.at(counts, batch.column("word_0").to_numpy(), added)
    return Sensitive(counts)


@contextmanager
def counted_cells(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    *,
    selection: PeriodSelection | None = None,
) -> Iterator[Sensitive[Iterator[CountedCells]]]:
    """The cells that hold records, with their counts, in blocks; for a universe of any size.

    Privacy: exact counts; secret, and so are the number of blocks and of cells.
    Ensures: every such cell once, in ascending order of its number, so that nothing tells in
    which order the records came. Memory is bounded: the engine sorts, and spills.
    Example: `with counted_cells(...) as blocks: for block in blocks.consume(): ...`
    """
    with open_engine(source, files, spill, config.universe, selection) as engine:
        counted = _counted(_bounded_records(engine, config, selection))
        words = [name for name in counted.columns if name != "records"]
        yield Sensitive(_blocks(engine, counted.order_by(words), config))


def _blocks(engine: Engine, counted: ibis.Table, config: Config) -> Iterator[CountedCells]:
    words = split_into_words(config.universe)
    for batch in engine.batches(counted):
        codes: list[NDArray[np.int32]] = []
        for number, word in enumerate(words):
            cells = batch.column(f"word_{number}").to_numpy()
            for size, stride in zip(word.sizes, word.strides, strict=True):
                codes.append(((cells // stride) % size).astype(np.int32))
        yield CountedCells(tuple(codes), batch.column("records").to_numpy())


def _counted(records: ibis.Table) -> ibis.Table:
    """One row per cell that holds records: the words of its number, and the records.

    Engines have wider types for sums, and Ibis would not write down a cast to int64 alone.
    """
    words = [name for name in records.columns if name.startswith("word_")]
    if "weight" not in records.columns:
        return records.group_by(words).aggregate(records=records.count())
    times = records.weight.sum().cast("decimal(38, 0)").cast("int64")
    return records.group_by(words).aggregate(records=times)


def open_records(
    engine: Engine, config: Config, selection: PeriodSelection | None = None
) -> Sequence[Records]:
    """The columns of the universe, of the persons and of the selection; no record is read.

    Raises: SourceError, in words of the configuration, for what concerns the whole source;
    BugError if a configuration that selects records is given without its selection.
    """
    if selection is None and config.selection() is not None:
        raise BugError("the records of a period are asked for, and all would be counted")
    unit = config.privacy.unit
    person = unit.column if isinstance(unit, PersonUnit) else None
    columns = [*config.universe.names, *([] if person is None else [person])]
    columns += [] if selection is None else [selection.column]
    return engine.open_records(list(dict.fromkeys(columns)), person_column=person)


def _bounded_records(
    engine: Engine, config: Config, selection: PeriodSelection | None
) -> ibis.Table:
    """One row per record that counts: the words of its cell, and its weight if it has one."""
    universe, unit = config.universe, config.privacy.unit
    person = unit if isinstance(unit, PersonUnit) else None
    column = None if person is None else person.column
    period = None if selection is None else period_attribute(selection)
    parts = [
        encode_records(engine, records, universe, person=column, period=period)
        for records in open_records(engine, config, selection)
    ]
    records = ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
    if selection is not None:
        return select_records(records, selection, person)
    return records if person is None else bound_contributions(records, person)


@dataclass(frozen=True, eq=False)
class FilledCells:
    """All cells that hold records. Secret.

    Shapes and units: `columns[j]` holds the code of attribute j of every cell; cells ascend by
    number, each once; `counts` is int64, records, at least 1.
    """

    columns: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]


def filled_cells(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    *,
    selection: PeriodSelection | None = None,
) -> Sensitive[FilledCells]:
    """Count the records of every cell that has any; nothing has the size of the universe.

    Privacy: exact counts; secret, and so is the number of filled cells. Contributions are bounded
    first when the unit is a person. A record changes the count of one cell, by its weight in the
    selection; see `select_records`.
    """
    kind = code_type(config.universe.shape)
    columns: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for _ in config.universe.names]
    counts = [np.empty(0, dtype=np.int64)]
    with counted_cells(config, source, files, spill, selection=selection) as blocks:
        for block in blocks.consume():
            for column, codes in zip(columns, block.codes, strict=True):
                column.append(codes.astype(kind))
            counts.append(np.asarray(block.counts, dtype=np.int64))
    return Sensitive(FilledCells(tuple(map(np.concatenate, columns)), np.concatenate(counts)))


def margin_counts_of_cells(
    cells: FilledCells, margins: Sequence[Margin], universe: Universe
) -> Iterator[tuple[int, Sensitive[NDArray[np.int64]]]]:
    """The number of every margin but the universe, with its counts, still secret.

    Privacy: exact counts; secret. A record is in one cell, and that belongs to one cell of every
    margin: so a record adds 1 to exactly one cell of each.
    Shapes and units: int64, flat in C order over the margin, in records.
    """
    full = Margin(universe.names, (0,) * len(universe.names))
    for number, margin in enumerate(margins):
        if margin != full:
            sums = np.zeros(margin.cells(universe), dtype=np.int64)
            for start in range(0, len(cells.counts), CELLS_AT_ONCE):
                some = slice(start, start + CELLS_AT_ONCE)
                places = margin_cells([each[some] for each in cells.columns], universe, margin)
                np.add.at(sums, places, cells.counts[some])
            yield number, Sensitive(sums)


def filled_blocks(counts: NDArray[np.int64], universe: Universe) -> Iterator[FilledCells]:
    """The cells that hold records, of `CELLS_AT_ONCE` cells at a time. Secret."""
    kind = code_type(universe.shape)
    for start in range(0, len(counts), CELLS_AT_ONCE):
        places = np.flatnonzero(counts[start : start + CELLS_AT_ONCE]) + start
        columns, left = [], places
        for size in reversed(universe.shape):
            left, codes = np.divmod(left, size)
            columns.append(codes.astype(kind))
        yield FilledCells(tuple(reversed(columns)), counts[places])


def _all_filled(counts: NDArray[np.int64], universe: Universe, number: int) -> FilledCells:
    """The same together; there are so many."""
    kind = code_type(universe.shape)
    columns = tuple(np.empty(number, kind) for _ in universe.shape)
    values, end = np.empty(number, dtype=np.int64), 0
    for block in filled_blocks(counts, universe):
        here = slice(end, end + len(block.counts))
        for column, codes in zip(columns, block.columns, strict=True):
            column[here] = codes
        values[here], end = block.counts, here.stop
    return FilledCells(columns, values)


def margins_of(events: Sequence[TableEvent], universe: Universe) -> tuple[Margin, ...]:
    """The tables of the events, checked against the universe before anything is opened.

    Raises: BugError for a table that the universe does not have.
    """
    for event in events:
        if [name for name in universe.names if name in event.table] != list(event.table):
            raise BugError("a planned table is not over attributes of the universe, in its order")
        depths = [universe.attribute(name).depth for name in event.table]
        if not all(0 <= c < d for c, d in zip(event.coarsening, depths, strict=True)):
            raise BugError("a planned table is at a resolution that the universe does not have")
    margins = tuple(Margin(event.table, event.coarsening) for event in events)
    for event, margin in zip(events, margins, strict=True):
        if event.cells != margin.cells(universe):
            raise BugError("a planned table has another number of cells")
    return margins


def margin_counts(
    sensitive_counts: Sensitive[NDArray[np.int64]], margins: Sequence[Margin], universe: Universe
) -> Iterator[tuple[int, Sensitive[NDArray[np.int64]]]]:
    """The number of every margin with its counts, still secret; each array is the taker's own.

    Privacy: exact counts; secret. A record adds 1 to one cell of the universe, and that cell
    belongs to one cell of every margin: so it adds 1 to exactly one cell of each.
    Ensures: the full table comes last, so that the counts are never held twice for its sake. The
    same counts whether all cells are passed over or, if most are empty, those that are filled.
    Shapes and units: int64, flat in C order over the margin, in records.
    """
    counts = sensitive_counts.consume()
    full = Margin(universe.names, (0,) * len(universe.names))
    order = sorted(range(len(margins)), key=lambda number: margins[number] == full)
    filled = int(np.count_nonzero(counts))
    if filled * MOSTLY_EMPTY < counts.size:
        cells = _all_filled(counts, universe, filled)
        order = [number for number in order if margins[number] == full]
        if not order:
            counts = counts[:0].copy()  # nothing else needs them
        yield from margin_counts_of_cells(cells, margins, universe)
    for position, number in enumerate(order):
        if margins[number] != full:
            yield number, Sensitive(margins[number].sums(universe, counts))
        elif position < len(order) - 1:
            yield number, Sensitive(counts.copy())
        else:
            yield number, Sensitive(counts)
