"""The how-to page on Spark: its commands are carried out, on the Spark session of the tests.

A run in processes of its own, with a Spark of its own, is in tests/end_to_end/test_spark.py.
"""

from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.cli import app
from synth.job import pipeline
from tests.docs.carried_out import carry_out
from tests.docs.test_how_to import INSTALL
from tests.docs.test_signing_page import DOCS

pytestmark = pytest.mark.xdist_group("spark")


def test_the_page_on_spark_is_carried_out(spark, tmp_path, monkeypatch, capfd):
    @contextmanager
    def that_session(master, _scratch):
        assert master == "local[2]"
        yield spark

    def measure_here(config, log, **_ways_of_a_process):
        pipeline.measure(config, log=log)

    monkeypatch.setattr("synth.curator.spark.engine.spark_process", that_session)
    monkeypatch.setattr(pipeline, "measure_in_own_process", measure_here)
    monkeypatch.chdir(tmp_path)

    def where_spark_is(place: Path, text: str) -> str:
        visits = {"age": [1, 44], "region": ["North", "South"], "patient": ["a", "b"]}
        (place / "visits").mkdir()
        pq.write_table(pa.table(visits), place / "visits" / "part-0.parquet")
        config = place / "visits.yaml"
        written = config.read_text()
        assert "`/data/visits`" in written
        config.write_text(written.replace("/data/visits", str(place / "visits")))
        for line in text.splitlines():
            program, *words = line.split()
            assert program == "synth"
            assert app(words, standalone_mode=False) in (None, 0)
        return capfd.readouterr().err

    others = INSTALL | {"run where Spark is": where_spark_is}
    assert others.keys() <= set(carry_out(DOCS / "how-to" / "spark.md", tmp_path, others))
    assert (tmp_path / "outputs" / "visits-2025" / "index.html").exists()
