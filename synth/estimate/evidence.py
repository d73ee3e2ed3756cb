"""The evidence: how wide the prior of each interaction should be, and what stays uncertain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.estimate.interactions import Interactions
from synth.estimate.one_way_matrix import Singles
from synth.estimate.sums import NoisyCoefficients, OneWay

Floats = NDArray[np.float64]

_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.003, 10.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the noisy tables say about the model that was fitted to them."""

    spread: dict[int, float]
    """The standard deviation of every component's effect on the log mean."""
    uncertainty: Floats
    """About the variance of the log mean of every cell."""


def weigh_evidence(
    interactions: Interactions,
    theta: Floats,
    spread: dict[int, float],
    *,
    mean: Floats,
    information: Floats,
    sums: NoisyCoefficients | None,
) -> Evidence:
    """Set spreads by the evidence (MacKay 1992): spread^2 = |coefficients|^2 / gamma.

    gamma counts the coefficients of the component that the noisy tables, not the prior, determine.
    `theta` are the coefficients fitted with `spread`, `mean` the means that they give to the cells
    and `information` what a noisy cell says of its log mean.
    """
    energy = np.bincount(
        interactions.component, weights=theta * theta, minlength=interactions.component_count
    )
    renewed = dict(spread)
    uncertainty = np.zeros(interactions.shape)
    precise = _precision_of_components(interactions, sums)
    order = max(map(interactions.component_order, spread), default=0)
    expected = interactions.tables(mean, order)
    informed = interactions.tables(information, order)
    for (component, table), (_, known) in zip(expected, informed, strict=True):
        if component not in spread:
            continue
        dimension, cells = interactions.dimension(component), interactions.cells(component)
        share = cells / interactions.size
        known = joint_information(table * share, known * share, precise[component])
        precision = 1.0 / prior_variance(interactions, component, spread[component])
        determined = float((known / (known + precision)).sum()) * dimension / cells
        variance = float(energy[component]) / max(determined, 1e-9) * dimension
        value = math.sqrt(variance / interactions.size)
        value = min(max(value, _SMALLEST_SPREAD), _LARGEST_SPREAD)
        renewed[component] = value
        precision = 1.0 / prior_variance(interactions, component, value)
        part = (dimension / interactions.size) / (known + precision)
        uncertainty += interactions.spread_out(component, part)
    return Evidence(renewed, uncertainty.reshape(-1))


def prior_variance(interactions: Interactions, component: int, spread: float) -> float:
    """The variance of a component's coefficients for this spread of its effect in one cell."""
    cells = interactions.size / max(1, interactions.dimension(component))
    return spread * spread * cells


def joint_information(mean: Floats, information: Floats, precision: Floats | float) -> Floats:
    """Information about a log mean from cells and noisy sums together.

    What the cells say amounts to seeing the count with noise of variance mean^2 / information -
    mean; the noisy sum sees the same count, so their precisions add.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(information > 0.0, mean * (mean / information) - mean, np.inf)
        together = 1.0 / np.maximum(noise, 1e-12) + precision
        found = np.where(mean > 0.0, mean * mean / (mean + 1.0 / together), 0.0)
    return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0))


def information_of_codes(
    singles: Singles, mean: OneWay, cells: OneWay, precision: Floats
) -> list[Floats]:
    """What cells and noisy sums say of the logarithm of the mean of every code.

    `mean` are sums of the cells' means, `cells` of what they say themselves; `precision` is that
    of the noisy coefficients, 0 where there is none.
    """
    return [
        each.room
        * joint_information(
            mean(each.axis) / each.room,
            cells(each.axis) / each.room,
            float(precision[each.own[0]]),
        )
        for each in singles.axes
    ]


def _precision_of_components(interactions: Interactions, sums: NoisyCoefficients | None) -> Floats:
    """The mean precision of the noisy sums about the coefficients of every component."""
    total = np.zeros(interactions.component_count)
    if sums is not None:
        components = interactions.component[sums.places]
        np.add.at(total, components, sums.precision)
        present = np.flatnonzero(total)
        total[present] /= [interactions.dimension(int(c)) for c in present]
    return total
