"""A first model of the error left after the non-negative fit; used to choose, not to promise.

What the fit does with signed noise depends on the data. The model knows only the number of records
n and the shapes of the tables:

* **Counts.** The k-th largest of the N cells of a table is expected to hold n k^-1.2 / H records
  (Zipf), H the sum over all cells. A table of more than 20 cells for every record is taken to be
  *thin* instead: the records are spread out, hardly two in one cell; tables between 8 and 20 cells
  for every record are thin in part (`thinness`, on a logarithmic scale, between both forecasts),
  and so are tables of records that a look has seen to gather in few cells (`GATHERED`); the
  universe is thin at least in half as far as a look has seen noise hide its records (`HIDES`).
* **Noise.** A table keeps of its noise what Bayes' rule would leave of it if nothing told its
  cells apart (`found_out.py`): next to nothing where noise hides few records, all of it where every
  count is larger. If that rule leaves cells off by much, the table is known by its noisy sums, as
  if nothing were found out about cells, and keeps all (`SEEN`, `UNSEEN`). The mean over the cells
  is the effective variance of a table, and all tables are combined as in the linear theory. Of the
  tables with more than one attribute, but less than all, that share one with another such table it
  is 1.7 times as large: the fit ends before it has averaged many tables that overlap. A thin table
  keeps half of its noise variance: little tells the cells with records from the others.
* **All cells.** If the universe is measured and not known by its sums alone, no table is off by
  more than all its cells are by that rule, and without a look single cells by just that; of more
  than four columns, a part of the way to it (`ALIKE`).
* **Tables.** Half the L1 error of a table with N cells and effective variance s^2 is the sum over
  its cells of min(a, 2 m) / 2, a = min(0.8 s, 0.4 s^2): of noise that is nearly always 0 the most
  is found out where less than one record is expected. Elsewhere a is at least the mean absolute
  value of discrete Laplace noise, s^2 / sqrt(1 + 2 s^2). In a thin table m is n / N everywhere. Of
  k attributes, it is at most (1 - 2^-k)(1 - 1/N) of the records: where noise drowns everything, a
  table without negative counts is left. That of a thin table hardly has a record where one is.
* **Few wrong cells.** Noise of the universe that is nearly always 0 (`RAREST`) puts one record too
  many into A cells, about, half its variance times their number. If that is more than 5, the other
  cells tell most of them: A (5 / A)^0.4 stay, and as many records are missing elsewhere, after all
  are shares of the total. In a table the two cancel where they fall into one cell: each cell has a
  Poisson number of the former, all cells alike, less its part of the latter. The geometric mean of
  half the L1 error with counts as above and with counts that are all alike.
* **Structure.** A table of q attributes of which only groups of k < q were measured together is off
  by 0.8 x 0.63^(k-1) (1 - k/q)^2.8 of the records besides, for what the interactions of more than
  k attributes hold; an attribute that was measured at a coarser level with g of its N groups
  counts as log g / log N of one. Where only a part of the pairs of the q was measured together, the
  other part is off as if k were 1. A table that was measured is never worse than this model of it.
  In a thin universe a model misses besides what a sample of the records would, as an independent
  error: the total variation of Poisson counts of mean n / N.

The numbers 5 and 0.4 are fits to 200 errors of 14 tables at epsilon 10 (`benchmarks/forecasts.py`):
78 % are within a factor of 1.5, 99 % within 2.5. 1.7, 0.8, 0.63 and 2.8 are rough fits to errors of
four tables in docs/benchmarks.md, 1.2 is usual for counts. 8, 20, the half and 2^-k follow the thin
tables of `benchmarks/thin.py`, whose errors docs/benchmarks.md sums up; SEEN, UNSEEN and ALIKE the
small parts of nine real tables (`benchmarks/small_universes.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin
from synth.planning.expected_counts import expected_counts, ranks_of
from synth.planning.found_out import absolute_left, mean_absolute, variance_left
from synth.planning.linear_theory import Axis, Components, Question, components_of, point_of
from synth.planning.listed import unlisted_share
from synth.planning.noise_sums import MEAN_ABSOLUTE, noise_variances
from synth.planning.problem import ASSUMED_DEPENDENCE
from synth.privacy import TableEvent

Floats = NDArray[np.float64]

UNAVERAGED = 1.7
STRUCTURE, STRUCTURE_PER_ORDER, STRUCTURE_SHARE = 0.8, 0.63, 2.8
FILLED, THIN, THIN_NOISE = 8.0, 20.0, 0.5
"""Cells for every record, up to which a table is well filled, and from which on it is thin; and the
part of the noise variance that a thin table keeps."""
GATHERED = 0.5
"""If a look saw this part of the records in places that noise cannot hide, no table is thin; a
smaller part makes them less so in proportion."""
HIDES = 0.5
"""Where it saw none there, the noise of the universe is half that of a thin table, on a logarithmic
scale, however well records fill it: noise that hides them is not found out."""
FOUND_OUT = 0.4
"""What is left of the square of noise that is nearly always 0."""
BY_DEPENDENCE = 0.25
"""The noise that is left in tables of several columns grows with this power of how far pairs are
from independent: the less they are, the more one cell tells about another."""
HIDDEN, CHANCE, LEAST_HIDDEN = 3.0, 0.03, 0.02
"""Cells are off by 3 s (T + 0.03) of the records that noise can hide, about: T is the dependence,
s the standard deviation of the noise, at most 1. A fiftieth of the records may always be hidden."""
RARE, RAREST = 0.1, 0.02
"""Noise of a smaller standard deviation than the first is nearly always 0, that of the second so
rarely that wrong cells are few; between them the forecast goes over, on a logarithmic scale."""
ALIKE = 4
"""Cells of more columns are better than Bayes' rule for cells that are all alike: as far as 4 of q
columns go, single cells are forecast by it."""
SEEN, UNSEEN = 1 / 6, 1 / 2
"""If the cells of a table are off by no more than the first, it is known by what is found out about
them; from the second on by their sums alone. With nothing found out Bayes' rule is off by half of
the records: its counts are nearly all 0."""
LEAST_LEFT = 1e-12
"""Stands for a variance of next to nothing, where it is divided by."""
FEW_WRONG, FOUND_OF_MORE = 5.0, 0.4
"""So many wrong cells nothing tells from right ones; of A more the part (5 / A)^0.4 is left."""


class ErrorsAfterFit:
    """The expected total variation of every question after the fit to some noisy tables.

    For ranges it is the mean absolute error as a share of the records. A list of cells tells about
    single cells only. What does not depend on the number of records is worked out once.
    Requires: the questions were made for these axes.
    """

    def __init__(
        self,
        axes: tuple[Axis, ...],
        events: Sequence[TableEvent],
        questions: tuple[Question, ...],
        *,
        visible: float | None = None,
        dependence: float = ASSUMED_DEPENDENCE,
    ) -> None:
        """Take the noise of every table, and what all of them and the smaller ones tell.

        `visible` is the part of the records that a look saw in places that noise cannot hide, None
        if there was none, and `dependence` how far pairs of columns are from independent.
        """
        self._scattered = max(0.0, 1 - (visible or 0.0) / GATHERED)
        self._hidden = (
            None if visible is None else max(1 - visible, LEAST_HIDDEN) * (dependence + CHANCE)
        )
        dense = [event for event in events if event.threshold is None]
        self._lists = [event for event in events if event.threshold is not None]
        self._questions = questions
        points = [point_of(axes, Margin(event.table, event.coarsening)) for event in dense]
        universe = tuple(axis.depth for axis in axes)
        self._cells = math.prod(axis.groups[-1] for axis in axes)
        self._columns = sum(axis.groups[-1] > 1 for axis in axes)
        noise = noise_variances(dense)
        self._noise = [(event.cells, of_cell) for event, of_cell in zip(dense, noise, strict=True)]
        self._single_cells = [
            number
            for number, question in enumerate(questions)
            if question.is_table and question.queries == self._cells
        ]
        self._wrong, self._few = _wrong_cells(self._cells, self._noise)
        self._unaveraged = _unaveraged(points, universe)
        smaller = [number for number, point in enumerate(points) if point != universe]
        sets = [list(range(len(points)))] if points else []
        if 0 < len(smaller) < len(points):
            sets.append(smaller)
        self._fits = [
            (tables, _fit_of(axes, tuple(points[i] for i in tables), questions, dependence))
            for tables in sets
        ]

    def at(self, records: int) -> list[float]:
        """The errors with so many records, each at most 1."""
        left = {
            (cells, noise): _effective_variance(cells, noise, records, self._thin(cells, records))
            for cells, noise in set(self._noise)
        }
        precisions = [
            1 / (factor * left[alike])
            for factor, alike in zip(self._unaveraged, self._noise, strict=True)
        ]
        found = np.ones(len(self._questions))
        for tables, fit in self._fits:
            errors = fit.errors([precisions[i] for i in tables], records, self._scattered)
            if len(tables) == len(precisions):
                errors = self._of_few_wrong(self._with_cells(errors, records), records)
            found = np.minimum(found, errors)
        listed = [unlisted_share(event, records) for event in self._lists]
        for number in self._single_cells:
            found[number] = min([self._of_cells(float(found[number]), records), *listed])
        return found.tolist()

    def _thin(self, cells: int, records: float) -> float:
        """How far a table is thin; the universe is in part where a look saw records scattered."""
        of_look = HIDES if self._hidden is not None and cells == self._cells else 0.0
        return self._scattered * max(of_look, thinness(cells, records))

    def _of_cells(self, error: float, records: float) -> float:
        """The error of single cells, after a look half way from this one to what it saw hidden.

        Half way on a logarithmic scale, but no more than the noise itself. Noise that is nearly
        always 0 hides nothing.
        """
        noise = [math.sqrt(variance) for cells, variance in self._noise if cells == self._cells]
        if self._hidden is None or self._few or not noise:
            return error
        hidden = math.sqrt(error * HIDDEN * min(1.0, *noise) * self._hidden)
        return min(1.0, hidden, MEAN_ABSOLUTE * min(noise) * self._cells / (2 * records))

    def _with_cells(self, errors: list[float], records: float) -> list[float]:
        """These errors, as far as the universe is not thin, with what all its cells are off by.

        No table is off by more than they are by Bayes' rule, and without a look single cells by
        just that: neither where the universe is known by its noisy sums alone.
        """
        noise = [variance for cells, variance in self._noise if cells == self._cells]
        filled = 1.0 - self._thin(self._cells, records)
        if not noise or not filled or not self._columns:
            return errors
        whole = _share_left(self._cells, min(noise), records)
        unseen = filled * _unseen(self._cells, min(noise), records)
        most = _between(math.pow(whole, filled), 1.0, unseen)
        found = [min(error, most) for error in errors]
        if self._hidden is not None:
            return found
        alike = (1.0 - unseen) * filled * min(1.0, ALIKE / self._columns)
        bayes = min(1.0, whole * self._fits[0][1].borrowed)
        for number in self._single_cells:
            found[number] = _between(errors[number], bayes, alike)
        return found

    def _of_few_wrong(self, errors: Sequence[float], records: float) -> list[float]:
        """These errors; of tables and single cells they go over to what a few wrong cells leave."""
        if not self._few:
            return list(errors)
        of_size = {
            size: _error_of_few(size, self._wrong, records)
            for size in {q.queries for q in self._questions if q.is_table}
        }
        return [
            _between(error, of_size[question.queries], self._few) if question.is_table else error
            for question, error in zip(self._questions, errors, strict=True)
        ]


class _Fit:
    """Some of the tables, fitted together."""

    def __init__(
        self, components: Components, questions: tuple[Question, ...], dependence: float
    ) -> None:
        self._components, self._questions = components, questions
        self.borrowed = (dependence / ASSUMED_DEPENDENCE) ** BY_DEPENDENCE
        self._missing: list[float] = _structure(components, questions, dependence).tolist()
        self._shapes = [(len(q.attributes), q.queries, q.is_table) for q in questions]
        self._cells = math.prod(axis.groups[-1] for axis in components.axes)

    def errors(self, precisions: Sequence[float], records: float, scattered: float) -> list[float]:
        """For every question: noise in the components that are measured, and missing structure."""
        thin = scattered * thinness(self._cells, records)
        variances = self._components.variances(self._questions, precisions)
        alike = list(zip(variances.tolist(), self._shapes, strict=True))
        noise = {
            each: _error_of_noise(*each, records, scattered, self.borrowed) for each in set(alike)
        }
        return [
            noise[each] + (_with_chance(missing, each[1], thin, records) if missing else 0.0)
            for each, missing in zip(alike, self._missing, strict=True)
        ]


@lru_cache(maxsize=16)
def _fit_of(
    axes: tuple[Axis, ...],
    points: tuple[tuple[int, ...], ...],
    questions: tuple[Question, ...],
    dependence: float,
) -> _Fit:
    """The fit of tables with these partitions; splits of a budget differ in their noise alone."""
    return _Fit(components_of(axes, points), questions, dependence)


def _error_of_noise(
    variance: float,
    shape: tuple[int, int, bool],
    records: float,
    scattered: float,
    borrowed: float,
) -> float:
    order, cells, is_table = shape
    rare = min(MEAN_ABSOLUTE * math.sqrt(variance), FOUND_OUT * variance)
    absolute = max(rare, mean_absolute(variance))
    if not is_table:
        return absolute / records
    part = borrowed if order > 1 else 1.0
    return _table_noise(order, cells, part * absolute, part * rare, records, scattered)


def _with_chance(
    missing: float, shape: tuple[int, int, bool], thin: float, records: float
) -> float:
    """What a model misses of a table, and in a thin universe what a sample of records would."""
    _, cells, is_table = shape
    return math.hypot(missing, thin * _poisson_share(records / cells)) if is_table else missing


def _wrong_cells(universe: int, noise: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """How many cells have a record too many in the end, and how far these are all that is wrong."""
    variance = min((each for cells, each in noise if cells == universe), default=math.inf)
    if variance >= RARE**2:
        return 0.0, 0.0
    wrong = universe * variance / 2
    few = math.log(RARE**2 / variance) / math.log(RARE**2 / RAREST**2)
    return wrong * min(1.0, math.pow(FEW_WRONG / wrong, FOUND_OF_MORE)), min(few, 1.0)


def _error_of_few(size: int, wrong: float, records: float) -> float:
    """Half the L1 error of a table, as a share of the records, where so many cells are wrong."""
    counts, cells = expected_counts(size, records)
    each = wrong / size
    gathered = float(cells @ _poisson_gap(each, wrong / records * counts))
    alike = size * float(_poisson_gap(each, np.array([each]))[0])
    return min(1.0, math.sqrt(gathered * alike) / (2 * records))


def _poisson_gap(mean: float, others: Floats) -> Floats:
    """How far a Poisson count of this mean is from other numbers, on average.

    Exact for numbers up to 1, else as if it were normal.
    """
    near = mean + others * (2 * math.exp(-mean) - 1)
    far = np.sqrt((others - mean) ** 2 + MEAN_ABSOLUTE**2 * mean)
    return np.asarray(np.where(others <= 1, near, far))


def resampling_total_variation(question: Question, records: float) -> float:
    """The total variation of a fresh sample of as many records: an error that nobody minds.

    Half the L1 error of a table whose cells are Poisson counts; for ranges, the share of the
    records in one standard deviation of them all.
    """
    if not question.is_table:
        return 0.5 / math.sqrt(records)
    counts, cells = expected_counts(question.queries, records)
    return float(cells @ np.minimum(MEAN_ABSOLUTE * np.sqrt(counts), 2 * counts)) / (2 * records)


def _unaveraged(points: Sequence[tuple[int, ...]], universe: tuple[int, ...]) -> list[float]:
    """The factors of tables with these partitions."""
    held = np.array(points, dtype=np.int64).reshape(len(points), len(universe)) > 0
    several = held & (held.sum(axis=1) > 1)[:, None]
    several[[point == universe for point in points]] = False
    overlaps = (several & (several.sum(axis=0) > 1)).any(axis=1)
    return [UNAVERAGED if each else 1.0 for each in overlaps]


def thinness(cells: int, records: float) -> float:
    """0 for a table that records fill well; 1 where hardly two of them share a cell."""
    part = (math.log(cells) - math.log(records * FILLED)) / math.log(THIN / FILLED)
    return min(max(part, 0.0), 1.0)


def _between(one: float, other: float, part: float) -> float:
    """The part of the way from one forecast to the other, on a logarithmic scale."""
    if part in (0.0, 1.0) or not one or not other:
        return other if part else one
    return math.exp((1 - part) * math.log(one) + part * math.log(other))


def _share_left(size: int, noise: float, records: float) -> float:
    """The share of the records that all cells of a table are off by, as Bayes' rule leaves them."""
    return min(1.0, absolute_left(size, records, noise) * size / (2 * records))


