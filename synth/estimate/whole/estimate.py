"""The estimate of a universe that is held as one table: every cell at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts
from synth.errors import BugError
from synth.estimate.balanced import moved_records, whole_counts
from synth.estimate.interactions import Interactions
from synth.estimate.listed.class_fit import fit_classes
from synth.estimate.listed.classes import Classes
from synth.estimate.listed.fission import SEVERITIES
from synth.estimate.listed.support import Support
from synth.estimate.listed.tables import SumTable
from synth.estimate.main_effects import main_effects, suffice
from synth.estimate.number import Number, number_of_records
from synth.estimate.posterior import CellPosterior
from synth.estimate.rounding import (
    rake,
    rake_one_way,
    required_atoms,
)
from synth.estimate.sums import (
    LEAST_VARIANCE,
    NoisyCoefficients,
    added_up,
    better_known,
    cell_table,
    noisy_coefficients,
    one_way_sums,
)
from synth.estimate.whole.model import MODEST_SIZE, LogLinearFit, WholeModel
from synth.estimate.whole.sharpening import BLOCK_RECORDS, SHARPENING, STRENGTH, sharpen_atoms
from synth.estimate.whole.top_down import has_hierarchies, top_down
from synth.estimate.whole.towards_sums import NoisySums, move_to_total, tilt
from synth.measurements import MeasuredTable, Measurements

Floats = NDArray[np.float64]

LEAST_MEAN = 1e-9
"""What the fit starts from in a cell that the classes take to be empty, in records."""
DISCOUNTS = (0.3, 0.0)
"""Shares of the variance of a cell's log mean to discount: the second is tried where the sums of
the first contradict the noisy sums; see docs/estimation.md."""


class _Way(Enum):
    """How cells and other tables are fitted together."""

    PLAIN = "all tables"
    FROM_SUMS = "all tables, from the noisy sums"
    FIRM = "cells and the tables that are better known"


@dataclass(frozen=True, eq=False)
class End:
    """Where a fit ended, for another one to start from.

    `discount` is the share of the variance of a log mean that was discounted; `classes` are those
    of the noisy sums, where no cells were measured.
    """

    fit: LogLinearFit
    way: _Way
    discount: float
    classes: Classes | None


@dataclass(frozen=True, eq=False)
class WholeEstimate:
    """An `Estimate` that holds the value of every cell.

    Shapes and units: `values` is float64, flat in cell order, records; never negative, exactly 0
    on impossible cells, with every public total met to floating point.
    """

    values: Floats
    config: Config
    report: dict[str, Any]
    end: End | None = None
    """None where no cell is possible."""

    def again(self, measurements: Measurements, published: Counts) -> WholeEstimate:
        """The same of tables that are much the same; see `Estimate.again`."""
        del published
        return estimate_whole(measurements, self.config, before=self.end)

    def afresh(self, measurements: Measurements, seed: int) -> WholeEstimate:
        """The same from nothing."""
        del seed
        return estimate_whole(measurements, self.config)

    def round(self, seed: int) -> Counts:
        """Whole counts; see `balanced.whole_counts`."""
        rounded = whole_counts(self.config.universe, self.values, required_atoms(self.config), seed)
        return Counts.of_all(rounded, self.config.universe.shape)

    def support(self) -> Support:
        """The cells with a value."""
        cells = np.flatnonzero(self.values > 0)
        columns = tuple(self.config.universe.codes(cells))
        return Support(columns, self.values[cells], np.zeros(cells.size, dtype=bool))

    def moved(self, published: Counts, seed: int) -> int | None:
        """How many records last digits moved, if that is all that happened."""
        found = published.of_every_cell(self.config.universe.shape)
        universe, atoms = self.config.universe, required_atoms(self.config)
        return moved_records(universe, self.values, atoms, seed, found)


def estimate_whole(
    measurements: Measurements, config: Config, *, before: End | None = None
) -> WholeEstimate:
    """Fit one non-negative table of counts to the noisy tables.

    `before` is where the fit to tables that were much the same ended: this one starts there.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: the same bytes for the same input, whatever the number of threads.
    Raises: BugError if there is no table, or one does not have the size of its margin.
    """
    universe = config.universe
    require_sizes(measurements, universe)
    possible = universe.possible()
    steps: list[dict[str, Any]] = []
    end = None
    if possible.any():
        values, fallback, end = _fit(measurements, config, possible, steps, before)
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
        values = sharpen_atoms(values, atoms, universe.shape)
        steps.append(
            {"step": SHARPENING, "strength": STRENGTH, "block_records": BLOCK_RECORDS},
        )
    report = {"steps": steps, "residuals": _residuals(measurements, config, values)}
    return WholeEstimate(values, config, report, end)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the noisy tables say, in the forms in which the steps of a fit ask for it."""

    interactions: Interactions
    possible: NDArray[np.bool_]
    posterior: CellPosterior | None
    noisy_sums: NoisySums | None
    """The sums of the measured cells; as `posterior`, None where no cells were measured."""
    sums: NoisyCoefficients | None
    firm_sums: NoisyCoefficients | None
    """Of the tables alone that are better known than the sums of measured cells; `sums`, if all."""
    group_sums: NoisyCoefficients | None
    variance: float
    base: Floats | float
    """The log of the mean count of every cell, as the fit starts: the same for all possible ones;
    where no cells were measured, by the latent classes of the noisy sums."""
    classes: Classes | None
    main_effects: Floats | None
    """In every cell, where they suffice."""
    number: Number
    """How many records there are."""

    def wanted(self, values: Floats) -> float:
        """How many records a fit with these values should have."""
        possible = float(self.possible.sum())
        return self.number.for_fit(float(values.sum()), self.variance, possible)

    @staticmethod
    def of(
        measurements: Measurements,
        config: Config,
        possible: NDArray[np.bool_],
        before: Classes | None,
    ) -> _Seen:
        """Look at the cells, at all other tables, and at the groups of hierarchies."""
        universe = config.universe
        interactions = Interactions.of(universe)
        full = cell_table(measurements, universe)
        others = [table for table in measurements.tables if table is not full]
        variance = math.inf if full is None else max(full.variance, LEAST_VARIANCE)
        sums = noisy_coefficients(others, interactions, universe, cells_variance=variance)
        firm, firm_sums = better_known(others, universe, variance), sums
        if len(firm) < len(others):
            firm_sums = noisy_coefficients(firm, interactions, universe, cells_variance=variance)
        posterior, noisy_sums, group_sums, effects, of_cells = None, None, None, None, None
        if full is not None:
            noisy = np.asarray(full.noisy_counts, dtype=np.int64)
            seen = np.where(possible, noisy, 0)
            noisy_sums = NoisySums(interactions, seen.astype(np.float64), possible, variance)
            posterior = CellPosterior(noisy, decay=float(1 / full.event.noise_scale_records))
            of_cells = float(seen.sum()), variance * int(possible.sum())
            if has_hierarchies(interactions):
                cells = replace(full, noisy_counts=seen)
                every = [cells if table is full else table for table in measurements.tables]
                group_sums = noisy_coefficients(every, interactions, universe)
        number = number_of_records(measurements, config, of_cells)
        total = max(number.value, 1.0)
        if full is not None and suffice(universe, others):
            cells = replace(full, noisy_counts=seen)
            effects = _main_effects(universe, [cells, *others], total)
        base: Floats | float = math.log(total / int(possible.sum()))
        classes = None
        if full is None:
            base, classes = _by_classes(others, universe, total, before)
        return _Seen(
            interactions,
            possible,
            posterior,
            noisy_sums,
            sums,
            firm_sums,
            group_sums,
            variance,
            base,
            classes,
            effects,
            number,
        )


