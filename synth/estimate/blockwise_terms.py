"""What a pass adds up over the cells of a large universe: terms, and their tilts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.blockwise_pairs import PairTables
from synth.estimate.blockwise_scores import LOWEST, STEP, Score

Floats = NDArray[np.float64]

LARGEST_POWER = 30.0
"""The largest logarithm of the factor of a tilt."""


@dataclass(frozen=True, eq=False)
class Tilt:
    """A factor exp(ratio * exponent), the ratio looked up like a score."""

    ratio: Score | None
    """None stands for a ratio of 1."""
    ratio_of: Callable[[Floats], Floats]
    """The ratio of a cell by its score, for counts beyond the scores."""
    exponent: PairTables
    """The sum of its tables, in single precision."""


@dataclass(frozen=True, eq=False)
class Term:
    """One summand of what is added up: sign * score(noisy count, log mean) * factor."""

    score: Score
    log_mean: PairTables
    """On the grid of the scores, in single precision; see `on_grid`."""
    sign: int = 1
    factor: PairTables | None = None
    """The product of its tables, in single precision."""
    weight: PairTables | None = None
    """The sum of its tables: another factor."""
    tilt: Tilt | None = None


def on_grid(log_mean: PairTables) -> PairTables:
    """Log means as places on the grid of the scores, half a step higher, so that they round."""
    return log_mean.of_each(lambda table: table / STEP).shifted(0.5 - LOWEST / STEP).single()


def off_grid(places: PairTables) -> PairTables:
    """The log means of places on the grid."""
    return places.shifted(LOWEST / STEP - 0.5).of_each(lambda table: table * STEP)
