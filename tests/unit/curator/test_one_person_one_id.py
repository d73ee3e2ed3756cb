"""One person is one id, and two are two, however files write them."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config import Dialect
from synth.config.schema.scalars import MOST_OF_A_NAME
from synth.config.source import ENCODINGS
from synth.curator.files.csv_source import CsvFile
from synth.curator.files.parquet_source import open_parquet
from synth.curator.files.readable_texts import CUT, LONG_TEXT_BYTES, cut_texts, readable_texts
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


NO_TEXT = [b"Jos\xe9", b"Jos\xe8", b"Jos\xff\xfe", b"Jos\xef\xbf\xbd", b"Jos\xf3\xb0\x83\xa9"]
"""Bytes that are no UTF-8, the replacement character, and what looks like a byte that was kept."""


def in_csv(path, ids, encoding="utf-8"):
    path.write_bytes(b"\n".join(ids))
    found = b"".join(CsvFile(path, Dialect(encoding=encoding)).chunks())
    return found.decode().split("\n")


def in_parquet(ids):
    raw = pa.array(ids, pa.binary())
    return readable_texts(pa.Array.from_buffers(pa.string(), len(ids), raw.buffers())).to_pylist()


def test_ids_that_are_no_text_stay_different_and_are_one_in_every_format(tmp_path):
    found = in_csv(tmp_path / "ids.csv", NO_TEXT)
    assert found == in_parquet(NO_TEXT)
    assert len(set(found)) == len(NO_TEXT)
    assert all(each.startswith("Jos") for each in found)


def test_an_id_that_looks_like_a_chosen_byte_is_not_that_byte(tmp_path):
    """The character U+F00FF is text in UTF-8; the byte FF is none, and was read as U+F00FF."""
    ids = ["\U000f00ff".encode(), b"\xff", b"\xf3\xb0\x83", b"\xf3\xb0\x84\xbf"]
    assert len(set(in_csv(tmp_path / "ids.csv", ids))) == len(set(in_parquet(ids))) == len(ids)
    apart = [in_parquet([each]) + in_csv(tmp_path / "one.csv", [each]) for each in ids]
    assert apart == [[text, text] for text in in_parquet(ids)]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_encoding_makes_two_bytes_one(tmp_path, encoding):
    ids = [bytes([byte]) for byte in range(256) if byte != ord("\n")]
    assert len(set(in_csv(tmp_path / "ids.csv", ids, encoding))) == len(ids)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([b"\xf3", b"\xb0", b"\x83", b"\xbf", b"\xf0", b"\xed", b"a"]))
        .map(b"".join), unique=True, min_size=2, max_size=30,
    )
)  # fmt: skip
def test_different_bytes_are_different_texts(ids):
    assert len(set(in_parquet(ids))) == len(ids)


def test_long_ids_stay_different_and_become_short(tmp_path):
    """However long: a text that fills memory stops no run, and is no other person."""
    long = b"p" * (3 << 20)
    starts = [b"x" * 998 + "ü".encode() * 2, b"x" * 998 + b"\xff\xfe"]
    ids = [long, long + b"q", long[:-1], long[:-1] + b"\xff", b"p" * LONG_TEXT_BYTES,
           *(start + long for start in starts)]  # fmt: skip
    found = in_parquet(ids)
    assert len(set(found)) == len(ids)
    assert max(map(len, found)) == LONG_TEXT_BYTES
    assert 4 * MOST_OF_A_NAME <= LONG_TEXT_BYTES, "a level that may be declared is never cut"
    assert [CUT in text for text in found] == [len(each) > LONG_TEXT_BYTES for each in ids]
    texts = in_csv(tmp_path / "ids.csv", ids)
    cut = cut_texts(pa.array(texts)).to_pylist()
    assert len(set(cut)) == len(ids)
    assert [text[:1000] for text in cut] == [text[:1000] for text in found]
    assert [text[:1000] for text in found[-2:]] == [
        "x" * 998 + "üü",
        "x" * 998 + "\U000f00ff\U000f00fe",
    ]
    assert cut_texts(pa.array(["a", None])).to_pylist() == ["a", None]
