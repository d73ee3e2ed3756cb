"""The rules that relate values of several sections, and the universe that they describe."""

from __future__ import annotations

import re
from typing import Any

from synth.config.attributes import Declared
from synth.config.limits import epsilon_problem
from synth.config.problems import Report, quoted
from synth.config.relations import build_impossible, build_totals
from synth.config.rules import PERIOD, PERIOD_PATTERN
from synth.config.scalars import INVALID, Invalid
from synth.config.size_checks import MOST_TOTAL_CELLS
from synth.domain import DENSE_LIMIT_CELLS, Conjunction, PublicTotal, Universe
from synth.domain.coarse import coarsen


def value_at(values: dict[str, Any], section: str, key: str) -> Any:
    """The value of a key of a section; INVALID if either has a problem, None if it is absent."""
    inside = values[section]
    return INVALID if isinstance(inside, Invalid) else inside.get(key)


def check_period(values: dict[str, Any], report: Report, period: str | None) -> None:
    """Fill in {period}, or report where it is missing or too much."""
    if period is not None and not re.fullmatch(PERIOD_PATTERN[1:-1], period):
        report.add(
            ("--period",),
            found=quoted(period),
            expected="small letters a-z, digits and hyphens, at most 40",
        )
        return
    release_id = value_at(values, "release", "id")
    source = values["source"] if isinstance(values["source"], dict) else {}
    spark = source.get("spark")
    places: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (source, ("source", key)) for key in ("path", "table")
    ]
    places += [(spark, ("source", "spark", "table"))] if isinstance(spark, dict) else []
    part = value_at(values, "ledger", "disjoint_part")
    places += [(part, ("ledger", "disjoint_part", "name"))] if isinstance(part, dict) else []
    held = {
        path: isinstance(text, str) and PERIOD in text
        for path, text in (
            (("release", "id"), release_id),
            *((path, inside.get(path[-1])) for inside, path in places),
        )
    }
    if period is None:
        for path, is_there in held.items():
            if is_there:
                report.add(path, expected="a period for {period}", fix="give one with --period")
        return
    if isinstance(release_id, str):
        if not held["release", "id"]:
            report.add(
                ("release", "id"),
                expected="{period} in the release id, because --period was given",
                why="every period is a release of its own, with a name of its own",
                fix=f"write id: {release_id}-{{period}}, or leave --period out",
            )
        values["release"]["id"] = release_id.replace(PERIOD, period)
    for inside, path in places:
        if held[path]:
            inside[path[-1]] = inside[path[-1]].replace(PERIOD, period)


def check_epsilon(values: dict[str, Any], report: Report) -> None:
    """The budget suits the unit and the neighbours."""
    epsilon, neighbours, unit = (
        value_at(values, "privacy", k) for k in ("epsilon", "neighbours", "unit")
    )
    max_records = unit["max_records"] if isinstance(unit, dict) else 1
    if any(isinstance(part, Invalid) for part in (epsilon, neighbours, unit, max_records)):
        return
    problem = epsilon_problem(epsilon, neighbours=neighbours, max_records=max_records)
    if problem is not None:
        report.add(
            ("privacy", "epsilon"), expected=problem.expected, why=problem.why, fix=problem.fix
        )


def check_formats(values: dict[str, Any], report: Report) -> None:
    """Each data file once."""
    formats = value_at(values, "output", "formats")
    if not isinstance(formats, Invalid) and len(formats) == 2 and formats[0] == formats[1]:
        report.add(("output", "formats"), expected="every format once")


def check_rows(values: dict[str, Any], totals: tuple[PublicTotal, ...], report: Report) -> None:
    """What is declared about the number of records fits together."""
    everything = [total for total in totals if not total.where.codes]
    if value_at(values, "privacy", "neighbours") == "replace-one" and not everything:
        report.add(
            ("privacy", "neighbours"),
            expected="add-remove, or an entry of public_totals with where: {}",
            why="replace-one does not protect the number of records, so it must be public already",
            fix="declare it: {where: {}, total: ..., source: ...}",
        )
    rows = value_at(values, "output", "rows")
    for total in everything:
        if isinstance(rows, int) and rows != total.total:
            report.add(
                ("output", "rows"),
                expected=f"{total.total}, the public total of all records, or estimated",
                why="public totals hold exactly in what is published",
            )


def build_universe(
    values: dict[str, Any], declared: Declared, report: Report
) -> tuple[Universe | None, tuple[PublicTotal, ...]]:
    """The universe and its known totals; None if the domain has a problem."""
    rules: tuple[Conjunction, ...] = ()
    totals: tuple[PublicTotal, ...] = ()
    before = len(report.problems())
    if not isinstance(values["impossible"], Invalid):
        rules = build_impossible(values["impossible"], declared, report)
    if not isinstance(values["public_totals"], Invalid):
        totals = build_totals(values["public_totals"], declared, report)
    attributes = tuple(a for a in declared.values() if a is not None)
    if not attributes or len(attributes) < len(values["domain"]):
        return None, totals
    universe = Universe(attributes, rules)
    if len(report.problems()) == before:
        rows = value_at(values, "output", "rows")
        declared_rows = rows if isinstance(rows, int) else None
        _check_cells(universe, totals, declared_rows, report)
    return universe, totals


def _check_cells(
    universe: Universe, totals: tuple[PublicTotal, ...], rows: int | None, report: Report
) -> None:
    possible = universe.has_possible_cell()
    if possible is not True:
        report.add(
            ("impossible",),
            found="rules that leave no cell" if possible is False else "rules too entangled",
            expected="rules that leave some cell possible",
            why="a record must be able to fall somewhere"
            if possible is False
            else "it could not be shown that a record can fall anywhere",
            fix="remove or narrow a rule",
        )
    elif totals:
        sentence = _conflict(universe, totals)
        if sentence is not None:
            report.add(
                ("public_totals",),
                found=sentence,
                expected="totals that some table of whole counts satisfies",
                why="the published counts hold every known total exactly",
            )
        elif rows is not None and all(total.where.codes for total in totals):
            _check_rows_fit(universe, totals, rows, report)


def _check_rows_fit(
    universe: Universe, totals: tuple[PublicTotal, ...], rows: int, report: Report
) -> None:
    everything = PublicTotal(Conjunction({}), rows, "output.rows")
    sentence = _conflict(universe, (*totals, everything))
    if sentence is not None:
        report.add(
            ("output", "rows"),
            expected="a number of rows that fits the public totals, or estimated",
            why=sentence,
        )


def _conflict(universe: Universe, totals: tuple[PublicTotal, ...]) -> str | None:
    """Why the totals cannot all hold, asked on as few cells as can tell them apart."""
    from synth.domain.totals import check_public_totals

    small, wheres = coarsen(universe, [total.where for total in totals])
    if universe.size > DENSE_LIMIT_CELLS and small.size > MOST_TOTAL_CELLS:
        return "they and the impossible rules tell too many cells of a large universe apart"
    moved = [
        PublicTotal(where, total.total, total.source)
        for where, total in zip(wheres, totals, strict=True)
    ]
    return check_public_totals(small, moved)
