"""Whole runs that look before they plan: what is charged, measured, published and verified."""

import errno
import itertools
import json
import random
import shutil
from fractions import Fraction
from functools import partial
from operator import itemgetter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from synth import curator
from synth.bookkeeping import Ledger
from synth.bookkeeping.run_directory import LOOK, run_directory
from synth.config import load_config
from synth.errors import LedgerError, OutputError, SynthError, VerificationError
from synth.job import pipeline
from synth.job.account import void
from synth.measurements import kept_look, read_measurements
from synth.noise import NoiseStream
from synth.planning import plan_events, plan_look
from synth.privacy import Budget, sensitivity_l1
from synth.privacy.meaning import exact_number
from synth.progress import Stage, watched_by
from synth.release import verify_release
from synth.release.verification.folder import Folder
from synth.release.verification.other_version import findings_without_rebuild
from tests.command_line import synth
from tests.end_to_end.test_whole_runs import DELTAS, UNITS
from tests.unit.release.budget_oracle import budget_findings

pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")

KEY = bytes(range(32))
GUESS, CODES = 60, 30
"""The smallest universe with a look for this guess has 1,201 cells; this one has 1,350."""
FILLER = {"name": "code", "type": "integer", "minimum": 0, "maximum": CODES - 1, "bin_width": 1}
FILLER |= {"out_of_domain": "clamp", "source": "test"}
WIDER = [FILLER | {"name": f"code-{number}", "maximum": 9} for number in range(8)]
TOTAL = [{"where": {}, "total": GUESS, "source": "a register"}]
PAIRS = {"marginals": 2}


