"""The guarantee, and what it means for one person and for groups."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from synth.config.types import Config, PersonUnit
from synth.privacy import sensitivity_l1
from synth.release.manifest.exact_numbers import (
    PRECISION,
    decimal,
    exact_number,
    rounded_down,
    rounded_up,
)
from synth.release.manifest.schema_terms import (
    Schema,
    basis,
    exact,
    listing,
    one_of,
    real,
    record,
    text,
    whole,
)

PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
FALSE_POSITIVE_RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
GROUPS = (2, 5, 10)

RECORDS = (
    "Records are what the reader of the source takes for records: the rows of a Parquet file, and "
    "what it splits a CSV file into. In a CSV file, a quote that is never closed joins the lines "
    "after it to one record; what the guarantee says of one record then holds for all of them "
    "together, and not for each line as if it stood alone."
)

GUARANTEE = record(
    "The guarantee, exactly.",
    variant_name=one_of("The variant of differential privacy.", "Pure DP"),
    statement=text("The guarantee in one sentence."),
    data_domain=text("The raw data sets to which the guarantee applies."),
    neighbours=one_of("The neighbouring relation.", "add-remove", "replace-one"),
    privacy_unit=text("Whose data may change between neighbours."),
    privacy_unit_details=text("What neighbouring data sets are, precisely."),
    max_records_per_unit=whole("The most records of one unit that were counted.", minimum=1),
    contributions_bounded_by=text("How that bound was kept."),
    sensitivity_l1=whole("The most by which one unit changes one table, in records.", minimum=1),
    privacy_parameters=record(
        "The parameters, for the privacy unit above.",
        epsilon=exact("The privacy loss of the whole release."),
        delta=exact("The probability with which the loss may be larger."),
    ),
    conversions=listing(
        "The same guarantee in other variants.",
        record(
            "One conversion.",
            variant_name=text("The variant converted to."),
            rho=exact("The parameter of zero-concentrated differential privacy."),
            theorem=text("Why the conversion holds."),
        ),
    ),
    unprotected_quantities=listing(
        "Quantities of the raw data published without protection; none.", text("A quantity.")
    ),
    public_quantities=listing(
        "What the release takes from public knowledge, not from the raw data.", text("A quantity.")
    ),
    basis=basis("public"),
)


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
        "The guarantee for several units at once: epsilon grows with their number.",
        record(
            "One size of group.",
            units=whole("The number of units.", minimum=2),
            epsilon=exact("The privacy loss of the group."),
            posteriors=_posteriors("The same bounds for the whole group."),
        ),
    ),
    not_promised=listing("What differential privacy does not promise.", text("A limit.")),
    basis=basis("public"),
)


def posterior_bounds(prior: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """The smallest and largest posterior p' with |log odds(p') - log odds(p)| <= epsilon.

    Formula: largest = p e^eps / (1 - p + p e^eps); smallest = p / (p + (1 - p) e^eps).
    Rounding: outwards, to six decimals.
    """
    growth = PRECISION.exp(decimal(epsilon))
    before, other = decimal(prior), decimal(1 - prior)
    raised = PRECISION.multiply(before, growth)
    lowered = PRECISION.add(before, PRECISION.multiply(other, growth))
    largest = PRECISION.divide(raised, PRECISION.add(other, raised))
    return rounded_down(PRECISION.divide(before, lowered)), rounded_up(largest)


def smallest_false_negative_rate(false_positive_rate: Fraction, epsilon: Fraction) -> float:
    """The q that no membership test beats: max(0, 1 - e^eps p, (1 - p) e^-eps), rounded down."""
    p, growth = decimal(false_positive_rate), PRECISION.exp(decimal(epsilon))
    first = PRECISION.subtract(Decimal(1), PRECISION.multiply(growth, p))
    second = PRECISION.divide(PRECISION.subtract(Decimal(1), p), growth)
    return rounded_down(max(Decimal(0), first, second))


def _posterior_list(epsilon: Fraction) -> list[dict[str, float]]:
    listed = []
    for prior in PRIORS:
        smallest, largest = posterior_bounds(prior, epsilon)
        listed.append({"prior": float(prior), "largest": largest, "smallest": smallest})
    return listed


def build_guarantee(config: Config) -> dict[str, Any]:
    """The section `guarantee`."""
    privacy = config.privacy
    unit = privacy.unit
    most, named, unit_in_words = 1, "one record", "record"
    bounded = "nothing: the unit is the record"
    if isinstance(unit, PersonUnit):
        most = unit.max_records
        named = f"all records of one value of the column {unit.column!r}"
        unit_in_words = f"person (column {unit.column})"
        bounded = (
            f"at most {most} records of each value of {unit.column!r} are counted, chosen by a "
            "rule that looks at those records only; records without a value are not counted"
        )
    change = {
        "add-remove": f"one is the other with {named} added or removed",
        "replace-one": f"one is the other with {named} replaced by any other",
    }[privacy.neighbours]
    epsilon = privacy.epsilon
    public = ["the columns, levels, bins and bounds of the domain"]
    if config.universe.impossible:
        public.append("which cells are impossible")
    public += [
        f"the number of records with {total.where.describe(config.universe)}, {total.total}: "
        f"{total.source}"
        if total.where.codes
        else f"the number of all records, {total.total}: {total.source}"
        for total in config.public_totals
    ]
    if config.output.rows is not None:
        public.append("the number of rows, declared in the configuration")
    return {
        "variant_name": "Pure DP",
        "statement": (
            "For any two neighbouring raw data sets and any set of possible releases, the "
            f"probabilities of a release in that set differ by a factor of at most "
            f"e^({epsilon})."
        ),
        "data_domain": "all tables with the declared columns, of any number of rows and any values",
        "neighbours": privacy.neighbours,
        "privacy_unit": unit_in_words,
        "privacy_unit_details": f"Two data sets are neighbours if {change}. {RECORDS}",
        "max_records_per_unit": most,
        "contributions_bounded_by": bounded,
        "sensitivity_l1": sensitivity_l1(privacy),
        "privacy_parameters": {
            "epsilon": exact_number(epsilon),
            "delta": exact_number(Fraction(0)),
        },
        "conversions": [
            {
                "variant_name": "Zero-concentrated DP",
                "rho": exact_number(epsilon * epsilon / 2),
                "theorem": "Bun and Steinke 2016, proposition 1.4: rho = epsilon^2 / 2",
            }
        ],
        "unprotected_quantities": [],
        "public_quantities": public,
        "basis": "public",
    }


def build_meaning(config: Config) -> dict[str, Any]:
    """The section `what_it_means`."""
    epsilon = config.privacy.epsilon
    return {
        "posteriors": _posterior_list(epsilon),
        "formula": "the odds change by a factor between e^-epsilon and e^epsilon",
        "membership_tests": {
            "inequalities": ["p + e^epsilon q >= 1", "e^epsilon p + q >= 1"],
            "examples": [
                {
                    "false_positive_rate": float(rate),
                    "smallest_false_negative_rate": smallest_false_negative_rate(rate, epsilon),
                }
                for rate in FALSE_POSITIVE_RATES
            ],
        },
        "groups": [
            {
                "units": units,
                "epsilon": exact_number(units * epsilon),
                "posteriors": _posterior_list(units * epsilon),
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
