"""How far the published counts are from the noisy tables; nothing of it needs the raw data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth.config.types import Config
from synth.domain import Margin, Universe
from synth.domain.sparse_counts import SparseCounts, margin_sums
from synth.measurements import MeasuredTable, Measurements
from synth.release.manifest.large_residuals import (
    large_marginal_residuals,
    large_root_mean_square,
)
from synth.release.manifest.residuals import marginal_residuals, root_mean_square
from synth.release.manifest.schema_terms import basis, listing, real, record, text, whole
from synth.release.rows import RowCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIT = record(
    "How far the published counts are from the noisy measurements.",
    tables=listing(
        "One entry for every noisy table, in the order of the events; of a table with a threshold "
        "only the listed cells count.",
        record(
            "One noisy table.",
            attributes=listing("The table's attributes.", text("An attribute's name.")),
            noisy_total=whole("The sum of the noisy table, in records.", minimum=None),
            rms_residual_records=real(
                "Root mean square of published count minus noisy count, in records."
            ),
            rms_residual_in_sd=real("The same, divided by the noise's standard deviation."),
            basis=basis("post-processing"),
        ),
    ),
    queries=listing(
        "One entry for every table of the workload that is a sum over one noisy table, in the "
        "order of the prediction.",
        record(
            "One table of the workload.",
            attributes=listing("The table's attributes.", text("An attribute's name.")),
            event=whole(
                "The noisy table that it was compared with, as a place in `accounting.events`: "
                "the one whose sums have the least noise."
            ),
            rms_residual_records=real(
                "Root mean square, over the table's cells, of published minus noisy sum."
            ),
        ),
    ),
    basis=basis("post-processing"),
)


def build_fit(config: Config, measurements: Measurements, counts: RowCounts) -> dict[str, Any]:
    """The part `fit` of the section `quality`."""
    universe, tables = config.universe, measurements.tables
    margins = [Margin(table.event.table, table.event.coarsening) for table in tables]
    residuals = [
        _residuals(table, margin, counts, universe)
        for margin, table in zip(margins, tables, strict=True)
    ]
    return {
        "tables": [
            _table_fit(table, residual.root_mean_square())
            for table, residual in zip(tables, residuals, strict=True)
        ],
        "queries": _query_fits(config, tables, margins, residuals),
        "basis": "post-processing",
    }


@dataclass(frozen=True, eq=False)
class _Held:
    """Published less noisy counts of one table."""

    residuals: NDArray[np.int64]
    shape: tuple[int, ...]

    def root_mean_square(self) -> float:
        return root_mean_square(self.residuals)

    def of_marginals(self, marginals: Sequence[tuple[int, ...]]) -> list[float]:
        return marginal_residuals(self.residuals, self.shape, marginals)


@dataclass(frozen=True, eq=False)
class _Large:
    """The same for all cells of a universe too large to subtract."""

    counts: SparseCounts
    noisy_counts: NDArray[Any]
    shape: tuple[int, ...]

    def root_mean_square(self) -> float:
        return large_root_mean_square(self.counts, self.noisy_counts, self.shape)

    def of_marginals(self, marginals: Sequence[tuple[int, ...]]) -> list[float]:
        return large_marginal_residuals(self.counts, self.noisy_counts, self.shape, marginals)


def _residuals(
    table: MeasuredTable, margin: Margin, counts: RowCounts, universe: Universe
) -> _Held | _Large:
    shape = margin.shape(universe)
    finest = margin.names == universe.names and not any(margin.coarsening)
    if isinstance(counts, SparseCounts) and table.codes is None and finest:
        return _Large(counts, table.noisy_counts, shape)
    return _Held(_published(table, margin, counts, universe) - table.noisy_counts, shape)


def _published(
    table: MeasuredTable, margin: Margin, counts: RowCounts, universe: Universe
) -> NDArray[np.int64]:
    """The published counts of the cells for which the table has a noisy one."""
    import numpy as np

    if not isinstance(counts, SparseCounts):
        return margin.sums(universe, counts)
    if table.codes is not None:
        return counts.at(tuple(table.codes.T), universe.shape)
    return margin_sums(counts.columns, counts.values, universe, margin).astype(np.int64)


def _table_fit(table: MeasuredTable, rms: float) -> dict[str, Any]:
    return {
        "attributes": list(table.event.table),
        "noisy_total": int(table.noisy_counts.sum()),
        "rms_residual_records": rms,
        "rms_residual_in_sd": rms / table.variance**0.5,
        "basis": "post-processing",
    }


def _query_fits(
    config: Config,
    tables: tuple[MeasuredTable, ...],
    margins: list[Margin],
    residuals: list[_Held | _Large],
) -> list[dict[str, Any]]:
    universe = config.universe
    queries = [marginal.attributes for marginal in config.workload.marginals]
    references = [_reference(query, universe, tables, margins) for query in queries]
    found: dict[tuple[str, ...], float] = {}
    for number in {number for number in references if number is not None}:
        margin = margins[number]
        asked = [query for query, its in zip(queries, references, strict=True) if its == number]
        axes = [tuple(margin.names.index(name) for name in query) for query in asked]
        values = residuals[number].of_marginals(axes)
        found.update(zip(asked, values, strict=True))
    return [
        {"attributes": list(query), "event": number, "rms_residual_records": found[query]}
        for query, number in zip(queries, references, strict=True)
        if number is not None
    ]


def _reference(
    query: tuple[str, ...],
    universe: Universe,
    tables: tuple[MeasuredTable, ...],
    margins: list[Margin],
) -> int | None:
    """The number of the noisy table whose sums give the query with the least noise, if any does.

    Of equal ones the first. The attributes of the query must be there at their codes.
    """
    best: tuple[float, int] | None = None
    cells = math.prod(universe.attribute(name).size for name in query)
    for number, (table, margin) in enumerate(zip(tables, margins, strict=True)):
        steps = dict(zip(margin.names, margin.coarsening, strict=True))
        if table.event.threshold is not None or any(steps.get(name) != 0 for name in query):
            continue
        variance = table.variance * (table.event.cells // cells)
        if best is None or variance < best[0]:
            best = variance, number
    return None if best is None else best[1]
