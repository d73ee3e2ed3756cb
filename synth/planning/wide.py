"""The ways to spend on small tables of sums alone, for one model of all columns.

The rows follow a model that is fitted to all noisy tables at once and pools what each of them says
about every column. So hardly any pair is too weak to be measured: all pairs get noise alike,
whatever their cells, and the 1-way tables share a part of their own. Where noise would drown pairs
of many levels, pairs are measured at coarser levels of the hierarchies. The forecast decides how
large that part is, whether 1-way tables alone are better, or only the pairs, or the small tables,
that the workload asks for; and whether a list of heavy cells beside them is worth its part of the
budget. Where noise is too much for all pairs, the few that depend most on each other are found in
the run: by how far a pair lies from what was measured before it, with noise. Of few columns a
triple or two may be found likewise, by how far it lies from what the noisy pairs tell. Nothing here
looks at data or has the size of the universe.

The families, and what part of their budget, an epsilon or a rho, their tables get:

* 1-way: one table of every column, epsilon in proportion to N^(1/2) for N codes, rho to N^(2/3).
* joined columns: one table for several columns of few codes, likewise (`covering`).
* 1-way and all pairs: `ONE_WAY_PARTS` for the 1-way tables, split as above; the pairs alike.
* 1-way, or nothing (`COVERING_PARTS`), and fewer tables that cover pairs (`covering`), likewise.
* 1-way and the pairs inside tables and ranges of the workload, if these are not all: the same.
* 1-way, all pairs and the triples of the workload that are small enough (`CELLS_PER_RECORD`):
  `BESIDE_TRIPLES` for the 1-way tables, `TRIPLE_PARTS` for the triples; Gaussian noise only.
* 1-way and chosen pairs (`CHOSEN_PER_COLUMN`): `CHOSEN_ONE_WAY_PARTS` for the 1-way tables, the
  rest for rounds alike.
* 1-way, all pairs and chosen triples of the workload (`CHOSEN_TRIPLES`), of few columns.

The first five are also weighed beside a list of heavy cells (`LISTED_SHARES` of epsilon), if the
workload has single cells or `sparse` asks for it. No pair or triple has more than
`SMALL_TABLE_CELLS`. Where tables are chosen, the score of a pair is its distance from what the
noisy columns and the pairs chosen before tell of it (`MOST_GUESSES`), less half of the error that
its own noise would have; that of a triple is its distance from what noisy columns and all pairs
tell, less the whole of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from synth.domain import DENSE_LIMIT_CELLS, Margin
from synth.planning.costs import SMALL_TABLE_CELLS
from synth.planning.covering import covering_tables, joined_columns
from synth.planning.listed import DELTA_SHARE, LISTED_SHARES, SPARSE, listing_event
from synth.planning.margins import in_order, margins_of_order, one_way_shares
from synth.planning.noise_sums import noise_variance
from synth.planning.problem import Problem
from synth.planning.rounds import Candidate, Round, Schedule, rounds_of
from synth.planning.spending import (
    Purse,
    Spending,
    noises,
    table_event,
    total_is_known,
    with_total,
)
from synth.privacy import TableEvent

ONE_WAY_PARTS = (0.15, 0.3, 0.5, 0.7)
"""What part of their budget, a rho or an epsilon, the 1-way tables may get beside larger ones."""
COVERING_PARTS = (0.0, 0.15)
"""The same beside tables that cover pairs, which tell about columns of few codes well enough."""
ONE_WAY, JOINED, COVERING = "1-way", "joined columns", "covering tables"
"""What sets of tables are called."""
BESIDE_TRIPLES = 0.18
TRIPLE_PARTS = (0.36, 0.5)
"""What part of it 1-way tables get where triples are measured, and triples may get; with Gaussian
noise: Laplace noise grows with the number of tables too fast for them."""
CHOSEN_ONE_WAY_PARTS = (0.15, 0.3, 0.5)
"""What part 1-way tables may get beside pairs that are chosen, which go by them."""
CHOSEN_PER_COLUMN = (1, 2, 4)
"""So many pairs may be chosen for every column, of few columns half of all; nowhere more."""
MOST_CHOSEN = 200
MOST_GUESSES = 4
"""How often a model says what the pairs chosen so far tell of the others, so that none is chosen
which follows from them. A fit takes seconds."""
MOST_SCORED_CELLS = 1 << 22
"""More cells are not compared in every round: the smallest pairs come first."""
NOISE_COUNTS = Fraction(1, 2)
"""How much a large table's own noise speaks against choosing it."""
CHOSEN_RULE = (
    f"pairs of columns, at the resolution of the codes: at most {MOST_SCORED_CELLS:,} cells in "
    "all, the smallest ones first; each goes by how far its counts are from what the noisy columns "
    "tell, and the pairs that were chosen up to the last guess; none is chosen twice"
)
"""What may be chosen, in words."""
CHOSEN_TRIPLES = ((1, 0.75), (2, 0.65))
"""How many triples may be chosen beside all pairs, and what part the pairs get then."""
BESIDE_CHOSEN_TRIPLES = 0.1
"""What part the 1-way tables get there."""
FEW_COLUMNS = 8
"""Of so few columns half of all pairs are weighed, and a triple or two: of more these say little,
and there are hundreds to compare."""
CHOSEN_TRIPLES_RULE = (
    f"triples of columns inside a table or set of ranges of the workload, at the resolution of the "
    f"codes: at most {MOST_SCORED_CELLS:,} cells in all, the smallest ones first; each goes by how "
    "far its counts are from what the noisy columns and pairs tell, and none is chosen twice"
)
MOST_PAIRS, MOST_CELLS_IN_ALL = 5000, 1 << 24
"""No more pairs than these are measured, nor with more cells in all: the smallest come first."""
MANY_TABLES = 100
"""More tables get Gaussian noise alone where delta allows it. Its variance grows with their number,
that of Laplace noise with the square: from some thirty tables on it is the smaller one."""
CELLS_PER_RECORD = 1 / 3
"""A triple is measured if it has at most so many cells for every record."""
CODES_OF_A_GROUP = 40.0
"""With the signal q of pairs at the codes (`class_forecast`), pairs are measured in groups of up to
so many codes, divided by q: below it noise hides more than what a group of codes hides."""
FEWEST_GROUPS = 6
"""But in no fewer groups."""
MOST_TRIPLES = 1000
"""If more triples are asked for, none is measured: each would get next to nothing."""


