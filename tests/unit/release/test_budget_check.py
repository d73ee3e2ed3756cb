"""The budget as a verifier adds it up again: made-up accountings, right and wrong."""

from copy import deepcopy
from fractions import Fraction

import pytest

from synth.noise import DiscreteLaplace
from synth.noise.mechanism import threshold_of_delta
from tests.unit.release.budget_oracle import budget_findings, delta_bound, gaussian_variance

DELTA = Fraction(1, 10**9)


def exact(value):
    value = Fraction(value)
    return {"fraction": f"{value.numerator}/{value.denominator}"}


def laplace(epsilon, *, sensitivity=1):
    rate = Fraction(epsilon) / sensitivity
    return {
        "table": ["age", "sex"],
        "coarsening": [1, 0],
        "mechanism": "discrete-laplace",
        "sensitivity_norm": "L1",
        "sensitivity": sensitivity,
        "epsilon": exact(epsilon),
        "noise_scale_records": exact(1 / rate),
        "variance": DiscreteLaplace(rate, 1).variance,
    }


def gaussian(rho, *, sensitivity=1):
    sigma_squared = sensitivity / (2 * Fraction(rho))
    return {
        "table": ["age"],
        "coarsening": [0],
        "mechanism": "discrete-gaussian",
        "sensitivity_norm": "squared L2",
        "sensitivity": sensitivity,
        "rho": exact(rho),
        "sigma_squared": exact(sigma_squared),
        "variance": float(gaussian_variance(max(sigma_squared, Fraction(1, 512)))),
    }


def smallest_epsilon(rho, delta):
    """The epsilon at which the bound meets delta, by bisection, rounded up."""
    low, high = Fraction(0), Fraction(100)
    for _ in range(60):
        middle = (low + high) / 2
        enough = Fraction(delta_bound(rho, middle)) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def manifest(*events, epsilon, delta=0, unit="record", neighbours="add-remove", selections=()):
    """The parts of a manifest that the check reads, for a total that is spent and promised."""
    total = {"epsilon": exact(epsilon), "delta": exact(delta)}
    cap = {"epsilon": exact(100), "delta": exact("1/1000")}
    return {
        "accounting": {
            "events": list(events),
            "selections": [
                {"mechanism": "permute-and-flip", "candidates": 9, "epsilon": exact(each)}
                for each in selections
            ],
            "total": deepcopy(total),
            "ledger": {
                "population": "nobody",
                "promise": promise(unit, neighbours),
                "cap": cap,
                "spent_before": {"epsilon": exact(1), "delta": exact(0)},
                "spent_now": deepcopy(total),
                "left": {
                    "epsilon": exact(99 - Fraction(epsilon)),
                    "delta": exact(Fraction(1, 1000) - Fraction(delta)),
                },
                "earlier_release_ids": ["earlier"],
                "reservation_hash": "0" * 64,
            },
        },
        "guarantee": {"privacy_parameters": deepcopy(total)},
        "configuration": {
            "release": {"id": "this"},
            "privacy": {"unit": unit, "neighbours": neighbours},
            "ledger": {"population": "nobody", "epsilon_cap": "100", "delta_cap": "0.001"},
        },
    }


def promise(unit, neighbours):
    if unit == "record":
        return {"neighbours": neighbours, "unit": "record"}
    most = unit["max_records"]
    return {
        "neighbours": neighbours,
        "unit": "person",
        "person_column": unit["column"],
        "max_records": most,
    }


def findings(*events, **named):
    return "\n".join(budget_findings(manifest(*events, **named)))


RHO = Fraction(1, 50)
EPSILON = smallest_epsilon(RHO, DELTA)
MIXED = (laplace("3/5"), gaussian(RHO / 4), gaussian(3 * RHO / 4))


def test_pure_events_add_up_exactly():
    assert findings(laplace("1/3"), laplace("1/7"), epsilon="10/21") == ""
    assert "the events add up to 10/21" in findings(laplace("1/3"), laplace("1/7"), epsilon="3/7")
    assert "the events add up to 10/21" in findings(laplace("1/3"), laplace("1/7"), epsilon=1)
    hair = Fraction(10, 21) + Fraction(1, 10**40)
    assert "the events add up to 10/21" in findings(laplace("1/3"), laplace("1/7"), epsilon=hair)