def source(records: int, *, alone: bool) -> str:
    """People of two records each; alone in their cells, or many in one."""
    chance = random.Random(7)
    lines = ["person,age,sex,town,code," + ",".join(column["name"] for column in WIDER)]
    for number in range(records):
        code = chance.randrange(CODES) if alone else chance.randrange(3)
        sex = chance.choice(["Female", "Male"])
        town = chance.choice(["Nord", "Süd"])
        codes = f"{code},{code % 3},7,{code % 3},7,{code % 3},7,7,7"
        lines.append(f"p{number // 2},{20 * (code % 5)},{sex},{town},{codes}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def configured(project):
    def write(records=120, *, alone=True, wider=False, asked=PAIRS, **changes):
        path = project(people=source(records, alone=alone), **changes)
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
        return project(
            people=None,
            **changes,
            domain=[*plain["domain"], *(WIDER if wider else [FILLER])],
            workload=asked | ({} if wider else {"expected_records": GUESS}),
        )

    return write


FULL = {"records": 8_000, "alone": False}
LEADS_TO = {
    "small tables": ({}, False),
    "columns alone": ({"asked": {"marginals": 1, "cells": False}}, False),
    "the universe": (FULL, True),
    "the universe of lone records": ({"epsilon": 24}, True),
    "a list": (FULL | {"wider": True}, True),
}
"""What a look leads to: of which source, and whether cells of the universe are measured."""
CASES = [
    ("small tables", "record", "0"),
    ("small tables", "person", "1e-6"),
    ("columns alone", "record", "1e-6"),
    ("columns alone", "person", "0"),
    ("the universe", "record", "1e-6"),
    ("the universe", "person", "0"),
    ("the universe of lone records", "record", "0"),
    ("the universe of lone records", "person", "1e-6"),
    ("a list", "record", "1e-6"),
    ("a list", "person", "0"),
]


def test_what_a_look_leads_to_meets_both_units_and_deltas():
    every = list(itertools.product(LEADS_TO, UNITS, DELTAS))
    for two in itertools.combinations(range(3), 2):
        chosen = itemgetter(*two)
        assert set(map(chosen, CASES)) == set(map(chosen, every))


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_a_run_looks_plans_and_is_verified(configured, log, case):
    leads_to, unit, delta = case
    changes, measures_universe = LEADS_TO[leads_to]
    epsilon = changes.get("epsilon", 1)
    path = configured(
        **{name: change for name, change in changes.items() if name != "epsilon"},
        privacy={"epsilon": epsilon, "unit": UNITS[unit], "delta": delta},
        ledger={"epsilon_cap": epsilon, "delta_cap": delta},
    )
    config, look = load_config(path), plan_look(load_config(path))
    pipeline.measure(config, log=log, stream=NoiseStream(key=KEY))
    folder = pipeline.publish(config, log=log).path
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert list(budget_findings(manifest)) == []
    seen = manifest["accounting"]["look"]
    events = plan_events(config, seen["noisy_counts"])
    measured = read_measurements(folder / "measurements.parquet", config.universe)
    assert tuple(table.event for table in measured.tables) == events
    assert list(measured.look.noisy_counts) == seen["noisy_counts"]
    assert measured.look.event == look.event
    assert [tuple(pair) for pair in seen["pairs"]] == list(look.event.pairs)
    assert bool(seen["pairs"]) == (leads_to != "columns alone")
    assert seen["sensitivity"] == sensitivity_l1(config.privacy) * (2 if seen["pairs"] else 1)
    share = Fraction(1, 25 if seen["pairs"] else 50)
    assert Fraction(seen["epsilon"]["fraction"]) == share * epsilon
    assert len(seen["noisy_counts"]) == (3 if seen["pairs"] else 2)
    assert findings_without_rebuild(Folder(folder)) == []
    full = config.universe.names
    assert any(event.table == full for event in events) == measures_universe
    promised = Budget(config.privacy.epsilon, config.privacy.delta)
    with Ledger.open_existing(config.ledger.path) as ledger:
        position = ledger.position(config.ledger.population)
        ledger.verify_chain()
    assert position.spent == promised
    assert position.runs[-1].tables == look.events
    parameters = manifest["guarantee"]["privacy_parameters"]
    assert Fraction(parameters["epsilon"]["fraction"]) == promised.epsilon
    assert Fraction(parameters["delta"]["fraction"]) == promised.delta
    assert manifest["manifest_version"] == "7"
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"{seen['noisy_counts'][0]:,} records in places 1 to" in card
    assert "a noisy look" in card
    apart = f"{2 * seen['noisy_counts'][-1]:,} in the wrong cells if columns were independent"
    mean = f"{apart}, a mean of {len(seen['pairs'])} pairs of columns"
    assert (mean in card) == bool(seen["pairs"])
    assert ("if columns were independent" in card) == bool(seen["pairs"])
    assert "A noisy look" in (folder / "index.html").read_text(encoding="utf-8")
    assert "a look, before the tables" in (folder / "registry.yaml").read_text(encoding="utf-8")


def test_where_the_number_of_records_is_public_a_look_tells_how_they_gather(configured, log):
    for relation in ("add-remove", "replace-one"):
        path = configured(
            GUESS,
            release={"id": relation},
            privacy={"neighbours": relation},
            ledger={"population": relation},
            public_totals=TOTAL,
        )
        config = load_config(path)
        look = plan_look(config)
        assert look is not None
        assert look.event.sensitivity_l1 == (2 if relation == "add-remove" else 4)
        pipeline.measure(config, log=log)
        path = run_directory(config) / "measurements.parquet"
        assert read_measurements(path, config.universe).look is not None
        folder = pipeline.publish(config, log=log).path
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["post_processing"]["rows"]["number"] == GUESS
        assert "look" in manifest["accounting"]
        assert verify_release(folder).release_id == relation


@pytest.mark.parametrize("unit", UNITS)
def test_of_two_columns_a_look_counts_how_far_they_depend(project, log, unit):
    """The only pair that there is, which is the universe; the release stands, both ways."""
    other = FILLER | {"name": "code-0", "maximum": 44}
    for name in ("alone", "together"):
        path = project(
            people=source(8_000, alone=name == "alone"),
            release={"id": name},
            domain=[FILLER, other],
            privacy={"unit": UNITS[unit]},
            ledger={"population": name},
            workload=PAIRS | {"expected_records": GUESS},
            public_totals=[],
        )
        config = load_config(path)
        assert plan_look(config).event.pairs == (("code", "code-0"),)
        pipeline.measure(config, log=log)
        folder = pipeline.publish(config, log=log).path
        seen = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        apart = seen["accounting"]["look"]["noisy_counts"][-1]
        assert 2 * apart / 8_000 > 0.4, "the second code is the first one modulo 3"
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert f"{2 * apart:,} in the wrong cells if columns were independent" in card
        assert "1 pairs" not in card
        assert verify_release(folder).release_id == config.release.id


def stopped_after_a_look(config, noisy_counts=None):
    """The planner, which cannot carry out what a look leads to; by then the look is durable."""
    if noisy_counts is None:
        return plan_events(config)
    kept = kept_look(
        run_directory(config) / LOOK, config.release.id, config.hash, plan_look(config).event
    )
    assert kept is not None
    assert kept.noisy_counts == noisy_counts
    raise MemoryError


def test_a_run_that_stops_after_its_look_takes_no_second_one(configured, log, monkeypatch):
    """Whatever the look led to cannot be carried out here: it is kept, and planned by again."""
    config = load_config(configured())
    directory = run_directory(config)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "plan_events", stopped_after_a_look)
        for number in range(2):
            with pytest.raises(SynthError, match="not enough memory"):
                pipeline.measure(config, log=log, stream=NoiseStream(key=bytes([number] * 32)))
    kept = kept_look(directory / LOOK, "small", config.hash, plan_look(config).event)
    with pytest.raises(LedgerError, match="cannot be voided"):
        void(config, "small", "it does not fit")
    pipeline.measure(config, log=log, stream=NoiseStream(key=KEY))
    measured = read_measurements(directory / "measurements.parquet", config.universe)
    assert measured.look == kept
    pipeline.publish(config, log=log)
    with Ledger.open_existing(config.ledger.path) as ledger:
        assert ledger.position(config.ledger.population).spent.epsilon == config.privacy.epsilon


