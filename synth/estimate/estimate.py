"""The estimate: one non-negative table of the universe from all noisy tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from synth.config.types import Config
from synth.domain.totals import Atoms
from synth.errors import BugError
from synth.estimate.anchoring import NoisySums
from synth.estimate.interactions import Interactions
from synth.estimate.loglinear import LogLinearFit, LogLinearModel
from synth.estimate.posterior import CellPosterior
from synth.estimate.raking import rake, required_atoms
from synth.estimate.sharpening import BLOCK_RECORDS, STRENGTH, sharpen

if TYPE_CHECKING:
    from synth.measurements import MeasuredTable, Measurements

Floats = NDArray[np.float64]

DISCOUNTS = (0.3, 0.0)
"""Shares of the variance of a cell's log mean to discount: the second is tried where the sums of
the first contradict the noisy sums; see docs/estimation.md."""

_LEAST_VARIANCE = 1e-12
"""Stands for the noise of a budget so large that there is none, where it is divided by."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table of the universe that is good to publish, and how it was found.

    Shapes and units: `values` is float64, flat in cell order, records; never negative, exactly 0
    on impossible cells, with every public total met to floating point. `report` is plain JSON:
    the steps in order with parameters, iterations and stop reasons, and the residuals against
    the noisy tables. Nothing in it comes from anything but the noisy tables and the configuration.
    """

    values: Floats
    report: dict[str, Any]


def estimate(measurements: Measurements, config: Config) -> Estimate:
    """Fit one non-negative table of counts to the noisy tables.

    Privacy: post-processing of the measurements and the public configuration.
    Requires: one measured table over the full universe, with discrete Laplace noise.
    Ensures: the same bytes for the same input, whatever the number of threads.
    Raises: BugError if the measurements do not cover the universe.
    """
    universe = config.universe
    table = _full_table(measurements, config)
    possible = universe.possible()
    steps: list[dict[str, Any]] = []
    if possible.any():
        values, fallback = _fit(table, universe.shape, possible, steps)
    else:
        values = np.zeros(universe.size)
        fallback = values
    atoms = required_atoms(config)
    if atoms is not None:
        values, whole = rake(values, atoms, fallback)
        steps.append(
            {
                "step": "rake to the required totals",
                "totals": int(atoms.totals.size),
                "atoms": atoms.count,
                "total": int(whole.sum()),
            }
        )
    if config.workload.cells:
        values = _sharpen(values, atoms)
        steps.append(
            {"step": "sharpen", "strength": STRENGTH, "block_records": BLOCK_RECORDS},
        )
    return Estimate(values, {"steps": steps, "residuals": _residuals(measurements, config, values)})


def _fit(
    table: MeasuredTable,
    shape: tuple[int, ...],
    possible: NDArray[np.bool_],
    steps: list[dict[str, Any]],
) -> tuple[Floats, Floats]:
    """The posterior means of the cells, and the means that the model gives them."""
    noisy = np.asarray(table.noisy_counts, dtype=np.int64)
    interactions = Interactions(shape)
    seen = np.where(possible, noisy, 0).astype(np.float64)
    variance = max(table.variance, _LEAST_VARIANCE)
    sums = NoisySums(interactions, seen, possible, variance)
    posterior = CellPosterior(noisy, decay=float(table.event.epsilon / table.event.sensitivity_l1))
    base = math.log(max(float(seen.sum()), 1.0) / int(possible.sum()))
    best: tuple[float, LogLinearFit] | None = None
    for discount in DISCOUNTS:
        model = LogLinearModel(
            interactions,
            posterior,
            possible,
            noise_variance=variance,
            base=base,
            discount=discount,
        )
        fit = model.fit()
        misfit = sums.misfit(fit.posterior_mean)
        steps.extend({**step, "discount": discount} for step in fit.steps)
        steps.append(
            {
                "step": "posterior mean of every cell",
                "discount": discount,
                "misfit": misfit,
                "misfit_limit": sums.misfit_limit(),
            }
        )
        if best is None or misfit < best[0]:
            best = misfit, fit
        if misfit <= sums.misfit_limit():
            break
    if best is None:
        raise BugError("no model was fitted")
    values, anchored = sums.anchor(best[1].posterior_mean)
    steps.append(anchored)
    means = np.exp(best[1].log_mean)
    means[~possible] = 0.0
    return values, means


def _sharpen(values: Floats, atoms: Atoms | None) -> Floats:
    """Sharpen in cell order, inside every atom of the required totals."""
    if atoms is None:
        return sharpen(values)
    sharper = np.zeros(values.size)
    for cells in atoms.cells():
        sharper[cells] = sharpen(values[cells])
    return sharper


def _full_table(measurements: Measurements, config: Config) -> MeasuredTable:
    for table in measurements.tables:
        if table.event.table == config.universe.names:
            if table.noisy_counts.size != config.universe.size:
                raise BugError("the measured table does not have the size of the universe")
            return table
    raise BugError("no measured table covers the full universe")


def _residuals(measurements: Measurements, config: Config, values: Floats) -> list[dict[str, Any]]:
    """How far the estimate is from each noisy table, in standard deviations of the noise."""
    universe = config.universe
    found: list[dict[str, Any]] = []
    for table in measurements.tables:
        kept = set(universe.axes(table.event.table))
        rest = tuple(axis for axis in range(len(universe.shape)) if axis not in kept)
        fitted = values.reshape(universe.shape).sum(axis=rest).reshape(-1)
        residual = table.noisy_counts - fitted
        cells = max(1, residual.size)
        found.append(
            {
                "table": list(table.event.table),
                "cells": int(residual.size),
                "noise_standard_deviation": math.sqrt(table.variance),
                "root_mean_square_residual": math.sqrt(float((residual**2).sum()) / cells),
                "total_residual": float(residual.sum()),
                "total_noise_standard_deviation": math.sqrt(table.variance * cells),
            }
        )
    return found
