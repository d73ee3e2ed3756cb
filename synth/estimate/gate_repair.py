"""What happens at the gate: counts that contradict the noisy tables are mended, or refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Universe
from synth.domain.counts import Counts, cell_order, cell_words, is_possible, margin_cells, new_cells
from synth.errors import ContradictionError
from synth.estimate.any_size import Estimate
from synth.estimate.gate import Sums, Verdict, constraints_contradict, judge
from synth.estimate.listed.estimate import ListedEstimate, estimate_from_list, records_of_model
from synth.estimate.listed.support import Support, with_atoms
from synth.estimate.listed.tables import sums_of
from synth.estimate.rounding import rake, required_totals
from synth.estimate.sums import cell_table
from synth.measurements import MeasuredTable, Measurements
from synth.noise import DiscreteLaplace
from synth.noise.survivors import smallest_threshold
from synth.planning.listed import allowed_false_cells

Floats = NDArray[np.float64]

AGREE = "agree"
RAKED = "raked"
REBUILT = "rebuilt"
EXCUSED = "public knowledge"

ATTEMPTS = 6
"""How often counts are raked, rounded and judged again."""
_SWEEPS = 12
_FEWEST_SWEEPS = 3
_MOST_WORK = 400_000_000
"""Weights times margins that are moved in one attempt, about; bounds the time to a few seconds."""
_NEW_CELLS = 64
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_MOST = 20.0
"""One move makes no weight larger or smaller by more than this factor."""
_UNUSUAL = 4.0
"""Gaps of so many standard deviations are not left to noise."""


@dataclass(frozen=True, eq=False)
class Gated:
    """Counts that may be published, and what the gate has to say of them.

    `report` is plain JSON: the verdict on these counts, the outcome, and if they were mended
    also the verdict on those that were not published.
    """

    counts: Counts
    report: dict[str, Any]

    @property
    def drawn(self) -> bool:
        """Whether the public seed of drawn cells was used."""
        return bool(self.report["outcome"] == REBUILT)

    @property
    def is_excused(self) -> bool:
        """Whether no counts with the required totals could agree with the noisy tables."""
        return bool(self.report["outcome"] == EXCUSED)


@dataclass(frozen=True)
class PublicSeeds:
    """The public seeds that mending may need."""

    drawn: int
    rounding: int


def gated(
    counts: Counts,
    fitted: Estimate,
    measurements: Measurements,
    config: Config,
    seeds: PublicSeeds,
) -> Gated:
    """Let the counts pass, or mend them until they do.

    First the fitted values are raked to the sums that the counts contradict; where that is not
    enough, a new table is made of the sums alone and the cells that are beyond any noise.
    `fitted` is what was rounded to the counts.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: deterministic. Impossible cells stay empty and required totals hold exactly.
    Raises: ContradictionError if nothing helps.
    """
    verdict = judge(counts, measurements, config)
    if verdict.passes:
        return Gated(counts, _report(verdict, AGREE))
    if constraints_contradict(measurements, config):
        return Gated(counts, _report(verdict, EXCUSED))
    outcome, support = RAKED, fitted.support() or Support.of(counts)
    mended, found = _rake(support, verdict, measurements, config, seeds)
    if not found.passes:
        outcome = REBUILT
        mended, found = _rebuild(measurements, config, seeds)
    if not found.passes and _would_pass(support, verdict, measurements, config, seeds):
        return Gated(counts, _report(verdict, EXCUSED))
    if not found.passes:
        raise ContradictionError.of_release()
    return Gated(mended, _report(found, outcome, verdict))


def _would_pass(
    support: Support,
    verdict: Verdict,
    measurements: Measurements,
    config: Config,
    seeds: PublicSeeds,
) -> bool:
    """Whether counts that need not respect public knowledge would agree with the noisy tables."""
    if not config.universe.impossible and not required_totals(config):
        return False
    free = replace(
        config,
        universe=Universe(config.universe.attributes),
        public_totals=(),
        output=replace(config.output, rows=None),
    )
    _, raked = _rake(support, verdict, measurements, free, seeds)
    return raked.passes or _rebuild(measurements, free, seeds)[1].passes


def _report(verdict: Verdict, outcome: str, before: Verdict | None = None) -> dict[str, Any]:
    report: dict[str, Any] = {"outcome": outcome, **verdict.to_plain()}
    if before is not None:
        report["before"] = before.to_plain()
    return report


def _rake(
    support: Support,
    verdict: Verdict,
    measurements: Measurements,
    config: Config,
    seeds: PublicSeeds,
) -> tuple[Counts, Verdict]:
    """Rake, round and judge, with more margins each time if others are contradicted then."""
    universe = config.universe
    wanted: dict[tuple[int, Any], Sums] = {}
    own = [
        np.bincount(codes, support.values, size).astype(np.float64)
        for codes, size in zip(support.columns, universe.shape, strict=True)
    ]
    for _ in range(ATTEMPTS):
        for each in verdict.contradicted:
            wanted.setdefault((each.number, each.margin), each)
        support = _with_cells(support, verdict.contradicted, universe)
        support = support.with_values(_moved(support, [*wanted.values()], universe, own))
        mended = _rounded(support, config, seeds)
        verdict = judge(mended, measurements, config)
        if verdict.passes:
            break
    return mended, verdict


def _with_cells(support: Support, sums: Sequence[Sums], universe: Universe) -> Support:
    """Cells added where a contradicted margin has records and the support has none to scale.

    Each such cell of the margin gets cells of the support, spread over it, with its own codes.
    """
    have = support.values.size
    if not have:
        return support
    columns, values = [list(support.columns)], [support.values]
    for each in sums:
        cells = margin_cells(support.columns, universe, each.margin)
        now = np.bincount(cells, weights=support.values, minlength=each.noisy.size)
        least = 3.0 * math.sqrt(each.variance)
        missing = np.flatnonzero((now * _MOST < each.noisy) & (each.noisy > least))
        if not each.margin.names or not missing.size:
            continue
        codes = np.unravel_index(missing, each.margin.shape(universe))
        # as many cells as records, so that rounding has hardly anything to decide
        copies = np.clip(np.rint(each.noisy[missing]), 1, min(have, _NEW_CELLS)).astype(np.int64)
        turns = np.arange(copies.sum()) * _GOLDEN % 1.0
        pattern = (turns * have).astype(np.int64)
        own = [column[pattern] for column in support.columns]
        for name, step, code in zip(each.margin.names, each.margin.coarsening, codes, strict=True):
            axis = universe.names.index(name)
            groups = np.asarray(universe.attributes[axis].groups(step))
            first = np.array([np.flatnonzero(groups == group)[0] for group in code])
            own[axis] = np.repeat(first, copies).astype(own[axis].dtype)
        possible = is_possible(own, universe)
        columns.append([column[possible] for column in own])
        weight = np.repeat(each.noisy[missing] / (_MOST * copies), copies)
        values.append(weight[possible])
    if len(columns) == 1:
        return support
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    weights = np.concatenate(values)
    words = cell_words(joined, universe.shape)
    order = cell_order(words)
    starts = np.flatnonzero(new_cells([word[order] for word in words]))
    kept = order[starts]
    merged = np.add.reduceat(weights[order], starts)
    return Support(tuple(c[kept] for c in joined), merged, np.zeros(kept.size, dtype=bool))


def _moved(
    support: Support,
    sums: Sequence[Sums],
    universe: Universe,
    own: Sequence[Floats],
) -> Floats:
    """Weights whose margins are nearer to the noisy sums: those known best come last.

    A margin moves by what noise does not explain of its gaps, so that noise is not copied where
    nothing is contradicted. Before every round columns get their `own` sums back, unless their
    margin moves, or the total, and those of no margin that moves at the end, too: weights that move
    far, at random as far as other columns go, would make a noise of their own there.
    """
    values = support.values.copy()
    known = sorted(sums, key=lambda each: -each.variance)
    moving = {each.margin.names for each in sums}
    keep_total = () not in moving
    steady = [
        (name, codes, before)
        for name, codes, before in zip(universe.names, support.columns, own, strict=True)
        if keep_total and (name,) not in moving
    ]
    touched = {name for names in moving for name in names}
    sweeps = _MOST_WORK // (max(1, values.size) * max(1, len(known) + len(steady)))
    for _ in range(min(max(sweeps, _FEWEST_SWEEPS), _SWEEPS)):
        for _, codes, before in steady:
            _keep(values, codes, before)
        for each in known:
            cells = margin_cells(support.columns, universe, each.margin)
            size = each.noisy.size
            now = np.bincount(cells, weights=values, minlength=size)
            gap = np.asarray(each.noisy - now, dtype=np.float64)
            aim = np.maximum(now + _beyond_noise(gap, each.variance), now / _MOST)
            if each.margin.names and (keep_total or aim.sum() > 0.0):
                aim *= float(now.sum()) / max(float(aim.sum()), 1e-300)
            factor = np.where(now > 0.0, _MOST, 1.0)
            np.divide(aim, now, out=factor, where=now * _MOST > aim)
            if each.margin.names:  # what no weight is there for goes to the others
                factor *= float(now.sum()) / max(float((now * factor).sum()), 1e-300)
            values *= factor[cells]
    for name, codes, before in steady:
        if name not in touched:
            _keep(values, codes, before)
    return values


def _keep(values: Floats, codes: NDArray[Any], before: Floats) -> None:
    """Bring the sums of the weights over the codes of a column back to what they were."""
    now = np.bincount(codes, values, before.size)
    values *= np.divide(before, now, out=np.ones(now.size), where=now > 0.0)[codes]


def _beyond_noise(gap: Floats, variance: float) -> Floats:
    """The least move, in all, that leaves no more of the gaps than noise explains.

    That is what exceeds a limit in every cell (soft thresholding): the highest one that leaves
    squared gaps of one variance for each cell and `_UNUSUAL` standard deviations of their sum
    more, and none beyond so many standard deviations.
    """
    rising = np.sort(np.abs(gap))
    below = np.concatenate([[0.0], np.cumsum(rising * rising)[:-1]])
    beyond = np.arange(rising.size, 0, -1)
    kept = below + beyond * rising * rising  # with a limit at each of the gaps
    allowed = variance * (gap.size + _UNUSUAL * math.sqrt(2.0 * gap.size))
    first = int(np.searchsorted(kept, allowed, side="right"))
    limit = _UNUSUAL * math.sqrt(variance)
    if first < rising.size:
        over = max(0.0, allowed - float(below[first]))
        limit = min(limit, math.sqrt(over / float(beyond[first])))
    return np.asarray(np.sign(gap) * np.maximum(np.abs(gap) - limit, 0.0))


def _rebuild(
    measurements: Measurements, config: Config, seeds: PublicSeeds
) -> tuple[Counts, Verdict]:
    """Latent classes of the noisy sums, and the cells that are beyond any noise."""
    universe = config.universe
    listing = next((table for table in measurements.tables if table.codes is not None), None)
    full = cell_table(measurements, universe)
    if listing is None and full is not None:
        listing = _listed(full, universe)
    tables = [
        each
        for table in measurements.tables
        if table.codes is None
        for each in sums_of(table, universe)
    ]
    records = records_of_model(measurements, config, listing)
    estimate = estimate_from_list(listing, tables, config, records=records, seed=seeds.drawn)
    mended = estimate.round(seeds.rounding)
    found = judge(mended, measurements, config)
    if not found.passes:
        mended, found = _rake(estimate.support(), found, measurements, config, seeds)
    return mended, found


def _listed(full: MeasuredTable, universe: Universe) -> MeasuredTable:
    """The cells of a measured universe that a list would hold."""
    event = full.event
    law = DiscreteLaplace(event.epsilon or Fraction(0), event.sensitivity_l1)
    threshold = smallest_threshold(
        law, cells=event.cells, false_cells=allowed_false_cells(event.cells)
    )
    cells = np.flatnonzero(np.asarray(full.noisy_counts) >= threshold)
    codes = np.stack(universe.codes(cells), axis=1).astype(np.int64)
    possible = is_possible(tuple(codes.T), universe)
    return replace(
        full,
        event=replace(event, threshold=threshold),
        noisy_counts=np.asarray(full.noisy_counts)[cells[possible]].astype(np.int64),
        codes=codes[possible],
    )


def _rounded(support: Support, config: Config, seeds: PublicSeeds) -> Counts:
    """Whole counts of the weights, with the required totals met."""
    support, atoms = with_atoms(support, config)
    values = support.values
    if atoms is not None:
        values, _ = rake(values, atoms, np.ones(values.size))
    return ListedEstimate(support.columns, values, atoms, {}).round(seeds.rounding)
