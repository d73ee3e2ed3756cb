"""The gate: no counts are published that contradict the noisy tables they were fitted to.

The null hypothesis is that the published counts are the true ones. Then every noisy count less
the published one is a draw of noise whose law is known, and so is every sum of them. Each sum is
compared with a limit that such noise passes with a chance of `MISS` divided by the number of
comparisons, so that, whatever the counts, true ones are stopped with a chance below `MISS` (a union
bound over rigorous tails, `gate_limits`). Counts that lie between the true and the noisy ones are
nearer to the noisy ones than the true ones are, so they are stopped less often still: an estimator
that does its work passes, and one that invents or loses records does not.

Compared are, of every table with all its cells measured:

* the total;
* a table of one or two attributes: every cell, and the sum of all absolute (Laplace) or squared
  (Gaussian) differences;
* a table of more: its sums over one attribute, and over two if it is no larger than
  `PAIRS_UP_TO`;

and of a list of heavy cells:

* every listed cell that is published as empty: its noisy count is one that noise may reach
  somewhere in the universe;
* how many these are: not fewer than noise must have listed in vain, of which a part may be kept
  (`FALSE_KEPT`).

Whole counts get an allowance for being whole (`gate_limits.rounding_allowance`).

Public totals are met exactly and impossible cells are empty, whatever the noisy tables say. Where
these contradict such public knowledge itself, no counts could do better: then nothing is stopped,
and the report says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Margin, PublicTotal, Universe
from synth.domain.counts import Counts
from synth.domain.universe import nested_sums, nested_sums_by_block
from synth.estimate.balanced import MOST_CELLS, looks_at_pairs
from synth.estimate.gate_limits import rounding_allowance, spread_limit, sum_limit, too_few
from synth.estimate.rounding import required_totals
from synth.measurements import MeasuredTable, Measurements
from synth.planning.listed import expected_false_cells
from synth.planning.noise_sums import noise_variance
from synth.privacy import TableEvent

Ints: TypeAlias = "NDArray[np.int64]"

MISS = 1e-6
"""The chance that true counts are stopped, over everything that is compared in one run."""
PAIRS_UP_TO = 20_000_000
"""Sums over two attributes are compared of tables of at most so many cells."""
FALSE_KEPT = 0.5
"""Of the cells that noise must have listed in vain, this part may have rows at least: nothing tells
a cell that one noise listed from one with a record, and where the sums agree no row is invented."""
BALANCED = (1.0, 0.0), (2.5, 0.3), (4.0, 1.0)
"""Balanced rounding leaves sums over no, one and two of d columns off by at most 1, 5/2 + 3 d / 10
and 4 + d. In all that was tried, up to 120,000 cells, it was 2.4 and 1 of two columns, 4.1 and 7.9
of eight, 5.7 and 14.5 of fifteen."""
LOW_ORDER = 2
"""A table of so many attributes is compared cell by cell; of larger ones, their sums are."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Noisy and published counts of one margin, as sums of a noisy table.

    Shapes and units: `noisy` and `published` are flat in C order over the margin, whole records;
    noisy counts of a table itself have its type, which may be narrow.
    `noises` cells of the table add up to each; rounding leaves each off by `runs` at most.
    """

    number: int
    event: TableEvent
    margin: Margin
    noisy: NDArray[Any]
    published: Ints
    noises: int
    runs: float

    @property
    def variance(self) -> float:
        """The variance of the noise of one of the sums, records squared."""
        return _deviation(self.event) ** 2 * self.noises

    @property
    def has_spread(self) -> bool:
        """Whether the cells are those of the table, each with a noise of its own."""
        return self.noises == 1 and self.noisy.size > 1


@dataclass(frozen=True)
class Comparison:
    """The figure that comes nearest to its limit, or beyond it, of one kind and margin.

    `off` is in records (or, of squares, records squared), as is `limit`; beyond 1, `ratio` says
    that true counts would hardly ever show it.
    """

    kind: str
    number: int
    attributes: tuple[str, ...]
    off: float
    limit: float
    in_sd: float

    @property
    def ratio(self) -> float:
        """How large the figure is, in parts of what is allowed."""
        return self.off / max(self.limit, 1e-300)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the gate found."""

    comparisons: int
    worst: Comparison | None
    contradicted: tuple[Sums, ...]
    """Margins whose published sums no noise explains, and those with a contradicted list."""
    list_contradicted: bool

    @property
    def passes(self) -> bool:
        """Whether nothing is contradicted."""
        return not self.contradicted and not self.list_contradicted

    def to_plain(self) -> dict[str, Any]:
        """The verdict in JSON values."""
        plain: dict[str, Any] = {
            "comparisons": self.comparisons,
            "contradicted": len(self.contradicted) + self.list_contradicted,
        }
        if self.worst is not None:
            plain["largest"] = {
                "kind": self.worst.kind,
                "event": self.worst.number,
                "attributes": list(self.worst.attributes),
                "in_sd": self.worst.in_sd,
                "in_limits": self.worst.ratio,
            }
        return plain


