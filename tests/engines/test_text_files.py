"""Records of CSV, counted whole: fields of real sizes, every dialect, damaged files."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import load_config
from synth.curator.files import csv_source, parquet_source, unpacking
from synth.curator.files.csv_records import RECORD_LIMIT_BYTES
from synth.curator.not_private.inference import infer
from synth.errors import SourceError, SynthError

from .conftest import counts_of

MB = 1_000_000
HEADER = b"age,sex,town,note\n"
ROW = b"34,Female,Nord,n\n"
LONG_ROW = b"34,Female,Nord," + b"n" * 1000 + b"\n"
LINES = b"70,Male,S\xc3\xbcd,n\n"
"""Within a quoted field; as records they would fall into another cell than ROW."""


def of_size(unit, size):
    return unit * (size // len(unit))


def record_with(field, place):
    """A record of the cell of ROW, with a large quoted field in a counted or another column."""
    values = [b"34", b"Female", b"Nord", b"n"]
    values[{"note": 3, "town": 2}[place]] = b'"' + field + b'"'
    return b",".join(values) + b"\n"


def packed(content, members=5):
    """Gzip in several members, one after the other."""
    step = len(content) // members + 1
    parts = [content[start : start + step] for start in range(0, len(content), step)]
    return b"".join(gzip.compress(part, 1) for part in parts)


@pytest.mark.parametrize(
    ("before", "size", "place", "name"),
    [
        (17, 20, "note", "people.csv"),
        (1.9, 16.8, "town", "people.csv.gz"),
        (0.9, 16.7, "note", "people.csv.gz"),
    ],
)
def test_a_large_quoted_field_is_one_record_or_none(project, tmp_path, before, size, place, name):
    """Around the limit of a record, 16.8 MB, from several places of a chunk; nothing else moves."""
    path = project(people=None, source={"path": name})
    rows, after = of_size(LONG_ROW, int(before * MB)), ROW * 1000
    content = HEADER + rows + record_with(of_size(LINES, int(size * MB)), place) + after
    (tmp_path / name).write_bytes(packed(content) if name.endswith(".gz") else content)
    counts = counts_of(path)
    is_counted = size * MB < RECORD_LIMIT_BYTES - 100
    assert counts.sum() == len(rows) // len(LONG_ROW) + 1000 + is_counted
    assert counts[1, 0, 0] == counts.sum()


def test_many_large_fields_are_one_record_each(project):
    """Each within the limit, quoted and with lines inside, so that every boundary is met."""
    fields = [of_size(LINES, size) for size in (300, MB, 3 * MB, 300, 9 * MB, 2 * MB)]
    records = [record_with(field, "note") for field in fields]
    path = project(people=HEADER + ROW.join(records))
    counts = counts_of(path)
    assert counts.sum() == counts[1, 0, 0] == 2 * len(records) - 1


@pytest.mark.parametrize("quote", [b"", b'5" wide'])
def test_a_record_of_millions_of_fields_moves_one_count(project, quote):
    """Of 4.2 million delimiters, well under the limit of a record; with a stray quote or none."""
    header, others = b"age,sex,town\n", b"67,Male,S\xc3\xbcd\n" * 200
    record = b"34,Female,Nord" + b"," * 4_200_000 + quote + b"\n"
    counts = counts_of(project(people=header + others + record + others))
    assert counts[3, 1, 1] == 400
    assert counts[1, 0, 0] == 1
    assert counts.sum() == 401


@pytest.mark.parametrize("header", [b"note,age,sex,town\n", b"town,age,sex,place\n"])
def test_a_field_of_many_times_the_limit_stops_no_run(project, tmp_path, header):
    """Whether its column is counted or not; every part of it is longer than a record may be."""
    path = project(people=None, source={"path": "people.csv.gz"})
    part = gzip.compress(b"x" * (RECORD_LIMIT_BYTES + 1), 1)
    row = b",34,Female,Nord\n"
    (tmp_path / "people.csv.gz").write_bytes(
        gzip.compress(header + row + b'"') + part * 5 + gzip.compress(b'"' + row + row)
    )
    assert counts_of(path).sum() == 2


QUOTE, ESCAPE = {"quote": "'"}, {"escape": "\\"}
RECORDS = {
    "another quote": (QUOTE, {
        "a quoted word": (b"34,Female,the \"Inn\"\n", (1, 0, 2)),
        "a quote that is doubled": (b"34,Female,'the ''Inn'''\n", (1, 0, 2)),
    }),
    "an escape": (ESCAPE, {
        "at the end of a field": (b"34,Female,Nord\\,\n", (1, 0, 2)),
        "of a quote": (b'34,Female,"No\\"rd,\n"\n', (1, 0, 2)),
    }),
    "an escape without quotes": (ESCAPE | {"quote": ""}, {"": (b'34,Female,"No\\,\n', (1, 0, 2))}),
    "no quotes": ({"quote": ""}, {"": (b'34,Female,"Nord\n', (1, 0, 2))}),
    "as usual": ({}, {
        "a quote that is opened once more": (b'34,"Fe"ma"le",Nord\n', (1, 2, 0)),
        "text after a closing quote": (b'34,"Fe"male,Nord\n', (1, 0, 0)),
        "a quote within a field": (b'34,Female,5" Nord\n', (1, 0, 2)),
        "further fields": (b'34,Female,Nord,"x\ny",z\n', (1, 0, 0)),
        "a carriage return": (b"34,Female,Nord\r", (1, 0, 0)),
        "NUL": (b"34,Female,Nord\0\n", (1, 0, 2)),
    }),
}  # fmt: skip
"""Records by their dialect, and the cell of each."""


@pytest.mark.parametrize("dialect", RECORDS)
def test_one_record_more_is_one_count_more(project, dialect):
    """The relation of neighbours: behind each stand others, which it must not touch."""
    source, records = RECORDS[dialect]
    header, others = b"age,sex,town\n", b"67,Male,S\xc3\xbcd\n" * 300
    content = header + others
    expected = np.zeros((5, 3, 3), dtype=np.int64)
    expected[3, 1, 1] = 300
    for record, cell in records.values():
        content += record + others
        expected[cell] += 1
        expected[3, 1, 1] += 300
    assert np.array_equal(counts_of(project(people=content, source=source)), expected)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_that_look_alike_as_text_are_two_persons(project, tmp_path, kind):
    """The character U+F00FF, and a byte FF that is none: at most two records of each."""
    ids = ["\U000f00ff".encode(), b"\xff"]
    path = project(
        people=None,
        source={"path": f"people.{kind}"},
        privacy={"unit": {"column": "id", "max_records": 2}},
    )
    if kind == "csv":
        rows = b"".join(each + b",34,Female,Nord\n" for each in ids * 3)
        (tmp_path / "people.csv").write_bytes(b"id,age,sex,town\n" + rows)
    else:
        raw = pa.array(ids * 3, pa.binary())
        texts = pa.Array.from_buffers(pa.string(), 6, raw.buffers())
        rest = {"age": [34] * 6, "sex": ["Female"] * 6, "town": ["Nord"] * 6}
        pq.write_table(pa.table({"id": texts, **rest}), tmp_path / "people.parquet")
    assert counts_of(path).sum() == 4


SHORT_BYTES = 1 << 16


@pytest.fixture
def short_chunks(monkeypatch):
    """Files are read in short chunks, and headers are no longer."""
    monkeypatch.setattr(unpacking, "CHUNK_BYTES", SHORT_BYTES)
    monkeypatch.setattr(csv_source, "HEADER_BYTES", SHORT_BYTES)


@pytest.fixture(scope="module")
def packed_rows() -> bytes:
    """More than one short chunk behind the header, in one gzip file."""
    towns = np.random.default_rng(5).bytes(110_000).hex().encode()
    rows = b"".join(
        b"34,Female,%s\n" % towns[start : start + 1000] for start in range(0, len(towns), 1000)
    )
    assert len(rows) > 3 * SHORT_BYTES
    return gzip.compress(b"age,sex,town\n" + rows, 1)


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("damage", ["a checksum", "the end is gone", "a bit", "no gzip behind it"])
def test_a_file_that_is_damaged_far_behind_its_header_is_refused(
    project, tmp_path, packed_rows, damage
):
    """What was read before would be counted as the whole; so does a draft refuse it."""
    content = bytearray(packed_rows)
    if damage == "a checksum":
        content[-8] ^= 1
    elif damage == "the end is gone":
        del content[-100:]
    elif damage == "a bit":
        content[len(content) * 9 // 10] ^= 4
    else:
        content += b"and more"
    path = project(people=None, source={"path": "people.csv.gz"})
    (tmp_path / "people.csv.gz").write_bytes(content)
    with pytest.raises(SourceError, match="damaged or incomplete file"):
        counts_of(path)
    source = load_config(path).source
    with pytest.raises(SourceError, match="damaged or incomplete file"):
        infer(source, [tmp_path / "people.csv.gz"], directory=tmp_path, max_levels=5)


FAILURES = [
    (MemoryError(), SynthError, "not enough memory"),
    (OSError(5, "broken"), SourceError, "could not be read"),
    (ValueError("a value"), SourceError, "could not be read"),
    (KeyboardInterrupt(), KeyboardInterrupt, None),
]


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize(("error", "kind", "words"), FAILURES)
def test_a_failure_while_reading_is_no_whole_file(project, monkeypatch, error, kind, words):
    """A part of the records may not pass for all of them; a stop is no failure of the source."""
    path = project(people=b"age,sex,town\n" + b"34,Female,Nord\n" * 12_500)
    exact = csv_source.readable_utf8
    texts = iter(range(4))  # the header takes one chunk, and the records begin anew

    def fails(text):
        if next(texts) == 3:
            raise error
        return exact(text)

    monkeypatch.setattr(csv_source, "readable_utf8", fails)
    with pytest.raises(kind, match=words) as caught:
        counts_of(path)
    assert "a value" not in str(caught.value)


def test_parquet_texts_that_arrow_cannot_keep_at_once_are_read_as_they_are(
    project, tmp_path, monkeypatch
):
    """It keeps the texts of a row group, 2 GiB of them; here the limit of a column is lower."""
    path = project(
        people=None,
        source={"path": "people.parquet"},
        privacy={"unit": {"column": "id", "max_records": 2}},
    )
    ids = [letter * (3 << 14) for letter in "abc"] + ["d"]
    table = pa.table({"id": ids * 3, "age": [34] * 12, "sex": ["Female"] * 12,
                      "town": ["Nord", "Nord", "N" * (5 << 14)] * 4})  # fmt: skip
    pq.write_table(table, tmp_path / "people.parquet", compression="zstd")
    metadata = pq.read_metadata(tmp_path / "people.parquet")
    names = ["id", "sex", "town"]
    assert parquet_source._read_once(metadata, names) == names
    as_usual = counts_of(path)
    assert as_usual.sum() == 8
    monkeypatch.setattr(parquet_source, "LARGE_COLUMN_BYTES", 4 << 14)
    assert parquet_source._read_once(metadata, names) == ["sex"]
    assert np.array_equal(counts_of(path), as_usual)


def test_every_encoding_of_parquet_texts_is_read(project, tmp_path):
    """Some hold more text than they take in the file, and cannot be kept at once."""
    path = project(people=None, source={"path": "part-*.parquet"})
    table = pa.table({"age": [34] * 3, "sex": ["Female"] * 3, "town": ["Nord", "Nordost", None]})
    for encoding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        pq.write_table(
            table, tmp_path / f"part-{encoding}.parquet",
            use_dictionary=False, column_encoding={"sex": encoding, "town": encoding},
        )  # fmt: skip
    counts = counts_of(path)
    assert counts[1, 0, 0] == 3
    assert counts.sum() == 9


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
@pytest.mark.parametrize("towns", [[], [None], ["Nord", None, "N"]])
def test_a_column_that_was_a_dictionary_is_read_in_every_encoding(
    project, tmp_path, encoding, towns
):
    """Arrow cannot make a dictionary of these: the first record would stop the run."""
    path = project(people=None, source={"path": "people.parquet"})
    table = pa.table({
        "age": pa.array([34] * len(towns), pa.int8()).dictionary_encode(),
        "sex": pa.array(["Female"] * len(towns), pa.large_string()),
        "town": pa.array(towns, pa.string()).dictionary_encode(),
        "ARROW:schema": ["ARROW:schema"] * len(towns),
    })  # fmt: skip
    pq.write_table(
        table, tmp_path / "people.parquet",
        use_dictionary=False, column_encoding={"town": encoding},
    )  # fmt: skip
    counts = counts_of(path)
    assert counts[1, 0].tolist() == [towns.count("Nord"), 0, len(towns) - towns.count("Nord")]
    assert counts.sum() == len(towns)
