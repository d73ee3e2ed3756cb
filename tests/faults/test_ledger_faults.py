"""The ledger under kills, races, full disks and places that cannot be written."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest

from synth.bookkeeping import Ledger, RunState
from synth.errors import BudgetRefusedError, OutputError
from synth.privacy import Budget, Promise, TableEvent
from tests.command_line import words_of_synth

CAP = Budget(Fraction(1), Fraction(0))
TABLES = [TableEvent(("age",), 3, 1, Fraction(1, 2))]

PRELUDE = """
import os, signal, sqlite3, sys
from fractions import Fraction
from pathlib import Path
from synth.errors import SynthError
from synth.bookkeeping import Ledger, RunState
from synth.privacy import Budget, Promise, TableEvent

path = Path(sys.argv[1])

def reserve(ledger, release_id):
    return ledger.reserve(release_id=release_id, configuration_hash="c", population="people",
        promise=Promise("add-remove", None, None), cap=Budget(Fraction(1), Fraction(0)),
        events=[TableEvent(("age",), 3, 1, Fraction(1, 2))])
"""

DIE_AT_EVERY_STATEMENT = (
    PRELUDE
    + """
def job(directory, statements):
    def strike(statement):
        nonlocal statements
        statements -= 1
        if statements < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(*args, connect=sqlite3.connect, **options):
        connection = connect(*args, **options)
        connection.set_trace_callback(strike)
        return connection

    def say(state):
        with (directory / "said").open("a") as said:
            said.write(state + "\\n")

    sqlite3.connect = traced
    with Ledger.open(directory / "state" / "ledger.sqlite") as ledger:
        reserve(ledger, "a")
        say("reserved")
        for state in ("measured", "discarded", "published"):
            ledger.advance("a", RunState(state))
            say(state)
        reserve(ledger, "b")
        ledger.void("b", "a reason")
        say("voided")

statements = 0
while True:
    directory = path / str(statements)
    directory.mkdir()
    if (child := os.fork()) == 0:
        job(directory, statements)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
    if status == 0 or not os.WIFSIGNALED(status):
        break
    statements += 1
"""
)

RACE = (
    PRELUDE
    + """
sys.stdin.readline()
try:
    with Ledger.open(path) as ledger:
        reserve(ledger, sys.argv[2])
except SynthError as error:
    sys.exit(error.exit_code)
sys.exit(0)
"""
)

ORDER = ["reserved", "measured", "discarded", "published", "voided"]


def reserve(ledger: Ledger, release_id: str):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c",
        population="people",
        promise=Promise("add-remove", None, None),
        cap=CAP,
        events=TABLES,
    )


def finish(path: Path) -> None:
    """What the operator does after a kill: start the same job again."""
    with Ledger.open(path) as ledger:
        state, _ = reserve(ledger, "a")
        for step in (RunState.MEASURED, RunState.DISCARDED, RunState.PUBLISHED):
            if ORDER.index(state.value) < ORDER.index(step.value):
                ledger.advance("a", step)
        ledger.verify_chain()
        assert ledger.state("a").state is RunState.PUBLISHED
        assert ledger.state("a").position.spent_before.epsilon == 0


def test_killed_before_any_statement_the_journal_is_whole_and_charged_once(tmp_path):
    """Every SQL statement of a whole job is a place to die; the last process is not killed."""
    done = subprocess.run(
        [sys.executable, "-c", DIE_AT_EVERY_STATEMENT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # no threads beside the one that forks
    )
    codes = [int(code) for code in done.stdout.split()]
    assert len(codes) > 40
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    for statements in range(len(codes)):
        directory = tmp_path / str(statements)
        said = said_in(directory)
        path = directory / "state" / "ledger.sqlite"
        if path.exists():
            with Ledger.open(path) as ledger:
                run = ledger.state("a")
                # What was said to be recorded is recorded, and at most one step more.
                known = 0 if run is None else 1 + ORDER.index(run.state.value)
                heard = min(len(said), 4)
                assert known in (heard, heard + 1)
                assert ledger.position("people").spent.epsilon <= 1
        else:
            assert said == []
        finish(path)
        # SQLite leaves its journal where a writer died; the next writer takes it over.
        assert {entry.name for entry in path.parent.iterdir()} <= {
            "ledger.sqlite",
            "ledger.sqlite-journal",
            "runs",
        }
    assert said == ORDER


def said_in(directory: Path) -> list[str]:
    said = directory / "said"
    return said.read_text().split() if said.exists() else []


@pytest.mark.parametrize("exists", [False, True])
def test_of_many_processes_exactly_those_win_that_fit(tmp_path, exists):
    """The cap has room for two; six start at once, on a new ledger and on an old one."""
    path = tmp_path / "state" / "ledger.sqlite"
    if exists:
        Ledger.open(path).close()
    children = [
        subprocess.Popen([*words_of_synth(), "-c", RACE, path, f"r{i}"], stdin=subprocess.PIPE)
        for i in range(6)
    ]
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        child.stdin.close()
    codes = sorted(child.wait() for child in children)
    assert codes == [0, 0, 4, 4, 4, 4]
    with Ledger.open_existing(path) as ledger:
        assert ledger.position("people").spent == CAP
        winners = [run.release_id for run in ledger.position("people").runs]
        assert len(winners) == 2
        assert ledger.state(winners[1]).position.earlier_releases == (winners[0],)


def test_a_full_disk_charges_nothing_and_loses_nothing(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        reserve(ledger, "a")
        before = ledger.history()
        connection = ledger._file._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

        def fill():
            nonlocal before
            while True:
                reserve(ledger, "a")
                before = ledger.history()

        with pytest.raises(OutputError) as refusal:  # SQLite's own "database or disk is full"
            fill()
        assert refusal.value.exit_code == 1
        assert "full" in str(refusal.value)
        assert "free some space" in refusal.value.fix
        assert ledger.history() == before
        connection.execute("PRAGMA max_page_count = 1000000")
        assert reserve(ledger, "b")[0] is RunState.RESERVED
        ledger.verify_chain()


@pytest.fixture
def limit_file_size():
    """Files of this process can grow no further than `limit(size_bytes)`."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    signal.signal(signal.SIGXFSZ, handler)


