"""Queries: sets of cells whose records are counted, and the grammar that names them.

As `sex=Female, age in [20, 40), race in {White, Black}, town is missing`.

Names and labels may hold blanks, commas and signs: the longest known one that fits is taken, and
whatever is in double quotes (a quote inside written twice) is taken as it stands.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from synth.domain import Attribute, Conjunction, Universe, format_number
from synth.domain.attribute import shorten, written
from synth.domain.periods import read_period
from synth.errors import QueryError

ALL_RECORDS = ("", "all records")
EXAMPLE = "sex=Female, age in [20, 40)"
GRAMMAR = (
    "conditions are `column=label`, `column in [a, b)`, `column in {A, B}` and "
    f"`column is missing`, joined with commas, as `{EXAMPLE}`"
)
SHOWN = 8

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_OPERATOR = re.compile(r"\s*=\s*|\s+in\s*(?=[\[({])|\s+is\s+missing")
_NUMBER = re.compile(r"\s*(-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?)\s*")
_END = re.compile(r"\s*(?:,|$)")
_END_IN_SET = re.compile(r"\s*[,}]")
_RANGE = re.compile(r"([\[(])([^\[\](){},]*),([^\[\](){},]*)([\])])")


@dataclass(frozen=True)
class Query:
    """How many records lie in a set of cells.

    `where` names the codes of every column that the query restricts, in universe order; a column
    of which it takes all codes is not named.
    """

    text: str
    where: Conjunction

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the query restricts, in universe order."""
        return tuple(self.where.codes)


def query_of(text: str, codes: dict[str, tuple[int, ...]], universe: Universe) -> Query:
    """The query for these codes, written in the one form that queries are compared in."""
    kept = {
        attribute.name: tuple(sorted(codes[attribute.name]))
        for attribute in universe.attributes
        if len(codes.get(attribute.name, ())) not in (0, attribute.size)
    }
    return Query(text, Conjunction(kept))


def marginal_queries(names: Sequence[str], universe: Universe, *, limit: int) -> list[Query]:
    """One query per cell of the table over these columns, in cell order.

    Raises: QueryError for a column that is not there or named twice, and for too many cells.
    """
    check_columns(names, universe)
    attributes = [universe.attribute(name) for name in names]
    cells = math.prod(attribute.size for attribute in attributes)
    if cells > limit:
        raise QueryError(
            f"the marginal of {', '.join(names)} has {cells:,} cells, more than {limit:,}",
            fix="name fewer columns, or ask for single counts with queries",
        )
    found = []
    for codes in product(*(range(attribute.size) for attribute in attributes)):
        text = ", ".join(
            f"{written(a.name)}={_written(a, code)}"
            for a, code in zip(attributes, codes, strict=True)
        )
        by_name: dict[str, tuple[int, ...]] = {
            a.name: (code,) for a, code in zip(attributes, codes, strict=True)
        }
        found.append(query_of(text, by_name, universe))
    return found


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
    """The codes that a label names: its code, or those of a group of the hierarchy.

    What a code means names it too, and no group: see `Attribute.value_labels`.
    """
    groups = {
        label: tuple(code for code, group in enumerate(level.group_of) if group == number)
        for level in attribute.hierarchy
        for number, label in enumerate(level.labels)
    }
    known = {label: (code,) for code, label in enumerate(attribute.labels)}
    meanings = {attribute.value_label(code): (code,) for code in range(attribute.size)}
    codes_of = {name: codes for name, codes in (meanings | groups | known).items() if name}
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
    sentence = f"the column {attribute.name!r} has no label {wanted[:80]!r}"
    is_numeric = attribute.is_ordered and attribute.calendar is None
    if is_numeric and re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", wanted):
        code = next((c for c in range(attribute.bin_count) if _holds(attribute, c, wanted)), None)
        if code is not None:
            label = attribute.label(code)
            return QueryError(
                f"{sentence}: {wanted} lies in the bin {label}",
                why="the release holds counts of bins; what is inside a bin was never measured",
                fix=f"ask for {attribute.name}={label}",
            )
    meanings = {attribute.value_label(code): code for code in range(attribute.size)}
    names = meanings | {label: code for code, label in enumerate(attribute.labels)}
    close = difflib.get_close_matches(wanted[:100], list(filter(None, names))[:1000], n=1)
    advice = f"did you mean {_written(attribute, names[close[0]])}?" if close else ""
    return QueryError(sentence, fix=advice or f"ask for one of: {_labels(attribute)}")


def _holds(attribute: Attribute, code: int, number: str) -> bool:
    low, high = attribute.edges[code], attribute.edges[code + 1]
    last = code == attribute.bin_count - 1
    return low <= Fraction(number) < high or (last and Fraction(number) == high)


def _labels(attribute: Attribute) -> str:
    return ", ".join(shorten((_written(attribute, c) for c in range(attribute.size)), SHOWN))


def _unreadable(text: str, place: int, attribute: Attribute) -> QueryError:
    """What is said of a text that is no condition, with one on this column that would be."""
    rest = text[place:].strip()
    where = f"from {rest[:60]!r} on" if rest else "at its end"
    fix = f"write a condition, as `{written(attribute.name)}={_written(attribute, 0)}`"
    return QueryError(f"the query cannot be read {where}", why=GRAMMAR, fix=fix)


