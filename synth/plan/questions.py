"""The workload as the linear theory sees it: sets of queries and their energy by component."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from synth.config.types import WorkloadConfig
from synth.plan.axes import Axis, interval_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["marginal", "prefix", "range", "cells"]


@dataclass(frozen=True, eq=False)
class Question:
    """Queries that are asked together: the cells of a marginal, or all intervals.

    Shapes and units: `energy[axis][r]` is the mean over the queries of the squared norm of their
    part up to level r of that axis, divided by the number of codes of the axis; axes that are
    not in it are summed out, their energy is 1 at every level. `queries` says how many there are.
    """

    attributes: tuple[str, ...]
    kind: Kind
    weight: Fraction
    queries: int
    energy: dict[int, NDArray[np.float64]]

    @property
    def is_table(self) -> bool:
        """Whether every record is in exactly one of the queries."""
        return self.kind in ("marginal", "cells")

    def bound(self, axes: Sequence[Axis]) -> tuple[int, ...]:
        """The partitions of the smallest margin that answers every query."""
        return tuple(axis.depth if i in self.energy else 0 for i, axis in enumerate(axes))


def questions_of(workload: WorkloadConfig, axes: Sequence[Axis]) -> tuple[Question, ...]:
    """One question per marginal, then one per set of ranges, in the workload's order."""
    marginals = (marginal(m.attributes, axes, weight=m.weight) for m in workload.marginals)
    ranges = (_intervals(r.attributes, axes, r.kind, r.weight) for r in workload.ranges)
    return (*marginals, *ranges)


def marginal(
    attributes: Iterable[str], axes: Sequence[Axis], *, weight: Fraction = Fraction(1)
) -> Question:
    """The cells of one marginal at the finest resolution."""
    attributes = tuple(attributes)
    places = sorted(_place(axes, name) for name in attributes)
    cells = math.prod(axes[place].groups[-1] for place in places)
    energy = {place: axes[place].cell_energy() for place in places}
    return Question(attributes, "marginal", weight, cells, energy)


def cells_of(attributes: Sequence[str], axes: Sequence[Axis]) -> Question:
    """The single cells of the universe."""
    finest = marginal(attributes, axes)
    return Question(finest.attributes, "cells", finest.weight, finest.queries, finest.energy)


def _intervals(
    attributes: tuple[str, ...],
    axes: Sequence[Axis],
    kind: Literal["prefix", "range"],
    weight: Fraction,
) -> Question:
    places = sorted(_place(axes, name) for name in attributes)
    count = math.prod(interval_count(axes[place].bins, kind) for place in places)
    energy = {place: axes[place].interval_energy(kind) for place in places}
    return Question(attributes, kind, weight, count, energy)


def _place(axes: Sequence[Axis], name: str) -> int:
    return next(i for i, axis in enumerate(axes) if axis.name == name)
