"""The best split of a zCDP budget over candidate margins: a convex problem, solved to a known gap.

The cost of Gaussian noise is linear in its precision, so a share of the budget is a share of the
precision. The loss has degree -1 (variances) or -1/2 (absolute errors) in the shares s, and its
slope g satisfies s @ g = loss. Every step multiplies the shares by a power of g and rescales:
margins that help more than the average gain (Silvey, Titterington, Torsney 1978). For any shares,
1/loss (1/loss^2) is concave, which bounds the optimum from below by loss / max g times the loss,
or its root: the efficiency that is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.plan.objective import Objective

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ENOUGH = 0.9995
"""The efficiency at which the search ends."""
MOST_STEPS = 2000
SMALLEST_STEP, LARGEST_STEP = 0.5, 4.0
NEGLIGIBLE = 1e-3
"""A margin whose share is below this fraction of an equal share is given up, if that costs..."""
GIVEN_UP = 2e-4
"""...all of them together no more than this fraction of the loss."""


@dataclass(frozen=True, eq=False)
class Split:
    """Shares of a budget, one per candidate margin; they add up to 1.

    `efficiency`: the least possible loss is at least this fraction of `loss`; None if unknown.
    """

    shares: Floats
    loss: float
    efficiency: float | None
    steps: int


def optimal_split(objective: Objective) -> Split:
    """The shares of a linear (zCDP) budget that minimise the loss, up to the recorded gap.

    Requires: all candidates together measure every component with energy.
    """
    import numpy as np

    count = len(objective.information)
    root = 2 if objective.error == "absolute" else 1
    shares = np.full(count, 1 / count)
    loss, slope = objective.slope(shares)
    power, steps = 1.0, 0
    while steps < MOST_STEPS and loss / float(slope.max()) < ENOUGH**root:
        steps += 1
        moved = shares * (slope / loss) ** power
        moved /= moved.sum()
        new_loss, new_slope = objective.slope(moved)
        if new_loss <= loss:
            shares, loss, slope = moved, new_loss, new_slope
            power = min(LARGEST_STEP, 1.2 * power)
        elif power > SMALLEST_STEP:
            power = max(SMALLEST_STEP, power / 2)
        else:
            break  # a step of 1/2 never makes it worse but by rounding
    efficiency = (loss / float(slope.max())) ** (1 / root)
    shares, kept_loss = _without_negligible(objective, shares, loss)
    return Split(shares, kept_loss, efficiency * loss / kept_loss, steps)


def _without_negligible(objective: Objective, shares: Floats, loss: float) -> tuple[Floats, float]:
    """The shares without those that are next to nothing, and the loss then."""
    import numpy as np

    kept = np.where(shares < NEGLIGIBLE / len(shares), 0.0, shares)
    kept /= kept.sum()
    kept_loss = objective.loss(kept)
    return (kept, kept_loss) if kept_loss <= (1 + GIVEN_UP) * loss else (shares, loss)
