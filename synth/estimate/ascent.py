"""Ascent: a preconditioned quasi-Newton search for a maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]

_MEMORY = 10
_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_STEP = 1e-8


@dataclass(frozen=True)
class Ascent:
    """Where a search ended, after how many iterations and why."""

    point: Floats
    value: float
    iterations: int
    stop: str
    expected_gain: float


def dot(a: Floats, b: Floats) -> float:
    """The inner product by pairwise summation: the same on every number of threads."""
    return float((a * b).sum())


def climb(
    objective: Objective,
    start: Floats,
    curvature: Callable[[Floats], Floats],
    *,
    max_iterations: int,
    gain_tolerance: float,
    refresh: int = 20,
) -> Ascent:
    """Maximise a smooth function by limited-memory BFGS (Nocedal 1980).

    `objective` returns value and gradient; `curvature` a positive diagonal that approximates the
    negative Hessian, renewed every `refresh` iterations. Steps are halved until the value rises
    enough (Armijo). The search stops when the gain that the quadratic model promises for the
    next step is below `gain_tolerance` (in the objective's units: nats of log likelihood).
    """
    point = start
    value, gradient = objective(point)
    steps: list[Floats] = []
    changes: list[Floats] = []
    diagonal = curvature(point)
    promise = np.inf
    for iteration in range(max_iterations):
        if 0 < iteration < 3 or (iteration and iteration % refresh == 0):
            diagonal = curvature(point)
        direction = _direction(gradient, diagonal, steps, changes)
        promise = dot(gradient, direction)
        if promise <= 0.0:
            steps.clear()
            changes.clear()
            direction = gradient / diagonal
            promise = dot(gradient, direction)
        if promise < gain_tolerance:
            return Ascent(point, value, iteration, "gain below tolerance", promise)
        step = 1.0
        while True:
            trial = point + step * direction
            trial_value, trial_gradient = objective(trial)
            if trial_value >= value + _SUFFICIENT_DECREASE * step * promise:
                break
            step *= 0.5
            if step < _SMALLEST_STEP:
                return Ascent(point, value, iteration, "no step raises the value", promise)
        moved, bent = trial - point, gradient - trial_gradient
        if dot(moved, bent) > 1e-10 * dot(bent, bent):
            steps.append(moved)
            changes.append(bent)
            if len(steps) > _MEMORY:
                steps.pop(0)
                changes.pop(0)
        point, value, gradient = trial, trial_value, trial_gradient
    return Ascent(point, value, max_iterations, "iteration limit", promise)


def _direction(
    gradient: Floats, diagonal: Floats, steps: list[Floats], changes: list[Floats]
) -> Floats:
    """The two-loop recursion of L-BFGS, started from the scaled diagonal."""
    q = gradient.copy()
    weights: list[float] = []
    for moved, bent in zip(reversed(steps), reversed(changes), strict=True):
        weight = dot(moved, q) / dot(moved, bent)
        weights.append(weight)
        q -= weight * bent
    q /= diagonal
    if steps:
        q *= dot(steps[-1], changes[-1]) / dot(changes[-1] / diagonal, changes[-1])
    for moved, bent, weight in zip(steps, changes, reversed(weights), strict=True):
        q += (weight - dot(bent, q) / dot(moved, bent)) * moved
    return q