def test_gaussian_events_need_a_delta_and_enough_epsilon():
    events = gaussian(RHO / 3), gaussian(2 * RHO / 3)
    assert findings(*events, epsilon=EPSILON, delta=DELTA) == ""
    assert "the events need a delta" in findings(*events, epsilon=EPSILON, delta=0)
    less = EPSILON * Fraction(999_999, 1_000_000)
    assert "the events need a delta" in findings(*events, epsilon=less, delta=DELTA)
    assert "more than 5e-10" in findings(*events, epsilon=EPSILON, delta=DELTA / 2)


def test_pure_and_gaussian_events_add_their_epsilons():
    total = Fraction(3, 5) + EPSILON
    assert findings(*MIXED, epsilon=total, delta=DELTA) == ""
    assert "the events need a delta" in findings(*MIXED, epsilon=total * 99 / 100, delta=DELTA)


def test_many_pure_events_may_be_converted_with_the_gaussian_ones():
    """Fifty small epsilons add up to more than their common rho does."""
    events = [laplace("1/50") for _ in range(50)] + [gaussian(RHO)]
    together = smallest_epsilon(RHO + 50 * Fraction(1, 50) ** 2 / 2, DELTA)
    assert together < 1 + EPSILON
    assert findings(*events, epsilon=together, delta=DELTA) == ""


def test_pure_events_alone_may_be_converted_where_delta_is_spent():
    events = [laplace("1/50") for _ in range(200)]
    together = smallest_epsilon(200 * Fraction(1, 50) ** 2 / 2, DELTA)
    assert together < 4
    assert findings(*events, epsilon=together, delta=DELTA) == ""
    assert "events need a delta" in findings(*events, epsilon=together * 99 / 100, delta=DELTA)


def test_selections_cost_epsilon():
    assert findings(laplace("1/2"), selections=["1/4", "1/4"], epsilon=1) == ""
    assert "add up to 3/4" in findings(laplace("1/2"), selections=["1/4"], epsilon="1/2")
    assert "selections[0].epsilon: is not" in findings(laplace(1), selections=[0], epsilon=1)
    total = Fraction(3, 5) + Fraction(1, 10) + EPSILON
    mixed = findings(*MIXED, selections=["1/10"], epsilon=total, delta=DELTA)
    assert mixed == ""
    assert "need a delta" in findings(
        *MIXED, selections=["1/5"], epsilon=total * 99 / 100, delta=DELTA
    )


@pytest.mark.parametrize(
    ("unit", "neighbours", "l1", "l2_squared"),
    [
        ("record", "add-remove", 1, 1),
        ("record", "replace-one", 2, 2),
        ({"column": "person", "max_records": 3}, "add-remove", 3, 9),
        ({"column": "person", "max_records": 3}, "replace-one", 6, 18),
    ],
)
def test_sensitivity_follows_from_unit_and_neighbours(unit, neighbours, l1, l2_squared):
    privacy = {"unit": unit, "neighbours": neighbours}
    right = laplace("3/5", sensitivity=l1), gaussian(RHO, sensitivity=l2_squared)
    total = Fraction(3, 5) + EPSILON
    assert findings(*right, epsilon=total, delta=DELTA, **privacy) == ""
    wrong = laplace("3/5", sensitivity=l1 + 1), gaussian(RHO, sensitivity=l2_squared + 1)
    found = findings(*wrong, epsilon=total, delta=DELTA, **privacy)
    assert f"events[0].sensitivity: found {l1 + 1}, expected {l1}" in found
    assert f"events[1].sensitivity: found {l2_squared + 1}, expected {l2_squared}" in found


def test_the_squared_sensitivity_is_the_worst_of_all_neighbours():
    """One person with up to two records in three cells, added or replaced: every way is tried."""
    histograms = [(a, b, c) for a in range(3) for b in range(3) for c in range(3) if a + b + c <= 2]
    apart = [
        sum((x - y) ** 2 for x, y in zip(one, other, strict=True))
        for one in histograms
        for other in histograms
    ]
    alone = max(sum(x * x for x in one) for one in histograms)
    person = {"column": "person", "max_records": 2}
    for neighbours, worst in (("add-remove", alone), ("replace-one", max(apart))):
        event = gaussian(RHO, sensitivity=worst)
        privacy = {"unit": person, "neighbours": neighbours}
        assert findings(event, epsilon=EPSILON, delta=DELTA, **privacy) == ""


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("rho", exact("1/1000"), "sigma_squared: is not sensitivity / (2 rho)"),
        ("rho", exact(0), "rho: is not a positive fraction"),
        ("rho", {"fraction": "1/0"}, "rho: is not a positive fraction"),
        ("rho", exact(Fraction(1, 10**50)), "rho: is too small for any noise"),
        ("sigma_squared", exact(7), "sigma_squared: is not"),
        ("variance", 25.000000001, "variance: found 25.000000001, expected 25.0"),
        ("variance", 24.999999999, "variance: found 24.999999999, expected 25.0"),
        ("sensitivity_norm", "L1", "the noise goes by the norm squared L2"),
        ("coarsening", [0, 0], "coarsening: does not say one resolution"),
        ("mechanism", "discrete-laplace", "epsilon: is not a positive fraction"),
    ],
)
def test_a_wrong_gaussian_event_is_found(field, value, message):
    event = gaussian(RHO)
    assert findings(event, epsilon=EPSILON, delta=DELTA) == ""
    found = findings(event | {field: value}, epsilon=EPSILON, delta=DELTA)
    assert f"accounting.events[0].{message}" in found or message in found


