"""What `synth inspect` says of raw data: as lines to read, and as JSON. Private."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from synth.curator.not_private.inspection import (
    EXAMPLES,
    InspectedColumn,
    Inspection,
    MisfitCount,
    RepeatedIds,
    inspect_source,
)

__all__ = ["inspect_source", "inspection_lines", "inspection_plain", "not_arrived", "trouble"]

ARRIVED = 0.01
"""Where a larger share of the values fits nowhere, a column did not arrive."""


def not_arrived(column: InspectedColumn) -> bool:
    """Whether more of the values fit nowhere than could be slips."""
    return column.nowhere > ARRIVED * column.records


def trouble(column: InspectedColumn) -> str:
    """One sentence on the values of a column that fit nowhere; empty if all fit."""
    lost = column.nowhere + column.below + column.above
    if not lost:
        return ""
    parts = []
    if column.nowhere:
        what = "fit nowhere"
        parts.append(f"{column.nowhere:,} of {column.records:,} values {what}")
    if column.below + column.above:
        outside = "were moved to the first or last bin" if column.clamps else "are out of bounds"
        parts.append(f"{column.below + column.above:,} of {column.records:,} values {outside}")
    reasons = [
        f"{each.records:,} {'is' if each.records == 1 else 'are'} {each.reason.words}: "
        f"{each.reason.fix}"
        for each in column.reasons[:3]
    ]
    return f"{column.name}: {', '.join(parts)}; " + "; ".join(reasons)


def inspection_lines(found: Inspection) -> Iterator[str]:
    """The report as text, a line at a time; sentences on what is wrong come last."""
    yield "PRIVATE: counts and values of the raw data, without noise. For their keeper alone."
    yield ""
    yield f"records read: {found.records:,}"
    yield f"records left out, too few fields: {found.left_out.too_few_fields:,}"
    yield f"records left out, too long: {found.left_out.too_long:,}"
    yield f"records with more fields than columns: {found.left_out.more_fields:,}"
    if found.left_out.unreadable:
        yield f"lines left out, no JSON object: {found.left_out.unreadable:,}"
    if found.dates:
        yield f"records of other periods, by {_shown(found.dates)}: {found.of_other_periods:,}"
        yield f"records without a date in {_shown(found.dates)}: {found.undated:,}"
    for ids in (found.person, *found.id_like):
        if ids is not None:
            yield _ids(ids)
    for column in found.columns:
        yield ""
        yield from _column(column)
    sentences = [*_whole(found), *filter(None, map(trouble, found.columns))]
    yield ""
    yield from sentences or ["No trouble was found: every value fits the domain."]


def _column(column: InspectedColumn) -> Iterator[str]:
    yield _shown(column.name)
    yield f"  fit the domain     {column.fits:,}"
    yield f"  declared missing   {column.declared_missing:,}"
    if column.below or column.above:
        moved = "clamped" if column.clamps else "out of bounds"
        yield f"  {moved:<18} {column.below:,} below, {column.above:,} above"
    yield f"  fit nowhere        {column.nowhere:,}"
    for each in column.reasons:
        became = ", ".join(f"{label} ({n:,})" for label, n in each.becomes.most_common(3))
        yield f"    {each.records:,} {each.reason.words}; counted as {became}"
        examples = ", ".join(f"{_shown(text)} ({n:,})" for text, n in _examples(each))
        yield f"      such as {examples}"
        yield f"      {each.reason.fix}"


def _whole(found: Inspection) -> Iterator[str]:
    """Sentences on the source as a whole."""
    if found.names_like_data or found.names_are_values:
        yield (
            "the first line looks like a record, not like names of columns: if the file has no "
            "line of names, list the columns in their order: `header: [...]` in source"
        )
    if found.dates and not found.records:
        yield (
            f"no record is in the period: compare {found.dates}, `format` in source.where, and "
            "the period"
        )
    elif not found.records:
        yield "no record was read: a run would spend its budget and publish noise"
    for each in found.declared:
        what = f"a public total of {each.total:,}" if each.total else "none, they are impossible"
        yield (
            f"{each.cells}: {each.records:,} records, as a run counts them; declared is {what}. A "
            "run publishes what is declared: correct it by its public source, or the source of the "
            "records"
        )
    if found.undated:
        yield (
            f"{found.dates}: {found.undated:,} of "
            f"{found.records + found.of_other_periods + found.undated:,} records hold no date that "
            "is written as source.where says; they count in no period"
        )
    for name in found.absent:
        yield f"{name}: no record at the beginning has this key; compare it with the file"
    out = found.left_out
    if out.too_few_fields or out.too_long:
        yield (
            f"{out.too_few_fields + out.too_long:,} records are left out: correct `delimiter` and "
            "`quote` in source, or the file"
        )
    if out.unreadable:
        yield (
            f"{out.unreadable:,} lines are left out: write one JSON object in UTF-8 in every line, "
            "of at most 16 MiB"
        )
    if out.more_fields:
        yield f"{out.more_fields:,} records have fields beyond the last column; they are not read"
    if found.person is not None and found.person.beyond_bound:
        yield (
            f"{found.person.name}: {found.person.beyond_bound:,} of {found.person.records:,} "
            f"records are left out by max_records: {found.person.bound}"
        )
    if found.person is not None and found.person.without_id:
        yield f"{found.person.name}: {found.person.without_id:,} records without an id are left out"
    for ids in found.id_like:
        yield (
            f"{ids.name}: {ids.repeated:,} of {ids.ids:,} values stand in several records: if it "
            f"names people, protect them: `unit: {{column: {ids.name}, max_records: ...}}`"
        )


def _ids(ids: RepeatedIds) -> str:
    return (
        f"{_shown(ids.name)}: {ids.ids:,} ids in {ids.records:,} records, {ids.repeated:,} of them "
        f"in more than one, one in {ids.most:,}"
    )


def _examples(each: MisfitCount) -> list[tuple[str, int]]:
    return each.examples.most_common(EXAMPLES)


def _shown(text: str) -> str:
    """A text of the data on one line, whatever it holds."""
    return ascii(text) if not text.isprintable() or text != text.strip() or not text else text


def inspection_plain(found: Inspection) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "private": True,
        "records": found.records,
        "left_out": vars(found.left_out),
        "of_other_periods": found.of_other_periods,
        "without_date": found.undated,
        "first_line_looks_like_data": bool(found.names_like_data or found.names_are_values),
        "person": None if found.person is None else vars(found.person),
        "id_like": [vars(each) for each in found.id_like],
        "contradicted": [vars(each) for each in found.declared],
        "columns": [
            {
                "name": column.name,
                "fits": column.fits,
                "declared_missing": column.declared_missing,
                "below": column.below,
                "above": column.above,
                "clamps": column.clamps,
                "nowhere": column.nowhere,
                "reasons": [
                    {
                        "reason": each.reason.words,
                        "records": each.records,
                        "counted_as": dict(each.becomes.most_common()),
                        "examples": dict(_examples(each)),
                        "fix": each.reason.fix,
                    }
                    for each in column.reasons
                ],
            }
            for column in found.columns
        ],
        "sentences": [*_whole(found), *filter(None, map(trouble, found.columns))],
    }
