"""The tilt of a large universe: expected counts that agree with the noisy sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.estimate.blockwise_pairs import PairTables
from synth.estimate.blockwise_pass import Cells
from synth.estimate.blockwise_scores import Score
from synth.estimate.blockwise_tables import PairSums
from synth.estimate.blockwise_terms import Term, Tilt
from synth.estimate.solver import solve

Floats = NDArray[np.float64]

SHAPE = 20.0
_ITERATIONS = 60
_TOLERANCE = 1e-2
_PASSES = 2


def tilt(
    cells: Cells,
    sums: PairSums,
    term: Term,
    variances: PairTables,
    *,
    noise_variance: float | None,
) -> tuple[Term, dict[str, Any]]:
    """Move expected counts with these variances towards the noisy sums; see `tilt.tilt`.

    The equations are the same; `variances` are sums over pairs of groups, and `noise_variance` is
    that of the cells, None where they were not measured.
    """
    spreads = sums.spreads(variances)
    gaps = sums.gaps(cells.sums([term]))
    powers: list[Floats | None] = [None if gap is None else np.zeros(gap.size) for gap in gaps]
    iterations, stop, promise = 0, "", 0.0
    firm = sums
    for _ in range(1 if noise_variance is None else _PASSES):
        firm = sums if noise_variance is None else sums.trusted(gaps, spreads)
        units = [None if each is None else np.sqrt(each.precision) for each in firm.coefficients]
        unit = _joined(units)
        spread = _joined(spreads)

        def field(point: Floats, firm: PairSums = firm, unit: Floats = unit) -> Floats:
            tilted = _tilted(term, firm, point * unit, noise_variance)
            return np.asarray(unit * _joined(firm.gaps(cells.sums([tilted]))) - point)

        def curvature(
            point: Floats, firm: PairSums = firm, unit: Floats = unit, spread: Floats = spread
        ) -> Floats:
            if noise_variance is None:  # then the variance of a count is its mean
                tilted = _tilted(term, firm, point * unit, None)
                spread = _joined(firm.spreads(cells.sums([tilted])))
            return np.asarray(1.0 + unit * unit * spread)

        with progress.stage(progress.Stage.ESTIMATION):
            solution = solve(
                field,
                _joined(powers) / unit,
                curvature,
                max_iterations=_ITERATIONS,
                tolerance=_TOLERANCE,
                overshoot=0.0,
            )
        iterations += solution.iterations
        stop, promise = solution.stop, solution.promise
        powers = firm.split(solution.point * unit)
        left = sums.gaps(cells.sums([_tilted(term, firm, _joined(powers), noise_variance)]))
        gaps = [
            None
            if gap is None or each is None or own is None
            else gap * (1.0 + own * each.precision)
            for gap, each, own in zip(left, firm.coefficients, spreads, strict=True)
        ]
    report = {
        "step": "tilt towards the noisy sums",
        "coefficients": int(_joined(powers).size),
        "iterations": iterations,
        "stop": stop,
        "promised_gain_nats": promise,
    }
    return _tilted(term, firm, _joined(powers), noise_variance), report


def _tilted(term: Term, sums: PairSums, powers: Floats, noise_variance: float | None) -> Term:
    def ratio_of(mean: Floats) -> Floats:
        """The variance of a count over its mean, once the noisy count is known."""
        if noise_variance is None:
            return np.ones(mean.shape)
        prior = mean + mean * mean / SHAPE
        return np.asarray((1.0 + mean / SHAPE) * (noise_variance / (prior + noise_variance)))

    ratio = None
    if noise_variance is not None:
        values = ratio_of(term.score.values.astype(np.float64)).astype(np.float32)
        ratio = Score(values, by_count=term.score.by_count)
    exponent = sums.expand(sums.split(powers)).single()
    return Term(term.score, term.log_mean, tilt=Tilt(ratio, ratio_of, exponent))


def _joined(parts: list[Floats | None]) -> Floats:
    return np.concatenate([part for part in parts if part is not None])
