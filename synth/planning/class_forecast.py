"""The error to expect where one model of all columns is fitted to small noisy tables.

The model pools what every table of two or more columns tells about pairs. With d columns of D_j
codes, g their geometric mean, S codes in all at the finest levels of the tables of pairs, and P the
mean over all pairs of what the tables that hold a pair tell of a cell of it (1 / variance of the
noise, added up), the signal of a pair is

    q = n sqrt(P / S)      (a matrix of noise of S x S has an operator norm of about 2 S^(1/2) sd)

and a k-way table of the rows is off, in total variation, by about 1 / (1 / seen + 1 / lost) of

    seen   A g^a d^(-3/2) / (q T^(1/2)) + F g^f    (how sharply it sees, and what it cannot be)
    lost   1 - (1 - T)^t + c times the mean 1-way error of its columns   (no dependence is left)

and by at most 1 - 2^-k. T is how far a pair of columns is from the product of both, the mean over
pairs (`Problem.dependence`): a look sees it, with what is due to chance, which is taken off. Of
what is left of a table with r cells for every record, chance moves 1 - 1 / (1 + r `CHANCE`): where
columns have many bins of few records each, no model foresees which of them are filled. Of q^2 the
part `OWN` is that of the table's own pairs. Of a pair that no table holds, the model sees as much
as the part of all pairs that is measured, and the rest is lost; of a pair at coarser levels log
groups / log codes of it is measured; a part p that is chosen by how much its columns depend on each
other stands for 1 - (1-p)^3.5 of them, with P as if all had p^(1/2) of the variance; of at most 8
columns with P as it is. A 1-way table is off by the noise that all tables leave in it, less what
its posterior means take away, and by a small part of what pairs are off by.
Beyond triples, -log(1 - error) grows with the power `BEYOND_TRIPLES` of the number of columns.

The letters are regressions, one set for pairs and one for triples, on the errors of 27 real and
made-up tables of 6 to 50 columns, at epsilon 0.1 to 10, pure and Gaussian
(`benchmarks/forecasts.py`). Fitted without a table, they are within a factor of 1.5 of 93 % of its
errors of pairs and 85 % of those of triples, and within 2.5 of 99 and 98 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from synth.planning.after_nonnegativity import ErrorsAfterFit
from synth.planning.costs import are_small
from synth.planning.linear_theory import Axis, Question
from synth.planning.listed import unlisted_share
from synth.planning.look import is_modelled
from synth.planning.noise_sums import MEAN_ABSOLUTE, noise_variances
from synth.planning.problem import Problem
from synth.planning.rounds import Schedule
from synth.planning.wide import FEW_COLUMNS, is_wide
from synth.privacy import TableEvent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEFT_OF_ONE_WAY, FEW_LEVELS = 0.82, 50.0
"""The posterior means of a column of D codes leave 0.82 of little noise. Noise that is off by a
part x leaves 1 / (1 + x (1 + D / 50)) of that: the more of it and the more codes, the more is found
out to be empty, or like its neighbours."""
MISFIT = 0.04
"""The part of what pairs are off by that 1-way tables are off by besides."""
OWN = 0.15
"""The part of q^2 that the tables over a question's own pairs decide."""
MOST_LEVELS = 8.0
"""A larger mean g changes nothing: of columns of many codes, such as amounts, most are rare."""
CHOSEN = 3.5
"""Of all pairs a part p that is chosen by its scores tells as much as a part 1 - (1 - p)^CHOSEN by
chance, and as sharply as if all were measured with p^(1/2) of the variance; of few columns, where
hardly a pair is left that does not follow from those chosen, with the mean precision of all."""
CHOSEN_TRIPLES = 1 / 3
"""Of all triples a part p that is chosen tells as much as a part p^CHOSEN_TRIPLES by chance."""
MOST_CLEARER = 2.0
"""Of a table of k columns the model makes more than of its pairs alone, since no cell of it is
negative: it counts k/2-fold, and no more than this."""
TRIPLES_LEAVE = 0.37
"""What measured triples leave of F g^f for all triples."""
BEYOND_TRIPLES = 2.4
"""Of seven columns of diamonds and flights that leads from triples to the joint table within a
quarter, whatever is measured."""
SHARED, BY_CELLS = 6.5, 0.55
"""With r cells for every record, a model that is right puts the part 6.5 r^-0.55 of the records
where others lie, about, or all; of tables of real records. The rest is chance."""
CHANCE, LEAST_APART = 0.1, 0.25
"""How far chance goes with the cells that a table has for every record; and the part of what a look
saw of the dependence of pairs that is never taken to be chance."""
KEPT_COLUMNS = 128
"""Of no more columns what tables tell about every pair is kept for further numbers of records."""
OF_RANGES = 1 / 3
"""What one interval is off by, as a part of the total variation of its table."""


