"""A release beside raw data, in four ways: tables, associations, predictions, nearest records.

Each stands beside what fresh samples, or raw records that were held back, would give. Raw data,
release and fresh samples have one form: a table of records as filled cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
from synth.domain.counts import Counts, cell_order, cell_words, new_cells

HELD_CELLS = 1 << 22
"""Tables of sums up to this size are held with their empty cells."""


@dataclass(frozen=True, eq=False)
class Table:
    """Records by cell.

    Shapes and units: `codes[j][i]` is the code of attribute j in cell i; every cell once;
    `counts` is int64, records, >= 0.
    """

    universe: Universe
    codes: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    @cached_property
    def records(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def with_counts(self, counts: NDArray[np.int64]) -> Table:
        """Other counts of the same cells."""
        return Table(self.universe, self.codes, counts)

    def resample(self, records: int, generator: np.random.Generator) -> Table:
        """So many records drawn with replacement from these."""
        if not self.records:
            return self
        drawn = generator.multinomial(records, self.counts / self.records)
        return self.with_counts(drawn)

    def halves(self, generator: np.random.Generator) -> tuple[Table, Table]:
        """Each record in one of two tables, by the toss of a coin."""
        first = generator.binomial(self.counts, 0.5)
        return self.with_counts(first), self.with_counts(self.counts - first)

    def sample(self, records: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """At most so many of the records, without replacement: one row of codes each."""
        number = min(records, self.records)
        places = np.sort(generator.choice(self.records, number, replace=False))
        cells = np.searchsorted(np.cumsum(self.counts), places, side="right")
        rows = [codes[cells] for codes in self.codes]
        return np.stack(rows, axis=1).reshape(number, len(self.codes))

    def keys(self, axes: Sequence[int]) -> NDArray[np.int64]:
        """The number of each cell in the table over some axes. Requires: below 2^63 such cells."""
        keys = np.zeros(len(self.counts), dtype=np.int64)
        for axis in axes:
            keys = keys * self.universe.shape[axis] + self.codes[axis]
        return keys


def table_of(universe: Universe, counts: Counts) -> Table:
    """The filled cells of published counts."""
    codes = tuple(column.astype(np.int64) for column in counts.columns)
    return Table(universe, codes, counts.values)


def shares(tables: Sequence[Table], axes: Sequence[int]) -> list[NDArray[np.float64]]:
    """For each table, the share of its records in the cells over some axes; the same cells in all.

    Cells that are empty in all tables may be left out. A table without records has shares of 0.
    """
    cells = 1
    for axis in axes:
        cells *= tables[0].universe.shape[axis]
    keys = [table.keys(axes) for table in tables]
    if cells > HELD_CELLS:
        known = np.unique(np.concatenate(keys))
        keys = [np.searchsorted(known, key) for key in keys]
        cells = len(known)
    return [
        np.bincount(key, weights=table.counts, minlength=cells) / max(table.records, 1)
        for key, table in zip(keys, tables, strict=True)
    ]


def same_cells(first: Table, second: Table) -> NDArray[np.int64]:
    """For every cell of `first`, the count that `second` has there."""
    columns = [np.concatenate(pair) for pair in zip(first.codes, second.codes, strict=True)]
    number = len(first.counts)
    values = np.concatenate([np.zeros(number, dtype=np.int64), second.counts])
    words = cell_words(columns, first.universe.shape)
    order = cell_order(words)
    if not len(order):
        return values
    group = np.cumsum(new_cells([word[order] for word in words])) - 1
    sums = np.zeros(int(group[-1]) + 1, dtype=np.int64)
    np.add.at(sums, group, values[order])
    found = np.empty(len(order), dtype=np.int64)
    found[order] = sums[group]
    return found[:number]


MOST_TABLES = 500
"""So many tables of one order are compared; of more, every so many-th."""

LARGEST_KEY = 1 << 63
MOST_COLUMNS = 60
"""Associations are computed among so many columns, the first ones."""
MOST_CODES = 100
"""A column with more levels and bins is no target."""
MOST_TARGETS = 40
TEST_RECORDS = 5_000
NEAREST_ROWS = 1_000
"""So many rows look for their nearest record."""
NEAREST_RECORDS = 20_000
"""Among so many records."""


@dataclass(frozen=True)
class TableDistance:
    """The total variation distance of one table, of the release and of a fresh sample."""

    names: tuple[str, ...]
    release: float
    resampled: float


@dataclass(frozen=True)
class OrderDistances:
    """All compared tables over so many columns."""

    order: int
    tables: tuple[TableDistance, ...]
    possible: int
    """How many tables of this order there are; more than were compared if some were left out."""

    @property
    def mean_release(self) -> float:
        """The mean over the tables, of the release."""
        return math.fsum(table.release for table in self.tables) / max(len(self.tables), 1)

    @property
    def mean_resampled(self) -> float:
        """The mean over the tables, of a fresh sample."""
        return math.fsum(table.resampled for table in self.tables) / max(len(self.tables), 1)

    def worst(self, number: int) -> list[TableDistance]:
        """The tables farthest from the raw data, the farthest first."""
        return sorted(self.tables, key=lambda table: -table.release)[:number]


def total_variation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Half the sum of the absolute differences; 1 if one table has records and the other none."""
    if not left.any() or not right.any():
        return float(left.any() != right.any())
    return float(abs(left - right).sum() / 2)


