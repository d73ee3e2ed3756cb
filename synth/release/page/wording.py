"""Numbers and texts of the manifest as the page writes them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

MOST_DIGITS = 15
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
UNITS = ("kB", "MB", "GB", "TB")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
ADDRESS = re.compile(r"[A-Za-z0-9.+_-]+@[A-Za-z0-9.-]+")


def whole(number: int) -> str:
    """A whole number with commas or, if it is very long, by its power of ten."""
    digits = str(number)
    if len(digits) <= MOST_DIGITS:
        return f"{number:,}"
    power = str(len(digits) - 1).translate(SUPERSCRIPTS)
    return f"{digits[0]}.{digits[1]} × 10{power}"


def size(size_bytes: int) -> str:
    """A size in decimal units, with two digits at least."""
    if size_bytes < 1000:
        return f"{size_bytes} bytes"
    amount, unit = Fraction(size_bytes, 1000), 0
    while amount >= 1000 and unit < len(UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{float(amount):.{1 if amount < 100 else 0}f} {UNITS[unit]}"


def exact(number: dict[str, str]) -> str:
    """The decimal form where it is exact, else the fraction."""
    decimal, fraction = number["decimal"], number["fraction"]
    return decimal if Fraction(decimal) == Fraction(fraction) else fraction


def printable(value: Any) -> Any:
    """Text without characters that a page may not hold; other values as they are."""
    if isinstance(value, str) and CONTROL.search(value):
        return CONTROL.sub("\N{REPLACEMENT CHARACTER}", value)
    return value


def is_address(text: str) -> bool:
    """Whether the text is nothing but an address of electronic mail."""
    return ADDRESS.fullmatch(text) is not None
