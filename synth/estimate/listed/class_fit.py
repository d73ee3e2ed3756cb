"""The fit of the latent classes to all noisy tables of sums at once.

With n records, M a table of the model, Y its noisy counts and s their standard deviation, the sum
of ((Y - n M) / s)^2 / 2 over all tables of one and two attributes, and of what those of three tell
that their pairs do not, plus

    lambda sum over attributes j of I(class; X_j)

is made small by steps of Adam (Kingma, Ba 2015). The mutual information is what the classes know of
an attribute; without any, they are all alike and the attributes independent. Every pair adds a
little to what the classes can know, so weak dependences in many pairs are found that none of them
shows alone. A symmetric table of noise over all S codes of d attributes has a largest singular
value of about 2 s sqrt(S): lambda is what a direction must be worth that is not to be that noise,
1.4 d n r / sqrt(S), r^2 the mean precision of the pairs (`_STRENGTH`).

**How severe.** What a strong dependence is worth grows with its square, what it costs with itself:
so classes would know too little of prices by weight. And where all is weak they know too much.
Where all pairs were measured `fission` tells which of a few severities is best.

**How many classes.** 200, or up to 1,000 by the signal n r / sqrt(S), and no more than one for 20
records. Where the signal of all attributes, n r d / sqrt(S), is below 2, or only single attributes
were measured, there is one: independent columns.

All of it in `reproducible` arithmetic: the same bits on every processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.domain import Universe
from synth.estimate.blocks.products import one_thread_each
from synth.estimate.listed.classes import Classes
from synth.estimate.listed.fission import SEVERITIES, best_severity, halves, trials
from synth.estimate.listed.penalty import PLAIN, Penalty, Severity
from synth.estimate.listed.reproducible import exp, log, total, whole
from synth.estimate.listed.tables import OneWay, SumTable, View, combined, groups_of, one_way

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USUAL_CLASSES, MOST_CLASSES = 200, 1000
_CLASSES_OF_THE_SIGNAL = 5.0
"""So many for every standard deviation of noise in a pair that the records are, where that is more
than usual: what is known well takes more classes to hold."""
_FEWEST_CLASSES = 8
_RECORDS_OF_A_CLASS = 20
"""There are no more classes than one for so many records."""
MOST_WORK, _CELLS_OF_A_CODE = 1e11, 130
"""Cells of the tables of a step times classes times steps: bounds the time to some ten seconds.
What is worked out for every code by itself takes as long as so many cells."""
_MOST_PARAMETERS = 1 << 23
STEPS, _FEWEST_STEPS = 400, 150
_AGAIN = 100
"""Steps of a fit that starts from another one's end."""
TRIPLES_OF_A_STEP, CELLS_OF_TRIPLES = 16, 512
"""Of more tables of three attributes as many are looked at in a step, or as have so many cells in
all, in a fixed random order."""
_STRENGTH = 1.4
"""What a direction must be worth, in operator norms of noise at the codes' usual share."""
_HOPELESS = 2.0
"""Without so many standard deviations of all noise, no dependence can be seen at all."""
_LEAST_VARIANCE = 1.0
"""No count is followed more closely than to a record."""
_SPREAD = 0.7
"""Standard deviation of the logs in which the classes differ at first."""
_SEED = 0x5EED
_RATE, _RATE_AGAIN = 0.2, 0.1
_LAST_RATE = 0.02
"""The part of the rate that is left at the end; it falls over the second half of the steps."""
_MOMENTS = (0.9, 0.98)
_TINY = 1e-30
_ROWS_AT_ONCE = 128
"""So many codes with all classes stay in the processor's cache."""
_LAW_BITS = 24
"""Laws are whole numbers of 2^-24, and of their product with the share of the class of 2^-28: sums
over the classes of products of the two stay below 2^53, and so do sums over codes of laws with
residuals of so many bits less."""
_JOINT_BITS = 28
_EXACT_BITS = 52
_GRID = 2.0**-20
_THREADS = 2
_MOST_JUDGED = 50_000
"""Of more cells the plain severity is taken: fits take long, and what another one gains is little
beside their noise. Of Adult with fourteen columns, 148,137 cells, both others were worse."""
_SHORT = 1 << 17
"""With fewer products a table, a thread would take longer to be asked than to answer."""


