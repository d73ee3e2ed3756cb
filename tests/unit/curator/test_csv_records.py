"""Where records of CSV end: the reader beside a slow definition and Python's csv, byte by byte."""

import csv
import io
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synth.config import Dialect
from synth.curator.files.csv_records import RECORD_LIMIT_BYTES, FieldParser, RecordSplitter

DIALECTS = {
    "doubled": Dialect(),
    "single quotes": Dialect(quote="'", escape="'"),
    "escaped": Dialect(escape="\\"),
    "escaped single quotes": Dialect(delimiter=";", quote="'", escape='"'),
    "no quotes": Dialect(quote="", escape=""),
    "no quotes but escapes": Dialect(quote="", escape="\\"),
    "marks of patterns": Dialect(delimiter="^", quote="]", escape="-"),
    "words and blanks": Dialect(delimiter=" ", quote="a", escape="a"),
}
PARTS = ['"', '""', '","', '\n"', "'", "','", ",", ";", "\\", '\\"', "\n", "\r", "\r\n", "a", "bc",
         " ", "^", "]", "-", "\0", "ü", "\ufeff", "\u2028", "\x85", "\x0c"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
"""Of up to 40 of the 25 parts: fifty texts hold every pair of them side by side."""


def slow_records(text: str, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """The length in bytes of each record without its line end, and its fields."""
    escape = "" if dialect.escape == dialect.quote else dialect.escape
    records: list[tuple[int, list[str]]] = []
    fields, size, state = [""], 0, "start"
    for character in text + ("\n" if text else ""):
        ends = character in "\r\n" or character == dialect.delimiter
        is_quote = character == dialect.quote
        if state == "start" and is_quote:
            state = "open"
        elif state == "closed" and is_quote and not escape:
            fields[-1] += character
            state = "open"
        elif state == "open" and is_quote:
            state = "closed"
        elif state.endswith("escaped"):
            fields[-1] += character
            state = "open" if state.startswith("open") else "plain"
        elif escape and character == escape:
            state = "open escaped" if state == "open" else "escaped"
        elif state != "open" and ends:
            if character == dialect.delimiter:
                fields.append("")
            else:
                if size:
                    records.append((size, fields))
                fields, size = [""], -len(character.encode())
            state = "start"
        else:
            fields[-1] += character
            state = state if state == "open" else "plain"
        size += len(character.encode())
    return records + ([(size, fields)] if size else [])


def by_python(text: str, dialect: Dialect) -> list[list[str]]:
    is_doubled = dialect.escape == dialect.quote
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        doublequote=is_doubled,
        escapechar=None if is_doubled else dialect.escape,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
    )
    return [record for record in reader if record]


def blocks_of(text: str, dialect: Dialect, *, size: int, limit: int) -> list[bytes]:
    content = text.encode()
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    return list(RecordSplitter(dialect, limit).blocks(chunks))


def fields_of(blocks: list[bytes], dialect: Dialect, width: int) -> Counter[tuple[str, ...]]:
    parser = FieldParser(dialect, width, tuple(range(width)))
    rows = [row for block in blocks for row in parser.table(block).to_pylist()]
    return Counter(tuple(row.values()) for row in rows)


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=50, deadline=None)
@given(text=TEXTS)
@example(text='"Fe"ma"le",a\n"a""\n')
@example(text="a\\\n")
@example(text="a\\")
@example(text='"a\\')
def test_the_slow_definition_is_that_of_python(name, text):
    """But for the end of a text that stops within a record: Python adds a line end there too."""
    dialect = DIALECTS[name]
    expected = by_python(text + "\n", dialect)
    found = [fields for _, fields in slow_records(text + "\n", dialect)]
    if found and found != expected:  # open to the end: the line end that was added is in the field
        found[-1][-1] = found[-1][-1].removesuffix("\n")
    assert found == expected


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=50, deadline=None)
@given(text=TEXTS, size=st.integers(1, 12), limit=st.integers(1, 40), width=st.integers(1, 3))
@example(text='a,"b\n', size=1, limit=40, width=2)
@example(text="a,b,c\\\r\nd,e,f\\\r\n", size=50, limit=40, width=2)
@example(text="\ufeffa\n\ufeffb\n", size=4, limit=40, width=1)
def test_every_record_and_field_whatever_the_chunks(name, text, size, limit, width):
    dialect = DIALECTS[name]
    blocks = blocks_of(text, dialect, size=size, limit=limit)
    expected = [
        tuple(fields[:width])
        for length, fields in slow_records(completed(text, dialect), dialect)
        if length <= limit and len(fields) >= width
    ]
    assert fields_of(blocks, dialect, width) == Counter(expected)


def completed(text: str, dialect: Dialect) -> str:
    return RecordSplitter(dialect).completed(text.encode()).decode()


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=50, deadline=None)
@given(text=TEXTS)
@example(text='"a""b","c"\n')
def test_the_quick_way_finds_what_the_definition_finds(name, text):
    splitter, content = RecordSplitter(DIALECTS[name]), text.encode()
    if splitter._escape and splitter._escape in content:
        return
    quick = splitter._by_parity(content)
    assert quick is None or quick == splitter._by_definition(content)