def _main_effects(universe: Universe, tables: list[MeasuredTable], total: float) -> Floats:
    """Their sum in every cell."""
    rooms = one_way_sums(universe.possible().astype(np.float64), universe.shape)
    effects = main_effects(universe, tables, total, rooms.__getitem__)
    return added_up([effects.get(axis, np.zeros(size)) for axis, size in enumerate(universe.shape)])


def _by_classes(
    tables: list[MeasuredTable], universe: Universe, total: float, before: Classes | None
) -> tuple[Floats, Classes]:
    """The log of the mean count of every cell by the latent classes of some noisy sums.

    The most lenient classes are not needed: interactions will have what strict ones leave out.
    """
    sums = [SumTable.of(table, universe) for table in tables]
    classes = fit_classes(sums, universe, total, start=before, severities=SEVERITIES[:2])
    means = total * classes.table(range(len(universe.shape)))
    return np.log(np.maximum(means, LEAST_MEAN)), classes


_USUAL = 0.5
"""A misfit of less than this part of what the limit allows is no reason to start elsewhere."""


def _ways(seen: _Seen) -> tuple[_Way, ...]:
    """How fits are tried, in turn.

    The sums lead a fit of several columns astray if noise has drowned them: it may do better with
    those that are better known, and meet the others at its end. Otherwise it may end, if it does
    not start from them, where neither sums nor pairs are those of the tables. The misfit tells.
    """
    is_several = sum(size > 1 for size in seen.interactions.shape) > 1
    may_be_off = is_several and seen.main_effects is None
    if not (seen.sums and seen.noisy_sums and may_be_off):
        return (_Way.PLAIN,)
    return (_Way.PLAIN, _Way.FROM_SUMS) if seen.firm_sums is seen.sums else tuple(_Way)


