"""Measurements and receipts survive the disk, and damage is seen."""

import json
import stat
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Universe
from synth.measurements import (
    Disposal,
    LedgerPosition,
    MeasuredTable,
    Measurements,
    Receipt,
    SelfTest,
    public_seed,
    read_measurements,
    write_measurements,
)
from synth.noise import noise_variance
from synth.privacy import Budget, Promise, TableEvent

UNIVERSE = Universe(
    (
        Attribute("a", "categorical", levels=("x", "y")),
        Attribute("b", "categorical", levels=("1", "2", "3")),
    )
)
EVENT = TableEvent(("a", "b"), 6, 1, Fraction(1, 3))
SECOND = TableEvent(("b",), 3, 1, Fraction(1, 7))


def measured_table(event, counts):
    return MeasuredTable(event, np.array(counts, dtype=np.int64), noise_variance(event))


MEASUREMENTS = Measurements(
    "r-1",
    "c0ffee",
    (measured_table(EVENT, [1, -2, 3, 0, 2**40, -7]), measured_table(SECOND, [5, 0, -1])),
)


def test_round_trip(tmp_path):
    path = tmp_path / "m.parquet"
    write_measurements(path, MEASUREMENTS)
    found = read_measurements(path, UNIVERSE)
    assert found.content_hash == MEASUREMENTS.content_hash
    assert [t.event for t in found.tables] == [EVENT, SECOND]
    assert [t.noisy_counts.tolist() for t in found.tables] == [[1, -2, 3, 0, 2**40, -7], [5, 0, -1]]
    assert found.tables[0].variance == MEASUREMENTS.tables[0].variance
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_measurements_are_never_overwritten(tmp_path):
    path = tmp_path / "m.parquet"
    write_measurements(path, MEASUREMENTS)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        write_measurements(path, MEASUREMENTS)
    assert path.read_bytes() == before


def test_the_same_measurements_are_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_measurements(tmp_path / name, MEASUREMENTS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("table", [0, 1])
@pytest.mark.parametrize("cell", [0, 2])
def test_seed_and_hash_depend_on_every_count(table, cell):
    tables = list(MEASUREMENTS.tables)
    counts = tables[table].noisy_counts.copy()
    counts[cell] += 1
    tables[table] = measured_table(tables[table].event, counts)
    other = Measurements("r-1", "c0ffee", tuple(tables))
    assert other.content_hash != MEASUREMENTS.content_hash
    assert public_seed(other, "x") != public_seed(MEASUREMENTS, "x")
    assert public_seed(MEASUREMENTS, "x") != public_seed(MEASUREMENTS, "y")


def written_with(tmp_path, *, columns=None, head=None, drop_rows=0):
    """A file of measurements in which something is wrong."""
    path = tmp_path / "good.parquet"
    write_measurements(path, MEASUREMENTS)
    table = pq.read_table(path)
    metadata = json.loads(table.schema.metadata[b"synth"])
    metadata.update(head or {})
    for name, values in (columns or {}).items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    if drop_rows:
        table = table.slice(0, table.num_rows - drop_rows)
    table = table.replace_schema_metadata({b"synth": json.dumps(metadata).encode()})
    pq.write_table(table, tmp_path / "bad.parquet")
    return tmp_path / "bad.parquet"


EVENT_PLAIN = {
    "table": ["a", "b"],
    "cells": 6,
    "mechanism": "discrete-laplace",
    "sensitivity_l1": 1,
    "epsilon": "1/3",
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"drop_rows": 1},
        {"columns": {"cell": pa.array(range(9))}},
        {"columns": {"table": pa.array([0] * 9, pa.int16())}},
        {"columns": {"noisy_count": pa.array([1.5] * 9)}},
        {"columns": {"noisy_count": pa.array([None] * 9, pa.int64())}},
        {"head": {"format_version": 1}},
        {"head": {"tables": []}},
        {"head": {"tables": [{**EVENT_PLAIN, "cells": 9}]}},
        {"head": {"tables": [{**EVENT_PLAIN, "table": ["b", "a"]}]}},
        {"head": {"tables": [{**EVENT_PLAIN, "table": ["a", "z"]}]}},
        {"head": {"tables": [{**EVENT_PLAIN, "epsilon": "0"}]}},
        {"head": {"tables": [{**EVENT_PLAIN, "epsilon": "nan"}]}},
        {"head": {"tables": [{**EVENT_PLAIN, "sensitivity_l1": 0}]}},
        {"head": {"tables": [{"table": ["a", "b"]}]}},
        {"head": {"release_id": 7}},
    ],
)
def test_a_file_that_is_not_as_it_says_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=r"has|lists|holds|is not|does not|event"):
        read_measurements(written_with(tmp_path, **wrong), UNIVERSE)


@pytest.mark.parametrize("name", ["tables", "selections"])
@pytest.mark.parametrize("value", [None, 1, "text", {}, {"a": 1}, [None], [1], ["text"], [[]]])
def test_lists_of_anything_but_events_are_refused(tmp_path, name, value):
    with pytest.raises(ValueError, match=r"no list of tables|is not an object"):
        read_measurements(written_with(tmp_path, head={name: value}), UNIVERSE)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"release_id": "a", "release_id": "b"}', "twice"),
        (b'{"tables": [{"cells": 1, "cells": 2}]}', "twice"),
        (b'{"tables": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested too deeply"),
        (b'{"format_version": 1.0}', "not whole"),
        (b'{"format_version": NaN}', "not a number"),
        (b"[]", "not an object"),
        (b"1", "not an object"),
        (b"{", "no JSON"),
        (b"\xff", "not UTF-8"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_metadata_with_another_meaning_are_refused(tmp_path, content, reason):
    path = written_with(tmp_path)
    table = pq.read_table(path).replace_schema_metadata({b"synth": content})
    pq.write_table(table, path)
    with pytest.raises(ValueError, match=reason):
        read_measurements(path, UNIVERSE)


def test_metadata_that_are_too_long_are_refused(tmp_path, monkeypatch):
    path = written_with(tmp_path)
    length = len(pq.read_schema(path).metadata[b"synth"])
    monkeypatch.setattr("synth.measurements.file.MOST_METADATA_BYTES", length)
    read_measurements(path, UNIVERSE)
    monkeypatch.setattr("synth.measurements.file.MOST_METADATA_BYTES", length - 1)
    with pytest.raises(ValueError, match="too long"):
        read_measurements(path, UNIVERSE)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100, b"{}"])
def test_what_is_no_parquet_file_is_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ValueError, match="is not a file of measurements"):
        read_measurements(tmp_path / "m", UNIVERSE)


RECEIPT = Receipt(
    release_id="r-1",
    configuration_hash="c0ffee",
    measurements_sha256="00",
    measured_on="2026-01-02",
    ledger=LedgerPosition(
        "people",
        Budget(Fraction(4), Fraction(0)),
        Budget(Fraction(1, 3), Fraction(0)),
        Budget(Fraction(1), Fraction(0)),
        ("r-0",),
        promise=Promise("add-remove", "id", 5),
        reservation_hash="ab" * 32,
    ),
    self_tests=(SelfTest("cipher", passed=True),),
    disposal=Disposal("delete", "", ("gone",)),
)


def test_a_receipt_survives_as_text():
    assert Receipt.from_json(RECEIPT.to_json()) == RECEIPT
    assert RECEIPT.ledger.left == Budget(Fraction(8, 3), Fraction(0))
