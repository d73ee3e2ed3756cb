"""Source files of attackers: any bytes give counts, or the error of the package, without a value.

The same targets as `benchmarks/fuzz.py`, here for a few seconds with Hypothesis.
"""

import gzip
import io
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.config import Dialect, FileSource, load_config
from synth.curator.counting.tabulate import every_cell, tabulate
from synth.curator.seal import quiet_libraries, scrubbed
from synth.errors import SourceError
from tests.command_line import synth
from tests.faults.test_hostile_releases import CONFIGURATION

CANARY = "NeverToBeSeen77"
ROWS = f"age,sex\n34,Female\n{CANARY},Male\n12,\n" * 3
FEW = settings(  # each example opens an engine; `benchmarks/fuzz.py` draws as many as wanted
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
SENTENCES = {
    "the source could not be read to its end",
    "the source {} has no readable header line",
    "the source {} holds a damaged or incomplete file",
    "the source {} has no column 'age'",
    "the source {} has no column 'sex'",
    "the source {} has no column 'age', 'sex'",
    "the source {} has more than one column 'age'",
    "the source {} has more than one column 'sex'",
    "the source {} has more than one column 'age', 'sex'",
    "the source {} holds 'age' in a type that cannot be counted",
    "the source {} holds 'sex' in a type that cannot be counted",
}
"""Everything that is ever said of a source file."""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    place = tmp_path_factory.mktemp("config")
    (place / "release.yaml").write_text(CONFIGURATION)
    return load_config(place / "release.yaml")


def end_of(config, place: Path, name: str, content: bytes, dialect: Dialect | None = None) -> str:
    """How counting such a file ends: the sum of the counts as text, or the sentence."""
    path = place / name
    path.write_bytes(content)
    source = FileSource(path, dialect or Dialect(), "keep", "made up")
    scratch = place / "scratch"
    scratch.mkdir(exist_ok=True)
    try:
        with quiet_libraries():
            held = tabulate(config, source, [path], scratch).consume()
            counts = every_cell(held, config.universe)
    except BaseException as error:
        caught, counts = error, None
    if counts is None:
        clean = scrubbed(caught)
        assert type(clean) is SourceError, repr(caught)
        assert clean.exit_code == 1
        assert clean.sentence.replace(name, "{}") in SENTENCES
        assert CANARY not in str(clean)
        return clean.sentence
    assert list(scratch.iterdir()) == []
    assert counts.min() >= 0
    return str(counts.sum())


@settings(FEW)
@given(st.binary(max_size=300), st.sampled_from(["people.csv", "people.csv.gz", "people.parquet"]))
def test_any_bytes(config, tmp_path, content, name):
    end_of(config, tmp_path, name, content)


@settings(FEW)
@given(
    st.lists(
        st.sampled_from([*"\",;'\\\0\r\n\t =-+@", "\ufeff", "\udcff", "34", "Male", "x" * 999])
    ),
    st.integers(0, 300),
    st.sampled_from(["utf-8", "latin-1", "windows-1252"]),
)
def test_csv_with_pieces_anywhere(config, tmp_path, pieces, place, encoding):
    text = ROWS[:place] + "".join(pieces) + ROWS[place:]
    content = text.encode("utf-8", "surrogatepass")
    end_of(config, tmp_path, "people.csv", content, Dialect(encoding=encoding))


def whole_parquet(seed: int) -> bytes:
    """A small file: types, encodings, nested and dictionary columns as the seed says."""
    choose = random.Random(seed)
    ages = choose.choice(
        [
            pa.array([34, None, 250]),
            pa.array(["34", CANARY, None]),
            pa.array([34.5, float("nan"), None]),
            pa.array([b"34", b"\xff", None]),
            pa.array([[34], [], None]),
            pa.array([{"a": 34}, None, {"a": 1}]),
            pa.array([2**64 - 1, 0, None], pa.uint64()),
            pa.array(["34", "x", "34"]).dictionary_encode(),
            pa.nulls(3),
            pa.array([1, 2, 3], pa.decimal128(38, 20)),
            pa.array([1, 2, 3], pa.timestamp("ns")),
        ]
    )
    sexes = choose.choice([pa.array(["Male", CANARY, None]), pa.array(["Male"] * 3), ages])
    stream = io.BytesIO()
    pq.write_table(
        pa.table({"age": ages, "sex": sexes}),
        stream,
        compression=choose.choice(["none", "zstd", "snappy", "gzip"]),
        use_dictionary=choose.random() < 0.5,
        data_page_version=choose.choice(["1.0", "2.0"]),
    )
    return stream.getvalue()


@settings(FEW, max_examples=30)
@given(st.integers(0, 2**32), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4))
def test_parquet_with_bytes_changed(config, tmp_path, seed, changes):
    content = bytearray(whole_parquet(seed))
    for where, byte in changes:
        content[int(where * (len(content) - 1))] = byte
    end_of(config, tmp_path, "people.parquet", bytes(content))


@pytest.mark.parametrize("name", [b"sex", b"town"])
def test_names_of_columns_that_are_no_text_are_told_from_a_defect(config, tmp_path, name):
    stream = io.BytesIO()
    pq.write_table(pa.table({"age": ["34"], "sex": ["Male"], "town": ["Nord"]}), stream)
    content = stream.getvalue().replace(name, b"\x80" + name[1:])
    end = end_of(config, tmp_path, "people.parquet", content)
    assert end == "the source could not be read to its end"


def test_files_that_are_good_are_counted(config, tmp_path):
    """Else every test above could pass with a source that is never read."""
    assert end_of(config, tmp_path, "people.csv", ROWS.encode()) == "11"
    assert end_of(config, tmp_path, "people.csv.gz", gzip.compress(ROWS.encode())) == "11"
    table = pa.table({"age": [1, 2, None], "sex": ["Male", "Female", "x"]})
    pq.write_table(table, tmp_path / "made.parquet")
    content = (tmp_path / "made.parquet").read_bytes()
    assert end_of(config, tmp_path, "people.parquet", content) == "3"


@pytest.mark.parametrize("content", [b"", b"PAR1" + bytes(40) + b"PAR1", b"age,sex\n"])
def test_a_parquet_file_that_is_none_is_told_from_a_defect(config, tmp_path, content):
    end = end_of(config, tmp_path, "people.parquet", content)
    assert end == "the source could not be read to its end"


def test_the_command_calls_it_an_expected_failure(tmp_path):
    (tmp_path / "people.parquet").write_bytes(b"age,sex\n")
    text = CONFIGURATION.replace("people.csv", "people.parquet")
    (tmp_path / "release.yaml").write_text(text)
    done = synth("run", tmp_path / "release.yaml", environment=os.environ | {"COLUMNS": "99"})
    assert done.returncode == 1, done.stderr
    assert "error: the source could not be read to its end" in done.stderr
