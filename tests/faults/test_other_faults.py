"""Broken ledgers, clocks that go back, two runs at once, sources exchanged, umasks, full disks."""

import os
import shutil
import stat
import subprocess
from datetime import datetime as real_datetime
from fractions import Fraction

import pytest

from synth import curator
from synth.bookkeeping import Ledger, RunLock, RunState
from synth.bookkeeping.run_directory import run_directory
from synth.catalogue import INDEX_FILES
from synth.config import load_config
from synth.errors import BusyError, LedgerError, OutputError, SourceError, SynthError
from synth.job import pipeline
from synth.privacy import Budget, Promise, TableEvent
from synth.release import verify_release
from tests.command_line import synth, words_of_synth

QUICK = {"strategy": "identity", "output": {"formats": ["csv"]}}


def measured_and_published(config, log):
    pipeline.measure(config, log=log)
    return pipeline.publish(config, log=log).path


def charges(config):
    with Ledger.open_existing(config.ledger.path) as ledger:
        ledger.verify_chain()
        kinds = [event.kind for event in ledger.history()]
        return kinds.count("reserve"), ledger.position("nobody").spent.epsilon


BREAKS = {
    "truncated to nothing": lambda content: content[:0],
    "cut in a page": lambda content: content[:5000],
    "cut at a page": lambda content: content[:4096],
    "no header": lambda content: bytes(100) + content[100:],
    "zeros at the end": lambda content: content[:-4096] + bytes(4096),
    "another file": lambda content: b"age,sex\n" * len(content),
}


@pytest.mark.parametrize("how", BREAKS)
def test_with_a_broken_ledger_nothing_is_opened_charged_or_repaired(project, log, how):
    config = load_config(project(**QUICK))
    pipeline.measure(config, log=log)
    config = load_config(project(release={"id": "next"}, people="stops whoever opens it", **QUICK))
    path = config.ledger.path
    broken = BREAKS[how](path.read_bytes())
    path.write_bytes(broken)
    with pytest.raises(LedgerError) as refusal:
        pipeline.measure(config, log=log)
    assert refusal.value.fix
    assert path.read_bytes() == broken
    assert not (run_directory(config) / "measurements.parquet").exists()


def test_every_single_flipped_bit_of_the_events_is_found(project, log, tmp_path):
    """Wherever a bit of the file flips, what was spent is as before, or the ledger is refused."""
    config = load_config(project(**QUICK))
    pipeline.measure(config, log=log)
    content = config.ledger.path.read_bytes()
    before = charges(config)
    refused = 0
    copy = tmp_path / "copy.sqlite"
    for place in range(0, len(content), 61):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        copy.write_bytes(flipped)
        try:
            with Ledger.open_existing(copy) as ledger:
                assert ledger.position("nobody").spent.epsilon == before[1]
                assert ledger.state("small").state is RunState.DISCARDED
        except (LedgerError, OutputError):
            refused += 1
    assert refused > 20


def test_a_lost_journal_of_a_torn_commit_is_not_taken_for_a_ledger(tmp_path):
    """The journal is what could undo half a commit: without it the pages do not fit together."""
    path = tmp_path / "ledger.sqlite"
    table = [TableEvent(("age",), 3, 1, Fraction(1, 100))]

    def reserve(ledger, number):
        ledger.reserve(
            release_id=f"r{number}",
            configuration_hash="c",
            population="people",
            promise=Promise("add-remove", None, None),
            cap=Budget(Fraction(1), Fraction(0)),
            events=table,
        )

    with Ledger.open(path) as ledger:
        for number in range(12):
            reserve(ledger, number)
        old = path.read_bytes()
        for number in range(12, 30):
            reserve(ledger, number)
    new = path.read_bytes()
    torn = new[:4096] + old[4096:] + new[len(old) :]
    path.write_bytes(torn)
    with pytest.raises(LedgerError):
        Ledger.open_existing(path)
    assert path.read_bytes() == torn


def test_a_clock_set_back_changes_no_order_and_no_sum(tmp_path):
    """Events are ordered by their numbers; the day is only written beside them."""
    days = iter(["2026-03-01", "2026-03-01", "1999-12-31", "1970-01-01", "2026-03-02"])
    with Ledger.open(tmp_path / "ledger.sqlite", today=lambda: next(days)) as ledger:
        for name in ("a", "b"):
            ledger.reserve(
                release_id=name,
                configuration_hash="c",
                population="people",
                promise=Promise("add-remove", None, None),
                cap=Budget(Fraction(1), Fraction(0)),
                events=[TableEvent(("age",), 3, 1, Fraction(1, 2))],
            )
        ledger.advance("a", RunState.MEASURED)
        ledger.verify_chain()
        assert [event.day for event in ledger.history()][1:] == [
            "2026-03-01",
            "1999-12-31",
            "1970-01-01",
        ]
        assert ledger.position("people").spent.epsilon == 1
        assert ledger.state("b").position.earlier_releases == ("a",)


def test_a_run_whose_clock_goes_back_between_its_steps(project, log, monkeypatch):
    class Back(real_datetime):
        @classmethod
        def now(cls, tz=None):
            return real_datetime(1980, 1, 1, tzinfo=tz)

    config = load_config(project(**QUICK))
    pipeline.measure(config, log=log)
    for module in ("synth.bookkeeping.ledger", "synth.release.write"):
        monkeypatch.setattr(f"{module}.datetime", Back, raising=False)
    os.utime(run_directory(config) / "measurements.parquet", (0, 0))
    folder = pipeline.publish(config, log=log).path
    verify_release(folder)
    assert charges(config) == (1, 1)


