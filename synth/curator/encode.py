"""Encoding: one Ibis expression from text columns to cell numbers.

Every value gets a code; none stops the run. What a value becomes depends on that value and
the configuration alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from synth.config.types import PersonUnit
from synth.domain import Attribute, Universe

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir

TextAsRead = Callable[[str], str]


def encode_cell(table: ibis.Table, universe: Universe, as_read: TextAsRead) -> ir.IntegerValue:
    """The cell number of each record, int64, for a universe below 2**63 cells."""
    import ibis

    cell = ibis.literal(0, "int64")
    for attribute, stride in zip(universe.attributes, universe.strides, strict=True):
        code = encode_attribute(table[attribute.name], attribute, as_read)
        cell = cell + code.cast("int64") * ibis.literal(stride, "int64")
    return cell


def encode_attribute(
    column: ir.Column, attribute: Attribute, as_read: TextAsRead
) -> ir.IntegerValue:
    """The code of each value of one column; an empty field or null counts as the empty text."""
    import ibis

    text = _as_text(column).fill_null("")
    missing = [(text == as_read(token), attribute.missing_code) for token in attribute.missing]
    if attribute.is_ordered:
        inside = _encode_number(column, attribute)
        return ibis.cases(*missing, else_=inside) if missing else inside
    levels = [(text == as_read(level), code) for code, level in enumerate(attribute.levels)]
    return ibis.cases(*missing, *levels, else_=attribute.unreadable_code)


def _as_text(column: ir.Column) -> ir.StringValue:
    """The text of a value; a whole float is written as the whole number, as in a CSV file.

    Programs that know no missing integers store whole numbers as floats.
    """
    import ibis

    text = column.cast("string")
    if not column.type().is_floating():
        return text
    whole = column.try_cast("int64")
    is_whole = whole.notnull() & (whole.cast("float64") == column)
    return ibis.ifelse(is_whole, whole.cast("string"), text)


def _encode_number(column: ir.Column, attribute: Attribute) -> ir.IntegerValue:
    import ibis

    number = column.try_cast("float64") if column.type().is_string() else column.cast("float64")
    low, high = attribute.edges[0], attribute.edges[-1]
    out = attribute.out_of_domain_code
    last = attribute.bin_count - 1
    return ibis.cases(
        (number.isnull() | number.isnan(), attribute.unreadable_code),
        (number < float(low), 0 if out is None else out),
        (number > float(high), last if out is None else out),
        else_=_bin_between(number, attribute.edges, 0, last),
    )


def _bin_between(
    number: ir.FloatingValue, edges: Sequence[Fraction], first: int, last: int
) -> ir.IntegerValue:
    """The bin among first..last that holds the number, by a balanced tree of comparisons."""
    import ibis

    if first == last:
        return ibis.literal(first, "int64")
    middle = (first + last + 1) // 2
    return ibis.ifelse(
        number >= float(edges[middle]),
        _bin_between(number, edges, middle, last),
        _bin_between(number, edges, first, middle - 1),
    )


def bound_contributions(table: ibis.Table, unit: PersonUnit) -> ibis.Table:
    """Keep at most `max_records` records of each person.

    Privacy: which records stay is decided within one person's records by a hash of person and
    cell, so adding or removing a person changes nothing for anybody else. Records without a
    person (empty id) are left out: together they would be one person of any size.

    Requires: columns `person` (text) and `cell`.
    """
    import ibis

    known = table.filter(table.person.notnull() & (table.person != ""))
    order = (known.person + ":" + known.cell.cast("string")).hexdigest("md5")
    within = ibis.window(group_by=known.person, order_by=[order, known.cell])
    ranked = known.mutate(record_rank=ibis.row_number().over(within))
    return ranked.filter(ranked.record_rank < unit.max_records)
