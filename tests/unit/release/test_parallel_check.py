"""The account of disjoint parts as a verifier counts it: made-up accounts, right and wrong."""

from copy import deepcopy
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.measurements.divided_account import DividedAccount
from synth.privacy import Budget
from synth.privacy.exact_numbers import exact_budget
from synth.release.manifest.disjoint_parts import build_disjoint_parts, read_disjoint_parts
from synth.release.verification.budget import _ledger_findings
from synth.release.verification.parallel import parts_findings, read_losses

NAMES = ["north", "south", "west"]
SOURCE = "Everybody has one main residence"
CONFIGURED = {
    "population": "people",
    "epsilon_cap": 10,
    "delta_cap": "1/2",
    "disjoint_part": {"name": "north", "parts": NAMES, "source": SOURCE},
}


def budget(epsilon, delta=0):
    return Budget(Fraction(epsilon), Fraction(delta))


def ledger_of(account, now):
    after = account.charged(now).spent
    return {
        "population": "people",
        "cap": exact_budget(budget(10, "1/2")),
        "spent_before": exact_budget(account.spent),
        "spent_now": exact_budget(now),
        "left": exact_budget(budget(10 - after.epsilon, Fraction(1, 2) - after.delta)),
        "earlier_release_ids": ["a"],
        "disjoint_parts": build_disjoint_parts(account),
    }


def findings(ledger, now, configured=CONFIGURED):
    return "\n".join(_ledger_findings(ledger, configured, (now.epsilon, now.delta)))


BUDGETS = st.builds(
    Budget,
    st.fractions(min_value=0, max_value=3, max_denominator=20),
    st.fractions(min_value=0, max_value=Fraction(1, 9), max_denominator=20),
)


@given(BUDGETS, st.tuples(BUDGETS, BUDGETS, BUDGETS), BUDGETS, st.sampled_from([None, *NAMES]))
def test_it_agrees_with_the_ledger(whole, spent, now, part):
    account = DividedAccount(SOURCE, part, whole, tuple(zip(NAMES, spent, strict=True)))
    configured = dict(CONFIGURED)
    if part is None:
        del configured["disjoint_part"]
    else:
        configured["disjoint_part"] = CONFIGURED["disjoint_part"] | {"name": part}
    ledger = ledger_of(account, now)
    assert findings(ledger, now, configured) == ""
    assert read_disjoint_parts(ledger["disjoint_parts"]) == account
    after = account.charged(now).spent
    for name in ("epsilon", "delta"):
        losses = read_losses(ledger, name)
        assert losses.before == getattr(account.spent, name)
        assert losses.after(getattr(now, name)) == getattr(after, name)


NOW = budget(2)
ACCOUNT = DividedAccount(
    SOURCE,
    "north",
    budget("1/2"),
    (("north", budget(1)), ("south", budget(2)), ("west", budget(0))),
)


def test_the_example_by_hand():
    assert ledger_of(ACCOUNT, NOW)["spent_before"]["epsilon"]["fraction"] == "5/2"
    assert ledger_of(ACCOUNT, NOW)["left"]["epsilon"]["fraction"] == "13/2"


def changed(*path, to):
    ledger = deepcopy(ledger_of(ACCOUNT, NOW))
    place = ledger
    for key in path[:-1]:
        place = place[key]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return ledger


def number(text):
    return {"fraction": text, "decimal": "0"}


@pytest.mark.parametrize(
    ("path", "to", "finding"),
    [
        (("disjoint_parts",), None, "is not there, but the configuration declares a part"),
        (("disjoint_parts", "part"), None, "disjoint_parts.part: is not that"),
        (("disjoint_parts", "part"), "south", "left.epsilon: found 13/2, expected 11/2"),
        (("disjoint_parts", "part"), "west", "disjoint_parts.part: is not that"),
        (("disjoint_parts", "source"), "So we think", "disjoint_parts.source: is not that"),
        (("disjoint_parts", "parts", 2, "name"), "east", "parts: are not those"),
        (("disjoint_parts", "parts", 2, "name"), "south", "a part is listed twice"),
        (
            ("disjoint_parts", "parts", 1, "spent_before", "epsilon"),
            number("1/1"),
            "spent_before.epsilon: found 5/2, expected 3/2",
        ),
        (
            ("disjoint_parts", "parts", 0, "spent_before", "epsilon"),
            number("3/2"),
            "left.epsilon: found 13/2, expected 6",
        ),
        (
            ("disjoint_parts", "parts", 2, "spent_before", "epsilon"),
            number("-1/1"),
            "the epsilons are not exact fractions",
        ),
        (
            ("disjoint_parts", "whole_population", "delta"),
            number("1/0"),
            "the deltas are not exact fractions",
        ),
        (("spent_before", "epsilon"), number("7/2"), "found 7/2, expected 5/2"),
        (("left", "epsilon"), number("15/2"), "found 15/2, expected 13/2"),
    ],
)
def test_a_change_is_found(path, to, finding):
    assert finding in findings(changed(*path, to=to), NOW)


def test_a_part_that_the_configuration_does_not_declare_is_found():
    configured = {key: item for key, item in CONFIGURED.items() if key != "disjoint_part"}
    (finding,) = parts_findings(ledger_of(ACCOUNT, NOW), configured)
    assert "the configuration declares no part" in finding


def test_over_the_cap_of_the_own_part_is_found():
    now = budget(9)
    assert "more epsilon was spent than the cap allows" in findings(ledger_of(ACCOUNT, now), now)
    spread = budget("17/2")
    assert findings(ledger_of(ACCOUNT, spread), spread) == ""
