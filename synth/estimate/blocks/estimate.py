"""The estimate of a large universe, held as a rule for the value of every cell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain.counts import Counts
from synth.domain.totals import Atoms
from synth.estimate.blocks.cells import BLOCK_CELLS, Cells, default_threads
from synth.estimate.blocks.groups import PAIRS, CellRules, Groups
from synth.estimate.blocks.model import BlocksFit, BlocksModel
from synth.estimate.blocks.scores import NoisyCells, Term, on_grid
from synth.estimate.blocks.sums import PairSums, parts_of
from synth.estimate.blocks.towards_sums import anchor, one_way, one_way_function, tilt
from synth.estimate.main_effects import main_effects, suffice
from synth.estimate.number import number_of_records
from synth.estimate.rounding import required_totals, whole_totals_near
from synth.estimate.sums import LEAST_VARIANCE, cell_table
from synth.estimate.whole.estimate import require_sizes
from synth.measurements import Measurements

_LEAST_CLEAR_SHARE = 0.02
"""The model is fitted to the cells if at least this share of the records is in cells whose noisy
counts exceed any noise; else to sums. Where nearly all records are alone in a cell, a posterior
mean is little more than what the model says, and a model that is wrong loses records."""


@dataclass(frozen=True, eq=False)
class End:
    """Where a fit ended, for another one to start from."""

    fit: BlocksFit
    by_cells: bool
    """Whether it was fitted to the cells, or to sums."""


@dataclass(frozen=True, eq=False)
class BlocksEstimate:
    """An `Estimate` whose values are computed when they are asked for, and never held together."""

    cells: Cells
    term: Term
    report: dict[str, Any]
    config: Config
    end: End

    def again(self, measurements: Measurements, published: Counts) -> BlocksEstimate:
        """The same of tables that are much the same; see `Estimate.again`."""
        del published
        return estimate_blocks(measurements, self.config, before=self.end)

    def afresh(self, measurements: Measurements, seed: int) -> BlocksEstimate:
        """The same from nothing."""
        del seed
        return estimate_blocks(measurements, self.config)

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """The values in the order of the cells, as (first cell, values) of blocks."""
        return self.cells.blocks([self.term])

    def round(self, seed: int) -> Counts:
        """Whole counts, by systematic rounding with a public seed; required totals hold."""
        return round_blocks(self.cells, self.term, seed)

    def support(self) -> None:
        """The values are not at hand."""


def estimate_blocks(
    measurements: Measurements,
    config: Config,
    *,
    threads: int | None = None,
    block_cells: int = BLOCK_CELLS,
    before: End | None = None,
) -> BlocksEstimate:
    """Fit one non-negative table of counts to the noisy tables, passing over its cells.

    `before` is where the fit to tables that were much the same ended: this one starts there.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: the same bytes for the same input, whatever the number of threads.
    Shapes and units: memory is that of the noisy table, one to four bytes a cell beside it, and
    tables of two groups of attributes.
    Raises: BugError if there is no table, or one does not have the size of its margin.
    """
    require_sizes(measurements, config.universe)
    full = cell_table(measurements, config.universe)
    others = [table for table in measurements.tables if table is not full]
    by_single = full is not None and suffice(config.universe, others)
    groups = Groups.of(config.universe, by_single=by_single)
    noisy, variance = None, math.inf
    if full is not None:
        decay = float(1 / full.event.noise_scale_records)
        noisy = NoisyCells.of(full.noisy_counts, decay=decay, block_cells=block_cells)
        variance = max(full.variance, LEAST_VARIANCE)
    rules = CellRules(groups, required_totals(config))
    threads = threads or default_threads()
    cells = Cells(groups, noisy, rules, threads=threads, block_cells=block_cells)
    parts = parts_of(groups)
    sums = PairSums.of(others, groups, parts, cells_variance=variance) if others else None
    possible = cells.possible_sums()
    noisy_sums = None if full is None else cells.count_sums(full.noisy_counts)
    of_cells = None
    if noisy_sums is not None:
        of_cells = float(noisy_sums.total()), variance * float(possible.total())
    number = number_of_records(measurements, config, of_cells)
    records = number.value
    base = math.log(max(records, 1.0) / max(1.0, possible.total()))
    tables = others if full is None else [full, *others]
    own = None if noisy_sums is None else partial(one_way, groups, noisy_sums)
    effects = main_effects(
        config.universe, tables, records, partial(one_way, groups, possible), own
    )
    # the constant is that of the first pair alone, whichever pair an attribute is in
    means = {axis: float(effect.mean()) for axis, effect in effects.items()}
    centred = {axis: effect - means[axis] for axis, effect in effects.items()}
    start = one_way_function(groups, centred).shifted(sum(means.values()))
    by_cells = noisy is not None and noisy.clear_records >= _LEAST_CLEAR_SHARE * records
    if before is not None:
        by_cells = before.by_cells
    if full is not None:
        learns = by_single and by_cells
        model = BlocksModel(cells, parts, sums, base=base, noise_variance=variance, learns=learns)
    if by_cells:
        fit = model.fit(start) if before is None else model.fit_again(before.fit)
        tried, cells = model.steps, model.cells
    else:
        known = None if full is None or noisy_sums is None else (full, noisy_sums)
        linear = PairSums.of(others, groups, parts, cells=known)
        parts = tuple(part.only(linear.components(i)) for i, part in enumerate(parts))
        linear = replace(linear, parts=parts)
        sums = linear if full is None else sums
        plain = Cells(groups, None, rules, threads=threads, block_cells=block_cells)
        by_sums = BlocksModel(plain, parts, linear, base=base, noise_variance=math.inf)
        fit = by_sums.fit(start) if before is None else by_sums.fit_again(before.fit)
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
            possible=float(possible.total()),
            number=number,
        )
        steps.append(report)
    elif noisy_sums is not None:
        term, report = anchor(
            cells, term, noisy_sums, possible, noise_variance=variance, number=number
        )
        steps.append(report)
    return BlocksEstimate(cells, term, {"steps": steps}, config, End(fit, by_cells))


# Rounding of a large universe: whole counts of the cells that are not empty.


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BITS = 30
"""Values are whole numbers of 2^-30 records before they are added up, so sums are exact."""
ONE = 1 << BITS


def round_blocks(cells: Cells, term: Term, seed: int) -> Counts:
    """Systematic rounding in cell order, as in `rounding.round_counts`, one block after another.

    Ensures: counts of impossible cells are 0 and required totals hold exactly. Running sums are
    those of whole numbers, so the result is the same for any size of the blocks and any number
    of threads, given the values.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    if cells.rules.atoms is None:
        found = _without_totals(cells, term, float(generator.random()))
    else:
        masses = np.zeros(cells.rules.atoms.count, dtype=np.int64)
        for first, values in cells.blocks([term]):
            atom_of = cells.atoms_of(first, values.size)
            units, inside = _units(values, atom_of)
            np.add.at(masses, atom_of[inside], units[inside])
        whole = _whole_totals(cells.rules.atoms, masses)
        offsets = generator.random(masses.size)
        found = _with_totals(cells, term, masses, whole, offsets)
    parts = list(found)
    universe = cells.groups.universe
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(part[0] for part in parts)])
    counts = np.concatenate([np.zeros(0, dtype=np.int64), *(part[1] for part in parts)])
    return Counts.of_cells(numbers, counts, universe.shape)


