"""The file: private, durable, recognised, never made anew over something else."""

import os
import sqlite3
import stat

import pytest

from synth.bookkeeping import Ledger
from synth.bookkeeping.file import LedgerFile
from synth.errors import BusyError, LedgerError


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_modes_do_not_depend_on_the_umask(tmp_path, umask):
    path = tmp_path / "deep" / "er" / "ledger.sqlite"
    before = os.umask(umask)
    try:
        Ledger.open(path).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["ledger.sqlite"]


def test_a_directory_that_exists_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    Ledger.open(tmp_path / "ledger.sqlite").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_commits_are_as_durable_as_sqlite_can_make_them(ledger):
    connection = ledger._file._connection
    assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_open_existing_makes_nothing(tmp_path):
    with pytest.raises(LedgerError, match="no ledger here"):
        Ledger.open_existing(tmp_path / "ledger.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_strange_names_are_only_names(tmp_path):
    path = tmp_path / "a ?mode=memory#%41.sqlite"
    Ledger.open(path).close()
    assert path.stat().st_size > 0
    Ledger.open_existing(path).close()


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"release_id,epsilon\n", b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_what_is_no_ledger_is_refused_and_left_alone(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(LedgerError) as refusal:
        Ledger.open(path)
    assert refusal.value.fix
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(path):
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY)")
    connection.close()
    with pytest.raises(LedgerError, match="not a ledger of `synth`"):
        Ledger.open(path)


def test_a_directory_in_its_place_is_refused(path):
    path.mkdir(parents=True)
    for attempt in (Ledger.open, Ledger.open_existing):
        with pytest.raises(LedgerError, match="this is a directory") as refusal:
            attempt(path)
        assert "creates" not in str(refusal.value)


@pytest.mark.usefixtures("ledger")
def test_a_newer_schema_is_refused_clearly(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 6")
    connection.close()
    with pytest.raises(LedgerError, match="ledger schema 6 is not known"):
        Ledger.open(path)


@pytest.mark.parametrize("kept", [1, 100, 4096, 8192, 10000])
def test_a_truncated_file_is_refused(path, ledger, reserve, kept):
    for number in range(20):
        reserve(f"r{number}", "1/100")
    ledger.close()
    content = path.read_bytes()
    path.write_bytes(content[:kept])
    with pytest.raises(LedgerError):
        Ledger.open(path)
    assert path.read_bytes() == content[:kept]


@pytest.mark.usefixtures("ledger")
def test_a_lost_file_with_its_journal_left_is_not_made_anew(path):
    path.rename(path.with_name("ledger.sqlite-journal"))
    with pytest.raises(LedgerError, match="the file is gone"):
        Ledger.open(path)
    assert not path.exists()


def test_every_flipped_byte_is_harmless_or_refused(path, ledger, reserve):
    """No flip changes what the ledger says; most are refused."""
    for number in range(3):
        reserve(f"r{number}", "1/3")
    expected = ledger.history()
    ledger.close()
    content = bytearray(path.read_bytes())
    refused = 0
    for place in range(0, len(content), 37):
        content[place] ^= 0xFF
        path.write_bytes(content)
        try:
            with Ledger.open(path) as opened:
                assert opened.history() == expected
        except LedgerError:
            refused += 1
        content[place] ^= 0xFF
    assert refused > 50


def test_a_second_writer_is_told_that_the_ledger_is_busy(path, ledger, reserve):
    reserve("a")
    with Ledger.open_existing(path, busy_timeout_seconds=0.05) as other:
        with ledger._file.writing(), pytest.raises(BusyError):
            other.void("a", "a reason")
        other.void("a", "a reason")


def test_an_error_inside_a_transaction_leaves_nothing(path, ledger, reserve):
    reserve("a")
    before = ledger.history()

    def stop_inside():
        with ledger._file.writing():
            ledger._append("void", "people", "a", {"reason": "a reason"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_inside()
    assert ledger.history() == before
    LedgerFile(path, busy_timeout_seconds=0).close()