def distances(raw: Table, release: Table, resampled: Table, order: int) -> OrderDistances:
    """Compare the tables over so many columns, each column at its declared resolution."""
    names = raw.universe.names
    found = []
    for axes in _chosen(raw.universe, order):
        of_raw, of_release, of_resampled = shares((raw, release, resampled), axes)
        found.append(
            TableDistance(
                tuple(names[axis] for axis in axes),
                total_variation(of_raw, of_release),
                total_variation(of_raw, of_resampled),
            )
        )
    return OrderDistances(order, tuple(found), math.comb(len(names), order))


def _chosen(universe: Universe, order: int) -> Sequence[tuple[int, ...]]:
    """The axes of the compared tables: all, or evenly spaced ones in the order of the columns."""
    columns = range(len(universe.shape))
    number = math.comb(len(columns), order)
    step = max(1, -(-number // MOST_TABLES))
    chosen = islice(combinations(columns, order), 0, None, step)
    return [
        axes for axes in chosen if math.prod(universe.shape[axis] for axis in axes) < LARGEST_KEY
    ]


def associations(table: Table) -> NDArray[np.float64]:
    """Cramer's V of every pair of columns, 1 on the diagonal.

    Levels that no record has do not count; a pair with a column of one level has association 0.
    Shapes and units: a symmetric matrix over the first `MOST_COLUMNS` columns, from 0 to 1.
    """
    number = min(len(table.universe.shape), MOST_COLUMNS)
    found = np.eye(number)
    for left, right in combinations(range(number), 2):
        found[left, right] = found[right, left] = cramers_v(table, left, right)
    return found


def cramers_v(table: Table, left: int, right: int) -> float:
    """sqrt(phi^2 / (min(r, c) - 1)), phi^2 = sum_ij p_ij^2 / (p_i p_j) - 1 (Cramer 1946)."""
    if not table.records:
        return 0.0
    weights = table.counts / table.records
    rows = np.bincount(table.codes[left], weights=weights)
    columns = np.bincount(table.codes[right], weights=weights)
    smaller = min(np.count_nonzero(rows), np.count_nonzero(columns))
    if smaller < 2:
        return 0.0
    keys, place = np.unique(table.keys((left, right)), return_inverse=True)
    joint = np.bincount(place, weights=weights)
    row, column = np.divmod(keys, table.universe.shape[right])
    filled = joint > 0
    row, column, joint = row[filled], column[filled], joint[filled]
    phi2 = float((joint**2 / (rows[row] * columns[column])).sum()) - 1
    return math.sqrt(min(max(phi2 / (smaller - 1), 0.0), 1.0))


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


@dataclass(frozen=True)
class Nearness:
    """Rows of the release, and a fresh sample, beside one half of the raw records.

    The fresh sample is the other half: people of the same population who are not in the first.
    """

    release_on_unique: float
    """The share of rows that equal a record which is the only one of its kind in the half."""
    fresh_on_unique: float
    release_distances: tuple[float, ...]
    """Entry d: the share of rows whose nearest record differs in d columns."""
    fresh_distances: tuple[float, ...]


def nearness(
    release: Table, half: Table, fresh: Table, generator: np.random.Generator
) -> Nearness | None:
    """Compare; None if one of the tables has no records."""
    if not (release.records and half.records and fresh.records):
        return None
    records = half.sample(NEAREST_RECORDS, generator)
    columns = len(half.universe.shape)
    spread = [
        tuple(_distances(table.sample(NEAREST_ROWS, generator), records, columns))
        for table in (release, fresh)
    ]
    return Nearness(_on_unique(release, half), _on_unique(fresh, half), *spread)


def _on_unique(table: Table, half: Table) -> float:
    """The share of records that lie in a cell with exactly one record of the half."""
    inside = same_cells(table, half) == 1
    return float(table.counts[inside].sum() / table.records)


def _distances(
    rows: NDArray[np.int64], records: NDArray[np.int64], columns: int
) -> NDArray[np.float64]:
    """The share of rows at each distance (differing columns) from their nearest record."""
    narrow = records.astype(np.int32)
    nearest = np.array([(narrow != row).sum(axis=1).min() for row in rows.astype(np.int32)])
    return np.bincount(nearest, minlength=columns + 1) / len(rows)