@dataclass(frozen=True, eq=False)
class _Attempt:
    """The posterior means of the cells by one fit, and how far they are from the noisy sums.

    `ratio` is that of their variances to them: wherever the values are moved, it stays. `total` is
    how many records they should have.
    """

    values: Floats
    ratio: Floats
    total: float
    fit: LogLinearFit
    way: _Way
    discount: float
    misfit: float


def _fit(
    measurements: Measurements,
    config: Config,
    possible: NDArray[np.bool_],
    steps: list[dict[str, Any]],
    before: End | None,
) -> tuple[Floats, Floats, End]:
    """The posterior means of the cells, the means that the model gives them, and where it ended."""
    seen = _Seen.of(measurements, config, possible, None if before is None else before.classes)
    if seen.classes is not None:
        steps.append(
            {
                "step": "start from the latent classes of the noisy sums",
                "classes": int(seen.classes.shares.size),
                "severity": seen.classes.severity.reported,
            }
        )
    few = seen.interactions.size <= 2 * MODEST_SIZE
    discounts = DISCOUNTS if few else DISCOUNTS[:1]
    if seen.noisy_sums is None or seen.main_effects is not None:
        discounts = (0.0,)
    if before is not None:
        discounts = (before.discount,)
    limit = math.inf if seen.noisy_sums is None else seen.noisy_sums.misfit_limit()
    ways = _ways(seen) if before is None else (before.way,)
    attempts = _attempts(seen, discounts, ways, limit, steps, before)
    best = min(attempts, key=lambda attempt: attempt.misfit)
    values, moved = move_to_total(best.values, best.ratio, best.total)
    steps.append(moved)
    if seen.noisy_sums is not None and seen.sums is None and seen.group_sums is None:
        values, anchored = seen.noisy_sums.anchor(values, best.ratio)
        steps.append(anchored)
    means = np.exp(best.fit.log_mean)
    means[~possible] = 0.0
    return values, means, End(best.fit, best.way, best.discount, seen.classes)


