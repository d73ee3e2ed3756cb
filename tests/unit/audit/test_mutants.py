"""Every one of twenty-two broken programs fails its audit, and the whole one passes the same."""

import pytest

from synth.audit import counting, render
from tests.forgotten_plans import forget_plans

from .mutants import MUTANTS


@pytest.fixture
def fresh_plans():
    forget_plans()
    yield
    forget_plans()


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.usefixtures("fresh_plans")
def test_a_broken_program_fails_its_audit(run_audit, monkeypatch, name):
    mutant = MUTANTS[name]
    monkeypatch.setattr(counting, "UNITS", mutant.units)
    mutant.break_it(monkeypatch)
    report = run_audit(**mutant.changes)
    assert report.exceeded
    assert any(mutant.says in sentence for sentence in report.faults), report.faults
    assert "do not release" in render(report)


AUDITED = {
    str(each.changes): each for each in sorted(MUTANTS.values(), key=lambda mutant: mutant.units)
}
"""Of each configuration the one with most units."""


@pytest.mark.parametrize("mutant", AUDITED.values(), ids=range(len(AUDITED)))
@pytest.mark.usefixtures("fresh_plans")
def test_the_whole_program_passes_the_same_audit(run_audit, monkeypatch, mutant):
    monkeypatch.setattr(counting, "UNITS", mutant.units)
    assert run_audit(**mutant.changes).faults == ()


def test_there_are_twenty_two():
    assert len(MUTANTS) == 22