def judge(
    counts: Counts, measurements: Measurements, config: Config, *, grown: bool = False
) -> Verdict:
    """Compare whole counts with the noisy tables that they were fitted to.

    `grown`: they are those of an earlier release with records added, each rounded by itself.

    Privacy: post-processing of the measurements and the public configuration.
    Ensures: deterministic.
    """
    universe = config.universe
    every = list(_all_sums(counts, measurements, universe))
    listing = next(((i, t) for i, t in enumerate(measurements.tables) if t.codes is not None), None)
    comparisons = sum(each.noisy.size + each.has_spread for each in every)
    comparisons += 0 if listing is None else 2
    miss = MISS / max(1, comparisons)
    split = grown or bool(required_totals(config))
    found: list[Comparison] = []
    contradicted: list[Sums] = []
    for each in every:
        here = [_of_sums(each, miss, split=split)]
        if each.has_spread:
            here.append(_of_spread(each, miss, split=split))
        found.extend(here)
        if any(one.ratio > 1.0 for one in here):
            contradicted.append(each)
    of_list = [] if listing is None else list(_of_list(counts, *listing, universe, miss))
    found.extend(of_list)
    worst = max(found, key=lambda one: one.ratio, default=None)
    return Verdict(comparisons, worst, tuple(contradicted), any(one.ratio > 1.0 for one in of_list))


def constraints_contradict(measurements: Measurements, config: Config) -> bool:
    """Whether the noisy tables contradict what is required of any counts.

    That is the required totals, and that impossible cells are empty: a total of 0.

    A noisy table that holds all attributes of a total says what it should be. One that holds
    some of them has at least as many records in the cells that match these.
    """
    empty = (PublicTotal(rule, 0, "impossible") for rule in config.universe.impossible)
    totals = (*required_totals(config), *empty)
    asked = [(total, table) for total in totals for table in measurements.tables]
    miss = MISS / max(1, len(asked))
    return any(_contradicts(total, table, config.universe, miss) for total, table in asked)


def _contradicts(total: PublicTotal, table: MeasuredTable, universe: Universe, miss: float) -> bool:
    event = table.event
    if table.codes is not None:
        return False
    margin = Margin(event.table, event.coarsening)
    inside = np.ones((1,) * len(margin.names), dtype=bool)
    is_exact = True
    for name, codes in total.where.codes.items():
        if name not in margin.names:
            is_exact = False
            continue
        place = margin.names.index(name)
        groups = np.asarray(universe.attribute(name).groups(margin.coarsening[place]))
        chosen = np.zeros(margin.shape(universe)[place], dtype=bool)
        chosen[groups[list(codes)]] = True
        is_exact = is_exact and set(np.flatnonzero(chosen[groups])) == set(codes)
        axes = [1] * len(margin.names)
        axes[place] = chosen.size
        inside = inside & chosen.reshape(axes)
    shape = margin.shape(universe)
    cells = np.asarray(table.noisy_counts).reshape(shape)
    said = int(cells.sum(where=np.broadcast_to(inside, shape), dtype=np.int64))
    noises = int(np.broadcast_to(inside, shape).sum())
    limit = sum_limit(event, max(1, noises), miss)
    return total.total - said > limit or (is_exact and said - total.total > limit)


