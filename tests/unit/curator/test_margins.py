"""Several tables from one count: each gets every record once, and noise of its own."""

import tracemalloc
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth import curator
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.boundary import measure_table
from synth.curator.counting import tabulate
from synth.curator.counting.tabulate import FilledCells, margin_counts, margins_of
from synth.curator.seal import Sensitive
from synth.domain import Attribute, HierarchyLevel, Margin, Universe
from synth.errors import BugError
from synth.noise import NoiseStream, TableSampler, noise_law
from synth.planning.costs import COUNTED_BYTES_PER_CELL, MOSTLY_EMPTY
from synth.privacy import TableEvent

KEY = bytes(range(32))
AGES = HierarchyLevel("halves", (0, 0, 1, 1, 1), ("young", "old"))
UNIVERSE = Universe(
    (
        Attribute("age", "categorical", levels=tuple("abcde"), hierarchy=(AGES,)),
        Attribute("sex", "categorical", levels=("f", "m", "x")),
        Attribute("town", "categorical", levels=("n", "s", "o")),
    )
)


def laplace(table, cells, epsilon="1/3", **more):
    return TableEvent(table, cells, 1, Fraction(epsilon), **more)


def gaussian(table, cells, rho="1/50", squared=1):
    return TableEvent(
        table,
        cells,
        1,
        mechanism="discrete-gaussian",
        rho=Fraction(rho),
        sensitivity_l2_squared=squared,
    )


EVENTS = (
    laplace(("age",), 5),
    laplace(("age", "sex", "town"), 45),
    gaussian(("sex", "town"), 9),
    gaussian(("age", "sex", "town"), 45),
    laplace((), 1),
    laplace(("sex",), 3),
)


def measured(path, tmp_path, events=EVENTS):
    config = load_config(path)
    found = curator.measure(
        config,
        config.source,
        events,
        files=source_files(config.source),
        stream=NoiseStream(key=KEY),
        directory=tmp_path,
    )
    assert [table.event for table in found.tables] == list(events)
    return [table.noisy_counts for table in found.tables]


def noise_of(number, event):
    sampler = TableSampler(noise_law(event))
    return sampler.draw(NoiseStream(key=KEY), table=number, start=0, count=event.cells)


ROWS = [("34", "Female", "Nord"), ("99", "Male", "Süd"), ("7", "", "Other"), ("50", "Male", "Süd")]


def as_csv(rows):
    return "\n".join(map(",".join, [("age", "sex", "town"), *rows])) + "\n"


def test_every_table_is_its_sums_plus_the_noise_of_its_number(project, tmp_path):
    found = measured(project(people=as_csv(ROWS)), tmp_path)
    full = np.zeros((5, 3, 3), dtype=np.int64)
    for code in ((1, 0, 0), (4, 1, 1), (0, 2, 2), (2, 1, 1)):
        full[code] += 1
    expected = [
        full.sum((1, 2)),
        full,
        full.sum(0),
        full,
        full.sum(),
        full.sum((0, 2)),
    ]
    for number, (event, sums) in enumerate(zip(EVENTS, expected, strict=True)):
        counts = found[number] - noise_of(number, event)
        assert counts.tolist() == np.ravel(sums).tolist()
        assert found[number].dtype == np.int64


@pytest.mark.parametrize("row", [("34", "Male", "Nord"), ("1e9", "new", "Atlantis"), ("", "", "")])
def test_neighbours_with_the_same_key_differ_in_one_cell_of_each_table_by_one(
    project, tmp_path, row
):
    without = measured(project(people=as_csv(ROWS)), tmp_path)
    with_row = measured(project(people=as_csv([*ROWS, row])), tmp_path)
    for before, after in zip(without, with_row, strict=True):
        difference = after - before
        assert difference.max() == np.abs(difference).sum() == 1


def test_a_person_changes_each_table_by_no_more_than_the_bound(project, tmp_path):
    people = [("p", "34", "Male", "Nord"), ("q", "99", "Male", "Süd"), ("p", "7", "", "Nord")]
    more = [("r", str(age), "Male", "Süd") for age in range(0, 100, 9)]
    unit = {"unit": {"column": "id", "max_records": 3}}

    def run(rows):
        text = "\n".join(map(",".join, [("id", "age", "sex", "town"), *rows])) + "\n"
        return measured(project(people=text, privacy=unit), tmp_path)

    for before, after in zip(run(people), run(people + more), strict=True):
        difference = after - before
        assert np.abs(difference).sum() == 3
        assert (difference**2).sum() <= 9


def filled_of(counts, universe) -> FilledCells:
    """The cells that hold records."""
    cells = np.flatnonzero(counts)
    return FilledCells(tuple(each.astype(np.int8) for each in universe.codes(cells)), counts[cells])


