"""Columns and their labels in messages: listed, refused, and what was probably meant."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain

from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import decimal
from synth.config.schema.yaml_tree import printable
from synth.domain import Attribute
from synth.domain.attribute import shorten

COMPARED = 1_000
"""How many labels of one column are compared for a suggestion."""


def listed(attribute: Attribute, limit: int) -> str:
    """The labels in order, cut short; levels that would blur the list are in quotes."""
    return ", ".join(shorten((_written(attribute, c) for c in range(attribute.size)), limit))


def _written(attribute: Attribute, code: int) -> str:
    """The label; a level that holds a comma or quotes, or has blanks around it, as YAML text."""
    label = attribute.label(code)
    if attribute.is_ordered or (label == label.strip() and not set(label) & set(",\"'")):
        return label
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def meant(label: str, attribute: Attribute, report: Report, words: Iterable[str] = ()) -> str:
    """Advice for text that names no level: the bin that a number lies in, or the most alike."""
    labelled = attribute.code_of_value_label(label)
    if labelled is not None:
        return f"write the level that is labelled so: {quoted(attribute.label(labelled))}"
    number = decimal(label) if attribute.is_ordered and attribute.calendar is None else None
    if number is None:
        labels = (attribute.label(code) for code in range(min(attribute.size, COMPARED)))
        return report.suggest(label, chain(words, labels))
    first, last = attribute.label(0), attribute.label(attribute.bin_count - 1)
    if not attribute.edges[0] <= number <= attribute.edges[-1]:
        return f"{label} lies outside of all bins, from {first} to {last}"
    code = min(bisect_right(attribute.edges, number) - 1, attribute.bin_count - 1)
    return f'{label} lies in {attribute.label(code)}: write "{attribute.label(code)}"'


def refuse_column(name: str, known: Iterable[str], path: Place, report: Report) -> None:
    """Report a name that is no column of the domain."""
    report.add(
        path,
        found=f"the column {quoted(name)}",
        expected="a column of the domain",
        fix=report.suggest(name, known),
    )


def refuse_label(label: str, attribute: Attribute, path: Place, report: Report) -> None:
    """Report text that names no code of the column."""
    report.add(
        path,
        found=printable(label[:80]),
        expected=f"one of: {listed(attribute, 8)}",
        fix=meant(label, attribute, report),
    )
