"""Every one of twenty-two broken programs fails its audit, and the whole one passes the same."""

import pytest

from synth.audit import render

from .mutants import MUTANTS, forget_plans


@pytest.fixture
def fresh_plans():
    forget_plans()
    yield
    forget_plans()


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.usefixtures("fresh_plans")
def test_a_broken_program_fails_its_audit(run_audit, monkeypatch, name):
    mutant = MUTANTS[name]
    mutant.break_it(monkeypatch)
    report = run_audit(**mutant.changes)
    assert report.exceeded
    assert any(mutant.says in sentence for sentence in report.faults), report.faults
    assert "do not release" in render(report)


AUDITED = {str(mutant.changes): mutant.changes for mutant in MUTANTS.values()}
"""Each configuration once."""


@pytest.mark.parametrize("changes", AUDITED.values(), ids=range(len(AUDITED)))
@pytest.mark.usefixtures("fresh_plans")
def test_the_whole_program_passes_the_same_audit(run_audit, changes):
    assert run_audit(**changes).faults == ()


def test_there_are_twenty_two():
    assert len(MUTANTS) == 22