def _without_totals(cells: Cells, term: Term, u: float) -> Iterator[tuple[Ints, Ints]]:
    """out_i = floor(C_i + u) - floor(C_{i-1} + u), C the running sum over all cells."""
    carry = int(u * ONE)
    for first, values in cells.blocks([term]):
        values *= ONE
        running = np.rint(values, out=values).astype(np.int64)
        np.cumsum(running, out=running)
        running += carry
        before, carry = carry >> BITS, int(running[-1])
        running >>= BITS
        places = np.flatnonzero(np.diff(running, prepend=before))
        reached = running[places]
        yield places + first, np.diff(reached, prepend=before)


def _whole_totals(atoms: Atoms, masses: Ints) -> Ints:
    """Whole totals of the atoms that meet the required totals, nearest to these masses."""
    return whole_totals_near(atoms, masses / ONE)


def _units(values: Floats, atom_of: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """The values in units, at least one in every possible cell, so that no atom has no mass."""
    inside = atom_of >= 0
    units = np.where(inside, np.rint(values * ONE).astype(np.int64) + 1, 0)
    return units, inside


def _with_totals(
    cells: Cells, term: Term, masses: Ints, whole: Ints, offsets: Floats
) -> Iterator[tuple[Ints, Ints]]:
    """The same inside every atom, scaled to its whole total, which is then met exactly."""
    carry = np.zeros(masses.size, dtype=np.int64)
    scale = whole / np.maximum(masses, 1)
    for first, values in cells.blocks([term]):
        atom_of = cells.atoms_of(first, values.size)
        units, inside = _units(values, atom_of)
        order = np.flatnonzero(inside)
        if masses.size > 1:
            order = order[np.argsort(atom_of[order], kind="stable")]
        atom, units = atom_of[order], units[order]
        if not order.size:
            continue
        running = np.cumsum(units)
        starts = np.flatnonzero(np.diff(atom, prepend=-1))
        present = atom[starts]
        begun = running[starts] - units[starts]
        sizes = np.diff(starts, append=order.size)
        running += np.repeat(carry[present] - begun, sizes)

        def reached(mass: Ints, of: Ints) -> Ints:
            exact = np.minimum(np.floor(mass * scale[of] + offsets[of]), whole[of])
            return np.where(mass >= masses[of], whole[of], exact.astype(np.int64))

        level = reached(running, atom)
        counts = np.diff(level, prepend=0)
        counts[starts] = level[starts] - reached(carry[present], present)
        carry[present] = running[np.append(starts[1:], order.size) - 1]
        kept = np.flatnonzero(counts)
        kept = kept[np.argsort(order[kept], kind="stable")]
        yield order[kept] + first, counts[kept]
