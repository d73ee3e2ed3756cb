"""The rules of `ledger.disjoint_part`: what may be counted in parallel, and what may not."""

from __future__ import annotations

from typing import Any

from synth.config.checks import value_at
from synth.config.problems import Report, quoted
from synth.config.rules import PERIOD
from synth.config.scalars import Invalid

_PLACE = ("ledger", "disjoint_part")


def check_disjoint_part(values: dict[str, Any], report: Report) -> None:
    """Report what speaks against a part of its own, and put the parts into their normal order.

    Requires: {period} was filled in.
    """
    population = value_at(values, "ledger", "population")
    if isinstance(population, str) and PERIOD in population:
        report.add(
            ("ledger", "population"),
            expected="a name without {period}",
            why="what is published of the same people in several periods adds up in one account",
            fix="name the people; if nobody is in two periods, declare `disjoint_part`",
        )
    part = value_at(values, *_PLACE)
    if part is None or isinstance(part, Invalid):
        return
    if value_at(values, "privacy", "neighbours") == "replace-one":
        report.add(
            _PLACE,
            expected="no part, or privacy.neighbours: add-remove",
            why="somebody who is replaced by one of another part changes what two parts release",
            fix="leave `disjoint_part` out: then the release is charged to everybody",
        )
    if not isinstance(part["parts"], Invalid):
        _check_parts(part, report)


def _check_parts(part: dict[str, Any], report: Report) -> None:
    parts = part["parts"]
    if any(isinstance(name, Invalid) for name in parts):
        return
    first: dict[str, str] = {}
    for number, name in enumerate(parts):
        same = first.setdefault("".join(name.split()).casefold(), name)
        if same is not name:
            report.add(
                (*_PLACE, "parts", number),
                found=quoted(name),
                expected="parts that differ in more than blanks and capital letters",
                why=f"the same people could be charged as {quoted(same)} and as this part",
            )
    name = part["name"]
    if not isinstance(name, Invalid) and name not in parts and PERIOD not in name:
        report.add(
            (*_PLACE, "name"),
            found=quoted(name),
            expected="one of: " + ", ".join(map(str, parts)),
            fix=report.suggest(name, parts),
        )
    part["parts"] = sorted(parts)
