"""One person is one id, and two are two, however files write them."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.curator.csv_source import _decoded
from synth.curator.parquet_source import _readable, open_parquet
from synth.errors import SourceError


def written(folder, *columns):
    paths = []
    for number, column in enumerate(columns):
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table({"person": column}), paths[-1])
    return paths


SEVEN = Decimal(7)
TOGETHER = {
    "whole numbers of two widths": (pa.array([7], pa.int32()), pa.array([7], pa.int64()), True),
    "text and dictionary": (pa.array(["7"]), pa.array(["7"]).dictionary_encode(), True),
    "decimals of one scale": (
        pa.array([SEVEN], pa.decimal128(10, 2)),
        pa.array([SEVEN], pa.decimal128(12, 2)),
        True,
    ),
    "decimals of two scales": (
        pa.array([SEVEN], pa.decimal128(10, 0)),
        pa.array([SEVEN], pa.decimal128(10, 1)),
        False,
    ),
    "whole numbers and decimals": (
        pa.array([7], pa.int64()),
        pa.array([SEVEN], pa.decimal128(10, 0)),
        False,
    ),
    "booleans and text": (pa.array([True]), pa.array(["True"]), False),
    "whole numbers and text": (pa.array([7], pa.int64()), pa.array(["7"]), False),
    "floats": (pa.array([7.0]), pa.array([7.0]), False),
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_files_that_may_write_one_person_in_two_ways_are_refused(tmp_path, kind):
    first, second, fits = TOGETHER[kind]
    paths = written(tmp_path, first, second)
    if fits:
        assert open_parquet("people", paths, ["person"], person_column="person")
        return
    with pytest.raises(SourceError, match="person"):
        open_parquet("people", paths, ["person"], person_column="person")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_ids_that_are_no_text_stay_different(tmp_path, encoding):
    path = tmp_path / "ids.csv"
    path.write_bytes(b"Jos\xe9\nJos\xe8\nJos\xff\xfe\n")
    ids = "".join(_decoded(path, encoding)).split("\n")[:-1]
    assert len(set(ids)) == 3
    assert all(each.startswith("Jos") for each in ids)


def test_ids_in_parquet_that_are_no_text_stay_different():
    raw = pa.array([b"Jos\xe9", b"Jos\xe8", b"Jos\xef\xbf\xbd"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    assert len(set(_readable(texts).to_pylist())) == 3
