"""The selection boundary: the one place where secret counts decide which table is measured."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from synth.errors import BugError
from synth.noise import NoiseStream, permute_and_flip
from synth.plan.adaptive import Candidate, Round

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RECORDS = 1 << 40
"""A cell of a guess counts as no more: so sums over all cells stay whole 64-bit numbers."""


def choose_table(
    sensitive_tables: Mapping[int, NDArray[np.int64]],
    guesses: Mapping[int, NDArray[np.int64]],
    candidates: Mapping[int, Candidate],
    spending: Round,
    *,
    number: int,
    stream: NoiseStream,
) -> int:
    """The number of a candidate that the public guess is probably wrong about.

    The score of candidate r is weight_r * (|x_r - g_r| - e_r): x_r its secret counts, g_r what
    the guess says, |.| the sum of the absolute differences, e_r the error that its own noise
    would have (McKenna, Mullins, Sheldon, Miklau 2022, section 3, with whole numbers).

    Privacy: pure `spending.selection.epsilon`-DP. Between neighbours the counts of every table
    differ by at most S = `sensitivity_l1` in L1 norm, so by the triangle inequality |x_r - g_r|
    differs by at most S; weight, g_r and e_r are public. So every score differs by at most S
    times the largest weight, the sensitivity that the mechanism is given (McKenna, Sheldon 2020).
    Requires: guesses and candidates are functions of the configuration and of earlier noisy
    tables; `number` is used once per stream; all three mappings have the same keys.
    Shapes and units: int64 counts of records, one per cell of the candidate.
    """
    keys = sorted(candidates)
    if sorted(sensitive_tables) != keys or sorted(guesses) != keys:
        raise BugError("the candidates of a choice are not those that were counted")
    if spending.selection.candidates != len(keys):
        raise BugError("a choice has another number of candidates than it was planned for")
    scores = [
        candidates[key].weight
        * (_distance(sensitive_tables[key], guesses[key]) - spending.expected_l1(candidates[key]))
        for key in keys
    ]
    largest = max(candidates[key].weight for key in keys)
    chosen = permute_and_flip(
        scores,
        epsilon=spending.selection.epsilon,
        sensitivity=Fraction(largest * spending.table.sensitivity_l1),
        stream=stream,
        number=number,
    )
    return keys[chosen]


def whole_guess(estimated: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest whole counts, from 0 to `MOST_RECORDS`; what is no number counts as 0."""
    import numpy as np

    bounded = np.clip(np.nan_to_num(estimated, nan=0.0), 0, MOST_RECORDS)
    return np.rint(bounded).astype(np.int64)


def _distance(sensitive_counts: NDArray[np.int64], guess: NDArray[np.int64]) -> int:
    """The sum of the absolute differences, in whole records."""
    import numpy as np

    if sensitive_counts.dtype != np.int64 or guess.dtype != np.int64:
        raise BugError("the counts of a choice must be whole numbers")
    if sensitive_counts.shape != guess.shape:
        raise BugError("a guess has another number of cells than its table")
    return int(np.abs(sensitive_counts - guess).sum())
