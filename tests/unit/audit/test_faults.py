"""Faults that are planted on purpose: the audit must see every one of them."""

import importlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.audit import counting, lists, tables, whole_run
from synth.audit.canaries import OTHER_RUN, OTHER_TABLE, Canaries, Trials
from synth.domain import Attribute, Universe
from synth.noise import TableSampler
from synth.planning import plan_events
from synth.privacy import TableEvent
from tests.command_line import synth

from .conftest import SIZES, keyed_bytes, keyed_streams
from .mutants import (
    TABLES,
    alter,
    key_fixed,
    noise_halved,
    tables_share_noise,
)


def no_noise(patch):
    patch.setattr(TableSampler, "add_to", lambda *_, **__: None)


def cells_share_noise(patch):
    exact = TableSampler.draw

    def add_to(self, counts, stream, *, table, **_):
        counts += np.resize(exact(self, stream, table=table, start=0, count=1), len(counts))

    patch.setattr(TableSampler, "add_to", add_to)


def persons_taken_for_records(patch):
    patch.setattr("synth.privacy.sensitivity._records_per_unit", lambda _: 1)


def every_table_with_the_whole_epsilon(patch):
    patch.setattr(
        importlib.import_module("synth.audit.audit"),
        "plan_events",
        lambda config: tuple(
            replace(e, epsilon=config.privacy.epsilon) for e in plan_events(config)
        ),
    )


FAULTS = {
    "noise halved": (noise_halved, None),
    "no noise": (no_noise, None),
    "fixed key": (key_fixed, OTHER_RUN),
    "tables share noise": (tables_share_noise, OTHER_TABLE),
    "cells share noise": (cells_share_noise, None),
}


REPLACED, GAUSSIAN = ("replace-one", "0"), ("add-remove", "1/1000")


@pytest.mark.parametrize(
    ("name", "neighbours", "delta"),
    [
        ("noise halved", *REPLACED),
        ("no noise", *GAUSSIAN),
        ("fixed key", *REPLACED),
        ("tables share noise", *REPLACED),
        ("tables share noise", *GAUSSIAN),
        ("cells share noise", *REPLACED),
        ("cells share noise", *GAUSSIAN),
    ],
)
def test_faulty_noise_is_seen(run_audit, monkeypatch, name, neighbours, delta):
    """Of Laplace noise with records that are added, among the broken programs; that the same audits
    pass sound noise is tested beside this; the other faults of Gaussian noise are below."""
    monkeypatch.setattr(counting, "UNITS", 1)
    break_it, rule = FAULTS[name]
    break_it(monkeypatch)
    report = run_audit(
        strategy=TABLES,
        privacy={"epsilon": 4, "neighbours": neighbours, "delta": delta},
        ledger={"delta_cap": "1/10"},
    )
    assert report.exceeded
    assert report.findings[1].exceeded
    if rule is not None:
        assert report.findings[1].rule == rule


def trials_of(canaries):
    return Trials(canaries, 1e-4, keyed_streams(), keyed_bytes())


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("rho", ["1/8", "1/2"])
@pytest.mark.parametrize("name", [None, "noise halved", "no noise", "fixed key"])
@pytest.mark.usefixtures("small_audits")
def test_gaussian_tables(monkeypatch, name, rho, replaced):
    """Directly, because the planner takes Gaussian noise for many tables only."""
    squared = {"rho": Fraction(rho), "sensitivity_l2_squared": 2 if replaced else 1}
    event = TableEvent(("a",), 50, 2 if replaced else 1, None, "discrete-gaussian", **squared)
    if name is not None:
        FAULTS[name][0](monkeypatch)
    (finding,), reuse = tables.audit_tables([(0, event)], trials_of(Canaries(1, replaced=replaced)))
    assert finding.symbol == "rho"
    assert finding.exceeded == (name is not None)
    if name is None:
        assert 0.7 < finding.share < 1
        assert reuse.sentences == []


def test_persons_with_the_sensitivity_of_one_record_are_seen(run_audit, monkeypatch):
    person = {
        "privacy": {"epsilon": 3, "unit": {"column": "id", "max_records": 2}},
        "strategy": TABLES,
    }
    persons_taken_for_records(monkeypatch)
    assert run_audit(**person).exceeded


def test_a_plan_that_spends_too_much_is_seen_only_together(run_audit, monkeypatch):
    every_table_with_the_whole_epsilon(monkeypatch)
    report = run_audit(strategy=TABLES, privacy={"epsilon": 2})
    assert [finding.exceeded for finding in report.findings] == [False, False, False, True]


UNIVERSE = Universe(
    tuple(Attribute(f"c{n}", "categorical", tuple("0123456789")) for n in range(12))
)


