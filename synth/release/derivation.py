"""From measurements to counts: everything that the publisher and the verifier both compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from synth.config.types import Config
from synth.domain import DENSE_LIMIT_CELLS
from synth.domain.sparse_counts import SparseCounts
from synth.measurements import Measurements, public_seed
from synth.plan import Forecast, forecast
from synth.progress import Stage, stage
from synth.release.manifest.figures import Figures, build_figures
from synth.release.rows import RowCounts, count_rows

ROUNDING = "rounding"
DRAWN = "cells drawn from the model"
BINS = "values inside bins"


@dataclass(frozen=True, eq=False)
class Derivation:
    """The published counts and how they came to be.

    Shapes and units: `counts` in records: int64, flat in C order over the universe; or the cells
    that are not empty, where cells of the universe were listed instead of measured one by one.
    """

    config: Config
    measurements: Measurements
    counts: RowCounts
    report: dict[str, Any]
    seeds: dict[str, int]
    forecast: Forecast
    gate: dict[str, Any]
    """How the counts agree with the noisy tables; see `synth.estimate.gate`."""

    @cached_property
    def figures(self) -> list[Figures]:
        """What was predicted and fitted of every query and noisy table."""
        return build_figures(self.config, self.forecast, self.measurements, self.counts)

    @property
    def rows(self) -> int:
        """The number of rows that the counts expand to."""
        return count_rows(self.counts)

    @property
    def bins_seed(self) -> int:
        """The public seed of the values inside bins."""
        return self.seeds[BINS]


Derive = Callable[[Measurements, Config], Derivation]
"""Tests pass another derivation; everybody else uses `derive`."""


def derive(measurements: Measurements, config: Config) -> Derivation:
    """Estimate, round, judge and forecast: a deterministic function of its two arguments.

    Privacy: post-processing; nothing here can reach raw data.
    Raises: ContradictionError if no counts are found that agree with the measurements.
    """
    counts, report, seeds, gate = _counts(measurements, config)
    chosen = measurements.selections != ()
    events = tuple(table.event for table in measurements.tables) if chosen else None
    planned = forecast(config, events=events)
    return Derivation(config, measurements, counts, report, seeds, planned, gate)


def _counts(
    measurements: Measurements, config: Config
) -> tuple[RowCounts, dict[str, Any], dict[str, int], dict[str, Any]]:
    """The whole counts, what estimate and gate report, and the public seeds by purpose.

    Raises: ContradictionError if they contradict the noisy tables, and cannot be mended.
    """
    from synth.estimate import PublicSeeds, gated

    seeds = {purpose: public_seed(measurements, purpose) for purpose in (DRAWN, ROUNDING, BINS)}
    rounded, fitted, report = _rounded(measurements, config, seeds)
    with stage(Stage.ROUNDING):
        passed = gated(
            rounded, fitted, measurements, config, PublicSeeds(seeds[DRAWN], seeds[ROUNDING])
        )
    if not is_sparse(measurements, config) and not passed.drawn:
        del seeds[DRAWN]
    return passed.counts, report, seeds, passed.report


def _rounded(
    measurements: Measurements, config: Config, seeds: dict[str, int]
) -> tuple[RowCounts, Any, dict[str, Any]]:
    """The whole counts, the values that were rounded if they are held, and the report."""
    from synth.estimate import (
        estimate,
        estimate_blockwise,
        estimate_sparse,
        is_blockwise,
        round_counts,
        round_sparse,
    )

    if is_sparse(measurements, config):
        with stage(Stage.ESTIMATION):
            drawn = estimate_sparse(measurements, config, seed=seeds[DRAWN])
        with stage(Stage.ROUNDING):
            return round_sparse(drawn, seeds[ROUNDING]), drawn, drawn.report
    if is_blockwise(config.universe):
        with stage(Stage.ESTIMATION):
            large = estimate_blockwise(measurements, config)
        with stage(Stage.ROUNDING):
            return large.round(seeds[ROUNDING]), None, large.report
    with stage(Stage.ESTIMATION):
        estimated = estimate(measurements, config)
    with stage(Stage.ROUNDING):
        counts = round_counts(estimated, config, seeds[ROUNDING]).values
        return counts, estimated.values, estimated.report


def moved_records(measurements: Measurements, config: Config, published: RowCounts) -> int | None:
    """How many records last digits of the estimate may have moved, of the published counts.

    None if they cannot have, and where the estimate is made block by block: there it is rounded
    to whole numbers of 2^-30 records first, and has no last digits that count.
    """
    from synth.estimate import (
        estimate,
        estimate_sparse,
        is_blockwise,
        moved_by_last_digits,
    )
    from synth.estimate.raking import required_atoms

    seed = public_seed(measurements, ROUNDING)
    if is_sparse(measurements, config):
        if not isinstance(published, SparseCounts):
            return None
        drawn = estimate_sparse(measurements, config, seed=public_seed(measurements, DRAWN))
        found = published.at(drawn.columns, config.universe.shape)
        if int(found.sum()) != published.total:
            return None
        return moved_by_last_digits(drawn.values, drawn.atoms, seed, found)
    if is_blockwise(config.universe) or isinstance(published, SparseCounts):
        return None
    values = estimate(measurements, config).values
    return moved_by_last_digits(values, required_atoms(config), seed, published)


def is_sparse(measurements: Measurements, config: Config) -> bool:
    """Whether only cells that may hold records are ever listed: by a threshold, or by size."""
    listed = any(table.event.threshold is not None for table in measurements.tables)
    return listed or config.universe.size > DENSE_LIMIT_CELLS