CHANGES_OF_A_KEPT_LOOK = [
    lambda head: head["look"].update(noisy_counts=[1, 2]),
    lambda head: head["look"].update(noisy_counts=[1, 2, 3, 4]),
    lambda head: head["look"].update(noisy_counts=[1, 2, True]),
    lambda head: head["look"].update(pairs=[]),
    lambda head: head["look"].update(pairs=head["look"]["pairs"][1:]),
    lambda head: head["look"].update(pairs=[["age", 1]]),
    lambda head: head["look"].pop("pairs"),
    lambda head: head["look"].update(firsts=[1, "a"]),
    lambda head: head["look"].update(epsilon="1/49"),
    lambda head: head.update(configuration_hash="0" * 64),
    lambda head: head.update(more=1),
    lambda head: head.clear(),
]


def test_a_kept_look_that_was_changed_opens_no_source(configured, log, monkeypatch):
    config = load_config(configured())
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "plan_events", stopped_after_a_look)
        with pytest.raises(SynthError, match="not enough memory"):
            pipeline.measure(config, log=log)
    path = run_directory(config) / LOOK
    assert path.stat().st_mode & 0o777 == 0o600
    kept = path.read_bytes()
    monkeypatch.setattr(curator, "measure", partial(pytest.fail, "measured"))
    for change in CHANGES_OF_A_KEPT_LOOK:
        head = json.loads(kept)
        change(head)
        path.write_bytes(json.dumps(head).encode())
        with pytest.raises(OutputError, match="the look that small took was changed"):
            pipeline.measure(config, log=log)


def test_a_disk_that_is_full_when_the_look_is_kept_is_an_expected_failure(
    configured, log, monkeypatch
):
    config = load_config(configured())

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "keep_look", full)
        with pytest.raises(OutputError, match="the disk is full"):
            pipeline.measure(config, log=log)
    pipeline.measure(config, log=log)


class Told:
    """Everything that a watcher is told."""

    def __init__(self):
        self.told = []

    def entered(self, step):
        self.told.append(step)

    def advanced(self, done, total, unit):
        self.told.append((done, total, unit))


def test_nothing_but_noisy_numbers_depends_on_what_the_look_says(configured, log):
    """Empty, thin or full, planned with or without the universe: log and progress are the same."""
    told = []
    for number, (records, alone) in enumerate([(0, True), (120, True), (9_000, False)]):
        log.lines.clear()
        path = configured(
            records,
            alone=alone,
            release={"id": f"release-{number}"},
            ledger={"path": f"state-{number}/ledger.sqlite"},
        )
        watcher = Told()
        with watched_by(watcher):
            pipeline.measure(load_config(path), log=log, stream=NoiseStream(key=KEY))
        told.append((watcher.told, list(log.lines)))
    assert told[0] == told[1] == told[2]
    steps = [step for step in told[0][0] if step is not None]
    assert {step.stage for step in steps} == {Stage.COUNTING, Stage.NOISE}
    assert all(step.parts == 1 for step in steps)
    assert any("a look" in line for line in told[0][1])


