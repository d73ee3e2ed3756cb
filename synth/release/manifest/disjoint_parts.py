"""The account of a population whose parts were declared disjoint, as the manifest shows it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from synth.measurements.divided_account import DividedAccount
from synth.privacy import Budget
from synth.privacy.exact_numbers import exact_budget
from synth.release.manifest.schema_terms import Schema, exact, listing, record, text

PARALLEL = (
    "parallel: spent_before is the sum of the releases about everybody and of those about the part "
    "on which most was spent, epsilon and delta each, because nobody belongs to two parts; that "
    "nobody does is stated by the curator and cannot be checked from what is published"
)


def _budget(description: str) -> Schema:
    return record(
        description,
        epsilon=exact("The parameter epsilon."),
        delta=exact("The parameter delta."),
    )


DISJOINT_PARTS = record(
    "The parts of the population, where releases about one part alone are counted by part.",
    ("part",),
    composition=text("How releases about different parts add up."),
    source=text("Why nobody belongs to two parts, and who says so."),
    part=text("The part that this release is about; left out if it may be about everybody."),
    whole_population=_budget("Spent before by releases that may be about everybody."),
    parts=listing(
        "Every part, in alphabetical order.",
        record(
            "One part.",
            name=text("The part."),
            spent_before=_budget("Spent before by releases about this part."),
        ),
    ),
)


def build_disjoint_parts(account: DividedAccount) -> dict[str, Any]:
    """The section `accounting.ledger.disjoint_parts`."""
    return {
        "composition": PARALLEL,
        "source": account.source,
        **({} if account.part is None else {"part": account.part}),
        "whole_population": exact_budget(account.whole),
        "parts": [
            {"name": name, "spent_before": exact_budget(budget)} for name, budget in account.parts
        ],
    }


def read_disjoint_parts(section: dict[str, Any]) -> DividedAccount:
    """The account that a section states. Raises: ValueError or ZeroDivisionError if malformed."""
    return DividedAccount(
        source=section["source"],
        part=section.get("part"),
        whole=_read(section["whole_population"]),
        parts=tuple((part["name"], _read(part["spent_before"])) for part in section["parts"]),
    )


def _read(plain: dict[str, Any]) -> Budget:
    return Budget(Fraction(plain["epsilon"]["fraction"]), Fraction(plain["delta"]["fraction"]))
