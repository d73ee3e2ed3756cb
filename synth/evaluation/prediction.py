"""Train on the release, test on raw records: a naive Bayes classifier on counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.evaluation.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_CODES = 100
"""A column with more levels and bins is no target."""
MOST_TARGETS = 40
TEST_RECORDS = 5_000


@dataclass(frozen=True)
class Prediction:
    """How often each way of training names the level of the target rightly, from 0 to 1.

    Tested on raw records that the second and third did not see.
    """

    target: str
    release: float
    raw: float
    guess: float
    """Always the commonest level of the raw records for training."""


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Logarithms of probabilities, with one record added to every count (Laplace smoothing)."""

    prior: NDArray[np.float64]
    """One per level of the target."""
    likelihoods: tuple[NDArray[np.float64], ...]
    """One per feature: codes of the feature by levels of the target."""

    @classmethod
    def train(cls, table: Table, target: int) -> NaiveBayes:
        """Count every feature with the target."""
        import numpy as np

        levels = table.universe.shape[target]
        found = table.codes[target]
        prior = np.bincount(found, weights=table.counts, minlength=levels) + 1
        likelihoods = []
        for axis in features(table, target):
            size = table.universe.shape[axis]
            keys = table.codes[axis] * levels + found
            joint = np.bincount(keys, weights=table.counts, minlength=size * levels) + 1
            joint = joint.reshape(size, levels)
            likelihoods.append(np.log(joint / joint.sum(axis=0)))
        return cls(np.log(prior / prior.sum()), tuple(likelihoods))

    def predict(self, rows: NDArray[np.int64], axes: Sequence[int]) -> NDArray[np.int64]:
        """The likeliest level of the target for each row of codes; the first of equal ones."""
        import numpy as np

        scores = np.tile(self.prior, (len(rows), 1))
        for axis, likelihood in zip(axes, self.likelihoods, strict=True):
            scores += likelihood[rows[:, axis]]
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def features(table: Table, target: int) -> list[int]:
    """The columns that a target is predicted from: all others."""
    return [axis for axis in range(len(table.universe.shape)) if axis != target]


def predictions(
    release: Table,
    training: Table,
    testing: Table,
    targets: Sequence[int],
    generator: np.random.Generator,
) -> list[Prediction]:
    """For each target: trained on the release and on raw records, tested on other raw records."""
    rows = testing.sample(TEST_RECORDS, generator)
    if not len(rows):
        return []
    found = []
    for target in targets:
        truth, axes = rows[:, target], features(release, target)
        of_training = NaiveBayes.train(training, target)
        of_release = NaiveBayes.train(release, target)
        right, best = (
            float((trained.predict(rows, axes) == truth).mean())
            for trained in (of_release, of_training)
        )
        guess = float((truth == of_training.prior.argmax()).mean())
        found.append(Prediction(release.universe.names[target], right, best, guess))
    return found


def default_targets(table: Table) -> list[int]:
    """Every column that can be a target, up to a number."""
    shape = table.universe.shape
    return [axis for axis, size in enumerate(shape) if 1 < size <= MOST_CODES][:MOST_TARGETS]
