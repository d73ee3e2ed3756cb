"""Runs on a Spark table: one fails in the middle, the next leads to a verified release."""

import importlib.util
import json
import os
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.bookkeeping import Ledger, RunState
from synth.config import load_config
from synth.release import verify_release
from tests.command_line import synth

CANARY = "CANARY7391"

# Ends the process of Java when the session is open and the table is asked for, and starts the same
# command again, in the same process and with the given variables. That the source is looked at
# before, on Spark, is tested in tests/unit/curator/test_spark_table.py.
KILLER = """
import json, os, sys
from pathlib import Path
from synth import curator
from synth.bookkeeping import Ledger
from synth.cli import main
from synth.curator.spark.engine import SparkEngine
curator.preflight = lambda *_, **__: None
opened = SparkEngine.open_records
def dies(engine, columns, **named):
    engine._session.sparkContext._gateway.proc.kill()
    return opened(engine, columns, **named)
_, configuration, state, later = sys.argv
sys.argv = ["synth", "measure", configuration]
SparkEngine.open_records = dies
try:
    main()
except SystemExit as ended:
    with Ledger.open_existing(Path(state) / "ledger.sqlite") as ledger:
        found = ledger.state("small").state, ledger.position("nobody").spent.epsilon
    print("ended", ended.code, *found, [*Path(state).rglob("scratch-*")], flush=True)
os.environ.update(json.loads(later))
SparkEngine.open_records = opened
main()
"""

WITHOUT_PYSPARK = """
import sys
sys.modules["pyspark"] = None
sys.argv = ["synth", "measure", sys.argv[1]]
from synth.cli import main
main()
"""

# What a careless administrator may have set: everything is written down, somewhere else.
TALKATIVE = """
spark.eventLog.enabled true
spark.eventLog.dir file://{place}/events
spark.local.dir {place}/spill
spark.ui.enabled true
spark.ui.showConsoleProgress true
spark.sql.ansi.enabled true
spark.driver.extraJavaOptions -Dlog4j2.configurationFile={place}/conf/log4j2.properties
"""
LOG_TO_FILE = """
appender.f.type = File
appender.f.name = f
appender.f.fileName = {place}/spark.log
appender.f.layout.type = PatternLayout
appender.f.layout.pattern = %m%n%ex
rootLogger.level = debug
rootLogger.appenderRef.f.ref = f
"""

FAST = {
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
}
"""Java compiles quickly rather than well, because no run here is long, and trusts the classes."""

pytestmark = pytest.mark.xdist_group("spark")
needs_spark = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None
    or (shutil.which("java") is None and "JAVA_HOME" not in os.environ),
    reason="Spark needs Java and pyspark: pip install '.[spark]'",
)


def start(
    place: Path, *words: object, program: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    (place / "work").mkdir(exist_ok=True)
    (place / "temporary").mkdir(exist_ok=True)
    variables = os.environ | {"TMPDIR": str(place / "temporary")} | environment
    return synth(*words, program=program, cwd=place / "work", environment=variables)


def spark_project(project, place: Path, table: str) -> Path:
    rows = [("34", "Female", "Nord", "a"), (CANARY, "Male", CANARY, "b"), ("7", "", "Süd", CANARY)]
    columns = dict(zip(("age", "sex", "town", "person"), zip(*rows * 50, strict=True), strict=True))
    (place / "people").mkdir()
    for part in range(3):
        pq.write_table(pa.table(columns), place / "people" / f"part-{part}.parquet")
    return project(
        people=None,
        source={"path": None, "spark": {"table": table, "master": "local[2]"}},
        privacy={"unit": {"column": "person", "max_records": 4}},
    )


def state_of(path: Path) -> RunState:
    config = load_config(path)
    with Ledger.open_existing(config.ledger.path) as ledger:
        assert ledger.position("nobody").spent.epsilon == Fraction(1)
        return ledger.state("small").state


def leaks(place: Path, finished: subprocess.CompletedProcess[str]) -> list[str]:
    files = [path for path in place.rglob("*") if path.is_file() and "people" not in path.parts]
    texts = {str(path): path.read_bytes() for path in files}
    texts |= {"output": finished.stdout.encode(), "error": finished.stderr.encode()}
    return [name for name, text in texts.items() if CANARY.encode() in text]


@needs_spark
def test_a_run_whose_spark_dies_is_taken_up_again_and_leaves_a_release_alone(project, tmp_path):
    path = spark_project(project, tmp_path, f"parquet.`{tmp_path}/people`")
    (tmp_path / "conf").mkdir()
    for name, text in {"spark-defaults.conf": TALKATIVE, "log4j2.properties": LOG_TO_FILE}.items():
        (tmp_path / "conf" / name).write_text(text.format(place=tmp_path))
    (tmp_path / "events").mkdir()
    talkative = {"SPARK_CONF_DIR": str(tmp_path / "conf"), "SPARK_LOCAL_DIRS": str(tmp_path / "s")}
    words = (path, tmp_path / "state", json.dumps(talkative))
    finished = start(tmp_path, *words, program=KILLER, **FAST)
    assert finished.returncode == 0, finished.stderr
    assert f"ended 1 {RunState.RESERVED} 1 []" in finished.stdout, "charged, and nothing is left"
    assert "Spark could not count the records of parquet." in finished.stderr
    assert "Traceback" not in finished.stderr
    assert state_of(path) is RunState.DISCARDED
    assert leaks(tmp_path, finished) == []

    published = start(tmp_path, "run", path)
    assert published.returncode == 0, published.stderr
    assert state_of(path) is RunState.PUBLISHED
    verify_release(tmp_path / "outputs" / "small")
    assert leaks(tmp_path, published) == []
    said = finished.stdout + finished.stderr
    assert not [word for word in ("log4j", "WARN", "Stage", "Picked up", "JVM") if word in said]
    assert {entry.name for entry in tmp_path.iterdir()} == {
        *("small.yaml", "people", "state", "outputs"),
        *("work", "temporary", "conf", "events"),
    }
    for empty in ("work", "temporary", "events"):
        assert list((tmp_path / empty).iterdir()) == []
    assert not list((tmp_path / "state").rglob("scratch-*"))
    assert processes_that_name(tmp_path) == []


@needs_spark
def test_without_java_the_run_says_so_and_nothing_is_charged(project, tmp_path):
    path = spark_project(project, tmp_path, f"parquet.`{tmp_path}/people`")
    finished = start(tmp_path, "run", path, JAVA_HOME=str(tmp_path / "none"))
    assert finished.returncode == 1, finished.stderr
    assert "Spark did not start" in finished.stderr
    assert "JAVA_HOME" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert str(tmp_path / "none") not in finished.stderr
    assert "no record was read and nothing was charged" in finished.stderr
    assert not (tmp_path / "state" / "ledger.sqlite").exists()


def test_without_pyspark_nothing_is_charged_and_the_run_says_how_to_get_it(project, tmp_path):
    path = spark_project(project, tmp_path, "people")
    finished = start(tmp_path, path, program=WITHOUT_PYSPARK)
    assert finished.returncode == 1, finished.stderr
    assert "pip install 'synth-publisher[spark]'" in finished.stderr
    assert not (tmp_path / "state" / "ledger.sqlite").exists()


def processes_that_name(place: Path) -> list[str]:
    """The processes whose command line names the directory: what was started for the run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(place).encode() in entry.read_bytes():
                found.append(entry.parent.name)
        except OSError:
            continue  # it has ended meanwhile
    return found