def _unseen(size: int, noise: float, records: float) -> float:
    """How far a table is known by its noisy sums alone."""
    if mean_absolute(noise) * size <= 2 * records * SEEN:  # no more than that is left
        return 0.0
    part = (_share_left(size, noise, records) - SEEN) / (UNSEEN - SEEN)
    return min(max(part, 0.0), 1.0)


def _effective_variance(size: int, noise: float, records: float, thin: float) -> float:
    left = max(variance_left(size, records, noise), LEAST_LEFT)
    filled = _between(left, noise, _unseen(size, noise, records))
    return max(_between(filled, THIN_NOISE * noise, thin), LEAST_LEFT)


def share_of_pure_noise(order: int, size: int) -> float:
    """What a table of so many attributes and cells is off by where nothing is known of it."""
    return (1 - math.ldexp(1.0, -order)) * (1 - 1 / size)


def _table_noise(
    order: int, size: int, absolute: float, rare: float, records: float, scattered: float
) -> float:
    """Half the L1 error, as a share of the records, where one cell is off by `absolute`.

    And one that is expected to be empty by `rare`.
    """
    filled = ranks_of(size).sum_of_least(absolute, rare, records) / (2 * records)
    spread_out = min(rare * size / (2 * records), 1.0)
    thin = scattered * thinness(size, records)
    found = _between(filled, spread_out, thin)
    most = share_of_pure_noise(order, size)
    return min(found, max(most, thin * _poisson_share(records / size)))


