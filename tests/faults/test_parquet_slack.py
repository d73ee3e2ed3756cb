"""Parquet files with room for something else: every reader skips it, and `verify` finds it."""

import base64
import copy
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.release.verification.parquet_layout import (
    BINARY,
    FOOTER_KINDS,
    LIST,
    LONG,
    PAGE_KINDS,
    STRUCT,
    TRUE,
    CompactReader,
    LayoutError,
    read_layout,
    rewriting_findings,
)
from tests.command_line import synth
from tests.faults.test_hostile_releases import CONFIGURATION, findings_of, reseal, varint

NAMES = ["synthetic.parquet", "measurements.parquet"]
PERSON = b"Jane Doe, 1961-04-05, positive; " * 35
CHUNK = (4, 0, 1, 0, 3)
KINDS = FOOTER_KINDS | {
    (*CHUNK, 8, 0, 1): BINARY,
    (*CHUNK, 8, 0, 2): BINARY,
    (*CHUNK, 14): LONG,
    (4, 0, 1, 0, 4): LONG,
    (8,): BINARY,
}
OWN, OTHER = pa.cpp_version, "1.2.3"


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("published")
    (place / "people.csv").write_text("age,sex\n" + "34,Female\n67,Male\n12,\n" * 60)
    (place / "release.yaml").write_text(CONFIGURATION)
    done = synth("run", place / "release.yaml")
    assert done.returncode == 0, done.stderr
    return place / "outputs" / "hostile"


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "hostile"))


def encoded(value, path=(), kind=STRUCT) -> bytes:
    """A value in the compact protocol of Thrift."""
    if kind == STRUCT:
        found, before = b"", 0
        for number, inner in sorted(value.items()):
            place = (*path, number)
            of = (TRUE if inner else TRUE + 1) if KINDS[place] == TRUE else KINDS[place]
            step = number - before
            assert step < 16
            found += bytes([step << 4 | of])
            found += b"" if KINDS[place] == TRUE else encoded(inner, place, of)
            before = number
        return found + b"\x00"
    if kind == LIST:
        of, size = KINDS[(*path, 0)], len(value)
        head = bytes([size << 4 | of]) if size < 15 else bytes([240 | of]) + varint(size)
        return head + b"".join(encoded(item, (*path, 0), of) for item in value)
    if kind == BINARY:
        return varint(len(value)) + value
    return bytes([value]) if kind == 3 else varint(value << 1 if value >= 0 else ~value << 1 | 1)


def taken_apart(content: bytes) -> tuple[bytes, dict]:
    length = int.from_bytes(content[-8:-4], "little")
    footer = CompactReader(content[-8 - length : -8], length, FOOTER_KINDS).struct()
    assert encoded(footer) == content[-8 - length : -8]
    return content[: -8 - length], footer


def put_together(pages: bytes, footer: dict, more: bytes = b"") -> bytes:
    written = encoded(footer) + more
    return pages + written + len(written).to_bytes(4, "little") + b"PAR1"


def shifted(footer: dict, start: int, by: int) -> None:
    """Move all that lies at `start` or behind it."""
    for group in footer[4]:
        if group[5] >= start:
            group[5] += by
        for column in group[1]:
            for number in (9, 11):
                if column[3].get(number, 0) >= start:
                    column[3][number] += by


def last(footer: dict) -> dict:
    return footer[4][-1][1][-1][3]


def begin(chunk: dict) -> int:
    return min(chunk[9], chunk.get(11, chunk[9]))


def between_columns(pages, footer):
    place = begin(last(footer))
    shifted(footer, place, len(PERSON))
    return put_together(pages[:place] + PERSON + pages[place:], footer)


def before_the_pages(pages, footer):
    shifted(footer, 4, len(PERSON))
    return put_together(pages[:4] + PERSON + pages[4:], footer)


def in_the_footer(change):
    def tamper(pages, footer):
        change(footer)
        return put_together(pages, footer)

    return tamper


def behind_a_frame(pages, footer):
    """Inside the last page: readers of Zstandard skip frames that say so, or stop before them."""
    chunk, extra = last(footer), b"\x50\x2a\x4d\x18" + len(PERSON).to_bytes(4, "little") + PERSON
    reader = CompactReader(pages[chunk[9] :], 1 << 16)
    header = reader.struct()
    start = chunk[9] + reader.position
    assert start + header[3] == len(pages)  # the last page of all
    old, new = encoded_size(header[3]), encoded_size(header[3] + len(extra))
    head = pages[chunk[9] : start].replace(b"\x15" + old, b"\x15" + new, 2)
    place = head.rfind(b"\x15" + new)
    assert place > 0
    packed = pages[start:] + extra
    grown = len(head) + len(packed) - (len(pages) - chunk[9])
    chunk[7] += grown
    chunk[6] += len(head) - (start - chunk[9])
    footer[4][-1][6] += grown
    footer[4][-1][2] += len(head) - (start - chunk[9])
    return put_together(pages[: chunk[9]] + head + packed, footer)


def encoded_size(number):
    return varint(number << 1)


def another_minimum(footer):
    statistics = footer[4][0][1][-1][3][12]
    for number in (1, 5):
        if number in statistics:
            statistics[number] = b"A" * len(statistics[number])


