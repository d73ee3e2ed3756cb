"""The guarantee, exactly, and what it means for one person and for groups."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synth.config import Config, PersonUnit
from synth.config.source import records_in_words
from synth.domain import format_number
from synth.measurements import MeasuredLook, Measurements
from synth.privacy import (
    AfterLookEvent,
    Budget,
    TableEvent,
    sensitivity_l1,
    sensitivity_l2_squared,
    total_budget,
)
from synth.privacy.accounting import GAUSSIAN, PARTITION_SELECTION
from synth.privacy.meaning import (
    exact_budget,
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
    one_of,
    real,
    record,
    text,
    whole,
)

FALSE_POSITIVE_RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
GROUPS = (2, 5, 10)

UNCLOSED_QUOTES = (
    "In a CSV file, a quote that is never closed joins the lines after it to one record; what the "
    "guarantee says of one record then holds for all of them together, and not for each line as if "
    "it stood alone."
)

GUARANTEE = record(
    "The guarantee, exactly.",
    variant_name=one_of("The variant of differential privacy.", "Pure DP", "Approximate DP"),
    statement=text("The guarantee in one sentence."),
    data_domain=text("The raw data sets to which the guarantee applies."),
    neighbours=one_of("The neighbouring relation.", "add-remove", "replace-one"),
    privacy_unit=text("Whose data may change between neighbours."),
    privacy_unit_details=text("What neighbouring data sets are, precisely."),
    max_records_per_unit=whole("The most records of one unit that were counted.", minimum=1),
    contributions_bounded_by=text("How that bound was kept."),
    sensitivity_l1=whole("The most by which one unit changes one table, in records.", minimum=1),
    sensitivity_l2_squared=whole(
        "The most by which one unit changes one table in squared L2 norm, in records squared.",
        minimum=1,
    ),
    privacy_parameters=record(
        "The parameters, for the privacy unit above.",
        epsilon=exact("The privacy loss of the whole release."),
        delta=exact("What is added in the inequality; not the chance of a larger loss."),
    ),
    delta_in_words=text("What delta means and where it comes from."),
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


def after_look_event(config: Config, look: MeasuredLook) -> AfterLookEvent:
    """What was reserved for the tables that a look would lead to: all that it left."""
    return AfterLookEvent(config.privacy.epsilon - look.event.epsilon, config.privacy.delta)


def charged_budget(config: Config, measurements: Measurements) -> Budget:
    """What the release was charged, before its source was opened.

    That is what its events cost; with a look, which they were planned by, it is what the look and
    all that was reserved for after it cost: a bound that depends on what the look said would be
    none.
    """
    look, events = measurements.look, measurements.events
    if look is not None:
        events = (look.event, after_look_event(config, look))
    return total_budget(events, delta=config.privacy.delta)


def promised_budget(config: Config, measurements: Measurements) -> Budget:
    """The (epsilon, delta) that the release promises: the configured one, with delta only if used.

    Where every event is pure, so is the release, whatever delta was allowed; with a look, only if
    none was allowed. Epsilon is the configured one, which the events together never exceed.
    """
    total = charged_budget(config, measurements)
    return Budget(config.privacy.epsilon, config.privacy.delta if total.delta else Fraction(0))


def _statement(budget: Budget) -> str:
    start = "For any two neighbouring raw data sets and any set of possible releases, the "
    if not budget.delta:
        return (
            f"{start}probabilities of a release in that set differ by a factor of at most "
            f"e^({budget.epsilon})."
        )
    return (
        f"{start}probability of a release in that set is for one of them at most e^"
        f"({budget.epsilon}) times that for the other, plus {format_number(budget.delta)}."
    )


GAUSSIAN_DELTA = (
    "Delta comes from the Gaussian noise, whose loss has no hard limit: the further beyond "
    "epsilon, the less probable, and at no point is all disclosed. How often the loss is beyond "
    "epsilon is another number than delta, and may be a larger one"
)
SELECTION_DELTA = (
    "Delta comes from the list of cells (partition selection): a cell that the records of one unit "
    "alone fill is listed with at most this probability, and then tells that they are there"
)


LOOK_DELTA = (
    "Delta was reserved before the look, for whatever it would lead to: it counts whether or not "
    "the tables that were then measured needed it"
)


def _delta_in_words(budget: Budget, measurements: Measurements) -> str:
    if not budget.delta:
        return "delta is zero: the bound holds for every possible release, without exception"
    return (
        f"delta = {format_number(budget.delta)} is the term added in "
        "P(S) <= e^epsilon Q(S) + delta, where P and Q are the probabilities under two "
        "neighbouring data sets, and S is any set of releases. For these two the release can be "
        "thought of as made in two steps: the first allows, with probability delta "
        f"({rare(budget.delta)}), anything at all to be disclosed, and the second keeps to epsilon "
        "(Kairouz, Oh, Viswanath 2015). " + ". ".join(_sources_of_delta(measurements))
    )


def _sources_of_delta(measurements: Measurements) -> list[str]:
    """Where delta comes from: Gaussian noise, a list of cells, or both."""
    mechanisms = {event.mechanism for event in measurements.events}
    known = {GAUSSIAN: GAUSSIAN_DELTA, PARTITION_SELECTION: SELECTION_DELTA}
    reserved = [] if measurements.look is None else [LOOK_DELTA]
    return [words for mechanism, words in known.items() if mechanism in mechanisms] + reserved


def _conversions(measurements: Measurements) -> list[dict[str, Any]]:
    """Zero-concentrated DP, unless some cells are listed by partition selection, which has none.

    Nor where a look led to the events: how much of it they have is no promise.
    """
    if measurements.look is not None:
        return []
    rho, pure = Fraction(0), Fraction(0)
    for event in measurements.events:
        if event.mechanism == PARTITION_SELECTION:
            return []
        if isinstance(event, TableEvent) and event.rho is not None:
            rho += event.rho
        elif event.epsilon is not None:
            pure += event.epsilon**2 / 2
    return [
        {
            "variant_name": "Zero-concentrated DP",
            "rho": exact_number(rho + pure),
            "theorem": (
                "Bun and Steinke 2016: events add up (lemma 1.7), and a pure event has rho = "
                "epsilon^2 / 2 (proposition 1.4)"
            ),
        }
    ]


def _records(source: Mapping[str, Any]) -> str:
    """What a record is: how the source is split, and why the rows of a view are records."""
    said = [f"The records are {records_in_words(source)}."]
    if source.get("quote"):
        said.append(UNCLOSED_QUOTES)
    if "view_reason" in source:
        reason = " ".join(source["view_reason"].split())
        said.append(
            "The table may be a view or a foreign table, or hold rows of one. That every row comes "
            "from one record, by expressions that no value stops, is stated by the curator, who "
            f"says why: {reason}"
        )
    return " ".join(said)


def build_guarantee(config: Config, measurements: Measurements) -> dict[str, Any]:
    """The section `guarantee`."""
    budget = promised_budget(config, measurements)
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
        "variant_name": "Approximate DP" if budget.delta else "Pure DP",
        "statement": _statement(budget),
        "data_domain": "all tables with the declared columns, of any number of rows and any values",
        "neighbours": privacy.neighbours,
        "privacy_unit": unit_in_words,
        "privacy_unit_details": f"It compares two data sets of which {change} (neighbours). "
        + _records(config.public["source"]),
        "max_records_per_unit": most,
        "contributions_bounded_by": bounded,
        "sensitivity_l1": sensitivity_l1(privacy),
        "sensitivity_l2_squared": sensitivity_l2_squared(privacy),
        "privacy_parameters": exact_budget(budget),
        "delta_in_words": _delta_in_words(budget, measurements),
        "conversions": _conversions(measurements),
        "unprotected_quantities": [],
        "public_quantities": public,
        "basis": "public",
    }
