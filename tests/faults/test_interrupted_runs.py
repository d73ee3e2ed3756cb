"""A run is killed at every step and started again: one release, one charge, nothing left."""

import gzip
import shutil
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.run_directory import run_directory
from synth.catalogue import INDEX_FILES
from synth.config import load_config
from synth.release import verify_release
from tests.command_line import synth
from tests.conftest import PEOPLE
from tests.release_folder import contents_of

# Runs one verb in this process and kills it, as by power loss, before or after a named function.
KILLER = """
import importlib, os, signal, sys
module, name, when, verb, config = sys.argv[1:6]
*owner, attribute = name.split(".")
place = importlib.import_module(module)
for part in owner:
    place = getattr(place, part)
original = getattr(place, attribute)
def dies(*args, **kwargs):
    if when == "after":
        original(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, attribute, dies)
sys.argv = ["synth", verb, config]
from synth.cli import main
main()
"""

# Each leaves another state on the disk; `benchmarks/faults.py` strikes at every operation.
MEASURE_STEPS = [
    ("before", "synth.bookkeeping", "Ledger.reserve"),
    ("after", "synth.bookkeeping", "Ledger.reserve"),
    ("after", "synth.curator", "record_measured_files"),
    ("after", "synth.curator.measuring", "measure_table"),
    ("after", "synth.job.pipeline", "write_measurements"),
    ("after", "synth.bookkeeping", "Ledger.advance"),
    ("after", "synth.curator", "discard"),
    ("after", "synth.job.pipeline", "write_receipt"),
]
PUBLISH_STEPS = [
    ("after", "synth.release.write", "make_private_directory"),
    ("after", "synth.job.pipeline", "write_release"),
    ("after", "synth.job.pipeline", "publish_release"),
    ("after", "synth.bookkeeping", "Ledger.advance"),
]
STEPS = [("measure", *step) for step in MEASURE_STEPS] + [("publish", *s) for s in PUBLISH_STEPS]


def require_one_release_one_charge(path: Path) -> None:
    config = load_config(path)
    verify_release(config.output.directory / "small")
    with Ledger.open_existing(config.ledger.path) as ledger:
        ledger.verify_chain()
        assert ledger.position("nobody").spent.epsilon == Fraction(1)
        assert ledger.state("small").state is RunState.PUBLISHED
        assert [event.kind for event in ledger.history()].count("reserve") == 1
    published = {p.name for p in config.output.directory.iterdir()}
    assert published == {"small", *INDEX_FILES}
    left = {p.name for p in run_directory(config).iterdir()}
    assert left == {
        "lock", "reservation", "measurements.parquet", "receipt.json", "measured-files.json",
    }  # fmt: skip


@pytest.mark.parametrize(("verb", "when", "module", "name"), STEPS)
def test_killed_at_a_step_and_started_again(project, verb, when, module, name):
    path = project(source={"disposal": "delete"})
    if verb == "publish":
        assert synth("measure", path).returncode == 0
    killed = synth(module, name, when, verb, path, program=KILLER)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    config = load_config(path)
    measured = run_directory(config) / "measurements.parquet"
    before = measured.read_bytes() if measured.exists() else None
    finished = synth("run", path)
    assert finished.returncode == 0, finished.stderr
    require_one_release_one_charge(path)
    assert not (path.parent / "people.csv").exists()
    if before is not None:
        assert measured.read_bytes() == before, "fresh noise was drawn for measured data"


def test_an_adaptive_run_killed_between_its_choices_is_charged_once(project):
    """What was chosen before the kill is gone with it; the same reservation pays for all anew."""
    path = project(strategy="adaptive", source={"disposal": "delete"})
    step = ("synth.curator.measuring", "choose_table", "after")
    killed = synth(*step, "measure", path, program=KILLER)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = synth("run", path)
    assert finished.returncode == 0, finished.stderr
    require_one_release_one_charge(path)


def damaged() -> bytes:
    """A file whose header can be read, and whose records cannot."""
    return gzip.compress(PEOPLE.encode())[:-8] + bytes(8)


def test_a_charge_stays_spent_when_the_run_never_comes_back(project):
    path = project(people=None, source={"path": "people.csv.gz"})
    (path.parent / "people.csv.gz").write_bytes(damaged())
    assert synth("run", path).returncode == 1
    with Ledger.open_existing(load_config(path).ledger.path) as ledger:
        assert ledger.position("nobody").spent.epsilon == 1
        assert ledger.state("small").state is RunState.RESERVED


def test_the_same_again_is_a_no_op_and_a_change_is_refused(project):
    path = project()
    assert synth("run", path).returncode == 0
    folder = path.parent / "outputs" / "small"
    before = contents_of(folder)
    again = synth("run", path)
    assert again.returncode == 0
    assert "nothing spent" in again.stderr
    project(privacy={"epsilon": "1/2"})
    changed = synth("run", path)
    assert changed.returncode == 1
    assert "another configuration" in changed.stderr
    assert contents_of(folder) == before
    project()
    require_one_release_one_charge(path)


