"""Sets of cells: those that cannot occur, known totals, and the universe that they leave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from synth.config.columns import Declared
from synth.config.edges import MAX_LEVELS
from synth.config.guarantee import PrivacyConfig
from synth.config.labels import refuse_column, refuse_label
from synth.config.release import OutputConfig
from synth.config.schema.problems import Place, Report
from synth.config.schema.scalars import Whole, label, prose
from synth.config.schema.shapes import ListOf, MapOf, OneOrList, record
from synth.domain import DENSE_LIMIT_CELLS, Attribute, Conjunction, PublicTotal, Universe
from synth.domain.totals import check_public_totals, coarsen

MAX_RULES = 1_000
MOST_AXES = 64
"""Those of an array of numpy; of so many columns with two levels no universe is held."""

LARGEST_UNIVERSE = 10**300
"""Beyond it the number of cells is no floating-point number."""

MOST_TOTAL_CELLS = 10**7
"""Public totals are checked and kept on a universe with no more cells, after merging alike ones."""

Labels = Mapping[str, Sequence[str]]
"""Column to levels, all of which hold together."""

LEVELS = OneOrList(
    "A level, or a list of levels",
    label('A level, a whole number, a bin such as "[20, 25)", or missing'),
    maximum=MAX_LEVELS,
)

IMPOSSIBLE = ListOf(
    "Combinations of levels that cannot occur, by public logic",
    MapOf("Column to level or levels; all must hold together", LEVELS, minimum=1),
    maximum=MAX_RULES,
    noun="combinations",
)


@dataclass(frozen=True)
class KnownTotal:
    """One known total."""

    where: Annotated[Labels, MapOf("Column to level or levels; {} is all records", LEVELS)]
    total: Annotated[int, Whole("The number of records", 0, 10**12)]
    source: Annotated[str, prose("Where the number is published")]


PUBLIC_TOTALS = ListOf(
    "Numbers of records known from elsewhere, never computed from the data; held exactly",
    record(KnownTotal),
    maximum=MAX_RULES,
    noun="totals",
)


def _conjunction(
    levels: Labels, attributes: Mapping[str, Attribute], path: Place, report: Report
) -> Conjunction:
    """The cells that a map from column to levels describes, in the order of the domain."""
    codes: dict[str, tuple[int, ...]] = {}
    for name, labels in levels.items():
        here = (*path, name)
        attribute = attributes.get(name)
        if attribute is None:
            refuse_column(name, list(attributes), here, report)
            continue
        found = {text: attribute.code_of(text) for text in labels}
        for text in labels:
            if found[text] is None:
                refuse_label(text, attribute, here, report)
        codes[name] = tuple(sorted({code for code in found.values() if code is not None}))
    return Conjunction({name: codes[name] for name in attributes if name in codes})


def plain_conjunction(
    conjunction: Conjunction, attributes: Mapping[str, Attribute]
) -> dict[str, list[str]]:
    """The conjunction as a map from column to labels, in its normal form."""
    return {
        name: [attributes[name].label(code) for code in codes]
        for name, codes in conjunction.codes.items()
    }


def build_universe(
    declared: tuple[Declared, ...],
    impossible: tuple[Labels, ...] | None,
    totals: tuple[KnownTotal, ...] | None,
    output: OutputConfig | None,
    report: Report,
) -> tuple[Universe, tuple[PublicTotal, ...]]:
    """The universe and its known totals; a section that has a problem is None."""
    attributes = {column.attribute.name: column.attribute for column in declared}
    before = report.count
    rules = tuple(
        _conjunction(levels, attributes, ("impossible", index), report)
        for index, levels in enumerate(impossible or ())
    )
    known = tuple(
        PublicTotal(
            _conjunction(each.where, attributes, ("public_totals", index, "where"), report),
            each.total,
            each.source,
        )
        for index, each in enumerate(totals or ())
    )
    universe = Universe(tuple(attributes.values()), rules)
    if len(attributes) > MOST_AXES and universe.size <= DENSE_LIMIT_CELLS:
        report.add(
            ("domain",),
            found=f"{len(attributes)} columns with {universe.size:,} combinations of values",
            expected=f"at most {MOST_AXES} columns where every combination is counted",
            why="an array has no more axes, and a run would stop after the budget is charged",
            fix="leave out columns of one level: they say nothing",
        )
    if universe.size > LARGEST_UNIVERSE:
        report.add(
            ("domain",),
            found=f"about 10^{int(math.log10(universe.size))} combinations of values",
            expected=f"at most 10^{int(math.log10(LARGEST_UNIVERSE))}",
            why="of more no error can be forecast, so no tables can be planned",
            fix="publish fewer columns together, or columns of fewer levels",
        )
    if report.count == before:
        _check_cells(universe, known, None if output is None else output.rows, report)
    return universe, known


def check_rows(
    totals: tuple[PublicTotal, ...],
    privacy: PrivacyConfig | None,
    output: OutputConfig | None,
    report: Report,
) -> None:
    """What is declared about the number of records fits together."""
    everything = [total for total in totals if not total.where.codes]
    if privacy is not None and privacy.neighbours == "replace-one" and not everything:
        report.add(
            ("privacy", "neighbours"),
            expected="add-remove, or an entry of public_totals with where: {}",
            why="replace-one does not protect the number of records, so it must be public already",
            fix="declare it: {where: {}, total: ..., source: ...}",
        )
    for total in everything:
        if output is not None and output.rows not in (None, total.total):
            report.add(
                ("output", "rows"),
                expected=f"{total.total}, the public total of all records, or estimated",
                why="public totals hold exactly in what is published",
            )


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
    small, wheres = coarsen(universe, [total.where for total in totals])
    if universe.size > DENSE_LIMIT_CELLS and small.size > MOST_TOTAL_CELLS:
        return "they and the impossible rules tell too many cells of a large universe apart"
    moved = [
        PublicTotal(where, total.total, total.source)
        for where, total in zip(wheres, totals, strict=True)
    ]
    return check_public_totals(small, moved)
