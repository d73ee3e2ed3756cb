"""A made-up table: rows drawn from the public domain of a configuration, for a rehearsal.

The rows keep to levels, edges, impossible cells and public totals. Columns depend on each other a
little and levels are used unevenly, as in real tables: each row belongs to one of a few classes
with random shares of the levels. Nothing of it is anybody's, and nothing of it is realistic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.audit.made_up_sources import codes_of_periods, days_of, text_of
from synth.config import Config, PersonUnit
from synth.config.series import PeriodSelection
from synth.domain import Attribute, PublicTotal, Universe
from synth.domain.totals import atoms_of, coarsen, code_groups, whole_atom_totals
from synth.errors import SynthError

Codes = list[NDArray[np.int32]]
"""One array for each attribute: the code of every row."""

CLASSES = 8
MISSING_SHARE = 0.2
"""A missing value is so much rarer than a level on average."""
MOST_DIFFERENT = 1 << 20
"""So many rows differ; beyond it they are repeated."""
MOST_CODES = 20_000_000
"""Over all columns of the rows that differ: what memory is for."""
ROUNDS = 300
"""How often rows in impossible cells are drawn again, before others take their place."""
MOST_MORE = 1_000
"""So many rows are added for cells that a public total asks for and no row is in."""
BLOCK_ROWS = 1 << 18


def write_made_up_table(
    path: Path, config: Config, *, rows: int, generator: np.random.Generator
) -> int:
    """Write a Parquet file with the columns of the source, all texts; give the number of its rows.

    Privacy: reads the configuration only.
    Ensures: every row counts in a possible cell, and every public total holds. Where persons are
    protected, each has from 1 to as many records as are counted of one. Where dates select
    records, every row is dated in one of the periods that count; if the dates are a column of the
    domain, as far as it holds these periods.
    Raises: SynthError if no row was found that the impossible rules allow; OSError.
    """
    universe = config.universe
    texts = [_texts(attribute) for attribute in universe.attributes]
    different = min(rows, MOST_DIFFERENT, max(10_000, MOST_CODES // len(texts)))
    selection = config.selection()
    codes = _possible_rows(universe, max(1, different), generator, selection)
    times = _times(universe, config.public_totals, codes, rows, generator)
    unit = config.privacy.unit
    person = unit.column if isinstance(unit, PersonUnit) else None
    most_records = unit.max_records if isinstance(unit, PersonUnit) else 1
    words = [pa.array([text or "" for text in each], pa.string()) for each in texts]
    fields = [(name, pa.dictionary(pa.int32(), pa.string())) for name in universe.names]
    has_persons = person is not None and person not in universe.names
    if person is not None and has_persons:
        fields.append((person, pa.int64()))
    days: list[str] = []
    if selection is not None and selection.column not in (*universe.names, person):
        fields.append((selection.column, pa.string()))
        days = days_of(selection)
    schema = pa.schema(fields)
    written, last_person = 0, 0
    with pq.ParquetWriter(path, schema) as file:
        for block in _blocks(times):
            count = len(block)
            arrays = [
                pa.DictionaryArray.from_arrays(pa.array(column[block]), word)
                for column, word in zip(codes, words, strict=True)
            ]
            if has_persons:
                first = generator.random(count) < 2 / (most_records + 1)
                first[::most_records] = True
                persons = last_person + np.cumsum(first)
                last_person = int(persons[-1])
                arrays.append(pa.array(persons))
            if days:
                arrays.append(pa.array(days).take(generator.integers(len(days), size=count)))
            file.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            written += count
    return written


def _texts(attribute: Attribute) -> list[str | None]:
    """A text for each code; None where no text is known."""
    return [text_of(attribute, code) for code in range(attribute.size)]


def _possible_rows(
    universe: Universe,
    count: int,
    generator: np.random.Generator,
    selection: PeriodSelection | None,
) -> Codes:
    """So many rows of random classes, none of them in an impossible cell."""
    drawn = [
        _Column(each, generator, codes_of_periods(each, selection)) for each in universe.attributes
    ]
    classes = generator.choice(CLASSES, size=count, p=generator.dirichlet(np.ones(CLASSES)))
    codes = [column.draw(classes, generator) for column in drawn]
    places = {name: place for place, name in enumerate(universe.names)}
    rules = [
        [
            (places[name], _mask(universe.attribute(name), inside))
            for name, inside in each.codes.items()
        ]
        for each in universe.impossible
    ]
    bad = np.arange(count)
    for _ in range(ROUNDS):
        still = np.zeros(len(bad), dtype=bool)
        for rule in rules:
            hit = np.ones(len(bad), dtype=bool)
            for place, mask in rule:
                hit &= mask[codes[place][bad]]
            place, _ = rule[generator.integers(len(rule))]
            where = bad[hit]
            codes[place][where] = drawn[place].draw(classes[where], generator)
            still |= hit
        bad = bad[still]
        if not len(bad):
            return codes
    good = np.setdiff1d(np.arange(count), bad)
    if not len(good):
        raise SynthError(
            "no made-up row was found that the impossible rules allow",
            why="they forbid nearly every combination of values",
            fix="write dependent columns as one column with a hierarchy",
        )
    chosen = generator.choice(good, size=len(bad))
    for column in codes:
        column[bad] = column[chosen]
    return codes


def _mask(attribute: Attribute, inside: Sequence[int]) -> NDArray[np.bool_]:
    mask = np.zeros(attribute.size, dtype=bool)
    mask[list(inside)] = True
    return mask


class _Column:
    """How often each code of an attribute comes in each class."""

    def __init__(
        self, attribute: Attribute, generator: np.random.Generator, allowed: NDArray[np.bool_]
    ) -> None:
        known = np.array([text is not None for text in _texts(attribute)]) & allowed
        shares = generator.exponential(size=(CLASSES, attribute.size)) * known
        if attribute.missing_code is not None and attribute.bin_count:
            shares[:, attribute.missing_code] *= MISSING_SHARE
        sums = np.cumsum(shares, axis=1)
        self._up_to = sums / sums[:, -1:]

    def draw(self, classes: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int32]:
        """A code for each row, by the shares of its class."""
        found = np.zeros(len(classes), dtype=np.int32)
        for number, up_to in enumerate(self._up_to):
            rows = np.flatnonzero(classes == number)
            found[rows] = np.searchsorted(up_to, generator.random(len(rows)), side="right")
        return found


def _times(
    universe: Universe,
    totals: Sequence[PublicTotal],
    codes: Codes,
    rows: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """How often each row is written, so that every public total holds.

    Rows are added to `codes` where a total counts cells in which there are none.
    """
    count = len(codes[0])
    if not totals:
        return _shared_out(rows, count, generator)
    small, wheres = coarsen(universe, [total.where for total in totals])
    moved = [
        PublicTotal(where, total.total, total.source)
        for where, total in zip(wheres, totals, strict=True)
    ]
    atoms, group_of = atoms_of(small, moved), code_groups(universe, [t.where for t in totals])
    atom = _atoms_of_rows(universe, small, group_of, atoms.atom_of, codes)
    wanted = np.bincount(atom, minlength=atoms.count).astype(np.float64) * (rows / count)
    whole = whole_atom_totals(atoms, wanted)
    if whole is None:
        raise SynthError("no made-up table has all public totals")
    for number in np.setdiff1d(np.flatnonzero(whole), atom):
        more = generator.integers(count, size=min(int(whole[number]), MOST_MORE))
        cell = int(np.flatnonzero(atoms.atom_of == number)[0])
        added = [column[more] for column in codes]
        for attribute, stride in zip(small.attributes, small.strides, strict=True):
            group = np.array(group_of[attribute.name]) == cell // stride % attribute.size
            place = universe.names.index(attribute.name)
            added[place] = generator.choice(np.flatnonzero(group), size=len(more)).astype(np.int32)
        codes[:] = [np.concatenate(each) for each in zip(codes, added, strict=True)]
        atom = np.concatenate([atom, np.full(len(more), number)])
    times = np.zeros(len(atom), dtype=np.int64)
    for number in range(atoms.count):
        members = np.flatnonzero(atom == number)
        if len(members):
            times[members] = _shared_out(int(whole[number]), len(members), generator)
    return times


def _atoms_of_rows(
    universe: Universe,
    small: Universe,
    group_of: dict[str, tuple[int, ...]],
    atom_of: NDArray[np.int64],
    codes: Codes,
) -> NDArray[np.int64]:
    """The atom of every row."""
    cells = np.zeros(len(codes[0]), dtype=np.int64)
    for attribute, stride in zip(small.attributes, small.strides, strict=True):
        groups = np.array(group_of[attribute.name])
        cells += groups[codes[universe.names.index(attribute.name)]] * stride
    return atom_of[cells]


def _shared_out(total: int, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with this sum, as equal as can be."""
    times = np.full(count, total // count, dtype=np.int64)
    times[generator.choice(count, size=total % count, replace=False)] += 1
    return times


def _blocks(times: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The numbers of the rows as they are written, each so many times, in blocks."""
    ends = np.cumsum(times)
    total = int(ends[-1])
    for start in range(0, total, BLOCK_ROWS):
        written = np.arange(start, min(start + BLOCK_ROWS, total))
        yield np.searchsorted(ends, written, side="right")