def test_of_two_runs_at_once_one_works_and_the_other_touches_nothing(project, log):
    config = load_config(project(**QUICK))
    with RunLock.for_run(config.ledger.path, "small"):
        for job in (pipeline.measure, pipeline.publish):
            with pytest.raises(BusyError):
                job(config, log=log)
        assert not config.ledger.path.exists()
    measured_and_published(config, log)
    assert charges(config) == (1, 1)


def test_three_real_runs_started_together_end_with_one_release(project):
    path = project(**QUICK)
    command = [*words_of_synth(), "run", str(path)]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [run.communicate(timeout=300)[1] for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes, said
    assert set(codes) <= {0, 1}, said
    for code, text in zip(codes, said, strict=True):
        assert code == 0 or "another process" in text
    config = load_config(path)
    verify_release(config.output.directory / "small")
    assert charges(config) == (1, 1)


def during_the_count(monkeypatch, change):
    """Do `change` after the source was looked at and before it is counted."""
    original = curator.record_measured_files

    def then_change(*arguments, **named):
        original(*arguments, **named)
        change()

    monkeypatch.setattr(curator, "record_measured_files", then_change)


def test_a_source_removed_in_the_middle_leaves_the_charge_and_nothing_else(
    project, log, monkeypatch
):
    path = project(source={"disposal": "delete"}, **QUICK)
    source = path.parent / "people.csv"
    content = source.read_bytes()
    config = load_config(path)
    with monkeypatch.context() as patch:
        during_the_count(patch, source.unlink)
        with pytest.raises(SourceError, match="stays reserved"):
            pipeline.measure(config, log=log)
    assert charges(config) == (1, 1)
    assert not (run_directory(config) / "measurements.parquet").exists()
    source.write_bytes(content)
    verify_release(measured_and_published(config, log))
    assert charges(config) == (1, 1)
    assert not source.exists()


def test_a_source_replaced_once_it_is_measured_is_not_deleted(project, log, monkeypatch):
    path = project(source={"disposal": "delete"}, **QUICK)
    source = path.parent / "people.csv"
    config = load_config(path)
    original = curator.discard

    def replace_and_discard(*arguments):
        other = path.parent / "other.csv"
        other.write_text("age,sex,town\n1,Male,Nord\n")
        other.replace(source)
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(curator, "discard", replace_and_discard)
        with pytest.raises(SynthError, match="was changed after it was measured and is kept"):
            pipeline.measure(config, log=log)
    assert source.read_text() == "age,sex,town\n1,Male,Nord\n"
    assert charges(config) == (1, 1)
    source.unlink()  # moved away, as the message says
    verify_release(measured_and_published(config, log))
    assert charges(config) == (1, 1)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_of_a_whole_run_do_not_depend_on_the_umask(project, umask):
    path = project(source={"disposal": "keep"})
    before = os.umask(umask)
    try:
        done = synth("run", path)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    config = load_config(path)
    private = [config.ledger.path.parent, *config.ledger.path.parent.rglob("*")]
    names = {entry.name for entry in private}
    assert {"ledger.sqlite", "lock", "measurements.parquet", "receipt.json"} <= names
    for entry in private:
        expected = 0o700 if entry.is_dir() else 0o600
        assert stat.S_IMODE(entry.stat().st_mode) == expected, entry.name
    public = [config.output.directory, *config.output.directory.rglob("*")]
    for entry in public:
        expected = 0o755 if entry.is_dir() else 0o644
        assert stat.S_IMODE(entry.stat().st_mode) == expected, entry.name


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_of_scratch_and_journal_while_they_exist(project, log, monkeypatch, umask):
    config = load_config(project(**QUICK))
    seen = {}

    def look(*_):
        for entry in config.ledger.path.parent.rglob("*"):
            seen[entry.name.split("-x")[0]] = (entry.is_dir(), stat.S_IMODE(entry.stat().st_mode))

    from synth.curator import measuring

    counted, committed = measuring.tabulate, Ledger._append
    monkeypatch.setattr(measuring, "tabulate", lambda *a, **k: (look(), counted(*a, **k))[1])
    monkeypatch.setattr(Ledger, "_append", lambda *a, **k: (committed(*a, **k), look())[0])
    before = os.umask(umask)
    try:
        measured_and_published(config, log)
    finally:
        os.umask(before)
    assert any(name.startswith("scratch") for name in seen), seen
    assert any(name.endswith("-journal") for name in seen), seen
    for name, (is_directory, mode) in seen.items():
        assert mode == (0o700 if is_directory else 0o600), name


def can_mount() -> bool:
    return os.geteuid() == 0 and shutil.which("mount") is not None


@pytest.mark.skipif(not can_mount(), reason="mounting a file system needs root")
@pytest.mark.parametrize("size", [4, 40, 700])
def test_a_file_system_that_is_full_at_any_point(project, tmp_path, size):
    small = tmp_path / "small"
    small.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(small)]
    if subprocess.run(["mount", *options], check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        path = project(
            source={"disposal": "delete"},
            ledger={"path": "small/state/ledger.sqlite"},
            output={"directory": "small/outputs"},
        )
        config = load_config(path)
        full = synth("run", path)
        assert full.returncode == 1, full.stderr
        assert "full" in full.stderr or "free some space" in full.stderr
        assert not (config.output.directory / "small").exists()
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        done = synth("run", path)
        assert done.returncode == 0, done.stderr
        verify_release(config.output.directory / "small")
        assert charges(config) == (1, 1)
        published = {entry.name for entry in config.output.directory.iterdir()}
        assert published == {"small", *INDEX_FILES}
    finally:
        subprocess.run(["umount", str(small)], check=True)
