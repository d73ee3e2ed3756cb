"""Columns of noisy counts: every type that is needed, none that is not, the file read in blocks."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.measurements import file, read_measurements, write_measurements
from synth.measurements.file import CountColumn, fits_int32
from synth.measurements.measurements import MeasuredTable, Measurements
from tests.unit.measurements.test_file import MEASUREMENTS, UNIVERSE


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ([0, -128, 127], np.int8),
        ([128, 0, 0], np.int16),
        ([0, -129, 3], np.int16),
        ([2**15, 0, 0], np.int32),
        ([0, 0, -(2**31)], np.int32),
        ([2**31, 0, 0], np.int64),
    ],
)
@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_long_column_is_as_wide_as_its_widest_count(monkeypatch, counts, kind, block):
    monkeypatch.setattr(file, "NARROW_ABOVE_CELLS", 2)
    column = CountColumn(3)
    for start in range(0, 3, block):
        column.put(start, np.array(counts[start : start + block], dtype=np.int64))
    assert column.values.dtype == kind
    assert column.values.tolist() == counts


def test_a_short_column_is_of_64_bits():
    column = CountColumn(1)
    column.put(0, np.array([1], dtype=np.int8))
    assert column.values.dtype == np.int64


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31)])
def test_what_fits_into_32_bits(value):
    assert fits_int32(np.array([value]))
    assert not fits_int32(np.array([value + (1 if value > 0 else -1)]))


@pytest.mark.parametrize("rows_per_group", [1, 2, 4, 1 << 20])
@pytest.mark.parametrize("largest", [3, 2**31, -(2**40)])
def test_any_row_groups_give_the_same_measurements(tmp_path, monkeypatch, rows_per_group, largest):
    monkeypatch.setattr(file, "ROWS_PER_GROUP", rows_per_group)
    monkeypatch.setattr(file, "NARROW_ABOVE_CELLS", 2)
    tables = []
    for table in MEASUREMENTS.tables:
        counts = np.arange(table.noisy_counts.size)
        counts[-1] = largest
        tables.append(MeasuredTable(table.event, counts, table.variance))
    wide = Measurements("r", MEASUREMENTS.configuration_hash, tuple(tables))
    write_measurements(tmp_path / "m.parquet", wide)
    stored = pq.read_schema(tmp_path / "m.parquet").field("noisy_count").type
    assert str(stored) == ("int32" if largest == 3 else "int64")
    found = read_measurements(tmp_path / "m.parquet", UNIVERSE)
    assert found.content_hash == wide.content_hash
    for left, right in zip(found.tables, tables, strict=True):
        assert left.noisy_counts.tolist() == right.noisy_counts.tolist()


def test_a_type_that_is_wider_than_needed_is_refused(tmp_path):
    narrow = [
        MeasuredTable(each.event, each.noisy_counts % 100, each.variance)
        for each in MEASUREMENTS.tables
    ]
    write_measurements(tmp_path / "m.parquet", replace(MEASUREMENTS, tables=tuple(narrow)))
    table = pq.read_table(tmp_path / "m.parquet")
    place = table.schema.get_field_index("noisy_count")
    wide = table.column(place).cast("int64")
    pq.write_table(
        table.set_column(place, table.schema.field(place).with_type(pa.int64()), wide),
        tmp_path / "w.parquet",
    )
    with pytest.raises(ValueError, match="wider type than they need"):
        read_measurements(tmp_path / "w.parquet", UNIVERSE)