@dataclass(frozen=True)
class Law:
    """What tables of one number of columns are off by; the letters are those of the module."""

    seen: tuple[float, float]
    """A, a."""
    floor: tuple[float, float]
    """F, f."""
    lost: tuple[float, float]
    """t, c."""

    def with_all_pairs(
        self,
        dependence: float,
        levels: float,
        columns: int,
        signal: Floats,
        ones: Floats,
        triples: float,
    ) -> tuple[Floats, Floats]:
        """Errors where all pairs are measured with these signals, and where none is.

        `triples`: the part of all triples that is measured, too.
        """
        factor, by_levels = self.seen
        clear = factor * levels**by_levels * columns**-1.5 / math.sqrt(dependence)
        left = 1 - (1 - TRIPLES_LEAVE) * triples
        seen = clear / np.maximum(signal, 1e-9) + left * self.floor[0] * levels ** self.floor[1]
        power, of_ones = self.lost
        lost = 1 - (1 - dependence) ** power + of_ones * ones
        return 1 / (1 / seen + 1 / lost), lost


LAWS = {
    2: Law(seen=(2.8, 1.0), floor=(0.00014, 2.0), lost=(1.0, 1.2)),
    3: Law(seen=(2.8, 1.44), floor=(0.0009, 2.0), lost=(2.3, 1.5)),
}


def by_chance(cells: Floats, records: int) -> Floats:
    """What a model that is right is off by in tables of so many cells, for records are few."""
    return np.asarray(1 - 1 / (1 + CHANCE * cells / records))


def shared(cells: int, records: int) -> float:
    """The part of the records that a model, or a list, puts into their cells at best."""
    return min(1.0, SHARED * math.pow(cells / max(1, records), -BY_CELLS))


