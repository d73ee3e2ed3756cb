"""A look before the plan: where a guess of the number of records may be far off, measure it first.

The plan of `auto` depends on how many records there are and on how they gather: the universe is
worth measuring cell by cell where records lie many to a cell, and wasted where they lie alone.
Both can be measured for next to nothing. A fiftieth of epsilon pays for two noisy counts: of the
records that are among the first T of their cell, and of all later ones. T is what noise can hide
in a universe of N cells, about ln(N) noise scales: the largest of N noises is about as large.
Another fiftieth pays for a third one, where tables of several columns are asked for: how many
records a pair of columns would have in the wrong cells if they were independent, the mean over
pairs. What pairs are worth, and what is lost without them, depends on nothing as much.

What is charged is fixed before the source is opened: the look, and all that is left for the tables
after it. Which tables these are follows from the configuration and the noisy counts alone.
Every function here is total: any whole numbers lead to a plan that can be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from synth.config import Config
from synth.noise import noise_law
from synth.planning.after_nonnegativity import THIN
from synth.planning.costs import FEWEST_MODELLED, is_held
from synth.planning.problem import (
    ASSUMED_RECORDS,
    CONSIDERED_RECORDS,
    SURE,
    Problem,
    Seen,
    problem_of,
)
from synth.planning.spending import ADAPTIVE, Spending
from synth.privacy import (
    AfterLookEvent,
    LookEvent,
    PrivacyEvent,
    TableEvent,
    look_sensitivity,
    sensitivity_l1,
    total_budget,
)

LOOK_SHARE = Fraction(1, 50)
"""The part of epsilon that a look costs for how records gather, and once more for pairs."""
MOST_SEEN_PAIRS, CELLS_OF_A_SEEN_PAIR, CELLS_OF_THE_ONLY_PAIR = 100, 100_000, 1_000_000
"""How far pairs depend on each other is counted of at most so many, which stand for all, and none
with more cells: chance alone makes them differ. The only pair that there is stands for itself."""
DROWNED = 10
"""Where the noise of all cells together is more than so many for every record, it may hide them.
Where nothing is told of how many there are, a look pays from the fewest considered on."""
MOST_RECORDS = 1 << 40
"""No more records are planned for, whatever the noise says."""
ROOM, BY_VISIBLE, BY_NOISE = 0.75, 30.0, 3.0
"""Of N cells and n records, of which noise of s records cannot hide the share v, all cells are
measured where ln(N / n) is less than ROOM + BY_VISIBLE v - BY_NOISE ln(s), and smaller tables
elsewhere. Which comes nearer follows from these three, on parts of real tables of which cells were
asked for; what is forecast of both adds nothing (docs/planning.md)."""
ALONE, TOGETHER = 0.1, 0.5
"""A universe that is not held is not measured or listed with a smaller share v, and is with a
larger one. A list has nothing else, and a fit of a few iterations leaves more of the noise."""


@dataclass(frozen=True)
class Look:
    """What is charged where a look comes first: the look, and all that is planned after it."""

    event: LookEvent
    after: AfterLookEvent

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """Everything that is charged, before the source is opened."""
        return self.event, self.after

    def allows(self, events: Sequence[PrivacyEvent]) -> bool:
        """Whether tables and choices cost no more than is left after the look, compared exactly."""
        spent = total_budget(events, delta=self.after.delta)
        return spent.epsilon <= self.after.epsilon and spent.delta <= self.after.delta


def look_of(problem: Problem) -> Look | None:
    """The look that comes before the plan, or None where it is planned without.

    There is one under `auto` where noise may hide the records that are declared or expected
    (`may_be_hidden`). Where nothing is told there is one for the fewest that are considered, and
    wherever the noise of all cells together would be more than these. There a wrong guess costs
    most, and what pays depends on how records gather, however many there are. In smaller universes
    a guess does little harm. There is none for tables that are added up over periods: they are
    planned before the first period.

    Privacy: a function of the public problem. The epsilon of the look and that which is left add
    up to exactly the epsilon of the problem; all of delta is left.
    """
    if problem.strategy != "auto" or problem.seen is not None or problem.horizon is not None:
        return None
    told, fewest = problem.total or problem.workload.expected_records, min(CONSIDERED_RECORDS)
    noisy = told is None and _noise_of_all(problem) > fewest
    if not (noisy or may_be_hidden(problem, told or fewest)):
        return None
    privacy = problem.privacy
    pairs = seen_pairs(problem)
    spent = LOOK_SHARE * privacy.epsilon * (2 if pairs else 1)
    hidden = hidden_records(problem)
    event = LookEvent((1, hidden + 1), pairs, look_sensitivity(privacy, pairs), spent)
    return Look(event, AfterLookEvent(privacy.epsilon - spent, privacy.delta))


def may_be_hidden(problem: Problem, records: int) -> bool:
    """Whether there are more than 20 cells, or `DROWNED` scales of their noise, for every record.

    Privacy: a function of the public problem.
    """
    return problem.universe.size > THIN * records or _noise_of_all(problem) > DROWNED * records


def _noise_of_all(problem: Problem) -> Fraction:
    """The scales of the noise of all cells together, if they were given all of epsilon.

    0 for a single column: whatever noise hides, hardly another table can be measured.
    """
    several = sum(attribute.size > 1 for attribute in problem.attributes) > 1
    return problem.universe.size * _scale(problem) if several else Fraction(0)


def _scale(problem: Problem) -> Fraction:
    return sensitivity_l1(problem.privacy) / problem.privacy.epsilon


def seen_pairs(problem: Problem) -> tuple[tuple[str, str], ...]:
    """The pairs of columns that a look counts the dependence of: all, or some of very many.

    None where neither tables of two columns are asked for nor single cells; nor where only ranges
    are, of the only two columns that vary: those are measured however far they depend.

    Privacy: a function of the public problem.
    Ensures: the same pairs whatever the order of the columns; names of each in that order.
    """
    sizes = {each.name: each.size for each in problem.attributes if each.size > 1}
    only = len(sizes) == 2
    weighed = (q for q in problem.questions if q.weight and (q.is_table or not only))
    if not any(len({*q.attributes} & sizes.keys()) > 1 for q in weighed):
        return ()
    most = CELLS_OF_THE_ONLY_PAIR if only else CELLS_OF_A_SEEN_PAIR
    small = [
        {one, other}
        for one, other in combinations(sorted(sizes), 2)
        if sizes[one] * sizes[other] <= most
    ]
    kept = small[:: max(1, math.ceil(len(small) / MOST_SEEN_PAIRS))]
    names = problem.universe.names
    ordered = (sorted(pair, key=names.index) for pair in kept)
    return tuple((one, other) for one, other in ordered)


def hidden_records(problem: Problem) -> int:
    """So many records in a cell noise can hide: ln(N) scales of the noise of the whole epsilon.

    ln(N) is taken as 7/10 of the binary digits of N: at most 1 % and one digit above it, and the
    same on every machine.
    """
    digits = problem.universe.size.bit_length()
    return min(math.ceil(Fraction(7, 10) * digits * _scale(problem)), MOST_RECORDS)


def seen_by(problem: Problem, look: Look, noisy_counts: Sequence[int]) -> Seen:
    """What the noisy counts of a look tell; total: whatever numbers they are.

    The number of records, the declared one if there is one, decides if it is `SURE` standard
    deviations or more; then so does the share of records that noise cannot hide, and how far pairs
    depend on each other. Otherwise only about how many there are is known, and the most that there
    can be; and if noise may hide so many in their cells, it is taken to hide them all.

    Privacy: a function of the configuration and of noisy counts.
    """
    law, classes = noise_law(look.event), noisy_counts[: len(look.event.firsts)]
    deviation = math.sqrt(law.variance * len(classes))
    found = sum(classes) if problem.total is None else problem.total
    records = min(max(found, 0), MOST_RECORDS)
    most = max(1, min(math.ceil(records + SURE * deviation), MOST_RECORDS))
    if records < max(SURE * deviation, 1):
        likely = max(records, min(math.ceil(deviation), ASSUMED_RECORDS))
        return Seen(None, 0.0 if may_be_hidden(problem, likely) else None, most, likely)
    visible = min(max(classes[-1] / records, 0.0), 1.0)
    if not look.event.pairs:
        return Seen(records, visible, most)
    apart = min(max(2 * noisy_counts[-1] / records, -1.0), 1.0)
    return Seen(records, visible, most, apart=(apart, 2 * math.sqrt(law.variance) / records))


def after_look(problem: Problem, look: Look, noisy_counts: Sequence[int] | None) -> Problem:
    """The problem that is left: the rest of the budget, and what was seen.

    Without noisy counts, nothing was seen yet: what is left if the look finds as many records as
    are expected, which serves to forecast.
    """
    privacy = replace(problem.privacy, epsilon=look.after.epsilon, delta=look.after.delta)
    if noisy_counts is None:
        seen = found(problem, look, problem.records)
    else:
        seen = seen_by(problem, look, noisy_counts)
    return replace(problem, privacy=privacy, seen=seen)


def found(problem: Problem, look: Look, records: int) -> Seen:
    """What a look tells that finds so many records, alone in their cells where these are many.

    Where there are no more than 20 cells for every record it is left open whether noise hides them;
    how far pairs depend on each other is left open always.

    Privacy: a function of the public problem.
    """
    counts = (records, *(0 for _ in look.event.firsts[1:]), *([0] if look.event.pairs else []))
    seen = seen_by(problem, look, counts)
    if seen.records is None:
        return seen
    is_thin = problem.universe.size > THIN * seen.records
    return replace(seen, visible=0.0 if is_thin else None, apart=None)


def plan_look(config: Config) -> Look | None:
    """The look that a run of this configuration takes, or None.

    Privacy: a function of the configuration alone.
    """
    return look_of(problem_of(config))


def is_modelled(problem: Problem) -> bool:
    """Whether small tables are planned for one model of all columns, as above the dense limit.

    It is where a look tells that cells are worth less (`is_drowned`), or in a universe too large to
    be held so many cells for every record that it is thin. Not for three columns of several codes
    or fewer, of which the forecast knows nothing, nor for ranges in a universe that is held.

    Privacy: a function of the public problem and of noisy counts.
    """
    universe, seen = problem.universe, problem.seen
    if not _may_be_modelled(problem):
        return False
    if seen is not None and seen.visible is not None:
        return is_drowned(problem)
    return not is_held(universe) and universe.size > THIN * problem.records


def is_drowned(problem: Problem) -> bool:
    """Whether a look tells that all cells are worth less than smaller tables.

    The more cells there are for a record, and the more noise, the fewer records it may hide.

    Privacy: a function of the public problem and of noisy counts.
    """
    visible = None if problem.seen is None else problem.seen.visible
    if visible is None:
        return False
    if not is_held(problem.universe):
        return visible <= TOGETHER
    scale = _scale(problem)
    noise = math.log(scale.numerator) - math.log(scale.denominator)
    cells = math.log(problem.universe.size) - math.log(problem.records)
    return cells >= ROOM + BY_VISIBLE * visible - BY_NOISE * noise


def _may_be_modelled(problem: Problem) -> bool:
    """Whether there are enough columns, and no ranges asked for in a universe that is held."""
    has_ranges = any(each.weight > 0 for each in problem.workload.ranges)
    varied = sum(attribute.size > 1 for attribute in problem.attributes)
    return varied >= FEWEST_MODELLED and not (has_ranges and is_held(problem.universe))


def left_to_plan(problem: Problem, noisy_counts: Sequence[int] | None = None) -> Problem:
    """What is planned: the problem itself, or what a look leaves of it."""
    look = look_of(problem)
    return problem if look is None else after_look(problem, look, noisy_counts)


def problem_to_plan(config: Config, noisy_counts: Sequence[int] | None = None) -> Problem:
    """What is planned of a configuration: see `left_to_plan`."""
    return left_to_plan(problem_of(config), noisy_counts)


def suitable(problem: Problem, ways: Sequence[Spending]) -> list[Spending]:
    """The ways to spend the budget that may be taken after the look, if there was one.

    Never those of the adaptive strategy, which takes a model of every cell in each round. Those
    whose noise can be drawn, if there are any. Of them, those that measure the universe with so
    little noise that single records stand out, if there are any. Else those that measure the
    universe, or list its cells, or those that do not, as `is_drowned` says. All, if it is not
    known, if the share of records that noise cannot hide is neither small nor large in a universe
    that is not held, if cells tell more but only columns and pairs are asked for, or if there are
    none of the kind.

    Ensures: at least one way, if there is one that makes no choices.
    """
    if problem.seen is None:
        return list(ways)
    others = [way for way in ways if way.tables != ADAPTIVE]
    drawable = [way for way in others if all(map(is_drawable, _by_noise(way.events)))] or others
    clear = [way for way in drawable if _shows_single_records(problem, way)]
    if clear:
        return clear
    visible = problem.seen.visible
    if visible is None or (not is_held(problem.universe) and ALONE <= visible <= TOGETHER):
        return drawable
    full, left_out = problem.full.names, is_drowned(problem)
    if not left_out and not _asks_for_several(problem):
        return drawable
    kind = [way for way in drawable if any(event.table == full for event in way.events) != left_out]
    return kind or drawable


def _asks_for_several(problem: Problem) -> bool:
    """Whether single cells are asked for, or tables of three columns or of all that there are."""
    several = min(3, len(problem.attributes))
    return any(q.weight and len(q.attributes) >= several for q in problem.questions)


def _shows_single_records(problem: Problem, way: Spending) -> bool:
    """Whether every cell is measured, and noise leaves it clear which ones hold a record.

    Of N cells about N exp(-1/s) look like one by noise alone, s the scale. These are hardly more
    than the records where ln(N / records) scales are less than one record, and at least three: as
    if there were 20 cells for every record. The logarithm is taken as in `hidden_records`.
    """
    records = problem.total or (problem.seen and problem.seen.records)
    full = next((e for e in way.events if e.table == problem.full.names), None)
    if not records or full is None or full.threshold is not None or full.epsilon is None:
        return False
    digits = (problem.universe.size // records).bit_length() - 1
    scales = max(Fraction(7, 10) * digits, Fraction(3))
    return scales * full.sensitivity_l1 < full.epsilon


def _by_noise(events: Sequence[TableEvent]) -> Iterable[TableEvent]:
    """One table of every noise that there is among these."""
    return {event.noise: event for event in events}.values()


def is_drawable(event: TableEvent) -> bool:
    """Whether the noise of a table is not too wide to be drawn."""
    try:
        noise_law(event)
    except ValueError:
        return False
    return True
