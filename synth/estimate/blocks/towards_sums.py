"""Anchoring of a large universe: where the estimate contradicts the noisy sums, move to them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.estimate.blocks.cells import Cells
from synth.estimate.blocks.groups import PAIRS, Groups, PairTables
from synth.estimate.blocks.scores import STEP, Score, Term, Tilt
from synth.estimate.blocks.sums import PairSums, joined
from synth.estimate.loglinear import SHAPE
from synth.estimate.number import Number
from synth.estimate.solver import Map, divided_by, solve
from synth.estimate.sums import sandwich
from synth.estimate.whole.towards_sums import (
    FALSE_ALARM,
    share_of,
)

Floats = NDArray[np.float64]

_SWEEPS = 4


def anchor(
    cells: Cells,
    term: Term,
    noisy: PairTables,
    possible: PairTables,
    *,
    noise_variance: float,
    number: Number,
) -> tuple[Term, dict[str, Any]]:
    """Rake to the number of records, and to the one-way sums that the expected counts contradict.

    The rule is that of `NoisySums.anchor`; `noisy` and `possible` hold the sums of the noisy counts
    and the numbers of possible cells. All tables are raked at once, a few times.
    """
    groups = cells.groups
    now = cells.sums([term])
    wanted = number.for_fit(now.total(), noise_variance, possible.total())
    scale = _scale(now.total(), wanted)
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
        part = share_of(gaps, FALSE_ALARM / len(groups.universe.shape))
        aim = np.maximum(fitted + part * gaps * deviation, 0.0)
        if part > 0.0 and aim.sum() > 0.0:
            aims[axis] = aim * (wanted / float(aim.sum()))
            shares[str(axis)] = part
    logs = {axis: np.zeros(aim.size) for axis, aim in aims.items()}
    raked = _raked(groups, term, logs, scale)
    kept, least, power = (logs, raked), math.inf, 1.0
    steps = logs
    for sweep in range(_SWEEPS + 1 if aims else 0):
        reached = cells.sums([raked])
        scale *= _scale(reached.total(), wanted)
        raked = _raked(groups, term, logs, scale)
        left = {axis: _log_ratio(aim, one_way(groups, reached, axis)) for axis, aim in aims.items()}
        worst = max(float(np.abs(gap).max()) for gap in left.values())
        if worst < least:
            kept, least, steps = (logs, raked), worst, left
        else:  # all tables at once went too far
            logs, power = kept[0], 0.5 * power
        if sweep < _SWEEPS:
            logs = {axis: log + power * steps[axis] for axis, log in logs.items()}
            raked = _raked(groups, term, logs, scale)
    raked = kept[1]
    report = {
        "step": "anchor to noisy sums that the fit contradicts",
        "one_way_shares": shares,
    }
    return raked, report


def _scale(total: float, wanted: float) -> float:
    """The factor from one to the other; 1 where there is nothing to scale."""
    return wanted / total if total > 0.0 else 1.0


def one_way(groups: Groups, sums: PairTables, axis: int) -> Floats:
    """The one-way table of an attribute, from sums over pairs of groups."""
    pair = groups.own_pair(frozenset({axis}))
    if pair is None:
        return np.zeros(groups.universe.shape[axis])
    axes = groups.pair_axes(pair)
    table = np.asarray(sums.tables[pair]).reshape([groups.universe.shape[a] for a in axes])
    rest = tuple(i for i, a in enumerate(axes) if a != axis)
    return np.asarray(table.sum(axis=rest), dtype=np.float64)


def one_way_function(groups: Groups, functions: dict[int, Floats]) -> PairTables:
    """The sum of one function for each of some attributes, as tables of pairs of groups."""
    tables: list[Floats | None] = [None, None, None]
    for pair, modelled in enumerate(groups.is_modelled):
        if not modelled:
            continue
        axes = groups.pair_axes(pair)
        table = np.zeros([groups.universe.shape[a] for a in axes])
        for place, axis in enumerate(axes):
            if axis in functions and groups.own_pair(frozenset({axis})) == pair:
                table += functions[axis].reshape(
                    [-1 if i == place else 1 for i in range(len(axes))]
                )
        i, j = PAIRS[pair]
        tables[pair] = table.reshape(groups.sizes[i], groups.sizes[j])
    return PairTables((tables[0], tables[1], tables[2]))


def _log_ratio(aim: Floats, fitted: Floats) -> Floats:
    """The log of the factors from one table's shares to another's; 0 where there is no share."""
    both = (aim > 0.0) & (fitted > 0.0)
    ratio = np.divide(aim, fitted, out=np.ones(aim.size), where=both)
    total = float(fitted.sum()) / float(aim.sum()) if both.any() else 1.0
    return np.where(both, np.log(ratio * total), 0.0)


def _raked(groups: Groups, term: Term, logs: dict[int, Floats], scale: float) -> Term:
    """The term times the scale and one factor for every code of these attributes."""
    if not logs and scale == 1.0:
        return term
    exponents = one_way_function(groups, logs).shifted(math.log(max(scale, 1e-300)))
    return replace(term, factor=exponents.of_each(np.exp).single())


# The tilt of a large universe: expected counts that agree with the noisy sums.


_ITERATIONS = 60
_SHORTENING = 0.25
_TOLERANCE = 0.1
_PASSES = 2
_LARGEST_MATRIX = 1000
"""Up to this many coefficients of one-way tables their common variance is a full matrix. Without it
a column of a hundred codes, most of them empty, takes a hundred passes over the cells."""
_REFRESH = 5
"""After so many steps the variances are renewed: that takes about half a pass."""


def tilt(
    cells: Cells,
    sums: PairSums,
    term: Term,
    variances: PairTables,
    *,
    noise_variance: float | None,
    possible: float,
    number: Number,
) -> tuple[Term, dict[str, Any]]:
    """Move expected counts with these variances to the noisy sums, and scale them to the number.

    The equations are those of `whole.towards_sums.tilt`; `variances` are sums over pairs of groups,
    and `noise_variance` is that of the cells, None where they were not measured.
    """
    spreads = sums.spreads(variances)
    expected = cells.sums([term])
    gaps = sums.gaps(expected)
    powers: list[Floats | None] = [None if gap is None else np.zeros(gap.size) for gap in gaps]
    iterations, stop, promise = 0, "", 0.0
    singles = sums.singles()
    firm, tilted = sums, _Tilted(cells, sums, term, noise_variance, joined(powers), expected)
    for _ in range(1 if noise_variance is None else _PASSES):
        firm = sums if noise_variance is None else sums.trusted(gaps, spreads)
        unit = np.sqrt(firm.precision)

        def field(point: Floats, firm: PairSums = firm, unit: Floats = unit) -> Floats:
            return np.asarray(unit * joined(firm.gaps(tilted.sums(point * unit))) - point)

        def divider(point: Floats, unit: Floats = unit) -> Map:
            now = tilted.sums(point * unit)
            if noise_variance is not None:  # a variance moves about as its count does
                now = variances.with_each(now.with_each(expected, _ratio), np.multiply)
            common = common_variance(sums, now)
            if common is not None:
                return divided_by(np.eye(unit.size) + unit[:, None] * common * unit)
            if singles is None:
                return divided_by(1.0 + unit * unit * joined(sums.spreads(now)))
            single = [one_way(sums.groups, now, each.axis) for each in singles.axes]
            return singles.divider_in_units(single, unit)

        with progress.stage(progress.Stage.ESTIMATION):
            solution = solve(
                field,
                joined(powers) / unit,
                divider,
                max_iterations=_ITERATIONS,
                tolerance=_TOLERANCE,
                shortening=_SHORTENING,
                refresh=_REFRESH,
            )
        iterations += solution.iterations
        stop, promise = solution.stop, solution.promise
        powers = firm.split(solution.point * unit)
        left = sums.gaps(tilted.sums(joined(powers)))
        gaps = [
            None
            if gap is None or each is None or own is None
            else gap * (1.0 + own * each.precision)
            for gap, each, own in zip(left, firm.coefficients, spreads, strict=True)
        ]
    report = {
        "step": "tilt towards the noisy sums",
        "coefficients": int(joined(powers).size),
        "iterations": iterations,
        "stop": stop,
        "promised_gain_nats": promise,
    }
    total = tilted.sums(joined(powers)).total()
    variance = math.inf if noise_variance is None else noise_variance
    wanted = number.for_fit(total, variance, possible)
    scale = _scale(total, wanted)
    return _raked(cells.groups, tilted.at(joined(powers)), {}, scale), report


class _Tilted:
    """The term moved by powers; the sums at the last ones are remembered."""

    def __init__(
        self,
        cells: Cells,
        sums: PairSums,
        term: Term,
        noise_variance: float | None,
        powers: Floats,
        expected: PairTables,
    ) -> None:
        """`expected` are the sums of the term itself, at powers of zero."""
        self._cells, self._sums, self._term = cells, sums, term
        self._noise_variance = noise_variance
        self._last = powers, expected

    def at(self, powers: Floats) -> Term:
        """The term with these powers."""
        return _tilted(self._term, self._sums, powers, self._noise_variance)

    def sums(self, powers: Floats) -> PairTables:
        """Its sums over the cells of every pair of groups."""
        if not np.array_equal(powers, self._last[0]):
            self._last = powers, self._cells.sums([self.at(powers)])
        return self._last[1]


def common_variance(sums: PairSums, variances: PairTables) -> Floats | None:
    """The common variance of all coefficients of one-way tables, from the variances of the cells.

    `variances` are sums over pairs of groups. None where a table of several attributes was
    measured, some two attributes share no pair, or there are too many coefficients.
    """
    groups = sums.groups
    if sum(each.places.size for each in sums.coefficients if each is not None) > _LARGEST_MATRIX:
        return None
    held: list[tuple[int, Floats, NDArray[np.int64]]] = []
    size = 0
    for part, each in zip(sums.parts, sums.coefficients, strict=True):
        if each is None:
            continue
        placed = np.zeros(each.places.size, dtype=bool)
        for local, axis in enumerate(groups.pair_axes(part.pair)):
            basis = each.interactions.axes[local]
            margin = [basis.depth if i == local else 0 for i in range(len(each.interactions.axes))]
            places = each.interactions.margin_places(margin)
            rows = np.flatnonzero(np.isin(each.places, places) & ~placed)
            placed[rows] = True
            functions = basis.forward(np.eye(basis.size), basis.depth)
            functions = functions[np.searchsorted(places, each.places[rows])]
            others = each.interactions.size / basis.size
            held.append((axis, functions / math.sqrt(others), size + rows))
        size += placed.size
        if not placed.all():
            return None
    matrix = np.zeros((size, size))
    for axis, functions, rows in held:
        for other, others_functions, columns in held:
            if rows.size and columns.size:
                table = _two_way(groups, variances, axis, other)
                if table is None:
                    return None
                block = sandwich(functions, table, others_functions)
                matrix[np.ix_(rows, columns)] = block
    return 0.5 * (matrix + matrix.T)


def _ratio(now: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
    """One over the other; 1 where there is nothing to divide by."""
    return np.asarray(np.divide(now, before, out=np.ones(now.shape), where=before > 0.0))


def _two_way(groups: Groups, sums: PairTables, axis: int, other: int) -> Floats | None:
    """The table of two attributes, from sums over pairs of groups; of one, on the diagonal."""
    if axis == other:
        return np.diag(one_way(groups, sums, axis))
    pair = groups.own_pair(frozenset({axis, other}))
    if pair is None:
        return None
    axes = groups.pair_axes(pair)
    table = np.asarray(sums.tables[pair]).reshape([groups.universe.shape[a] for a in axes])
    rest = tuple(i for i, a in enumerate(axes) if a not in (axis, other))
    two = np.asarray(table.sum(axis=rest), dtype=np.float64)
    return two if axis < other else two.T


def _tilted(term: Term, sums: PairSums, powers: Floats, noise_variance: float | None) -> Term:
    exponent = sums.expand(sums.split(powers))
    if noise_variance is None:  # a mean moves by its exponent: it stays a product
        places = exponent.of_each(lambda table: table / STEP)
        return replace(term, log_mean=term.log_mean.with_each(places.single(), np.add))

    def ratio_of(mean: Floats) -> Floats:
        """The variance of a count over its mean, once the noisy count is known."""
        prior = mean + mean * mean / SHAPE
        return np.asarray((1.0 + mean / SHAPE) * (noise_variance / (prior + noise_variance)))

    values = ratio_of(term.score.values.astype(np.float64)).astype(np.float32)
    ratio = Score(values, by_count=term.score.by_count)
    return Term(term.score, term.log_mean, tilt=Tilt(ratio, ratio_of, exponent.single()))
