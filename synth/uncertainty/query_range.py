"""Ranges of an ordered column: made of whole bins, or refused with the nearest range that is."""

from __future__ import annotations

import re
from fractions import Fraction

from synth.domain import Attribute, format_number
from synth.errors import QueryError

_NUMBER = re.compile(r"\s*(-?[0-9]{1,40}(?:\.[0-9]{1,40})?)\s*")


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
            f"the column {name!r} is categorical: it has no ranges",
            fix=f"list labels, as `{name} in {{{', '.join(attribute.levels[:2])}}}`",
        )
    ends = _NUMBER.fullmatch(low), _NUMBER.fullmatch(high)
    if ends[0] is None or ends[1] is None:
        raise QueryError(
            f"the range {opening}{low},{high}{closing} of {name!r} needs two numbers",
            fix=f"as `{name} in {_range(attribute, 0, attribute.bin_count)}`",
        )
    start, stop = Fraction(ends[0][1]), Fraction(ends[1][1])
    if attribute.kind == "integer":
        start, stop = _whole(start, stop, opening, closing)
        opening, closing = "[", ")"
    if start >= stop:
        raise QueryError(
            f"the range of {name!r} holds no value",
            fix=f"write the smaller bound first, as `{_range(attribute, 0, attribute.bin_count)}`",
        )
    half_open = opening == "[" and (closing == ")" or stop >= attribute.edges[-1])
    return _bins(attribute, start, stop, half_open=half_open)


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
    if attribute.kind == "integer":
        low, high = attribute.integer_bounds(code)
        return Fraction(low), Fraction(high + 1)
    return attribute.edges[code], attribute.edges[code + 1]


def _range(attribute: Attribute, first: int, last: int) -> str:
    """The bins from `first` to before `last` as a range that `range_codes` accepts."""
    low, high = _bounds(attribute, first)[0], _bounds(attribute, last - 1)[1]
    closed = attribute.kind != "integer" and last == attribute.bin_count
    return f"[{format_number(low)}, {format_number(high)}{']' if closed else ')'}"
