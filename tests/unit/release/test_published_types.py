"""Columns of true and false in CSV and Parquet: the slow definition, readers, and reading back."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Universe
from synth.domain.attribute import TRUTH
from synth.domain.counts import Counts
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.rows.parquet_file import write_parquet
from synth.release.verification import readback
from synth.release.verification.readback import ReadbackError, counts_of_csv, counts_of_parquet

TYPED = {
    "boolean": (
        Attribute("v", "boolean", levels=TRUTH, missing=("",)),
        ["false", "true", ""],
        pa.bool_(),
        [False, True, None],
    ),
}
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
    for other in (last.upper() + "x", f" {last}", "0", "NULL"):
        changed = text.replace(f"\n{last}\n".encode(), f"\n{other}\n".encode())
        with pytest.raises(ReadbackError, match="not in the declared domain"):
            counts_of_csv(io.BytesIO(changed), universe, columns)


@pytest.mark.parametrize("kind", TYPED)
def test_parquet_of_another_type_or_value_is_refused(kind):
    attribute, texts, *_ = TYPED[kind]
    universe, columns, *_ = written(attribute)
    for column in (pa.array(texts, pa.string()), pa.array([1] * len(texts), pa.int64())):
        binary = io.BytesIO()
        schema = pa.schema([pa.field("v", column.type)])
        pq.write_table(pa.table([column], schema=schema), binary, store_schema=False)
        binary.seek(0)
        with pytest.raises(ReadbackError, match="schema"):
            counts_of_parquet(binary, universe, columns, rows=universe.size)
