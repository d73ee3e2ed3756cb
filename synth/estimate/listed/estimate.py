"""The estimate of a universe that cannot be held: heavy cells by counts, others by classes.

It is a support, cells with weights, a few per record at most:

1. A listed cell is kept if it is at least as likely real as empty (`posterior`) and if every table
   has room for it (`has_room`). What is kept is taken off every noisy table.
2. Latent classes are fitted to what the tables have left (`class_fit`), the noisy single columns
   in the form of their posterior means (`tables.one_way`, `levels`).
3. As many points as there are records left are drawn from the classes (`points`); those on
   impossible or listed cells are left out (`support`). Without a list, where hardly two would share
   a cell, several times as many are drawn, and rows chosen among them for the sake of small tables
   (`chosen`). Otherwise, where every cell could be measured, so that records may fill them, and
   beside a list, the weights of the others are raked to the sums of the model over measured tables
   and single columns: how points fall is no noise of theirs then.
4. Required totals are met on these cells (`support.with_atoms`); then counts are rounded.

Lost are every combination of all columns below the threshold and every dependence that no measured
table shows. Dependences of three attributes that are no chain of pairs are kept as far as raking
and measured triples bring them in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.config import Config
from synth.domain import DENSE_LIMIT_CELLS, Margin, Universe
from synth.domain.counts import Counts, cell_words, find_cells, is_possible, margin_cells
from synth.domain.totals import Atoms
from synth.errors import BugError
from synth.estimate.balanced import moved_records, whole_counts
from synth.estimate.gate_limits import sum_limit
from synth.estimate.listed.class_fit import fit_classes
from synth.estimate.listed.classes import Classes
from synth.estimate.listed.posterior import ThresholdPosterior
from synth.estimate.listed.support import Support, number_of_points, spread, with_atoms
from synth.estimate.listed.tables import SumTable
from synth.estimate.number import number_of_records
from synth.estimate.rounding import rake
from synth.measurements import MeasuredTable, Measurements
from synth.planning.costs import TRIED, tables_to_choose_by
from synth.planning.listed import expected_false_cells

Floats = NDArray[np.float64]
Columns = tuple[NDArray[Any], ...]

ROUNDS = 3
"""How often the model and the listed cells are judged by each other."""
REAL = 0.5
"""A listed cell is kept if it is at least this likely not to be empty."""
_CENSORED_ROUNDS = 4
_SWEEPS = 4
_MOST_WORK = 200_000_000
"""Cells times margins that are moved; bounds the time to a few seconds."""
_FACTORS = (0.2, 5.0)
"""One move changes no weight by more than these."""
_GRID = 2.0**-10
"""Means of listed cells are rounded to this: from the model on, no last digit is to matter."""
_REAL_BEYOND_DOUBT = 0.999
_SURELY = 1e-6
"""No noise of the universe reaches a count that one does with this chance, over all its cells."""


@dataclass(frozen=True, eq=False)
class End:
    """Where a fit ended, for another one to start from."""

    model: Classes
    config: Config


@dataclass(frozen=True, eq=False)
class ListedEstimate:
    """An `Estimate` that holds the values of some cells; every other cell is empty.

    Shapes and units: `columns[j]` is the code of attribute j of every cell; cells ascend, each
    once, all possible. `values` is float64, records. `atoms` are those of the required totals on
    these cells, which hold to floating point.
    """

    columns: Columns
    values: Floats
    atoms: Atoms | None
    report: dict[str, Any]
    end: End | None = None

    def again(self, measurements: Measurements, published: Counts) -> ListedEstimate:
        """The same of tables that are much the same, on the published cells alone.

        See `Estimate.again`. The published rows stand for the cells that another model would
        draw: they are weighted until they have its sums.
        """
        if self.end is None:
            raise BugError("rows cannot be weighted again without the model that drew them")
        return weigh_again(measurements, self.end, published)

    def afresh(self, measurements: Measurements, seed: int) -> ListedEstimate:
        """The same from nothing, with other rows drawn."""
        if self.end is None:
            raise BugError("rows cannot be drawn again without their configuration")
        return estimate_listed(measurements, self.end.config, seed=seed)

    def round(self, seed: int) -> Counts:
        """Whole counts; see `balanced.whole_counts`."""
        counts = whole_counts(self.columns, self.values, self.atoms, seed)
        kept = np.flatnonzero(counts)
        return Counts(tuple(column[kept] for column in self.columns), counts[kept])

    def support(self) -> Support:
        """The cells with their values."""
        return Support(self.columns, self.values, np.zeros(self.values.size, dtype=bool))

    def moved(self, published: Counts, seed: int, shape: Sequence[int]) -> int | None:
        """How many records last digits moved, if that is all that happened."""
        found = published.at(self.columns, shape)
        if int(found.sum()) != published.total:
            return None
        return moved_records(self.columns, self.values, self.atoms, seed, found)


def estimate_listed(measurements: Measurements, config: Config, *, seed: int) -> ListedEstimate:
    """Counts over a support of listed and drawn cells that fit all noisy tables.

    Privacy: post-processing of the measurements and the public configuration; `seed` is public.
    Ensures: the same bytes for the same input, whatever the number of threads.
    """
    listing, tables = _sorted_out(measurements, config.universe)
    records = records_of_model(measurements, config, listing)
    return estimate_from_list(listing, tables, config, records=records, seed=seed)


def _sorted_out(
    measurements: Measurements, universe: Universe
) -> tuple[MeasuredTable | None, list[SumTable]]:
    """The list of heavy cells, if there is one, and the tables of sums."""
    listing = next((table for table in measurements.tables if table.codes is not None), None)
    tables = [SumTable.of(t, universe) for t in measurements.tables if t.codes is None]
    return listing, tables


def records_of_model(
    measurements: Measurements, config: Config, listing: MeasuredTable | None
) -> float:
    """How many records the model is of: with no listed cells beside it, as many as rows."""
    rows = config.output.rows if listing is None else None
    return number_of_records(measurements, config).value if rows is None else float(rows)


def weigh_again(measurements: Measurements, before: End, published: Counts) -> ListedEstimate:
    """Published cells with the sums that the model fitted to other noisy tables gives them.

    The model starts where the one before ended. Listed cells are judged again, others keep the
    proportions of the published rows but for the sums over the measured pairs and all columns.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: the same bytes for the same input, whatever the number of threads.
    """
    config = before.config
    universe = config.universe
    listing, tables = _sorted_out(measurements, universe)
    records = records_of_model(measurements, config, listing)
    steps: list[dict[str, Any]] = []
    columns, counts, model = _heavy_cells(
        listing, tables, universe, records, steps, before=before.model
    )
    values = published.values.astype(np.float64)
    known = cell_words(columns, universe.shape)
    places = find_cells(cell_words(published.columns, universe.shape), known)
    listed = np.zeros(values.size, dtype=bool)
    listed[places] = True
    values[places] = counts
    mass = float(values[~listed].sum())
    values[~listed] *= model.total / mass if mass > 0.0 else 0.0
    support = Support(published.columns, values, listed)
    if listing is not None:
        support = _censored(support, ThresholdPosterior(listing.event))
    support = _towards_model(support, model, [table.margin for table in tables], universe)
    return _with_totals(support, config, steps, End(model, config))


def estimate_from_list(
    listing: MeasuredTable | None,
    tables: list[SumTable],
    config: Config,
    *,
    records: float,
    seed: int,
) -> ListedEstimate:
    """The same from a list of heavy cells, if there is one, and tables of sums."""
    universe = config.universe
    steps: list[dict[str, Any]] = []
    with progress.stage(progress.Stage.ESTIMATION, part=1, parts=3):
        columns, counts, model = _heavy_cells(
            listing, tables, universe, records, steps, before=None
        )
    points = number_of_points(model) if listing is None else 0
    measured = [table.axes for table in tables if not any(table.margin.coarsening)]
    chosen_by = tables_to_choose_by(universe.shape, measured, points)
    support = spread(model, universe, seed, listed=columns, counts=counts, chosen_by=chosen_by)
    steps.append(
        {
            "step": "draw cells from the latent classes",
            "attributes": len(model.laws),
            "classes": int(model.shares.size),
            "severity": model.severity.reported,
            "records": model.total,
            "cells": int((~support.listed).sum()),
        }
    )
    if chosen_by:
        steps.append(
            {
                "step": "keep one of every few points, for the sake of small tables",
                "of": TRIED,
                "tables": len(chosen_by),
            }
        )
    if listing is not None:
        support = _censored(support, ThresholdPosterior(listing.event))
    if listing is not None or (universe.size <= DENSE_LIMIT_CELLS and not chosen_by):
        support = _towards_model(support, model, [table.margin for table in tables], universe)
    return _with_totals(support, config, steps, End(model, config))


def _with_totals(
    support: Support, config: Config, steps: list[dict[str, Any]], end: End
) -> ListedEstimate:
    """The estimate of these weights, raked to the required totals."""
    support, atoms = with_atoms(support, config)
    values = support.values
    if atoms is not None:
        values, whole = rake(values, atoms, np.where(support.listed, 0.0, 1.0))
        steps.append(
            {
                "step": "rake to the required totals",
                "totals": int(atoms.totals.size),
                "atoms": atoms.count,
                "total": int(whole.sum()),
            }
        )
    return ListedEstimate(support.columns, values, atoms, {"steps": steps}, end)


def _heavy_cells(
    listing: MeasuredTable | None,
    tables: list[SumTable],
    universe: Universe,
    records: float,
    steps: list[dict[str, Any]],
    *,
    before: Classes | None,
) -> tuple[Columns, Floats, Classes]:
    """The listed cells that are kept, their mean counts, and the model of all other records.

    The model is fitted to the tables less the listed cells; what it expects of the listed cells
    tells real ones from empty ones. Each is done again with the other's outcome; only once where
    a model from `before` is at hand.
    """
    if listing is None or listing.codes is None:
        model = _model(tables, universe, records, ((), np.zeros(0)), start=before)
        return tuple(np.zeros(0, dtype=np.int64) for _ in universe.shape), np.zeros(0), model
    columns: Columns = tuple(np.ascontiguousarray(c) for c in listing.codes.T)
    noisy = listing.noisy_counts
    possible = is_possible(columns, universe)
    posterior = ThresholdPosterior(listing.event)
    counts = np.zeros(noisy.size)
    keep = np.zeros(noisy.size, dtype=bool)
    fitted = before
    for _ in range(ROUNDS if before is None else 1):
        known = tuple(column[keep] for column in columns), counts[keep]
        if before is None or fitted is None:
            fitted = _model(tables, universe, records, known, start=fitted)
        judged = posterior.listed(
            noisy,
            fitted.log_probability(columns),
            total=fitted.total,
            log_cells=math.log(universe.size),
        )
        keep = possible & (judged.real >= REAL)
        keep &= _most_certain(judged.real, noisy.size - (expected_false_cells(listing.event) or 0))
        keep &= has_room(
            columns, judged.mean, keep, noisy, tables, universe, variance=listing.variance,
            certain=sum_limit(listing.event, 1, _SURELY / listing.event.cells),
        )  # fmt: skip
        counts = np.where(keep, np.rint(judged.real * judged.mean / _GRID) * _GRID, 0.0)
    known = tuple(column[keep] for column in columns), counts[keep]
    model = _model(tables, universe, records, known, start=fitted)
    steps.append(
        {
            "step": "keep listed cells that are likely to be real",
            "listed_cells": int(noisy.size),
            "kept_cells": int(keep.sum()),
            "kept_records": float(known[1].sum()),
            "rounds": ROUNDS,
        }
    )
    return known[0], known[1], model


def _most_certain(real: Floats, most: float) -> NDArray[np.bool_]:
    """The cells that are likeliest to be real, about as many as noise has not listed in vain."""
    kept = np.zeros(real.size, dtype=bool)
    kept[np.argsort(-real, kind="stable")[: max(0, math.ceil(most))]] = True
    return kept | (real >= _REAL_BEYOND_DOUBT)


def _model(
    tables: list[SumTable],
    universe: Universe,
    records: float,
    known: tuple[Columns, Floats],
    *,
    start: Classes | None = None,
) -> Classes:
    """The classes of the records outside the known cells.

    Without any table of sums, they are spread like the known cells.
    """
    columns, counts = known
    left = [table.less(columns, counts, universe) for table in tables]
    total = max(0.0, records - float(counts.sum()))
    if tables or not counts.size:
        return fit_classes(left, universe, total, start=start)
    shares = [
        np.asarray(np.bincount(column, weights=counts, minlength=size) + 0.5, dtype=np.float64)
        for column, size in zip(columns, universe.shape, strict=True)
    ]
    return Classes.independent(shares, total)


def _censored(support: Support, posterior: ThresholdPosterior) -> Support:
    """Lower the weights that are too large for cells that are not listed, raise the others."""
    free = ~support.listed
    weights = support.values[free]
    total = float(weights.sum())
    if total <= 0.0:
        return support
    likely, scale = weights, 1.0
    for _ in range(_CENSORED_ROUNDS):
        likely = posterior.unlisted_mean(weights * scale)
        scale *= total / max(float(likely.sum()), 1e-300)
    values = support.values.copy()
    values[free] = likely * (total / max(float(likely.sum()), 1e-300))
    return support.with_values(values)


def _towards_model(
    support: Support, model: Classes, margins: Sequence[Margin], universe: Universe
) -> Support:
    """Scale the weights of drawn cells until sums over the measured margins are the model's again.

    Points that met a listed cell were left out, and cells near the threshold have less than the
    model expects; and how points fall is chance. Tables of most columns come first, single columns
    last; the first are left out if they are more than `_MOST_WORK` allows.
    """
    free = np.flatnonzero(~support.listed)
    weights = support.values[free]
    columns = [column[free] for column in support.columns]
    known = {margin for margin in margins if len(margin.names) > 1 and not any(margin.coarsening)}
    ordered = sorted(known, key=lambda margin: (-len(margin.names), universe.axes(margin.names)))
    ordered += [Margin((name,), (0,)) for name in universe.names]
    most = max(len(universe.names), _MOST_WORK // max(1, weights.size * _SWEEPS))
    ordered = ordered[-most:]
    mass = float(weights.sum())
    aims = [
        (margin_cells(columns, universe, margin), mass * model.table(universe.axes(margin.names)))
        for margin in ordered
    ]
    for _ in range(_SWEEPS if weights.size else 0):
        for cells, aim in aims:
            now = np.bincount(cells, weights=weights, minlength=aim.size)
            factor = np.divide(aim, now, out=np.ones(aim.size), where=now > 0.0)
            weights *= np.clip(factor, *_FACTORS)[cells]
    values = support.values.copy()
    values[free] = weights * (mass / max(float(weights.sum()), 1e-300))
    return support.with_values(values)


# Room for listed cells: what the tables of sums leave for them, as far as their noise can tell.


ALLOWANCE = 4.0
"""Standard deviations by which listed cells may exceed what a table has for them."""


def has_room(
    columns: Sequence[NDArray[Any]],
    counts: Floats,
    keep: NDArray[np.bool_],
    noisy: NDArray[np.int64],
    tables: Sequence[SumTable],
    universe: Universe,
    *,
    variance: float,
    certain: float,
) -> NDArray[np.bool_]:
    """Which of the cells to `keep` fit into every table, the larger noisy counts first.

    A cell of a table has room for as many records as its noisy count says, and for `ALLOWANCE`
    standard deviations of its noise and that of the listed cells in it (`variance` each). The
    first cells that fit into it stay; a cell that comes when it is full is left to the model.
    A list alone cannot tell a heavy cell from the largest of ten thousand noises; where no table
    knows of its records, it was noise. A noisy count beyond `certain`, which no noise reaches,
    stays whatever the tables say.
    """
    kept = keep.copy()
    for table in tables:
        places = np.flatnonzero(kept)
        if not places.size:
            break
        group = table.cells([column[places] for column in columns], universe)
        order = np.lexsort((places, -noisy[places], group))
        places, group = places[order], group[order]
        first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        lengths = np.diff(np.r_[first, group.size])
        rank = np.arange(1, group.size + 1) - np.repeat(first, lengths)
        running = np.cumsum(counts[places])
        before = np.r_[0.0, running][first]
        within = running - np.repeat(before, lengths)
        room = table.values.reshape(-1)[group]
        allowed = room + ALLOWANCE * np.sqrt(table.variance + rank * variance)
        kept[places[(within > allowed) & (noisy[places] <= certain)]] = False
    return kept