def _attempts(
    seen: _Seen,
    discounts: Sequence[float],
    ways: tuple[_Way, ...],
    limit: float,
    steps: list[dict[str, Any]],
    before: End | None,
) -> list[_Attempt]:
    """Fits until one is near enough; with a second discount in the way that came nearest."""
    made: list[_Attempt] = []
    for discount in discounts:
        for way in ways:
            made.append(_attempt(seen, discount, steps, before, way))
            steps.append(
                {
                    "step": "posterior mean of every cell",
                    "fitted_to": way.value,
                    "discount": discount,
                    "misfit": made[-1].misfit,
                    "misfit_limit": limit if math.isfinite(limit) else None,
                }
            )
            allowed = limit if way is ways[-1] else 1.0 + _USUAL * (limit - 1.0)
            if min(attempt.misfit for attempt in made) <= allowed:
                return made
        ways = (min(made, key=lambda attempt: attempt.misfit).way,)
    return made


def _attempt(
    seen: _Seen,
    discount: float,
    steps: list[dict[str, Any]],
    before: End | None,
    way: _Way,
) -> _Attempt:
    """Fit the model, take the posterior means, and move them to groups and sums."""
    model = WholeModel(
        seen.interactions,
        seen.posterior,
        seen.firm_sums if way is _Way.FIRM else seen.sums,
        seen.possible,
        noise_variance=seen.variance,
        base=seen.base,
        discount=discount,
        starts_from_sums=way is _Way.FROM_SUMS,
        main_effects=seen.main_effects,
    )
    fit = model.fit() if before is None else model.fit_again(before.fit)
    steps.extend({**step, "discount": discount} for step in fit.steps)
    values = model.expected(fit.discounted)
    uncertainty = model.posterior_variance(fit.discounted)
    ratio = np.divide(uncertainty, values, out=np.ones(values.size), where=values > 0.0)
    total = seen.wanted(values)
    if seen.group_sums is not None:
        values, uncertainty, moved = top_down(
            seen.group_sums, values, uncertainty, seen.possible, total=total
        )
        steps.append(moved)
    if seen.sums is not None:
        tilted, step = tilt(seen.sums, values, uncertainty, weigh=seen.noisy_sums is not None)
        if seen.noisy_sums is not None and _contradicts(seen.noisy_sums, tilted, values):
            tilted, step = tilt(seen.sums, values, uncertainty, weigh=False)
        values = tilted
        steps.append(step)
    if seen.noisy_sums is None and _has_plain_columns(seen.interactions):
        values = rake_one_way(values, np.exp(seen.base), seen.interactions.shape)
        steps.append({"step": "rake single columns to those of the latent classes"})
    misfit = 0.0 if seen.noisy_sums is None else seen.noisy_sums.misfit(values)
    if seen.group_sums is None:
        total = seen.wanted(values)
    return _Attempt(values, ratio, total, fit, way, discount, misfit)


def _has_plain_columns(interactions: Interactions) -> bool:
    """Whether there are several columns, none in groups: sums of others know single ones less well.

    The classes have what is likely of every level, empty ones and neighbours.
    """
    several = sum(size > 1 for size in interactions.shape) > 1
    return several and all(basis.depth <= 1 for basis in interactions.axes)


def _contradicts(noisy_sums: NoisySums, tilted: Floats, values: Floats) -> bool:
    """Whether counts that were tilted to other sums contradict these, and did not before.

    Then the others, which are known less well, were given weight that is not theirs.
    """
    misfit = noisy_sums.misfit(tilted)
    return misfit > noisy_sums.misfit_limit() and misfit > noisy_sums.misfit(values)


def require_sizes(measurements: Measurements, universe: Universe) -> None:
    """Refuse measurements without a table, or with one that has not the size of its margin."""
    if not measurements.tables:
        raise BugError("there is no measured table to estimate from")
    for table in measurements.tables:
        margin = Margin(table.event.table, table.event.coarsening)
        if table.noisy_counts.size != margin.cells(universe):
            raise BugError("a measured table does not have the size of its margin")


def _residuals(measurements: Measurements, config: Config, values: Floats) -> list[dict[str, Any]]:
    """How far the estimate is from each noisy table, in standard deviations of the noise."""
    universe = config.universe
    found: list[dict[str, Any]] = []
    for table in measurements.tables:
        fitted = Margin(table.event.table, table.event.coarsening).sums(universe, values)
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
