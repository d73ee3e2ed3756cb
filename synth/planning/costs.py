"""What a run will need: memory, disk and time by simple models with measured constants.

Rough on purpose: within about a factor of two either way on a machine with two cores, and up to six
where 10^8 cells have few columns; docs/benchmarks.md has whole runs. Where a look comes first, the
figures are those of the tables shown, and of the dearest plan that it may lead to. What the machine
or its control group and its free space cannot hold is refused before anything is spent.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod
from pathlib import Path
from statistics import mean

from synth.domain import DENSE_LIMIT_CELLS, Universe
from synth.planning.listed import stored_cells
from synth.planning.problem import ASSUMED_RECORDS
from synth.planning.rounds import Schedule
from synth.privacy import TableEvent

Axes = tuple[int, ...]

MEMORY_BASE_BYTES = 230_000_000
"""Interpreter, libraries and the reading of the source, whatever its size."""
MEMORY_BYTES_PER_CELL = 130
SECONDS_BASE = 4.0
SECONDS_PER_CELL = 20e-6
"""Nearly all of it is the estimate. Reading the source comes on top where it is large."""
SECONDS_PER_LISTED_CELL = 2e-6
"""Where only heavy cells are listed, no cell of the universe is estimated."""
SECONDS_PER_FITTED_CELL, MOST_SECONDS_OF_FIT = 43e-6, 54.0
SECONDS_PER_FITTED_LEVEL, MEMORY_BYTES_PER_FITTED_LEVEL = 8e-3, 18_000
"""Above the dense limit one model is fitted to all tables of two columns and more: some hundred
products with their cells, and as many laws of every column. Of large ones it has fewer classes, in
fewer steps."""
MOST_MEMORY_OF_FIT = 450_000_000
LARGER_TABLES_OF_A_STEP = 16
"""Of more tables of three columns each step of the fit looks at so many."""
FITS_WITH_A_LIST = 1.75
"""Beside a list it is fitted four times, from the second time on in a quarter of the steps."""
SECONDS_PER_CELL_AND_TABLE, SECONDS_PER_CELL_AND_CANDIDATE = 1e-7, 4e-9
"""For a new guess in the run: a model of all cells is fitted to every table so far,
and added up to every candidate."""
QUICK_FIT, SECONDS_PER_MODELLED_CELL = 0.4, 1e-7
"""Where cells are too many for that: the part of a fit of one model of all columns that a guess
takes, which has fewer steps, and one cell of a candidate by it."""
SECONDS_PER_SCORED_CELL, MEMORY_BYTES_PER_SCORED_CELL = 1e-8, 16
"""In every round: a candidate's counts, which are held, are compared with what the model says."""
TRIED, SWEEPS = 8, 3
"""Where rows are chosen for the sake of small tables: points drawn for each row, and how often one
of them is chosen anew."""
POINTS_PER_CODE, LEAST_CELLS_PER_POINT = 10, 500
"""A column with fewer points for every code is more right as drawn than by any choice. With fewer
cells points share them, and weights do as well."""
MOST_TRIPLES = 1000
"""Of more tables of three columns only measured ones count."""
TABLES_OF_A_POINT, MOST_PLACES = 50, 45_000_000
"""Choosing a row takes as long as so many tables and all that count. If that is more in all there
is no choice: it would take more than ten seconds, and of many rows chance is small."""
SECONDS_PER_PLACE = 0.23e-6
"""A row in a table that counts."""
BYTES_PER_PLACE_CELL, CHOICE_BYTES_PER_POINT, CHOICE_BYTES_PER_VALUE = 4, 50, 3
"""Gaps of the tables that count; what draws `TRIED` points for every row, and their codes."""
SECONDS_PER_TABLE = 2e-3
"""There are thousands of tables: each is counted, drawn, written, compared and verified."""
SECONDS_PER_LEVEL = 1e-4
"""Names of levels stand in the manifest, in two documents and in their checks."""
SECONDS_PER_VALUE = 0.5e-6
"""Rows times columns: written, read back and compared, in two formats."""
HELD_CELLS, HELD_CELLS_IN_GROUPS = 500_000, 20_000_000
"""Up to so many cells all are held and fitted at once. Beyond them it takes too long to pass over
cells that hold nothing; but only of what is held the groups of hierarchies are kept consistent, so
of few columns with one more is held: there is no other way to tell how they go together."""
FEWEST_MODELLED = 4
"""Of so many columns or more, tables of some of them and one model of all tell that, in less
time."""
SMALL_TABLE_CELLS = 10**6
"""The model of all columns is fitted to tables of sums of at most so many cells."""
BLOCKS_MEMORY_BASE_BYTES = 350_000_000
BLOCKS_MEMORY_BYTES_PER_CELL = 11
"""Counts in the measuring process; then noisy counts, once more those that verification reads, and
what is looked up for them."""
BLOCKS_SECONDS_PER_CELL = 0.35e-6
"""With as many iterations as `effort_of` says: products of matrices, and passes over the cells."""
FULL_EFFORT, LEAST_EFFORT, CELLS_OF_ONE = 6.0, 0.8, 40_000_000
BLOCKS_SECONDS_PER_CELL_BESIDE_SUMS = 0.8e-6
"""Where small tables were measured, too, the move to their sums passes over the cells as often."""
LIST_MEMORY_BASE_BYTES = 190_000_000
LIST_MEMORY_BYTES_PER_ATTRIBUTE = 3_000_000
LIST_MEMORY_BYTES_PER_CELL = 60
LIST_MEMORY_BYTES_PER_VALUE = 5
"""Where rows are drawn: codes of filled or listed cells, and of the cells of the estimate."""
MOSTLY_EMPTY, COUNTED_BYTES_PER_CELL = 128, 9
"""A universe with so many cells for each that is filled, or more, is counted by those alone: passes
over all cells take long. Otherwise every cell is counted up to the dense limit, whatever is
measured; what was gathered before takes a byte a cell, about."""
DISK_BASE_BYTES = 250_000
"""Manifest, its schema and the data card."""
DISK_BYTES_PER_CELL = 1.0
"""Noisy counts, compressed: once beside the ledger and once in the release."""
DISK_BYTES_PER_PARQUET_VALUE = 0.1
SECONDS_OF_A_HELD_ONE, SECONDS_OF_A_REPLICATE = 0.15, 0.4
"""Parts of the estimate that they start from: of a universe that is held, two run at a time."""
REPLICATES_MEMORY_BYTES_PER_CELL = 60
"""Of a universe that is passed over: its counts, new noise and their sum."""
REPLICATES_MEMORY_BYTES_PER_LINE = 40
"""And a byte or more for every count."""
DISK_BYTES_PER_REPLICATED_LINE = 0.4