def is_wide(problem: Problem) -> bool:
    """Whether the universe is above the dense limit, so that the rows follow the model.

    Privacy: a function of the size of the universe.
    """
    return problem.universe.size > DENSE_LIMIT_CELLS


def wide_ways(problem: Problem) -> tuple[Spending, ...]:
    """All that `auto` and `sparse` consider; `sparse` always lists heavy cells beside the tables.

    Ensures: deterministic, and the same whatever the order of the columns. The budgets of every
    way add up to exactly what there is.
    """
    unseen = replace(problem, seen=None)
    *_, triples = _tables(unseen)
    kept = tuple(_small(problem, triples, CELLS_PER_RECORD * problem.records))
    has_levels = any(attribute.hierarchy for attribute in problem.attributes)
    return _ways(unseen, kept, 3 << max(0, problem.records.bit_length() - 2) if has_levels else 1)


@lru_cache(maxsize=8)
def _ways(problem: Problem, triples: tuple[Margin, ...], records: int) -> tuple[Spending, ...]:
    """The same with these triples, and levels of pairs for so many records, to a factor of 1.5."""
    return tuple(_every_way(problem, list(triples), records))


def _every_way(problem: Problem, triples: list[Margin], records: int) -> Iterator[Spending]:
    for noise in noises(problem):
        for part in _listed_parts(problem):
            epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
            listed: tuple[TableEvent, ...] = ()
            if part:
                kept = delta * (1 - DELTA_SHARE) if noise == "gaussian" else Fraction(0)
                listed = (listing_event(problem, epsilon * part, delta - kept),)
                delta = kept
            within = replace(problem, privacy=replace(problem.privacy, delta=delta))
            purse = Purse(epsilon * (1 - part), noise)
            families = _families(problem, within, purse, triples, records, beside=bool(part))
            for name, margins, shares in families:
                if noise == "laplace" and problem.privacy.delta and len(margins) > MANY_TABLES:
                    continue
                events = (*listed, *purse.events(within, margins, shares))
                words = f"list + {name}" if part else name
                way = Spending(words, events, noise, 1 - part if part else None)
                yield with_total(problem, way)
        if problem.strategy != SPARSE:
            purse = Purse(problem.privacy.epsilon, noise)
            yield from _with_choices(problem, purse)
            yield from _with_chosen_triples(problem, purse)


