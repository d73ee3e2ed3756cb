"""The audit of the counting: made-up sources that are neighbours, counted by the code of a run.

Their counts must differ by no more than the plan charges. This is exact: nothing is left to chance
but which records are made up. Some are measured whole, too: two runs with the same random words add
the same noise to every cell, so their noisy counts differ as the counts do, unless noise depends on
what is counted.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from synth.audit.canaries import Randomness
from synth.audit.findings import CountingReport, TableChange
from synth.audit.made_up_sources import MadeUpRecords, MadeUpSource, Record
from synth.audit.tables import LOOK
from synth.config import Config, FileSource, PersonUnit
from synth.curator.counting.look import looked_at
from synth.curator.counting.tabulate import (
    FilledCells,
    Held,
    filled_cells,
    margin_counts,
    margins_of,
    tabulate,
)
from synth.curator.measuring import measure, needs_filled_cells
from synth.curator.seal import Sensitive
from synth.domain import Margin
from synth.noise import NoiseStream
from synth.noise.stream import KEY_BYTES
from synth.planning import Look
from synth.privacy import LookEvent, TableEvent

Counts = NDArray[np.int64]

GROUPS = 6
"""Of so many bases, each with every subset of UNITS units: 6 * 16 sources."""
UNITS = 4
"""Every pair of subsets that differ by one unit is compared."""
BASE_UNITS = 12
CROWD = 400
"""So many units are added at once; they may change the counts by so many times as much."""
CROWD_RECORDS = 4_000
MOST_RECORDS = 500
"""Of one person."""
MOST_CELLS = 1 << 22
"""Of all tables, when every cell of them gets noise; otherwise only filled cells are counted."""
WIDE_CELLS = 1 << 20
"""With more there are fewer groups."""

Change = Mapping[tuple[int, ...], int]
"""By how much some cells of a table differ from those of another source."""


@dataclass
class _Table:
    """The largest change of one table so far."""

    event: TableEvent
    l1: int = 0
    l2_squared: int = 0

    def note(self, one: Change, other: Change) -> int:
        """Take note of two neighbouring sources; returns the L1 norm of the change."""
        changes = [one.get(cell, 0) - other.get(cell, 0) for cell in {**one, **other}]
        l1 = sum(map(abs, changes))
        self.l1 = max(self.l1, l1)
        self.l2_squared = max(self.l2_squared, sum(change * change for change in changes))
        return l1


@dataclass
class _Counter:
    """Counts made-up sources by the code of a run."""

    config: Config
    events: Sequence[TableEvent]
    source: MadeUpSource
    directory: Path
    key: bytes
    look: Look | None = None
    """If there is one, the counts of its classes come behind those of the tables."""
    sources: int = 0
    with_noise: bool = False
    """Whether the same noise is added to all of them."""
    _first: list[Counts | Change] = field(default_factory=list)
    _groups: int = 0
    """Every other one is counted in an array of all cells, as a run of many records is."""

    def start(self, *, with_noise: bool) -> None:
        """The next source is the one that others are compared with."""
        self._first, self._groups = [], self._groups + 1
        self.with_noise = with_noise and not self.counts_filled_cells

    def changes(self, records: Sequence[Record]) -> list[Change]:
        """How every table differs from that of the first source since `start`."""
        self.sources += 1
        source, files = self.source.write(self.directory, records)
        tables = self._noisy(source, files) if self.with_noise else self._counted(source, files)
        if not self._first:
            self._first = tables
        return [_change(now, first) for now, first in zip(tables, self._first, strict=True)]

    @property
    def counts_filled_cells(self) -> bool:
        """Whether only filled cells are counted, as a run does whose universe is too large."""
        cells = self.config.universe.size + sum(event.cells for event in self.events)
        return cells > MOST_CELLS or needs_filled_cells(self.config, self.events)

    def _noisy(self, source: FileSource, files: Sequence[Path]) -> list[Counts | Change]:
        measured = measure(
            self.config,
            source,
            self.look or self.events,
            files=files,
            stream=NoiseStream(key=self.key),
            directory=self.directory,
            plan_after=lambda _: self.events,
            selection=self.config.selection(),
        )
        look = [] if measured.look is None else [np.array(measured.look.noisy_counts)]
        return [*(table.noisy_counts for table in measured.tables), *look]

    def _looked_at(self, held: Held) -> list[Counts]:
        """The counts of a look, if there is one."""
        if self.look is None:
            return []
        counts, _ = looked_at(Sensitive(held), self.look.event, self.config.universe)
        return [counts.consume()]

    def _counted(self, source: FileSource, files: Sequence[Path]) -> list[Counts | Change]:
        """The exact counts of every table; of too large a universe those of filled cells."""
        universe = self.config.universe
        given, selection = (self.config, source, files, self.directory), self.config.selection()
        if self.counts_filled_cells:
            held: Held = filled_cells(*given, selection=selection).consume()
        else:
            most = 0 if self._groups % 2 else None
            held = tabulate(*given, selection=selection, most_filled=most).consume()
        tables: dict[int, Counts | Change] = {}
        margins = dict(enumerate(margins_of(self.events, universe)))
        if isinstance(held, FilledCells) and self.counts_filled_cells:
            codes = zip(*(column.tolist() for column in held.columns), strict=True)
            full = dict(zip(codes, held.counts.tolist(), strict=True))
            cells = Margin(universe.names, (0,) * len(universe.names))
            tables = {number: full for number, each in margins.items() if each == cells}
        others = [number for number in margins if number not in tables]
        sums = margin_counts(Sensitive(held), [margins[each] for each in others], universe)
        tables |= {others[place]: table.consume() for place, table in sums}
        return [*(tables[number] for number in margins), *self._looked_at(held)]


def _change(now: Counts | Change, first: Counts | Change) -> Change:
    if isinstance(now, Mapping) and isinstance(first, Mapping):
        change = Counter(now)
        change.subtract(first)
        return {cell: value for cell, value in change.items() if value}
    difference = np.asarray(now, dtype=np.int64) - np.asarray(first, dtype=np.int64)
    places = np.flatnonzero(difference)
    return {
        (place,): value
        for place, value in zip(places.tolist(), difference[places].tolist(), strict=True)
    }


def audit_counting(
    config: Config,
    events: Sequence[TableEvent],
    *,
    look: Look | None = None,
    randomness: Randomness,
) -> CountingReport:
    """The largest change of every table between neighbouring made-up sources.

    Exact: of each pair that is compared the change is known, not estimated. That no other pair
    changes more is not shown by this; it is proved in docs/privacy.md.

    Privacy: opens no data; everything it counts is made up here.
    Raises: SourceError, SynthError if the made-up sources cannot be counted.
    """
    source = MadeUpSource.of(config)
    random = Random(int.from_bytes(randomness(16)))  # noqa: S311 - chooses made-up records only
    records = MadeUpRecords(config, source, random, MOST_RECORDS)
    looks = [] if look is None else [look.event.as_table]
    tables = [_Table(event) for event in (*events, *looks)]
    crowds = [_Table(event) for event in (*events, *looks)]
    replaced = config.privacy.neighbours == "replace-one"
    with tempfile.TemporaryDirectory(prefix="synth-audit-") as directory:
        key = randomness(KEY_BYTES)
        counter = _Counter(config, events, source, Path(directory), key, look)
        neighbours = 0
        for number in range(_groups(config, events)):
            neighbours += _compare_subsets(counter, records, tables, number, replaced=replaced)
        if look is not None:
            neighbours += _compare_in_one_cell(counter, records, tables, look.event)
            neighbours += _compare_in_two_cells(counter, records, tables) if look.event.pairs else 0
        crowd = _compare_crowds(counter, records, crowds, replaced=replaced)
        sources = counter.sources
    unit = config.privacy.unit
    shown = unit.max_records if isinstance(unit, PersonUnit) else 1
    return CountingReport(
        format=source.format,
        in_place_of=source.in_place_of,
        sources=sources,
        neighbours=neighbours,
        relation="replaced" if replaced else "added or removed",
        unit="record" if unit == "record" else "person",
        crowd=crowd,
        is_bounding_reached=shown <= MOST_RECORDS,
        tables=tuple(
            TableChange(
                subject=LOOK
                if table.event in looks
                else ", ".join(table.event.table) or "all records",
                charged_l1=table.event.sensitivity_l1,
                largest_l1=table.l1,
                charged_l2_squared=table.event.sensitivity_l2_squared,
                largest_l2_squared=table.l2_squared,
                largest_of_crowd=many.l1,
                crowd=crowd,
            )
            for table, many in zip(tables, crowds, strict=True)
        ),
    )


def _groups(config: Config, events: Sequence[TableEvent]) -> int:
    """Fewer for large tables, whose sums take longer; what is counted as a list takes little."""
    full = config.universe.size
    cells = sum(event.cells for event in events if event.cells < full)
    cells += full if full <= MOST_CELLS else 0
    return GROUPS if cells <= WIDE_CELLS else max(1, GROUPS // (3 if cells <= MOST_CELLS else 6))


def _compare_subsets(
    counter: _Counter,
    records: MadeUpRecords,
    tables: Sequence[_Table],
    number: int,
    *,
    replaced: bool,
) -> int:
    """Compare all subsets of a few units among others; returns how many pairs were neighbours."""
    first = number * (BASE_UNITS + UNITS)
    units = [records.unit(first + place) for place in range(BASE_UNITS + UNITS)]
    units[0], units[BASE_UNITS] = records.nobodys(many=False), records.nobodys(many=True)
    for place in (-2, -1):  # these two change a table most, replaced by each other
        units[place] = records.whole_unit(first + len(units) + place, in_one_cell=True)
    rows = [(place, row) for place, unit in enumerate(units) for row in unit]
    records.random.shuffle(rows)  # those of others keep their order, whoever else is there
    counter.start(with_noise=not number)
    changes: dict[frozenset[int], list[Change]] = {}
    for subset in _subsets():
        there = {place + BASE_UNITS for place in subset} | set(range(BASE_UNITS))
        changes[subset] = counter.changes([row for place, row in rows if place in there])
    pairs = [pair for pair in combinations(changes, 2) if _are_neighbours(*pair, replaced=replaced)]
    for one, other in pairs:
        for table, mine, its in zip(tables, changes[one], changes[other], strict=True):
            table.note(mine, its)
    return len(pairs)


def _compare_in_one_cell(
    counter: _Counter, records: MadeUpRecords, tables: Sequence[_Table], look: LookEvent
) -> int:
    """Fill one cell past every place where a class of a look begins, and compare one unit more.

    Returns how many pairs were neighbours.
    """
    each = len(records.of_one_cell(1)[0])
    before = {0} | {first // each + more for first in look.firsts[1:] for more in (-1, 0, 1)}
    sizes = sorted(size for size in before if 0 <= size * each <= CROWD_RECORDS)
    units = records.of_one_cell(sizes[-1] + 1)
    for size in sizes:
        counter.start(with_noise=False)
        rows = [row for unit in units[:size] for row in unit]
        fewer, more = counter.changes(rows), counter.changes([*rows, *units[size]])
        for table, one, other in zip(tables, more, fewer, strict=True):
            table.note(one, other)
    return len(sizes)


def _compare_in_two_cells(
    counter: _Counter, records: MadeUpRecords, tables: Sequence[_Table]
) -> int:
    """Add one unit to another of a cell that few share in any column: so pairs depend most on it.

    Returns how many pairs were neighbours.
    """
    each = len(records.of_one_cell(1)[0])
    units, others = records.of_two_cells(max(2, min(5 * each, CROWD_RECORDS // each)))
    counter.start(with_noise=False)
    rows = [row for unit in (*units, others[0]) for row in unit]
    fewer, more = counter.changes(rows), counter.changes([*rows, *others[1]])
    for table, one, other in zip(tables, more, fewer, strict=True):
        table.note(one, other)
    return 1


def _subsets() -> Iterator[frozenset[int]]:
    for size in range(UNITS + 1):
        yield from map(frozenset, combinations(range(UNITS), size))


def _are_neighbours(one: frozenset[int], other: frozenset[int], *, replaced: bool) -> bool:
    if replaced:
        return len(one) == len(other) and len(one - other) == 1
    return len(one ^ other) == 1


def _compare_crowds(
    counter: _Counter, records: MadeUpRecords, tables: Sequence[_Table], *, replaced: bool
) -> int:
    """Add many units at once to none, or replace many; returns how many."""
    each = len(records.whole_unit(0))
    crowd = max(4, min(CROWD, CROWD_RECORDS // each))
    counter.start(with_noise=False)
    units = [records.whole_unit(number) for number in range(2 * crowd)]
    mine = [row for unit in units[:crowd] for row in unit]
    others = [row for unit in units[crowd:] for row in unit]
    before = counter.changes(others if replaced else [])
    after = counter.changes(mine)
    for table, one, other in zip(tables, after, before, strict=True):
        table.note(one, other)
    return crowd
