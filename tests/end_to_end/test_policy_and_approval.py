"""Policies and approvals through the command line: what is refused touches nothing."""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests import command_line

POLICY = {
    "policy_version": 1,
    "epsilon": 1,
    "populations": {"nobody": {"epsilon_cap": 2}},
    "units": ["record"],
    "neighbours": ["add-remove"],
    "disposal": ["keep"],
}
UNREADABLE = "a file that stops whoever opens it"


def synth(*arguments, environment=None):
    own = {name: value for name, value in os.environ.items() if name != "SYNTH_POLICY"}
    return command_line.synth(*arguments, environment=own | (environment or {}))


def keys_in(place: Path, *names: str) -> list[dict[str, str]]:
    """Key pairs of these names, and their entries for a policy."""
    entries = []
    for name in names:
        made = synth("keygen", place / f"{name}.pem")
        assert made.returncode == 0, made.stderr
        line = (place / f"{name}.pub.pem").read_text().splitlines()[1]
        assert f"public_key: {line}" in made.stdout
        entries.append({"name": name, "public_key": line})
    return entries


def written(place: Path, content, name="policy.yaml") -> Path:
    path = place / name
    path.write_text(yaml.safe_dump(content))
    return path


def untouched(path: Path) -> bool:
    """Neither a ledger nor an output was made."""
    return not (path.parent / "state").exists() and not (path.parent / "outputs").exists()


