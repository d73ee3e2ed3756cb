"""Lines of letters are the bytes of the general writer, and anything else goes to the parser."""

import io

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.domain.sparse_counts import SparseCounts
from synth.release import csv_file, letter_lines, readback
from synth.release.column_codes import ReadbackError
from synth.release.columns import published_columns
from synth.release.csv_file import csv_chunks
from synth.release.letter_lines import LetterLines, are_letters
from synth.release.readback import counts_of_csv


def categorical(name, levels, **others):
    return Attribute(name, "categorical", levels=tuple(levels), **others)


UNIVERSE = Universe((categorical("a", "xyz"), categorical("b", "0 ~"), categorical("c", "NY")))
COLUMNS = published_columns(UNIVERSE, "uniform")
COUNTS = np.random.default_rng(1).integers(0, 1_000, UNIVERSE.size)
GOOD = "a,b,c\nx,0,N\nx, ,Y\nz,~,N\n"


def written():
    return b"".join(map(bytes, csv_chunks(COUNTS, UNIVERSE, COLUMNS, seed=1)))


def as_list():
    cells = np.flatnonzero(COUNTS)
    codes = tuple(column.astype(np.uint8) for column in UNIVERSE.codes(cells))
    return SparseCounts(codes, COUNTS[cells])


def test_the_bytes_are_those_of_the_general_writer(monkeypatch):
    assert are_letters(COLUMNS)
    monkeypatch.setattr(letter_lines, "LINES_AT_ONCE", 1_000)
    quick = written()
    monkeypatch.setattr(csv_file, "are_letters", lambda _: False)
    assert quick == written()


@pytest.mark.parametrize("lines", [1, 777, 1 << 16])
def test_the_counts_are_read_back(monkeypatch, lines):
    monkeypatch.setattr(letter_lines, "LINES_READ_AT_ONCE", lines)
    file = io.BytesIO(written())
    assert np.array_equal(counts_of_csv(file, UNIVERSE, COLUMNS), COUNTS)
    file.seek(0)
    found = counts_of_csv(file, UNIVERSE, COLUMNS, sparse=True)
    assert np.array_equal(found.values, as_list().values)
    for column, expected in zip(found.columns, as_list().columns, strict=True):
        assert np.array_equal(column, expected)


def test_long_lines_are_read_a_few_at_once():
    universe = Universe(tuple(categorical(f"c{number}", "01") for number in range(1_000)))
    lines = io.BytesIO(b",".join([b"1"] * 1_000).join([b"", b"\n"]) * 3_000)
    numbers = [rows for rows, _ in LetterLines(published_columns(universe, "uniform")).read(lines)]
    assert sum(numbers) == 3_000
    assert max(numbers) * 2_000 <= letter_lines.BYTES_READ_AT_ONCE


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.replace("z,~", "w,~"), "row 3, column 'a': 'w' is not in the declared domain"),
        (GOOD.replace("z,~", "zz,~"), "row 3, column 'a': 'zz' is not in the declared domain"),
        (GOOD.replace("z,~", ",~"), "row 3, column 'a': a missing value is not in"),
        (GOOD.replace("z,~,N\n", "z;~,N\n"), "not readable as CSV with 3 columns"),
        (GOOD.replace("z,~,N\n", "z,~,N,"), "not readable as CSV with 3 columns"),
        (GOOD + "y,0,N\n", "row 4 does not follow in the order of the cells"),
    ],
)
def test_what_is_wrong_is_told_as_ever(monkeypatch, content, message, sparse):
    def read():
        with pytest.raises(ReadbackError) as caught:
            counts_of_csv(io.BytesIO(content.encode()), UNIVERSE, COLUMNS, sparse=sparse)
        return str(caught.value)

    quick = read()
    assert message in quick
    monkeypatch.setattr(readback, "are_letters", lambda _: False)
    assert read() == quick


def test_other_spellings_of_the_same_rows_are_counted_by_the_parser():
    for content in (GOOD.replace("z,~", '"z",~'), GOOD.removesuffix("\n")):
        counts = counts_of_csv(io.BytesIO(content.encode()), UNIVERSE, COLUMNS)
        assert np.flatnonzero(counts).tolist() == [0, 3, 16]


@pytest.mark.parametrize(
    "attribute",
    [
        categorical("d", ["x", "yy"]),
        categorical("d", ["x", "\u00e9"]),
        categorical("d", ["x", ","]),
        categorical("d", ["x", '"']),
        categorical("d", ["x", "\n"]),
        categorical("d", ["x", "y"], missing=("",)),
    ],
)
def test_other_columns_are_no_letters(attribute):
    columns = published_columns(Universe((*UNIVERSE.attributes, attribute)), "uniform")
    assert not are_letters(columns)
