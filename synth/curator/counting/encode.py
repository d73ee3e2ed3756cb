"""Encoding: one Ibis expression from the columns of a source to cell numbers, for every engine.

Every value gets a code; none stops the run. What a value becomes depends on that value and
the configuration alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import ibis
import ibis.expr.types as ir

from synth.config import PersonUnit
from synth.curator.engine import Records
from synth.domain import Attribute, Universe
from synth.domain.periods import read_period

WORD_LIMIT = 1 << 63
EXACT_LIMIT = 1 << 52
"""Whole numbers up to this, and their differences, are exact as float64."""


@dataclass(frozen=True)
class Word:
    """Neighbouring attributes whose codes make one number below 2**63."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def split_into_words(universe: Universe) -> tuple[Word, ...]:
    """The attributes in groups, in order, each as large as 63 bits allow.

    Ensures: cells in ascending order of their words, the first word first, are in ascending
    order of their cell numbers. A universe of at most 2**63 cells is one word, and that word is
    the cell number.
    """
    groups: list[list[Attribute]] = [[]]
    cells = 1
    for attribute in universe.attributes:
        if cells * attribute.size > WORD_LIMIT:
            groups.append([])
            cells = 1
        cells *= attribute.size
        groups[-1].append(attribute)
    return tuple(_word(group) for group in groups)


def _word(attributes: Sequence[Attribute]) -> Word:
    sizes = tuple(attribute.size for attribute in attributes)
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.append(strides[-1] * size)
    # of one code alone the stride does not matter; before 63 binary columns it is 2**63
    strides = [1 if size == 1 else s for size, s in zip(sizes, reversed(strides), strict=True)]
    return Word(tuple(attribute.name for attribute in attributes), sizes, tuple(strides))


def encode_words(
    codes: Mapping[str, ir.IntegerValue], universe: Universe
) -> dict[str, ir.IntegerValue]:
    """The cell number of each record as words `word_0`, `word_1`, ...: int64, never null.

    `codes` holds the code of each record, never null, by the names of the attributes.
    """
    words = {}
    for number, word in enumerate(split_into_words(universe)):
        value = ibis.literal(0, "int64")
        for name, stride in zip(word.names, word.strides, strict=True):
            # the engine takes a short literal for 32 bits, whatever Ibis calls it: the first cast
            # makes Ibis write down the second, without which a large word would overflow
            code = codes[name].cast("int32").cast("int64")
            value = value + code * ibis.literal(stride, "int64")
        words[f"word_{number}"] = value
    return words


def encode_attribute(records: Records, attribute: Attribute) -> ir.IntegerValue:
    """The code of each value of one column; an empty field or null counts as the empty text.

    Requires: no `date` or `datetime`; those take several steps, see `moments`.
    """
    return encode_texts(records, attribute, known_texts(attribute))


def known_texts(attribute: Attribute) -> list[tuple[str, int]]:
    """The texts that the configuration gives a code, each with it; of one text the first counts."""
    codes: list[tuple[str, int]] = []
    if attribute.missing_code is not None:
        codes += [(token, attribute.missing_code) for token in missing_texts(attribute)]
    if not attribute.is_ordered:
        codes += [
            (text, code) for code, texts in enumerate(attribute.level_texts) for text in texts
        ]
    return codes


def missing_texts(attribute: Attribute) -> list[str]:
    """The words for missing values; a day also as its midnight, for sources that hold times."""
    texts = list(attribute.missing)
    if attribute.calendar is not None:
        days = [text for text in texts if read_period(text, "day") is not None]
        midnights = (" 00:00:00", " 00:00:00Z", "T00:00:00", "T00:00:00Z")
        texts += [day + midnight for day in days for midnight in midnights]
    return texts


def encode_texts(
    records: Records, attribute: Attribute, codes: Sequence[tuple[str, int]]
) -> ir.IntegerValue:
    """The code of each value of one column, if these texts were all that have codes."""
    branches = _branches(records.table[attribute.name], codes)
    otherwise = (
        _encode_number(records, attribute)
        if attribute.is_ordered
        else ibis.literal(attribute.unreadable_code)
    )
    return ibis.cases(*branches, else_=otherwise) if branches else otherwise


def known_code(column: ir.Column, attribute: Attribute) -> ir.IntegerValue:
    """The code of a value that is written as a text of the configuration; null for any other."""
    branches = _branches(column, known_texts(attribute))
    return ibis.cases(*branches, else_=None).cast("int32") if branches else ibis.null("int32")


def _branches(
    column: ir.Column, codes: Sequence[tuple[str, int]]
) -> list[tuple[ir.BooleanValue, int]]:
    """Conditions under which the value is written as one of the texts.

    Numbers are compared as numbers, because every engine writes them in its own way: a text that
    no number of the column is written as is no branch.
    """
    if column.type().is_integer():
        return [
            (column.isnull() if text == "" else column == int(text), code)
            for text, code in codes
            if text == "" or is_whole(text)
        ]
    if column.type().is_floating():
        return [
            (_equals(column, None if text == "" else float(text)), code)
            for text, code in codes
            if text == "" or is_float(text)
        ]
    return [
        (column.isnull() | (column == "") if text == "" else column == text, code)
        for text, code in codes
    ]


def is_whole(text: str) -> bool:
    """Whether the text is how a 64-bit whole number is written."""
    return bool(re.fullmatch("0|-?[1-9][0-9]{0,18}", text)) and -(1 << 63) <= int(text) < 1 << 63


