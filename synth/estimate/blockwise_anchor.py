"""Anchoring of a large universe: where the estimate contradicts the noisy sums, move to them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.anchoring import FALSE_ALARM_TABLES, FALSE_ALARM_TOTAL, share_of
from synth.estimate.blockwise_groups import PAIRS, Groups
from synth.estimate.blockwise_pairs import PairTables
from synth.estimate.blockwise_pass import Cells, Term

Floats = NDArray[np.float64]

_SWEEPS = 4


def anchor(
    cells: Cells, term: Term, noisy: PairTables, possible: PairTables, *, noise_variance: float
) -> tuple[Term, dict[str, Any]]:
    """Rake to the total and the one-way sums that the expected counts contradict.

    The rule is that of `anchoring.NoisySums.anchor`; `noisy` and `possible` hold the sums of the
    noisy counts and the numbers of possible cells. All tables are raked at once, a few times.
    """
    groups = cells.groups
    now = cells.sums([term])
    total, noisy_total = now.total(), noisy.total()
    noise = math.sqrt(noise_variance * max(1.0, possible.total()))
    gap = (noisy_total - total) / noise
    share = share_of(np.array([gap]), FALSE_ALARM_TOTAL)
    wanted_total = max(0.0, total + share * gap * noise)
    scale = wanted_total / total if total > 0.0 else 1.0
    aims: dict[int, Floats] = {}
    shares: dict[str, float] = {}
    for axis, size in enumerate(groups.universe.shape):
        if size < 2:
            continue
        fitted = scale * one_way(groups, now, axis)
        count = one_way(groups, possible, axis)
        deviation = np.sqrt(noise_variance * np.maximum(count, 1.0))
        gaps = (one_way(groups, noisy, axis) - fitted) / deviation
        gaps[count == 0.0] = 0.0
        part = share_of(gaps, FALSE_ALARM_TABLES / len(groups.universe.shape))
        aim = np.maximum(fitted + part * gaps * deviation, 0.0)
        if part > 0.0 and aim.sum() > 0.0:
            aims[axis] = aim * (wanted_total / float(aim.sum()))
            shares[str(axis)] = part
    factors = {axis: np.ones(aim.size) for axis, aim in aims.items()}
    raked = _raked(groups, term, factors, scale)
    for _ in range(_SWEEPS if aims else 0):
        reached = cells.sums([raked])
        for axis, aim in aims.items():
            fitted = one_way(groups, reached, axis)
            factors[axis] *= np.divide(aim, fitted, out=np.ones(aim.size), where=fitted > 0.0)
        raked = _raked(groups, term, factors, scale)
    report = {
        "step": "anchor to noisy sums that the fit contradicts",
        "total_factor": scale,
        "total_share": share,
        "one_way_shares": shares,
    }
    return raked, report


def one_way(groups: Groups, sums: PairTables, axis: int) -> Floats:
    """The one-way table of an attribute, from sums over pairs of groups."""
    pair = groups.own_pair(frozenset({axis}))
    if pair is None:
        return np.zeros(groups.universe.shape[axis])
    axes = groups.pair_axes(pair)
    table = np.asarray(sums.tables[pair]).reshape([groups.universe.shape[a] for a in axes])
    rest = tuple(i for i, a in enumerate(axes) if a != axis)
    return np.asarray(table.sum(axis=rest), dtype=np.float64)


def _raked(groups: Groups, term: Term, factors: dict[int, Floats], scale: float) -> Term:
    """The term times the scale and one factor for every code of these attributes."""
    if not factors and scale == 1.0:
        return term
    tables: list[Floats | None] = [None, None, None]
    first = True
    for pair, modelled in enumerate(groups.is_modelled):
        if not modelled:
            continue
        axes = groups.pair_axes(pair)
        table = np.full([groups.universe.shape[a] for a in axes], scale if first else 1.0)
        first = False
        for place, axis in enumerate(axes):
            if axis in factors and groups.own_pair(frozenset({axis})) == pair:
                shape = [-1 if i == place else 1 for i in range(len(axes))]
                table *= factors[axis].reshape(shape)
        i, j = PAIRS[pair]
        tables[pair] = table.reshape(groups.sizes[i], groups.sizes[j])
    return replace(term, factor=PairTables((tables[0], tables[1], tables[2])).single())
