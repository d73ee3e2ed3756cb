"""Every file of a source is counted once: links, and files that change while they are read."""

import json
import os

import pytest

from synth import curator
from synth.bookkeeping import Ledger, RunState
from synth.config import load_config
from synth.errors import SourceError
from synth.job import pipeline
from tests.command_line import synth
from tests.conftest import PEOPLE

YEARS = {"source": {"path": "20*.csv"}}


@pytest.fixture
def years(project):
    """A configuration whose source is two files by a pattern."""
    path = project(people=None, **YEARS)
    for year in ("2023", "2024"):
        path.with_name(f"{year}.csv").write_text(PEOPLE)
    return path


def link(path):
    path.with_name("2025.csv").symlink_to("2024.csv")


def test_a_run_over_a_linked_file_is_refused_and_costs_nothing(years):
    link(years)
    refused = synth("run", years)
    assert refused.returncode == 1
    assert "source.path names one file twice: " in refused.stderr
    assert "2024.csv and " in refused.stderr
    assert "counted twice" in refused.stderr
    spent = synth("ledger", years, "--json")
    assert spent.returncode != 0 or json.loads(spent.stdout)["spent"]["epsilon"] == "0"
    years.with_name("2025.csv").unlink()
    assert synth("run", years).returncode == 0


def test_a_draft_and_an_evaluation_refuse_it_too(years, tmp_path):
    assert synth("run", years).returncode == 0
    link(years)
    release = years.parent / "outputs" / "small"
    report, written = tmp_path / "report.html", tmp_path / "draft.yaml"
    for words in (
        ("evaluate", years, release, "-o", report),
        ("draft", years.parent / "20*.csv", "-o", written),
    ):
        refused = synth(*words)
        assert refused.returncode == 1, refused.stderr
        assert "source.path names one file twice: " in refused.stderr
    assert not report.exists()
    assert not written.exists()


def rename(place):
    """What a rotation of logs does: the newest file takes the name of the one before."""
    (place / "2024.csv").replace(place / "2023.csv")
    (place / "2024.csv").write_text(PEOPLE)


def remove(place):
    (place / "2024.csv").unlink()


def append(place):
    with (place / "2024.csv").open("a") as file:
        file.write("1,Male,Nord\n")


def relink(place):
    (place / "2023.csv").unlink()
    os.link(place / "2024.csv", place / "2023.csv")


def overwrite(place):
    """In place, as large, and as old as it was: what `rsync --inplace --times` can do."""
    times = (place / "2024.csv").stat()
    (place / "2024.csv").write_bytes((place / "2023.csv").read_bytes())
    os.utime(place / "2024.csv", ns=(times.st_atime_ns, times.st_mtime_ns))


def rename_there_and_back(place):
    (place / "2024.csv").rename(place / "else.csv")
    (place / "else.csv").rename(place / "2024.csv")


CHANGES = [rename, remove, append, relink, overwrite, rename_there_and_back]


@pytest.mark.parametrize("meanwhile", CHANGES)
def test_a_file_that_changes_while_it_is_read_gives_no_measurements(
    years, log, monkeypatch, meanwhile
):
    config, measure = load_config(years), curator.measure

    def measure_and_change(*words, **options):
        measurements = measure(*words, **options)
        meanwhile(years.parent)
        return measurements

    with monkeypatch.context() as changed:
        changed.setattr(curator, "measure", measure_and_change)
        with pytest.raises(SourceError, match="changed or replaced while it was read") as caught:
            pipeline.measure(config, log=log)
    assert "stays reserved for small" in caught.value.fix
    with Ledger.open_existing(config.ledger.path) as opened:
        assert opened.state("small").state is RunState.RESERVED
    assert not list(config.ledger.path.parent.rglob("measurements*"))
    for year in ("2023", "2024"):
        years.with_name(f"{year}.csv").unlink(missing_ok=True)
        years.with_name(f"{year}.csv").write_text(PEOPLE)
    pipeline.measure(config, log=log)
    with Ledger.open_existing(config.ledger.path) as opened:
        assert opened.state("small").state is RunState.DISCARDED
        assert opened.position("nobody").spent.epsilon == 1