def another_arrow_schema(footer):
    schema = pa.schema([pa.field("age", pa.int64())], metadata={"note": PERSON})
    entries = [{1: b"ARROW:schema", 2: base64.b64encode(schema.serialize())}]
    footer[5] = [e for e in footer.get(5, []) if e[1] != b"ARROW:schema"] + entries


SLACK: dict[str, Callable] = {
    "between columns": between_columns,
    "before the first page": before_the_pages,
    "before the footer": lambda pages, footer: put_together(pages + PERSON, footer),
    "behind the footer's fields": lambda pages, footer: put_together(pages, footer, PERSON),
    "behind a page's frame": behind_a_frame,
    "a foreign key": in_the_footer(
        lambda footer: footer.update({5: [*footer.get(5, []), {1: b"note", 2: PERSON}]})
    ),
    "a key of a column": in_the_footer(lambda footer: last(footer).update({8: [{1: PERSON}]})),
    "a bloom filter": in_the_footer(lambda footer: last(footer).update({14: 4})),
    "an index of pages": in_the_footer(lambda footer: footer[4][0][1][0].update({4: 4})),
    "an unknown field": in_the_footer(lambda footer: footer.update({8: PERSON})),
    "another schema of Arrow": in_the_footer(another_arrow_schema),
    "another minimum": in_the_footer(another_minimum),
    "another place of a group": in_the_footer(lambda footer: footer[4][0].update({5: 5})),
    "another size of a group": in_the_footer(lambda footer: footer[4][0].update({2: 5})),
    "a column's old offset": in_the_footer(lambda footer: footer[4][0][1][0].update({2: 1 << 40})),
    "a writer's name": in_the_footer(lambda footer: footer.update({6: footer[6] + b" " + PERSON})),
    "another magic": lambda pages, footer: put_together(b"PERS" + pages[4:], footer),
}


# A file of the version that is installed is written again and compared byte by byte, wherever the
# slack is; one of another version is held against its layout, for which every slack is another.
FILES = [(OTHER, "synthetic.parquet", slack) for slack in SLACK] + [
    *((OTHER, "measurements.parquet", slack) for slack in list(SLACK)[::2]),
    (OTHER, "measurements.parquet", "another schema of Arrow"),
    *((OWN, name, "between columns") for name in NAMES),
]


@pytest.mark.parametrize(("version", "name", "slack"), dict.fromkeys(FILES))
def test_what_readers_skip_is_found(release, name, version, slack):
    path = release / name
    before = pq.read_table(path)
    pages, footer = taken_apart(path.read_bytes())
    footer[6] = footer[6].replace(OWN.encode(), version.encode())
    path.write_bytes(SLACK[slack](pages, copy.deepcopy(footer)))
    if slack not in ("another magic", "an index of pages"):
        assert pq.read_table(path).equals(before)  # a reader sees nothing
    reseal(release)
    found = findings_of(release)
    assert any(finding.startswith(f"{name}: ") for finding in found), found


def rewritten(path: Path, version: str) -> tuple[list[str], str]:
    """What is found in a file that says it is of this version, where its bytes are expected."""
    original = path.read_bytes()
    pages, footer = taken_apart(original)
    footer[6] = footer[6].replace(OWN.encode(), version.encode())
    path.write_bytes(put_together(pages, footer))
    with path.open("rb") as file:
        return rewriting_findings(file, lambda stream: stream.write(original))


@pytest.mark.parametrize("name", [*NAMES, "quality.parquet"])
def test_files_of_another_version_are_accepted_by_their_layout_and_said_to_be(release, name):
    assert rewritten(release / name, OWN) == ([], "")
    found, told = rewritten(release / name, OTHER)
    assert found == []
    assert f"was written by pyarrow {OTHER}, not {OWN} as installed here" in told
    assert "but not how the pages are compressed" in told


@pytest.mark.parametrize("name", NAMES)
def test_values_packed_in_another_way_are_found(release, name):
    path = release / name
    table, schema = pq.read_table(path), pq.read_schema(path)
    options = {"compression": "zstd", "store_schema": name == "measurements.parquet"}
    pq.write_table(table, path, **options, compression_level=9, use_dictionary=False)
    assert pq.read_schema(path).equals(schema, check_metadata=True)
    reseal(release)
    found = findings_of(release)
    assert any(finding.startswith(f"{name}: ") for finding in found)


def test_a_page_of_a_negative_size_is_refused_in_a_sentence(release):
    """A size is written zigzag: its lowest bit is its sign."""
    path = release / "synthetic.parquet"
    content = path.read_bytes()
    header = CompactReader(content[4:], 99, PAGE_KINDS)
    fields = header.struct()
    unpacked_size, packed_size = fields[2], fields[3]
    sizes = varint(2 * unpacked_size) + b"\x15" + varint(2 * packed_size)
    negative = varint(2 * unpacked_size) + b"\x15" + varint(2 * packed_size + 1)
    assert sizes in content[4:40]
    changed = io.BytesIO(content.replace(sizes, negative, 1))
    with pytest.raises(LayoutError, match="a page of a negative size"):
        read_layout(changed, like=None)
