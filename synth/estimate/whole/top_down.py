"""Top-down: sums over the groups of hierarchies follow the noisy ones, the coarsest first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from synth.estimate.interactions import Interactions
from synth.estimate.sums import NoisyCoefficients

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Resolutions = tuple[int, ...]

_STEP = "move groups of the hierarchies to noisy sums that the fit contradicts"
_POWERS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""How the variance of the error of a group may grow with its expected sum."""
_LOG_SIZES = np.arange(-4.0, 14.25, 0.5)
"""Logarithms of the mean variance of the errors over that of the noise, as they are tried."""
_FALSE_ALARM = 0.01
"""How often errors are seen in a margin where there are none."""
_LEAST_SUM = 1e-9
_SWEEPS = 30
_LARGEST = 30.0
"""The largest logarithm of a factor in one step."""
_LEAST_SHARE = 1e-3
_SETTLED = 1e-9


def has_hierarchies(interactions: Interactions) -> bool:
    """Whether every attribute has a hierarchy; those of a single code do not count."""
    long = [basis for basis in interactions.axes if basis.size > 1]
    return bool(long) and not any(basis.is_flat for basis in long)


def top_down(
    noisy: NoisyCoefficients,
    values: Floats,
    variance: Floats,
    possible: NDArray[np.bool_],
    *,
    total: float,
) -> tuple[Floats, Floats, dict[str, Any]]:
    """Move values with these variances to the noisy sums over groups, as far as they are wrong.

    The margins are taken from the total to the finest but one: first each attribute alone one
    resolution further than the others, then all of them. In each, what the gaps between noisy
    and expected sums have beyond the noise is taken for the errors of the estimate, and the
    expected sums move by that share (`_errors`). They stay non-negative and add up to what the
    margin before has: the nearest such sums, with squares divided by the variance of the noise.
    Within a group, values move as in `tilt`: uncertain ones bear the difference.

    `noisy` are the coefficients of all noisy tables together, every one determined; `total` is
    that which the values are moved to first. Returned are the moved values, their variances,
    which keep their ratio to them, and a report.
    """
    interactions = noisy.interactions
    cells = np.zeros(interactions.size)
    cells[noisy.places] = noisy.values
    cells = interactions.inverse(cells)
    noise = 1.0 / noisy.precision
    ratio = np.divide(variance, values, out=np.zeros(values.size), where=values > 0.0)
    moved: list[dict[str, Any]] = []
    for parent, margin in _margins(interactions):
        if parent is None:
            values = _scale(interactions, margin, values, ratio, np.array([total]))
            continue
        expected = interactions.margin_sums(margin, values)
        gap = interactions.margin_sums(margin, cells) - expected
        noise_variance = interactions.margin_sums(margin, possible.astype(np.float64))
        noise_variance *= float(noise[interactions.margin_places(margin)].mean())
        errors = _errors(gap, expected, noise_variance)
        if errors is None:
            continue
        totals = interactions.margin_sums(parent, values)
        wanted = _nearest(
            expected + errors.shares * gap,
            np.where(expected > _LEAST_SUM, noise_variance, 0.0),
            _parents(interactions, margin, parent),
            totals,
        )
        values = _scale(interactions, margin, values, ratio, wanted)
        values = _as_before(interactions, parent, values, totals)
        moved.append(
            {
                "resolutions": list(margin),
                "groups": int(expected.size),
                "power": errors.power,
                "errors_to_noise": errors.size,
                "gain_nats": errors.gain,
            }
        )
    return values, ratio * values, {"step": _STEP, "moved": moved}


def _margins(interactions: Interactions) -> Iterator[tuple[Resolutions | None, Resolutions]]:
    """Every margin with the one whose sums it keeps; the finest resolutions are left out."""
    depths = [basis.depth for basis in interactions.axes]
    done = tuple(0 for _ in depths)
    yield None, done
    for step in range(1, max(depths)):
        full = tuple(min(step, depth) for depth in depths)
        for axis in range(len(depths)):
            single = tuple(full[i] if i == axis else done[i] for i in range(len(depths)))
            if single not in (done, full):
                yield done, single
        yield done, full
        done = full


@dataclass(frozen=True, eq=False)
class _Errors:
    """What of the gaps of a margin is an error of the estimate."""

    shares: Floats
    power: float
    size: float
    """The mean variance of the errors over that of the noise."""
    gain: float
    """By how many nats the gaps are likelier with errors than without."""


