"""How many records there are: public, or what all noisy counts say of it together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from synth.config import Config
from synth.estimate.sums import LEAST_VARIANCE, cell_table
from synth.measurements import MeasuredTable, Measurements

Floats = NDArray[np.float64]

_FINEST = 2.0**-10
"""Of a record: the last digits of a mean depend on the processor."""
_FARTHEST = 1e3
"""A mean so many standard deviations below 0 has no digits left of what lies above it."""


@dataclass(frozen=True)
class Number:
    """How many records there are, in records; public, or an estimate."""

    value: float
    is_public: bool

    def for_fit(self, fitted: float, variance: float, cells: float) -> float:
        """How many records a fit with `fitted` ones to so many noisy cells should have.

        A fit to noisy cells has a total of its own, off to one side where noise hides most
        records. Noise that is mostly 0 hides none, if there are not many more cells than records,
        and tells single cells and so their total better than it tells their sum. So the fit goes a
        part of the way: the `variance` of the noise in a cell, or in all cells for every record,
        if that is more; but no further than all of it.
        """
        noise = variance * max(1.0, cells / max(self.value, 1.0))
        share = 1.0 if self.is_public else min(1.0, noise)
        return fitted + share * (self.value - fitted)


def number_of_records(
    measurements: Measurements, config: Config, cells: tuple[float, float] | None = None
) -> Number:
    """The public number of records, or the mean of what noisy counts leave for it.

    Everything that was measured says something of it: the sum of every table, and the look; each
    is the number and noise of a known variance. Their inverse-variance mean has about a normal law
    around the number, and no number is negative: so it is that mean where noise is small beside
    it, and about as much as noise where that is all there is. `cells` are the sum of the cell table
    over possible cells alone, and its variance.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: positive, unless the public number is 0 or nothing but a list was measured.
    """
    public = (each.total for each in config.public_totals if not each.where.codes)
    total = next(public, None)
    if total is not None:
        return Number(float(total), is_public=True)
    full = None if cells is None else cell_table(measurements, config.universe)
    noisy = noisy_number(measurements, None if full is None or cells is None else (full, cells))
    if noisy is None:
        return Number(0.0, is_public=False)
    mean = float(mean_if_positive(np.array([noisy[0]]), noisy[1])[0])
    return Number(max(_FINEST, round(mean / _FINEST) * _FINEST), is_public=False)


def noisy_number(
    measurements: Measurements,
    instead: tuple[MeasuredTable, tuple[float, float]] | None = None,
) -> tuple[float, float] | None:
    """The inverse-variance mean of all noisy numbers of records, and its standard deviation.

    None if there is none: lists leave cells out, and do not count. `instead` has for one table
    another sum of it, and its variance.
    """
    found: list[tuple[float, float]] = []
    for table in measurements.tables:
        if instead is not None and table is instead[0]:
            found.append(instead[1])
        elif table.codes is None:
            sum_of_noise = table.variance * table.event.cells
            found.append((float(table.noisy_counts.sum(dtype=np.int64)), sum_of_noise))
    look = measurements.look
    if look is not None:
        classes = len(look.event.firsts)
        found.append((float(sum(look.noisy_counts[:classes])), look.variance * classes))
    if not found:
        return None
    precisions = [1.0 / max(variance, LEAST_VARIANCE) for _, variance in found]
    precision = math.fsum(precisions)
    mean = math.fsum(p * value for p, (value, _) in zip(precisions, found, strict=True)) / precision
    return mean, 1.0 / math.sqrt(precision)


def mean_if_positive(values: Floats, deviation: float) -> Floats:
    """The mean of a normal law around each value, cut off at 0; positive."""
    if deviation <= 0.0:
        return np.maximum(values, 1e-9)
    values = np.maximum(values, -_FARTHEST * deviation)
    place = values / deviation
    log_density = -0.5 * place * place - 0.5 * math.log(2.0 * math.pi)
    mean = values + deviation * np.exp(log_density - log_ndtr(place))
    return np.asarray(np.maximum(mean, 1e-3 * deviation), dtype=np.float64)
