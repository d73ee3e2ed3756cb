"""Sound noise passes, and is seen almost as large as it is allowed to be."""

import numpy as np
import pytest

from synth.audit import render
from synth.audit.canaries import OWN_COUNT, Canaries, coins, tally

from .conftest import keyed_bytes

PERSON = {"column": "id", "max_records": 3}
TABLES = {"tables": [["age"], ["sex", "town"]]}


@pytest.mark.parametrize(
    ("neighbours", "unit", "delta"),
    [
        ("add-remove", "record", "0"),
        ("replace-one", PERSON, "0"),
        ("replace-one", "record", "1/1000"),
        ("add-remove", PERSON, "1/1000"),
    ],
    ids=["record-0", "replaced person-0", "replaced record-1/1000", "person-1/1000"],
)  # every two of relation, unit and delta
def test_every_claim_holds_and_nearly_is_reached(run_audit, neighbours, unit, delta):
    privacy = {"epsilon": 4, "neighbours": neighbours, "unit": unit, "delta": delta}
    report = run_audit(privacy=privacy, strategy=TABLES, ledger={"delta_cap": "1/10"})
    assert len(report.findings) == 4
    assert not report.exceeded
    for finding in report.findings[:2]:
        assert finding.rule == OWN_COUNT
        assert 0.8 <= finding.share <= 1
        assert ("gaussian" in finding.mechanism) == (finding.symbol == "rho")
    assert 0 < report.findings[-1].lower_bound < 4


def test_private_choices_are_audited(run_audit):
    """Of records they are among the audits that broken programs fail."""
    privacy = {"epsilon": 8, "unit": PERSON}
    report = run_audit(strategy="adaptive", privacy=privacy, ledger={"epsilon_cap": 9})
    assert report.faults == ()
    assert "private choices" in render(report)
    assert max(finding.lower_bound for finding in report.findings) > 0


@pytest.mark.parametrize("delta", ["0", "1/1000"])
def test_lists_are_audited(run_audit, delta):
    privacy = {"epsilon": 2, "delta": delta} | ({} if delta == "0" else {"unit": PERSON})
    report = run_audit(privacy=privacy, strategy="sparse", ledger={"delta_cap": "1/10"})
    assert report.faults == ()
    lists = [one for one in report.findings if one.subject.startswith("list")]
    assert [one.symbol for one in lists] == ["epsilon", "delta"]
    assert all(one.lower_bound <= one.claimed for one in lists)


def test_canaries_stand_in_cells_of_their_own():
    bits = np.array([True, False, True])
    assert Canaries(2, replaced=False).counts(bits, 4).tolist() == [2, 0, 2, 0]
    assert Canaries(2, replaced=True).counts(bits, 7, 5).tolist() == [7, 5, 5, 7, 7, 5, 5]
    pair = Canaries(1, replaced=True)
    assert [one.tolist() for one in pair.split(np.arange(7), 3)] == [[0, 2, 4], [1, 3, 5]]


def test_coins_are_fair():
    assert coins(12, lambda count: b"\xf0\xaa"[:count]).tolist() == [
        True, True, True, True, False, False, False, False, True, False, True, False,
    ]  # fmt: skip
    heads = int(coins(1 << 16, keyed_bytes()).sum())
    assert abs(heads - (1 << 15)) < 6 * 128  # six standard deviations


def test_guesses_are_counted():
    bits = np.array([True, True, False, False])
    found = tally(np.array([3, -3, -3, 0]), bits, enough=3)
    assert (found.right, found.made) == (2, 3)
    every = tally(np.array([3, 0, 0, 0]), bits, enough=None)
    assert (every.right, every.made) == (2, 4)  # right, tails, heads, tails