def _all_sums(counts: Counts, measurements: Measurements, universe: Universe) -> Iterator[Sums]:
    for number, table in enumerate(measurements.tables):
        if table.codes is None:
            yield from _sums_of(counts, number, table, universe)


def _sums_of(
    counts: Counts, number: int, table: MeasuredTable, universe: Universe
) -> Iterator[Sums]:
    """The margins of one noisy table that are compared."""
    margin = Margin(table.event.table, table.event.coarsening)
    shape = margin.shape(universe)
    places = range(len(shape))
    orders = {0, 1} if len(shape) > LOW_ORDER else {0, 1, len(shape)}
    if table.event.cells <= PAIRS_UP_TO:
        orders.add(2)
    chosen = [kept for order in sorted(orders) for kept in combinations(places, order)]
    margins = [
        Margin(tuple(margin.names[i] for i in kept), tuple(margin.coarsening[i] for i in kept))
        for kept in chosen
    ]
    if table.event.cells > PAIRS_UP_TO:
        every = tuple(places)
        of_some = [kept for kept in chosen if kept != every]
        noisy = nested_sums_by_block(lambda a, b: table.noisy_counts[a:b], shape, of_some)
        noisy[every] = np.asarray(table.noisy_counts)
        published = [counts.sums(universe, each) for each in margins]
    else:
        noisy = nested_sums(np.asarray(table.noisy_counts, dtype=np.int64).reshape(shape), chosen)
        own = nested_sums(counts.sums(universe, margin).reshape(shape), chosen)
        published = [own[kept].reshape(-1) for kept in chosen]
    for kept, small, here in zip(chosen, margins, published, strict=True):
        sums = noisy[kept].reshape(-1)
        yield Sums(
            number, table.event, small, sums, here, table.event.cells // max(1, sums.size),
            _runs(small, universe),
        )  # fmt: skip


def _runs(margin: Margin, universe: Universe) -> float:
    """How far rounding may leave a sum of the margin.

    Few cells are rounded in balance; of many, in order, a sum is off by as many records as it has
    runs of neighbouring cells; and where many hold few records, by parts of one for each, and then
    in balance. Rows that are drawn in a large universe may be few, too.
    """
    order, columns = len(margin.names), len(universe.names)
    if any(margin.coarsening):
        return math.inf
    is_known = order < 2 or (order == 2 and looks_at_pairs(MOST_CELLS, columns))
    balanced = BALANCED[order][0] + BALANCED[order][1] * columns if is_known else math.inf
    if universe.size <= MOST_CELLS:
        return balanced
    axes = [universe.names.index(name) for name in margin.names]
    before = range(max(axes, default=-1) + 1)
    runs = math.prod(universe.shape[axis] for axis in before if axis not in axes)
    return balanced + runs


def _of_sums(sums: Sums, miss: float, *, split: bool) -> Comparison:
    """The sum of a margin that is furthest beyond what is allowed for it.

    `split`: counts were rounded apart in the parts that required totals cut out, or that releases
    added, so that how one rounding leaves sums tells nothing.
    """
    runs = math.inf if split and sums.margin.names else sums.runs
    noisy, published = _furthest_off(sums)
    off = np.abs(noisy - published).astype(np.float64)
    allowed = np.full(off.size, sum_limit(sums.event, sums.noises, miss))
    allowed += rounding_allowance(published.astype(np.float64), runs, miss)
    worst = int(np.argmax(off / allowed))
    furthest = float(off[worst])
    deviation = _deviation(sums.event) * math.sqrt(sums.noises)
    return Comparison(
        "sum",
        sums.number,
        sums.margin.names,
        furthest,
        float(allowed[worst]),
        furthest / deviation,
    )


