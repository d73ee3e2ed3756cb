"""Lists of heavy cells: what is counted, what is listed, and what is never told."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth import curator
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.boundary import measure_list
from synth.curator.counting.tabulate import FilledCells, counted_cells
from synth.curator.measuring import needs_filled_cells
from synth.curator.seal import Sensitive
from synth.domain import Attribute, Conjunction, Universe
from synth.errors import BugError
from synth.measurements.sparse_table import ascends
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler
from synth.noise.survivors import (
    stream_table,
    surviving_ranks,
    surviving_values,
)
from synth.planning import plan_events
from synth.privacy import TableEvent

KEY = bytes(range(32))
SMALL = Universe(
    (
        Attribute("a", "categorical", tuple("xyz")),
        Attribute("b", "categorical", tuple("0123456789")),
    )
)
WIDE = Universe(
    tuple(Attribute(f"c{n}", "categorical", tuple("0123456789")) for n in range(30)),
    (Conjunction({"c0": (1,), "c29": (2, 3)}),),
)


def stream():
    return NoiseStream(key=KEY)


def event_of(universe, threshold, epsilon="1", **changes):
    return TableEvent(
        universe.names, universe.size, 1, Fraction(epsilon), threshold=threshold, **changes
    )


def cells_with(universe, counts):
    """The filled cells of {codes: count}."""
    ordered = sorted(counts)
    columns = np.array(ordered, dtype=np.uint8).reshape(-1, len(universe.names)).T
    return FilledCells(
        tuple(columns), np.array([counts[codes] for codes in ordered], dtype=np.int64)
    )


def listed(universe, counts, event, number=0):
    table = measure_list(
        Sensitive(cells_with(universe, counts)), event, universe, number=number, stream=stream()
    )
    assert ascends(table.codes)
    assert table.codes.dtype == table.noisy_counts.dtype == np.int64
    assert table.event == event
    return dict(zip(map(tuple, table.codes.tolist()), table.noisy_counts.tolist(), strict=True))


def slow_list(universe, counts, event, number=0):
    """The definition: visit every filled cell, and every survivor, cell by cell."""
    law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    filled = sorted(universe.cell(codes) for codes in counts)
    by_number = {universe.cell(codes): count for codes, count in counts.items()}
    noise = TableSampler(law).draw(
        stream(), table=stream_table(number, 0), start=0, count=len(filled)
    )
    found = {
        cell: by_number[cell] + int(extra)
        for cell, extra in zip(filled, noise, strict=True)
        if by_number[cell] + int(extra) >= event.threshold
    }
    if event.delta is None:
        ranks = surviving_ranks(
            law,
            threshold=event.threshold,
            empty_cells=universe.size - len(filled),
            stream=stream(),
            number=number,
        )
        values = surviving_values(
            law, threshold=event.threshold, count=len(ranks), stream=stream(), number=number
        )
        for rank, value in zip(ranks.tolist(), values.tolist(), strict=True):
            cell = rank
            for other in filled:  # step over the filled cells, one after the other
                cell += other <= cell
            found[cell] = value
    codes = {
        tuple(
            (cell // stride) % size
            for stride, size in zip(universe.strides, universe.shape, strict=True)
        ): value
        for cell, value in found.items()
    }
    impossible = [
        key
        for key in codes
        for rule in universe.impossible
        if all(key[universe.names.index(name)] in inside for name, inside in rule.codes.items())
    ]
    return {key: value for key, value in codes.items() if key not in impossible}


COUNTS = {(0, 0): 3, (0, 1): 1, (1, 4): 40, (2, 8): 2, (2, 9): 7}


@pytest.mark.parametrize("number", [0, 5])
@pytest.mark.parametrize("threshold", [1, 2, 9])
def test_the_list_is_what_the_slow_definition_gives(threshold, number):
    event = event_of(SMALL, threshold)
    found = listed(SMALL, COUNTS, event, number)
    assert found == slow_list(SMALL, COUNTS, event, number)
    assert len(found) > 0


def test_a_cell_is_listed_once():
    """A threshold of 1 with wide noise, every other cell filled: no empty cell is taken for one."""
    counts = {(a, b): 5 for a in range(3) for b in range(0, 10, 2)}
    event = event_of(SMALL, 1, "1/50")
    assert listed(SMALL, counts, event) == slow_list(SMALL, counts, event)


def test_cells_beyond_64_bits_are_listed():
    heavy = {tuple([9] * 30): 500, tuple([0] * 30): 700, tuple([4] * 15 + [5] * 15): 900}
    light = {tuple([3] * 29 + [k]): 1 for k in range(10)}
    event = event_of(WIDE, 66)
    found = listed(WIDE, heavy | light, event)
    assert found == slow_list(WIDE, heavy | light, event)
    assert all(abs(found[cell] - count) < 60 for cell, count in heavy.items())
    assert not light.keys() & found.keys()


def test_impossible_cells_are_never_listed():
    impossible = tuple([1] + [0] * 28 + [2])
    possible = tuple([1] + [0] * 28 + [4])
    found = listed(WIDE, {impossible: 900, possible: 900}, event_of(WIDE, 66))
    assert possible in found
    assert impossible not in found
    covered = Universe(SMALL.attributes, (Conjunction({"a": (0, 1)}),))
    event = event_of(covered, 1, "1/50")
    found = listed(covered, COUNTS, event)
    assert found == slow_list(covered, COUNTS, event)
    assert {codes[0] for codes in found} == {2}


def test_nothing_is_filled():
    event = event_of(SMALL, 1)
    assert listed(SMALL, {}, event) == slow_list(SMALL, {}, event)


def test_partition_selection_lists_filled_cells_only():
    delta = Fraction(1, 10**6)
    event = event_of(SMALL, 15, mechanism="partition-selection", delta=delta)
    counts = {(0, 0): 300, (2, 9): 200, (1, 1): 1}
    found = listed(SMALL, counts, event)
    assert found == slow_list(SMALL, counts, event)
    assert found.keys() == {(0, 0), (2, 9)}
    everywhere = event_of(WIDE, 15, mechanism="partition-selection", delta=delta)
    assert listed(WIDE, {}, everywhere) == {}


def test_a_record_more_changes_one_cell_by_one():
    """Record and replay, for a record in a cell that is filled already."""
    event = event_of(SMALL, 2)
    for codes in COUNTS:
        before = listed(SMALL, COUNTS, event)
        after = listed(SMALL, COUNTS | {codes: COUNTS[codes] + 1}, event)
        changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
        assert changed in ([], [codes])
        if codes in before:
            assert after[codes] == before[codes] + 1


def test_the_threshold_ignores_the_records():
    """However many cells are filled, the smallest listed count is the threshold."""
    event = event_of(SMALL, 2, "1/20")
    for filled in (1, 29):
        cells = [(a, b) for a in range(3) for b in range(10)][:filled]
        smallest = set()
        for number in range(10):
            table = measure_list(
                Sensitive(cells_with(SMALL, dict.fromkeys(cells, 1))),
                event,
                SMALL,
                number=number,
                stream=stream(),
            )
            smallest |= set(table.noisy_counts.tolist())
        assert min(smallest) == 2


@pytest.mark.parametrize(
    "event",
    [
        TableEvent(SMALL.names, SMALL.size, 1, Fraction(1)),
        TableEvent(("a",), 3, 1, Fraction(1), threshold=4),
        TableEvent(SMALL.names, 31, 1, Fraction(1), threshold=4),
        TableEvent(SMALL.names, SMALL.size, 1, Fraction(1), coarsening=(1, 0), threshold=4),
        event_of(SMALL, 14, mechanism="partition-selection", delta=Fraction(1, 10**6)),
    ],
    ids=["no threshold", "another table", "another size", "coarser", "too low for its delta"],
)
def test_what_cannot_be_listed_is_refused_before_it_is_looked_at(event):
    cells = Sensitive(cells_with(SMALL, COUNTS))
    with pytest.raises(BugError):
        measure_list(cells, event, SMALL, number=0, stream=stream())
    assert cells.consume() is not None


PEOPLE = [
    *[("34", "Female", "Nord")] * 9,
    ("99", "Male", "Süd"),
    ("7", "", "Other"),
    ("34", "Male", "Nord"),  # in one cell with the first of every table that does not know sex
]


def measured(project, tmp_path, *, rows=PEOPLE, **changes):
    text = "\n".join(["age,sex,town", *map(",".join, rows)]) + "\n"
    path = project(people=text, strategy="sparse", **changes)
    config = load_config(path)
    measurements = curator.measure(
        config,
        config.source,
        plan_events(config),
        files=source_files(config.source),
        stream=stream(),
        directory=tmp_path,
    )
    return config, measurements


def test_a_small_source_is_listed_and_summed(project, tmp_path):
    """All tables come from the same counts; noise of the known key is taken off again."""
    config, found = measured(project, tmp_path)
    universe, (listing, *sums) = config.universe, found.tables
    assert listing.event.table == universe.names
    # 34 is in the second bin of twenty years, 99 in the last, 7 in the first
    counts = {(1, 0, 0): 9, (4, 1, 1): 1, (0, 2, 2): 1, (1, 1, 0): 1}
    codes = dict(
        zip(map(tuple, listing.codes.tolist()), listing.noisy_counts.tolist(), strict=True)
    )
    assert codes == slow_list(universe, counts, listing.event)
    assert sums
    full = np.zeros(universe.shape, dtype=np.int64)
    for key, count in counts.items():
        full[key] = count
    for number, table in enumerate(sums, 1):
        law = DiscreteLaplace(table.event.epsilon, table.event.sensitivity_l1)
        noise = TableSampler(law).draw(stream(), table=number, start=0, count=table.event.cells)
        rest = tuple(i for i, name in enumerate(universe.names) if name not in table.event.table)
        assert np.array_equal(table.noisy_counts - noise, full.sum(axis=rest).ravel())


def test_a_list_has_the_noise_of_its_own_number_wherever_it_stands(project, tmp_path):
    """Lists are measured last, and numbered as they were planned."""
    config, found = measured(project, tmp_path)
    events = [table.event for table in found.tables][::-1]
    again = curator.measure(
        config,
        config.source,
        events,
        files=source_files(config.source),
        stream=stream(),
        directory=tmp_path,
    )
    listing = again.tables[-1]
    counts = {(1, 0, 0): 9, (4, 1, 1): 1, (0, 2, 2): 1, (1, 1, 0): 1}
    codes = map(tuple, listing.codes.tolist())
    assert dict(zip(codes, listing.noisy_counts.tolist(), strict=True)) == slow_list(
        config.universe, counts, listing.event, number=len(events) - 1
    )


def test_contributions_are_bounded_before_cells_are_listed(project, tmp_path):
    unit = {"unit": {"column": "town", "max_records": 2}}
    _, found = measured(project, tmp_path, privacy={**unit, "epsilon": 40})
    ages = next(table for table in found.tables if table.event.table == ("age",))
    law = DiscreteLaplace(ages.event.epsilon, ages.event.sensitivity_l1)
    number = found.tables.index(ages)
    noise = TableSampler(law).draw(stream(), table=number, start=0, count=ages.event.cells)
    assert (ages.noisy_counts - noise).sum() == 2 + 1 + 1


def test_cells_come_in_their_order_whatever_the_order_of_the_records(project, tmp_path):
    """Nothing tells in which order the records came: neither blocks nor cells within them."""
    bins = [
        {
            "name": name,
            "type": "integer",
            "minimum": 0,
            "maximum": 99,
            "out_of_domain": "clamp",
            "source": "test",
        }
        for name in ("first", "second")
    ]
    order = np.random.default_rng(0).permutation(10_000)
    text = "\n".join(["first,second", *(f"{cell // 100},{cell % 100}" for cell in order)]) + "\n"
    config = load_config(project(people=text, domain=bins, strategy="sparse", workload=None))
    files = source_files(config.source)
    with counted_cells(config, config.source, files, tmp_path) as blocks:
        found = [
            100 * block.columns[0].astype(int) + block.columns[1] for block in blocks.consume()
        ]
    assert np.concatenate(found).tolist() == list(range(10_000))


def test_filled_cells_are_needed_for_lists_and_large_universes(project):
    config = load_config(project())
    dense = TableEvent(("age",), 5, 1, Fraction(1))
    assert not needs_filled_cells(config, [dense])
    assert needs_filled_cells(config, [dense, event_of(config.universe, 3)])
    assert needs_filled_cells(replace(config, universe=WIDE), [dense])
