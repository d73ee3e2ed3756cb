"""Reading back: a value outside the domain is named with its row, column and text."""

import io
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Universe
from synth.domain.counts import Counts
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.rows.parquet_files import write_parquet
from synth.release.verification import readback
from synth.release.verification.readback import ReadbackError, counts_of_csv, counts_of_parquet

UNIVERSE = Universe(
    (
        Attribute("town", "categorical", levels=("x", "y"), missing=("",)),
        Attribute("age", "integer", edges=tuple(map(Fraction, (0, 10, 99)))),
        Attribute("gain", "number", edges=tuple(map(Fraction, (-1, 0, 1)))),
    )
)
COLUMNS = published_columns(UNIVERSE, "uniform")
HEADER = "town,age,gain\n"


@pytest.fixture(autouse=True)
def not_on_trial(monkeypatch):
    """Files that are held in memory are read at once."""
    monkeypatch.setattr(readback, "require_readable", lambda *_: None)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x,5,0.500\nz,5,0.500\n", "row 2, column 'town': 'z' is not in the declared domain"),
        (",5,0.500\nxy,5,0.500\n", "row 2, column 'town': 'xy' is not in"),
        ("x,5,0.500\n\u00e9,5,0.500\n", "row 2, column 'town': '\u00e9' is not in"),
        ("x,100,0.500\n", "row 1, column 'age': '100' is not in"),
        ("x,-1,0.500\n", "row 1, column 'age': '-1' is not in"),
        ("x,05,0.500\n", "row 1, column 'age': '05' is not in"),
        ("x,5.0,0.500\n", "row 1, column 'age': '5.0' is not in"),
        ("x,,0.500\n", "row 1, column 'age': a missing value is not in"),
        ("x,9223372036854775808,0.500\n", "column 'age': a number of too many digits"),
        ("x,5,0.5\n", "row 1, column 'gain': '0.5' is not in"),
        ("x,5,1.001\n", "row 1, column 'gain': '1.001' is not in"),
        ("x,5,nan\n", "row 1, column 'gain': 'nan' is not in"),
        ('"",5,0.500\n', "row 1, column 'town': '' is not in"),
        ("y,5,0.500\nx,5,0.500\n", "row 2 does not follow in the order of the cells"),
        ("x,5\n", "not readable as CSV with 3 columns"),
    ],
)
def test_csv_rows_that_do_not_belong(rows, message):
    with pytest.raises(ReadbackError) as caught:
        counts_of_csv(io.BytesIO((HEADER + rows).encode()), UNIVERSE, COLUMNS)
    assert message in str(caught.value)


def test_another_header_is_refused():
    with pytest.raises(ReadbackError, match="the header is"):
        counts_of_csv(io.BytesIO(b"town,age,gaim\n"), UNIVERSE, COLUMNS)


def test_good_rows_are_counted():
    rows = "x,5,-0.001\nx,5,0.000\n,99,1.000\n"
    counts = counts_of_csv(io.BytesIO((HEADER + rows).encode()), UNIVERSE, COLUMNS)
    assert np.flatnonzero(counts.of_every_cell(UNIVERSE.shape)).tolist() == [0, 1, 11]
    assert counts.total == 3


def test_no_more_of_a_csv_file_is_held_than_some_blocks(monkeypatch):
    """However long the file is: what Arrow reads ahead of the count is bounded by its blocks."""
    monkeypatch.setattr(readback, "BLOCK_BYTES", 1 << 10)
    content = io.BytesIO((HEADER + "x,5,0.000\n" * 100_000).encode())

    def slow_count(batches, *_, **__):
        next(batches)
        reached = -1
        while content.tell() != reached:  # until nothing more is read ahead
            reached = content.tell()
            time.sleep(0.1)
        return reached

    monkeypatch.setattr(readback, "_count", slow_count)
    assert counts_of_csv(content, UNIVERSE, COLUMNS) < 50 << 10


