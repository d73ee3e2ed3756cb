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
from synth.planning.costs import MOSTLY_EMPTY
from synth.privacy import TableEvent

CELLS_AT_ONCE = 1 << 18
"""So many are looked at together, that nothing else has the size of the universe."""


@dataclass(frozen=True, eq=False)
class FilledCells:
    """Cells that hold records. Secret.

    Shapes and units: `columns[j]` holds the code of attribute j of every cell; cells ascend by
    number, each once; `counts` is int64, records, at least 1.
    """

    columns: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]


Held = FilledCells | NDArray[np.int64]
"""The records by cell: of all cells that hold any, or of the whole universe, flat in C order."""


def tabulate(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    *,
    selection: PeriodSelection | None = None,
    most_filled: int | None = None,
) -> Sensitive[Held]:
    """Count the records of every cell, or those of a selection, in a universe that can be held.

    With more filled cells than `most_filled`, by default one in `MOSTLY_EMPTY`, all are held.

    Privacy: exact counts; secret, and so is which of the two it is. Contributions are bounded
    first when the unit is a person. A record changes the count of one cell, by its weight in the
    selection; see `select_records`. Room for all counts is taken before a record is read, so that
    whether there is any does not depend on records.
    Ensures: beside the counts, memory is bounded whatever the number of records.
    """
    universe = config.universe
    most = universe.size // MOSTLY_EMPTY if most_filled is None else most_filled
    counts = np.zeros(universe.size, dtype=np.int64)  # nothing is taken before it is touched
    places, numbers, is_whole = np.zeros(0, np.int64), np.zeros(0, np.int64), False
    with open_engine(source, files, spill, universe, selection) as engine:
        for cells, records in _cells_of(engine, _bounded_records(engine, config, selection)):
            if not is_whole:
                places = np.concatenate([places, cells])
                numbers = np.concatenate([numbers, np.broadcast_to(records, cells.shape)])
                if len(places) > most:
                    places, numbers = _each_once(places, numbers)
                is_whole = len(places) > most
                if is_whole:
                    counts[places] = numbers
            else:
                np.add.at(counts, cells, records)
    if is_whole:
        return Sensitive(counts)
    del counts
    places, numbers = _each_once(places, numbers)
    kind = code_type(universe.shape)
    columns = tuple(each.astype(kind) for each in universe.codes(places))
    return Sensitive(FilledCells(columns, numbers))


def _cells_of(
    engine: Engine, records: ibis.Table
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64] | np.int64]]:
    """The cells of records, in batches, and how many each stands for.

    From engines that count where records lie every cell once; from the others every record.
    """
    if engine.counts_where_records_lie:
        for batch in engine.batches(_counted(records)):
            yield batch.column("word_0").to_numpy(), batch.column("records").to_numpy()
    else:
        times = {"times": records.weight.cast("int64")} if "weight" in records.columns else {}
        for batch in engine.batches(records.select("word_0", **times)):
            added = batch.column("times").to_numpy() if times else np.int64(1)
            yield batch.column("word_0").to_numpy(), added


def _each_once(
    places: NDArray[np.int64], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places in ascending order, and the sum of the numbers of each."""
    found, which = np.unique(places, return_inverse=True)
    sums = np.zeros(len(found), dtype=np.int64)
    np.add.at(sums, which, numbers)
    return found, sums


def filled_cells(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    *,
    selection: PeriodSelection | None = None,
) -> Sensitive[FilledCells]:
    """Count the records of every cell that has any; nothing has the size of the universe.

    Privacy: as `tabulate`; the number of filled cells is secret, too.
    """
    kind = code_type(config.universe.shape)
    columns = [[np.empty(0, kind)] for _ in config.universe.names]
    counts = [np.empty(0, dtype=np.int64)]
    with counted_cells(config, source, files, spill, selection=selection) as blocks:
        for block in blocks.consume():
            for column, codes in zip(columns, block.columns, strict=True):
                column.append(codes)
            counts.append(block.counts)
    return Sensitive(FilledCells(tuple(map(np.concatenate, columns)), np.concatenate(counts)))


def every_cell(held: Held, universe: Universe) -> NDArray[np.int64]:
    """The counts of all cells of the universe, flat in C order, in an array of their own."""
    if not isinstance(held, FilledCells):
        return held.copy()
    places = np.zeros(len(held.counts), dtype=np.int64)
    for column, stride in zip(held.columns, universe.strides, strict=True):
        places += column.astype(np.int64) * stride
    counts = np.zeros(universe.size, dtype=np.int64)
    counts[places] = held.counts
    return counts


@contextmanager
def counted_cells(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    spill: Path,
    *,
    selection: PeriodSelection | None = None,
) -> Iterator[Sensitive[Iterator[FilledCells]]]:
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


def _blocks(engine: Engine, counted: ibis.Table, config: Config) -> Iterator[FilledCells]:
    words, kind = split_into_words(config.universe), code_type(config.universe.shape)
    for batch in engine.batches(counted):
        columns: list[NDArray[Any]] = []
        for number, word in enumerate(words):
            cells = batch.column(f"word_{number}").to_numpy()
            for size, stride in zip(word.sizes, word.strides, strict=True):
                columns.append(((cells // stride) % size).astype(kind))
        counts = np.asarray(batch.column("records").to_numpy(), dtype=np.int64)
        yield FilledCells(tuple(columns), counts)


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
    sensitive_counts: Sensitive[Held], margins: Sequence[Margin], universe: Universe
) -> Iterator[tuple[int, Sensitive[NDArray[np.int64]]]]:
    """The number of every margin with its counts, still secret; each array is the taker's own.

    Privacy: exact counts; secret. A record is in one cell of the universe, and that belongs to one
    cell of every margin: so a record adds 1 to exactly one cell of each.
    Requires: the full table is among the margins only of a universe that can be held.
    Ensures: the full table comes last, so that the counts of all cells are never held twice for its
    sake.
    Shapes and units: int64, flat in C order over the margin, in records.
    """
    held = sensitive_counts.consume()
    full = Margin(universe.names, (0,) * len(universe.names))
    order = sorted(range(len(margins)), key=lambda number: margins[number] == full)
    for position, number in enumerate(order):
        if margins[number] != full:
            yield number, Sensitive(sums_of(held, margins[number], universe))
        elif isinstance(held, FilledCells) or position < len(order) - 1:
            yield number, Sensitive(every_cell(held, universe))
        else:
            yield number, Sensitive(held)


def sums_of(held: Held, margin: Margin, universe: Universe) -> NDArray[np.int64]:
    """The counts of one margin, flat in C order. Secret."""
    if not isinstance(held, FilledCells):
        return margin.sums(universe, held)
    sums = np.zeros(margin.cells(universe), dtype=np.int64)
    for start in range(0, len(held.counts), CELLS_AT_ONCE):
        some = slice(start, start + CELLS_AT_ONCE)
        places = margin_cells([each[some] for each in held.columns], universe, margin)
        np.add.at(sums, places, held.counts[some])
    return sums