def test_writes_that_fail_charge_nothing_and_lose_nothing(tmp_path, limit_file_size):
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        reserve(ledger, "a")
        before = ledger.history()
        for size in (0, 100, 600):  # the rollback journal itself does not fit
            limit_file_size(size)
            with pytest.raises(OutputError) as refusal:
                reserve(ledger, "b")
            assert refusal.value.exit_code == 1
            limit_file_size(resource.RLIM_INFINITY)
            assert ledger.history() == before
        assert reserve(ledger, "b")[0] is RunState.RESERVED
        ledger.verify_chain()
    with Ledger.open_existing(path) as ledger:
        assert len(ledger.history()) == len(before) + 1


def test_a_ledger_that_does_not_fit_on_the_disk_is_not_begun(tmp_path, limit_file_size):
    path = tmp_path / "state" / "ledger.sqlite"
    limit_file_size(4096)
    with pytest.raises(OutputError) as refusal:
        Ledger.open(path)
    limit_file_size(resource.RLIM_INFINITY)
    assert refusal.value.fix
    assert list(path.parent.iterdir()) == []
    Ledger.open(path).close()


@pytest.fixture
def powerless(monkeypatch):
    """A directory whose owner is not root, and this test run as that owner."""
    directory = Path(tempfile.mkdtemp())
    was_root = os.geteuid() == 0
    monkeypatch.chdir(directory)
    try:
        if was_root:
            os.chown(directory, 65534, 65534)
            os.seteuid(65534)
        yield directory
        directory.chmod(0o700)
        for entry in directory.rglob("*"):
            if entry.is_dir():
                entry.chmod(0o700)
    finally:
        if was_root:
            os.seteuid(0)
    subprocess.run(["rm", "-rf", str(directory)], check=True)


def test_a_read_only_directory_can_be_read_but_not_charged(powerless):
    path = powerless / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        reserve(ledger, "a")
    powerless.chmod(0o500)
    with Ledger.open(path) as ledger:
        assert ledger.state("a").state is RunState.RESERVED
        with pytest.raises(OutputError) as refusal:
            reserve(ledger, "b")
        assert "writable" in refusal.value.fix
        with pytest.raises(OutputError):
            ledger.advance("a", RunState.MEASURED)
    powerless.chmod(0o700)
    with Ledger.open(path) as ledger:
        assert ledger.state("b") is None
        assert ledger.state("a").state is RunState.RESERVED


def test_a_read_only_file_can_be_read_but_not_charged(powerless):
    path = powerless / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        reserve(ledger, "a")
    path.chmod(0o400)
    with Ledger.open(path) as ledger:
        assert ledger.state("a").state is RunState.RESERVED
        with pytest.raises(OutputError):
            reserve(ledger, "b")


def test_nothing_is_made_in_a_read_only_directory(powerless):
    powerless.chmod(0o500)
    for path in (powerless / "ledger.sqlite", powerless / "state" / "ledger.sqlite"):
        with pytest.raises(OutputError) as refusal:
            Ledger.open(path)
        assert refusal.value.exit_code == 1
    assert list(powerless.iterdir()) == []


def test_an_unreadable_file_is_not_made_anew(powerless):
    path = powerless / "ledger.sqlite"
    Ledger.open(path).close()
    size = path.stat().st_size
    path.chmod(0)
    with pytest.raises(OutputError):
        Ledger.open(path)
    assert path.stat().st_size == size


def test_a_torn_commit_is_rolled_back_from_its_journal(tmp_path):
    """A power cut in the middle of a commit: pages half written, the journal complete."""
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        reserve(ledger, "a")
        before = ledger.history()
        content = path.read_bytes()
        connection = ledger._file._connection
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN IMMEDIATE")
        while path.read_bytes() == content:  # until pages spill: then the journal is synced
            last = connection.execute(
                "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
            ).fetchone()
            connection.execute(
                "INSERT INTO events VALUES (?, ?, 'x', '', '', '', ?, 'h')",
                (last[0] + 1, last[1], "x" * 3000),
            )
        torn = path.read_bytes()
        journal = path.with_name("ledger.sqlite-journal").read_bytes()
        connection.execute("ROLLBACK")
    copy = tmp_path / "after the cut" / "ledger.sqlite"
    copy.parent.mkdir()
    copy.write_bytes(torn)
    copy.with_name("ledger.sqlite-journal").write_bytes(journal)
    with Ledger.open(copy) as ledger:
        assert ledger.history() == before
        with pytest.raises(BudgetRefusedError):
            ledger.reserve(
                release_id="b",
                configuration_hash="c",
                population="people",
                promise=Promise("add-remove", None, None),
                cap=CAP,
                events=[TableEvent(("age",), 3, 1, Fraction(3, 5))],
            )
    assert sqlite3.connect(copy).execute("PRAGMA quick_check").fetchone() == ("ok",)
