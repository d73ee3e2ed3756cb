"""The linear theory of measured margins: components, their precision, and query variances.

A component is one level per axis; a margin tells about it if its partition is at least the level
on every axis. Components that the same margins tell about are kept together in one class, named by
its largest member: the classes are the meets (axis by axis minima) of the margins. So nothing here
grows with the number of cells, nor with 2^attributes.

In units where a query of the attribute's energy (`Question`) is divided by the number of codes, the
precision of a class under margins B with noise variance v_B is sum over B of 1 / (v_B N_B), N_B
their cells, for balanced hierarchies (McKenna, Miklau, Hay, Machanavajjhala 2018, section 8; Xiao,
He, Zhang, Kifer 2023). The least squares variance of a query is the sum over classes of its energy
over the precision. It is exact if every hierarchy in use is balanced; see `Axis` for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from synth.plan.axes import Axis
from synth.plan.questions import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integer = TypeVar("Integer", bound=np.integer[Any])

CANCELLED = 1e-11
"""An energy below this share of the sum that it was taken from is rounding."""


@dataclass(frozen=True, eq=False)
class Components:
    """The classes of components that some margins tell about.

    Shapes: `margins` M x axes and `classes` C x axes hold partitions (`Axis`).
    """

    axes: tuple[Axis, ...]
    margins: NDArray[np.int64]
    classes: NDArray[np.int64]

    @cached_property
    def information(self) -> Floats:
        """M x C: what a noise precision of 1 in a margin adds to the precision of a class."""
        import numpy as np

        noise = np.ones((len(self.margins), len(self.classes)))
        covered = np.ones(noise.shape, dtype=bool)
        for i, axis in enumerate(self.axes):
            level, measured = self.classes[:, i], self.margins[:, i]
            if not measured.any():
                continue
            noise *= axis.noise_factor[level[None, :], measured[:, None]]
            covered &= level[None, :] <= measured[:, None]
        return np.divide(1.0, noise, out=np.zeros_like(noise), where=covered & (noise > 0))

    def energy(self, questions: tuple[Question, ...]) -> Floats:
        """Q x C: the mean over each question's queries of their energy in each class."""
        if questions not in self._energies:
            self._energies[questions] = self._energy(questions)
        return self._energies[questions]

    @cached_property
    def _energies(self) -> dict[tuple[Question, ...], Floats]:
        return {}

    def _energy(self, questions: Sequence[Question]) -> Floats:
        import numpy as np

        below = np.ones((len(questions), len(self.classes)))
        for row, question in zip(below, questions, strict=True):
            for place, energy in question.energy.items():
                row *= energy[self.classes[:, place]]
        parts = np.zeros_like(below)
        for number, lower in enumerate(self._lower):  # smaller classes first
            parts[:, number] = below[:, number] - parts[:, lower].sum(axis=1)
        parts[parts < CANCELLED * below] = 0.0
        return parts

    def answers(self, questions: tuple[Question, ...]) -> NDArray[np.bool_]:
        """Whether some margin is at least as fine as the question, so that it can be answered."""
        import numpy as np

        if questions not in self._answers:
            bounds = np.array([question.bound(self.axes) for question in questions], dtype=np.uint8)
            found = np.zeros(len(questions), dtype=bool)
            for margin in self.margins.astype(np.uint8):
                found |= (margin >= bounds).all(axis=1)
            self._answers[questions] = found
        return self._answers[questions]

    @cached_property
    def _answers(self) -> dict[tuple[Question, ...], NDArray[np.bool_]]:
        return {}

    @cached_property
    def _lower(self) -> list[NDArray[np.int64]]:
        import numpy as np

        found = []
        for number, point in enumerate(self.classes):
            before = self.classes[:number]
            found.append(np.flatnonzero((before <= point).all(axis=1)))
        return found


@lru_cache(maxsize=16)
def components_of(axes: tuple[Axis, ...], margins: tuple[tuple[int, ...], ...]) -> Components:
    """The classes of the margins with these partitions.

    An axis with groups of unequal sizes has a noise factor that differs from level to level, so
    classes are split until each has one level there.
    """
    import numpy as np

    rows = np.array(margins, dtype=np.int64).reshape(len(margins), len(axes))
    classes = _meets(rows)
    for i, axis in enumerate(axes):
        if classes[:, i].any() and not axis.is_balanced:
            lowered = [classes.copy() for _ in range(axis.depth + 1)]
            for level, rows_to_lower in enumerate(lowered):
                np.minimum(rows_to_lower[:, i], level, out=rows_to_lower[:, i])
            classes = _distinct(np.concatenate(lowered))
    order = np.lexsort((*classes.T[::-1], classes.sum(axis=1)))
    return Components(axes, rows, classes[order])


def _meets(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows and the minima of any of them."""
    import numpy as np

    compact = _distinct(rows.astype(np.uint8))  # a depth is a small number
    known = set(_row_bytes(compact))
    new = compact
    while len(new):
        table = _from_bytes(known, compact.shape[1])
        fresh: set[bytes] = set()
        for row in new:
            fresh.update(_row_bytes(np.minimum(table, row)))
        fresh -= known
        known |= fresh
        new = _from_bytes(fresh, compact.shape[1])
    return _from_bytes(known, compact.shape[1]).astype(np.int64)


def _row_bytes(rows: NDArray[np.uint8]) -> list[bytes]:
    import numpy as np

    whole: list[bytes] = np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").ravel().tolist()
    return whole


def _from_bytes(rows: Iterable[bytes], width: int) -> NDArray[np.uint8]:
    import numpy as np

    joined = b"".join(row.ljust(width, b"\0") for row in rows)  # numpy strips zeros at the end
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, width)


def _distinct(rows: NDArray[Integer]) -> NDArray[Integer]:
    import numpy as np

    return np.unique(rows, axis=0)
