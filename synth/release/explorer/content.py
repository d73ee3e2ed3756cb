"""What the page that answers queries holds: the domain, noisy tables and published counts.

Columns, codes and groups are given by their numbers, so that labels are words to show and nothing
else. Lists of numbers are bounded; what does not fit is left out, and the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Attribute, Conjunction, Margin, Universe
from synth.domain.counts import Counts
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import MOST_CONDITIONS
from synth.measurements.measured_counts import LARGEST_MASK_CELLS, MeasuredCounts
from synth.planning.noise_sums import laplace_rate
from synth.privacy.accounting import GAUSSIAN
from synth.release.rows.columns import Column, published_columns

MOST_TABLE_BYTES = 3_500_000
"""Of the noisy counts of all tables together, as they are written."""

MOST_ROWS_BYTES = 1_000_000
"""Of the published counts, cell by cell."""


def explorer_content(config: Config, measurements: Measurements, counts: Counts) -> dict[str, Any]:
    """All that the page computes with, in JSON values.

    Privacy: a function of the configuration, the noisy tables and the published counts.
    Ensures: tables with the fewest columns come in first; the others are counted in `left_out`.
    """
    universe = config.universe
    columns = published_columns(universe, config.output.bins)
    answering = [
        number for number, table in enumerate(measurements.tables) if table.event.threshold is None
    ]
    return {
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
        "cells": _cells(counts),
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
        "variance": table.variance,
        **noise,
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


def _cells(counts: Counts) -> dict[str, Any] | None:
    """The published cells: for each its code in every column, and its rows; None if too many."""
    cells = {
        "codes": [column.tolist() for column in counts.columns],
        "counts": counts.values.tolist(),
    }
    size = sum(map(_written_bytes, (*cells["codes"], cells["counts"])))
    return cells if size <= MOST_ROWS_BYTES else None


def _written_bytes(numbers: list[Any]) -> int:
    return sum(len(str(number)) + 1 for number in numbers)
