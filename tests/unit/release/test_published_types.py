"""Columns of true and false in CSV and Parquet: the slow definition, readers, and reading back."""

import io
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Universe
from synth.domain.attribute import TRUTH
from synth.domain.counts import Counts
from synth.domain.periods import Calendar, read_period
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.rows.parquet_files import write_parquet
from synth.release.verification import readback
from synth.release.verification.readback import ReadbackError, counts_of_csv, counts_of_parquet


def moments(resolution, first, last):
    edges = [Fraction(read_period(text, resolution)) for text in (first, last)]
    return Attribute(
        "v", "datetime", edges=(*edges, edges[1]), missing=("",), calendar=Calendar(resolution)
    )


TYPED = {
    "boolean": (
        Attribute("v", "boolean", levels=TRUTH, missing=("",)),
        ["false", "true", ""],
        pa.bool_(),
        [False, True, None],
    ),
    "year": (moments("year", "0999", "1000"), ["999", "1000", ""], pa.int64(), [999, 1000, None]),
    "quarter": (
        moments("quarter", "2023-Q4", "2024-Q1"), ["2023-Q4", "2024-Q1", ""], pa.string(),
        ["2023-Q4", "2024-Q1", None],
    ),
    "month": (
        moments("month", "2023-12", "2024-01"), ["2023-12", "2024-01", ""], pa.string(),
        ["2023-12", "2024-01", None],
    ),
    "week": (
        moments("week", "2023-12-25", "2024-01-01"), ["2023-12-25", "2024-01-01", ""], pa.date32(),
        [date(2023, 12, 25), date(2024, 1, 1), None],
    ),
    "day": (
        moments("day", "0001-01-01", "0001-01-02"), ["0001-01-01", "0001-01-02", ""], pa.date32(),
        [date(1, 1, 1), date(1, 1, 2), None],
    ),
    "hour": (
        moments("hour", "9999-12-31T22:00:00", "9999-12-31T23:00:00"),
        ["9999-12-31T22:00:00", "9999-12-31T23:00:00", ""], pa.timestamp("ms"),
        [datetime(9999, 12, 31, 22), datetime(9999, 12, 31, 23), None],
    ),
}  # fmt: skip
"""An attribute, what CSV and Parquet hold for its codes, and the type in Parquet."""


@pytest.fixture(autouse=True)
def not_on_trial(monkeypatch):
    monkeypatch.setattr(readback, "require_readable", lambda *_: None)


def written(attribute):
    """One row for each code."""
    universe = Universe((attribute,))
    columns = published_columns(universe, "uniform")
    counts = Counts.of_all(np.ones(universe.size, dtype=np.int64), universe.shape)
    text = b"".join(csv_chunks(counts, columns, seed=1))
    binary = io.BytesIO()
    write_parquet(binary, counts, columns, seed=1)
    binary.seek(0)
    return universe, columns, text, binary


@pytest.mark.parametrize("kind", TYPED)
def test_each_code_is_published_as_its_value_and_read_back(kind):
    attribute, texts, stored, values = TYPED[kind]
    universe, columns, text, binary = written(attribute)
    assert [line.strip('"') for line in text.decode().split("\n")[1:-1]] == texts
    table = pq.read_table(binary)
    assert table.schema.field("v").type == stored
    assert table.column("v").to_pylist() == values
    binary.seek(0)
    for found in (
        counts_of_csv(io.BytesIO(text), universe, columns),
        counts_of_parquet(binary, universe, columns, rows=universe.size),
    ):
        assert found.of_every_cell(universe.shape).tolist() == [1] * universe.size


@pytest.mark.parametrize("kind", TYPED)
def test_a_text_that_is_no_value_of_the_column_is_refused(kind):
    universe, columns, text, _ = written(TYPED[kind][0])
    last = text.decode().split("\n")[universe.size - 1]
    for other in (last + "x", f" {last}", "0", "NULL", "2024-02-30", "9999-12-31T22:30:00"):
        changed = text.replace(f"\n{last}\n".encode(), f"\n{other}\n".encode())
        with pytest.raises(ReadbackError, match="not in the declared domain"):
            counts_of_csv(io.BytesIO(changed), universe, columns)


@pytest.mark.parametrize("kind", TYPED)
def test_parquet_of_another_type_or_value_is_refused(kind):
    attribute, texts, *_ = TYPED[kind]
    universe, columns, *_ = written(attribute)
    other = pa.bool_() if pa.types.is_string(TYPED[kind][2]) else pa.string()
    for column in (pa.nulls(len(texts), other), pa.array([1.0] * len(texts), pa.float64())):
        binary = io.BytesIO()
        schema = pa.schema([pa.field("v", column.type)])
        pq.write_table(pa.table([column], schema=schema), binary, store_schema=False)
        binary.seek(0)
        with pytest.raises(ReadbackError, match="schema"):
            counts_of_parquet(binary, universe, columns, rows=universe.size)