def audit_list(event):
    return lists.audit_list(
        0,
        event,
        UNIVERSE,
        trials_of(Canaries(2, replaced=False)),
    )


def listing(threshold, **changes):
    return TableEvent(UNIVERSE.names, UNIVERSE.size, 2, Fraction(1), threshold=threshold, **changes)


@pytest.mark.usefixtures("small_audits")
class TestLists:
    def test_sound_ones_pass(self):
        delta = Fraction(1, 1000)
        for event in (listing(40), listing(20, mechanism="partition-selection", delta=delta)):
            findings = audit_list(event)
            assert not any(finding.exceeded for finding in findings)
            assert findings[0].share > 0.7

    def test_halved_noise_is_seen(self, monkeypatch):
        noise_halved(monkeypatch)
        assert audit_list(listing(40))[0].exceeded

    def test_a_threshold_too_low_for_its_delta_is_seen(self, monkeypatch):
        monkeypatch.setattr("synth.curator.boundary.keeps_its_delta", lambda _: True)
        delta = Fraction(1, 1000)
        event = listing(3, mechanism="partition-selection", delta=delta)
        law, sampled = slice(1, 3), slice(3, 5)
        findings = audit_list(event)
        assert not findings[0].exceeded
        assert any(finding.exceeded for finding in findings[law])
        assert any(finding.exceeded for finding in findings[sampled])

    def test_empty_cells_listed_by_a_selection_are_seen(self, monkeypatch):
        alter(
            "synth.curator.boundary:measure_list",
            ("if event.mechanism != PARTITION_SELECTION:", "if True:"),
        )(monkeypatch)
        event = listing(14, mechanism="partition-selection", delta=Fraction(1, 100))
        findings = lists.audit_selection(0, event, trials_of(Canaries(2, replaced=False)))
        found = [one for one in findings if one.exceeded]
        assert {one.subject for one in found} == {"list, empty cells"}
        assert "by those that were listed, and 0 is claimed" in found[-1].sentence

    def test_survivors_left_out_are_seen(self, monkeypatch):
        """Empty cells that are never listed, with a pure claim."""
        monkeypatch.setattr(
            "synth.curator.boundary.surviving_ranks",
            lambda *_, **__: np.array([], dtype=object),
        )
        assert audit_list(listing(1))[1].exceeded


SMALL_AUDIT = "".join(
    f"import {module.__name__}\n"
    + "".join(f"{module.__name__}.{name} = {size}\n" for name, size in sizes.items())
    for module, sizes in SIZES.items()
)


def test_the_command_needs_no_data(project):
    """Of its full size it is among the commands of the README."""
    program = SMALL_AUDIT + "from synth.cli import main\nmain()\n"
    done = synth("audit", project(people=None, strategy="identity"), program=program)
    assert done.returncode == 0, done.stderr
    assert "Nothing is above its claim" in done.stdout
    assert "age, sex, town" in done.stdout


@pytest.mark.usefixtures("small_audits")
def test_the_command_leaves_with_5_when_a_claim_is_exceeded(project, monkeypatch, capsys):
    import json

    import typer

    from synth import audit as package
    from synth.cli.configuration_commands import audit

    no_noise(monkeypatch)
    exact = package.audit
    monkeypatch.setattr(
        package,
        "audit",
        lambda config: exact(config, streams=keyed_streams(), randomness=keyed_bytes()),
    )
    with pytest.raises(typer.Exit) as left:
        audit(project(strategy="identity"), as_json=True)
    assert left.value.exit_code == 5
    shown = json.loads(capsys.readouterr().out)
    assert shown["exceeded"] is True
    assert shown["findings"][0]["lower_bound"] > 5
    with pytest.raises(typer.Exit):
        audit(project(strategy="identity"))
    assert "do not release" in capsys.readouterr().out


def test_noise_that_is_missing_shows_in_the_records_of_a_source_alone(run_audit, patch_of_runs):
    """The whole run has a verdict of its own: no other canary sees what only files bring about."""
    honest = run_audit(strategy=TABLES)
    patch_of_runs()
    report = run_audit(strategy=TABLES)
    by_subject = {found.subject: found.exceeded for found in report.findings}
    (of_source,) = [name for name in by_subject if name.startswith("records of a source: ")]
    assert [name for name, exceeded in by_subject.items() if exceeded] == [of_source]
    assert not any(found.exceeded for found in honest.findings)


@pytest.fixture
def patch_of_runs(monkeypatch):
    """Makes the measurements of made-up sources, and of nothing else, come with an eighth of the
    noise."""
    exact = whole_run.measure

    def measure(config, source, plan, **named):
        return exact(config, source, [replace(e, epsilon=8 * e.epsilon) for e in plan], **named)

    return lambda: monkeypatch.setattr(whole_run, "measure", measure)