def range_codes(
    attribute: Attribute, opening: str, low: str, high: str, closing: str
) -> tuple[int, ...]:
    """The bins that make up a range; it may reach beyond the first and the last of them.

    The upper edge of the last bin belongs to it, so there `]` and `)` mean the same.
    Raises: QueryError for a column without bins, for what is no range, and for one that would cut
    a bin; then the fix is the nearest range that cuts none.
    """
    name = attribute.name
    if not attribute.is_ordered:
        raise QueryError(
            f"the column {name!r} is {attribute.kind}: it has no ranges",
            fix=f"list labels, as `{name} in {{{', '.join(attribute.levels[:2])}}}`",
        )
    start, stop = _value(low, attribute), _value(high, attribute)
    if start is None or stop is None:
        two = "numbers" if attribute.calendar is None else f"{attribute.calendar.resolution}s"
        raise QueryError(
            f"the range {opening}{low},{high}{closing} of {name!r} needs two {two}",
            fix=f"as `{name} in {_range(attribute, 0, attribute.bin_count)}`",
        )
    if attribute.is_whole:
        start, stop = _whole(start, stop, opening, closing)
        opening, closing = "[", ")"
    if start >= stop:
        raise QueryError(
            f"the range of {name!r} holds no value",
            fix=f"write the smaller bound first, as `{_range(attribute, 0, attribute.bin_count)}`",
        )
    half_open = opening == "[" and (closing == ")" or stop >= attribute.edges[-1])
    return _bins(attribute, start, stop, half_open=half_open)


def _value(text: str, attribute: Attribute) -> Fraction | None:
    """A bound of a range: a number, or the number of a period; None if it is neither."""
    if attribute.calendar is not None:
        number = read_period(text.strip(), attribute.calendar.resolution)
        return None if number is None else Fraction(number)
    found = _NUMBER.fullmatch(text)
    return None if found is None else Fraction(found[1])


def _whole(
    start: Fraction, stop: Fraction, opening: str, closing: str
) -> tuple[Fraction, Fraction]:
    """The same whole numbers as a range that holds its lower bound and not its upper one."""
    first = Fraction(-(-start // 1)) if opening == "[" else Fraction(start // 1 + 1)
    last = Fraction(stop // 1 + 1) if closing == "]" else Fraction(-(-stop // 1))
    return first, last


def _bins(
    attribute: Attribute, start: Fraction, stop: Fraction, *, half_open: bool
) -> tuple[int, ...]:
    lows, highs = zip(
        *(_bounds(attribute, code) for code in range(attribute.bin_count)), strict=True
    )
    codes = [c for c in range(attribute.bin_count) if start <= lows[c] and highs[c] <= stop]
    cut = [c for c in range(attribute.bin_count) if lows[c] < stop and start < highs[c]]
    if codes == cut and codes and half_open:
        return tuple(codes)
    if not cut:
        everything = _range(attribute, 0, attribute.bin_count)
        raise QueryError(
            f"the range lies outside of all bins of {attribute.name!r}",
            fix=f"the bins go over {everything}",
        )
    edges = [*lows, highs[-1]]
    first = min(range(attribute.bin_count), key=lambda c: abs(edges[c] - start))
    last = min(range(first + 1, attribute.bin_count + 1), key=lambda c: abs(edges[c] - stop))
    raise QueryError(
        f"the range of {attribute.name!r} cuts a bin",
        why="the release holds counts of bins; what is inside a bin was never measured",
        fix=f"the nearest range of whole bins is `{attribute.name} in "
        f"{_range(attribute, first, last)}`",
    )


def _bounds(attribute: Attribute, code: int) -> tuple[Fraction, Fraction]:
    """The bin as a range without its upper bound."""
    if attribute.is_whole:
        low, high = attribute.integer_bounds(code)
        return Fraction(low), Fraction(high + 1)
    return attribute.edges[code], attribute.edges[code + 1]


def _range(attribute: Attribute, first: int, last: int) -> str:
    """The bins from `first` to before `last` as a range that `range_codes` accepts."""
    if attribute.calendar is not None:
        return f"[{attribute.label(first)}, {attribute.label(last - 1)}]"
    low, high = _bounds(attribute, first)[0], _bounds(attribute, last - 1)[1]
    closed = attribute.kind != "integer" and last == attribute.bin_count
    return f"[{format_number(low)}, {format_number(high)}{']' if closed else ')'}"


def check_columns(names: Sequence[str], universe: Universe) -> None:
    """Refuse a list of columns that is no table. Raises: QueryError."""
    for name in names:
        if name not in universe.names:
            raise unknown_column(name, universe)
    if not names or len(set(names)) < len(names):
        raise QueryError(
            "a marginal needs one column or more, each once", fix="name the columns, as `sex,race`"
        )


def _written(attribute: Attribute, code: int) -> str:
    """A code as a condition names it: what it means where that is said, else its label."""
    meaning = attribute.value_label(code)
    return (
        written(meaning)
        if meaning
        else written(attribute.label(code), ordered=attribute.is_ordered)
    )


def unknown_column(name: str, universe: Universe) -> QueryError:
    """What is said of a name that is no column, with the column that was probably meant."""
    close = difflib.get_close_matches(name[:100], universe.names, n=1)
    columns = ", ".join(shorten(map(written, universe.names), 20))
    return QueryError(
        f"the release has no column {name[:80]!r}",
        fix=f"did you mean {written(close[0])}?" if close else f"name one of: {columns}",
    )
