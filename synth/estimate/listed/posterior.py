"""What is known of single cells: a listed one by its noisy count, the others by not being listed.

Notation: a = exp(-decay), theta the threshold; y the noisy count of a listed cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.posterior import (
    SHAPES,
    WEIGHTS,
    blur,
    log_probability,
    log_spike,
    starts_of_runs,
)
from synth.privacy import TableEvent
from synth.privacy.accounting import PARTITION_SELECTION

Floats = NDArray[np.float64]

_LOWEST = -24.0
_STEP = 0.1
"""The grid of log m: its lowest point and its step."""
_TAIL = 24.0
_REACH = 20.0
"""A noisy count this many noise scales above the threshold is real, whatever is expected."""
_ROUNDS = 30
_LEAST_LISTED = 1e-9
"""Stands for the chance that a heavy cell is listed where that is next to none."""
_LARGEST_DECAY = 300.0


@dataclass(frozen=True, eq=False)
class Listed:
    """What the listed cells hold: whether each is real, its mean count, and how many heavy ones.

    Shapes and units: float64, one per listed cell; `real` is the probability that the cell is not
    empty, `mean` the mean count if it is not, records.
    """

    real: Floats
    mean: Floats
    heavy_cells: float


class ThresholdPosterior:
    """Posterior means under the prior of `synth.estimate.posterior` and the law of the threshold.

    A cell with mean m under the model has count x from the mixture around m, or from the spike
    1 / (x (x + 1)) with a weight that says how many cells are heavy for no reason of the model: R
    of them, half spread evenly over the universe and half like the model. R is set by
    expectation-maximisation. A listed cell has the likelihood of its noisy count; one that is not
    listed P(x + noise < theta) = 1 - a^(theta - x) / (1 + a) for x < theta, and
    a^(x - theta + 1) / (1 + a) above. With partition selection no empty cell is listed.
    """

    def __init__(self, event: TableEvent) -> None:
        """Tabulate; `event` has a threshold."""
        self._decay = min(float(1 / event.noise_scale_records), _LARGEST_DECAY)
        self._theta = int(event.threshold or 1)
        self._never_empty = event.mechanism == PARTITION_SELECTION
        self._cut = self._theta + max(64, math.ceil(_REACH / self._decay))
        last = self._cut + math.ceil(_TAIL / self._decay)
        rows = math.ceil((math.log(4.0 * last) - _LOWEST) / _STEP) + 1
        grid = np.asarray(_LOWEST + _STEP * np.arange(rows), dtype=np.float64)
        self._rows = rows
        starts = starts_of_runs(last, self._decay)
        lengths = np.diff(starts)
        count = (starts[:-1] + 0.5 * (lengths - 1))[:, None]
        chance = np.zeros((lengths.size, rows + 1))
        for shape, weight in zip(SHAPES, WEIGHTS, strict=True):
            log = log_probability(count, grid[None, :], shape)
            chance[:, :rows] += weight * np.exp(log)
        chance[1:, rows] = np.exp(log_spike(count[1:, 0]))
        chance *= lengths[:, None]
        self._empty = chance[0, :rows].copy()
        self._unlisted_mean = self._censored(chance[:, :rows], count)
        chance[0] = 0.0
        fading = np.exp(-self._decay * np.diff(count[:, 0]))
        values = int(np.searchsorted(starts, self._cut, side="right"))
        # Rows of noisy values, one column per point of the grid; the spike is the last column.
        self._evidence = blur(chance, fading, values)
        self._moment = blur(chance * count, fading, values)
        self._starts = starts[: values + 1]
        self._spike_unlisted = float(chance[:, rows] @ self._below(count[:, 0]))
        self._empty_unlisted = 1.0 if self._never_empty else float(self._below(np.zeros(1))[0])

    def listed(
        self, noisy: NDArray[np.int64], log_probability: Floats, *, total: float, log_cells: float
    ) -> Listed:
        """Judge the listed cells.

        `log_probability` is that of each cell under the model of `total` records, `log_cells` the
        log of the number of cells of the universe.
        """
        log_mean = log_probability + math.log(max(total, 1e-9))
        run = np.searchsorted(self._starts, np.minimum(noisy, self._cut), side="right") - 1
        run = np.minimum(run, self._evidence.shape[0] - 1)
        model = self._look_up(self._evidence, run, log_mean)
        moment = self._look_up(self._moment, run, log_mean)
        spike, spike_moment = self._evidence[run, self._rows], self._moment[run, self._rows]
        empty = np.exp(-self._decay * np.minimum(noisy, self._cut).astype(np.float64))
        empty *= self._empty_share(log_mean)
        if self._never_empty:
            empty = np.zeros(noisy.size)
        place = 0.5 * (math.exp(-log_cells) + np.exp(log_probability))
        unlisted = max(0.0, 1.0 - float(place.sum()))
        heavy = 1.0
        for _ in range(_ROUNDS):
            weight = np.minimum(heavy * place, 0.5)
            by_spike = weight * spike
            rest = (1.0 - weight) * (model + empty)
            share = by_spike / np.maximum(by_spike + rest, 1e-300)
            part = min(heavy * math.exp(-log_cells), 0.5)
            below = part * self._spike_unlisted + (1.0 - part) * self._empty_unlisted
            passed_over = unlisted * self._spike_unlisted / max(below, 1e-300)
            heavy = (float(share.sum()) + 0.5) / max(1.0 - passed_over, _LEAST_LISTED)
        by_spike, by_model = weight * spike, (1.0 - weight) * model
        real = by_spike + by_model
        mean = (weight * spike_moment + (1.0 - weight) * moment) / np.maximum(real, 1e-300)
        chance = real / np.maximum(real + (1.0 - weight) * empty, 1e-300)
        far = noisy > self._cut
        return Listed(np.where(far, 1.0, chance), np.where(far, noisy, mean), heavy)

    def unlisted_mean(self, mean: Floats) -> Floats:
        """The posterior mean of cells that are not listed, whose model mean is `mean`."""
        log = np.log(np.maximum(mean, math.exp(_LOWEST)))
        row, part = self._place(log)
        ratio = self._unlisted_mean
        return np.asarray(mean * (ratio[row] * (1.0 - part) + ratio[row + 1] * part))

    def _censored(self, chance: Floats, count: Floats) -> Floats:
        """For every point of the grid: the mean count of an unlisted cell, divided by m."""
        weighted = chance * self._below(count)
        mean = (weighted * count).sum(axis=0) / np.maximum(weighted.sum(axis=0), 1e-300)
        free = (chance * count).sum(axis=0) / np.maximum(chance.sum(axis=0), 1e-300)
        return np.asarray(mean / np.maximum(free, 1e-300))

    def _below(self, count: Floats) -> Floats:
        """The chance that the noisy count of a cell with this count is below the threshold."""
        gap = self._theta - count
        tail = np.exp(-self._decay * np.abs(np.where(gap > 0, gap, gap - 1)))
        tail /= 1.0 + math.exp(-self._decay)
        return np.asarray(np.where(gap > 0, 1.0 - tail, tail))

    def _empty_share(self, log_mean: Floats) -> Floats:
        row, part = self._place(log_mean)
        return np.asarray(self._empty[row] * (1.0 - part) + self._empty[row + 1] * part)

    def _look_up(self, table: Floats, run: NDArray[np.int64], log_mean: Floats) -> Floats:
        row, part = self._place(log_mean)
        return np.asarray(table[run, row] * (1.0 - part) + table[run, row + 1] * part)

    def _place(self, log_mean: Floats) -> tuple[NDArray[np.int64], Floats]:
        place = np.clip((log_mean - _LOWEST) / _STEP, 0.0, self._rows - 1.000001)
        row = place.astype(np.int64)
        return row, place - row
