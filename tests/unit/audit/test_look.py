"""The look before a plan is audited as one of the tables: its counting, its noise, its share."""

import numpy as np
import pytest

from synth.audit import render
from synth.audit.tables import LOOK, SUBJECT
from synth.curator import boundary
from synth.curator.counting import look

PERSON = {"column": "id", "max_records": 2}


@pytest.fixture(autouse=True)
def every_universe_may_be_thin(monkeypatch):
    monkeypatch.setattr("synth.planning.look.THIN", 0)


@pytest.mark.parametrize("unit", ["record", PERSON], ids=["record", "person"])
def test_a_look_gives_away_no_more_than_its_share(run_audit, unit):
    report = run_audit(strategy="auto", privacy={"unit": unit, "epsilon": 5})
    assert not report.exceeded, report.faults
    (counted,) = [table for table in report.counting.tables if table.subject == LOOK]
    assert counted.largest_l1 == counted.charged_l1 == (2 if unit == "record" else 4)
    (found,) = [each for each in report.findings if each.subject == LOOK]
    assert found.claimed == pytest.approx(0.2)
    (together,) = [each for each in report.findings if each.subject == SUBJECT]
    assert together.claimed == 5
    assert any("other looks" in sentence for sentence in report.not_covered)
    assert "the look" in render(report)


def test_a_profile_that_a_record_changes_more_is_found(run_audit, monkeypatch):
    def gathered(counts, firsts):
        reached = [int(counts[counts >= first].sum()) for first in firsts]
        return np.array(reached) - np.array([*reached[1:], 0])

    monkeypatch.setattr(look, "gathered", gathered)
    report = run_audit(strategy="auto", privacy={"epsilon": 5})
    assert any("the look" in fault for fault in report.faults)


def test_a_dependence_that_a_record_changes_more_is_found(run_audit, monkeypatch):
    exact = look._apart
    monkeypatch.setattr(look, "_apart", lambda table: 4 * exact(table))
    report = run_audit(strategy="auto", privacy={"epsilon": 5})
    assert any("the look" in fault for fault in report.faults)


def test_a_look_with_finer_noise_is_found(run_audit, monkeypatch):
    exact = boundary.noise_law

    def finer(event):
        law = exact(event)
        return type(law)(law.epsilon * 4, law.sensitivity_l1) if not event.table else law

    monkeypatch.setattr(boundary, "noise_law", finer)
    report = run_audit(strategy="auto", privacy={"epsilon": 20})
    assert any("epsilon of the look" in fault for fault in report.faults)
