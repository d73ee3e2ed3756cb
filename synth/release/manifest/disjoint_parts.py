"""The part of a population that a release is about, where nobody belongs to two parts."""

from __future__ import annotations

from typing import Any

from synth.release.manifest.schema_terms import listing, record, text

PARALLEL = (
    "parallel: releases about different parts count once, at the loss of the part on which most "
    "was spent, because nobody belongs to two parts; that nobody does is stated by the curator and "
    "cannot be checked from what is published"
)

DISJOINT_PART = record(
    "The part of the population that the release is about; left out if it may be about everybody.",
    composition=text("How releases about different parts add up."),
    source=text("Why nobody belongs to two parts, and who says so."),
    name=text("The part."),
    parts=listing("All parts of the population.", text("A part.")),
)


def build_disjoint_part(declared: dict[str, Any]) -> dict[str, Any]:
    """The section `accounting.ledger.disjoint_part`, as the configuration declares it."""
    return {
        "composition": PARALLEL,
        "source": declared["source"],
        "name": declared["name"],
        "parts": declared["parts"],
    }
