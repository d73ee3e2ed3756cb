"""A rehearsal does the whole job on made-up rows, and nothing of it can be taken for a release."""

import json
import re
import shutil

import pytest

import synth as api
from synth.config import load_config
from synth.errors import BusyError, SynthError
from synth.job import pipeline
from synth.job.rehearsal import MARK, rehearse
from tests.command_line import synth
from tests.release_folder import contents_of

SOURCES = {
    "csv": {"path": "nowhere.csv.gz", "decimal": ",", "delimiter": ";", "encoding": "latin-1"},
    "postgres": {"url": "postgresql://nowhere/base", "table": "people", "path": None},
    "spark": {"spark": {"table": "people", "master": "local[2]"}, "path": None},
}


def names(directory):
    return sorted(each.name for each in directory.iterdir())


@pytest.mark.parametrize("kind", SOURCES)
def test_the_whole_job_is_done_wherever_the_source_would_be(project, kind):
    path = project(people=None, source=SOURCES[kind])
    done = synth("rehearse", path)
    assert done.returncode == 0, done.stderr
    folder = path.parent / "outputs" / "REHEARSAL-small"
    assert folder.joinpath("index.html").as_uri() in done.stdout
    assert "- pairs of columns: " in done.stdout
    assert "Nothing may be published" in done.stdout
    assert "nothing charged" in done.stderr
    # Nothing else is there: neither ledger, nor scratch, nor release.
    assert names(path.parent) == ["outputs", "small.yaml"]
    assert names(path.parent / "outputs") == ["REHEARSAL-small"]


def test_every_document_says_so_and_the_mark_survives_verification(project):
    path = project(people=None)
    found = api.rehearse(path)
    assert found.rows == found.forecast.records == 10_000
    assert found.page.exists()
    for name in ("README.md", "index.html", "assessment.html", "manifest.json", "croissant.json",
                 "datapackage.json", "registry.yaml"):  # fmt: skip
        text = re.sub(r"\s+", " ", (found.path / name).read_text(encoding="utf-8"))
        assert MARK in text, name
        assert "rehearsal-small" in text, name
    assert api.verify(found.path).release_id == "rehearsal-small"
    manifest = json.loads((found.path / "manifest.json").read_bytes())
    assert manifest["configuration"]["source"]["kind"] == "made-up"
    assert api.Release(found.path).config.hash != load_config(path).hash
    text = (found.path / "manifest.json").read_text(encoding="utf-8")
    (found.path / "manifest.json").write_text(text.replace(MARK, "A table"), encoding="utf-8")
    with pytest.raises(api.errors.VerificationError):
        api.verify(found.path)


SERIES = {
    "where": {"source": {"where": {"column": "visited", "within": "period"}}},
    "folder": {"source": {"path": "{period}/people.csv"}},
    "added up": {"rows": "all", "source": {"where": {"column": "visited", "within": "period"}}},
}


@pytest.mark.parametrize("kind", SERIES)
def test_a_period_of_a_series_is_rehearsed(project, kind):
    """Rows are made up for its period; a long name makes place for what is said."""
    rows = SERIES[kind].get("rows", "new")
    path = project(
        people=None,
        release={"id": "small-{period}" + "-long" * (kind == "where") * 17},
        source=SERIES[kind].get("source", {}),
        series={"every": "month", "first": "2026-01", "rows": rows, "horizon": 2},
        workload={"expected_records": 500},
    )
    found = api.rehearse(path, period="2026-02")
    manifest = json.loads((found.path / "manifest.json").read_bytes())
    assert manifest["configuration"]["source"]["kind"] == "made-up"
    assert api.verify(found.path).release_id.startswith("rehearsal-")
    assert abs(len(api.Release(found.path).frame()) - found.rows) < 200
    assert names(path.parent) == ["outputs", "small.yaml"]


def test_a_rehearsal_neither_hinders_nor_changes_the_run_after_it(project):
    path = project()
    found = api.rehearse(path, output=path.parent / "elsewhere")
    assert found.path == path.parent / "elsewhere"
    assert not (path.parent / "state").exists()
    outcome = api.run(path)
    assert not outcome.was_there
    manifest = json.loads((outcome.path / "manifest.json").read_bytes())
    assert manifest["accounting"]["ledger"]["spent_before"]["epsilon"]["fraction"] == "0/1"
    assert "rehears" not in (outcome.path / "manifest.json").read_text(encoding="utf-8").lower()
    again = api.rehearse(path)
    assert again.path.name == "REHEARSAL-small"
    one, other = ((each / "measurements.parquet").read_bytes() for each in (found.path, again.path))
    assert one != other


def test_no_policy_and_no_key_stand_in_the_way_and_nothing_is_signed(project, monkeypatch):
    path = project(people=None, output={"signing_key": "no-such-key.pem"})
    policy = path.parent / "policy.yaml"
    policy.write_text("schema_version: 1\nepsilon: {at_most: 0.001}\n", encoding="utf-8")
    monkeypatch.setenv("SYNTH_POLICY", str(policy))
    assert not (api.rehearse(path).path / "manifest.sig").exists()


def test_what_somebody_put_beside_a_rehearsal_is_kept(project):
    path = project(people=None)
    notes = api.rehearse(path).path / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(api.errors.OutputError, match="no rehearsal"):
        api.rehearse(path)
    assert notes.read_text() == "mine"
    notes.unlink()
    assert api.rehearse(path).path == notes.parent


def test_what_is_no_rehearsal_is_never_replaced(project):
    path = project()
    outcome = api.run(path)
    before = contents_of(outcome.path)
    with pytest.raises(api.errors.OutputError, match="no rehearsal"):
        api.rehearse(path, output=outcome.path)
    assert contents_of(outcome.path) == before
    (path.parent / "file").write_text("mine")
    with pytest.raises(api.errors.OutputError, match="no rehearsal"):
        api.rehearse(path, output=path.parent / "file")


def test_problems_of_the_configuration_are_the_usual_ones(project):
    path = project(people=None, privacy={"epsilon": 0})
    refused = synth("rehearse", path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == synth("run", path).stderr
    path.write_text(path.read_text().replace("epsilon: 0", "epsilon: !CONFIRM 1"))
    assert synth("rehearse", path).returncode == 2
    path.write_text(path.read_text().replace("!CONFIRM ", ""))
    assert synth("rehearse", path).returncode == 0


def test_a_rehearsal_that_is_stopped_leaves_what_the_next_one_removes(project, monkeypatch, log):
    path = project(people=None)
    outputs = path.parent / "outputs"
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "measure_in_own_process", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rehearse(path, log=log)
        assert names(outputs) == []
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as if it had been killed
        with pytest.raises(KeyboardInterrupt):
            rehearse(path, log=log)
    assert names(outputs) == [".rehearsal-REHEARSAL-small"]
    rehearse(path, log=log)
    assert names(outputs) == ["REHEARSAL-small"]
    assert all(line.startswith("rehearsal: ") for line in log.lines)


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_two_at_once_are_kept_apart(project, monkeypatch, log):
    path = project(people=None)

    def another_one(*_, **__):
        with pytest.raises(BusyError):
            rehearse(path, log=log)
        raise SynthError("it was tried")

    monkeypatch.setattr(pipeline, "measure_in_own_process", another_one)
    with pytest.raises(SynthError, match="it was tried"):
        rehearse(path, log=log)
    assert names(path.parent / "outputs") == []
