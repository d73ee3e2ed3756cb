"""Shapes of text that several keys share."""

from __future__ import annotations

from synth.config.rules import NO_BLANK_ENDS, NO_CONTROLS, NO_FORMULA, NOT_EMPTY, ONE_LINE
from synth.config.scalars import Text


def line(description: str) -> Text:
    """One line of text."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE))


def people(description: str) -> Text:
    """A name of people whose budget is kept: one line that is spelled in one way."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE, NO_BLANK_ENDS))


def prose(description: str) -> Text:
    """Text that may have several lines."""
    return Text(description, rules=(NOT_EMPTY, NO_CONTROLS), max_length=10_000, lines=True)


def name(description: str) -> Text:
    """A column or level: published, so no formula."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE, NO_FORMULA))


def label(description: str) -> Text:
    """A reference to a level."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE))