@pytest.mark.parametrize("text", ['"a","b""c"\r\n"d",e\n', '"a\nb",""\n', 'a,b\n,"",""\n'])
def test_what_writers_of_csv_write_takes_the_quick_way(text):
    assert RecordSplitter(Dialect())._by_parity(text.encode()) is not None


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=25, deadline=None)
@given(texts=st.lists(TEXTS, min_size=3, max_size=3), size=st.integers(1, 12))
def test_inserting_a_record_between_two_changes_no_other(name, texts, size):
    """The relation of neighbours: the bytes of one record, with their line end."""
    dialect = DIALECTS[name]
    before, record, after = (completed(text, dialect) for text in texts)
    limit = 30
    without = fields_of(blocks_of(before + after, dialect, size=size, limit=limit), dialect, 2)
    beside = fields_of(
        blocks_of(before + record + after, dialect, size=size, limit=limit), dialect, 2
    )
    own = fields_of(blocks_of(record, dialect, size=size, limit=limit), dialect, 2)
    assert beside - without == own
    assert not without - beside


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_record_of_the_limit_is_counted_and_a_longer_one_left_out(extra, quoted):
    field = b"x" * (RECORD_LIMIT_BYTES - 2 - 2 * quoted + extra)
    field = b'"' + field + b'"' if quoted else field
    content = b"a,b\n" + b"1," + field + b"\r\nc,d\n"
    chunks = [content[start : start + 999_999] for start in range(0, len(content), 999_999)]
    blocks = list(RecordSplitter(Dialect()).blocks(chunks))
    (first,) = {len(block) for block in blocks if len(block) > 100} or {0}
    assert bool(first) is (extra == 0)
    parser = FieldParser(Dialect(), 2, (0,))
    assert sorted(v for b in blocks for v in parser.table(b)["c0"].to_pylist()) == [
        *(["1"] if extra == 0 else []), "a", "c",
    ]  # fmt: skip


def test_of_a_record_that_is_too_long_nothing_is_kept():
    """A field of any length, in memory that does not grow with it."""
    chunks = chain([b'a\n"'], (bytes([n % 90 + 35]) * 1000 for n in range(9999)), [b'"\nb\n'])
    tracemalloc.start()
    try:
        blocks = list(RecordSplitter(Dialect(), limit=5000).blocks(chunks))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert b"".join(blocks).split() == [b"a", b"b"]
    assert peak < 1_000_000


def test_a_delimiter_at_the_end_of_every_record_changes_nothing():
    """Whatever number of fields the records before had."""
    block = b"1,2,\n3,4\n5\n6,7,8,9\n"
    expected = Counter([("1", "2"), ("3", "4"), ("6", "7")])
    assert fields_of([block], Dialect(), 2) == expected
    for line in (b"0,0\n", b"0,0,\n", b"0,0,,0\n"):
        found = fields_of([block, line * 9, block, block], Dialect(), 2)
        assert found == Counter(dict.fromkeys(expected, 3) | {("0", "0"): 9})


@pytest.mark.parametrize("name", DIALECTS)
def test_a_record_of_millions_of_fields_is_one_record(name):
    """Arrow refuses a schema with so many columns, whatever the other records are."""
    dialect = DIALECTS[name]
    line = f"1{dialect.delimiter}2"
    wide = line + dialect.delimiter * 4_200_000
    block = f"{line}\n{wide}\n{line}\n".encode()
    assert fields_of([block, block], dialect, 2) == Counter({("1", "2"): 6})


@pytest.mark.parametrize("dialect", [Dialect(), Dialect(quote="", escape="")])
def test_a_record_that_begins_with_an_empty_field_is_not_an_empty_line(dialect):
    assert fields_of([b",2,3\n,\n,,\n1\n"], dialect, 1) == Counter({("",): 3, ("1",): 1})


def test_the_numbers_of_fields_that_records_have_decide_no_schema(monkeypatch):
    widths = []
    parsed = FieldParser._parsed

    def observed(self, block, width, handle):
        widths.append(width)
        return parsed(self, block, width, handle)

    monkeypatch.setattr(FieldParser, "_parsed", observed)
    block = "".join(f"{n},0{',' * n}\n" for n in range(2000)).encode()
    expected = Counter({(str(n), "0"): 2 for n in range(2000)})
    assert fields_of([block, block], Dialect(), 2) == expected
    assert set(widths) == {2, 3}
    assert len(widths) <= 6


def test_splitting_a_record_of_many_fields_takes_memory_for_its_bytes_alone():
    """By the definition, which every text with a quote or an escape somewhere may need.

    In processes with a limit of their own, because `re` does not show its memory to Python.
    """
    code = f"""
import os
import resource
from synth.config import Dialect
from synth.curator.files.csv_records import RecordSplitter

def split(dialect):
    text = b"b" + dialect.delimiter.encode() * 1_050_000 + b"\\n"
    splitter = RecordSplitter(dialect)
    splitter._by_definition(b"a")
    with open("/proc/self/statm") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20),) * 2)
    scan = splitter._by_definition(text)
    assert scan.first == scan.last == len(text)

for name, dialect in {DIALECTS!r}.items():
    process = os.fork()
    if process == 0:
        split(dialect)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0, name
"""
    subprocess.run([sys.executable, "-c", code], check=True)
