"""Strings planted in the input occur in no output, log or leftover file, on any path."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import synth

CANARY = "CANARY7391"
BIG = "73917391739173917391"

HEADER = "age,sex,town,note"
ROWS = f"34,Female,Nord,x\n{BIG},{CANARY},{CANARY},{CANARY}\n12,,Süd,y\n" * 5

MALFORMED = {
    "well-formed": ROWS,
    "too few fields": ROWS + f"{CANARY}\n{BIG},{CANARY}\n",
    "too many fields": ROWS + f"1,{CANARY},{CANARY},a,{CANARY}\n",
    "open quote": ROWS + f'1,"{CANARY},b,c\n',
    "quote inside": ROWS + f'1,{CANARY}"{CANARY},b,c\n2,"{CANARY}"x,b,c\n',
    "quoted newline": ROWS + f'1,"{CANARY}\n{CANARY}",b,c\n',
    "not utf-8": ROWS.encode() + b"1,\xff\xfe" + CANARY.encode() + b"\xc3\x28,b,c\n",
    "null bytes": ROWS.encode() + b"1,\x00" + CANARY.encode() + b"\x00,b,c\n",
    "huge field": ROWS + f"1,{CANARY * 400_000},b,c\n",
}


def start(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Execute Python with its output buffered, as it is when it does not go to a terminal."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, check=False, timeout=120, env=environment
    )


def forked(*words: object, program: str = "") -> subprocess.CompletedProcess[bytes]:
    """Carry out a command, or a program, in a process that need not load everything anew."""
    done = synth(*words, program=program)
    said, complained = done.stdout.encode(), done.stderr.encode()
    return subprocess.CompletedProcess(done.args, done.returncode, said, complained)


def run(path: Path) -> subprocess.CompletedProcess[bytes]:
    return forked("run", path)


def measure(path: Path) -> subprocess.CompletedProcess[bytes]:
    """All of a run that can see a value: what comes after knows nothing but what this leaves."""
    return forked("measure", path)


def leaks(directory: Path, finished: subprocess.CompletedProcess[bytes]) -> list[str]:
    """Where a planted string is found: output streams and every file but the source."""
    needles = (CANARY.encode(), BIG.encode())
    texts = {"stdout": finished.stdout, "stderr": finished.stderr}
    for path in directory.rglob("*"):
        if path.is_file() and not path.name.startswith("people."):
            texts[str(path.relative_to(directory))] = path.read_bytes()
    for name in list(texts):
        if name.endswith(".parquet"):
            texts[name] += repr(pq.read_table(directory / name).to_pydict()).encode()
    return [name for name, text in texts.items() if any(needle in text for needle in needles)]


def test_the_search_finds_a_leak(tmp_path):
    (tmp_path / "a.txt").write_text(f"x {CANARY} y")
    pq.write_table(pa.table({"v": [CANARY] * 9}), tmp_path / "b.parquet", compression="zstd")
    finished = subprocess.CompletedProcess([], 0, b"", f"error {BIG}".encode())
    assert set(leaks(tmp_path, finished)) == {"stderr", "a.txt", "b.parquet"}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_values_never_stop_a_run_and_never_come_out(project, kind):
    rows = MALFORMED[kind]
    raw = rows if isinstance(rows, bytes) else rows.encode()
    path = project(people=HEADER.encode() + b"\n" + raw)
    finished = (run if kind == "well-formed" else measure)(path)
    assert finished.returncode == 0, finished.stderr
    assert leaks(path.parent, finished) == []


FAILING = {
    "missing column": f"age,sex,note\n1,{CANARY},{CANARY}\n".encode(),
    "no header, values only": f"{CANARY},{BIG},{CANARY}\n".encode() * 3,
    "wrong delimiter": f"age;sex;town\n{BIG};{CANARY};{CANARY}\n".encode(),
    "column twice": f"age,sex,town,sex\n1,{CANARY},{CANARY},{CANARY}\n".encode(),
    "empty file": b"",
    "binary": bytes(range(256)) * 10 + CANARY.encode(),
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_file_that_does_not_fit_stops_the_run_without_a_value(project, kind):
    path = project(people=FAILING[kind])
    finished = run(path)
    assert finished.returncode == 1, finished.stderr
    assert b"people.csv" in finished.stderr
    assert b"Traceback" not in finished.stderr
    assert leaks(path.parent, finished) == []
    assert not (path.parent / "outputs" / "small").exists()


PARQUET = {
    "not utf-8, text for numbers, long text": {
        "sex": pa.array([b"Male", b"\xff" + CANARY.encode()]).view(pa.string()),
        "age": ["1", CANARY],
        "town": pa.array(["Nord", CANARY], pa.large_string()),
    },
    "floats for text, decimals": {
        "sex": [1.5, float("nan")],
        "age": pa.array([1, int(BIG)], pa.decimal128(30, 0)),
    },
    "booleans, large numbers": {
        "sex": [True, None],
        "age": pa.array([2**64 - 1, 1], pa.uint64()),
    },
    "nothing but nulls, a dictionary": {
        "sex": pa.nulls(2),
        "town": pa.array(["Nord", CANARY]).dictionary_encode(),
    },
}


@pytest.mark.parametrize("kind", PARQUET)
def test_no_value_of_a_parquet_file_stops_a_run_or_comes_out(project, kind):
    path = project(people=None, source={"path": "people.parquet"})
    columns = {"age": [34, 5], "sex": ["Male", "Female"], "town": ["Nord", "Süd"]}
    pq.write_table(pa.table({**columns, **PARQUET[kind]}), path.parent / "people.parquet")
    finished = measure(path)
    assert finished.returncode == 0, finished.stderr
    assert leaks(path.parent, finished) == []


@pytest.mark.parametrize("values", [[[1], [2]], [b"a", b"b"], [{"a": 1}, {"a": 2}]], ids=str)
def test_a_column_without_plain_text_is_refused_by_its_type(project, values):
    path = project(people=None, source={"path": "people.parquet"})
    table = pa.table({"age": [1, 2], "sex": values, "town": ["Nord", "Süd"]})
    pq.write_table(table, path.parent / "people.parquet")
    finished = run(path)
    assert finished.returncode == 1
    assert b"'sex' in a type that cannot be counted" in finished.stderr


def test_the_names_of_files_that_a_pattern_finds_are_not_printed(project):
    path = project(people=None, source={"path": "part-*.csv"})
    (path.parent / f"part-{CANARY}.csv").write_text("age,sex\n")
    finished = run(path)
    assert finished.returncode == 1
    assert CANARY.encode() not in finished.stdout + finished.stderr
    assert b"part-*.csv" in finished.stderr


@pytest.mark.parametrize("cut", [10, -20])
def test_a_damaged_gzip_file_stops_the_run_without_a_value(project, cut):
    path = project(people=None, source={"path": "people.csv.gz"})
    packed = gzip.compress((HEADER + "\n" + ROWS * 500).encode())
    (path.parent / "people.csv.gz").write_bytes(packed[:cut])
    finished = run(path)
    assert finished.returncode == 1, finished.stderr
    assert leaks(path.parent, finished) == []


def test_a_damaged_parquet_file_stops_the_run_without_a_value(project):
    path = project(people=None, source={"path": "people.parquet"})
    table = pa.table({"age": [BIG] * 99, "sex": [CANARY] * 99, "town": [CANARY] * 99})
    pq.write_table(table, path.parent / "people.parquet", compression="none")
    content = bytearray((path.parent / "people.parquet").read_bytes())
    content[20:400] = bytes(380)
    (path.parent / "people.parquet").write_bytes(content)
    finished = run(path)
    assert finished.returncode == 1, finished.stderr
    assert leaks(path.parent, finished) == []


# Breaks the measuring process in the middle, with raw values in the exception and its frames.
BREAKER = """
import ctypes, sys
kind, where, config = sys.argv[1:4]
import synth.curator.measuring as curator, synth.curator.counting.tabulate as tabulate
secret = "CANARY7391"
def fails(*args, **kwargs):
    print("seen", secret)
    print("seen", secret, file=sys.stderr, end="")
    ctypes.CDLL(None).printf(b"seen %s", secret.encode())
    raw = [secret]
    raise {"bug": ValueError, "memory": MemoryError, "disk": OSError, "stop": KeyboardInterrupt,
           "exit": SystemExit}[kind](secret)