class ErrorsOfClasses:
    """The expected total variation of every question, after the fit of the model to some tables.

    For ranges it is the mean absolute error as a share of the records. A list of cells tells about
    single cells only, and single cells are told at all where records share them. Columns of one
    code tell nothing and miss nothing, and do not count. What does not depend on the number of
    records is worked out once.
    Requires: the questions were made for these axes.
    """

    def __init__(
        self,
        axes: tuple[Axis, ...],
        events: Sequence[TableEvent],
        questions: tuple[Question, ...],
        schedule: Schedule | None = None,
        *,
        dependence: float,
    ) -> None:
        """Add up what the tables tell about every column and every pair.

        `dependence`: T. With a `schedule`, its first tables and the pairs to be chosen; `events` do
        not count.
        """
        events = events if schedule is None else schedule.first
        self._single_cells = np.array([question.kind == "cells" for question in questions], bool)
        self._dependence = dependence
        self._cells = math.prod(axis.groups[-1] for axis in axes)
        self._lists = [event for event in events if event.threshold is not None]
        varied = tuple(i for i, axis in enumerate(axes) if axis.groups[-1] > 1) or (0,)
        self._groups = _groups_of(questions, varied)
        kept = [axes[i] for i in varied]
        self._sizes = np.array([axis.groups[-1] for axis in kept], dtype=np.float64)
        columns = len(kept)
        place = {axis.name: number for number, axis in enumerate(kept)}
        alone = np.zeros(columns)
        self._own = np.zeros((columns, columns))
        self._measured = np.zeros((columns, columns))
        finest = np.zeros(columns)
        by_order = _by_order(events, place)
        for order, alike in by_order.items():
            places = np.array([[place[n] for n in each.table if n in place] for each in alike])
            groups = np.array([_groups(kept, place, event) for event in alike])
            told = _told(groups, self._sizes[places])
            precision = _precisions(alike)
            cells = np.array([float(event.cells) for event in alike])
            clearer = min(order / 2, MOST_CLEARER)
            np.add.at(alone, places, told * groups * (precision / cells)[:, None])
            for first, second in permutations(range(places.shape[1]), 2):
                pair = places[:, first], places[:, second]
                both = groups[:, first] * groups[:, second]
                np.add.at(self._own, pair, clearer * both * precision / cells)
                np.maximum.at(finest, places[:, first], groups[:, first])
                least = np.minimum(told[:, first], told[:, second])
                np.maximum.at(self._measured, pair, least)
        held = sum(len(alike) * math.comb(order, 3) for order, alike in by_order.items())
        all_triples = max(1, math.comb(columns, 3))
        self._triples = min(1.0, held / all_triples)
        if schedule is not None and schedule.rounds:
            chosen = [each.event(schedule.candidates[0]) for each in schedule.rounds]
            precision = _precisions(chosen).mean()
            if len(schedule.candidates[0].margin.names) > 2:
                self._triples = (len(chosen) / all_triples) ** CHOSEN_TRIPLES
                self._choose_triples(precision, len(chosen))
            else:
                self._choose_pairs(precision, len(chosen), alone)
        self._codes = float(np.where(finest, finest, self._sizes).sum())
        self._pairs = columns * (columns - 1) / 2
        self._pool = float(self._own.sum()) / 2 / max(1.0, self._pairs)
        self._share = float(self._measured.sum()) / 2 / max(1.0, self._pairs)
        self._noise_of_one_way = (
            MEAN_ABSOLUTE / 2 * self._sizes / np.sqrt(np.maximum(alone, 1e-200))
        )

    def _choose_pairs(self, precision: float, number: int, alone: Floats) -> None:
        """Take so many pairs as chosen; `alone` is what is known of a cell of every column."""
        columns = len(self._sizes)
        part = number / math.comb(columns, 2)
        several = ~np.eye(columns, dtype=bool)
        few = columns <= FEW_COLUMNS
        self._own[several] = precision * part if few else precision / math.sqrt(part)
        self._measured[several] = 1 - (1 - part) ** CHOSEN
        others = (self._sizes.sum() - self._sizes) / (columns - 1)
        alone += 2 * number / columns * precision / others

    def _choose_triples(self, precision: float, number: int) -> None:
        """Take so many triples as chosen: each tells about three pairs, here all alike."""
        several = ~np.eye(len(self._sizes), dtype=bool)
        pairs = math.comb(len(self._sizes), 2)
        self._own[several] += 3 * number / pairs * precision / self._sizes.mean()

    def at(self, records: int) -> list[float]:
        """The errors with so many records, each at most 1."""
        noise = self._noise_of_one_way / records
        left = LEFT_OF_ONE_WAY * noise / (1 + noise * (1 + self._sizes / FEW_LEVELS))
        ones = np.minimum(left, (1 - 1 / self._sizes) / 2)
        found = np.ones(len(self._single_cells))
        for order, (numbers, places, factors) in self._groups.items():
            errors = self._of_order(order, places, ones, records)
            found[numbers] = factors * errors
        found[self._single_cells] = self._of_cells(ones, records)
        return found.tolist()

    def _of_cells(self, ones: Floats, records: int) -> float:
        """The error of single cells: what the model gets right, or a list, if records fill them."""
        together = shared(self._cells, records)
        every = np.arange(len(self._sizes))[None, :]
        modelled = float(self._modelled(len(self._sizes), every, ones, records)[0])
        listed = [unlisted_share(event, records) for event in self._lists]
        return 1 - together * (1 - min([modelled, *listed]))

    def _of_order(self, order: int, places: Ints, ones: Floats, records: int) -> Floats:
        """The errors of tables of so many columns each: one row of `places` for every table."""
        modelled = self._modelled(order, places, ones, records)
        if order < 2:
            return modelled
        chance = by_chance(self._sizes[places].prod(axis=1), records)
        return np.asarray(1 - (1 - modelled) * (1 - chance))

    def _modelled(self, order: int, places: Ints, ones: Floats, records: int) -> Floats:
        """The same without what is due to chance."""
        if not order:
            return np.zeros(len(places))
        if order == 1:
            signal = np.array([records * math.sqrt(self._pool / self._codes)])
            share = np.array([self._share])
            pairs = self._mixed(2, signal, share, np.array([ones.mean()]), records)
            misfit = MISFIT * float(pairs[0]) if self._pool else 0.0
            return np.asarray(np.hypot(ones[places[:, 0]], misfit))
        first, second = np.triu_indices(order, 1)
        own = self._own[places[:, first], places[:, second]].mean(axis=1)
        held = self._measured[places[:, first], places[:, second]]
        seen = np.maximum(held, self._share).mean(axis=1)
        signal = records * np.sqrt((OWN * own + (1 - OWN) * self._pool) / self._codes)
        mean = ones[places].mean(axis=1)
        if order <= max(LAWS):
            return self._mixed(order, signal, seen, mean, records)
        lost = -np.log1p(-self._mixed(3, signal, seen, mean, records))
        wrong = -np.expm1(-lost * (order / 3) ** BEYOND_TRIPLES)
        return np.asarray(np.minimum(wrong, 1 - math.ldexp(1.0, -order)))

    def _mixed(
        self, order: int, signal: Floats, seen: Floats, ones: Floats, records: int
    ) -> Floats:
        """The error where the part `seen` of what pairs would tell is measured."""
        levels = min(MOST_LEVELS, math.exp(float(np.log(self._sizes).mean())))
        triples = self._triples if order > 2 else 0.0
        best, none = LAWS[order].with_all_pairs(
            self._apart(records), levels, len(self._sizes), signal, ones, triples
        )
        found = seen * best + (1 - seen) * none
        return np.asarray(np.minimum(found, 1 - math.ldexp(1.0, -order)))

    def _apart(self, records: int) -> float:
        """How far pairs of columns are from the product of both, less what is due to chance."""
        chance = by_chance(np.outer(self._sizes, self._sizes), records)
        mean = float(chance.sum() - np.trace(chance)) / 2 / max(1.0, self._pairs)
        return max(LEAST_APART * self._dependence, 1 - (1 - self._dependence) / (1 - mean))


