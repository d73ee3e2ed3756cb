"""`synth status`: for people, for programs, for a collector of metrics, and its exit code."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

import synth
from synth.job.remembered import state_file
from synth.schedule.outlook import lock_of, series_config
from synth.schedule.status import metrics, status, status_lines
from tests.command_line import synth as command
from tests.unit.schedule.conftest import APRIL, SERIES

pytestmark = pytest.mark.xdist_group("schedule")

FEBRUARY, MARCH = date(2026, 2, 1), date(2026, 3, 1)


def test_before_the_first_period_nothing_is_wrong_and_nothing_is_made(monthly):
    path = monthly()
    (found,) = status([path], today=date(2026, 1, 15))
    assert (found.exit_code, found.published, found.due) == (0, (), ())
    assert (found.next_period, found.next_due) == ("2026-01", FEBRUARY)
    assert not (path.parent / "state").exists()
    assert "published   nothing yet" in "\n".join(status_lines([found]))


def test_one_that_is_refused_hides_no_other(published, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("schema_version: 2\n")
    said = command("status", broken, published, "--today", "2026-04-01")
    assert said.returncode == 2
    assert "broken.yaml: refused" in said.stdout
    assert "healthy" in said.stdout
    damaged = published.parent / "state" / "ledger.sqlite"
    damaged.write_bytes(damaged.read_bytes()[:4096])
    assert command("status", published, "--today", "2026-04-01").returncode == 1


def test_a_look_changes_nothing_and_sees_a_start_under_way(published):
    before = sorted(entry for entry in published.parent.rglob("*"))
    config, _ = series_config(published)
    with lock_of(config):
        assert status([published], today=APRIL)[0].is_running
    assert not status([published], today=APRIL)[0].is_running
    assert sorted(entry for entry in published.parent.rglob("*")) == before
    assert state_file(config) in before


SAMPLE = re.compile(
    r'^(synth_series_[a-z_]+)\{config="((?:[^"\\\n]|\\.)*)",series="([^"]*)"\} (\S+)$'
)


def samples(text):
    """What a collector reads of the text format, version 0.0.4, strictly."""
    assert text.endswith("\n")
    found, described = {}, set()
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert word in ("HELP", "TYPE")
            assert word == "HELP" or (rest, name in described) == ("gauge", True)
            assert (word == "HELP") == (name not in described), "each once, before its samples"
            described.add(name)
            continue
        name, config, series, value = SAMPLE.match(line).groups()
        assert name in described
        assert (name, config, series) not in found
        found[name.removeprefix("synth_series_"), config, series] = float(value)
    return found


def test_what_is_due_failed_and_left_is_told_to_people_programs_and_collectors(
    monthly, log, tmp_path
):
    path = monthly(months=("2026-01",))
    assert status([path], today=FEBRUARY)[0].exit_code == 1, "due, and not even tried"
    synth.due(path, today=MARCH, log=log)
    said = command("status", path, "--today", "2026-03-01")
    assert said.returncode == 1
    assert said.stdout.splitlines()[0] == f"small-{{period}} ({path}): needs a person"
    assert "  published   2026-01\n" in said.stdout
    assert "  failed      2026-02: source.path names no file" in said.stdout
    assert "(1 attempt since " in said.stdout
    assert "fix: check the path" in said.stdout
    assert "  next        2026-03, due on 2026-04-01\n" in said.stdout
    assert "of 2 spent (nobody)" in said.stdout
    plain = json.loads(command("status", path, "--today", "2026-03-01", "--json").stdout)[0]
    assert (plain["published"], plain["due"]) == (["2026-01"], ["2026-02"])
    assert plain["trouble"][0]["error"] == "SourceError"
    assert plain["left_in_horizon"] == 11
    healthy = command("status", path, "--today", "2026-02-28")
    assert (healthy.returncode, healthy.stdout.splitlines()[0].split()[-1]) == (0, "healthy")
    require_told_to_collectors(path, tmp_path)


def require_told_to_collectors(path, tmp_path):
    """The file of metrics is well-formed, and replaced in one step."""
    place = tmp_path / "collector" / "synth.prom"
    refused = command("status", path, "--prometheus", place, "--today", "2026-03-01")
    assert refused.returncode == 1
    assert "could not be written" in refused.stderr
    place.parent.mkdir()
    broken = tmp_path / 'a"b\\.yaml'
    command("status", path, broken, "--prometheus", place, "--today", "2026-03-01")
    found = samples(place.read_text(encoding="utf-8"))
    values = {name: value for (name, config, _), value in found.items() if config == str(path)}
    assert values["published_periods"] == 1
    assert values["due_periods"] == values["failed_periods"] == 1
    assert (values["healthy"], values["exit_code"]) == (0, 1)
    assert values["epsilon_cap"] == 2
    assert values["next_due_timestamp_seconds"] == 1775001600
    assert [name for (name, config, _) in found if config != str(path)] == ["healthy", "exit_code"]
    assert [entry.name for entry in place.parent.iterdir()] == [place.name]
    assert place.stat().st_mode & 0o777 == 0o644
    assert samples(metrics(status([path], today=FEBRUARY)))


def test_a_budget_that_others_spent_is_told_before_it_ends(monthly, log, project):
    """The series alone would fit; another release of the same people has taken the room."""
    path = monthly(privacy={"epsilon": "1/2", "unit": {"column": "town", "max_records": 1}},
                   series={**SERIES, "horizon": 4})  # fmt: skip
    synth.due(path, today=FEBRUARY, log=log)
    assert status([path], today=FEBRUARY)[0].exit_code == 0
    other = Path(project(people=None, privacy={
        "epsilon": 1, "unit": {"column": "town", "max_records": 1}
    }, source={"path": "people-2026-03.csv"}))  # fmt: skip
    other = other.rename(path.parent / "other.yaml")
    synth.run(other, log=log)
    path = monthly(privacy={"epsilon": "1/2", "unit": {"column": "town", "max_records": 1}},
                   series={**SERIES, "horizon": 4})  # fmt: skip
    (found,) = status([path], today=FEBRUARY)
    assert (found.exit_code, found.ending.affordable, found.ending.wanted) == (4, 1, 3)
    assert any("the budget admits 1 period more" in each for each in found.ending.warnings)


def test_one_approval_of_the_series_counts_for_every_period(monthly, log, tmp_path):
    path = monthly()
    key = tmp_path / "key.pem"
    assert command("keygen", key).returncode == 0
    public = (tmp_path / "key.pub.pem").read_text().splitlines()[1]
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "policy_version: 1\nepsilon: 1\npopulations: {nobody: {epsilon_cap: 2}}\n"
        "units: [record]\nneighbours: [add-remove]\ndisposal: [keep]\n"
        f"approvals: {{required: 1, keys: [{{name: Board, public_key: {public}}}]}}\n"
    )
    (before,) = status(path, today=date(2026, 1, 15), policy=policy)
    assert (before.approvals, before.exit_code) == ((0, 1), 1)
    assert synth.due(path, today=FEBRUARY, log=log, policy=policy).exit_code == 2
    assert command("approve", path, "--key", key).returncode == 0
    outcome = synth.due(path, today=MARCH, log=log, policy=policy)
    assert len(outcome.published) == 2
    (after,) = status(path, today=MARCH, policy=policy)
    assert (after.approvals, after.exit_code) == ((1, 1), 0)


def test_a_configuration_without_a_series_has_no_status(project):
    said = command("status", project())
    assert said.returncode == 2
    assert "add series:" in said.stdout


@pytest.mark.parametrize("today", ["2026-13-01", "yesterday", ""])
def test_a_day_that_is_none_is_a_wrong_command(monthly, today):
    assert command("status", monthly(), "--today", today).returncode == 2
