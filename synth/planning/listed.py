"""Dense or sparse: the public rule, and the table that lists some cells of the universe only.

A universe is measured cell by cell up to `DENSE_LIMIT_CELLS`, unless `strategy: sparse` asks for a
list. Above it every noisy cell would take memory, so only cells whose noisy count reaches a
threshold are listed; smaller tables are measured beside them. The threshold follows from the size
of the universe and the budget (`allowed_false_cells`), never from the data, not even their number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from synth.domain import DENSE_LIMIT_CELLS, Margin
from synth.noise import DiscreteLaplace
from synth.noise.mechanism import threshold_of_delta
from synth.noise.survivors import BelowThreshold, smallest_threshold
from synth.planning.problem import Problem
from synth.privacy import TableEvent, sensitivity_l1
from synth.privacy.accounting import PARTITION_SELECTION

FALSE_CELLS = 10_000
"""At most so many empty cells are expected to be listed, whatever the data.

They cost the threshold little: ten times fewer would raise it by ln(10) noise scales, 2.3 records
at epsilon 1. They cost no accuracy that the law of the noise does not explain: a listed count near
the threshold is taken for what it probably is. Ten thousand cells are drawn, written and fitted
in a fraction of a second.
"""
FALSE_SHARE = Fraction(1, 100)
"""And at most this part of all cells: in a small universe ten thousand would be most of the list,
and would ask the fit to tell a few records from noise at every twelfth cell."""
LISTED_SHARES = tuple(Fraction(percent, 100) for percent in (10, 25, 50))
"""What part of epsilon the list may get, where tables are measured beside it."""
DELTA_SHARE = Fraction(1, 2)
"""The part of delta that the list gets where the tables beside it have Gaussian noise."""
SPARSE: Final = "sparse"
"""The word under `strategy` that asks for a list below the limit, too."""
ZIPF = 1.2
"""The k-th largest cell is expected to hold n / k^1.2 records, divided by the sum of k^-1.2."""


def is_sparse(problem: Problem) -> bool:
    """Whether cells of the universe are listed instead of measured one by one."""
    return problem.universe.size > DENSE_LIMIT_CELLS or problem.strategy == SPARSE


def allowed_false_cells(cells: int) -> Fraction:
    """How many empty cells of a universe may be expected to be listed.

    Privacy: a function of the size of the universe.
    """
    return min(Fraction(FALSE_CELLS), FALSE_SHARE * cells)


def listing_event(problem: Problem, epsilon: Fraction, delta: Fraction) -> TableEvent:
    """The event of the list, with the lower of the thresholds that the budget allows.

    With delta 0, every cell gets noise and the threshold keeps the expected number of listed empty
    cells at `allowed_false_cells`. With delta > 0, partition selection is taken where its threshold
    is lower: it lists no empty cell.

    Privacy: a function of public numbers.
    """
    full: Margin = problem.full
    cells, sensitivity = problem.universe.size, sensitivity_l1(problem.privacy)
    law = DiscreteLaplace(epsilon, sensitivity)
    threshold = smallest_threshold(law, cells=cells, false_cells=allowed_false_cells(cells))
    if delta:
        selecting = threshold_of_delta(law, delta=delta)
        if selecting <= threshold:
            return TableEvent(
                full.names,
                cells,
                sensitivity,
                epsilon,
                PARTITION_SELECTION,
                threshold=selecting,
                delta=delta,
            )
    return TableEvent(full.names, cells, sensitivity, epsilon, threshold=threshold)


def expected_false_cells(event: TableEvent) -> float | None:
    """How many empty cells would be listed on average if all were empty; None for other tables."""
    if event.threshold is None or event.epsilon is None:
        return None
    if event.mechanism == PARTITION_SELECTION:
        return 0.0
    law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    low, high = BelowThreshold(law.alpha, event.threshold).survival_bounds(
        64 + event.cells.bit_length()
    )
    return float(Fraction(low + high, 2 << 64 + event.cells.bit_length()) * event.cells)


def stored_cells(event: TableEvent, records: int) -> int:
    """About how many noisy counts a table holds, and at most, if records are all alone."""
    false = expected_false_cells(event)
    return event.cells if false is None else min(event.cells, math.ceil(false) + records)


def unlisted_share(event: TableEvent, records: int) -> float:
    """About what part of the records lies in cells below the threshold; serves to choose only.

    With counts that fall as k^-1.2, the first K cells hold at least the threshold, and together
    about H(K) / H(cells) of the records, H(k) being the sum of the first k powers.
    """
    if event.threshold is None:
        return 0.0
    everything = _zipf_sum(float(event.cells))
    heavy = math.pow(records / (everything * event.threshold), 1 / ZIPF)
    return 1.0 if heavy < 1 else max(0.0, 1 - _zipf_sum(heavy) / everything)


def _zipf_sum(cells: float) -> float:
    """1 + 2^-1.2 + ... + cells^-1.2: a few terms, and the integral of the others."""
    first = min(int(cells), 100)
    total = math.fsum(rank**-ZIPF for rank in range(1, first + 1))
    if cells <= first:
        return total
    ends = math.pow(first + 0.5, 1 - ZIPF) - math.pow(cells + 0.5, 1 - ZIPF)
    return total + ends / (ZIPF - 1)
