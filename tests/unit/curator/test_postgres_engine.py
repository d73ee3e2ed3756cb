"""PostgreSQL's binary copy format, and the expressions that read a column."""

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.curator.postgres.engine import BATCH_ROWS, _batches
from synth.curator.postgres.table import FoundColumn, column_kinds, selected
from synth.errors import BugError, SourceError

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"
WHOLE = st.integers(-(2**63), 2**63 - 1)


def as_copied(rows):
    """The definition: field count, then length and value of every field, highest byte first."""
    body = b"".join(
        struct.pack(">h", len(row)) + b"".join(struct.pack(">iq", 8, value) for value in row)
        for row in rows
    )
    return HEADER + body + END


def taken(blocks, names=("a", "b")):
    batches = list(_batches(blocks, names))
    return [row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)]


@given(st.lists(st.tuples(WHOLE, WHOLE), max_size=20), st.lists(st.integers(0, 500), max_size=9))
def test_rows_come_back_however_the_stream_is_cut(rows, cuts):
    stream = as_copied(rows)
    ends = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    blocks = [memoryview(stream[a:b]) for a, b in itertools.pairwise(ends)]
    assert taken(blocks) == rows


def test_a_long_stream_comes_in_bounded_batches():
    rows = [(number, -number) for number in range(3 * BATCH_ROWS)]
    stream = as_copied(rows)
    blocks = [stream[start : start + 1000] for start in range(0, len(stream), 1000)]
    sizes = [batch.num_rows for batch in _batches(blocks, ("a", "b"))]
    assert sum(sizes) == len(rows)
    assert max(sizes) <= BATCH_ROWS + 1000
    assert len(sizes) >= 3


@pytest.mark.parametrize("cut", [1, 2, 3, 25])
def test_a_stream_without_its_end_is_no_count(cut):
    with pytest.raises(SourceError, match="stopped before"):
        taken([as_copied([(1, 2), (3, 4)])[:-cut]])


def test_nulls_and_other_widths_are_a_defect():
    null = HEADER + struct.pack(">hiqi", 2, 8, 1, -1) + bytes(8) + END
    with pytest.raises(BugError, match="another format"):
        taken([null])


def test_a_column_is_read_by_its_type_alone():
    found = {name: FoundColumn(name, name) for name in ("int2", "float4", "text", "numeric")}
    kinds = column_kinds(found, list(found), "t")
    assert [kind.ibis_type for kind in kinds.values()] == ["int64", "float64", "string", "string"]
    assert [kind.number is None for kind in kinds.values()] == [True, True, False, False]
    statement = selected('"s"."t"', kinds, dict.fromkeys(found, "n"))
    assert statement.startswith('SELECT "int2"::bigint AS "int2", "float4"::double precision')
    assert statement.endswith('FROM "s"."t"')


@pytest.mark.parametrize("kind", ["jsonb", "_int4", "interval", "bytea", "public.text", "money"])
def test_other_types_are_refused(kind):
    with pytest.raises(SourceError, match="'x' in a type that cannot be counted"):
        column_kinds({"x": FoundColumn("x", kind)}, ["x"], "t")
