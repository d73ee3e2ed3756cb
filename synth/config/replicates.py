"""Replicates of the counts: the columns that hold them, and whether a release can have so many."""

from __future__ import annotations

import re

from synth.config.schema.problems import Report, quoted
from synth.config.strategy import Strategy, cells_in_words
from synth.domain import DENSE_LIMIT_CELLS, Universe

COUNT = "release_count"
"""The column with the published number of rows of a cell: in `replicates.parquet`, and of the
release before in `previous.parquet`."""
REPLICATE = "release_replicate_"
"""How the columns of the replicates begin; from 1 on."""

_TAKEN = re.compile(rf"{COUNT}|{REPLICATE}[0-9]+")

MOST_COUNTS = 1 << 31
"""Of the release and all replicates together, in every cell of a universe that is passed over.
Where rows are drawn, replicates have no more cells than the release has rows."""


def count_columns(replicates: int) -> list[str]:
    """The columns beside those of the table: the published count and that of every replicate."""
    return [COUNT, *(f"{REPLICATE}{number}" for number in range(1, replicates + 1))]


def check_count_column(universe: Universe, report: Report) -> None:
    """Refuse a column of the name that the counts of the release before have in their file."""
    for position, name in enumerate(universe.names):
        if name == COUNT:
            report.add(
                ("domain", position, "name"),
                found=quoted(name),
                expected=f"another name than {COUNT}",
                why="previous.parquet holds the counts of the release before in a column of it",
                fix="rename the column in the source",
            )


def check_replicates(
    universe: Universe, strategy: Strategy, replicates: int, report: Report
) -> None:
    """Refuse columns whose names the file of replicates needs, and more replicates than it holds.

    How many cells have rows is not known before the raw data are counted; that no more than all
    have is.
    """
    if not replicates:
        return
    for position, name in enumerate(universe.names):
        if _TAKEN.fullmatch(name):
            report.add(
                ("domain", position, "name"),
                found=quoted(name),
                expected=f"another name than {COUNT} and {REPLICATE}1, {REPLICATE}2, ...",
                why="replicates.parquet holds the counts of the release in columns of these names",
                fix="rename the column in the source, or leave output.replicates out",
            )
    most = MOST_COUNTS // universe.size - 1
    is_drawn = universe.size > DENSE_LIMIT_CELLS or strategy == "sparse"
    if replicates > most and not is_drawn:
        some = f"replicates: {most}, or " if most > 0 else ""
        report.add(
            ("output", "replicates"),
            found=f"{replicates} for {cells_in_words(universe)}",
            expected=f"{f'at most {most}' if most > 0 else 'none'} for so many cells",
            why=f"every replicate may fill every cell: with the release that is more than "
            f"{MOST_COUNTS:,} counts",
            fix=f"write {some}leave the key out; or merge levels and bins",
        )
