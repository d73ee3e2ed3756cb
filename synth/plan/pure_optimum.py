"""A good split of a pure budget over candidate margins: several starts, tables given up in turn.

The epsilons of Laplace noise add up, and the precision of a table is cosh(r) - 1 at the rate
r = epsilon / sensitivity: about r^2 / 2 for small rates. Such a budget is better spent on few
tables, and the problem is not convex: a split that cannot be improved by small changes need not be
the best one. So the search starts from several splits and tries to do without tables, many at
once and then one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synth.plan.objective import Objective
from synth.plan.optimum import Split, optimal_split

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LARGEST_RATE = 256.0
"""Where the noise is next to none, and cosh is still far from overflowing."""
MOST_STEPS = 200
SETTLED = 1e-5
"""A step that improves the loss by less than this fraction ends the search."""
SMALLEST_POWER = 1 / 64
MANY = 200
"""With more candidates than this, fewer starts are tried."""
ONE_BY_ONE = 64
"""With at most so many tables left, each is tried alone."""
UNMEASURED = 1e90
"""No workload that is measured has a loss like this."""


def precision_of_rate(rates: Floats) -> Floats:
    """The noise precision of discrete Laplace noise: 1 / variance = (1-a)^2 / (2a), a = exp(-r)."""
    import numpy as np

    return 2 * np.sinh(np.minimum(rates, LARGEST_RATE) / 2) ** 2


def pure_split(objective: Objective, rate: float) -> Split:
    """The best shares found of a pure budget with this rate (epsilon / sensitivity) in all.

    Ensures: deterministic; never worse than equal shares for all candidates, for the most
    detailed ones, or any single candidate that answers everything.
    """
    import numpy as np

    count = len(objective.information)
    linear = optimal_split(objective).shares
    helpful = (objective.information > 0).sum(axis=1)
    starts = [_equal(helpful == helpful.max()), np.cbrt(linear) / np.cbrt(linear).sum()]
    if count <= MANY:
        starts += [np.full(count, 1 / count), linear]
    alone = objective.losses(precision_of_rate(rate * np.eye(count)))
    starts.append(np.eye(count)[int(alone.argmin())])
    found = [
        _fewer(objective, rate, *_descent(objective, rate, start))
        for start in starts
        if _loss(objective, rate, start) < UNMEASURED
    ]
    shares, loss = min(found, key=lambda pair: pair[1])
    return Split(shares, loss, None, len(found))


def _loss(objective: Objective, rate: float, shares: Floats) -> float:
    return objective.loss(precision_of_rate(rate * shares))


def _descent(objective: Objective, rate: float, shares: Floats) -> tuple[Floats, float]:
    """Multiply the shares by powers of their slope while that helps."""
    import numpy as np

    loss = _loss(objective, rate, shares)
    power = 1 / 3
    for _ in range(MOST_STEPS):
        rates = np.minimum(rate * shares, LARGEST_RATE)
        slope = objective.slope(precision_of_rate(rates))[1] * np.sinh(rates)
        moved = shares * (slope / slope.max()) ** power
        moved /= moved.sum()
        moved_loss = _loss(objective, rate, moved)
        if moved_loss < loss:
            settled = moved_loss > (1 - SETTLED) * loss
            shares, loss = moved, moved_loss
            power = min(1.0, 1.2 * power)
            if settled:
                break
        elif power > SMALLEST_POWER:
            power /= 2
        else:
            break
    return shares, loss


def _fewer(objective: Objective, rate: float, shares: Floats, loss: float) -> tuple[Floats, float]:
    """Give up tables as long as that helps: the smaller half, then the least useful one."""
    import numpy as np

    while True:
        active = np.flatnonzero(shares)
        if len(active) == 1:
            return shares, loss
        order = active[np.argsort(shares[active], kind="stable")]
        trials = [order[: len(order) // 2]]
        if len(active) <= MANY:
            trials.append(order[: len(order) // 8])
        if len(active) <= ONE_BY_ONE:
            without = np.where(np.eye(len(shares), dtype=bool)[active], 0.0, shares)
            without /= without.sum(axis=1, keepdims=True)
            losses = objective.losses(precision_of_rate(rate * without))
            trials.append(active[losses.argmin()][None])
        for trial in trials:
            kept = shares.copy()
            kept[trial] = 0.0
            kept /= kept.sum()
            if not len(trial) or _loss(objective, rate, kept) >= UNMEASURED:
                continue
            kept, kept_loss = _descent(objective, rate, kept)
            if kept_loss < loss:
                shares, loss = kept, kept_loss
                break
        else:
            return shares, loss


def _equal(chosen: NDArray[np.bool_]) -> Floats:
    shares: Floats = chosen / chosen.sum()
    return shares
