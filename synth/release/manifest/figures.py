"""Published less noisy counts of a measured table, and of its marginals, by whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts, margin_cells
from synth.domain.universe import nested_sums_by_block
from synth.measurements import MeasuredTable, Measurements
from synth.planning import Forecast, QueryForecast

BLOCK_CELLS = 1 << 20
LARGEST = 1 << 20
"""2^20 squares of numbers up to this fit 64 bits."""

MARGINAL = "marginal"
RANGE_KINDS = ("prefix", "range")
UNANSWERED = "unanswered"
NOISY_TABLE = "noisy table"

COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "kind": (
        pa.string(),
        "What the line is about: `marginal`, one table of the workload; `prefix` or `range`, one "
        "set of range queries of it; `unanswered`, one of these that no sum of the noisy tables "
        "answers; `noisy table`, one table of measurements.parquet.",
    ),
    "attributes": (pa.list_(pa.string()), "The attributes of the table or of the ranges."),
    "cells": (pa.int64(), "The number of cells, or of intervals; null for a noisy table."),
    "sd_records": (
        pa.float64(),
        "The predicted standard deviation of the error of one cell, in records (of intervals, "
        "the root of the mean variance over all of them), as the best linear estimate from all "
        "noisy tables; null of a noisy table, and where no sum of them answers.",
    ),
    "half_width_95_records": (
        pa.int64(),
        "Half the width of a 95 % interval for one cell or interval, in records.",
    ),
    "simultaneous_95_records": (
        pa.int64(),
        "The bound that holds for all of them at once with probability 95 %, in records.",
    ),
    "law": (
        pa.string(),
        "Whether the bounds come from the `exact` law of the noise, from the law of the noise in "
        "the best table `scaled` to the variance of all tables together, or from a `normal` law "
        "with the same variance.",
    ),
    "event": (
        pa.int64(),
        "The noisy table as a place in `accounting.events` of the manifest; of a query the one "
        "that it was compared with, whose sums have the least noise.",
    ),
    "noisy_total": (pa.int64(), "The sum of the noisy table, in records."),
    "rms_residual_records": (
        pa.float64(),
        "Root mean square, over the cells, of published count minus noisy count or sum, in "
        "records; of a table with a threshold over the listed cells.",
    ),
    "rms_residual_in_sd": (
        pa.float64(),
        "The same, of a noisy table, divided by the noise's standard deviation.",
    ),
}
"""The columns of the file: type and description."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Published less noisy counts of a table; they are subtracted block by block, and never held.

    Shapes and units: `noisy_counts` is flat in C order over `shape`; or, of a list, one for every
    listed cell. `cells` are the places in it of what is published and not empty, ascending;
    `published` their records.
    """

    noisy_counts: NDArray[Any]
    shape: tuple[int, ...]
    cells: NDArray[np.int64]
    published: NDArray[np.int64]

    @staticmethod
    def of(table: MeasuredTable, margin: Margin, counts: Counts, universe: Universe) -> Residuals:
        """Sum the published counts over the cells of the table."""
        shape = margin.shape(universe)
        if table.codes is None and margin.is_finest(universe):
            cells = margin_cells(counts.columns, universe, margin)
            return Residuals(table.noisy_counts, shape, cells, counts.values)
        if table.codes is None:
            sums = counts.sums(universe, margin)
        else:
            sums = counts.at(tuple(table.codes.T), universe.shape)
        cells = np.flatnonzero(sums)
        return Residuals(table.noisy_counts, shape, cells, sums[cells])

    def part(self, start: int, stop: int) -> NDArray[np.int64]:
        """The residuals of the cells from start to stop."""
        found = -self.noisy_counts[start:stop].astype(np.int64)
        low, high = np.searchsorted(self.cells, (start, stop))
        found[self.cells[low:high] - start] += self.published[low:high]
        return found

    def root_mean_square(self) -> float:
        """Over all cells of the table; the sum of squares is exact."""
        number = len(self.noisy_counts)
        starts = range(0, number, BLOCK_CELLS)
        total = sum(_squares(self.part(start, start + BLOCK_CELLS)) for start in starts)
        return math.sqrt(total / max(1, number))

    def of_marginals(self, marginals: Sequence[tuple[int, ...]]) -> list[float]:
        """The root mean square of the residuals of each marginal (a tuple of axes, ascending)."""
        sums = self.marginal_sums(marginals)
        return [math.sqrt(_squares(sums[m].reshape(-1)) / sums[m].size) for m in marginals]

    def marginal_sums(
        self, marginals: Sequence[tuple[int, ...]]
    ) -> dict[tuple[int, ...], NDArray[np.int64]]:
        """The residuals summed to each marginal (a tuple of axes, ascending), in its shape."""
        return nested_sums_by_block(self.part, self.shape, marginals)


def _squares(values: NDArray[np.int64]) -> int:
    """The exact sum of squares."""
    total = 0
    for start in range(0, len(values), BLOCK_CELLS):
        part = values[start : start + BLOCK_CELLS]
        if int(np.abs(part).max()) <= LARGEST:
            total += int(np.square(part).sum())
        else:
            total += sum(int(value) ** 2 for value in part.tolist())
    return total


@dataclass(frozen=True)
class Figures:
    """One line of the file; None where there is no such figure."""

    kind: str
    attributes: tuple[str, ...]
    cells: int | None = None
    sd_records: float | None = None
    half_width_95_records: int | None = None
    simultaneous_95_records: int | None = None
    law: str | None = None
    event: int | None = None
    noisy_total: int | None = None
    rms_residual_records: float | None = None
    rms_residual_in_sd: float | None = None

    def to_plain(self, *names: str) -> dict[str, Any]:
        """The figures of these names that there are, as JSON values."""
        found = {name: getattr(self, name) for name in names or COLUMNS}
        plain = {name: value for name, value in found.items() if value is not None}
        return plain | ({"attributes": list(self.attributes)} if "attributes" in plain else {})


def build_figures(
    config: Config, forecast: Forecast, measurements: Measurements, counts: Counts
) -> list[Figures]:
    """Every line: the queries of the workload, those without an answer, the noisy tables.

    Privacy: a function of the configuration, the noisy measurements and the published counts.
    """
    universe, tables = config.universe, measurements.tables
    margins = [Margin(table.event.table, table.event.coarsening) for table in tables]
    residuals = [
        Residuals.of(table, margin, counts, universe)
        for margin, table in zip(margins, tables, strict=True)
    ]
    queries = [marginal.attributes for marginal in config.workload.marginals]
    compared = least_noisy_tables(queries, universe, tables, margins)
    fitted: dict[tuple[str, ...], float] = {}
    for number in {number for number in compared.values() if number is not None}:
        names = margins[number].names
        asked = [query for query, its in compared.items() if its == number]
        axes = [tuple(names.index(name) for name in query) for query in asked]
        fitted.update(zip(asked, residuals[number].of_marginals(axes), strict=True))
    return [
        *(
            _predicted(each, compared.get(each.attributes), fitted.get(each.attributes))
            for each in forecast.queries
        ),
        *(_predicted(each) for each in forecast.ranges),
        *(Figures(UNANSWERED, attributes) for attributes in forecast.unanswered),
        *(
            _of_table(number, table, residual.root_mean_square())
            for number, (table, residual) in enumerate(zip(tables, residuals, strict=True))
        ),
    ]


def _predicted(
    query: QueryForecast, event: int | None = None, residual: float | None = None
) -> Figures:
    return Figures(
        query.kind,
        query.attributes,
        query.cells,
        query.sd_records,
        query.half_width_95,
        query.simultaneous_95,
        query.law,
        event,
        rms_residual_records=residual,
    )


def _of_table(number: int, table: MeasuredTable, residual: float) -> Figures:
    return Figures(
        NOISY_TABLE,
        table.event.table,
        event=number,
        noisy_total=int(table.noisy_counts.sum()),
        rms_residual_records=residual,
        rms_residual_in_sd=residual / table.variance**0.5,
    )


def least_noisy_tables(
    queries: Sequence[tuple[str, ...]],
    universe: Universe,
    tables: tuple[MeasuredTable, ...],
    margins: list[Margin],
) -> dict[tuple[str, ...], int | None]:
    """For each query the number of the noisy table whose sums give it with the least noise, if any.

    Of equal ones the first. The attributes of the query must be there at their codes.
    """
    holding: dict[str, set[int]] = {name: set() for name in universe.names}
    for number, (table, margin) in enumerate(zip(tables, margins, strict=True)):
        if table.event.threshold is None:
            for name, steps in zip(margin.names, margin.coarsening, strict=True):
                if not steps:
                    holding[name].add(number)

    def noise(number: int) -> tuple[float, int]:
        return tables[number].variance * tables[number].event.cells, number

    found: dict[tuple[str, ...], int | None] = {}
    for query in queries:
        together = set.intersection(*(holding[name] for name in query))
        found[query] = min(together, key=noise, default=None)
    return found


def write_figures(stream: IO[bytes], figures: Sequence[Figures]) -> None:
    """The bytes of the file: the same for the same figures and version of pyarrow."""
    schema = pa.schema([pa.field(name, kind) for name, (kind, _) in COLUMNS.items()])
    lines = [asdict(each) for each in figures]
    table = pa.Table.from_pylist(lines, schema=schema)
    pq.write_table(table, stream, compression="zstd", store_schema=False)


def read_figures(file: IO[bytes]) -> list[Figures]:
    """The lines of a file; Raises: ValueError or pa.ArrowException if it is none."""
    table = pq.ParquetFile(file).read(use_threads=False)
    if table.column_names != list(COLUMNS):
        raise ValueError("does not have the columns of such a file")
    lines = [line | {"attributes": tuple(line["attributes"])} for line in table.to_pylist()]
    return [Figures(**line) for line in lines]


def best_and_worst(
    figures: Iterable[Figures], *names: str, by: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """By kind and number of columns: how many there are, the least and the largest by a figure.

    Of equal ones, but for last digits, the first is taken.
    """

    def size(each: Figures) -> float:
        return float(f"{getattr(each, by):.9g}")

    chosen = sorted(figures, key=lambda each: (each.kind, len(each.attributes)))
    for (kind, columns), group in groupby(chosen, lambda each: (each.kind, len(each.attributes))):
        alike = list(group)
        yield (
            kind,
            {
                "columns": columns,
                "number": len(alike),
                "best": min(alike, key=size).to_plain(*names),
                "worst": max(alike, key=size).to_plain(*names),
            },
        )