def test_the_command_line_plans_explains_runs_and_verifies(configured, tmp_path):
    path = configured()
    plan = synth("plan", path)
    assert plan.returncode == 0, plan.stderr
    assert "A look comes first" in plan.stdout
    assert "how far 6 pairs of columns depend on each other" in " ".join(plan.stdout.split())
    explained = json.loads(synth("explain", path, "--json").stdout)
    assert (explained["epsilon"], explained["delta"]) == ("1", "0")
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "outputs" / "small"
    assert synth("verify", folder).returncode == 0
    account = json.loads(synth("ledger", path, "--json").stdout)
    assert account["spent"] == {"epsilon": "1", "delta": "0"}
    assert synth("run", path).returncode == 0, "done before: nothing is spent"
    assert json.loads(synth("ledger", path, "--json").stdout)["spent"] == account["spent"]


def changed_look(folder, change):
    """The measurements with another look in their metadata."""
    file = folder / "measurements.parquet"
    table = pq.read_table(file)
    head = json.loads(table.schema.metadata[b"synth"])
    change(head)
    table = table.replace_schema_metadata({b"synth": json.dumps(head, sort_keys=True).encode()})
    pq.write_table(pa.table(table), file)


CHANGES = {
    "other counts": lambda head: head["look"].update(noisy_counts=[50, 4_000, 0]),
    "other pairs": lambda head: head["look"]["pairs"].pop(),
    "pairs the other way round": lambda head: head["look"]["pairs"][0].reverse(),
    "no pairs": lambda head: head["look"].update(
        pairs=[], noisy_counts=head["look"]["noisy_counts"][:2]
    ),
    "a count too few": lambda head: head["look"]["noisy_counts"].pop(),
    "another epsilon": lambda head: head["look"].update(epsilon="1/100"),
    "other places": lambda head: head["look"].update(firsts=[1, 4]),
    "a count too many": lambda head: head["look"]["noisy_counts"].append(3),
    "no look": lambda head: (head.pop("look"), head.update(format_version=2)),
    "the version of a file without a look": lambda head: head.update(format_version=2),
}
ANOTHER = "holds another look at the records than the configuration asks for"
FINDINGS = {
    "other counts": "lists other events than the configuration asks for",
    "another epsilon": ANOTHER,
    "other places": ANOTHER,
    "other pairs": ANOTHER,
    "pairs the other way round": ANOTHER,
    "no pairs": ANOTHER,
    "a count too few": "has a look whose noisy counts are not as many whole numbers",
    "a count too many": "has a look whose noisy counts are not as many whole numbers",
    "no look": ANOTHER,
    "the version of a file without a look": (
        "has a format version other than 3, that of what it holds"
    ),
}


def test_a_changed_look_is_found(configured, log, tmp_path):
    config = load_config(configured())
    pipeline.measure(config, log=log, stream=NoiseStream(key=KEY))
    published = pipeline.publish(config, log=log).path
    for number, (name, change) in enumerate(CHANGES.items()):
        folder = tmp_path / f"changed-{number}"
        shutil.copytree(published, folder)
        changed_look(folder, change)
        with pytest.raises(VerificationError) as refused:
            verify_release(folder)
        assert f"measurements.parquet: {FINDINGS[name]}" in refused.value.findings, name
    # and without a rebuild: tables dearer than what was reserved
    assert findings_without_rebuild(Folder(published)) == []
    path = published / "manifest.json"
    text = path.read_text(encoding="utf-8")
    manifest = json.loads(text)
    manifest["accounting"]["look"]["reserved"]["epsilon"] = exact_number(Fraction(1, 100))
    path.write_text(json.dumps(manifest), encoding="utf-8")
    dearer = "manifest.json: accounting.events: cost more than was reserved before the look"
    assert dearer in findings_without_rebuild(Folder(published))
    # or a look whose noise is half of what its pairs need, or with a count of no pairs
    halved = {"sensitivity": 1, "noise_scale_records": exact_number(Fraction(25))}
    malformed = "manifest.json: lacks fields that every version writes, or they are malformed"
    for changed in (halved, {"pairs": []}, {"pairs": [["age", "age"]]}):
        manifest = json.loads(text)
        manifest["accounting"]["look"] |= changed
        path.write_text(json.dumps(manifest), encoding="utf-8")
        assert findings_without_rebuild(Folder(published)) == [malformed], changed