def test_a_lost_release_folder_is_written_again_from_the_same_noise(project):
    path = project()
    assert synth("run", path).returncode == 0
    folder = path.parent / "outputs" / "small"
    rows = (folder / "synthetic.csv").read_bytes()
    shutil.rmtree(folder)
    assert synth("run", path).returncode == 0
    assert (folder / "synthetic.csv").read_bytes() == rows
    require_one_release_one_charge(path)


def test_lost_measurements_are_never_drawn_again(project):
    path = project()
    assert synth("measure", path).returncode == 0
    shutil.rmtree(run_directory(load_config(path)))
    assert synth("run", path).returncode == 1


def test_over_the_cap_the_source_is_never_opened(project):
    path = project(people="a file that stops whoever opens it", ledger={"epsilon_cap": "1/2"})
    refused = synth("run", path)
    assert refused.returncode == 4, refused.stderr
    assert not (path.parent / "outputs" / "small").exists()
    project(people="a file that stops whoever opens it")
    assert synth("run", path).returncode == 1, "with budget left the same file does stop the run"


def test_measure_and_publish_on_different_machines(project, tmp_path):
    path = project()
    assert synth("measure", path).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(path, elsewhere)
    shutil.copytree(run_directory(load_config(path)), elsewhere / "brought")
    published = synth("publish", elsewhere / path.name, "--measured", elsewhere / "brought")
    assert published.returncode == 0, published.stderr
    verify_release(elsewhere / "outputs" / "small")


def test_tampered_measurements_are_not_published(project):
    path = project()
    assert synth("measure", path).returncode == 0
    measured = run_directory(load_config(path)) / "measurements.parquet"
    content = bytearray(measured.read_bytes())
    content[len(content) // 3] ^= 1
    measured.write_bytes(content)
    refused = synth("publish", path)
    assert refused.returncode == 1
    assert "changed or damaged" in refused.stderr


def test_measurements_of_another_ledger_are_not_taken_for_ours(project):
    path = project()
    assert synth("measure", path).returncode == 0
    other = project(ledger={"path": "state/other.sqlite"}, privacy={"epsilon": "1/2"})
    refused = synth("run", other)
    assert refused.returncode == 1
    assert "the ledger is gone: `runs` beside it shows charges" in refused.stderr


def killed_after_the_noise_is_durable(path: Path) -> None:
    step = ("synth.job.pipeline", "write_measurements", "after")
    killed = synth(*step, "measure", path, program=KILLER)
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.parametrize("way", ["moved", "copied"])
def test_a_ledger_without_its_run_directory_draws_and_voids_nothing(project, tmp_path, way):
    path = project()
    killed_after_the_noise_is_durable(path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    take = shutil.move if way == "moved" else shutil.copy
    take(tmp_path / "state" / "ledger.sqlite", elsewhere / "ledger.sqlite")
    moved = project(ledger={"path": "elsewhere/ledger.sqlite"})
    refused = synth("run", moved)
    assert refused.returncode == 1
    assert "not the one of its reservation" in refused.stderr
    voided = synth("ledger", moved, "void", "small", "--reason", "nothing was drawn, honestly")
    assert voided.returncode == 1
    assert not list(elsewhere.rglob("measurements.parquet"))


def test_a_link_to_the_ledger_leads_to_the_same_run(project, tmp_path):
    path = project()
    killed_after_the_noise_is_durable(path)
    before = (tmp_path / "state/runs/small/measurements.parquet").read_bytes()
    (tmp_path / "linked").symlink_to(tmp_path / "state")
    linked = project(ledger={"path": "linked/ledger.sqlite"})
    assert synth("run", linked).returncode == 0
    assert (tmp_path / "outputs/small/measurements.parquet").read_bytes() == before


def test_what_a_killed_run_spilled_goes_even_if_the_run_never_comes_back(project, tmp_path):
    path = project(people=None, source={"path": "people.csv.gz"})
    (tmp_path / "people.csv.gz").write_bytes(damaged())
    assert synth("run", path).returncode == 1
    spilled = tmp_path / "state" / "runs" / "small" / "scratch-x"
    for leave in ("restart without a source", "void"):
        spilled.mkdir()
        (spilled / "duckdb_temp").write_text("rows")
        if leave == "void":
            synth("ledger", path, "void", "small", "--reason", "given up")
        else:
            (tmp_path / "people.csv.gz").unlink()
            assert synth("run", path).returncode == 1
        assert not spilled.exists(), leave


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_run_directory_that_others_may_write_is_refused(project, tmp_path, mode):
    path = project()
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "runs").mkdir()
    (tmp_path / "state" / "runs").chmod(mode)
    refused = synth("run", path)
    assert refused.returncode == 1
    assert "not this user's alone" in refused.stderr