if where == "count":
    tabulate.encode_records = fails
else:
    curator.measure_table = fails
sys.argv = ["synth", "measure", config]
from synth.cli import main
main()
"""

EXECUTED = {("bug", "count"), ("stop", "noise")}
"""What is broken in a process that also starts and ends as it does where no test runs."""


@pytest.mark.parametrize(
    ("kind", "code", "where"),
    [
        ("bug", 3, "count"),
        ("memory", 1, "count"),  # while it counts, an engine answers for memory and disk
        ("memory", 1, "noise"),
        ("disk", 1, "count"),
        ("disk", 1, "noise"),
        ("stop", 130, "noise"),
        ("exit", 3, "noise"),
    ],
)
def test_a_failure_in_the_middle_says_nothing_that_was_read(project, kind, code, where):
    path = project(people=HEADER + "\n" + ROWS)
    if (kind, where) in EXECUTED:
        finished = start("-c", BREAKER, kind, where, str(path))
    else:
        finished = forked(kind, where, path, program=BREAKER)
    assert finished.returncode == code, finished.stderr
    assert b"Traceback" not in finished.stderr
    assert leaks(path.parent, finished) == []
    assert not list((path.parent / "state").rglob("scratch-*"))


def test_the_scrubbed_error_keeps_no_reference_to_what_was_read(project, monkeypatch, log):
    import synth.curator.measuring as curator
    from synth.config import load_config
    from synth.errors import BugError
    from synth.job import pipeline

    class Raw:
        pass

    def fails(*_: object) -> None:
        raw = Raw()
        raise ValueError(raw)

    monkeypatch.setattr(curator, "tabulate", fails)
    with pytest.raises(BugError) as caught:
        pipeline.measure(load_config(project()), log=log)
    import gc

    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert not [thing for thing in gc.get_objects() if type(thing) is Raw]