_LOOKED_AT, _AT_ONCE = 64, 1 << 20


def _parts(size: int) -> Iterator[slice]:
    """So many sums in parts, which need little memory beside them."""
    return (slice(first, first + _AT_ONCE) for first in range(0, size, _AT_ONCE))


def _furthest_off(sums: Sums) -> tuple[Ints, Ints]:
    """The sums that are furthest off, as they are and beside their own size: one is the worst.

    Found in parts, and among what these leave: 10^8 sums are neither sorted nor copied.
    """
    noisy, published = sums.noisy, sums.published
    while noisy.size > 2 * _LOOKED_AT:
        parts = [part.start + _places(noisy[part], published[part]) for part in _parts(noisy.size)]
        kept = np.concatenate(parts)
        noisy, published = noisy[kept], published[kept]
    return noisy, published


def _places(noisy: Ints, published: Ints) -> Ints:
    """Where so many sums are furthest off, each as it is and beside its own size."""
    off = np.abs(noisy - published)
    beside = off / np.sqrt(published + 1.0)
    return np.union1d(_largest(off), _largest(beside))


def _largest(values: NDArray[Any]) -> Ints:
    """Where the largest values are; of equal ones the first."""
    if values.size <= _LOOKED_AT:
        return np.arange(values.size)
    least = np.partition(values, -_LOOKED_AT)[-_LOOKED_AT]
    beyond = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)
    return np.concatenate([beyond, equal[: _LOOKED_AT - beyond.size]])


def _of_spread(sums: Sums, miss: float, *, split: bool) -> Comparison:
    """All differences of a margin together; `split` as in `_of_sums`."""
    size, power = sums.noisy.size, 1 if sums.event.rho is None else 2
    deviation = _deviation(sums.event)
    limit = spread_limit(sums.event, size, miss)
    runs = math.inf if split and sums.margin.names else sums.runs
    off, rounding = 0.0, 0.0
    for part in _parts(size):
        residual = (sums.noisy[part] - sums.published[part]).astype(np.float64)
        off += float((np.abs(residual) ** power).sum())
        wide = np.minimum(runs, np.sqrt(sums.published[part] + 1.0))
        rounding += float((wide**power).sum())
    if power == 1:
        allowed, mean = rounding, off / size
    else:
        # by the triangle inequality: |noise + rounding| <= |noise| + |rounding|
        allowed = 2.0 * math.sqrt(limit) * math.sqrt(rounding) + rounding
        mean = math.sqrt(off / size)
    return Comparison(
        "spread", sums.number, sums.margin.names, off, limit + allowed, mean / deviation
    )


def _of_list(
    counts: Counts, number: int, table: MeasuredTable, universe: Universe, miss: float
) -> Iterator[Comparison]:
    """Listed cells that are published as empty: none too heavy, and not too few."""
    event, codes = table.event, table.codes
    false = expected_false_cells(event)
    if codes is None or not false:
        return
    left_out = table.noisy_counts[counts.at(tuple(codes.T), universe.shape) == 0]
    deviation = _deviation(event)
    if left_out.size:
        highest = float(left_out.max())
        limit = sum_limit(event, 1, 2.0 * miss / event.cells)
        yield Comparison("listed cell", number, event.table, highest, limit, highest / deviation)
    empty = max(0.0, 1.0 - len(counts.values) / event.cells)
    expected = false * (empty * (universe.possible_cells() / event.cells))
    least = min(too_few(expected, miss), FALSE_KEPT * expected)
    if least > 0.0:
        missing = max(0.0, expected - left_out.size)
        yield Comparison(
            "listed cells",
            number,
            event.table,
            missing,
            expected - least,
            missing / math.sqrt(expected),
        )


def _deviation(event: TableEvent) -> float:
    return math.sqrt(max(noise_variance(event), 1e-12))
