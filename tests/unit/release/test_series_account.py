"""What a release of a series states of its account: the charge, and by how much it raised it."""

import json

import pytest

from synth.job import pipeline
from synth.release.verification.manifest_check import ledger_findings
from tests.conftest import PEOPLE
from tests.unit.release.budget_oracle import budget_findings


def exact(number):
    return {"fraction": f"{number}/1", "decimal": str(number)}


def account(cap=3, before=1, now=1, added=None, earlier=("s-2026-01",)):
    plain = {
        "earlier_release_ids": list(earlier),
        **{
            key: {"epsilon": exact(value), "delta": exact(0)}
            for key, value in (("cap", cap), ("spent_before", before), ("spent_now", now))
        },
    }
    if added is not None:
        plain["added"] = {"epsilon": exact(added), "delta": exact(0)}
    return plain


def found(ledger, *, series=True):
    configuration = {"release": {"id": "s-2026-02"}} | ({"series": {}} if series else {})
    return list(ledger_findings(ledger, {"configuration": configuration}))


def test_what_a_further_part_adds_may_be_anything_up_to_its_charge():
    for added in (0, 1):
        assert found(account(added=added)) == []
    assert found(account(cap=1, added=0)) == []
    assert found(account(), series=False) == []


@pytest.mark.parametrize(
    ("ledger", "series", "finding"),
    [
        (account(added=2), True, "at most itself"),
        (account(added=-1), True, "at least nothing"),
        (account(), True, "for all of them"),
        (account(added=0), False, "is for the releases of a series"),
        (account(before=0, added=0, earlier=()), True, "no earlier release is listed"),
        (account(cap=1, added=1), True, "more epsilon was spent than the cap allows"),
    ],
)
def test_an_account_of_a_series_that_does_not_add_up_is_found(ledger, series, finding):
    assert any(finding in each for each in found(ledger, series=series))


def test_the_periods_of_a_series_state_one_charge_together(project, log):
    dated = [f"{line},2026-0{month}-11" for month in (1, 2) for line in PEOPLE.splitlines()[1:]]
    path = project(
        people="\n".join(["age,sex,town,seen_on", *dated]) + "\n",
        release={"id": "s-{period}"},
        source={"where": {"column": "seen_on", "within": "period"}},
        series={"every": "month", "first": "2026-01", "rows": "new", "horizon": 2},
        ledger={"epsilon_cap": 1},
    )
    stated = []
    for period in ("2026-01", "2026-02"):
        folder = pipeline.run(path, period=period, log=log).path
        manifest = json.loads((folder / "manifest.json").read_text())
        assert list(budget_findings(manifest)) == []
        ledger = manifest["accounting"]["ledger"]
        stated.append(
            [ledger[key]["epsilon"]["fraction"] for key in ("spent_before", "spent_now", "added")]
        )
        assert ledger["left"]["epsilon"]["fraction"] == "0/1"
    assert stated == [["0/1", "1/1", "1/1"], ["1/1", "1/1", "0/1"]]
