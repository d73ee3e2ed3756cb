"""Columns and their labels: listed, refused, what was probably meant, and what values mean."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Annotated

from synth.config.edges import MAX_LEVELS
from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import decimal, label, name
from synth.config.schema.shapes import MapOf
from synth.config.schema.yaml_tree import printable
from synth.domain import CLAMP, MISSING, Attribute
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


ValueLabels = Annotated[
    Mapping[str, str] | None,
    MapOf(
        "What levels, and words for missing values, mean; the rows keep the levels",
        name("The label of one value"),
        minimum=1,
        maximum=MAX_LEVELS,
        noun="labels",
        example="from level to label, such as {0: No, 1: Yes}",
        key=label("A level, the word missing, or a word for missing values"),
    ),
]


def checked_labels(
    labels: Mapping[str, str] | None, attribute: Attribute, path: Place, report: Report
) -> tuple[tuple[str, str], ...]:
    """The labels of a column, in the order of its codes; what is wrong with them is reported.

    Ensures: equal maps give equal labels, in whatever order they are written. A text that is a
    label means one code, and nothing else that a query may name.
    """
    found: dict[str, str] = {}
    value_of: dict[str, str] = {}
    groups = {group for level in attribute.hierarchy for group in level.labels}
    for value, text in (labels or {}).items():
        here = (*path, value)
        if value not in attribute.missing and not _is_one_value(value, attribute):
            what = "single numbers of the column" if attribute.is_ordered else "levels"
            report.add(
                here,
                found=printable(value[:80]),
                expected=f"one of the {what}: {listed(attribute, 8)}; or a word under `missing`",
                fix=meant(value, attribute, report),
            )
            continue
        same = value_of.setdefault(text, value)
        if same != value:
            report.add(
                here,
                found=quoted(text),
                expected="every label once",
                why=f"{quoted(same)} has the same label, so a reader could not tell them apart",
                fix="make the labels differ, or let the values be one level in a view or a copy",
            )
        elif text in groups or _names_another(text, value, attribute):
            report.add(
                here,
                found=quoted(text),
                expected="a label that names nothing else of the column",
                why="a condition on the label would mean two things",
                fix="write the label in other words",
            )
        found[value] = text
    order = {text: place for place, text in enumerate(attribute.missing, attribute.size)}
    return tuple(sorted(found.items(), key=lambda pair: _place(pair[0], attribute, order)))


def _is_one_value(value: str, attribute: Attribute) -> bool:
    """Whether this is a level, a bin of a single number, or the word for the missing level."""
    code = attribute.code_of(value)
    return code is not None and (
        not attribute.is_ordered
        or code == attribute.missing_code
        or attribute.is_single_value(code)
    )


def _names_another(text: str, value: str, attribute: Attribute) -> bool:
    """Whether a label is a word of the program, a range, or the name of another code."""
    code = attribute.code_of(text)
    if text in (MISSING, CLAMP) or (attribute.is_ordered and text.startswith("[")):
        return True
    return code is not None and code != attribute.code_of(value)


def _place(value: str, attribute: Attribute, order: Mapping[str, int]) -> int:
    """Where a value stands: codes in their order, then words for missing values in theirs."""
    code = None if value in order else attribute.code_of(value)
    return order[value] if code is None else code