@pytest.mark.parametrize("filled", [UNIVERSE.size, 1, 0], ids="{} filled cells".format)
@pytest.mark.parametrize("is_whole", [True, False], ids=["all cells", "filled cells"])
def test_sums_are_those_of_the_slow_definition_at_every_resolution(monkeypatch, filled, is_whole):
    """Where filled cells were counted no table takes a pass over all of them."""
    counts = np.random.default_rng(5).integers(0, 9, UNIVERSE.size)
    counts[filled // 2 : UNIVERSE.size - (filled + 1) // 2] = 0
    passes, over_all = [], Margin.sums

    def counted(margin, universe, values):
        passes.append(margin)
        return over_all(margin, universe, values)

    monkeypatch.setattr(Margin, "sums", counted)
    monkeypatch.setattr(tabulate, "CELLS_AT_ONCE", 7)
    margins = [
        Margin(("age",), (1,)),
        Margin(UNIVERSE.names, (0, 0, 0)),
        Margin(("age", "town"), (1, 0)),
        Margin(UNIVERSE.names, (1, 0, 0)),
        Margin((), ()),
        Margin(UNIVERSE.names, (0, 0, 0)),
    ]
    held = counts.copy() if is_whole else filled_of(counts, UNIVERSE)
    taken = dict(margin_counts(Sensitive(held), margins, UNIVERSE))
    found = {number: secret.consume() for number, secret in taken.items()}
    assert sorted(found) == list(range(len(margins)))
    assert len(passes) == (4 if is_whole else 0)
    for number, margin in enumerate(margins):
        slow = np.zeros(margin.cells(UNIVERSE), dtype=np.int64)
        for cell, count in enumerate(counts.tolist()):
            codes = [int(c[0]) for c in UNIVERSE.codes(np.array([cell]))]
            groups = [
                UNIVERSE.attribute(name).groups(step)[codes[UNIVERSE.names.index(name)]]
                for name, step in zip(margin.names, margin.coarsening, strict=True)
            ]
            place = int(np.ravel_multi_index(groups, margin.shape(UNIVERSE))) if groups else 0
            slow[place] += count
        assert found[number].tolist() == slow.tolist()


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "records"])
@pytest.mark.parametrize("filled", [0, 1, 1 << 13, (1 << 13) + 1, 1 << 18])
def test_counting_takes_nine_bytes_for_every_cell_at_most(
    filled, weighted, project, monkeypatch, tmp_path
):
    """One record decides which way is taken; the memory that a run must have covers both."""
    names = tuple(f"c{number}" for number in range(20))
    universe = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in names))
    config = replace(load_config(project()), universe=universe)
    random = np.random.default_rng(7)
    cells = random.permutation(universe.size)[:filled]
    records = random.permutation(np.repeat(cells, 3))

    def batches(*_):
        for start in range(0, len(records), 1000):
            block = records[start : start + 1000]
            yield block, block + 1 if weighted else np.int64(1)

    monkeypatch.setattr(tabulate, "open_engine", lambda *_: nullcontext())
    monkeypatch.setattr(tabulate, "_bounded_records", lambda *_: None)
    monkeypatch.setattr(tabulate, "_cells_of", batches)
    tracemalloc.start()
    held = tabulate.tabulate(config, config.source, [], tmp_path).consume()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < COUNTED_BYTES_PER_CELL * universe.size
    assert isinstance(held, FilledCells) == (filled <= universe.size // MOSTLY_EMPTY)
    counts = tabulate.every_cell(held, universe)
    assert np.array_equal(np.flatnonzero(counts), np.sort(cells))
    assert np.array_equal(counts[cells], 3 * (cells + 1) if weighted else np.full(filled, 3))


def test_sums_beyond_32_bits_are_exact():
    """A table wraps nowhere, although every count is near the end of 32 bits."""
    universe = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in "ab"))
    largest = 2**31 - 1
    counts = Sensitive(np.full(4, largest, dtype=np.int64))
    margins = (Margin(("a",), (0,)), Margin((), ()), Margin(("a", "b"), (0, 0)))
    found = {n: table.consume().tolist() for n, table in margin_counts(counts, margins, universe)}
    assert found == {0: [2 * largest] * 2, 1: [4 * largest], 2: [largest] * 4}


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros(5, np.int32),
        np.zeros(5, np.uint64),
        np.zeros(5),
        np.zeros(6, int),
        np.zeros((5, 1)),
    ],
    ids=lambda counts: f"{counts.dtype} {counts.shape}",
)
def test_counts_of_another_kind_get_no_noise(counts):
    stream = NoiseStream(key=KEY)
    with pytest.raises(BugError, match="whole numbers, one per cell"):
        measure_table(Sensitive(counts), laplace(("age",), 5), number=0, stream=stream)


@pytest.mark.parametrize("is_whole", [True, False], ids=["all cells", "filled cells"])
def test_no_two_tables_share_memory(is_whole):
    """Noise is added in place: shared memory would add the noise of one table to another."""
    full = Margin(UNIVERSE.names, (0, 0, 0))
    ones = np.ones(UNIVERSE.size, dtype=np.int64)
    secret = Sensitive(ones if is_whole else filled_of(ones, UNIVERSE))
    seen = []
    for _, table in margin_counts(secret, [full, Margin(("sex",), (0,)), full, full], UNIVERSE):
        values = table.consume()
        assert (values == UNIVERSE.size // len(values)).all()
        values += 1000
        seen.append(values)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(seen) for b in seen[i + 1 :])


@pytest.mark.parametrize(
    "event",
    [
        laplace(("sex", "age"), 15),
        laplace(("age", "age"), 25),
        laplace(("nobody",), 1),
        laplace(("age",), 4),
        laplace(("age",), 5, coarsening=(1,)),
        laplace(("age",), 1, coarsening=(2,)),
        laplace(("age",), 2, coarsening=(-1,)),
        laplace(("sex",), 1, coarsening=(1,)),
    ],
    ids=str,
)
def test_a_table_that_the_universe_does_not_have_is_a_bug(event):
    with pytest.raises(BugError, match="a planned table"):
        margins_of([event], UNIVERSE)


def test_a_wrong_table_is_found_before_the_source_is_opened(project, tmp_path):
    path = project(people=None)
    config = load_config(path)
    with pytest.raises(BugError, match="a planned table"):
        curator.measure(
            config,
            config.source,
            [laplace(("age",), 4)],
            files=[tmp_path / "absent.csv"],
            stream=NoiseStream(key=KEY),
            directory=tmp_path,
        )
