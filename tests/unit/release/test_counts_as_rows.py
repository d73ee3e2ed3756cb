"""Counts as rows of both files, read back; and the cells in which two of them differ."""

import io

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.domain.counts import Counts, difference
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.rows.parquet_files import write_parquet
from synth.release.verification import readback
from synth.release.verification.readback import ReadbackError, counts_of_csv, counts_of_parquet

UNIVERSE = Universe(
    (
        Attribute("a", "categorical", tuple("pqr"), missing=("?",)),
        Attribute("b", "integer", edges=(0, 5, 10, 20), missing=("?",)),
        Attribute("c", "categorical", tuple("xy"), out_of_domain="x"),
    )
)
COLUMNS = published_columns(UNIVERSE, "uniform")


@pytest.fixture(autouse=True)
def not_on_trial(monkeypatch):
    """Files that are held in memory are read at once."""
    monkeypatch.setattr(readback, "require_readable", lambda *_: None)


def tables(seed):
    dense = np.random.default_rng(seed).poisson(0.8, UNIVERSE.size).astype(np.int64)
    dense[5] = 70
    return dense, Counts.of_all(dense, UNIVERSE.shape)


@pytest.mark.parametrize("seed", range(3))
def test_files_are_read_back_into_the_counts(seed):
    _, sparse = tables(seed)
    text = b"".join(map(bytes, csv_chunks(sparse, COLUMNS, seed=3)))
    found = counts_of_csv(io.BytesIO(text), UNIVERSE, COLUMNS)
    assert not len(difference(found, sparse, UNIVERSE.shape).found)
    file = io.BytesIO()
    write_parquet(file, sparse, COLUMNS, seed=3)
    found = counts_of_parquet(file, UNIVERSE, COLUMNS, rows=sparse.total)
    assert not len(difference(found, sparse, UNIVERSE.shape).found)
    assert found.values.tolist() == sparse.values.tolist()


def test_narrow_codes_of_neighbouring_columns_do_not_overflow():
    """Two columns of forty levels are written together; cells have one row each, then several."""
    levels = tuple(f"level {number}" for number in range(40))
    universe = Universe(tuple(Attribute(name, "categorical", levels) for name in "ab"))
    columns = published_columns(universe, "uniform")
    for repeats in (1, 3):
        counts = Counts.of_all(np.full(universe.size, repeats), universe.shape)
        assert {column.dtype for column in counts.columns} == {np.dtype(np.uint8)}
        text = b"".join(map(bytes, csv_chunks(counts, columns, seed=3)))
        assert text.count(b"level 39,level 38\n") == repeats


def test_no_rows_are_no_counts():
    none = np.zeros(0, dtype=np.uint8)
    empty = Counts((none, none, none), np.zeros(0, dtype=np.int64))
    text = b"".join(map(bytes, csv_chunks(empty, COLUMNS, seed=3)))
    found = counts_of_csv(io.BytesIO(text), UNIVERSE, COLUMNS)
    assert found.total == 0
    assert not len(difference(found, empty, UNIVERSE.shape).found)


def test_rows_out_of_order_are_refused():
    text = b"a,b,c\nq,3,x\np,3,x\n"
    with pytest.raises(ReadbackError, match="row 2 does not follow"):
        counts_of_csv(io.BytesIO(text), UNIVERSE, COLUMNS)


def test_differences_are_found():
    dense, sparse = tables(2)
    changed = dense.copy()
    changed[[3, 20]] += (2, 1)
    apart = difference(Counts.of_all(changed, UNIVERSE.shape), sparse, UNIVERSE.shape)
    assert apart.found.tolist() == changed[[3, 20]].tolist()
    assert apart.expected.tolist() == dense[[3, 20]].tolist()
