"""The process of a Spark session: what it writes, and how its end is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from synth.curator.spark.engine import translated_failures
from synth.curator.spark.session import spark_process
from synth.errors import SourceError, SynthError

pytestmark = pytest.mark.xdist_group("spark")
SECRET = "CANARY7391"


@pytest.mark.parametrize(
    ("code", "message"), [(3, "not enough memory"), (1, "could not count the records of people")]
)
def test_the_end_of_the_process_says_whether_memory_was_short(code, message):
    ended = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
    with (
        pytest.raises(SynthError, match=message) as raised,
        translated_failures("people", ended),
    ):
        raise ConnectionRefusedError(SECRET)
    assert SECRET not in str(raised.value)
    assert raised.value.exit_code == 1


@pytest.mark.usefixtures("spark")
def test_a_second_session_in_one_process_is_refused(tmp_path):
    with (
        pytest.raises(SourceError, match="another Spark session is open"),
        spark_process("local[1]", tmp_path),
    ):
        pytest.fail("it was opened")


@pytest.mark.parametrize("name", ["two words", "a,b", "a%20b", "a'b", "$HOME"])
def test_a_directory_that_spark_would_misread_is_refused(tmp_path, name):
    with (
        pytest.raises(SourceError, match="a name that Spark cannot be given"),
        spark_process("local[1]", tmp_path / name),
    ):
        pytest.fail("it was opened")


def test_all_that_spark_writes_lies_in_the_scratch_directory(spark):
    configured = dict(spark.session.sparkContext.getConf().getAll())
    scratch = configured["spark.local.dir"]
    assert configured["spark.sql.warehouse.dir"].endswith(f"{scratch}/warehouse")
    assert configured["spark.io.encryption.enabled"] == "true"
    files = Path(f"/proc/{spark.process.pid}/fd")
    if not files.is_dir():
        pytest.skip("the system does not say which files a process has open")
    opened = {entry.name: str(entry.readlink()) for entry in files.iterdir()}
    assert opened["1"] == opened["2"] == "/dev/null"
    written = [name for name in opened.values() if name.startswith("/") and name[:5] != "/dev/"]
    outside = [name for name in written if not name.startswith(scratch)]
    assert all(name.endswith((".jar", "/lib/modules")) for name in outside), outside