@pytest.mark.parametrize("field", ["rho", "sigma_squared"])
def test_a_field_that_the_mechanism_needs_may_not_be_missing(field):
    event = gaussian(RHO)
    del event[field]
    assert f"events[0].{field}: is not" in findings(event, epsilon=EPSILON, delta=DELTA)


@pytest.mark.parametrize("rho", [10**6, 300, 256, 3, "1/8", "1/9", "1/100", Fraction(1, 2**35)])
def test_the_variance_of_any_gaussian_noise_is_checked_to_the_last_digit(rho):
    event = gaussian(rho)
    found = findings(event, epsilon=100, delta=Fraction(1, 1000))
    assert "variance" not in found
    for factor in (1 - 2**-50, 1 + 2**-50):
        wrong = event | {"variance": event["variance"] * factor}
        assert "variance" in findings(wrong, epsilon=100, delta=Fraction(1, 1000))


@pytest.mark.parametrize(("name", "cap"), [("epsilon", "2/3"), ("delta", "1/2000000000")])
def test_a_total_over_the_cap_is_found(name, cap):
    """Also where the cap is the configured one, and the charge is that of the events."""
    made = manifest(gaussian(RHO), epsilon=max(EPSILON, Fraction(3, 4)), delta=DELTA)
    assert list(budget_findings(made)) == []
    made["accounting"]["ledger"]["cap"][name] = exact(cap)
    made["configuration"]["ledger"][f"{name}_cap"] = cap
    *_, finding = budget_findings(made)
    assert finding == f"accounting.ledger: more {name} was spent than the cap allows"


@pytest.mark.parametrize("stated", [1, 2, 4])
def test_a_stated_sensitivity_is_that_of_the_unit(stated):
    """Alone: the noise is right, and only the number says something else."""
    event = laplace("1/3", sensitivity=3) | {"sensitivity": stated}
    named = {"epsilon": "1/3", "unit": {"column": "person", "max_records": "3"}}
    assert f"sensitivity: found {stated}, expected 3" in findings(event, **named)


def test_a_promise_below_the_total_is_found():
    for name, value in (("epsilon", EPSILON / 2), ("delta", DELTA / 2)):
        made = manifest(gaussian(RHO), epsilon=EPSILON, delta=DELTA)
        made["guarantee"]["privacy_parameters"][name] = exact(value)
        assert "promises less privacy loss" in "\n".join(budget_findings(made))


def test_the_delta_of_the_ledger_is_that_of_the_total():
    made = manifest(gaussian(RHO), epsilon=EPSILON, delta=DELTA)
    made["accounting"]["ledger"]["spent_now"]["delta"] = exact(0)
    spent, left = budget_findings(made)
    assert spent == (
        "accounting.ledger.spent_now.delta: found 0, expected 1/1000000000 from the events"
    )
    assert left.startswith("accounting.ledger.left.delta: found ")


def test_numbers_of_any_size_are_findings_and_no_crash():
    for text in ("9" * 4000 + "/1", "1/" + "9" * 4000, "9" * 5000 + "/1"):
        event = gaussian(RHO) | {"rho": {"fraction": text}}
        assert budget_findings_count(event) > 0
        event = laplace(1) | {"epsilon": {"fraction": text}}
        assert budget_findings_count(event) > 0
        made = manifest(gaussian(RHO), epsilon=EPSILON, delta=DELTA)
        made["accounting"]["total"]["epsilon"] = {"fraction": text}
        assert list(budget_findings(made)) != []


def budget_findings_count(event):
    return len(list(budget_findings(manifest(event, epsilon=1, delta=DELTA))))


def selection(epsilon, delta, threshold, *, sensitivity=1):
    """A list of cells by partition selection."""
    event = laplace(epsilon, sensitivity=sensitivity)
    return event | {
        "mechanism": "partition-selection",
        "delta": exact(delta),
        "threshold": threshold,
    }


