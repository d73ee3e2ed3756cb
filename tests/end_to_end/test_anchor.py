"""The anchor outside: what manifests state of the ledger, and a ledger held against them."""

import json
import shutil

import pytest

from synth.bookkeeping import Ledger
from synth.bookkeeping.run_directory import file_sha256
from synth.bookkeeping.statement import anchor_findings
from synth.config import load_config
from synth.errors import BudgetRefusedError
from synth.job import pipeline
from tests.command_line import synth
from tests.release_folder import contents_of

QUICK = {"strategy": "identity", "output": {"formats": ["csv"]}}


@pytest.fixture
def publish(project, log):
    def one(release_id, population="nobody", **privacy):
        path = project(
            release={"id": release_id},
            ledger={"population": population, "epsilon_cap": 4},
            privacy=privacy,
            **QUICK,
        )
        config = load_config(path)
        pipeline.measure(config, log=log)
        return pipeline.publish(config, log=log).path

    return one


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def account_of(folder):
    return manifest_of(folder)["accounting"]["ledger"]


def fractions(account):
    keys = ("cap", "spent_before", "spent_now", "left")
    return [account[key]["epsilon"]["fraction"] for key in keys]


def findings(ledger_path, folder, manifest=None):
    with Ledger.open_existing(ledger_path) as ledger:
        return list(
            anchor_findings(
                ledger,
                manifest_of(folder) if manifest is None else manifest,
                measurements_sha256=file_sha256(folder / "measurements.parquet"),
            )
        )


def test_a_manifest_states_how_the_account_stood_and_no_other_population(publish, project):
    publish("first")
    publish("zebra", population="okapi")
    folder = publish("second", epsilon="1/2")
    account = account_of(folder)
    assert fractions(account) == ["4/1", "1/1", "1/2", "5/2"]
    assert account["earlier_release_ids"] == ["first"]
    assert account["promise"] == {"neighbours": "add-remove", "unit": "record"}
    text = b"".join(contents_of(folder).values()).decode(errors="replace")
    assert "zebra" not in text
    assert "okapi" not in text
    page = " ".join((folder / "index.html").read_text().split())
    assert "each of them protecting one record; before it 1 was spent, and 2.5 is left." in page
    config = load_config(project(release={"id": "third"}, **QUICK))
    with Ledger.open_existing(config.ledger.path) as ledger:
        run = ledger.state("second")
    assert account["reservation_hash"] == run.position.reservation_hash


def test_releases_are_held_against_the_ledger(publish, project, tmp_path):
    first = publish("first")
    ledger = tmp_path / "state" / "ledger.sqlite"
    backup = ledger.read_bytes()
    second, other = publish("second"), publish("third", population="other-people")
    config = project(**QUICK)
    asked = [part for folder in (first, second, other) for part in ("--release", folder)]
    held = synth("ledger", config, *asked)
    assert held.returncode == 0, held.stderr
    assert "second: its reservation is in the chain, as published." in held.stdout
    assert "every release protects one record added or removed" in " ".join(held.stdout.split())
    ledger.write_bytes(backup)
    shutil.rmtree(tmp_path / "state" / "runs")
    cut = synth("ledger", config, "--release", second, "--json")
    assert cut.returncode == 5
    assert "the ledger has no release 'second': the ledger was cut" in cut.stderr
    assert synth("ledger", config, "--release", tmp_path / "state").returncode == 5


def test_a_ledger_begun_anew_does_not_hold_the_published_hash(publish, tmp_path):
    first = publish("first")
    shutil.move(tmp_path / "state", tmp_path / "lost")
    shutil.move(tmp_path / "outputs", tmp_path / "published")
    publish("first")
    (finding,) = findings(tmp_path / "state" / "ledger.sqlite", tmp_path / "published" / first.name)
    assert "the chain of the ledger does not hold" in finding
    assert findings(tmp_path / "lost" / "ledger.sqlite", tmp_path / "published" / first.name) == []


def test_another_statement_with_the_right_hash_is_found(publish, tmp_path):
    folder, ledger = publish("first"), tmp_path / "state" / "ledger.sqlite"
    for key in ("cap", "spent_before", "spent_now", "left"):
        manifest = manifest_of(folder)
        manifest["accounting"]["ledger"][key]["epsilon"]["fraction"] = "7/2"
        (finding,) = findings(ledger, folder, manifest)
        assert finding.startswith(f"the stated {key}: found")
    manifest = manifest_of(folder)
    manifest["implementation"]["configuration_hash"] = "0" * 64
    (finding,) = findings(ledger, folder, manifest)
    assert finding.startswith("the stated configuration_hash: found")
    for malformed in MALFORMED:
        manifest = manifest_of(folder)
        malformed(manifest["accounting"]["ledger"])
        assert findings(ledger, folder, manifest) == [
            "manifest.json does not state the account that was charged"
        ]


MALFORMED = [
    lambda account: account.pop("reservation_hash"),
    lambda account: account["left"]["epsilon"].update(fraction="1/0"),
    lambda account: account.update(cap=7),
    lambda account: account.update(earlier_release_ids=None),
]


def test_a_second_draw_for_one_charge_is_found_by_the_ledger_that_saw_the_first(
    project, log, tmp_path
):
    """Copied while it was reserved, ledger and run directory draw twice; the chain is the same."""
    path = project(release={"id": "twice"}, **QUICK)
    config = load_config(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synth.curator.measure", stopped)
        with pytest.raises(KeyboardInterrupt):
            pipeline.measure(config, log=log)
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    folders = []
    for state in ("state", "copy"):
        other = load_config(
            project(
                release={"id": "twice"},
                ledger={"path": f"{state}/ledger.sqlite"},
                **{**QUICK, "output": {"formats": ["csv"], "directory": f"outputs-{state}"}},
            )
        )
        pipeline.measure(other, log=log)
        folders.append(pipeline.publish(other, log=log).path)
    first, second = folders
    assert manifest_of(first)["accounting"]["ledger"] == manifest_of(second)["accounting"]["ledger"]
    assert findings(tmp_path / "state" / "ledger.sqlite", first) == []
    for ledger, folder in (("state", second), ("copy", first)):
        (finding,) = findings(tmp_path / ledger / "ledger.sqlite", folder)
        assert "are not those that the ledger saw" in finding


def stopped(*_, **__):
    raise KeyboardInterrupt


def test_another_promise_is_refused_before_the_source_is_opened(publish, project, log):
    """And `explain` says so before anybody tries."""
    publish("records")
    path = project(
        release={"id": "people"},
        ledger={"epsilon_cap": 4},
        privacy={"unit": {"column": "town", "max_records": 5}},
        people="stops whoever opens it",
        **QUICK,
    )
    explained = " ".join(synth("explain", path).stdout.split())
    assert "The ledger will refuse this release: its population is bound to one record" in explained
    refused = synth("run", path)
    assert refused.returncode == 4
    assert "is bound to one record added or removed" in refused.stderr
    with pytest.raises(BudgetRefusedError):
        pipeline.measure(load_config(path), log=log)
    plain = json.loads(synth("explain", path, "--json").stdout)["population"]
    assert plain["this_release_is_refused"]
    assert plain["bound_to"] == {"neighbours": "add-remove", "unit": "record"}
    assert plain["promise"]["person_column"] == "town"
