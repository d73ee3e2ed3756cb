"""The solver: quasi-Newton steps towards the point where a field vanishes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth import progress

Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]

MEMORY = 30
REFRESH = 20
_SMALLEST_STEP = 1e-8


@dataclass(frozen=True)
class Solution:
    """Where the search ended, after how many steps, and why."""

    point: Floats
    iterations: int
    stop: str
    promise: float
    """Half of this is the rise that the quadratic model still promises (nats)."""
    scale: float
    """What steps over the curvature had to be multiplied by in the end; see `solve`."""


def dot(a: Floats, b: Floats) -> float:
    """The inner product by pairwise summation: the same on every number of threads."""
    return float((a * b).sum())


def solve(
    field: Map,
    start: Floats,
    divider: Callable[[Floats], Map],
    *,
    max_iterations: int,
    tolerance: float,
    overshoot: float = 0.5,
    shortening: float = 0.5,
    refresh: int = REFRESH,
    scale: float = 1.0,
    memory: int = MEMORY,
) -> Solution:
    """Follow a field, the slope of a log posterior or nearly so, to where it vanishes.

    Steps are those of BFGS that remembers the last `memory` of them (Nocedal 1980). Only slopes are
    used: a step is halved while the field at its end points back by more than `overshoot` of what
    it pointed forward at the start; with 0, every step up a concave function gains. With a
    `shortening` below one half a step is cut, at most by that factor, to where a line through the
    slopes at its ends vanishes.
    `divider` gives division by a curvature: a positive definite matrix near the negative derivative
    of the field (`divided_by`). It is renewed twice in the beginning, then after every `refresh`
    steps. The first step is `scale` times slope over curvature: where many coefficients move the
    same cells, a step that each of them asks for alone goes a thousand times too far. The search
    stops when the inner product of field and step, twice the gain that the quadratic model
    promises, is below `tolerance`.
    """
    progress.advance(0, max_iterations, "iterations")
    point, over = start, divider(start)
    slope = field(point)
    memories: list[_Memory] = []
    promise = math.inf
    for iteration in range(max_iterations):
        if iteration:
            progress.advance(iteration, max_iterations, "iterations")
        if 0 < iteration < 3 or (iteration and iteration % refresh == 0):
            over = divider(point)
            slope = field(point)
        direction = _direction(slope, over, memories, scale)
        promise = dot(slope, direction)
        if promise <= 0.0:
            memories.clear()
            direction = over(slope)
            promise = dot(slope, direction)
        if promise < tolerance:
            return Solution(point, iteration, "promised gain below tolerance", promise, scale)
        step = 1.0
        while True:
            trial = point + step * direction
            trial_slope = field(trial)
            ahead = dot(trial_slope, direction)
            if ahead >= -overshoot * promise:
                break
            step *= min(0.5, max(shortening, promise / (promise - ahead)))
            if step < _SMALLEST_STEP:
                return Solution(point, iteration, "no step without overshoot", promise, scale)
        move, bend = trial - point, slope - trial_slope
        product = dot(move, bend)
        if product > 1e-10 * dot(bend, bend):
            memories.append(_Memory(move, bend, product))
            scale = product / dot(over(bend), bend)
            if len(memories) > memory:
                memories.pop(0)
        point, slope = trial, trial_slope
    return Solution(point, max_iterations, "iteration limit", promise, scale)


def divided_by(curvature: Floats) -> Map:
    """Division by a diagonal, or by a matrix; the same on every number of threads."""
    if curvature.ndim == 1:
        return lambda slope: slope / curvature
    inverted = inverse(curvature)
    return lambda slope: np.asarray((inverted * slope).sum(axis=1))


def inverse(matrix: Floats) -> Floats:
    """The inverse of a positive definite matrix, by elimination in a fixed order of operations.

    Not LAPACK: its last digits depend on the number of threads.
    """
    work = np.concatenate([matrix, np.eye(len(matrix))], axis=1)
    for row in range(len(matrix)):
        work[row] /= work[row, row]
        factors = work[:, row].copy()
        factors[row] = 0.0
        work -= factors[:, None] * work[row]
    return work[:, len(matrix) :]


@dataclass(frozen=True, eq=False)
class _Memory:
    """A step that was taken, how much the slope fell along it, and the inner product of both."""

    move: Floats
    bend: Floats
    product: float


def _direction(slope: Floats, over: Map, memories: list[_Memory], scale: float) -> Floats:
    """The two-loop recursion, started from the scaled curvature."""
    q = slope.copy()
    weights: list[float] = []
    for each in reversed(memories):
        weight = dot(each.move, q) / each.product
        weights.append(weight)
        q -= weight * each.bend
    q = over(q)
    if memories:
        last = memories[-1]
        scale = last.product / dot(over(last.bend), last.bend)
    q *= scale
    for each, weight in zip(memories, reversed(weights), strict=True):
        q += (weight - dot(each.bend, q) / each.product) * each.move
    return q
