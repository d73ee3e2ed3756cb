"""Tables with a threshold in the file of measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Conjunction, Universe
from synth.measurements import (
    MeasuredTable,
    Measurements,
    read_measurements,
    write_measurements,
)
from synth.measurements.sparse_table import ascends
from synth.privacy import TableEvent

LEVELS = tuple(f"level {number}" for number in range(1000))
WIDE = Universe(
    tuple(Attribute(f"column {n}", "categorical", LEVELS) for n in range(10)),
    (Conjunction({"column 0": (7,), "column 9": (3, 4)}),),
)
"""10^30 cells."""
LIST = TableEvent(WIDE.names, WIDE.size, 1, Fraction(1), threshold=60)
ONE_WAY = TableEvent(("column 3",), 1000, 1, Fraction(1, 2))
CODES = np.array([[0] * 10, [0] * 9 + [5], [7] * 10, [999] * 10], dtype=np.int64)
COUNTS = np.array([60, 61, 1 << 40, 77], dtype=np.int64)


def wide(codes: Any = CODES, counts: Any = COUNTS, event: TableEvent = LIST) -> Measurements:
    """A listed universe and a dense table."""
    dense = MeasuredTable(ONE_WAY, np.arange(1000, dtype=np.int64) - 500, 7.8)
    return Measurements(
        "wide", "f" * 64, (MeasuredTable(event, np.array(counts), 1.8, np.array(codes)), dense)
    )


def test_what_is_written_is_read_bit_for_bit(tmp_path: Path) -> None:
    file = tmp_path / "m.parquet"
    write_measurements(file, wide())
    found = read_measurements(file, WIDE)
    listed, dense = found.tables
    assert listed.event == LIST
    assert listed.codes is not None
    assert listed.codes.dtype == np.int64
    assert listed.codes.tolist() == CODES.tolist()
    assert listed.noisy_counts.tolist() == COUNTS.tolist()
    assert dense.codes is None
    assert dense.noisy_counts.tolist() == list(range(-500, 500))
    assert found.content_hash == wide().content_hash


def test_partition_selection_and_an_empty_list_are_kept(tmp_path: Path) -> None:
    event = replace(LIST, mechanism="partition-selection", delta=Fraction(1, 10**9))
    nothing = wide(np.empty((0, 10), dtype=np.int64), np.empty(0, dtype=np.int64), event)
    write_measurements(tmp_path / "m.parquet", nothing)
    listed = read_measurements(tmp_path / "m.parquet", WIDE).tables[0]
    assert listed.event == event
    assert listed.codes is not None
    assert listed.codes.shape == (0, 10)


def test_the_file_is_small(tmp_path: Path) -> None:
    """Twenty thousand cells with ten codes each take a few bytes per code at most."""
    generator = np.random.default_rng(5)
    codes = np.unique(generator.integers(0, 1000, (20_000, 10)), axis=0)
    codes = codes[(codes[:, 0] != 7)]
    counts = generator.integers(60, 70, len(codes))
    write_measurements(tmp_path / "m.parquet", wide(codes, counts))
    assert (tmp_path / "m.parquet").stat().st_size < 2 * codes.size
    listed = read_measurements(tmp_path / "m.parquet", WIDE).tables[0]
    assert np.array_equal(listed.codes, codes)  # type: ignore[arg-type]


def test_the_hash_depends_on_which_cells_are_listed() -> None:
    moved = CODES.copy()
    moved[1, 9] = 6
    assert wide(moved).content_hash != wide().content_hash
    assert wide(CODES[:3], COUNTS[:3]).content_hash != wide().content_hash


def forged(path: Path, change: dict[str, Any] | None = None, **columns: Any) -> None:
    """The file of `wide()` with other metadata or columns."""
    write_measurements(path, wide())
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"synth"]) | (change or {})
    for name, values in columns.items():
        place = table.schema.names.index(name.replace("_", " ") if "code" in name else name)
        field = table.schema.field(place)
        table = table.set_column(place, field, pa.array(values, field.type))
    table = table.replace_schema_metadata({b"synth": json.dumps(head).encode()})
    path.unlink()
    pq.write_table(table, path)


NULLS = [None] * 1000


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([0, 0, 7, 1000], "that the universe does not have"),
        ([0, 0, 7, -1], "that the universe does not have"),
        ([0, 0, None, 999], "without a code"),
        ([999, 0, 7, 0], "ascending"),
    ],
)
def test_codes_are_not_trusted(tmp_path: Path, codes: list[int | None], message: str) -> None:
    forged(tmp_path / "m.parquet", **{"code:column_0": [*codes, *NULLS]})
    with pytest.raises(ValueError, match=message):
        read_measurements(tmp_path / "m.parquet", WIDE)


@pytest.mark.parametrize(
    ("columns", "change", "message"),
    [
        ({"code:column_9": [0, 0, 7, 999, *NULLS]}, {}, "each once"),
        ({"code:column_9": [0, 5, 3, 999, *NULLS]}, {}, "impossible"),
        ({"code:column_9": [0, 5, 7, 999, 1, *NULLS[1:]]}, {}, "rows of another table"),
        ({"noisy_count": [60, 59, 70, 77, *range(-500, 500)]}, {}, "below the threshold"),
        ({}, {"listed": [3]}, "holds 1004 rows instead of 1003"),
        ({}, {"listed": []}, "does not say how many"),
        ({}, {"listed": [4, 4]}, "does not say how many"),
        ({}, {"listed": [-4]}, "cannot be"),
        ({}, {"listed": [True]}, "cannot be"),
        ({}, {"listed": 4}, "does not say how many"),
    ],
)
def test_the_list_is_not_trusted(
    tmp_path: Path, columns: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    forged(tmp_path / "m.parquet", change, **columns)
    with pytest.raises(ValueError, match=message):
        read_measurements(tmp_path / "m.parquet", WIDE)


def test_columns_must_be_those_of_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "m.parquet"
    write_measurements(file, wide())
    table = pq.read_table(file)
    file.unlink()
    pq.write_table(table.drop_columns(["code:column 5"]), file)
    with pytest.raises(ValueError, match="other columns"):
        read_measurements(file, WIDE)


def test_only_the_universe_has_a_threshold(tmp_path: Path) -> None:
    margin = TableEvent(("column 3",), 1000, 1, Fraction(1, 2), threshold=5)
    codes, counts = np.array([[3], [4]]), np.array([60, 70])
    write_measurements(tmp_path / "m.parquet", wide(codes, counts, margin))
    with pytest.raises(ValueError, match="another table than the universe"):
        read_measurements(tmp_path / "m.parquet", WIDE)


def test_two_lists_have_no_place_in_one_file(tmp_path: Path) -> None:
    measured = wide()
    twice = replace(measured, tables=(measured.tables[0], measured.tables[0]))
    with pytest.raises(ValueError, match="more than one"):
        write_measurements(tmp_path / "m.parquet", twice)


def test_ascending_means_the_first_difference_rises() -> None:
    assert ascends(np.array([[0, 9], [1, 0], [1, 1]]))
    assert not ascends(np.array([[0, 9], [1, 1], [1, 0]]))
    assert not ascends(np.array([[0, 9], [0, 9]]))
    assert not ascends(np.array([[1, 0], [0, 9]]))
    assert ascends(np.empty((0, 2), dtype=np.int64))
    assert ascends(np.array([[3, 4]]))
