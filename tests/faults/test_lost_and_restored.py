"""Ledgers lost or restored from a backup, measurements taken away, copies of everything."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from synth import curator
from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.run_directory import run_directory
from synth.config import load_config
from synth.errors import BugError, LedgerError, OutputError, SourceError
from synth.job import pipeline

QUICK = {"strategy": "identity", "output": {"formats": ["csv"]}, "ledger": {"epsilon_cap": 9}}


@dataclass
class Job:
    """A project whose draws of noise are counted, and which may stop before the noise."""

    project: object
    log: object
    draws: int = 0
    stops: bool = False

    def config(self, release_id="small"):
        return load_config(self.project(release={"id": release_id}, **QUICK))

    def measure(self, release_id="small"):
        return pipeline.measure(self.config(release_id), log=self.log)

    def reserve(self, release_id="small"):
        """Charge it and stop before the source is read."""
        self.stops = True
        with pytest.raises(SourceError):
            self.measure(release_id)
        self.stops = False

    @property
    def ledger(self) -> Path:
        return self.config().ledger.path

    def directory(self, release_id="small") -> Path:
        return run_directory(self.config(release_id))

    def states(self):
        with Ledger.open_existing(self.ledger) as ledger:
            return {run.release_id: run.state for run in ledger.position("nobody").runs}


@pytest.fixture
def job(project, log, monkeypatch):
    made = Job(project, log)
    exact = curator.measure

    def measure(*args, **named):
        if made.stops:
            raise SourceError("stopped", fix="none")
        made.draws += 1
        return exact(*args, **named)

    monkeypatch.setattr(curator, "measure", measure)
    return made


def take_out_measurements(job, release_id="small"):
    for name in ("measurements.parquet", "receipt.json"):
        (job.directory(release_id) / name).unlink(missing_ok=True)


def check_that_lost_measurements_stop_the_run(job, monkeypatch):
    """Measured, by the ledger, and nothing there: exit 1, and no noise is drawn."""
    with monkeypatch.context() as patch:
        patch.setattr(curator, "discard", lambda *_: (_ for _ in ()).throw(OutputError("full")))
        with pytest.raises(OutputError, match="full"):
            job.measure()
    assert job.states() == {"small": RunState.MEASURED}
    assert job.draws == 1
    take_out_measurements(job)
    with pytest.raises(OutputError, match="but its measurements are gone") as refusal:
        job.measure()
    assert refusal.value.exit_code == 1
    assert job.draws == 1, "fresh noise for a charge that is used"
    assert not (job.directory() / "measurements.parquet").exists()


def test_measurements_that_are_gone_are_never_drawn_again(job, monkeypatch):
    check_that_lost_measurements_stop_the_run(job, monkeypatch)


def test_the_mutant_no_require_not_measured_is_caught(job, monkeypatch):
    monkeypatch.setattr("synth.job.pipeline.require_not_measured", lambda _state: None)
    with pytest.raises((AssertionError, BugError)):
        check_that_lost_measurements_stop_the_run(job, monkeypatch)


@pytest.mark.parametrize("far", ["reserved", "measured"])
@pytest.mark.parametrize("again", ["small", "next"])
def test_a_lost_ledger_is_not_begun_anew(job, far, again):
    getattr(job, {"reserved": "reserve", "measured": "measure"}[far])()
    draws = job.draws
    job.ledger.unlink()
    with pytest.raises(LedgerError, match=r"is gone: `runs` beside it .* small for one") as refusal:
        job.measure(again)
    assert refusal.value.exit_code == 1
    assert "restore the ledger from its backup" in refusal.value.fix
    assert not job.ledger.exists()
    assert job.draws == draws
    shutil.move(job.ledger.parent / "runs", job.ledger.parent / "put away")
    job.measure(again)


@pytest.mark.parametrize("stopped_at", ["new_token", "LedgerFile.append"])
def test_no_crash_leaves_a_run_that_a_new_ledger_would_miss(job, monkeypatch, stopped_at):
    """Before the token there is a ledger; behind it the charge may be missing, and then is made."""
    place = {"new_token": "synth.bookkeeping.ledger.new_token"}.get(
        stopped_at, f"synth.bookkeeping.file.{stopped_at}"
    )
    with monkeypatch.context() as patch:
        patch.setattr(place, lambda *_: (_ for _ in ()).throw(OutputError("stopped")))
        with pytest.raises(OutputError, match="stopped"):
            job.measure()
    assert job.ledger.exists()
    assert job.states() == {}
    job.measure("next")
    job.measure()
    assert set(job.states()) == {"small", "next"}


def test_a_run_killed_before_it_notes_the_chain_goes_on(job, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            "synth.bookkeeping.ledger.keep_head", lambda *_: (_ for _ in ()).throw(OutputError("x"))
        )
        with pytest.raises(OutputError, match="x"):
            job.measure()
    assert job.states() == {"small": RunState.RESERVED}
    job.measure()
    assert job.draws == 1


def test_a_ledger_restored_beside_its_own_run_draws_nothing_again(job):
    """The backup holds the reservation; the measurements that followed were taken out."""
    job.reserve()
    backup = job.ledger.read_bytes()
    job.measure()
    newest = job.ledger.read_bytes()
    job.ledger.write_bytes(backup)
    take_out_measurements(job)
    for step in (job.measure, job.states):
        with pytest.raises(LedgerError, match=r"the run directory of small .* recorded last"):
            step()
    assert job.draws == 1
    job.ledger.write_bytes(newest)
    assert job.states() == {"small": RunState.DISCARDED}


@pytest.mark.parametrize("head", ["kept", "of an older version"])
def test_a_ledger_restored_to_before_another_release_is_refused(job, head):
    job.measure("first")
    backup = job.ledger.read_bytes()
    job.measure("second")
    job.ledger.write_bytes(backup)
    if head != "kept":
        token = job.directory("second") / "reservation"
        token.write_text(token.read_text().split("\n")[0])
    with pytest.raises(LedgerError, match="the run directory of second") as refusal:
        job.measure("third")
    assert "restore the newest ledger" in refusal.value.fix
    assert job.draws == 2
    assert not (job.directory("third") / "reservation").exists()
    shutil.rmtree(job.directory("second"))
    job.measure("third")  # what was spent on `second` is known to its manifest alone


def test_a_ledger_restored_to_before_a_release_was_voided_is_refused(job):
    job.reserve()
    backup = job.ledger.read_bytes()
    with Ledger.open_existing(job.ledger) as ledger:
        ledger.void("small", "wrong file")
    job.ledger.write_bytes(backup)
    with pytest.raises(LedgerError, match="the run directory of small"):
        job.measure()


def test_a_whole_copy_made_before_the_noise_is_not_noticed(job, tmp_path):
    """What no file beside the ledger can show: docs/privacy.md says so."""
    job.reserve()
    shutil.copytree(job.ledger.parent, tmp_path / "copy")
    job.measure()
    shutil.rmtree(job.ledger.parent)
    shutil.copytree(tmp_path / "copy", job.ledger.parent)
    job.measure()
    assert job.draws == 2
