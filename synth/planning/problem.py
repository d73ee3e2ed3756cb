"""What the planner may know: a part of the configuration, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from synth.config import Config, PrivacyConfig, Strategy, WorkloadConfig
from synth.config.guarantee import epsilon_problem
from synth.domain import Attribute, Margin, Universe
from synth.errors import Problem as ConfigProblem
from synth.planning.linear_theory import Axis, Question, axes_of, cells_of, questions_of

ASSUMED_RECORDS = 10_000
"""The number of records that the planner reckons with where nothing is publicly known."""

ASSUMED_DEPENDENCE = 0.1
"""Total variation between a table of two columns and the product of both, the mean over pairs, as
it is assumed where there is no look."""
MEAN_DEPENDENCE, ITS_SPREAD = 0.075, 0.8
"""Of real tables: the mean, and the deviation of its logarithm, which is about normal."""
DEPENDENCES = tuple(0.002 * 2 ** (step / 8) for step in range(72))
"""What it may be, on a logarithmic scale up to nearly 1."""

SURE = 5
"""A noisy number decides if it is at least so many standard deviations of its noise; the most that
there can be is as far above it."""

CONSIDERED_RECORDS = (1_000, 10_000, 100_000, 1_000_000)
"""No plan may be bad for one of these, unless the number of records is declared."""


@dataclass(frozen=True)
class Seen:
    """What a look told before the plan; see `synth.planning.look`."""

    records: int | None
    """The noisy number of records; None if its noise is too large to go by."""
    visible: float | None
    """The share of records in places that noise cannot hide; None if it is not known."""
    most: int
    """The most records that there can be."""
    likely: int | None = None
    """About how many there are: the noisy number, or where that is more a standard deviation of its
    noise, up to 10,000."""
    apart: tuple[float, float] | None = None
    """The share of records in the wrong cells of a pair of columns if these were independent, the
    mean over pairs, with noise, and the standard deviation of that; None if it is not known."""


@dataclass(frozen=True)
class Problem:
    """One planning problem: equal problems have equal plans.

    `total` is the publicly declared number of all records, if there is one.
    """

    attributes: tuple[Attribute, ...]
    privacy: PrivacyConfig
    workload: WorkloadConfig
    strategy: Strategy
    total: int | None
    seen: Seen | None = None
    """What a look told; None where it is planned without."""
    horizon: int | None = None
    """For how many periods the same tables are measured and added up; None where they are not."""

    @property
    def records(self) -> int:
        """The number of records that is reckoned with.

        Declared, else seen, else expected, else what a look saw about, else 10,000.
        """
        guess, seen = self.workload.expected_records, self.seen
        if seen is not None:
            guess = seen.records or min(guess or seen.likely or ASSUMED_RECORDS, seen.most)
        return self.total or guess or ASSUMED_RECORDS

    @property
    def dependence(self) -> float:
        """How far pairs of columns are from the product of both, in total variation, the mean.

        After a look the mean of what it may be, by how common it is and by the noise of what was
        seen; the mean of real tables where nothing was. The mean is above the likeliest where
        little is known: to miss how columns go together costs more than to look for it in vain.
        """
        if self.seen is None:
            return ASSUMED_DEPENDENCE
        if self.seen.apart is None:
            return MEAN_DEPENDENCE
        apart, deviation = self.seen.apart
        scores = [
            (math.log(each / MEAN_DEPENDENCE) / ITS_SPREAD + ITS_SPREAD / 2) ** 2
            + ((each - apart) / deviation) ** 2
            for each in DEPENDENCES
        ]
        weights = [math.exp((min(scores) - score) / 2) for score in scores]
        of_all = zip(weights, DEPENDENCES, strict=True)
        return sum(weight * each for weight, each in of_all) / sum(weights)

    @property
    def considered_records(self) -> tuple[int, ...]:
        """The numbers of records that a plan may not be bad for: what is known, alone.

        Where noise hides them from a look and in their cells, it is about how many there are, and a
        standard deviation more. In fewer cells the noisy number may be far off, and the most that
        there can be is one of them.
        """
        if self.total is not None:
            return (max(1, self.total),)
        if self.seen is None:
            return CONSIDERED_RECORDS
        if self.seen.records is not None:
            return (self.seen.records,)
        if self.seen.likely is not None and self.seen.visible is not None:
            likely, most = self.seen.likely, self.seen.most
            return likely, likely + (most - likely) // SURE
        most = min(self.seen.most, max(CONSIDERED_RECORDS))
        return (*(each for each in CONSIDERED_RECORDS if each < most), most)

    @property
    def records_are_assumed(self) -> bool:
        """Whether nothing is known of the number of records."""
        seen = self.seen is not None and self.seen.records is not None
        return not (self.total or seen or self.workload.expected_records)

    @cached_property
    def universe(self) -> Universe:
        """The universe without its impossible cells, which no measured table leaves out."""
        return Universe(self.attributes)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, ordered by name."""
        return axes_of(self.universe)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The workload: marginals and ranges, and the single cells if they are in it.

        Their order does not depend on that of the columns.
        """
        return _questions(self.workload, self.universe.names, self.axes)

    @cached_property
    def full(self) -> Margin:
        """The universe as a table."""
        return Margin(self.universe.names, (0,) * len(self.attributes))


@lru_cache(maxsize=16)
def _questions(
    workload: WorkloadConfig, names: tuple[str, ...], axes: tuple[Axis, ...]
) -> tuple[Question, ...]:
    """The questions of a workload in the planner's order, the same ones for every budget."""
    asked = sorted(
        questions_of(workload, axes),
        key=lambda q: (q.kind, len(q.attributes), sorted(q.attributes)),
    )
    return (*asked, cells_of(names, axes)) if workload.cells else tuple(asked)


def problem_of(config: Config) -> Problem:
    """The part of a configuration that a plan depends on."""
    total = next((entry.total for entry in config.public_totals if not entry.where.codes), None)
    series = config.series
    return Problem(
        config.universe.attributes,
        config.privacy,
        config.workload,
        config.strategy,
        total,
        horizon=series.horizon if series is not None and series.is_continual else None,
    )


def unsuitable(privacy: PrivacyConfig, epsilon: Fraction) -> ConfigProblem | None:
    """What is wrong with another epsilon for the same unit and neighbours, or None."""
    unit = privacy.unit
    return epsilon_problem(
        epsilon,
        neighbours=privacy.neighbours,
        max_records=1 if isinstance(unit, str) else unit.max_records,
    )