def _errors(gap: Floats, expected: Floats, noise_variance: Floats) -> _Errors | None:
    """The errors of the largest likelihood, or None if the noise explains the gaps.

    A gap is normal; its variance is that of the noise and of the error, which grows with a power
    of the expected sum. Power and size are searched on a grid. They count if they make the gaps
    likelier by more than happens by chance in one of a hundred margins (chi-square, two degrees).
    """
    known = noise_variance > 0.0
    if not known.any():
        return None
    square, noise = gap[known] ** 2, noise_variance[known]
    sums = np.maximum(expected[known], _LEAST_SUM)
    without = float((np.log(noise) + square / noise).sum())
    found: _Errors | None = None
    least = 0.5 * float(chdtri(2, _FALSE_ALARM))
    for power in _POWERS:
        growth = sums**power
        growth *= float(noise.mean() / growth.mean())
        for log_size in _LOG_SIZES.tolist():
            error = math.exp(log_size) * growth
            total = error + noise
            gain = 0.5 * (without - float((np.log(total) + square / total).sum()))
            if gain > (least if found is None else found.gain):
                shares = np.zeros(gap.size)
                shares[known] = error / total
                found = _Errors(shares, power, math.exp(log_size), gain)
    return found


def _parents(interactions: Interactions, margin: Resolutions, parent: Resolutions) -> Ints:
    """For every group of a margin the group of a coarser one that it lies in."""
    found = np.zeros(1, dtype=np.int64)
    for basis, fine, coarse in zip(interactions.axes, margin, parent, strict=True):
        above = np.zeros(basis.group_count(fine), dtype=np.int64)
        above[basis.groups[fine]] = basis.groups[coarse]
        found = (found[:, None] * basis.group_count(coarse) + above).reshape(-1)
    return found


def _nearest(wanted: Floats, weight: Floats, parents: Ints, totals: Floats) -> Floats:
    """The sums >= 0 with these totals for which the sum of (sum - wanted)^2 / weight is least.

    The active set only grows: a sum that is 0 once is 0 in the solution. Sums of weight 0 are 0.
    """
    free = weight > 0.0
    # a total is missed by the same whatever is taken off each sum in proportion to its weight;
    # with the largest at 0, nothing is lost where sums are large and totals small
    price = np.divide(wanted, weight, out=np.full(wanted.size, -np.inf), where=free)
    largest = np.full(totals.size, -np.inf)
    np.maximum.at(largest, parents, price)
    wanted = np.where(free, wanted - weight * np.where(free, largest[parents], 0.0), 0.0)
    for _ in range(wanted.size + 1):
        missing = totals - np.bincount(parents, np.where(free, wanted, 0.0), totals.size)
        weights = np.bincount(parents, np.where(free, weight, 0.0), totals.size)
        step = np.divide(missing, weights, out=np.zeros(totals.size), where=weights > 0.0)
        nearest = np.where(free, wanted + weight * step[parents], 0.0)
        below = nearest < 0.0
        if not below.any():
            break
        free &= ~below
    return np.maximum(nearest, 0.0)


def _scale(
    interactions: Interactions,
    margin: Sequence[int],
    values: Floats,
    ratio: Floats,
    wanted: Floats,
) -> Floats:
    """Multiply every value by exp(t ratio), t alike in a group, towards these sums of the groups.

    Newton's method on the logarithm of each sum; for equal ratios one step is exact. Groups of
    nothing stay, and groups of values that are nearly certain do not come all the way.
    """
    for _ in range(_SWEEPS):
        now = interactions.margin_sums(margin, values)
        slope = interactions.margin_sums(margin, values * ratio)
        share = np.divide(slope, now, out=np.ones(now.size), where=now > 0.0)
        aim = np.divide(wanted, now, out=np.ones(now.size), where=now > _LEAST_SUM)
        with np.errstate(divide="ignore"):
            step = np.clip(np.log(aim) / np.maximum(share, _LEAST_SHARE), -_LARGEST, _LARGEST)
        exponent = _spread_out(interactions, margin, step) * ratio
        values = np.asarray(values * np.exp(np.clip(exponent, -_LARGEST, _LARGEST)))
        if float(np.abs(aim - 1.0).max()) < _SETTLED:
            break
    return values


def _as_before(
    interactions: Interactions, parent: Sequence[int], values: Floats, totals: Floats
) -> Floats:
    """The values with the sums of a coarser margin that they had, each group alike."""
    now = interactions.margin_sums(parent, values)
    factor = np.divide(totals, now, out=np.ones(now.size), where=now > _LEAST_SUM)
    return np.asarray(values * _spread_out(interactions, parent, factor))


def _spread_out(interactions: Interactions, margin: Sequence[int], table: Floats) -> Floats:
    """For every cell the number of its group, flat in cell order."""
    component = sum(r * stride for r, stride in zip(margin, interactions.strides, strict=True))
    spread = interactions.spread_out(component, table)
    return np.broadcast_to(spread, interactions.shape).reshape(-1)
