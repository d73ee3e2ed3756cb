"""What a budget split is judged by: a sum of variances, or of expected absolute errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synth.plan.components import Components
from synth.plan.questions import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Error = Literal["variance", "absolute"]
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""E|x| of a normal x with standard deviation 1."""


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss of a vector of noise precisions, one per candidate margin.

    Shapes: `information` M x C, `energy` Q x C, `coefficient` Q. With P = precisions @ information
    and V_q = sum_c energy[q, c] / P_c, the loss is sum_q coefficient_q V_q (`variance`) or
    sum_q coefficient_q sqrt(V_q) (`absolute`). Both are convex in the precisions.
    """

    information: Floats
    energy: Floats
    coefficient: Floats
    error: Error

    def variances(self, precisions: Floats) -> Floats:
        """V of every question; infinite where a component is not measured."""
        return self.energy @ self._inverse(precisions)

    def loss(self, precisions: Floats) -> float:
        """The loss of one vector of precisions."""
        return self._loss(self.variances(precisions))

    def losses(self, precisions: Floats) -> Floats:
        """The loss of every row."""
        import numpy as np

        return np.array([self._loss(row) for row in self._inverse(precisions) @ self.energy.T])

    def slope(self, precisions: Floats) -> tuple[float, Floats]:
        """The loss and how fast each precision lowers it, times 2 for `absolute`.

        Ensures: precisions @ slope = loss.
        Requires: every component with energy is measured.
        """
        import numpy as np

        inverse = self._inverse(precisions)
        variances = self.energy @ inverse
        weights = self.coefficient
        if self.error == "absolute":
            weights = weights / np.sqrt(variances)
        slope = self.information @ ((weights @ self.energy) * inverse**2)
        return self._loss(variances), slope

    def _loss(self, variances: Floats) -> float:
        import numpy as np

        errors = np.sqrt(variances) if self.error == "absolute" else variances
        return float(self.coefficient @ errors)

    def _inverse(self, precisions: Floats) -> Floats:
        """1 / P; a huge number instead of infinity, so that a zero energy stays zero."""
        import numpy as np

        precision: Floats = precisions @ self.information
        return 1 / np.maximum(precision, 1e-200)


def objective_of(
    components: Components, questions: tuple[Question, ...], *, error: Error
) -> Objective:
    """The objective of a workload.

    `variance`: the weighted sum of the variances of all queries. `absolute`: the weighted sum of
    half the L1 error of every table (its total variation times the number of records) and of the
    mean absolute error of every set of ranges, for normal errors; a range is off by a share of
    the records of the same kind as a total variation.
    Requires: the margins answer every question.
    """
    import numpy as np

    energy = components.energy(questions)
    useful = energy.any(axis=0)

    def coefficient(question: Question) -> float:
        if error == "variance":
            return float(question.weight) * question.queries
        scale = question.queries / 2 if question.is_table else 1.0
        return float(question.weight) * scale * MEAN_ABSOLUTE

    return Objective(
        components.information[:, useful],
        energy[:, useful],
        np.array([coefficient(question) for question in questions]),
        error,
    )
