"""Notes on an accepted configuration: nothing wrong, but worth a second look."""

from __future__ import annotations

from collections.abc import Iterator

from synth.config.problems import quoted
from synth.config.types import Config, PersonUnit
from synth.config.workload_keys import DEFAULT_ORDER
from synth.domain import CLAMP, Attribute, format_number


def warnings(config: Config) -> tuple[str, ...]:
    """One sentence per note, in the order of the file."""
    return tuple(_notes(config))


def _notes(config: Config) -> Iterator[str]:
    privacy, ledger = config.privacy, config.ledger
    if privacy.epsilon > 10:
        yield f"privacy.epsilon is {format_number(privacy.epsilon)}: that protects very little"
    yield from _delta_notes(config)
    if ledger is not None and privacy.epsilon > ledger.epsilon_cap:
        yield "privacy.epsilon is above ledger.epsilon_cap: a run will be refused"
    for attribute in config.universe.attributes:
        yield from _attribute_notes(attribute)
    order, columns = config.workload.order, len(config.universe.attributes)
    if order is not None and order > max(columns, DEFAULT_ORDER):
        yield (
            f"workload.marginals is {order}, but there are {columns} columns: "
            f"the workload is every table of up to {columns} columns"
        )
    unit = privacy.unit
    if isinstance(unit, PersonUnit) and unit.column in config.universe.names:
        yield f"{unit.column}: identifies persons (privacy.unit) and is a published column too"


def _delta_notes(config: Config) -> Iterator[str]:
    delta, ledger, expected = config.privacy.delta, config.ledger, config.workload.expected_records
    if not delta:
        return
    if config.strategy == "identity":
        yield (
            "privacy.delta is above 0, but strategy identity is pure: "
            "the release will claim, and the ledger charge, delta 0"
        )
    elif ledger is not None and delta > ledger.delta_cap:
        yield "privacy.delta is above ledger.delta_cap: a run that spends it will be refused"
    if expected is not None and delta * expected >= 1:
        yield (
            "privacy.delta is not below 1 / workload.expected_records: "
            "it would allow a release that shows one of the records as it is"
        )


def _attribute_notes(attribute: Attribute) -> Iterator[str]:
    where = attribute.name
    if attribute.is_ordered and attribute.out_of_domain == CLAMP and not attribute.has_missing:
        first = attribute.label(0)
        yield (
            f"{where}: a value that is empty or no number counts in the first bin {first}; "
            'declare missing: [""] to keep such values apart'
        )
    if not attribute.is_ordered:
        spellings: dict[str, str] = {}
        for level in attribute.levels:
            same = spellings.setdefault(level.strip().casefold(), level)
            if same is not level:
                yield (
                    f"{where}: the levels {quoted(same)} and {quoted(level)} "
                    "differ in blanks or capitals"
                )