def _poisson_share(mean: float) -> float:
    """About half the mean absolute deviation of a Poisson count, as a part of its mean."""
    return min(math.exp(-min(mean, 1.0)), MEAN_ABSOLUTE / (2 * math.sqrt(mean)))


def _structure(
    components: Components, questions: tuple[Question, ...], dependence: float
) -> Floats:
    """The share of records that a model of the measured tables puts into wrong cells."""
    asked = np.array(
        [[place in q.energy for place in range(len(components.axes))] for q in questions]
    )
    number = asked.sum(axis=1)
    together = (_resolution(components) @ asked.T).max(axis=0)
    held = (components.margins > 0).astype(np.float64)
    pairs = ((held.T @ held) > 0) & ~np.eye(held.shape[1], dtype=bool)
    measured = np.einsum("qa,ab,qb->q", asked, pairs, asked) / np.maximum(number * (number - 1), 1)
    several, single = (
        STRUCTURE * STRUCTURE_PER_ORDER ** (k - 1) * (1 - k / number) ** STRUCTURE_SHARE
        for k in (together, np.minimum(together, 1.0))
    )
    share = measured * several + (1 - measured) * single
    as_assumed = np.minimum(share, 1.0)
    share = 1 - (1 - as_assumed) ** (dependence / ASSUMED_DEPENDENCE)
    share = np.where(together == 0, 1.0, share)
    return np.where(components.answers(questions), 0.0, share)


def _resolution(components: Components) -> Floats:
    """For every margin and axis, the part of the axis that it tells apart: 1 for all codes.

    A coarser level with g of N groups counts as log g / log N of the attribute.
    """
    found = np.zeros(components.margins.shape)
    for place, axis in enumerate(components.axes):
        finest = math.log(axis.groups[-1]) if axis.groups[-1] > 1 else 1.0
        shares = [math.log(groups) / finest for groups in axis.groups]
        shares[-1] = 1.0 if axis.depth else 0.0
        found[:, place] = np.array(shares)[components.margins[:, place]]
    return found
