"""The explanation: what a configuration promises, in words for a board or an ethics committee."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from synth.bookkeeping import RunState
from synth.config import Config, DisjointPart, PersonUnit
from synth.config.series import RenewalConfig
from synth.config.summary import cost_in_words
from synth.domain import format_number
from synth.domain.attribute import with_value_label
from synth.job.account import ledger_of, open_ledger
from synth.planning import charged_events
from synth.privacy import Budget, Promise, total_budget
from synth.privacy.concentrated import PRECISION, decimal
from synth.privacy.meaning import at_least, at_most, significant_up
from synth.privacy.population import DividedAccount, part_to_plain
from synth.release.manifest.guarantee import build_meaning

WIDTH = 88


@dataclass(frozen=True)
class Spending:
    """What all releases about one population may spend, and have spent as far as is known.

    `spent` is None where no ledger is at hand; it leaves this configuration's own charge out
    unless that was already made (`charged`).
    """

    population: str
    cap: Budget
    spent: Budget | None
    charged: bool
    promise: Promise | None = None
    """What the ledger is bound to; None where nothing is charged, or none is at hand."""
    refuses: bool = False
    """Whether it takes no release with the promise of this one."""
    divided: DividedAccount | None = None
    """What everybody and each part were charged, where parts are disjoint and a ledger is there."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """What one configuration promises: its budget, what that means, and the population's."""

    config: Config
    budget: Budget
    meaning: dict[str, Any]
    spending: Spending | None
    meaning_of_cap: dict[str, Any] | None

    def __repr__(self) -> str:
        return f"Explanation({self.config!r})"

    def __str__(self) -> str:
        return render_explanation(self)

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values; budgets are exact fractions in text."""
        spending = self.spending
        part = None if spending is None else ledger_of(self.config).disjoint_part
        return {
            "release_id": self.config.release.id,
            "configuration_hash": self.config.hash,
            **self.budget.to_plain(),
            "neighbours": self.config.privacy.neighbours,
            "what_it_means": self.meaning,
            "population": None
            if spending is None
            else {
                "name": spending.population,
                "cap": spending.cap.to_plain(),
                "spent": spending.spent and spending.spent.to_plain(),
                "this_release_is_included": spending.charged,
                "promise": Promise.of(self.config.privacy).to_plain(),
                "bound_to": spending.promise and spending.promise.to_plain(),
                "this_release_is_refused": spending.refuses,
                "what_the_cap_means": self.meaning_of_cap,
                "disjoint_part": part and part_to_plain(part),
                "disjoint_parts": spending.divided and spending.divided.to_plain(),
            },
        }


def explain(config: Config) -> Explanation:
    """What the guarantee of this configuration means.

    Privacy: reads the configuration, and the ledger if there is one; opens no data.
    Raises: ConfigError for noise that cannot be drawn; LedgerError if the ledger is damaged.
    """
    budget = total_budget(charged_events(config), delta=config.privacy.delta)
    spending = None if config.ledger is None else _spending(config)
    return Explanation(
        config,
        budget,
        build_meaning(budget),
        spending,
        None if spending is None else build_meaning(spending.cap),
    )


def _spending(config: Config) -> Spending:
    account = ledger_of(config)
    cap = Budget(account.epsilon_cap, account.delta_cap)
    if not account.path.exists():
        return Spending(account.population, cap, None, charged=False)
    ledger, population = open_ledger(config)
    with ledger:
        position = ledger.position(population)
        record = ledger.state(config.release.id, population)
    charged = record is not None and record.state is not RunState.VOIDED
    bound = position.promise
    refuses = bool(position.spent.epsilon) and not (
        bound is not None and bound.adds_up_with(Promise.of(config.privacy))
    )
    return Spending(
        population, cap, position.spent, charged, bound, refuses and not charged, position.divided
    )


def render_explanation(explanation: Explanation) -> str:
    """The explanation as text of at most WIDTH characters a line."""
    config = explanation.config
    sections = [
        (f"What is published: {config.release.title}", _published(config)),
        ("Who is protected, and from whom", _protected(config)),
        ("What the promise is", _promise(explanation)),
        ("What that means for one of them", _for_one(explanation)),
        ("What it means for several together", _for_groups(explanation)),
        ("All releases about the same people", _over_releases(explanation)),
        ("What is not promised", _not_promised(explanation)),
        ("What happens to the raw data", _raw_data(config)),
        ("What this page rests on", _basis(config)),
    ]
    lines: list[str] = []
    for title, paragraphs in sections:
        lines += [title, "-" * len(title)]
        for paragraph in paragraphs:
            indent = "  " if paragraph.startswith("* ") else ""
            lines += textwrap.wrap(paragraph, WIDTH, subsequent_indent=indent)
        lines.append("")
    return "\n".join(lines[:-1])


def _published(config: Config) -> list[str]:
    columns = [attribute.name for attribute in config.universe.attributes]
    return [
        "A table of made-up records. No row is a person: the rows are drawn up from counts to "
        "which random noise was added, and nothing else of the raw data is used.",
        f"Columns: {', '.join(columns)}. Intended use: {_one_line(config.release.intended_use)}.",
        *_meanings(config),
    ]


def _meanings(config: Config) -> list[str]:
    """What published values mean, with the columns in which they mean it."""
    columns: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for attribute in config.universe.attributes:
        if attribute.value_labels:
            columns.setdefault(attribute.value_labels, []).append(attribute.name)
    return [
        f"* {', '.join(with_value_label(*pair) for pair in labels)}: in {', '.join(names)}"
        for labels, names in columns.items()
    ]


def _unit(config: Config) -> tuple[str, str]:
    """Who is protected, in the singular, and what of them."""
    unit = config.privacy.unit
    if isinstance(unit, PersonUnit):
        return "person", (
            f"One person: everything in the records with one and the same {unit.column}. At most "
            f"{unit.max_records} records of a person are used; the others are left out."
        )
    return "record", (
        "One record. Somebody with several records in the table is protected less than what "
        "follows says: as a group of that many records."
    )


def _protected(config: Config) -> list[str]:
    what = {
        "add-remove": "whether they are in the table at all, and what the table says of them",
        "replace-one": "what the table says of them; the number of records is public",
    }[config.privacy.neighbours]
    return [
        _unit(config)[1],
        f"Protected is {what}. It is protected from everybody who sees the release, whatever else "
        "they know: even if they know all other records, however much time and however large "
        "computers they have, now or later.",
        *_view(config),
    ]


def _view(config: Config) -> list[str]:
    """On what the promise rests where a view may be counted."""
    reason = config.public["source"].get("view_reason")
    if reason is None:
        return []
    return [
        "The records may be rows of a view or a foreign table. The promise holds if every row "
        "comes from one record. Nothing can check that; the curator's reason for it: "
        f"{_one_line(reason)}"
    ]


def _promise(explanation: Explanation) -> list[str]:
    privacy, budget = explanation.config.privacy, explanation.budget
    delta = f" and delta {format_number(budget.delta)}" if budget.delta else ""
    found = [
        f"Differential privacy with epsilon {_up(budget.epsilon)}{delta}. Had one "
        f"{_noun(explanation)} been "
        + ("left out" if privacy.neighbours == "add-remove" else "another one")
        + ", every possible release would have been nearly as likely: its probability would "
        f"differ by a factor of at most {_factor(budget.epsilon)}"
        + ("." if not budget.delta else f", but for an added {format_number(budget.delta)}.")
    ]
    if budget.delta:
        found.append(f"Where delta comes in: {explanation.meaning['exception']}.")
    found.append(f"Why this much: {_one_line(privacy.justification)}")
    return found


def _noun(explanation: Explanation) -> str:
    return _unit(explanation.config)[0]


def _for_one(explanation: Explanation) -> list[str]:
    found = [
        "How far the release can move what somebody believes about one of them, who knows all "
        "the others:"
    ]
    found += [
        f"* a suspicion of {_percent(each['prior'])} can grow to at most "
        f"{at_most(each['largest'])}, and shrink to no less than {at_least(each['smallest'])};"
        for each in explanation.meaning["posteriors"]
    ]
    found += [
        f"* a test that wrongly accuses {_percent(each['false_positive_rate'])} overlooks at least "
        f"{at_least(each['smallest_false_negative_rate'])} of those whom it is meant to find;"
        for each in explanation.meaning["membership_tests"]["examples"]
    ]
    found[-1] = found[-1].removesuffix(";") + "."
    return found


def _for_groups(explanation: Explanation) -> list[str]:
    noun = {"person": "people", "record": "records"}[_noun(explanation)]
    found = [
        f"What several {noun} have in common is protected less, and less for each one more. A "
        "suspicion of 10 % of something that all of them share can grow to:"
    ]
    for group in explanation.meaning["groups"]:
        tenth = next(each for each in group["posteriors"] if each["prior"] == 0.1)
        found.append(f"* {group['units']} {noun}: at most {at_most(tenth['largest'])};")
    found[-1] = found[-1].removesuffix(";") + "."
    return found


def _over_releases(explanation: Explanation) -> list[str]:
    spending = explanation.spending
    if spending is None or explanation.meaning_of_cap is None:
        return ["No ledger is named, so nothing limits what further releases add to this."]
    cap = spending.cap
    delta = f" and delta {format_number(cap.delta)}" if cap.delta else ""
    tenth = next(each for each in explanation.meaning_of_cap["posteriors"] if each["prior"] == 0.1)
    found = [
        f'Losses of releases about the same people add up. The ledger of "{spending.population}" '
        f"refuses a release that would bring the sum above epsilon {_up(cap.epsilon)}{delta}, and "
        f"every release with another promise than this: {Promise.of(explanation.config.privacy)}. "
        f"Should all of it be spent, a suspicion of 10 % can grow to at most "
        f"{at_most(tenth['largest'])}."
    ]
    if spending.spent is None:
        found.append("No ledger is at hand here: what was spent so far is not known.")
    else:
        here = "this release included" if spending.charged else "this release not included"
        spent_delta = f", delta {format_number(spending.spent.delta)}" if cap.delta else ""
        found.append(f"Spent so far ({here}): epsilon {_up(spending.spent.epsilon)}{spent_delta}.")
    if spending.refuses:
        bound = spending.promise or "a promise that it did not keep"
        found.append(f"The ledger will refuse this release: its population is bound to {bound}.")
    found += _over_series(explanation.config)
    found += over_parts(ledger_of(explanation.config).disjoint_part, spending.divided)
    found.append("Releases that are made without this ledger are not counted.")
    return found


def _over_series(config: Config) -> list[str]:
    """What all releases of the series come to, and what that rests on."""
    series = config.series
    if series is None:
        return []
    persons = ", and that no row of a person is deleted" if series.is_about_persons else ""
    renewal = series.renewal
    others = (
        f" Later horizons are about other people; the curator states: {_one_line(renewal.source)}"
        if isinstance(renewal, RenewalConfig) and renewal.source is not None
        else ""
    )
    return [
        f"This is a release of a series: {series.in_words()}. Its cost: {cost_in_words(config)}. "
        f"That rests on it that every record keeps its period{persons}; no program can check "
        f"it.{others}"
    ]


def _not_promised(explanation: Explanation) -> list[str]:
    return [f"* {limit};" for limit in explanation.meaning["not_promised"][:-1]] + [
        f"* {explanation.meaning['not_promised'][-1]}."
    ]


def _raw_data(config: Config) -> list[str]:
    if config.source is None:
        return ["The configuration names no source."]
    kept = (
        "They stay where they are; the curator keeps them."
        if config.source.disposal == "keep"
        else "Their files are deleted as soon as the noisy counts are safe, which is checked."
    )
    reason = _one_line(config.source.disposal_reason)
    return [
        "They are read once, by one process that writes nothing but the noisy counts. " + kept,
        *([f"Reason: {reason}"] if reason else []),
    ]


def _basis(config: Config) -> list[str]:
    return [
        "Everything here follows from the configuration (and the ledger) alone; no data were "
        "opened. The bounds are theorems about the random noise, not estimates; docs/privacy.md "
        f"has the proofs. Configuration: SHA-256 {config.hash}.",
        "How exact the release will be: synth plan.",
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _up(value: Fraction) -> str:
    """The number with at most four decimals, rounded up."""
    return format_number(Fraction(-((-value * 10**4) // 1), 10**4))


def _factor(epsilon: Fraction) -> str:
    """e^epsilon with three significant digits, rounded up."""
    return f"{significant_up(PRECISION.exp(decimal(epsilon)), 3):,g}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def over_parts(part: DisjointPart | None, account: DividedAccount | None) -> list[str]:
    """What is stated of the parts, what follows from it, and what is spent as far as is known.

    `part` is the one that this configuration is about, `account` what the ledger at hand holds.
    """
    if part is not None:
        source, names = part.source, part.parts
    elif account is not None:
        source, names = account.source, tuple(name for name, _ in account.parts)
    else:
        return []
    found = [
        "Of releases about one part of the population each, only those about the most expensive "
        "part count, on top of those about everybody: who belongs to one part is in no release "
        "about another. That holds only if nobody belongs to two parts. The curator states: "
        f"{' '.join(source.split())} No program can check that; if it is false, more is lost "
        "than the ledger says.",
        f"The parts are: {', '.join(names)}. This release is charged to "
        + ("everybody." if part is None else f'the part "{part.name}".'),
    ]
    if account is not None:
        spent = [f"{name} {format_number(budget.epsilon)}" for name, budget in account.parts]
        whole = format_number(account.whole.epsilon)
        found.append(f"Spent so far, of epsilon: everybody {whole}; {'; '.join(spent)}.")
    return found
