"""What the page that answers queries holds: the domain, noisy tables and published counts.

Columns, codes and groups are given by their numbers, so that labels are words to show and nothing
else. Lists of numbers are bounded; what does not fit is left out, and the page says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from synth.config import Config
from synth.domain import Attribute, Conjunction, Margin, Universe
from synth.domain.counts import Counts
from synth.estimate import Replicates
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import MOST_CONDITIONS
from synth.measurements.measured_counts import LARGEST_MASK_CELLS, MeasuredCounts
from synth.planning.noise_sums import laplace_rate
from synth.privacy.accounting import GAUSSIAN
from synth.release.rows.columns import Column, published_columns

MOST_TABLE_BYTES = 2_500_000
"""Of the noisy counts of all tables together, as they are written."""

MOST_ROWS_BYTES = 800_000
"""Of the published counts, cell by cell."""

MOST_REPLICATES_BYTES = 1_700_000
"""Of the counts of all replicates."""

LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)
"""Levels of intervals that a reader can choose."""

REACH_DIGITS = 12


def explorer_content(
    config: Config,
    measurements: Measurements,
    counts: Counts,
    replicates: Replicates | None = None,
) -> dict[str, Any]:
    """All that the page computes with, in JSON values.

    Privacy: a function of the configuration, the noisy tables, and published counts and replicates.
    Ensures: tables with the fewest columns come in first.
    """
    universe = config.universe
    columns = published_columns(universe, config.output.bins)
    answering = [
        number for number, table in enumerate(measurements.tables) if table.event.threshold is None
    ]
    return {
        "levels": LEVELS,
        "columns": [_column(column) for column in columns],
        "impossible": [_where(rule, universe) for rule in universe.impossible],
        "totals": [
            {"where": _where(total.where, universe), "total": total.total, "source": total.source}
            for total in config.public_totals
        ],
        "tables": _fitting(answering, measurements.tables, universe),
        "measured": len(measurements.tables),
        "answering": len(answering),
        "conditions": min(MOST_CONDITIONS, MeasuredCounts(measurements, universe).most_columns),
        "rows": counts.total,
        **_cells(counts, replicates),
    }


def _column(column: Column) -> dict[str, Any]:
    attribute = column.attribute
    levels = [
        {"name": level.name, "labels": level.labels, "group_of": level.group_of}
        for level in attribute.hierarchy
    ]
    return {
        "name": attribute.name,
        "title": attribute.title,
        "labels": attribute.labels,
        "meanings": [attribute.value_label(code) for code in range(attribute.size)],
        "ordered": attribute.is_ordered,
        "missing": attribute.missing_code,
        "levels": levels,
        "published": _published(column, attribute),
    }


def _published(column: Column, attribute: Attribute) -> dict[str, Any]:
    """How the data files write a code: one of some texts, or a number between two."""
    if not column.is_numeric:
        return {"texts": column.texts}
    scale = 10**column.decimals
    bounds = zip(column.first, column.last, strict=True)
    return {
        "decimals": column.decimals,
        "bounds": [[low / scale, high / scale] for low, high in bounds],
        "whole": attribute.is_whole,
    }


def _where(conjunction: Conjunction, universe: Universe) -> list[list[Any]]:
    """Pairs of a column and its codes."""
    return [
        [universe.names.index(name), sorted(codes)] for name, codes in conjunction.codes.items()
    ]


def _fitting(
    answering: Sequence[int], tables: Sequence[MeasuredTable], universe: Universe
) -> list[dict[str, Any]]:
    """The tables that there is room for, in their order; those of few columns come first."""
    looked_at = bool(universe.impossible) and universe.size <= LARGEST_MASK_CELLS
    possible = universe.possible().astype(np.int64) if looked_at else None
    room, found = MOST_TABLE_BYTES, {}
    for number in sorted(answering, key=lambda number: (len(tables[number].event.table), number)):
        table = tables[number]
        if room < 2 * table.event.cells:  # a digit and a comma at least
            continue
        counts = _noisy_counts(table, universe, possible)
        room -= _written_bytes(counts)
        if room < 0:
            break
        found[number] = _described(number, table, universe) | {"counts": counts}
    return [found[number] for number in sorted(found)]


def _described(number: int, table: MeasuredTable, universe: Universe) -> dict[str, Any]:
    event = table.event
    gaussian = event.mechanism == GAUSSIAN
    noise = (
        {"sigma_squared": float(event.sigma_squared)} if gaussian else {"rate": laplace_rate(event)}
    )
    return {
        "number": number,
        "columns": [universe.names.index(name) for name in event.table],
        "coarsening": event.coarsening,
        **noise,
        **({} if event.summed == 1 else {"summed": event.summed}),
    }


def _noisy_counts(
    table: MeasuredTable, universe: Universe, possible: NDArray[np.int64] | None
) -> list[int | None]:
    """In cell order; None for a cell that cannot occur, whose count says nothing."""
    noisy: list[int | None] = table.noisy_counts.tolist()
    if possible is None:
        return noisy
    margin = Margin(table.event.table, table.event.coarsening)
    sums = margin.sums(universe, possible).tolist()
    return [count if cells else None for count, cells in zip(noisy, sums, strict=True)]


def _cells(counts: Counts, replicates: Replicates | None) -> dict[str, Any]:
    """The published cells (for each its code in every column, and its rows), and replicates.

    None in place of either for which there is no room.
    """
    if replicates is not None:
        sums = [each.tolist() for each in replicates.counts]
        if sum(map(_written_bytes, sums)) <= MOST_REPLICATES_BYTES:
            cells = _listed(replicates.columns, replicates.published)
            if cells is not None:
                reach = {level: _reach(level, len(sums)) for level in LEVELS}
                known = {"factor": replicates.factor, "reach": reach, "counts": sums}
                return {"cells": cells, "replicates": known}
    return {"cells": _listed(counts.columns, counts.values), "replicates": None}


def _listed(columns: Sequence[NDArray[Any]], counts: NDArray[np.int64]) -> dict[str, Any] | None:
    if 2 * counts.size * (len(columns) + 1) > MOST_ROWS_BYTES:  # a digit and a comma at least
        return None
    cells = {"codes": [column.tolist() for column in columns], "counts": counts.tolist()}
    size = sum(map(_written_bytes, (*cells["codes"], cells["counts"])))
    return cells if size <= MOST_ROWS_BYTES else None


def _reach(level: float, replicates: int) -> float:
    """Student's quantile, to digits that are the same on every processor."""
    return round(float(stdtrit(replicates, (1 + level) / 2)), REACH_DIGITS)


def _written_bytes(numbers: list[Any]) -> int:
    return len(json.dumps(numbers, separators=(",", ":")))