def test_a_partition_selection_adds_its_epsilon_and_its_delta():
    law = DiscreteLaplace(Fraction(1, 2), 1)
    threshold = threshold_of_delta(law, delta=DELTA)
    listed = selection("1/2", DELTA, threshold)
    assert findings(listed, laplace("1/3"), epsilon="5/6", delta=DELTA) == ""
    assert "the events add up to 5/6" in findings(
        listed, laplace("1/3"), epsilon="1/2", delta=DELTA
    )
    assert "the events need a delta" in findings(listed, epsilon="1/2", delta=DELTA / 2)
    both = findings(listed, gaussian(RHO), epsilon=EPSILON + Fraction(1, 2), delta=2 * DELTA)
    assert both == ""
    assert "the events need a delta" in findings(
        listed, gaussian(RHO), epsilon=EPSILON, delta=2 * DELTA
    )
    assert "more than" in findings(
        listed, gaussian(RHO), epsilon=EPSILON + Fraction(1, 2), delta=DELTA
    )


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [("1/2", 1), ("1/2", 2), ("1/2", 6), ("5", 3), ("20", 6)]
)
def test_the_threshold_of_a_selection_must_pay_for_its_delta(epsilon, sensitivity):
    """Many cells of one record decide where noise is wide, one cell of many where it is not."""
    law = DiscreteLaplace(Fraction(epsilon), sensitivity)
    threshold = threshold_of_delta(law, delta=DELTA)
    people = {"column": "person", "max_records": str(sensitivity)}
    named = {"epsilon": epsilon, "delta": DELTA, "unit": people}
    assert findings(selection(epsilon, DELTA, threshold, sensitivity=sensitivity), **named) == ""
    low = selection(epsilon, DELTA, threshold - 1, sensitivity=sensitivity)
    assert "too low for the delta" in findings(low, **named)
    within = selection("1/200", Fraction(9, 10), 1, sensitivity=sensitivity)
    assert "too low for the delta" in findings(within, **named | {"epsilon": "1/200"})
    none = {key: value for key, value in low.items() if key != "delta"}
    assert "is not a fraction between 0 and 1" in findings(none, **named)
    assert "the mechanism has none" in findings(
        laplace("1/2") | {"delta": exact(DELTA)}, epsilon=0.5
    )


def other_account(**changes):
    made = manifest(laplace(1), epsilon=1)
    made["accounting"]["ledger"] |= changes
    return "\n".join(budget_findings(made))


def budget(epsilon, delta=0):
    return {"epsilon": exact(epsilon), "delta": exact(delta)}


def test_an_account_that_adds_up_is_accepted():
    assert other_account() == ""
    alone = {"earlier_release_ids": [], "spent_before": budget(0), "left": budget(99, "1/1000")}
    assert other_account(**alone) == ""
    assert other_account(earlier_release_ids=["a", "b"]) == ""


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"left": budget(97, "1/1000")}, "left.epsilon: found 97, expected 98"),
        ({"left": budget(98)}, "left.delta: found 0, expected 1/1000"),
        ({"spent_before": budget(2)}, "left.epsilon: found 98, expected 97"),
        (
            {"spent_before": budget(100), "left": budget(-1, "1/1000")},
            "more epsilon was spent than the cap allows",
        ),
        (
            {"spent_before": budget(0, "1/100"), "left": budget(99, "-9/1000")},
            "more delta was spent than the cap allows",
        ),
        ({"spent_before": budget(-1), "left": budget(100, "1/1000")}, "are not exact fractions"),
        (
            {"spent_before": {"epsilon": {"fraction": "1/0"}, "delta": exact(0)}},
            "are not exact fractions",
        ),
        ({"earlier_release_ids": ["a", "a"]}, "a release is listed twice"),
        ({"earlier_release_ids": ["a", "this"]}, "is not earlier than itself"),
        ({"earlier_release_ids": []}, "is not zero, but no earlier release is listed"),
        (
            {"spent_before": budget(0), "left": budget(99, "1/1000")},
            "is zero, but earlier releases are listed",
        ),
        (
            {"promise": promise("record", "replace-one")},
            "promise: is not that of the configuration",
        ),
        (
            {"promise": promise({"column": "id", "max_records": 1}, "add-remove")},
            "promise: is not that of the configuration",
        ),
    ],
)
def test_an_account_that_does_not_add_up_is_found(changes, finding):
    assert finding in other_account(**changes)
