"""What `synth ledger` shows."""

import io
import json
from fractions import Fraction

from rich.console import Console

from synth.bookkeeping import RunState
from synth.bookkeeping.statement import ledger_report, render_ledger
from synth.privacy import Budget, Promise, TableEvent
from synth.privacy.accounting import GAUSSIAN


def rendered(ledger, population):
    stream = io.StringIO()
    render_ledger(ledger, population, Console(file=stream, width=80))
    return stream.getvalue()


def test_json_is_exact(ledger, reserve):
    reserve("a", "1/3")
    ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "ab"})
    reserve("b", "1")
    ledger.void("b", "wrong file")
    report = ledger_report(ledger, "people")
    assert json.loads(json.dumps(report)) == report
    assert report["cap"] == {"epsilon": "4", "delta": "0"}
    assert report["spent"] == {"epsilon": "1/3", "delta": "0"}
    assert report["left"] == {"epsilon": "11/3", "delta": "0"}
    assert [run["state"] for run in report["runs"]] == ["measured", "voided"]
    assert report["runs"][0]["details"] == {"measured": {"measurements_sha256": "ab"}}
    assert report["runs"][1]["void_reason"] == "wrong file"
    assert report["chain"] == {"events": 5, "hash": ledger.history()[-1].hash}


def test_text_names_runs_and_what_is_left(ledger, reserve):
    reserve("first", "0.5")
    reserve("second", "1")
    ledger.void("second", "wrong [bold]file[/bold]")
    text = rendered(ledger, "people")
    assert "first" in text
    assert "second was voided: wrong [bold]file[/bold]\n" in text
    assert "0.5 spent of 4, 3.5 left" in text
    assert max(map(len, text.splitlines())) <= 80


def test_text_of_an_untouched_population(ledger):
    assert rendered(ledger, "people") == "population people: nothing was spent yet\n"
    assert ledger_report(ledger, "people")["left"] is None


def test_text_says_what_is_left_of_delta_where_there_is_one(ledger, reserve):
    reserve("pure", "1")
    assert "delta" not in rendered(ledger, "people")
    event = TableEvent(
        ("age",), 3, 1, mechanism=GAUSSIAN, rho=Fraction(1, 100), sensitivity_l2_squared=1
    )
    ledger.reserve(
        release_id="gaussian",
        configuration_hash="c",
        population="others",
        promise=Promise("add-remove", None, None),
        cap=Budget(Fraction(4), Fraction(1, 10**8)),
        events=[event],
        delta=Fraction(1, 10**9),
    )
    text = rendered(ledger, "others")
    assert "delta" in text.splitlines()[1]
    assert "delta: 0.000000001 spent of 0.00000001, 0.000000009 left." in " ".join(text.split())