@dataclass(frozen=True)
class Costs:
    """Rough needs of a whole run."""

    memory_bytes: int
    disk_bytes: int
    seconds: float


def is_held(universe: Universe) -> bool:
    """Whether the estimate holds all cells of a universe at once; otherwise it goes by blocks.

    Privacy: a function of the public universe.
    """
    varied = [attribute for attribute in universe.attributes if attribute.size > 1]
    in_groups = len(varied) < FEWEST_MODELLED and any(each.hierarchy for each in varied)
    return universe.size <= (HELD_CELLS_IN_GROUPS if in_groups else HELD_CELLS)


def draws_cells(events: Sequence[TableEvent], universe: Universe) -> bool:
    """Whether the rows are drawn from one model of all columns that is fitted to these tables.

    So it is where cells are listed, in every universe beyond `DENSE_LIMIT_CELLS`, and in one too
    large to be held of which only small tables are measured: to pass over every cell would cost
    time, and a log-linear fit to sums alone is far from its end after as many passes as there is
    time for.

    Privacy: a function of the public universe and of planned or measured tables.
    """
    if any(event.threshold is not None for event in events):
        return True
    if universe.size > DENSE_LIMIT_CELLS:
        return True
    return not is_held(universe) and are_small(events, universe)


def are_small(events: Sequence[TableEvent], universe: Universe) -> bool:
    """Whether these are tables of sums alone, none of them large.

    Privacy: a function of the public universe and of planned or measured tables.
    """
    most = min(SMALL_TABLE_CELLS, universe.size - 1)
    return all(event.cells <= most for event in events)