REFUSALS = {
    "epsilon": ({"epsilon": "0.999"}, 4, "privacy.epsilon"),
    "cap": ({"populations": {"nobody": {"epsilon_cap": "1.5"}}}, 4, "ledger.epsilon_cap"),
    "population": ({"populations": {"others": {"epsilon_cap": 9}}}, 2, "ledger.population"),
    "ledger": (
        {"populations": {"nobody": {"epsilon_cap": 2, "ledger": "other.sqlite"}}},
        2,
        "ledger.path",
    ),
    "unit": ({"units": ["person"]}, 2, "privacy.unit"),
    "neighbours": ({"neighbours": ["replace-one"]}, 2, "privacy.neighbours"),
    "disposal": ({"disposal": ["delete"]}, 2, "source.disposal"),
    "signing": ({"signing": {"required": True}}, 2, "output.signing_key"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_violation_is_refused_before_anything_is_opened(project, kind):
    changes, exit_code, place = REFUSALS[kind]
    path = project(people=UNREADABLE)
    policy = written(path.parent, POLICY | changes)
    refused = synth("run", path, "--policy", policy)
    assert refused.returncode == exit_code, refused.stderr
    assert place in refused.stderr
    assert "Traceback" not in refused.stderr
    assert untouched(path)


@pytest.mark.parametrize("verb", ["measure", "publish"])
def test_the_halves_of_a_run_ask_the_policy_too(project, verb):
    path = project(people=UNREADABLE)
    policy = written(path.parent, POLICY | {"epsilon": "1/2"})
    for options, environment in (
        (["--policy", policy], {}),
        ([], {"SYNTH_POLICY": str(policy)}),
    ):
        refused = synth(verb, path, *options, environment=environment)
        assert refused.returncode == 4
        assert untouched(path)


def test_the_flag_and_the_environment_must_both_hold(project):
    path = project(people=UNREADABLE)
    fine = written(path.parent, POLICY, "fine.yaml")
    strict = written(path.parent, POLICY | {"units": ["person"]}, "strict.yaml")
    for flag, variable in ((fine, strict), (strict, fine)):
        refused = synth("run", path, "--policy", flag, environment={"SYNTH_POLICY": str(variable)})
        assert refused.returncode == 2
        assert "strict.yaml" in refused.stderr
    opened = synth("run", path, "--policy", fine, environment={"SYNTH_POLICY": str(fine)})
    assert opened.returncode == 1, "now the file of people does stop the run"


@pytest.mark.parametrize("named", ["", " ", "absent.yaml"])
def test_a_policy_that_is_not_there_stops_the_run(project, named):
    path = project(people=UNREADABLE)
    refused = synth("run", path, environment={"SYNTH_POLICY": named})
    assert refused.returncode == 2
    assert untouched(path)


def test_the_python_function_keeps_to_the_environment_too(project, monkeypatch):
    import synth as package

    path = project(people=UNREADABLE)
    monkeypatch.setenv("SYNTH_POLICY", str(written(path.parent, POLICY | {"epsilon": "1/2"})))
    with pytest.raises(package.errors.PolicyError) as caught:
        package.run(path)
    assert caught.value.exit_code == 4
    assert untouched(path)


def test_enough_approvals_let_it_run_and_a_change_voids_them(project):
    path = project()
    place = path.parent
    holders = keys_in(place, "first", "second", "third")
    keys_in(place, "stranger")
    policy = written(place, POLICY | {"approvals": {"required": 2, "keys": holders}})
    command = ("run", path, "--policy", policy)

    refused = synth(*command)
    assert refused.returncode == 2
    assert "0 valid" in refused.stderr
    for name in ("first", "first", "stranger"):  # twice the same, and one who is not listed
        approved = synth("approve", path, "--key", place / f"{name}.pem")
        assert approved.returncode == 0, approved.stderr
        words, _, outcome = approved.stdout.partition("approved by the key")
        assert "What is approved" in words, "it is printed first"
        assert "epsilon 1, delta 0" in words
        assert outcome
    refused = synth(*command)
    assert refused.returncode == 2
    assert "1 valid, by `first`" in refused.stderr
    assert "not listed" in refused.stderr
    assert untouched(path)

    assert synth("approve", path, "--key", place / "second.pem").returncode == 0
    changed = project(privacy={"justification": "A test needs no more!"})
    refused = synth("run", changed, "--policy", policy)
    assert refused.returncode == 2
    assert "0 valid" in refused.stderr
    assert "not of this configuration as it is now" in refused.stderr
    assert untouched(path)

    project()
    published = synth(*command)
    assert published.returncode == 0, published.stderr
    for output in (published.stdout, published.stderr, (place / "small.yaml.approval").read_text()):
        for name in ("first", "second", "stranger"):
            assert (place / f"{name}.pem").read_text().splitlines()[1] not in output


def test_a_series_is_approved_once_and_runs_period_by_period(project):
    """Two approvals of the whole series, then an unattended run of each period."""
    records = "".join(
        f"{age},Female,Nord,2026-0{month}-11\n" for month in (1, 2) for age in range(20, 60)
    )
    path = project(
        release={"id": "small-{period}"},
        source={"where": {"column": "seen_on", "within": "period"}},
        series={"every": "month", "first": "2026-01", "rows": "new", "horizon": 3},
        ledger={"epsilon_cap": 1},
        people="age,sex,town,seen_on\n" + records,
    )
    place = path.parent
    asked = {"approvals": {"required": 2, "keys": keys_in(place, "first", "second")}}
    policy = written(place, POLICY | asked)
    run = ("run", path, "--policy", policy, "--period")
    assert synth("approve", path, "--key", place / "first.pem").returncode == 0
    refused = synth(*run, "2026-01")
    assert refused.returncode == 2
    assert "1 valid, by `first`" in refused.stderr
    approved = synth("approve", path, "--key", place / "second.pem")
    assert "2 approvals of this series" in approved.stdout
    checked = synth("check", path, environment={"SYNTH_POLICY": str(policy)})
    assert "approved  2 of 2: the series by first, the series by second" in checked.stdout
    for period in ("2026-01", "2026-02"):
        published = synth(*run, period)
        assert published.returncode == 0, published.stderr
        assert synth("verify", place / "outputs" / f"small-{period}").returncode == 0
    spent = json.loads(synth("ledger", path, "--json").stdout)
    assert (spent["spent"]["epsilon"], len(spent["series"][0]["parts"])) == ("1", 2)
    path.write_text(path.read_text().replace("horizon: 3", "horizon: 4"))
    assert synth(*run, "2026-03").returncode == 2


def test_approvals_are_not_replayed_tampered_with_or_borrowed(project):
    path = project(
        release={"id": "small-{period}"}, source={"path": "people-{period}.csv"}, people=UNREADABLE
    )
    place = path.parent
    policy = written(
        place, POLICY | {"approvals": {"required": 1, "keys": keys_in(place, "officer")}}
    )
    approve = ("approve", path, "--key", place / "officer.pem", "--period", "2026-01")
    assert synth(*approve).returncode == 0
    approvals = place / "small.yaml.approval"
    genuine = approvals.read_text()

    def code(period):
        finished = synth("run", path, "--policy", policy, "--period", period)
        assert finished.returncode in (1, 2), finished.stderr
        return finished.returncode

    assert code("2026-02") == 2, "an approval of another period"
    approvals.write_text(genuine.replace("small-2026-01", "small-2026-02"))
    assert code("2026-02") == 2, "the same signature under another name"
    for old, new in (('signature: "', 'signature: "A'), ("==", "")):
        approvals.write_text(genuine.replace(old, new))
        assert code("2026-01") == 2, "no signature at all"
    signature = genuine.split('signature: "')[1].split('"')[0]
    other = ("B" if signature[0] != "B" else "C") + signature[1:]
    approvals.write_text(genuine.replace(signature, other))
    assert code("2026-01") == 2, "another signature"
    assert untouched(path)
    approvals.write_text(genuine)
    assert code("2026-01") == 1, "approved: now the file of people is opened, and stops the run"


def test_what_a_policy_forbids_is_not_approved(project):
    path = project()
    keys_in(path.parent, "officer")
    policy = written(path.parent, POLICY | {"epsilon": "1/2"})
    refused = synth("approve", path, "--key", path.parent / "officer.pem", "--policy", policy)
    assert refused.returncode == 4
    assert not (path.parent / "small.yaml.approval").exists()


def test_a_key_that_others_may_read_approves_nothing(project):
    path = project()
    keys_in(path.parent, "officer")
    (path.parent / "officer.pem").chmod(0o640)
    refused = synth("approve", path, "--key", path.parent / "officer.pem")
    assert refused.returncode == 2
    assert "others may use" in refused.stderr
    assert not (path.parent / "small.yaml.approval").exists()


def test_a_key_is_never_overwritten(tmp_path):
    keys_in(tmp_path, "mine")
    before = (tmp_path / "mine.pem").read_bytes()
    refused = synth("keygen", tmp_path / "mine.pem")
    assert refused.returncode == 1
    assert (tmp_path / "mine.pem").read_bytes() == before


def test_the_schema_of_a_policy_is_printed():
    import json

    import jsonschema

    schema = json.loads(synth("schema", "--policy").stdout)
    jsonschema.Draft202012Validator(schema).validate(POLICY)
    assert schema["$id"] == "urn:synth:policy:1"
