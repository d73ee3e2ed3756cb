"""The grammar of queries: `sex=Female, age in [20, 40), race in {White, Black}, town is missing`.

Names and labels may hold blanks, commas and signs: the longest known one that fits is taken, and
whatever is in double quotes (a quote inside written twice) is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from synth.domain import Attribute, Universe
from synth.errors import QueryError
from synth.named_columns import unknown_column, written
from synth.uncertainty.query import Query, query_of
from synth.uncertainty.query_range import range_codes

ALL_RECORDS = ("", "all records")
EXAMPLE = "sex=Female, age in [20, 40)"
GRAMMAR = (
    "conditions are `column=label`, `column in [a, b)`, `column in {A, B}` and "
    f"`column is missing`, joined with commas, as `{EXAMPLE}`"
)
SHOWN = 8

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_OPERATOR = re.compile(r"\s*=\s*|\s+in\s*(?=[\[({])|\s+is\s+missing")
_END = re.compile(r"\s*(?:,|$)")
_END_IN_SET = re.compile(r"\s*[,}]")
_RANGE = re.compile(r"([\[(])([^\[\](){},]*),([^\[\](){},]*)([\])])")


def parse_query(text: str, universe: Universe) -> Query:
    """Read a conjunction of conditions, each on another column.

    Raises: QueryError that says what is wrong and how to mend it.
    """
    if text.strip() in ALL_RECORDS:
        return query_of("all records", {}, universe)
    codes: dict[str, tuple[int, ...]] = {}
    place = 0
    while True:
        attribute, place = _column(text, place, universe)
        if attribute.name in codes:
            raise QueryError(
                f"the query restricts the column {attribute.name!r} twice",
                fix="write one condition per column, as `column in {A, B}`",
            )
        codes[attribute.name], place = _condition(text, place, attribute)
        end = _END.match(text, place)
        if end is None:
            raise _unreadable(text, place, attribute)
        place = end.end()
        if place == len(text) and not end[0].strip():
            return query_of(text.strip(), codes, universe)


def parse_names(text: str, universe: Universe) -> list[str]:
    """Read column names that are joined with commas. Raises: QueryError."""
    names, place = [], 0
    while True:
        found, place = _known(text, place, universe.names, _END)
        if found is None:
            raise unknown_column(text[place:].split(",")[0].strip(), universe)
        names.append(found)
        end = _END.match(text, place)
        if end is None:
            raise QueryError(
                f"the list of columns cannot be read from {text[place:].strip()[:60]!r} on",
                fix=f"join names with commas, in double quotes where they hold one: "
                f"{', '.join(map(written, universe.names[:2]))}",
            )
        place = end.end()
        if place == len(text) and not end[0].strip():
            return names


def _column(text: str, place: int, universe: Universe) -> tuple[Attribute, int]:
    found, after = _known(text, place, universe.names, _OPERATOR)
    if found is not None and found in universe.names:
        if _OPERATOR.match(text, after) is None:
            raise _unreadable(text, place, universe.attribute(found))
        return universe.attribute(found), after
    rest = text[place:].strip()
    stop = re.search(r"=|\s+in\s*[\[({]|\s+is\s+missing", rest)
    if stop is None:
        alone, _ = _known(text, place, universe.names, _END)
        meant = alone if alone in universe.names else universe.names[0]
        raise _unreadable(text, place, universe.attribute(meant))
    raise unknown_column(found or rest[: stop.start()].strip(), universe)


def _condition(text: str, place: int, attribute: Attribute) -> tuple[tuple[int, ...], int]:
    operator = _OPERATOR.match(text, place)
    if operator is None:
        raise _unreadable(text, place, attribute)
    place = operator.end()
    if operator[0].strip() == "=":
        return _label(text, place, attribute, _END)
    if operator[0].split()[0] == "is":
        if attribute.missing_code is None:
            raise QueryError(
                f"the column {attribute.name!r} has no missing level",
                fix=f"ask for one of: {_labels(attribute)}",
            )
        return (attribute.missing_code,), place
    if text[place] == "{":
        return _set(text, place + 1, attribute)
    found = _RANGE.match(text, place)
    if found is None:
        raise _unreadable(text, place, attribute)
    return range_codes(attribute, *found.groups()), found.end()


def _set(text: str, place: int, attribute: Attribute) -> tuple[tuple[int, ...], int]:
    codes: set[int] = set()
    while True:
        label, place = _label(text, place, attribute, _END_IN_SET)
        codes.update(label)
        end = _END_IN_SET.match(text, place)
        if end is None:
            raise _unreadable(text, place, attribute)
        place = end.end()
        if end[0].strip() == "}":
            return tuple(sorted(codes)), place


def _label(
    text: str, place: int, attribute: Attribute, end: re.Pattern[str]
) -> tuple[tuple[int, ...], int]:
    """The codes that a label names: its code, or those of a group of the hierarchy."""
    groups = {
        label: tuple(code for code, group in enumerate(level.group_of) if group == number)
        for level in attribute.hierarchy
        for number, label in enumerate(level.labels)
    }
    known = {label: (code,) for code, label in enumerate(attribute.labels)}
    codes_of = groups | known
    found, after = _known(text, place, codes_of, end)
    if found in codes_of:
        return codes_of[found], after
    wanted = found if found is not None else re.split(r"[,}]", text[place:])[0].strip()
    raise _unknown_label(wanted, attribute)


def _known(
    text: str, place: int, names: Iterable[str], end: re.Pattern[str]
) -> tuple[str | None, int]:
    """The quoted text here, or the longest name before `end`; None if no name stands here."""
    place += len(text) - place - len(text[place:].lstrip())
    quoted = _QUOTED.match(text, place)
    if quoted is not None:
        return quoted[1].replace('""', '"'), quoted.end()
    best: str | None = None
    for name in names:
        longer = name and (best is None or len(name) > len(best))
        if longer and text.startswith(name, place) and end.match(text, place + len(name)):
            best = name
    return best, place + len(best or "")


def _unknown_label(wanted: str, attribute: Attribute) -> QueryError:
    import difflib

    sentence = f"the column {attribute.name!r} has no label {wanted[:80]!r}"
    if attribute.is_ordered and re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", wanted):
        code = next((c for c in range(attribute.bin_count) if _holds(attribute, c, wanted)), None)
        if code is not None:
            label = attribute.label(code)
            return QueryError(
                f"{sentence}: {wanted} lies in the bin {label}",
                why="the release holds counts of bins; what is inside a bin was never measured",
                fix=f"ask for {attribute.name}={label}",
            )
    close = difflib.get_close_matches(wanted[:100], attribute.labels[:1000], n=1)
    advice = f"did you mean {written(close[0], ordered=attribute.is_ordered)}?" if close else ""
    return QueryError(sentence, fix=advice or f"ask for one of: {_labels(attribute)}")


def _holds(attribute: Attribute, code: int, number: str) -> bool:
    from fractions import Fraction

    low, high = attribute.edges[code], attribute.edges[code + 1]
    last = code == attribute.bin_count - 1
    return low <= Fraction(number) < high or (last and Fraction(number) == high)


def _labels(attribute: Attribute) -> str:
    from synth.domain.listing import shorten

    labels = (written(label, ordered=attribute.is_ordered) for label in attribute.labels)
    return ", ".join(shorten(labels, SHOWN))


def _unreadable(text: str, place: int, attribute: Attribute) -> QueryError:
    """What is said of a text that is no condition, with one on this column that would be."""
    rest = text[place:].strip()
    where = f"from {rest[:60]!r} on" if rest else "at its end"
    label = written(attribute.label(0), ordered=attribute.is_ordered)
    fix = f"write a condition, as `{written(attribute.name)}={label}`"
    return QueryError(f"the query cannot be read {where}", why=GRAMMAR, fix=fix)