def tables_to_choose_by(
    shape: Sequence[int], measured: Iterable[Axes], points: int
) -> tuple[Axes, ...]:
    """The tables, as axes, by which so many rows are chosen; none where there is no choice.

    All columns, all `measured` tables but the total, which has none, and those of two and three
    columns with no more cells than there are points: in larger ones hardly a cell holds two.

    Privacy: a function of the public plan and of a number of points that is planned, or noisy.
    """
    columns = len(shape)
    few = points < POINTS_PER_CODE * max(shape)
    if few or prod(shape) <= LEAST_CELLS_PER_POINT * points:
        return ()
    if points * (TABLES_OF_A_POINT + columns) > MOST_PLACES:
        return ()
    known = {*filter(len, map(tuple, measured))} | {(axis,) for axis in range(columns)}
    for most in (3, 2) if math.comb(columns, 3) <= MOST_TRIPLES else (2,):
        orders = (combinations(range(columns), order) for order in range(2, most + 1))
        small = {t for t in chain(*orders) if prod(shape[axis] for axis in t) <= points}
        tables = small | known
        if points * (TABLES_OF_A_POINT + len(tables)) <= MOST_PLACES:
            return tuple(sorted(tables, key=lambda table: (len(table), table)))
    return ()


def effort_of(cells: int) -> float:
    """What the numbers of iterations of an estimate by blocks are multiplied by."""
    return min(FULL_EFFORT, max(LEAST_EFFORT, CELLS_OF_ONE / cells))


def forecast_costs(
    universe: Universe,
    events: Sequence[TableEvent],
    *,
    formats: Sequence[str],
    total: int | None,
    expected: int | None = None,
    replicates: int = 0,
    schedule: Schedule | None = None,
) -> Costs:
    """The needs of a run; rows count only if their number is publicly known.

    `events` are all tables that it measures; with a `schedule`, what it takes to choose some of
    them comes to it.

    A universe that is small enough is held in memory cell by cell; otherwise only the measured
    tables are, and as many cells as records are declared or expected. Without a declared total
    disk and time leave the rows out.
    """
    records = total or expected or ASSUMED_RECORDS
    measured = sum(stored_cells(event, records) for event in events)
    lists = [event for event in events if event.threshold]
    columns = len(universe.attributes)
    drawn = draws_cells(events, universe)
    if drawn:
        listed = sum(stored_cells(event, records) for event in lists)
        filled = max(listed, min(records, universe.size))
        memory = LIST_MEMORY_BASE_BYTES + LIST_MEMORY_BYTES_PER_ATTRIBUTE * columns
        memory += (LIST_MEMORY_BYTES_PER_CELL + LIST_MEMORY_BYTES_PER_VALUE * columns) * filled
        memory += MEMORY_BYTES_PER_CELL * (measured - listed)
        memory += (replicates + REPLICATES_MEMORY_BYTES_PER_LINE) * filled if replicates else 0
        if not lists:
            memory += _counted_bytes(universe)
        seconds = SECONDS_BASE + SECONDS_PER_LISTED_CELL * measured
    else:
        held = max(measured, universe.size)
        if is_held(universe):
            memory = MEMORY_BASE_BYTES + MEMORY_BYTES_PER_CELL * held * (2 if replicates else 1)
            seconds = SECONDS_BASE + SECONDS_PER_CELL * held
        else:
            memory = BLOCKS_MEMORY_BASE_BYTES + BLOCKS_MEMORY_BYTES_PER_CELL * held
            memory += REPLICATES_MEMORY_BYTES_PER_CELL * held if replicates else 0
            seconds = SECONDS_BASE + BLOCKS_SECONDS_PER_CELL * effort_of(universe.size) * held
            if len(events) > 1:
                seconds += BLOCKS_SECONDS_PER_CELL_BESIDE_SUMS * held
    if drawn:
        levels = sum(attribute.size for attribute in universe.attributes)
        if any(len(event.table) > 1 and event.threshold is None for event in events):
            memory += min(MEMORY_BYTES_PER_FITTED_LEVEL * levels, MOST_MEMORY_OF_FIT)
        seconds += SECONDS_PER_TABLE * len(events)
        fit = _seconds_of_fit(universe, [event for event in events if event.threshold is None])
        seconds += fit * FITS_WITH_A_LIST if lists else fit
    quick = SECONDS_OF_A_REPLICATE if drawn or not is_held(universe) else SECONDS_OF_A_HELD_ONE
    seconds += replicates * quick * (seconds - SECONDS_BASE)
    if drawn and not lists:
        more_memory, more_seconds = _costs_of_choice(universe, events, records)
        memory += more_memory
        seconds += more_seconds * (2 if replicates else 1)
    if schedule is not None:
        seconds += _seconds_of_rounds(universe, schedule)
        scored = MEMORY_BYTES_PER_SCORED_CELL * sum(each.cells for each in schedule.candidates)
        memory = max(memory, MEMORY_BASE_BYTES + _counted_bytes(universe) + scored)
    seconds += SECONDS_PER_LEVEL * sum(attribute.size for attribute in universe.attributes)
    seconds += SECONDS_PER_VALUE * (total or 0) * columns
    row_bytes = 0.0
    if "csv" in formats:
        row_bytes += sum(1 + mean(map(len, each.labels)) for each in universe.attributes)
    if "parquet" in formats:
        row_bytes += DISK_BYTES_PER_PARQUET_VALUE * columns
    disk = DISK_BASE_BYTES + DISK_BYTES_PER_CELL * measured + row_bytes * (total or 0)
    disk += DISK_BYTES_PER_REPLICATED_LINE * replicates * min(records, universe.size)
    return Costs(memory_bytes=memory, disk_bytes=int(disk), seconds=seconds)


