"""`synth tidy`: only what is published, verified and not needed goes, and traces stay."""

import json
import shutil
from datetime import date

import pytest

import synth
from synth.bookkeeping import Ledger
from synth.bookkeeping.run_directory import RunLock
from synth.errors import LedgerError
from synth.schedule.outlook import series_config
from synth.schedule.tidy import tidy
from tests.command_line import synth as command

pytestmark = pytest.mark.xdist_group("schedule")


def run_of(path, month):
    return path.parent / "state" / "runs" / f"small-{month}"


def test_it_lists_first_and_deletes_when_told(published):
    listed = command("tidy", published)
    assert listed.returncode == 0
    assert listed.stdout.count("may go") == 4
    assert (run_of(published, "2026-01") / "measurements.parquet").exists()
    found = json.loads(command("tidy", published, "--delete", "--json").stdout)
    assert [each["is_deleted"] for each in found] == [True] * 3
    left = {entry.name for entry in run_of(published, "2026-01").iterdir()}
    assert left == {"lock", "reservation", "receipt.json"}
    assert tidy(published) == ()


def test_the_loss_of_a_ledger_is_noticed_as_before(published, monthly, log):
    config, _ = series_config(published)
    ledger = config.ledger.path
    backup = ledger.with_name("backup")
    shutil.copy(ledger, backup)
    monthly(months=("2026-04",))
    synth.due(published, today=date(2026, 5, 1), log=log)
    tidy(published, delete=True)
    assert synth.due(published, today=date(2026, 5, 1), log=log).published == ()
    whole = ledger.read_bytes()
    shutil.copy(backup, ledger)
    with pytest.raises(LedgerError):
        Ledger.open_existing(ledger)
    ledger.unlink()
    with pytest.raises(LedgerError):
        Ledger.open(ledger)
    ledger.write_bytes(whole)
    assert synth.status([published], today=date(2026, 5, 1))[0].exit_code == 0


def test_what_cannot_be_made_good_from_the_folder_stays(published):
    outputs = published.parent / "outputs"
    shutil.rmtree(outputs / "small-2026-01")
    with (outputs / "small-2026-02" / "README.md").open("a") as readme:
        readme.write("changed")
    tables = run_of(published, "2026-03") / "measurements.parquet"
    tables.write_bytes(tables.read_bytes() + b"\0")
    config, _ = series_config(published)
    found = tidy(published, delete=True)
    assert [each.is_deleted for each in found] == [False] * 3
    assert "not in the output directory" in found[0].kept_because
    assert "does not verify" in found[1].kept_because
    assert "other tables" in found[2].kept_because
    assert all(
        (run_of(published, f"2026-0{m}") / "measurements.parquet").exists() for m in (1, 2, 3)
    )
    with RunLock.for_run(config.ledger.path, "small-2026-03"):
        assert "another process" in tidy(published)[2].kept_because


def test_a_single_release_can_be_tidied_too_and_one_that_is_not_published_is_not(project, log):
    path = project()
    with pytest.raises(LedgerError):
        tidy(path)
    synth.run(path, log=log)
    (found,) = tidy(path, delete=True)
    assert found.is_deleted
    assert command("run", path).returncode == 0, "already published"
    assert command("verify", path.parent / "outputs" / "small").returncode == 0
