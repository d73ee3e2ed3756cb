"""The rules of `ledger.disjoint_part`: what may be counted in parallel, and what may not."""

from __future__ import annotations

import posixpath
from typing import Any

from synth.config.checks import value_at
from synth.config.problems import Report, quoted
from synth.config.rules import PERIOD, as_read
from synth.config.scalars import Invalid
from synth.config.source_kind import PARQUET_FILES

_PLACE = ("ledger", "disjoint_part")
WILDCARDS = "*?[{\\"
"""What patterns of files and of Spark leave open."""


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


def check_part_of_a_period(values: dict[str, Any], report: Report) -> None:
    """Where the period names the part, it must select the records, too.

    Requires: {period} was not filled in yet.
    """
    name, source = value_at(values, *_PLACE), values["source"]
    name = name["name"] if isinstance(name, dict) else None
    if not isinstance(name, str) or PERIOD not in name or isinstance(source, Invalid):
        return
    key, place, is_address = _place_of_records(source)
    if not isinstance(place, str):
        return
    place = posixpath.normpath(place) if is_address else place
    if PERIOD not in place:
        report.add(
            (*_PLACE, "name"),
            expected=f"a fixed part, or {{period}} in source.{key} as well",
            why="else every period measures the same records, and only one of them is charged",
            fix="leave `disjoint_part` out, unless each period has records of its own: then write "
            f"{{period}} where source.{key} names them",
        )
    elif is_address and _may_overlap(place):
        report.add(
            (*_PLACE, "name"),
            expected="periods whose files cannot overlap",
            why="with * ? [ beside {period}, or with **, the files of one period can be among "
            "those of another",
            fix="give each period a folder of its own, as in {period}/*.csv",
        )


def _place_of_records(source: dict[str, Any]) -> tuple[str, Any, bool]:
    """The key that says which records are measured, its value, and whether that names files."""
    if source["url"] is not None:
        return "table", source["table"], False
    if source["spark"] is None:
        return "path", source["path"], True
    table = source["spark"]["table"] if isinstance(source["spark"], dict) else None
    files = PARQUET_FILES.fullmatch(table) if isinstance(table, str) else None
    return ("spark.table", table, False) if files is None else ("spark.table", files[1], True)


def _may_overlap(place: str) -> bool:
    """Whether a pattern may name a file for two periods, judged on the safe side."""
    steps = place.split("/")
    beside = "".join(step.replace(PERIOD, "") for step in steps if PERIOD in step)
    return "**" in steps or any(mark in beside for mark in WILDCARDS)


def _check_parts(part: dict[str, Any], report: Report) -> None:
    parts = part["parts"]
    if any(isinstance(name, Invalid) for name in parts):
        return
    first: dict[str, str] = {}
    for number, name in enumerate(parts):
        same = first.setdefault(as_read(name), name)
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