def test_a_line_fits_into_a_block_however_long_its_texts_are(monkeypatch):
    monkeypatch.setattr(readback, "BLOCK_BYTES", 1)
    levels = ("a" * 5_000, '"' * 5_000, "é" * 5_000)
    universe = Universe((Attribute("town", "categorical", levels=levels, out_of_domain="missing"),))
    columns = published_columns(universe, "uniform")
    counts = Counts.of_all(np.array([2, 3, 2]), universe.shape)
    written = b"".join(map(bytes, csv_chunks(counts, columns, seed=1)))
    assert counts_of_csv(io.BytesIO(written), universe, columns).values.tolist() == [2, 3, 2]


def parquet(rows, *, metadata=None, names=("town", "age", "gain")):
    types = [pa.string(), pa.int64(), pa.float64()]
    fields = [
        pa.field(name, kind, nullable=name == "town")
        for name, kind in zip(names, types, strict=True)
    ]
    schema = pa.schema(fields, metadata=metadata)
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    file = io.BytesIO()
    table = pa.Table.from_arrays(arrays, schema=schema)
    pq.write_table(table, file, store_schema=bool(metadata))
    file.seek(0)
    return file


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("z", 5, 0.5)], "row 1, column 'town': 'z'"),
        ([("x", 100, 0.5)], "row 1, column 'age': 100"),
        ([("x", 5, 0.50001)], "row 1, column 'gain': 0.50001"),
        ([("x", 5, float("nan"))], "row 1, column 'gain': nan"),
        ([("x", 5, 1e300)], "row 1, column 'gain': 1e+300"),
        ([("y", 5, 0.5), ("x", 5, 0.5)], "row 2 does not follow"),
    ],
)
def test_parquet_rows_that_do_not_belong(rows, message):
    with pytest.raises(ReadbackError) as caught:
        counts_of_parquet(parquet(rows), UNIVERSE, COLUMNS, rows=len(rows))
    assert message in str(caught.value)


def test_a_parquet_file_is_judged_by_its_schema_first():
    good = [("x", 5, 0.5), ("x", 6, 0.5)]
    with pytest.raises(ReadbackError, match="the schema is not"):
        counts_of_parquet(parquet(good, names=("town", "age", "x")), UNIVERSE, COLUMNS, rows=2)
    with pytest.raises(ReadbackError, match="the schema is not"):
        counts_of_parquet(parquet(good, metadata={"a": "b"}), UNIVERSE, COLUMNS, rows=2)
    large = [("".join(map(str, range(20_000))), 5, 0.5)]
    with pytest.raises(ReadbackError, match="is not in the declared domain"):
        counts_of_parquet(parquet(large), UNIVERSE, COLUMNS, rows=1)
    with pytest.raises(ReadbackError, match="not readable as Parquet"):
        counts_of_parquet(io.BytesIO(b"PAR1 nothing PAR1"), UNIVERSE, COLUMNS, rows=1)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_file_of_other_numbers_of_rows_fails_on_trial(tmp_path, monkeypatch, rows):
    monkeypatch.undo()
    path = tmp_path / "x.parquet"
    path.write_bytes(parquet([("x", 5, 0.5), ("x", 6, 0.5)]).getvalue())
    with path.open("rb") as file, pytest.raises(ReadbackError, match="holds 2 rows, expected"):
        counts_of_parquet(file, UNIVERSE, COLUMNS, rows=rows)
    with path.open("rb") as file:
        assert counts_of_parquet(file, UNIVERSE, COLUMNS, rows=2).total == 2


def test_few_rows_of_many_long_levels_are_read_back():
    """Every row group holds all levels, which may be far more than its rows take."""
    levels = tuple(f"{number:04}" + "x" * 60 for number in range(2_000))
    universe = Universe((Attribute("town", "categorical", levels=levels),))
    columns, counts = published_columns(universe, "uniform"), np.zeros(2_000, dtype=np.int64)
    counts[[3, 1_999]] = 2, 1
    file = io.BytesIO()
    write_parquet(file, Counts.of_all(counts, universe.shape), columns, seed=1)
    found = counts_of_parquet(file, universe, columns, rows=3)
    assert (found.of_every_cell(universe.shape) == counts).all()
