"""CSV and Parquet: the exact expansion of the counts, by the slow definition and by readers."""

import csv
import io
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Universe
from synth.domain.counts import Counts
from synth.release.rows.blocks import grid_values, row_blocks
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks, quote_field
from synth.release.rows.parquet_files import write_parquet
from synth.release.verification import readback
from synth.release.verification.readback import counts_of_csv, counts_of_parquet

ATTRIBUTES = (
    Attribute("a,b", "categorical", levels=('q"r', "y, z", "ü"), missing=("",)),
    Attribute("age", "integer", edges=tuple(map(Fraction, (-10, 0, 1, 99))), missing=("?",)),
    Attribute("gain", "number", edges=tuple(map(Fraction, ("-2", "0", "0.5", "5000")))),
)
UNIVERSE = Universe(ATTRIBUTES)
SEED = 7


@pytest.fixture(autouse=True)
def not_on_trial(monkeypatch):
    """Files that are held in memory are read at once."""
    monkeypatch.setattr(readback, "require_readable", lambda *_: None)


def some_counts(universe=UNIVERSE, most=4):
    return np.random.default_rng(3).integers(0, most, universe.size, dtype=np.int64)


def same(found, counts, universe=UNIVERSE):
    return (found.of_every_cell(universe.shape) == counts).all()


def written(counts, universe=UNIVERSE, bins="uniform"):
    columns = published_columns(universe, bins)
    counts = Counts.of_all(counts, universe.shape)
    text = b"".join(csv_chunks(counts, columns, seed=SEED))
    binary = io.BytesIO()
    write_parquet(binary, counts, columns, seed=SEED)
    binary.seek(0)
    return columns, text, binary


@pytest.mark.parametrize("block_rows", [1, 2, 3, 10, 1000])
def test_every_cell_becomes_as_many_rows_as_its_count_says(block_rows):
    counts = some_counts()
    slow = [cell for cell in range(UNIVERSE.size) for _ in range(counts[cell])]
    fast = []
    for block in row_blocks(Counts.of_all(counts, UNIVERSE.shape), block_rows=block_rows):
        assert block.size <= block_rows
        fast += [UNIVERSE.cell(codes) for codes in zip(*block.codes, strict=True)]
    assert fast == slow


def test_no_rows_make_no_blocks():
    assert (
        list(row_blocks(Counts.of_all(np.zeros(UNIVERSE.size, dtype=np.int64), UNIVERSE.shape)))
        == []
    )


@pytest.mark.parametrize("position", [1, 2])
def test_values_do_not_depend_on_the_block_size(position):
    column = published_columns(UNIVERSE, "uniform")[position]
    values = {}
    for block_rows in (1, 5, 4096):
        parts = [
            grid_values(column, block, seed=SEED, position=position)
            for block in row_blocks(
                Counts.of_all(some_counts(), UNIVERSE.shape), block_rows=block_rows
            )
        ]
        values[block_rows] = np.concatenate(parts).tolist()
    assert values[1] == values[5] == values[4096]


def test_the_rows_of_a_cell_keep_their_values_when_rows_are_added():
    column = published_columns(UNIVERSE, "uniform")[1]
    before, added = some_counts(), some_counts()[::-1]

    def values(counts):
        found = {}
        for block in row_blocks(Counts.of_all(counts, UNIVERSE.shape), block_rows=7):
            grid = grid_values(column, block, seed=SEED, position=1)
            for *cell, value in zip(*block.codes, grid, strict=True):
                found.setdefault(tuple(map(int, cell)), []).append(int(value))
        return found

    assert added.sum() > 0
    first, later = values(before), values(before + added)
    assert all(later[cell][: len(kept)] == kept for cell, kept in first.items())


@pytest.mark.parametrize("bins", ["uniform", "interval", "midpoint"])
def test_both_files_hold_the_same_rows_and_give_the_counts_back(bins):
    counts = some_counts()
    columns, text, binary = written(counts, bins=bins)
    rows = list(csv.reader(io.StringIO(text.decode(), newline="")))
    assert rows[0] == ["a,b", "age", "gain"]
    table = pq.read_table(binary).to_pylist()
    for line, values in zip(rows[1:], table, strict=True):
        for field, value, column in zip(line, values.values(), columns, strict=True):
            if value is None:
                assert field == ""
            elif column.published_type == "text":
                assert field == value
            else:
                assert Fraction(field) == Fraction(str(value))
    binary.seek(0)
    total = int(counts.sum())
    assert (
        counts_of_csv(io.BytesIO(text), UNIVERSE, columns).of_every_cell(UNIVERSE.shape) == counts
    ).all()
    assert (
        counts_of_parquet(binary, UNIVERSE, columns, rows=total).of_every_cell(UNIVERSE.shape)
        == counts
    ).all()


def test_no_rows_give_a_header_and_an_empty_table():
    counts = np.zeros(UNIVERSE.size, dtype=np.int64)
    columns, text, binary = written(counts)
    assert text == b'"a,b",age,gain\n'
    assert (
        counts_of_csv(io.BytesIO(text), UNIVERSE, columns).of_every_cell(UNIVERSE.shape) == counts
    ).all()
    assert (
        counts_of_parquet(binary, UNIVERSE, columns, rows=0).of_every_cell(UNIVERSE.shape) == counts
    ).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("a,b", '"a,b"'), ('a"b', '"a""b"'), ("a\nb", '"a\nb"'), ("", '""')],
)
def test_a_field_is_quoted_only_where_it_must_be(text, expected):
    assert quote_field(text) == expected


def test_a_missing_value_of_a_single_column_is_no_empty_line():
    universe = Universe((Attribute("a", "categorical", levels=("x",), missing=("",)),))
    counts = np.array([1, 2], dtype=np.int64)
    columns, text, _ = written(counts, universe)
    assert text == b'a\nx\n""\n""\n'
    assert (
        counts_of_csv(io.BytesIO(text), universe, columns).of_every_cell(universe.shape) == counts
    ).all()


def test_decimals_are_written_exactly_with_their_sign():
    universe = Universe((Attribute("a", "number", edges=(Fraction(-1), Fraction(0), Fraction(1))),))
    columns, text, _ = written(np.array([300, 300], dtype=np.int64), universe)
    fields = text.decode().splitlines()[1:]
    assert all(len(field.split(".")[1]) == columns[0].decimals for field in fields)
    assert all(-1 <= Fraction(field) < 0 for field in fields[:300])
    assert all(0 <= Fraction(field) <= 1 for field in fields[300:])
    assert any(field.startswith("-0.0") for field in fields)


def test_uniform_values_reach_both_ends_of_an_integer_bin():
    universe = Universe((Attribute("a", "integer", edges=(Fraction(3), Fraction(7))),))
    _, text, _ = written(np.array([200], dtype=np.int64), universe)
    assert set(text.decode().split()[1:]) == {"3", "4", "5", "6", "7"}


def test_parquet_carries_no_metadata_and_the_declared_types():
    counts = some_counts()
    _, _, binary = written(counts)
    file = pq.ParquetFile(binary)
    assert file.metadata.metadata is None
    assert [str(field.type) for field in file.schema_arrow] == ["string", "int64", "double"]
    assert [field.nullable for field in file.schema_arrow] == [True, True, False]


def test_the_bytes_of_a_csv_are_a_function_of_counts_and_seed():
    counts = some_counts()
    columns, first, _ = written(counts)
    assert written(counts)[1] == first
    chunks = csv_chunks(Counts.of_all(counts, UNIVERSE.shape), columns, seed=SEED + 1)
    other = b"".join(chunks)
    assert other != first
