"""How each attribute is published: the values that a code can become, and their type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from synth.config import Bins
from synth.domain import Attribute, Universe
from synth.domain.periods import Resolution

PublishedType = Literal["text", "boolean", "date", "datetime", "integer", "number"]

PUBLISHED_PERIODS: dict[Resolution, PublishedType] = {
    "year": "integer",
    "quarter": "text",
    "month": "text",
    "week": "date",
    "day": "date",
    "hour": "datetime",
}
"""The types of periods: files have none for quarters and months."""

POINTS_PER_BIN = 1000
"""A bin of a `number` offers at least this many values, so that ties do not draw the bins."""

SIGNIFICANT_DIGITS = 15
"""Decimal numbers of at most 15 digits survive the way into a 64-bit float and back."""


PERIOD_RULES: dict[Resolution, str] = {
    "year": "the year itself",
    "quarter": "the quarter itself",
    "month": "the month itself",
    "week": "the date of the Monday with which the week begins",
    "day": "the day itself",
    "hour": "the beginning of the hour, by the clock of its place",
}


@dataclass(frozen=True)
class Column:
    """One published column.

    A text column publishes `texts[code]`, and so do columns of truth values, dates and times, which
    Parquet holds in types of their own. A numeric one publishes a whole number k between
    `first[code]` and `last[code]`, read as k / 10**decimals. The missing level, if declared, is
    the code after the last of these and is published as nothing (empty field, null).
    """

    attribute: Attribute
    published_type: PublishedType
    texts: tuple[str, ...] = ()
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    decimals: int = 0

    @property
    def name(self) -> str:
        """The column's name: that of the attribute."""
        return self.attribute.name

    @property
    def is_numeric(self) -> bool:
        """Whether numbers are published, and not one of some `texts`."""
        return self.published_type in ("integer", "number")

    @property
    def longest_text_bytes(self) -> int:
        """What the longest of its texts takes in UTF-8; 0 for numbers."""
        return max((len(text.encode()) for text in self.texts), default=0)

    @property
    def is_random(self) -> bool:
        """Whether some bin offers more than one value, so that the public stream decides."""
        return self.first != self.last

    @property
    def rule(self) -> str:
        """The un-binning rule in words, for the manifest."""
        if not self.attribute.is_ordered:
            return "the level itself"
        if self.attribute.calendar is not None:
            return PERIOD_RULES[self.attribute.calendar.resolution]
        if self.published_type == "text":
            return "the interval of the bin, as text"
        if not self.is_random:
            if all(self.attribute.is_single_value(c) for c in range(self.attribute.bin_count)):
                return "the single whole number of the bin"
            return "the midpoint of the bin" + (
                ", rounded down to a whole number" if self.published_type == "integer" else ""
            )
        if self.published_type == "integer":
            return "a whole number drawn uniformly from the bin by the public stream"
        return (
            f"a number with {self.decimals} decimals drawn uniformly from the bin by the public "
            "stream"
        )


def published_columns(universe: Universe, bins: Bins) -> tuple[Column, ...]:
    """The published form of every attribute, in the order of the universe."""
    return tuple(_column(attribute, bins) for attribute in universe.attributes)


def _column(attribute: Attribute, bins: Bins) -> Column:
    codes = range(attribute.bin_count)
    if attribute.kind == "boolean":
        return Column(attribute, "boolean", texts=attribute.levels)
    if not attribute.is_ordered:
        return Column(attribute, "text", texts=attribute.levels)
    if attribute.calendar is not None:
        kind = PUBLISHED_PERIODS[attribute.calendar.resolution]
        if kind == "integer":
            years = tuple(int(edge) for edge in attribute.edges[: attribute.bin_count])
            return Column(attribute, kind, first=years, last=years)
        return Column(attribute, kind, texts=attribute.labels[: attribute.bin_count])
    if attribute.kind == "integer":
        bounds = [attribute.integer_bounds(code) for code in codes]
        if all(low == high for low, high in bounds) or bins == "uniform":
            first, last = [low for low, _ in bounds], [high for _, high in bounds]
        elif bins == "midpoint":
            first = last = [(low + high) // 2 for low, high in bounds]
        else:
            return Column(attribute, "text", texts=attribute.labels[: attribute.bin_count])
        return Column(attribute, "integer", first=tuple(first), last=tuple(last))
    if bins == "interval":
        return Column(attribute, "text", texts=attribute.labels[: attribute.bin_count])
    if bins == "midpoint":
        middles = [(attribute.edges[c] + attribute.edges[c + 1]) / 2 for c in codes]
        decimals = max(map(_decimals, middles))
        grid = tuple(math.floor(middle * 10**decimals) for middle in middles)
        return Column(attribute, "number", first=grid, last=grid, decimals=decimals)
    return _uniform_number(attribute)


def _decimals(value: Fraction) -> int:
    """The number of decimals of an exact decimal fraction (at most 15 for any other)."""
    for digits in range(SIGNIFICANT_DIGITS):
        if (value * 10**digits).denominator == 1:
            return digits
    return SIGNIFICANT_DIGITS


def _uniform_number(attribute: Attribute) -> Column:
    """The grid of a `number`: fine enough for its edges and its narrowest bin.

    The decimals are the smallest number at which every edge lies on the grid and every bin
    holds `POINTS_PER_BIN` points, but no more than keep `SIGNIFICANT_DIGITS` digits in all
    (and always enough for one point in every bin).
    """
    edges = attribute.edges
    narrowest = min(high - low for low, high in pairwise(edges))
    decimals = max(map(_decimals, edges))
    while narrowest * 10**decimals < POINTS_PER_BIN:
        decimals += 1
    largest = max(abs(edges[0]), abs(edges[-1]))
    while decimals and largest * 10**decimals >= 10**SIGNIFICANT_DIGITS:
        decimals -= 1
    while True:
        scaled = [edge * 10**decimals for edge in edges]
        first = [math.ceil(low) for low in scaled[:-1]]
        last = [math.ceil(high) - 1 for high in scaled[1:]]
        last[-1] = math.floor(scaled[-1])  # the last bin also holds its upper edge
        if all(low <= high for low, high in zip(first, last, strict=True)):
            return Column(
                attribute, "number", first=tuple(first), last=tuple(last), decimals=decimals
            )
        decimals += 1