def is_float(text: str) -> bool:
    """Whether the text is how a 64-bit float is written.

    A whole float is written as the whole number if that has 64 bits, because programs that know
    no missing integers store whole numbers as floats; any other in the fewest digits that tell
    it from its neighbours, as Python does.
    """
    try:
        value = float(text)
    except ValueError:
        return False
    is_integer = -(2.0**63) <= value < 2.0**63 and value == int(value)
    return text == (str(int(value)) if is_integer else repr(value))


def _equals(column: ir.FloatingColumn, value: float | None) -> ir.BooleanValue:
    """Whether the float is this one, NaN included; on Spark, Ibis takes NaN for null too."""
    if value is None:
        return column.isnull() & ~is_nan(column)
    return is_nan(column) if math.isnan(value) else column == _float64(value)


def is_nan(column: ir.FloatingColumn) -> ir.BooleanValue:
    """Whether a float is NaN; never null."""
    return column.fill_null(0.0).isnan()


def _float64(value: float) -> ir.FloatingValue:
    """A constant that no engine takes for a decimal, which some round once more."""
    return ibis.literal(repr(value)).cast("float64")


def _encode_number(records: Records, attribute: Attribute) -> ir.IntegerValue:
    column = records.table[attribute.name]
    number = (
        records.as_number(attribute.name) if column.type().is_string() else column.cast("float64")
    )
    low, high = attribute.edges[0], attribute.edges[-1]
    out = attribute.out_of_domain_code
    last = attribute.bin_count - 1
    return ibis.cases(
        (number.isnull() | number.isnan(), attribute.unreadable_code),
        (number < _float64(float(low)), 0 if out is None else out),
        (number > _float64(float(high)), last if out is None else out),
        else_=_bin(number, attribute.edges),
    )


def _bin(number: ir.FloatingValue, edges: Sequence[Fraction]) -> ir.IntegerValue:
    """The bin of a number between the first and the last edge; the last edge is in the last bin.

    Bins of one whole width between whole edges below 2**52 need one division. It is exact: all
    differences are whole numbers below 2**53, so a quotient a / w that is not whole lies at least
    1 / w below the next whole number, and rounding to 53 bits moves it by less. The number is
    confined first, so that the cast cannot fail on a record that takes another branch.
    """
    last = len(edges) - 2
    if not _divides(edges):
        return _bin_between(number, edges, 0, last)
    low, width, high = (
        _float64(float(edge)) for edge in (edges[0], edges[1] - edges[0], edges[-1])
    )
    confined = ibis.least(ibis.greatest(number, low), high)
    found = ((confined.floor() - low) / width).floor()
    return ibis.least(found, _float64(float(last))).cast("int32")


def _divides(edges: Sequence[Fraction]) -> bool:
    """Whether the bins are of one whole width, but for a shorter last one, between whole edges."""
    if any(edge.denominator != 1 for edge in edges):
        return False
    *starts, high = [edge.numerator for edge in edges]
    width = starts[1] - starts[0] if len(starts) > 1 else 0
    return (
        width > 0
        and starts == [starts[0] + width * number for number in range(len(starts))]
        and high - starts[-1] <= width
        and max(-starts[0], high) < EXACT_LIMIT
    )


def _bin_between(
    number: ir.FloatingValue, edges: Sequence[Fraction], first: int, last: int
) -> ir.IntegerValue:
    """The bin among first..last that holds the number, by a balanced tree of comparisons."""
    if first == last:
        return ibis.literal(first, "int32")  # so that the cast to int64 is written out
    middle = (first + last + 1) // 2
    return ibis.ifelse(
        number >= _float64(float(edges[middle])),
        _bin_between(number, edges, middle, last),
        _bin_between(number, edges, first, middle - 1),
    )


@cache
def _md5() -> Callable[[ir.StringValue], ir.StringValue]:
    """The function md5 of the engine; every one has it, in hexadecimal."""

    def md5(text: str) -> str:  # type: ignore[empty-body]
        ...

    return ibis.udf.scalar.builtin(md5)  # type: ignore[no-any-return]


def bound_contributions(table: ibis.Table, unit: PersonUnit) -> ibis.Table:
    """Keep at most `max_records` records of each person.

    Privacy: which records stay is decided within one person's records by a hash of person and
    cell, so adding or removing a person changes nothing for anybody else. Ties are records of
    one person in one cell: whichever stays, the counts are the same. Records without a person
    (empty id) are left out: together they would be one person of any size.
    Ensures: the same records stay on every engine. Only the ASCII characters among the first
    1,000 of an id are hashed: the others look different in a CSV file that is read byte by byte,
    and an id of any length stops no engine. Where there is a column `period`, records of earlier
    periods stay first.

    Requires: columns `person` (text) and `word_0`, `word_1`, ... (the cell).
    """
    known = table.filter(table.person.notnull() & (table.person != ""))
    words = [known[name] for name in known.columns if name.startswith("word_")]
    hashed = known.person.left(1_000).re_replace("[^ -~]+", "")
    for word in words:
        hashed = hashed + ":" + word.cast("string")
    earlier = [known[name] for name in known.columns if name == "period"]
    within = ibis.window(group_by=known.person, order_by=[*earlier, _md5()(hashed), *words])
    ranked = known.mutate(record_rank=ibis.row_number().over(within))
    return ranked.filter(ranked.record_rank < unit.max_records)