def _counted_bytes(universe: Universe) -> int:
    """What all cells take while they are counted, however few turn out to hold records."""
    return 0 if universe.size > DENSE_LIMIT_CELLS else COUNTED_BYTES_PER_CELL * universe.size


def _seconds_of_rounds(universe: Universe, schedule: Schedule) -> float:
    """How long tables are chosen: in every round what the model says of every candidate.

    A model is fitted to the tables before, where these are more than single columns, for every new
    guess. Those of a round are taken to be the largest that can be chosen.
    """
    cells = sum(each.cells for each in schedule.candidates)
    seconds = SECONDS_PER_SCORED_CELL * cells * len(schedule.rounds)
    first, tables = len(schedule.first), schedule.largest
    for number in (first + rounds for rounds in schedule.guesses_after):
        if all(len(event.table) < 2 for event in tables[:number]):
            continue
        if universe.size <= HELD_CELLS:
            seconds += SECONDS_PER_CELL_AND_TABLE * universe.size * number
            seconds += SECONDS_PER_CELL_AND_CANDIDATE * universe.size * len(schedule.candidates)
        else:
            seconds += QUICK_FIT * _seconds_of_fit(universe, tables[:number])
            seconds += SECONDS_PER_MODELLED_CELL * cells
    return seconds


def _costs_of_choice(
    universe: Universe, events: Sequence[TableEvent], records: int
) -> tuple[int, float]:
    """The bytes and seconds of choosing rows, if they are chosen."""
    measured = [universe.axes(each.table) for each in events if not any(each.coarsening)]
    tables = tables_to_choose_by(universe.shape, measured, records)
    if not tables:
        return 0, 0.0
    cells = sum(prod(universe.shape[axis] for axis in table) for table in tables)
    values = CHOICE_BYTES_PER_POINT + CHOICE_BYTES_PER_VALUE * len(universe.shape)
    memory = BYTES_PER_PLACE_CELL * cells + values * TRIED * records
    return memory, SECONDS_PER_PLACE * records * (TABLES_OF_A_POINT + len(tables))


def _seconds_of_fit(universe: Universe, events: Sequence[TableEvent]) -> float:
    """How long one model is fitted to these tables of sums."""
    pairs = sum(event.cells for event in events if len(event.table) == 2)
    larger = [event.cells for event in events if len(event.table) > 2]
    if not pairs and not larger:
        return 0.0
    fitted = pairs + sum(larger) * min(1.0, LARGER_TABLES_OF_A_STEP / max(1, len(larger)))
    levels = sum(attribute.size for attribute in universe.attributes)
    seconds = SECONDS_PER_FITTED_CELL * fitted + SECONDS_PER_FITTED_LEVEL * levels
    return min(seconds, MOST_SECONDS_OF_FIT)


def present_memory_bytes() -> int:
    """The memory of the machine, or of the control group that this process is confined to."""
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    try:
        text = limit.read_text(encoding="ascii").strip()
    except OSError:
        return present
    return min(present, int(text)) if text.isdigit() else present
