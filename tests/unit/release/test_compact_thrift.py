"""The compact protocol of Thrift: what writers make is read, what attackers make is refused."""

import io
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.release.verification.parquet_layout import (
    CompactReader,
    LayoutError,
    ThriftError,
    read_layout,
)


def test_the_footer_of_a_real_file_is_read():
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", None, "y"]}), stream)
    content = stream.getvalue()
    length = int.from_bytes(content[-8:-4], "little")
    footer = CompactReader(content[-8 - length : -8], 1_000).struct()
    assert (footer[3], len(footer[4]), footer[6][:11]) == (3, 1, b"parquet-cpp")
    assert [leaf[4] for leaf in footer[2]] == [b"schema", b"a", b"b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short"),
        (b"\x16", "cut short"),
        (b"\x18\xff\xff\xff\xff\x7fabc", "cut short"),
        (b"\x16" + b"\xff" * 11, "too many bytes"),
        (b"\x15\x02\x05\x02\x02\x00", "there twice"),
        (b"\x05\x84\x80\x08\x02\x00", "a number that none can have"),
        (b"\x05\x00\x02\x00", "a number that none can have"),
        (b"\x15\x80\x80\x80\x80\x10\x00", "more bits than its kind"),
        (b"\x1d\x00\x00", "a kind that Parquet does not use"),
        (b"\x19\xf5\xff\xff\xff\x7f", "more values than"),
        (b"\x15\x00" * 200, "more values than"),
        (b"\x1c" * 100, "nested too deeply"),
        (b"\x19" + b"\x19" * 100, "nested too deeply"),
    ],
)
def test_what_is_no_struct_is_refused(content, message):
    with pytest.raises(ThriftError, match=message):
        CompactReader(content, 100).struct()


def test_numbers_reach_the_ends_of_their_kind():
    ends = b"\x15\xff\xff\xff\xff\x0f\x15\xfe\xff\xff\xff\x0f\x00"
    assert CompactReader(ends, 100).struct() == {1: -(2**31), 2: 2**31 - 1}


@pytest.mark.parametrize("content", [b"\x16\x02\x00", b"\x25\x02\x00", b"\x39\x16\x02\x00"])
def test_a_known_field_has_its_kind(content):
    """Another reader would skip it, or read the elements of a list as what they are not."""
    CompactReader(content, 100).struct()
    with pytest.raises(ThriftError, match="another kind"):
        CompactReader(content, 100, {(1,): 5, (2,): 6, (3,): 9, (3, 0): 5}).struct()


@settings(max_examples=200)
@given(st.binary(max_size=60), st.integers(0, 2**32), st.lists(st.integers(0, 255), max_size=3))
def test_any_bytes_have_a_layout_or_are_refused(tail, place, changes):
    stream = io.BytesIO()
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "y"]})
    pq.write_table(table, stream, compression="zstd", store_schema=False)
    like = read_layout(stream)
    content = bytearray(stream.getvalue())
    for number, byte in enumerate(changes):
        content[(place >> number * 8) % len(content)] = byte
    for candidate in (bytes(content), tail, tail + bytes(content[-8:])):
        with suppress(LayoutError):
            assert read_layout(io.BytesIO(candidate), like=like).page_bytes <= like.page_bytes