def fit_classes(
    tables: Sequence[SumTable],
    universe: Universe,
    records: float,
    *,
    start: Classes | None = None,
    quick: bool = False,
    severities: Sequence[Severity] = SEVERITIES,
) -> Classes:
    """Latent classes for these tables; one class where nothing but single attributes is known.

    `start` is what was fitted to tables that were much the same; its severity stays. A `quick` fit
    has the fewest steps, and the plain severity: it tells which tables are worth measuring as well
    as a long one. `severities` are those to choose from, the plain one first.

    Ensures: the same whole numbers for the same input, whatever the processor and the number of
    threads.
    """
    records = max(records, 0.0)
    columns = one_way(tables, universe, records)
    shares = [column.shares for column in columns]
    if records < 1.0:
        return Classes.independent(shares, records)
    objective = _Objective(tables, columns, universe, records)
    classes, steps = objective.size
    if not classes:
        return Classes.independent(shares, records)
    rate = _RATE
    steps = _FEWEST_STEPS if quick else steps
    if start is not None and start.shares.size == classes:
        logits = log(np.concatenate([np.maximum(law, 1).T for law in start.laws]))
        prior = log(np.maximum(start.shares, 1))
        steps, rate = min(steps, _AGAIN), _RATE_AGAIN
    else:
        generator = np.random.Generator(np.random.Philox(_SEED))
        logs = log(np.concatenate([share + 0.5 / records for share in shares]))
        normal = generator.standard_normal((logs.size, classes))
        logits = logs[:, None] + _SPREAD * np.rint(normal / _GRID) * _GRID
        prior = np.zeros(classes)
    told = _Told(steps)
    with one_thread_each(), ThreadPoolExecutor(_THREADS) as pool:
        if start is not None:
            objective.severity = start.severity
        elif not quick and len(severities) > 1 and objective.is_judged:
            begin = logits[:, :USUAL_CLASSES], prior[:USUAL_CLASSES]
            number = objective.degrees_of_freedom
            ahead = trials(number) * len(severities) * _FEWEST_STEPS
            told = _Told(ahead + steps)
            misfit = _misfit_by_fission(tables, columns, universe, records, begin, told, pool)
            objective.severity = best_severity(misfit, number, severities)
            told.done = ahead
        model = _descend(objective, logits, prior, steps, rate, told, pool)
    laws = [model.laws[rows].T for rows in objective.rows]
    return Classes.of(model.shares, laws, records, objective.severity)


def _misfit_by_fission(
    tables: Sequence[SumTable],
    columns: Sequence[OneWay],
    universe: Universe,
    records: float,
    begin: tuple[Floats, Floats],
    told: _Told,
    pool: Executor,
) -> Callable[[Severity, int], float]:
    """What fits of one half of the tables are off by in the other one; see `best_severity`.

    Fits of more than `USUAL_CLASSES` chose the same, and took up to five times as long.
    """

    @lru_cache(maxsize=1)
    def objectives(trial: int) -> list[_Objective]:
        return [_Objective(half, columns, universe, records) for half in halves(tables, trial)]

    def misfit(severity: Severity, trial: int) -> float:
        fitted, judge = objectives(trial)
        fitted.severity = severity
        logits, prior = (point.copy() for point in begin)
        return judge.misfit(_descend(fitted, logits, prior, _FEWEST_STEPS, _RATE, told, pool))

    return misfit


@dataclass(eq=False)
class _Told:
    """How many of how many steps of all fits are done, as whoever waits is told."""

    total: int
    done: int = 0

    def step(self) -> None:
        """One more is begun."""
        progress.advance(self.done, self.total, "iterations")
        self.done += 1


class _Model(NamedTuple):
    """The classes at one step: shares; laws, codes x classes, in units of 2^-24, and their logs."""

    shares: Floats
    laws: Floats
    logs: Floats


