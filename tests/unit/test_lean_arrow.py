"""Arrow without pandas, each time in an interpreter of its own."""

import subprocess
import sys

LOADED = """
import sys
from synth.lean_arrow import load_arrow_without_pandas

{before}
load_arrow_without_pandas()
import pyarrow as pa

whole = pa.array([1, 2]).to_numpy().tolist()
texts = pa.array(["a", None]).to_numpy(zero_copy_only=False).tolist()
assert (whole, texts) == ([1, 2], ["a", None])
assert ("pandas" in sys.modules) is {expected}
import pandas as pd

frame = pa.table({{"n": pa.array([1, 2])}}).to_pandas()
assert frame.equals(pd.DataFrame({{"n": [1, 2]}}))
assert pa.array(pd.Series([1.0, None])).null_count == 1
"""


def carried_out(before, expected):
    code = LOADED.format(before=before, expected=expected)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_conversions_load_no_pandas_and_data_frames_still_work():
    carried_out("", expected=False)


def test_what_was_loaded_before_stays_as_it_is():
    carried_out("import pandas", expected=True)
    carried_out("import pyarrow as pa; pa.array([0])", expected=True)


INTERRUPTED = """
import signal, sys
from synth import lean_arrow

refuse, refused = lean_arrow._refuse, []

def refuse_late(name):
    refused.append(name)
    if len(refused) == 2:  # the first time pyarrow lets an exception pass
        signal.raise_signal(signal.SIGTERM)
    refuse(name)

def stop(*_):
    raise KeyboardInterrupt

lean_arrow._refuse = refuse_late
signal.signal(signal.SIGTERM, stop)
try:
    lean_arrow.load_arrow_without_pandas()
except KeyboardInterrupt:
    assert len(refused) == 2 and "pyarrow" in sys.modules
    assert signal.getsignal(signal.SIGTERM) is stop
else:
    raise AssertionError("the signal was dropped")
"""


def test_a_signal_that_comes_while_arrow_is_loaded_stops_the_command():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


CALLED_FROM_PYTHON = """
import sys
from synth import errors, pipeline

def measured(path, period, log, *, require, **_):
    require()
    raise errors.SynthError("far enough")

pipeline.measure_in_own_process = measured
try:
    pipeline.run(sys.argv[1])
except errors.SynthError as error:
    assert error.sentence == "far enough", error
import pandas as pd, pyarrow as pa

assert pa.array(pd.Series([1.0, None])).null_count == 1
assert pa.array(pd.Series(["a", None])).null_count == 1
"""


def test_a_run_from_python_leaves_pyarrow_as_it_is(project):
    done = subprocess.run(
        [sys.executable, "-c", CALLED_FROM_PYTHON, str(project())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_processes_of_a_run_load_no_pandas(project, tmp_path):
    """A pandas that fails when it is loaded is never met, from the ledger to the verification."""
    broken = tmp_path / "broken" / "pandas"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise SystemExit('pandas was loaded')")
    path = project()
    for command in (["run", path], ["verify", path.parent / "outputs" / "small"]):
        done = subprocess.run(
            [sys.executable, "-m", "synth", *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(broken.parent)},
        )
        assert done.returncode == 0, done.stderr
        assert "pandas was loaded" not in done.stdout + done.stderr
