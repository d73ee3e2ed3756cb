"""The estimate of a large universe, held as a rule for the value of every cell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain.counts import Counts
from synth.estimate.blockwise_anchor import anchor
from synth.estimate.blockwise_groups import PAIRS, Groups
from synth.estimate.blockwise_model import BlockwiseModel
from synth.estimate.blockwise_parts import parts_of
from synth.estimate.blockwise_pass import BLOCK_CELLS, Cells, default_threads
from synth.estimate.blockwise_rounding import round_blockwise
from synth.estimate.blockwise_rules import CellRules
from synth.estimate.blockwise_scores import NoisyCells
from synth.estimate.blockwise_start import main_effects
from synth.estimate.blockwise_tables import PairSums
from synth.estimate.blockwise_terms import Term, on_grid
from synth.estimate.blockwise_tilt import tilt
from synth.estimate.cell_table import cell_table
from synth.estimate.raking import required_totals
from synth.estimate.whole import require_sizes

if TYPE_CHECKING:
    from synth.measurements import Measurements

_LEAST_VARIANCE = 1e-12
_LEAST_CLEAR_SHARE = 0.02
"""The model is fitted to the cells if at least this share of the records is in cells whose noisy
counts exceed any noise; else to sums. Where nearly all records are alone in a cell, a posterior
mean is little more than what the model says, and a model that is wrong loses records."""


@dataclass(frozen=True, eq=False)
class BlockwiseEstimate:
    """An `Estimate` whose values are computed when they are asked for, and never held together."""

    cells: Cells
    term: Term
    report: dict[str, Any]

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """The values in the order of the cells, as (first cell, values) of blocks."""
        return self.cells.blocks([self.term])

    def round(self, seed: int) -> Counts:
        """Whole counts, by systematic rounding with a public seed; required totals hold."""
        return round_blockwise(self.cells, self.term, seed)

    def support(self) -> None:
        """The values are not at hand."""


def estimate_blockwise(
    measurements: Measurements,
    config: Config,
    *,
    threads: int | None = None,
    block_cells: int = BLOCK_CELLS,
) -> BlockwiseEstimate:
    """Fit one non-negative table of counts to the noisy tables, passing over its cells.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: the same bytes for the same input, whatever the number of threads.
    Shapes and units: memory is that of the noisy table, one to four bytes a cell beside it, and
    tables of two groups of attributes.
    Raises: BugError if there is no table, or one does not have the size of its margin.
    """
    require_sizes(measurements, config.universe)
    groups = Groups.of(config.universe)
    full = cell_table(measurements, config.universe)
    noisy, variance = None, math.inf
    if full is not None:
        decay = float(1 / full.event.noise_scale_records)
        noisy = NoisyCells.of(full.noisy_counts, decay=decay, block_cells=block_cells)
        variance = max(full.variance, _LEAST_VARIANCE)
    rules = CellRules(groups, required_totals(config))
    threads = threads or default_threads()
    cells = Cells(groups, noisy, rules, threads=threads, block_cells=block_cells)
    parts = parts_of(groups)
    others = [table for table in measurements.tables if table is not full]
    sums = PairSums.of(others, groups, parts) if others else None
    possible = cells.possible_sums()
    noisy_sums = None if full is None else cells.count_sums(full.noisy_counts)
    total = 0.0 if noisy_sums is None else float(noisy_sums.total())
    if sums is not None:
        total = sums.total() or total
    base = math.log(max(total, 1.0) / max(1.0, possible.total()))
    tables = others if full is None else [full, *others]
    start = main_effects(groups, tables, noisy_sums, possible)
    by_cells = noisy is not None and noisy.clear_records >= _LEAST_CLEAR_SHARE * total
    if full is not None:
        model = BlockwiseModel(cells, parts, sums, base=base, noise_variance=variance)
    if by_cells:
        fit = model.fit(start)
        tried = model.steps
    else:
        known = None if full is None or noisy_sums is None else (full, noisy_sums)
        linear = PairSums.of(others, groups, parts, cells=known)
        parts = tuple(part.only(linear.components(i)) for i, part in enumerate(parts))
        linear = replace(linear, parts=parts)
        sums = linear if full is None else sums
        plain = Cells(groups, None, rules, threads=threads, block_cells=block_cells)
        by_sums = BlockwiseModel(plain, parts, linear, base=base, noise_variance=math.inf)
        fit = by_sums.fit(start)
        if full is None:
            model = by_sums
        tried = by_sums.steps
    steps: list[dict[str, Any]] = [
        {
            "step": "estimate block by block",
            "fitted_to": "cells" if by_cells else "sums",
            "groups": [len(groups.axes(i)) for i in range(3)],
            "pairs_modelled": [
                f"{i + 1}-{j + 1}"
                for (i, j), held in zip(PAIRS, groups.is_modelled, strict=True)
                if held
            ],
        },
        *tried,
    ]
    term = Term(model.expected_score, on_grid(fit.discounted))
    if sums is not None:
        term, report = tilt(
            cells,
            sums,
            term,
            model.variances(fit.discounted),
            noise_variance=None if full is None else variance,
        )
        steps.append(report)
    elif noisy_sums is not None:
        term, report = anchor(cells, term, noisy_sums, possible, noise_variance=variance)
        steps.append(report)
    return BlockwiseEstimate(cells, term, {"steps": steps})
