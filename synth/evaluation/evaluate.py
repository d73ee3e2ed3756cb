"""The evaluation: counts of the raw data beside those of the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.config.series import PeriodSelection
from synth.config.source_files import source_files
from synth.curator.not_private.exact_cells import exact_cells
from synth.curator.not_private.inspection_text import inspect_source, not_arrived, trouble
from synth.errors import ConfigError, Problem, PublishedDifferentlyError, SourceError
from synth.evaluation.comparisons import (
    MOST_COLUMNS,
    Nearness,
    OrderDistances,
    Prediction,
    Table,
    associations,
    default_targets,
    distances,
    nearness,
    predictions,
    table_of,
)
from synth.reading import Release

ORDERS = (1, 2, 3)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """All that was found. Private: computed from raw data without noise."""

    release_id: str
    configuration_hash: str
    columns: tuple[str, ...]
    raw_records: int
    release_rows: int
    orders: tuple[OrderDistances, ...]
    raw_associations: NDArray[np.float64]
    release_associations: NDArray[np.float64]
    resampled_associations: NDArray[np.float64]
    predictions: tuple[Prediction, ...]
    nearness: Nearness | None
    left_out: tuple[str, ...]
    not_arrived: tuple[str, ...] = ()
    """A sentence for every column of which more values fit nowhere than could be slips."""

    def __repr__(self) -> str:
        return (
            f"Evaluation(NOT PRIVATE: {self.release_id}, {self.raw_records:,} records, "
            f"{self.release_rows:,} rows)"
        )


def evaluate(
    config: Config,
    path: Path,
    *,
    targets: Sequence[str],
    directory: Path,
    generator: np.random.Generator,
) -> Evaluation:
    """Open the release, then the raw data, and compare.

    Privacy: none. What is returned may be shown to the keeper of the raw data alone.
    Ensures: the release, its configuration and the targets are accepted before raw data are opened.
    Raises: VerificationError, PublishedDifferentlyError, ConfigError, SourceError.
    """
    opened = Release(path)
    if opened.config.hash != config.hash:
        raise PublishedDifferentlyError(
            "the release was made with another configuration",
            fix="give the configuration of the release, and --period if it has one",
        )
    axes = _axes(targets, config)
    universe = config.universe
    release = table_of(universe, opened.cell_counts)
    if config.source is None:
        raise SourceError("a configuration without a source cannot be evaluated")
    files = source_files(config.source)
    selections = _selections(config)
    cells = exact_cells(config, config.source, files, directory=directory, selections=selections)
    codes = tuple(column.astype("int64") for column in cells.columns)
    raw = Table(universe, codes, cells.counts)
    inspected = inspect_source(config, config.source, files, directory=directory)
    lost = tuple(trouble(column) for column in inspected.columns if not_arrived(column))
    return replace(_compare(config, raw, release, axes, generator), not_arrived=lost)


def _selections(config: Config) -> list[PeriodSelection]:
    """What the release is about: of a series that is added up, every horizon so far.

    Persons are bounded in each horizon by themselves.
    """
    series, index, selection = config.series, config.period_index, config.selection()
    if selection is None:
        return []
    if series is None or index is None or not series.is_continual:
        return [selection]
    found = []
    for last in (*range(series.horizon, index, series.horizon), index):
        first = last - series.within_cycle(last) + 1
        numbers = [series.period_number(each) for each in range(first, last + 1)]
        bounded_from = None if selection.bounded_from is None else numbers[0]
        weights = tuple((number, 1) for number in numbers)
        found.append(replace(selection, weights=weights, bounded_from=bounded_from))
    return found


def _axes(targets: Sequence[str], config: Config) -> list[int]:
    names = config.universe.names
    problems = [
        Problem(None, "--target", f"`{target}`", f"one of: {', '.join(names)}")
        for target in targets
        if target not in names
    ]
    if problems:
        raise ConfigError("the command line", problems)
    return [names.index(target) for target in targets]


def _compare(
    config: Config, raw: Table, release: Table, axes: list[int], generator: np.random.Generator
) -> Evaluation:
    resampled = raw.resample(raw.records, generator)
    half, fresh = raw.halves(generator)
    orders = [order for order in ORDERS if order <= len(raw.universe.shape)]
    compared = tuple(distances(raw, release, resampled, order) for order in orders)
    targets = axes or default_targets(raw)
    predicted = predictions(release, half, fresh, targets, generator)
    left_out = [
        f"{order.possible - len(order.tables):,} of {order.possible:,} tables of {order.order} "
        "columns: they were not compared, to save time"
        for order in compared
        if len(order.tables) < order.possible
    ]
    if len(raw.universe.shape) > MOST_COLUMNS:
        left_out.append(f"associations of all columns but the first {MOST_COLUMNS}")
    untried = len(raw.universe.shape) - len(targets)
    if untried and not axes:
        left_out.append(
            f"{untried} columns as targets of a prediction: too many levels, or columns"
        )
    if not raw.records:
        left_out.append("predictions and nearest records: the source has no records")
    return Evaluation(
        release_id=config.release.id,
        configuration_hash=config.hash,
        columns=raw.universe.names[:MOST_COLUMNS],
        raw_records=raw.records,
        release_rows=release.records,
        orders=compared,
        raw_associations=associations(raw),
        release_associations=associations(release),
        resampled_associations=associations(resampled),
        predictions=tuple(predicted),
        nearness=nearness(release, half, fresh, generator),
        left_out=tuple(left_out),
    )
