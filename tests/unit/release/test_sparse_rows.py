"""Rows of counts that name only filled cells: the same files as from the whole table."""

import io

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.domain.sparse_counts import SparseCounts
from synth.release.column_codes import ReadbackError
from synth.release.columns import published_columns
from synth.release.csv_file import csv_chunks
from synth.release.parquet_file import write_parquet
from synth.release.readback import counts_of_csv, counts_of_parquet
from synth.release.rows import count_rows, row_blocks
from synth.release.verification.rows_check import count_findings

UNIVERSE = Universe(
    (
        Attribute("a", "categorical", tuple("pqr"), missing=("?",)),
        Attribute("b", "integer", edges=(0, 5, 10, 20), missing=("?",)),
        Attribute("c", "categorical", tuple("xy"), out_of_domain="x"),
    )
)
COLUMNS = published_columns(UNIVERSE, "uniform")


def tables(seed):
    dense = np.random.default_rng(seed).poisson(0.8, UNIVERSE.size).astype(np.int64)
    dense[5] = 70
    cells = np.flatnonzero(dense)
    codes = tuple(column.astype(np.uint8) for column in UNIVERSE.codes(cells))
    return dense, SparseCounts(codes, dense[cells])


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_blocks_are_those_of_the_whole_table(block_rows):
    dense, sparse = tables(1)
    assert count_rows(sparse) == count_rows(dense)
    one = list(row_blocks(dense, UNIVERSE, block_rows=block_rows))
    other = list(row_blocks(sparse, UNIVERSE, block_rows=block_rows))
    assert [block.start for block in one] == [block.start for block in other]
    for left, right in zip(one, other, strict=True):
        assert [c.tolist() for c in left.codes] == [c.tolist() for c in right.codes]


@pytest.mark.parametrize("seed", range(3))
def test_files_are_read_back_into_the_counts(seed):
    dense, sparse = tables(seed)
    text = b"".join(map(bytes, csv_chunks(sparse, UNIVERSE, COLUMNS, seed=3)))
    assert text == b"".join(map(bytes, csv_chunks(dense, UNIVERSE, COLUMNS, seed=3)))
    found = counts_of_csv(io.BytesIO(text), UNIVERSE, COLUMNS, sparse=True)
    assert not count_findings("x", found, sparse, UNIVERSE)
    file = io.BytesIO()
    write_parquet(file, sparse, UNIVERSE, COLUMNS, seed=3)
    found = counts_of_parquet(file, UNIVERSE, COLUMNS, rows=sparse.total, sparse=True)
    assert not count_findings("x", found, sparse, UNIVERSE)
    assert found.values.tolist() == sparse.values.tolist()


def test_narrow_codes_of_neighbouring_columns_do_not_overflow():
    """Two columns of forty levels are written together; cells have one row each, then several."""
    levels = tuple(f"level {number}" for number in range(40))
    universe = Universe(tuple(Attribute(name, "categorical", levels) for name in "ab"))
    columns = published_columns(universe, "uniform")
    for repeats in (1, 3):
        dense = np.full(universe.size, repeats, dtype=np.int64)
        cells = tuple(c.astype(np.uint8) for c in universe.codes(np.arange(universe.size)))
        text = b"".join(map(bytes, csv_chunks(dense, universe, columns, seed=3)))
        assert text.count(b"level 39,level 38\n") == repeats
        listed = SparseCounts(cells, dense)
        assert text == b"".join(map(bytes, csv_chunks(listed, universe, columns, seed=3)))


def test_no_rows_are_no_counts():
    none = np.zeros(0, dtype=np.uint8)
    empty = SparseCounts((none, none, none), np.zeros(0, dtype=np.int64))
    text = b"".join(map(bytes, csv_chunks(empty, UNIVERSE, COLUMNS, seed=3)))
    found = counts_of_csv(io.BytesIO(text), UNIVERSE, COLUMNS, sparse=True)
    assert found.total == 0
    assert not count_findings("x", found, empty, UNIVERSE)


def test_rows_out_of_order_are_refused():
    text = b"a,b,c\nq,3,x\np,3,x\n"
    with pytest.raises(ReadbackError, match="row 2 does not follow"):
        counts_of_csv(io.BytesIO(text), UNIVERSE, COLUMNS, sparse=True)


def test_differences_are_found_and_named_as_in_the_whole_table():
    dense, sparse = tables(2)
    changed = dense.copy()
    changed[[3, 20]] += (2, 1)
    cells = np.flatnonzero(changed)
    other = SparseCounts(tuple(UNIVERSE.codes(cells)), changed[cells])
    expected = count_findings("f", changed, dense, UNIVERSE)
    assert expected
    assert "2 cells differ" in expected[0]
    assert count_findings("f", other, sparse, UNIVERSE) == expected
    with pytest.raises(TypeError):
        count_findings("f", other, dense, UNIVERSE)