def errors_after_fit(
    problem: Problem,
    events: Sequence[TableEvent],
    questions: tuple[Question, ...],
    schedule: Schedule | None = None,
) -> ErrorsAfterFit | ErrorsOfClasses:
    """The forecast for the way in which these tables are fitted.

    With a `schedule`, some tables are chosen in the run, and `events` are those of a likely one.

    Privacy: a function of the public problem and of planned or measured tables.
    """
    first = events if schedule is None else schedule.first
    modelled = is_modelled(problem) and are_small(first, problem.universe)
    if modelled or is_wide(problem) or any(event.threshold is not None for event in first):
        if schedule is None and len(problem.axes) <= KEPT_COLUMNS:
            return _of_classes(problem.axes, tuple(events), questions, problem.dependence)
        return ErrorsOfClasses(
            problem.axes, events, questions, schedule, dependence=problem.dependence
        )
    visible = None if problem.seen is None else problem.seen.visible
    return ErrorsAfterFit(
        problem.axes, events, questions, visible=visible, dependence=problem.dependence
    )


@lru_cache(maxsize=64)
def _of_classes(
    axes: tuple[Axis, ...],
    events: tuple[TableEvent, ...],
    questions: tuple[Question, ...],
    dependence: float,
) -> ErrorsOfClasses:
    """The same for every number of records that is considered."""
    return ErrorsOfClasses(axes, events, questions, dependence=dependence)


def _by_order(events: Sequence[TableEvent], place: dict[str, int]) -> dict[int, list[TableEvent]]:
    """The tables that are no lists, by how many of these columns they have."""
    found: dict[int, list[TableEvent]] = {}
    for event in events:
        order = sum(name in place for name in event.table)
        if event.threshold is None and order:
            found.setdefault(order, []).append(event)
    return found


def _groups(axes: Sequence[Axis], place: dict[str, int], event: TableEvent) -> list[float]:
    """The groups of those columns of a table that have a place, at its resolution."""
    return [
        float(axes[place[name]].groups[axes[place[name]].measured[-1 - steps]])
        for name, steps in zip(event.table, event.coarsening, strict=True)
        if name in place
    ]


def _told(groups: Floats, sizes: Floats) -> Floats:
    """The part of a column that a resolution tells apart: log g / log N of N codes, 1 for all."""
    parts = np.log(groups) / np.log(np.maximum(sizes, 2.0))
    return np.where(groups == sizes, 1.0, parts)


def _precisions(events: Sequence[TableEvent]) -> Floats:
    """1 / variance of the noise of a cell of every table."""
    return 1 / np.array(noise_variances(events))


@lru_cache(maxsize=16)
def _groups_of(
    questions: tuple[Question, ...], varied: tuple[int, ...]
) -> dict[int, tuple[Ints, Ints, Floats]]:
    """By number of columns: the questions' numbers, their axes, and what part of a table counts.

    Columns are those at the axes `varied`, and called by their place in it. Single cells of the
    universe are left out.
    """
    found: dict[int, list[tuple[int, list[int], float]]] = {}
    for number, question in enumerate(questions):
        if question.kind != "cells":
            places = [place for place, axis in enumerate(varied) if axis in question.energy]
            factor = 1.0 if question.is_table else OF_RANGES
            found.setdefault(len(places), []).append((number, places, factor))
    return {
        order: (
            np.array([number for number, _, _ in alike]),
            np.array([places for _, places, _ in alike]).reshape(len(alike), order),
            np.array([factor for _, _, factor in alike]),
        )
        for order, alike in found.items()
    }
