"""Scores: what a cell contributes, looked up by its noisy count and its log mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.blocks.groups import PairTables
from synth.estimate.loglinear import left_variance, noisy_information
from synth.estimate.posterior import CellPosterior

Floats = NDArray[np.float64]

LOWEST = -20.0
STEP = 1.0 / 64.0
ROWS = math.ceil((math.log(1e9) - LOWEST) / STEP)
"""The grid of log means: its lowest point, its step and its length."""


def grid() -> Floats:
    """The log means that a score is tabulated at."""
    return np.asarray(LOWEST + STEP * np.arange(ROWS), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Score:
    """A number for every cell, read from a table.

    Shapes: `values` is float32. With `by_count` it has `ROWS` entries for every run of noisy
    counts, one run after another; otherwise `ROWS` entries, whatever the noisy count.
    """

    values: NDArray[np.float32]
    by_count: bool
    is_exponential: bool = False
    """Whether it is the mean itself, so that sums over cells need no table."""


def mean_score() -> Score:
    """The mean itself."""
    return Score(np.exp(grid()).astype(np.float32), by_count=False, is_exponential=True)


def information_score(noise_variance: float) -> Score:
    """What a noisy cell says of its log mean."""
    information = noisy_information(np.exp(grid()), noise_variance)
    return Score(information.astype(np.float32), by_count=False)


def variance_score(noise_variance: float) -> Score:
    """The variance of a count, once its noisy count is known."""
    return Score(left_variance(np.exp(grid()), noise_variance).astype(np.float32), by_count=False)


CHANCE = 4
"""So many counts beyond ln(N) scales of noise may be noise alone: half a one is expected in N
cells, and more than four in one universe of some thousands. At small budgets one of them is as
large as all records together."""


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """The noisy counts of the universe, as numbers of runs of the posterior's table.

    Shapes: `runs` has one small whole number per cell: the run that its noisy count falls into,
    all of 0 and below together; the last number, `large`, stands for counts beyond the table.
    """

    posterior: CellPosterior
    runs: NDArray[Any]
    large: int
    large_cells: NDArray[np.int64]
    large_counts: NDArray[np.int64]
    clear_records: int
    """The sum of the noisy counts beyond most noise, less what chance may have put there."""

    @classmethod
    def of(cls, noisy_counts: NDArray[Any], *, decay: float, block_cells: int) -> NoisyCells:
        """Look every count up once; `decay` is epsilon over sensitivity."""
        posterior = CellPosterior(np.zeros(0, dtype=np.int64), decay=decay, cells=noisy_counts.size)
        starts, _ = posterior.table
        large = starts.size - 1
        run_of = np.searchsorted(starts, np.arange(posterior.cut + 2), side="right") - 1
        run_of[-1] = large
        kind = np.uint8 if large < 256 else np.uint16 if large < 65536 else np.uint32
        run_of = run_of.astype(kind)
        runs = np.empty(noisy_counts.size, dtype=kind)
        cells, counts = [], []
        limit = math.log(max(2, noisy_counts.size)) / posterior.decay
        clear = -math.ceil(CHANCE * limit)
        # narrow counts may be unable to hold the cut, so they are widened block by block
        for start in range(0, noisy_counts.size, block_cells):
            block = noisy_counts[start : start + block_cells]
            places = np.clip(block.astype(np.int64), 0, posterior.cut + 1)
            np.take(run_of, places, out=runs[start : start + block_cells], mode="clip")
            beyond = np.flatnonzero(places > posterior.cut)
            cells.append(beyond + start)
            counts.append(block[beyond].astype(np.int64))
            clear += int(block[block > limit].sum(dtype=np.int64))
        clear = max(0, clear)
        return cls(posterior, runs, large, np.concatenate(cells), np.concatenate(counts), clear)

    def learned(
        self, number: NDArray[np.int64], large_places: Floats, possible: NDArray[np.bool_]
    ) -> CellPosterior:
        """The posterior with the mixture that `CellPosterior.learned_from` finds.

        Shapes: `number` has the possible cells of every run, by their places on the grid;
        `large_places` and `possible` are those of the counts beyond the table.
        """
        _, coarse = self.posterior.table
        nearest = np.rint(self.posterior.place(grid())).clip(0, coarse.shape[1] - 1)
        ends = np.searchsorted(nearest, np.arange(coarse.shape[1] + 1))
        upto = np.concatenate([np.zeros((self.large, 1), np.int64), np.cumsum(number, axis=1)], 1)
        counts = self.large_counts[possible].astype(np.float64)
        means = off_places(large_places[possible])
        return self.posterior.learned_from(np.diff(upto[:, ends], axis=1), counts, means)

    def expected(self) -> Floats:
        """The posterior mean for every run and log mean; 0 for the counts beyond the table."""
        _, coarse = self.posterior.table
        place = np.clip(self.posterior.place(grid()), 0.0, coarse.shape[1] - 1.000001)
        low = place.astype(np.int64)
        share = place - low
        fine = coarse[:, low] * (1.0 - share) + coarse[:, low + 1] * share
        return np.concatenate([fine, np.zeros((1, ROWS))])

    def mean_score(self) -> Score:
        """The posterior mean."""
        return Score(self.expected().reshape(-1).astype(np.float32), by_count=True)

    def pull_score(self) -> Score:
        """The posterior mean less the mean."""
        pull = self.expected() - np.exp(grid())
        return Score(pull.reshape(-1).astype(np.float32), by_count=True)


# What a pass adds up over the cells of a large universe: terms, and their tilts.


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


def off_places(places: Floats) -> Floats:
    """The log means of places of single cells, inside the grid."""
    return np.asarray(LOWEST + STEP * (np.clip(places, 0.5, ROWS - 0.5) - 0.5))


def off_grid(places: PairTables) -> PairTables:
    """The log means of places on the grid."""
    return places.shifted(LOWEST / STEP - 0.5).of_each(lambda table: table * STEP)