def _descend(
    objective: _Objective,
    logits: Floats,
    prior: Floats,
    steps: int,
    rate: float,
    told: _Told,
    pool: Executor,
) -> _Model:
    """The classes after so many steps."""
    points = (logits, prior)
    moments = [(np.zeros_like(point), np.zeros_like(point)) for point in points]
    fading = [1.0, 1.0]
    for step in range(steps):
        told.step()
        slopes = objective.slopes(objective.at(logits, prior), pool)
        late = max(0.0, 2.0 * (step + 1) / steps - 1.0)
        fading = [left * moment for left, moment in zip(fading, _MOMENTS, strict=True)]
        size = rate * (1.0 - (1.0 - _LAST_RATE) * late) / (1.0 - fading[0])
        for point, slope, moment in zip(points, slopes, moments, strict=True):
            for some in range(0, len(point), _ROWS_AT_ONCE):
                rows = slice(some, some + _ROWS_AT_ONCE)
                mean, square = (each[rows] for each in moment)
                mean += (1.0 - _MOMENTS[0]) * (slope[rows] - mean)
                square += (1.0 - _MOMENTS[1]) * (slope[rows] * slope[rows] - square)
                root = np.sqrt(square * (1.0 / (1.0 - fading[1])))
                root += _TINY
                point[rows] -= size * mean / root
    progress.advance(told.done, told.total, "iterations")
    return objective.at(logits, prior)


