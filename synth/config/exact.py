"""Numbers from text, exactly: no floating point between the file and the budget."""

from __future__ import annotations

import re
from fractions import Fraction

MAX_DIGITS = 40
MAX_EXPONENT = 30

DECIMAL_PATTERN = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
RATIO_PATTERN = r"^\+?[0-9]+/[0-9]+$"
WHOLE_PATTERN = r"^[+-]?(?:0|[1-9][0-9]*)$"


def whole(text: str) -> int | None:
    """A whole number without leading zeros (`012` is octal to some readers), or None."""
    if len(text) > MAX_DIGITS or not re.fullmatch(WHOLE_PATTERN[1:-1], text):
        return None
    return int(text)


def decimal(text: str) -> Fraction | None:
    """The exact value of a decimal number (`-1.5`, `1e-9`), or None.

    At most 40 digits and exponents up to 30: enough for every measurement, and no text of a
    few bytes can ask for a number of a billion digits.
    """
    if not re.fullmatch(DECIMAL_PATTERN[1:-1], text):
        return None
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_DIGITS + 2 or len(exponent) > 4:
        return None
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        return None
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def ratio(text: str) -> Fraction | None:
    """The exact value of a decimal number or a fraction (`1/3`), or None."""
    if not re.fullmatch(RATIO_PATTERN[1:-1], text):
        return decimal(text)
    if len(text) > 2 * MAX_DIGITS:
        return None
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom)) if int(bottom) else None
