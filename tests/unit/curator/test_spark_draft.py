"""Drafts of a table of Spark, on the Spark session of the tests: as those of the same files."""

import re
import sys
from contextlib import contextmanager
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.cli import app
from synth.cli.contract import Interruption, exit_code_of
from synth.config import SparkSource, load_config
from synth.config.source_files import source_files
from synth.curator.counting.tabulate import every_cell, tabulate
from synth.curator.seal import quiet_libraries
from synth.errors import ConfigError

pytestmark = pytest.mark.xdist_group("spark")

CANARY = "CANARY7391"
PEOPLE = pa.table(
    {
        "id": [7919 * n for n in range(300)],
        "age": [20 + n % 50 for n in range(300)],
        "rate": [n % 9 / 8 for n in range(300)],
        "sex": [["f", "m", None, "NA"][n % 4] for n in range(300)],
        "code": [f"0{n % 7}" for n in range(300)],
        "flag": [n % 2 == 0 for n in range(300)],
        "born": [date(1950 + n % 60, 2, 3) for n in range(300)],
        "note": [f"{CANARY} {n % 150}" for n in range(300)],
        "blob": [CANARY.encode()] * 300,
    }
)
TO_DECIDE = (
    *("title", "description", "contact", "intended_use", "region", "sector", "source"),
    *("disposal_reason", "justification", "population"),
)


@pytest.fixture
def draft(spark, tmp_path, monkeypatch, capfd):
    """Runs `synth draft` here, with the session of the tests; gives exit code and messages."""

    @contextmanager
    def that_session(_master, _scratch):
        yield spark

    for module in ("spark.engine", "not_private.spark_texts"):
        monkeypatch.setattr(f"synth.curator.{module}.spark_process", that_session)
    monkeypatch.setattr("synth.curator.seal_process", lambda **_: None)
    monkeypatch.chdir(tmp_path)

    def run(*words):
        command = ["draft", *map(str, words)]
        code = exit_code_of(lambda: app(command, standalone_mode=False) or 0, Interruption())
        return code, capfd.readouterr().err

    return run


def people(place):
    """Two files of one table."""
    place.mkdir()
    pq.write_table(PEOPLE.slice(0, 100), place / "1.parquet")
    pq.write_table(PEOPLE.slice(100), place / "2.parquet")
    return f"parquet.`{place}`"


def confirmed(text):
    """The draft after somebody has given and confirmed what was marked."""
    for key in TO_DECIDE:
        text = re.sub(rf"^( +{key}:) !CONFIRM$", r"\1 from a codebook", text, flags=re.MULTILINE)
    return text.replace("!CONFIRM []", "[Test Office]").replace("!CONFIRM ", "")


def counts_of(path):
    config = load_config(path)
    with quiet_libraries():
        files = source_files(config.source)
        held = tabulate(config, config.source, files, path.parent).consume()
        return config, every_cell(held, config.universe)


def test_a_draft_of_a_table_is_that_of_its_files_and_counts_alike_once_confirmed(draft, tmp_path):
    table = people(tmp_path / "people")
    code, said = draft("--spark", table, "--master", "local[2]", "-o", "spark.yaml")
    assert code == 0, said
    assert "PRIVATE" in said
    assert draft("people/*.parquet", "-o", "file.yaml")[0] == 0
    drafted, of_files = ((tmp_path / f"{name}.yaml").read_text() for name in ("spark", "file"))
    place = f'  spark:\n    table: "{table}"\n    master: "local[2]"\n'
    assert drafted == of_files.replace('  path: "people/*.parquet"\n', place)
    assert CANARY not in drafted + said
    assert re.findall(r"^# left out: (\w+):", drafted, re.M) == ["id", "note", "blob"]
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "spark.yaml")
    assert len(refused.value.problems) == drafted.count(": !CONFIRM") > 20

    for name, text in {"spark": drafted, "file": of_files}.items():
        (tmp_path / f"{name}.yaml").write_text(confirmed(text))
    config, counts = counts_of(tmp_path / "spark.yaml")
    assert config.source == SparkSource(table, "local[2]", "keep", "from a codebook")
    assert counts.sum() == PEOPLE.num_rows
    assert np.array_equal(counts, counts_of(tmp_path / "file.yaml")[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.yaml", "people", "spark.yaml"]


def test_what_spark_refuses_is_said_without_its_words_or_a_value(draft, tmp_path):
    table = people(tmp_path / "people")
    damaged = tmp_path / "people" / "2.parquet"
    pq.write_table(PEOPLE.select(["note"]), damaged, compression="none")
    for name, message in (
        ("nowhere", "error: Spark knows no table nowhere\n"),
        ("parquet.`/nowhere`", "error: Spark finds no Parquet file at parquet.`/nowhere`\n"),
        (table, f"error: the files of the source {table} differ in the column 'id', 'age'"),
    ):
        code, said = draft("--spark", name, "-o", "draft.yaml")
        assert code == 1
        assert message in said
        assert "fix: " in said
    content = bytearray(damaged.read_bytes())
    content[4:900] = bytes(896)
    damaged.write_bytes(content)
    code, said = draft("--spark", f"parquet.`{damaged}`", "-o", "draft.yaml")
    assert code == 1
    assert "error: Spark could not count the records of parquet." in said
    assert CANARY not in said
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


def test_what_the_command_line_lacks_is_said_before_spark_starts(draft, tmp_path, monkeypatch):
    for words, message in (
        (["--master", "local[2]"], "--master goes with --spark"),
        (["--spark", ""], "or --spark"),
        (["a.csv", "--spark", "people"], "`path` and `spark`"),
        (["--spark", "people", "--table", "people"], "`table` beside `url` alone"),
    ):
        code, said = draft(*words)
        assert (code, message in said) == (2, True), said
    monkeypatch.setitem(sys.modules, "pyspark", None)
    code, said = draft("--spark", "people")
    assert code == 1
    assert "pip install 'synth-publisher[spark]'" in said
    assert list(tmp_path.iterdir()) == []