def _with_choices(problem: Problem, purse: Purse) -> Iterator[Spending]:
    """1-way tables, and some pairs that are chosen by how far they are from independence.

    Not where the 1-way tables would not give the number of records well enough.
    """
    ones, pairs, *_ = _tables(problem)
    candidates = _candidates(problem, pairs)
    most = min(len(candidates) // 2, MOST_CHOSEN)
    counts = {min(each * len(ones), MOST_CHOSEN) for each in CHOSEN_PER_COLUMN}
    counts |= {most} if len(ones) <= FEW_COLUMNS else set()
    for part in CHOSEN_ONE_WAY_PARTS:
        first = _first(problem, purse, (ones, part))
        for count in sorted(count for count in counts if 0 < count <= most):
            schedule = _rounds(problem, purse, first, candidates, count, NOISE_COUNTS, CHOSEN_RULE)
            schedule = replace(schedule, renewed_after=math.ceil(count / MOST_GUESSES))
            yield from _chosen_in_the_run(problem, "1-way + chosen pairs", purse, schedule)


def _with_chosen_triples(problem: Problem, purse: Purse) -> Iterator[Spending]:
    """1-way tables, all pairs, and the triples that are farthest from what these tell.

    What pairs cannot tell is what is left where they are known well, and most of it may be in one
    or two triples. Of few columns, and not where the first tables would not give the number of
    records well enough.
    """
    ones, pairs, _, triples = _tables(problem)
    candidates = _candidates(problem, triples)
    if len(ones) > FEW_COLUMNS or not pairs:
        return
    for count, part in CHOSEN_TRIPLES:
        if 2 * count <= len(candidates):
            first = _first(problem, purse, (ones, BESIDE_CHOSEN_TRIPLES), (pairs, part))
            rule = CHOSEN_TRIPLES_RULE
            schedule = _rounds(problem, purse, first, candidates, count, Fraction(1), rule)
            name = "1-way + all pairs + chosen triples"
            yield from _chosen_in_the_run(problem, name, purse, schedule)


def _candidates(problem: Problem, margins: Sequence[Margin]) -> tuple[Candidate, ...]:
    """Tables that may be chosen: no more than can be compared in every round."""
    scored = _small(problem, margins, SMALL_TABLE_CELLS, in_all=MOST_SCORED_CELLS)
    return tuple(Candidate(m, m.cells(problem.universe), Fraction(1)) for m in scored)


def _first(
    problem: Problem, purse: Purse, *sets: tuple[list[Margin], float]
) -> tuple[TableEvent, ...]:
    """What is measured before anything is chosen: 1-way tables, and others alike, with their part.

    The rest of the purse is left.
    """
    (ones, part), *others = sets
    alone = one_way_shares(problem, ones, purse)
    shares = [part * share / sum(alone) for share in alone]
    margins = list(ones)
    for more, part_of_more in others:
        margins += more
        shares += _alike(more, part_of_more)
    return purse.events(problem, [problem.full, *margins], [1 - sum(shares), *shares])[1:]


def _rounds(
    problem: Problem,
    purse: Purse,
    first: tuple[TableEvent, ...],
    candidates: tuple[Candidate, ...],
    count: int,
    noise_counts: Fraction,
    rule: str,
) -> Schedule:
    """So many choices, for all that the first tables leave, by what these tell."""
    spent = sum((each.epsilon or each.rho or Fraction(0)) for each in first)
    rounds = rounds_of(
        problem,
        purse.budget(problem.privacy) - spent,
        count=count,
        candidates=candidates,
        gaussian=purse.noise == "gaussian",
        noise_counts=noise_counts,
    )
    return Schedule(first, candidates, rounds, rule, renewed_after=count)


def _chosen_in_the_run(
    problem: Problem, name: str, purse: Purse, schedule: Schedule
) -> Iterator[Spending]:
    """The way, if its first tables give the number of records well enough."""
    if total_is_known(problem, schedule.first):
        # any candidates will do for a likely run: all get the same noise
        apart = len(schedule.candidates) // len(schedule.rounds)
        likely = map(Round.event, schedule.rounds, schedule.candidates[::apart])
        events = (*schedule.first, *likely)
        yield Spending(name, events, purse.noise, schedule=schedule)


def _listed_parts(problem: Problem) -> tuple[Fraction, ...]:
    """The parts of epsilon that a list of heavy cells may get; only single cells need one.

    Where every cell can be measured instead, `auto` lists none.
    """
    if problem.strategy == SPARSE:
        return LISTED_SHARES
    lists = is_wide(problem) and problem.workload.cells
    return (Fraction(0), *LISTED_SHARES) if lists else (Fraction(0),)


def _families(
    problem: Problem,
    within: Problem,
    purse: Purse,
    triples: list[Margin],
    records: int,
    *,
    beside: bool,
) -> Iterator[tuple[str, list[Margin], list[float]]]:
    """Which tables are measured, under the name of each set, and their shares of the purse.

    `within`: the problem with the delta that these tables have. Those `beside` a list get one part
    each: what the list is worth decides, and they are many.
    """
    ones, pairs, asked, _ = _tables(problem)
    triples = triples if pairs else []
    alone = one_way_shares(problem, ones, purse)
    alone = [share / sum(alone) for share in alone]
    yield ONE_WAY, ones, alone
    for joined in joined_columns(problem):
        yield JOINED, joined, one_way_shares(problem, joined, purse)
    for covered in (pairs, asked):
        for tables in covering_tables(problem, covered):
            for part in COVERING_PARTS[:1] if beside else COVERING_PARTS:
                first = [part * share for share in alone] if part else []
                grouped = _grouped(within, purse, tables, 1 - part, records)
                name = f"{ONE_WAY} + {COVERING}" if part else COVERING
                shares = one_way_shares(problem, grouped, purse)
                shares = [(1 - part) * share / sum(shares) for share in shares]
                yield name, ones[: len(first)] + grouped, first + shares
    for part in ONE_WAY_PARTS[1:2] if beside else ONE_WAY_PARTS:
        first = [part * share for share in alone]
        for name, chosen in (("1-way + all pairs", pairs), ("1-way + pairs asked for", asked)):
            if chosen:
                grouped = _grouped(within, purse, chosen, 1 - part, records)
                yield name, ones + grouped, first + _alike(chosen, 1 - part)
    part = BESIDE_TRIPLES
    few = purse.noise == "gaussian" and not beside
    for of_triples in TRIPLE_PARTS if triples and few else ():
        shares = [part * share for share in alone]
        shares += _alike(pairs, 1 - part - of_triples) + _alike(triples, of_triples)
        grouped = _grouped(within, purse, pairs, 1 - part - of_triples, records)
        yield "1-way + all pairs + triples", ones + grouped + triples, shares


def _grouped(
    problem: Problem, purse: Purse, pairs: list[Margin], part: float, records: int
) -> list[Margin]:
    """These pairs at the coarsest levels whose groups noise would hide the codes of anyway.

    With all pairs at the codes, noise of the standard deviation s in every cell and S codes in all
    columns, the signal is q = n / (s S^(1/2)); groups of c codes make it larger and hide what is
    inside. On real tables c = `CODES_OF_A_GROUP` / q was near the best, and twice or half as much
    hardly worse.
    """
    budget = purse.budget(problem.privacy) * Fraction(part) / len(pairs)
    noise = noise_variance(table_event(problem, pairs[0], budget, noise=purse.noise))
    codes = sum(problem.universe.shape)
    largest = CODES_OF_A_GROUP * math.sqrt(noise * codes) / records
    steps = {}
    for name, sizes in problem.universe.sizes.items():
        least = max(sizes[0] / largest, FEWEST_GROUPS)
        fit = [step for step, size in enumerate(sizes) if size >= least]
        steps[name] = max(fit, default=0)
    if not any(steps.values()):
        return pairs
    return [Margin(pair.names, tuple(steps[name] for name in pair.names)) for pair in pairs]


@lru_cache(maxsize=64)
def _tables(
    problem: Problem,
) -> tuple[list[Margin], list[Margin], list[Margin], list[Margin]]:
    """1-way tables, all pairs that may be measured, those asked for if not all, and triples.

    A column of one code stands in no pair or triple: that would be a smaller table once more.
    """
    ones = margins_of_order(problem, 1)
    varied = [attribute.name for attribute in problem.attributes if attribute.size > 1]
    every = in_order(problem.universe, [Margin(names, (0, 0)) for names in combinations(varied, 2)])
    pairs = _small(problem, every, SMALL_TABLE_CELLS)
    named = _asked_for(problem, 2)
    asked = [margin for margin in pairs if margin.names in named]
    asked_for = (
        Margin(names, (0, 0, 0)) for names in _asked_for(problem, 3) if {*names} <= {*varied}
    )
    triples = in_order(problem.universe, [margin for margin in asked_for if margin != problem.full])
    return ones, pairs, [] if len(asked) == len(pairs) else asked, triples


def _small(
    problem: Problem, margins: Sequence[Margin], most: float, *, in_all: int | None = None
) -> list[Margin]:
    """Those with at most so many cells: no more than may be measured in all, the smallest first."""
    sizes = {margin: margin.cells(problem.universe) for margin in margins}
    in_all = MOST_CELLS_IN_ALL if in_all is None else in_all
    kept: set[Margin] = set()
    cells = 0
    for margin in sorted(margins, key=lambda margin: sizes[margin]):  # stable: ties by name
        cells += sizes[margin]
        if sizes[margin] > most or cells > in_all or len(kept) == MOST_PAIRS:
            break
        kept.add(margin)
    return [margin for margin in margins if margin in kept]


def _asked_for(problem: Problem, order: int) -> set[tuple[str, ...]]:
    """The sets of so many attributes inside tables and sets of ranges of the workload.

    None if they are many more than could be measured.
    """
    found: set[tuple[str, ...]] = set()
    most = MOST_PAIRS if order == 2 else MOST_TRIPLES
    for question in problem.questions:
        if question.weight > 0 and question.kind != "cells":
            names = [name for name in problem.universe.names if name in question.attributes]
            for chosen in combinations(names, order):
                found.add(chosen)
                if len(found) > most:
                    return set()
    return found


def _alike(margins: Sequence[Margin], part: float) -> list[float]:
    """The same share for each of these, `part` in all."""
    return [part / len(margins)] * len(margins)
