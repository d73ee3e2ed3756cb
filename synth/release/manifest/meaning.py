"""What the guarantee means for one person and for groups, in numbers and in words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from synth.privacy import Budget
from synth.privacy.meaning import (
    exact_number,
    group_delta,
    posteriors,
    smallest_false_negative_rate,
)
from synth.release.manifest.schema_terms import (
    Schema,
    basis,
    exact,
    listing,
    real,
    record,
    text,
    whole,
)

FALSE_POSITIVE_RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
GROUPS = (2, 5, 10)


def _posteriors(description: str) -> Schema:
    return listing(
        description,
        record(
            "One prior.",
            prior=real("What the attacker believed before, as a probability."),
            largest=real("The largest probability after seeing the release, rounded up."),
            smallest=real("The smallest probability after seeing the release, rounded down."),
        ),
    )


MEANING = record(
    "What the guarantee means, for an attacker who knows every other unit's data.",
    posteriors=_posteriors(
        "How far the release can move the attacker's belief about one unit: whether its data were "
        "used (add-remove), or which of two records it had (replace-one)."
    ),
    formula=text("The bound from which the posteriors are computed."),
    exception=text("In what reading the belief may move further than that."),
    membership_tests=record(
        "How well any test can tell the two neighbouring data sets apart.",
        inequalities=listing(
            "p and q are the false positive and false negative rates.", text("An inequality.")
        ),
        examples=listing(
            "Consequences of the inequalities.",
            record(
                "One test.",
                false_positive_rate=real("The false positive rate p of the test."),
                smallest_false_negative_rate=real("The false negative rate q that no test beats."),
            ),
        ),
    ),
    groups=listing(
        "The guarantee for several units at once: epsilon and delta grow with their number.",
        record(
            "One size of group.",
            units=whole("The number of units.", minimum=2),
            epsilon=exact("The privacy loss of the group."),
            delta=real("The delta of the group, rounded up."),
            posteriors=_posteriors("The same bounds for the whole group."),
        ),
    ),
    not_promised=listing("What differential privacy does not promise.", text("A limit.")),
    basis=basis("public"),
)


def _exception(budget: Budget) -> str:
    """What delta means for the bounds, in words."""
    if not budget.delta:
        return "never: the bounds hold for every possible release"
    return (
        "for any two neighbouring data sets the release can be thought of as made in two steps, of "
        f"which the first allows, with probability delta ({rare(budget.delta)}), anything at all "
        "to be disclosed, and the second keeps to the bounds (Kairouz, Oh, Viswanath 2015)"
    )


def rare(delta: Fraction) -> str:
    """A small probability in words, not understated."""
    return f"at most once in {delta.denominator // delta.numerator:,} releases"


def build_meaning(budget: Budget) -> dict[str, Any]:
    """The section `what_it_means`, for the guarantee of the whole release."""
    epsilon, delta = budget.epsilon, budget.delta
    one = "1 - delta" if delta else "1"
    return {
        "posteriors": posteriors(epsilon),
        "formula": "the odds change by a factor between e^-epsilon and e^epsilon",
        "exception": _exception(budget),
        "membership_tests": {
            "inequalities": [f"p + e^epsilon q >= {one}", f"e^epsilon p + q >= {one}"],
            "examples": [
                {
                    "false_positive_rate": float(rate),
                    "smallest_false_negative_rate": smallest_false_negative_rate(
                        rate, epsilon, delta
                    ),
                }
                for rate in FALSE_POSITIVE_RATES
            ],
        },
        "groups": [
            {
                "units": units,
                "epsilon": exact_number(units * epsilon),
                "delta": group_delta(units, budget),
                "posteriors": posteriors(units * epsilon),
            }
            for units in GROUPS
        ],
        "not_promised": [
            "that nothing is learnt about the population: what holds for many people also says "
            "something about each of them, whether or not their data were used",
            "protection of what people publish about themselves, or of other uses of the raw data",
            "protection against whoever holds the raw data, the machine or its memory",
            "protection of groups larger than the privacy unit beyond the bounds listed here",
        ],
        "basis": "public",
    }
