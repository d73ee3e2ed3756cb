"""What can be known of a source without reading a record is found out before the charge."""

import gzip
import os
import subprocess
import threading
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth import curator
from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.run_directory import run_directory
from synth.config import load_config
from synth.errors import BudgetRefusedError, SourceError
from synth.job import pipeline
from synth.privacy import Budget, Promise, TableEvent
from tests.command_line import synth

CANARY = "CANARY7391"
NOTHING_CHARGED = "no record was read and nothing was charged"
HOW_TO_VOID = "synth ledger CONFIG void small --reason TEXT"
WHOLE = {"age": [1], "sex": ["Male"], "town": ["Nord"]}


def an_account(path: Path) -> Path:
    """The ledger of a configuration, in which another release was charged already."""
    config = load_config(path)
    with Ledger.open(config.ledger.path) as ledger:
        ledger.reserve(
            release_id="earlier",
            configuration_hash="c0ffee",
            population="nobody",
            cap=Budget(Fraction(2), Fraction(0)),
            events=[TableEvent(("age",), 5, 1, Fraction(1))],
            promise=Promise.of(config.privacy),
        )
    return config.ledger.path


def reservations(path: Path) -> int:
    with Ledger.open_existing(load_config(path).ledger.path) as ledger:
        return [event.kind for event in ledger.history()].count("reserve")


def require_free_of_charge(
    path: Path, sentence: str, verb: str = "run", accounts: tuple[bool, ...] = (False,)
) -> None:
    """One sentence, exit 1, and a ledger that is not even made, or is as before."""
    ledger = load_config(path).ledger.path
    for has_account in accounts:
        before = an_account(path).read_bytes() if has_account else None
        refused = synth(verb, path)
        require_refused(refused, sentence)
        assert NOTHING_CHARGED in refused.stderr
        assert "stays reserved" not in refused.stderr
        assert (ledger.read_bytes() if ledger.exists() else None) == before
        left = {entry.name for entry in run_directory(load_config(path)).iterdir()}
        assert left == {"lock"}


