"""Which numbers of a column look like codes for missing values: 99 beside 1 to 5, 9 beside 0 to 2.

A proposal for a draft, which its keeper confirms or not; never part of a run.
"""

from __future__ import annotations

from collections.abc import Mapping

CODES = (
    *range(-9, 0),
    *(sign * digit * ones for sign in (-1, 1) for ones in (11, 111, 1111, 11111, 111111)
      for digit in (6, 7, 8, 9)),
    *(7, 8, 9, 96, 97, 98, 996, 997, 998, 9996, 9997, 9998),
    *(-96, -97, -98, -996, -997, -998, -9996, -9997, -9998),
)  # fmt: skip
"""Numbers by which questionnaires, registers and programs say that there is no value."""

MOST_CODES = 20
"""A column with more different numbers is taken for a measured quantity."""

MOST_NEGATIVE_CODES = 3
"""More of them beside a measured quantity are taken for measured, too."""

FAR = 0.15
"""How far from a measured quantity such a number stands, in parts of its range."""


def missing_codes(
    found: Mapping[int, int], *, low: float | None, high: float | None, distinct: int
) -> frozenset[int]:
    """Those of `found` that stand apart from all other numbers of the column.

    `found` says how often the numbers of CODES occur; `low` and `high` are the bounds of all
    others, and `distinct` is about how many different numbers there are.
    """
    if low is None or high is None or low == high:
        return frozenset()
    while low - 1 in found and low < 0:
        low -= 1
    while high + 1 in found:
        high += 1
    is_measured = distinct > MOST_CODES
    apart = max(3.0, FAR * (high - low))
    above = sorted(code for code in found if code > high)
    if is_measured:
        above = [code for code in above if code - high >= apart and found[code] > 1]
    elif above and (above[-1] - high < 3 or above[0] - high < 2):
        above = []
    below = [code for code in found if code < low]
    if low < 0:
        below = [code for code in below if low - code >= apart and found[code] > 1]
    elif below and (
        min(below) == -high < -1  # a scale around zero
        or (is_measured and len(below) > MOST_NEGATIVE_CODES)
    ):
        below = []
    return frozenset((*above, *below))