@dataclass(frozen=True, eq=False)
class _Grouping:
    """Codes of one attribute put into groups: sums over each, and what belongs to every code."""

    group_of: Ints

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.group_of, kind="stable")

    @cached_property
    def _starts(self) -> Ints:
        return np.searchsorted(self.group_of[self._order], np.arange(self.group_of.max() + 1))

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Over the codes of every group, along the first axis. Requires: no group is empty."""
        return np.asarray(np.add.reduceat(values[self._order], self._starts, axis=0))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """The value of its group for every code."""
        return np.asarray(values[self.group_of])


@dataclass(frozen=True, eq=False)
class _Strip:
    """The pairs of one view with others: `sums` has its codes as rows, theirs as columns."""

    rows: slice
    columns: slice | Ints
    sums: Floats
    precision: Floats


@dataclass(frozen=True, eq=False)
class _Triple:
    """A table of three views, its first two axes in one, less the means along every axis."""

    parts: tuple[slice, slice, slice]
    sums: Floats
    precision: float


class _Part(NamedTuple):
    """Some codes of the first attribute of a triple: their rows and laws less their means.

    `both` are the products of those with the laws of the second attribute, `off` is what the model
    has above the sums, in records.
    """

    rows: slice
    left: Floats
    both: Floats
    off: Floats


class _Objective:
    """The slopes of what is made small.

    Laws are held as one matrix of classes in columns and the codes of all attributes in rows, below
    which there are those of coarser views. All slopes are divided by the total.
    """

    def __init__(
        self,
        tables: Sequence[SumTable],
        columns: Sequence[OneWay],
        universe: Universe,
        records: float,
    ) -> None:
        """Take all tables apart into pairs, and into triples less what their pairs tell."""
        self.severity = PLAIN
        self._records = records
        self.rows = tuple(_slices(universe.shape))
        self._sizes = np.asarray(universe.shape)
        self._starts = np.array([rows.start for rows in self.rows])
        self._pairs = list(combined([t for t in tables if len(t.axes) > 1], 2))
        threes = list(combined([t for t in tables if len(t.axes) > 2], 3))
        used = {view for views, *_ in self._pairs for view in views}
        self._places = {(axis, 0): rows for axis, rows in enumerate(self.rows)}
        self._coarse = []
        end = int(self._sizes.sum())
        for view in sorted(view for view in used if view[1]):
            grouping = _Grouping(groups_of(universe, view))
            size = int(grouping.group_of.max()) + 1
            self._places[view] = slice(end, end + size)
            self._coarse.append((view, grouping))
            end += size
        self._height = end
        self._ones = self._one_way(columns, universe)
        self._strips = list(self._by_first_view())
        self._entries = sum(strip.sums.size for strip in self._strips)
        self._triples = [self._triple(*each) for each in threes]
        self._of_a_step = _of_a_step([triple.sums.size for triple in self._triples])
        self._order = np.random.Generator(np.random.Philox(_SEED + 1))
        self._waiting: list[int] = []
        self._penalty = Penalty.of(universe.attributes, self._starts)
        free = [prod(part.stop - part.start - 1 for part in each.parts) for each in self._triples]
        self.degrees_of_freedom = self._entries + sum(free)
        """What all pairs tell, and triples besides, in numbers that noise moves independently."""
        self._signal, strength = self._signal_and_strength(tables, used)
        self._strength = strength / records

    # What kind of fit it is.

    @property
    def size(self) -> tuple[int, int]:
        """How many classes, 0 if nothing is to be found, and how many steps."""
        if self._signal < _HOPELESS:
            return 0, 0
        cells = float(sum(sums.size for _, sums, _ in self._pairs))
        threes = sum(triple.sums.size for triple in self._triples)
        cells += threes * self._of_a_step / max(1, len(self._triples))
        cells += _CELLS_OF_A_CODE * self._height
        clear = int(_CLASSES_OF_THE_SIGNAL * self._signal / len(self.rows))
        classes = min(
            max(USUAL_CLASSES, min(clear, MOST_CLASSES)),
            int(self._records) // _RECORDS_OF_A_CLASS,
            int(MOST_WORK / (cells * _FEWEST_STEPS)),
            _MOST_PARAMETERS // self._height,
        )
        classes = max(classes, _FEWEST_CLASSES)
        return classes, int(np.clip(MOST_WORK / (cells * classes), _FEWEST_STEPS, STEPS))

    @property
    def is_judged(self) -> bool:
        """Whether a severity is chosen: all pairs were measured, in cells that are not too many."""
        several = int((self._sizes > 1).sum())
        known = {(first, second) for ((first, _), (second, _)), *_ in self._pairs}
        has_all = len(known) >= several * (several - 1) // 2
        return has_all and self.degrees_of_freedom <= _MOST_JUDGED

    def _signal_and_strength(
        self, tables: Sequence[SumTable], used: set[View]
    ) -> tuple[float, float]:
        """How many standard deviations of all noise the records are, about, and lambda."""
        finest: dict[int, int] = {}
        for axis, step in used:
            finest[axis] = min(step, finest.get(axis, step))
        codes = sum(self._rows_of((axis, step)) for axis, step in finest.items())
        number = len(finest)
        known: dict[tuple[int, int], float] = {}
        for table in tables:
            for pair in combinations(table.axes, 2):
                others = table.values.size / prod(
                    table.values.shape[table.axes.index(axis)] for axis in pair
                )
                precision = 1.0 / ((table.variance + _LEAST_VARIANCE) * others)
                known[pair] = max(known.get(pair, 0.0), precision)
        if not known:
            return 0.0, 0.0
        usual = math.sqrt(sum(known.values()) / (number * (number - 1) / 2))
        signal = number * self._records * usual / math.sqrt(codes)
        return signal, _STRENGTH * signal

    def _rows_of(self, view: View) -> int:
        place = self._places[view]
        return int(place.stop - place.start)

    # Tables, as they are compared.

    def _one_way(
        self, columns: Sequence[OneWay], universe: Universe
    ) -> list[tuple[slice, _Grouping | None, Floats, float]]:
        """For every attribute: its codes, groups, expected sums and their precision."""
        found = []
        for axis, (shares, step, variance) in enumerate(columns):
            if step is None:
                continue
            grouping = _Grouping(groups_of(universe, (axis, step))) if step else None
            sums = self._records * (shares if grouping is None else grouping.sums(shares))
            found.append((self.rows[axis], grouping, sums, 1.0 / (variance + _LEAST_VARIANCE)))
        return found

    def _by_first_view(self) -> Iterator[_Strip]:
        partners: dict[View, list[tuple[View, Floats, float]]] = {}
        for (first, second), sums, variance in self._pairs:
            partners.setdefault(first, []).append((second, sums, variance))
        for first, others in sorted(partners.items(), key=lambda entry: entry[0]):
            others.sort(key=lambda entry: self._places[entry[0]].start)
            places = [self._places[view] for view, *_ in others]
            columns: slice | Ints = slice(places[0].start, places[-1].stop)
            if any(one.stop != other.start for one, other in pairwise(places)):
                columns = np.concatenate([np.arange(each.start, each.stop) for each in places])
            precision = np.concatenate(
                [np.full(sums.shape[1], 1.0 / (v + _LEAST_VARIANCE)) for _, sums, v in others]
            )
            table = np.concatenate([sums for _, sums, _ in others], axis=1)
            yield _Strip(self._places[first], columns, table, precision)

    def _triple(
        self, views: tuple[View, ...], sums: NDArray[np.float64], variance: float
    ) -> _Triple:
        first, second, third = (self._places[view] for view in views)
        for axis in range(3):
            mean = np.cumsum(sums, axis=axis).take([-1], axis=axis) / sums.shape[axis]
            sums = sums - mean
        table = sums.reshape(-1, sums.shape[2])
        precision = 1.0 / (variance + _LEAST_VARIANCE)
        return _Triple((first, second, third), table, precision)

    # Slopes.

    def at(self, logits: Floats, prior: Floats) -> _Model:
        """The classes of these logits."""
        shares = exp(prior - prior.max())
        shares /= total(shares)
        top = np.maximum.reduceat(logits, self._starts, axis=0)
        logs = logits - np.repeat(top, self._sizes, axis=0)
        laws = exp(logs)
        sums = np.add.reduceat(laws, self._starts, axis=0)
        laws *= np.repeat(2.0**_LAW_BITS / sums, self._sizes, axis=0)
        logs -= np.repeat(log(sums), self._sizes, axis=0)
        return _Model(shares, np.rint(laws, out=laws), logs)

    def slopes(self, model: _Model, pool: Executor) -> tuple[Floats, Floats]:
        """The derivatives by the logits of the laws and of the shares of the classes.

        In between, laws are in units of 2^-24, and so are slopes by them.
        """
        codes = len(model.laws)
        laws, joint = self._of_all_views(model)
        slope = np.zeros_like(laws)
        by_share = np.zeros_like(model.shares)

        def along(strip: _Strip) -> tuple[Floats, Floats]:
            rows, columns = laws[strip.rows], laws[strip.columns]
            off = self._off(joint[strip.rows], columns, strip.sums)
            off *= strip.precision
            off, scale = whole(off, self._residual_bits)
            return (off @ columns) * scale, (off.T @ rows) * scale

        is_short = self._entries * len(model.shares) < _SHORT * len(self._strips)
        found = map(along, self._strips) if is_short else pool.map(along, self._strips)
        for strip, (left, right) in zip(self._strips, found, strict=True):
            slope[strip.rows] += left
            slope[strip.columns] += right
            by_share += (left * laws[strip.rows]).sum(axis=0)
        for triple, weight in self._some_triples():
            self._add_triple(triple, weight, laws, model.shares, slope, by_share)
        for view, grouping in self._coarse:
            slope[self.rows[view[0]]] += grouping.spread(slope[self._places[view]])
        slope = slope[:codes]
        mean = joint[:codes].sum(axis=1) * 2.0**-_JOINT_BITS
        for rows, groups, wanted, precision in self._ones:
            now = mean[rows] if groups is None else groups.sums(mean[rows])
            off = (self._records * now - wanted) * precision
            off = off if groups is None else groups.spread(off)
            slope[rows] += off[:, None] * 2.0**_LAW_BITS
            by_share += (off[:, None] * model.laws[rows]).sum(axis=0) * 2.0**_LAW_BITS
        slope *= 2.0**-_LAW_BITS
        by_share *= 4.0**-_LAW_BITS
        self._add_penalty(model, mean, slope, by_share)
        laws = model.laws * 2.0**-_LAW_BITS
        inner = np.add.reduceat(laws * slope, self._starts, axis=0)
        slope -= np.repeat(inner, self._sizes, axis=0)
        slope *= laws
        slope *= model.shares
        by_share -= total(model.shares * by_share)
        by_share *= model.shares
        return slope, by_share

    def misfit(self, model: _Model) -> float:
        """The mean square of what it is off by in all pairs and triples, by their noise."""
        laws, joint = self._of_all_views(model)
        found: float = 0.0
        for strip in self._strips:
            off = self._off(joint[strip.rows], laws[strip.columns], strip.sums)
            found += total(np.ravel(off * off * strip.precision))
        for triple in self._triples:
            for part in self._parts(triple, laws, model.shares):
                found += total(np.ravel(part.off * part.off)) * triple.precision
        return found / int(self.degrees_of_freedom)

    def _of_all_views(self, model: _Model) -> tuple[Floats, Floats]:
        """Laws of the codes and of the groups of coarser views, and each times its class's share.

        Whole numbers: the first in units of 2^-24, the second of 2^-28.
        """
        laws = model.laws
        if self._coarse:
            sums = [grouping.sums(laws[self.rows[view[0]]]) for view, grouping in self._coarse]
            laws = np.concatenate([laws, *sums])
        return laws, np.rint(laws * (model.shares * 2.0 ** (_JOINT_BITS - _LAW_BITS)))

    def _off(self, joint: Floats, laws: Floats, sums: Floats) -> Floats:
        """What the model has of a table above its noisy counts, in records."""
        off = joint @ laws.T
        off *= self._records * 2.0 ** -(_JOINT_BITS + _LAW_BITS)
        off -= sums
        return np.asarray(off)

    @property
    def _residual_bits(self) -> int:
        """How many bits residuals may have, that sums over all codes of all views stay exact."""
        views = len(self.rows) + len(self._coarse)
        return _EXACT_BITS - _LAW_BITS - views.bit_length()

    def _some_triples(self) -> Iterator[tuple[_Triple, float]]:
        """The tables of three attributes that this step looks at, and how much each counts."""
        number = self._of_a_step
        if len(self._waiting) < number:
            self._waiting += self._order.permutation(len(self._triples)).tolist()
        chosen, self._waiting = self._waiting[:number], self._waiting[number:]
        for place in chosen:
            yield self._triples[place], len(self._triples) / number

    def _add_triple(
        self,
        triple: _Triple,
        weight: float,
        laws: Floats,
        shares: Floats,
        slope: Floats,
        by_share: Floats,
    ) -> None:
        """Add the slopes of one table."""
        _, second, third = triple.parts
        right, last = (_less_mean(laws[part]) for part in triple.parts[1:])
        for part in self._parts(triple, laws, shares):
            off = part.off
            off *= triple.precision * weight
            off, scale = whole(off, self._residual_bits)
            slope[third] += (off.T @ part.both) * scale
            back = (off @ last) * (scale * 2.0**-_LAW_BITS)
            back = back.reshape(len(part.left), len(right), -1)
            slope[part.rows] += (back * right).sum(axis=1)
            towards = (back * part.left[:, None, :]).sum(axis=0)
            slope[second] += towards
            by_share += (towards * right).sum(axis=0)

    def _parts(self, triple: _Triple, laws: Floats, shares: Floats) -> Iterator[_Part]:
        """What the model has of a table above its sums, some codes of its first attribute a time.

        A table of the model less its means along every axis is that of the laws less theirs.
        """
        first = triple.parts[0]
        firsts, right, last = (_less_mean(laws[part]) for part in triple.parts)
        wide, classes = right.shape
        step = max(1, _MOST_PARAMETERS // (wide * classes))
        for start in range(first.start, first.stop, step):
            rows = slice(start, min(start + step, first.stop))
            left = firsts[start - first.start : rows.stop - first.start]
            both = np.rint(left[:, None, :] * right * 2.0**-_LAW_BITS).reshape(-1, classes)
            joint = np.rint(both * (shares * 2.0 ** (_JOINT_BITS - _LAW_BITS)))
            begin = (start - first.start) * wide
            off = self._off(joint, last, triple.sums[begin : begin + len(both)])
            yield _Part(rows, left, both, off)

    def _add_penalty(self, model: _Model, mean: Floats, slope: Floats, by_share: Floats) -> None:
        """Add the slopes of what knowledge costs, of codes and of all groups."""
        unit = 2.0**-_LAW_BITS
        ratio = model.logs - log(np.maximum(mean, _TINY))[:, None]
        strength: float | Floats = self._strength * self.severity.weight
        if math.isfinite(self.severity.bend):
            known = np.add.reduceat(model.laws * ratio, self._starts, axis=0) * model.shares
            known = np.cumsum(known, axis=1)[:, -1] * unit
            eased = strength / (1.0 + np.maximum(known, 0.0) / self.severity.bend)
            strength = np.repeat(eased, self._sizes)[:, None]
        ratio *= self._penalty.own[:, None]
        if self._penalty.more.size:
            groups = np.maximum(self._penalty.sums(model.laws), 1.0) * unit
            coarse = log(groups)
            coarse -= log(np.maximum(self._penalty.sums(mean), _TINY))[:, None]
            coarse *= self._penalty.more[:, None]
            self._penalty.spread(coarse, ratio)
        ratio *= strength
        by_share += unit * (model.laws * ratio).sum(axis=0)
        slope += ratio


def _less_mean(laws: Floats) -> Floats:
    """Less the mean over the codes, to whole numbers."""
    return np.asarray(laws - np.rint(laws.sum(axis=0) / len(laws)))


def _of_a_step(cells: Sequence[int]) -> int:
    """How many tables of three attributes a step looks at."""
    if not cells:
        return 0
    several = CELLS_OF_TRIPLES * len(cells) // sum(cells)
    return min(len(cells), max(TRIPLES_OF_A_STEP, several))


def _slices(sizes: Sequence[int]) -> Iterator[slice]:
    start = 0
    for size in sizes:
        yield slice(start, start + size)
        start += size