def require_refused(refused: subprocess.CompletedProcess[str], sentence: str) -> None:
    assert refused.returncode == 1, refused.stderr
    errors = [line for line in refused.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, refused.stderr
    assert sentence in errors[0]
    assert CANARY not in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("host", ["localhost:1", "nowhere.invalid", "{directory}"], ids=str)
def test_a_server_that_does_not_answer_costs_nothing(project, tmp_path, host):
    place = f"postgresql://{host}/db"
    if host == "{directory}":
        place = f"postgresql:///db?host={tmp_path}"
    path = project(people=None, source={"path": None, "url": place, "table": "people"})
    require_free_of_charge(path, "source.url cannot be reached, or does not accept this user")


TEXTS = {
    "a column is missing": (f"age,sex,{CANARY}\n1,Male,Nord\n", "has no column 'town'"),
    "another delimiter": (f"age;sex;town;{CANARY}\n1;Male;Nord;x\n", "has no column 'age', 'sex'"),
    "another encoding": ("age,sex,town\n1,Male,Nord\n".encode("utf-16"), "has no column 'age'"),
    "records without a header": (f"1,Male,{CANARY}\n", "has no column 'age', 'sex', 'town'"),
    "a column twice": (f"age,sex,town,sex,{CANARY}\n", "has more than one column 'sex'"),
    "an empty file": ("", "has no readable header line"),
    "a quote that is never closed": (f'age,sex,"town,{CANARY}\n' * 9, "has no column 'town'"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_header_that_does_not_fit_costs_nothing(project, kind):
    content, sentence = TEXTS[kind]
    accounts = (False, True) if kind == "a column is missing" else (False,)
    sentence = f"the source people.csv {sentence}"
    require_free_of_charge(project(people=content), sentence, accounts=accounts)


def test_a_column_of_periods_that_is_not_there_costs_nothing(project):
    path = project(
        release={"id": "small-{period}"},
        source={"where": {"column": "seen_on", "within": "period"}},
        series={"every": "month", "first": "2026-01", "rows": "new", "horizon": 12},
    )
    refused = synth("run", path, "--period", "2026-01")
    require_refused(refused, "has no column 'seen_on'")
    assert NOTHING_CHARGED in refused.stderr
    assert not (path.parent / "state" / "ledger.sqlite").exists()


def test_a_file_that_is_not_there_costs_nothing(project):
    path = project(people=None)
    require_free_of_charge(path, "source.path names no file", "measure", accounts=(False, True))


def test_a_text_file_called_gzipped_costs_nothing(project, tmp_path):
    path = project(people=None, source={"path": "people.csv.gz"})
    (tmp_path / "people.csv.gz").write_text("age,sex,town\n1,Male,Nord\n")
    require_free_of_charge(path, "holds a damaged or incomplete file")


TABLES = {
    "a column of lists": ({**WHOLE, "sex": [["Male"]]}, "holds 'sex' in a type that cannot be"),
    "a column of bytes": ({**WHOLE, "town": [b"Nord"]}, "holds 'town' in a type that cannot be"),
    "a column is missing": ({"age": [1], "sex": ["x"], CANARY: [1]}, "has no column 'town'"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_one_parquet_file_of_many_with_a_wrong_schema_costs_nothing(project, tmp_path, kind):
    columns, sentence = TABLES[kind]
    path = project(people=None, source={"path": "part-*.parquet"})
    pq.write_table(pa.table(WHOLE), tmp_path / "part-1.parquet")
    pq.write_table(pa.table(columns), tmp_path / "part-2.parquet")
    require_free_of_charge(path, f"the source part-*.parquet {sentence}")


def test_a_file_without_a_schema_costs_nothing(project, tmp_path):
    path = project(people=None, source={"path": "people.parquet"})
    (tmp_path / "people.parquet").write_text(f"age,sex,town\n1,Male,{CANARY}\n")
    require_free_of_charge(path, "the source could not be read")


def test_a_person_column_written_in_two_ways_costs_nothing(project, tmp_path):
    path = project(
        people=None,
        source={"path": "people.parquet"},
        privacy={"unit": {"column": "person", "max_records": 2}},
    )
    pq.write_table(pa.table({**WHOLE, "person": [1.5]}), tmp_path / "people.parquet")
    require_free_of_charge(path, "does not hold 'person' as whole numbers, or as text")


# A command that permissions hold for, whoever runs the tests: without the capabilities
# CAP_DAC_OVERRIDE (1) and CAP_DAC_READ_SEARCH (2).
WITHOUT_PRIVILEGES = """
import ctypes, sys
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)()
system = ctypes.CDLL(None)
assert system.capget(header, sets) == 0
for first_word in range(3):
    sets[first_word] &= ~(1 << 1 | 1 << 2)
assert system.capset(header, sets) == 0
from synth.cli import main
sys.argv = ["synth", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("kind", ["csv", "parquet", "directory"])
def test_a_file_that_may_not_be_read_costs_nothing(project, tmp_path, kind):
    name = "people.parquet" if kind == "parquet" else "people.csv"
    (tmp_path / "raw").mkdir()
    path = project(people=None, source={"path": f"raw/{name}"})
    if kind == "parquet":
        pq.write_table(pa.table(WHOLE), tmp_path / "raw" / name)
    else:
        (tmp_path / "raw" / name).write_text("age,sex,town\n1,Male,Nord\n")
    closed = tmp_path / "raw" if kind == "directory" else tmp_path / "raw" / name
    closed.chmod(0)
    try:
        refused = synth("run", path, program=WITHOUT_PRIVILEGES)
    finally:
        closed.chmod(0o700)
    require_refused(refused, f"this user may not read the source {name}")
    assert NOTHING_CHARGED in refused.stderr
    assert not load_config(path).ledger.path.exists()
    if kind == "csv":
        assert synth("run", path).returncode == 0, "with permission it is read"


def test_what_only_reading_brings_up_is_found_after_the_charge(project, tmp_path):
    """And then it is said how the charge is freed; before it is, every start says so."""
    path = project(people=None, source={"path": "people.csv.gz"})
    packed = gzip.compress(f"age,sex,town\n{'1,Male,Nord' * 99}\n".encode())
    (tmp_path / "people.csv.gz").write_bytes(packed[:-8] + bytes(8))
    damaged = synth("run", path)
    require_refused(damaged, "the source people.csv.gz holds a damaged or incomplete file")
    assert HOW_TO_VOID in damaged.stderr
    assert NOTHING_CHARGED not in damaged.stderr
    assert reservations(path) == 1
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"age,sex\n1,Male\n"))
    again = synth("run", path)
    require_refused(again, "has no column 'town'")
    assert HOW_TO_VOID in again.stderr, "the charge of the first start is still there"
    assert NOTHING_CHARGED not in again.stderr
    with Ledger.open_existing(load_config(path).ledger.path) as ledger:
        assert ledger.state("small").attempts == 1, "no attempt was made"
    (tmp_path / "people.csv.gz").unlink()
    require_refused(synth("run", path), "source.path names no file")
    assert synth("ledger", path, "void", "small", "--reason", "a test").returncode == 0
    freed = synth("run", path)
    require_refused(freed, "source.path names no file")
    assert NOTHING_CHARGED in freed.stderr


def preflight(path: Path, files: list[Path] | None = None) -> None:
    config = load_config(path)
    files = [config.source.path] if files is None else files
    curator.preflight(config, config.source, files, directory=path.parent)


def test_no_record_of_a_parquet_file_is_read(project, log, tmp_path):
    path = project(people=None, source={"path": "people.parquet"})
    columns = {name: values * 999 for name, values in WHOLE.items()}
    pq.write_table(pa.table(columns), tmp_path / "people.parquet", compression="none")
    content = (tmp_path / "people.parquet").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    (tmp_path / "people.parquet").write_bytes(
        content[:4] + b"\xff" * (len(content) - 4 - footer) + content[-footer:]
    )
    preflight(path)
    with pytest.raises(SourceError, match="could not be read to its end") as caught:
        pipeline.measure(load_config(path), log=log)
    assert HOW_TO_VOID in caught.value.fix


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_no_record_of_a_text_file_is_waited_for(project, tmp_path, ending):
    """Behind the header of this one nothing ever comes, and its end does not come either."""
    path, pipe = project(people=None), tmp_path / "people.csv"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)
    ended = threading.Event()

    def look() -> None:
        preflight(path, [pipe])
        ended.set()

    try:
        os.write(descriptor, f"age,sex,town{ending}1,".encode())
        threading.Thread(target=look, daemon=True).start()
        assert ended.wait(120), "it waits for a record"
    finally:
        os.close(descriptor)


def test_the_outcome_is_the_same_whatever_the_records_are(project):
    for records in ("", "\n\n", "1\n", f'{CANARY},"', "9" * 3_000_000, "\0" * 99):
        preflight(project(people=f"age,sex,town\n{records}"))


def test_a_refused_budget_opens_no_source(project, log, monkeypatch):
    monkeypatch.setattr(curator, "preflight", lambda *_, **__: pytest.fail("it was opened"))
    path = project(ledger={"epsilon_cap": "1/2"})
    refused = synth("measure", path)
    assert refused.returncode == 4, refused.stderr
    assert not load_config(path).ledger.path.exists()
    path = project(privacy={"epsilon": "3/2"})
    before = an_account(path).read_bytes()
    with pytest.raises(BudgetRefusedError, match="does not allow this release"):
        pipeline.measure(load_config(path), log=log)
    assert load_config(path).ledger.path.read_bytes() == before


def test_what_is_measured_needs_no_source_any_more(project, log, monkeypatch):
    path = project()
    config = load_config(path)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "advance", lambda *_, **__: pytest.exit("as if it was killed"))
        with pytest.raises(pytest.exit.Exception):
            pipeline.measure(config, log=log)
    (path.parent / "people.csv").unlink()
    assert pipeline.measure(config, log=log).was_there is False
    with Ledger.open_existing(config.ledger.path) as ledger:
        assert ledger.state("small").state is RunState.DISCARDED
    assert pipeline.measure(config, log=log).was_there is True
