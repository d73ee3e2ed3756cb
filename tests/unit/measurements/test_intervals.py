"""Intervals of parts lie inside those of what they are a part of, and hold their level."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from synth.cli.release_commands import _render
from synth.domain import (
    Attribute,
    Conjunction,
    HierarchyLevel,
    Margin,
    PublicTotal,
    Universe,
)
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import MOST_CONDITIONS, Intervals, own_misses
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.reading.answers import Answer
from synth.reading.queries import query_of

UNIVERSE = Universe(
    (
        Attribute("sex", "categorical", ("female", "male")),
        Attribute("survived", "categorical", ("0", "1")),
        Attribute("port", "categorical", tuple("abcdefgh")),
    )
)
ROUGH = TableEvent(("sex", "survived"), 4, 1, Fraction(1, 200))
FINE = TableEvent(("sex",), 2, 1, Fraction(1, 5))
TRUTH = np.repeat([81, 233, 468, 109], 8) // 8


def measurements(seed, noise, events, truth):
    generator = np.random.default_rng(seed)
    tables = []
    for event in events:
        sums = Margin(event.table, event.coarsening).sums(UNIVERSE, truth)
        noisy = sums + noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return Measurements("test", "", tuple(tables))


def count_of(query, truth):
    table = truth.reshape(UNIVERSE.shape)
    return int(table[np.ix_(*(query.codes.get(n, range(s)) for n, s in SIZES))].sum())


SIZES = tuple(zip(UNIVERSE.names, UNIVERSE.shape, strict=True))
PART = query_of("", {"sex": (0,), "survived": (0,)}, UNIVERSE).where
WHOLE = query_of("", {"sex": (0,)}, UNIVERSE).where
LEVELS = (0.5, 0.95, 0.999)


def intervals(seed, noise=draw_noise, events=(ROUGH, FINE), truth=TRUTH, **public):
    config = SimpleNamespace(universe=UNIVERSE, public_totals=public.get("totals", ()))
    return Intervals(measurements(seed, noise, events, truth), config)


def test_a_part_is_cut_off_by_its_whole():
    """Rough noise of the part, by hand: it reaches to 491, where the whole says about 310."""

    def by_hand(_, event, size):
        return np.full(size, 634) if event is ROUGH else np.zeros(size, dtype=np.int64)

    known = intervals(0, by_hand)
    _, whole = known.measured(WHOLE, level=0.95)
    counted, part = known.measured(PART, level=0.95)
    below, above = own_misses(2, most=2, level=0.95)
    assert counted.ends(below, above)[1] > whole[1] + 100
    assert part[1] == whole[1]
    assert part[0] <= whole[0]


def test_intervals_hold_no_negative_count():
    known = intervals(0, lambda *of: np.full(of[2], -900))
    assert known.measured(PART, level=0.95)[1] == (0, 0)


def random_nest(generator):
    """A query and one with more conditions, in any columns."""
    names = list(generator.permutation(UNIVERSE.names))
    codes = {}
    for name in names[: generator.integers(1, len(names) + 1)]:
        size = UNIVERSE.attribute(name).size
        taken = generator.permutation(size)[: generator.integers(1, size)]
        codes[str(name)] = tuple(map(int, sorted(taken)))
    kept = {name: codes[name] for name in list(codes)[: generator.integers(0, len(codes))]}
    return query_of("", codes, UNIVERSE).where, query_of("", kept, UNIVERSE).where


@pytest.mark.parametrize("empty", [0.0, 0.9])
def test_parts_lie_inside_their_wholes(empty):
    """Random nests, tables with much noise, also such that are nearly empty."""
    generator, cut = np.random.default_rng(8), 0
    events = (TableEvent(UNIVERSE.names, 32, 1, Fraction(1, 9)), ROUGH, FINE)
    for seed in range(6):
        truth = generator.poisson(30, UNIVERSE.size) * (generator.random(UNIVERSE.size) > empty)
        total = PublicTotal(WHOLE, count_of(WHOLE, truth), "a register")
        known = intervals(seed, events=events, truth=truth, totals=[total] * (seed % 2))
        for _ in range(24):
            part, whole = random_nest(generator)
            for level in LEVELS:
                inner, outer = (known.measured(w, level=level)[1] for w in (part, whole))
                assert inner[0] <= outer[0] <= outer[1]
                assert inner[0] <= inner[1] <= outer[1]
                cut += inner[1] == outer[1] > 0
    assert cut > 20 or not empty


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("most", [0, 1, 2, MOST_CONDITIONS])
def test_the_ends_share_what_the_interval_may_miss(level, most):
    """An interval misses if its lower end does, or the upper end of it or of a whole."""
    for conditions in range(most + 1):
        wholes = product((0, 1), repeat=conditions)
        upper = sum(own_misses(sum(kept), most=most, level=level)[1] for kept in wholes)
        below, _ = own_misses(conditions, most=most, level=level)
        assert below > 0
        assert below + upper == pytest.approx(1 - level)


@pytest.mark.parametrize(
    ("miss", "truth"),
    [(0.3, TRUTH), (0.05, TRUTH * (np.arange(32) < 8))],
    ids=["spread", "one part"],
)
def test_the_stated_level_holds_inside_the_wholes(miss, truth):
    """Also where a part is all of its wholes, so that each of them that fails lets it fail."""
    queries = [
        query_of("", {"sex": (i,), "survived": (j,)}, UNIVERSE).where
        for i in (0, 1)
        for j in (0, 1)
    ]
    draws = 200
    failed = np.zeros(len(queries))
    for seed in range(draws):
        known = intervals(seed, truth=truth)
        for number, query in enumerate(queries):
            low, high = known.measured(query, level=1 - miss)[1]
            failed[number] += not low <= count_of(query, truth) <= high
    assert failed.sum() > 0
    assert (failed / draws <= miss + 3 * (miss / draws) ** 0.5).all()


def test_more_conditions_than_can_be_kept_inside_their_wholes_have_no_answer():
    names = tuple("abcdefg")
    universe = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in names))
    event = TableEvent(names, 128, 1, Fraction(1))
    table = MeasuredTable(event, np.zeros(128, dtype=np.int64), noise_variance(event))
    config = SimpleNamespace(universe=universe, public_totals=())
    known = Intervals(Measurements("test", "", (table,)), config)
    for conditions in (MOST_CONDITIONS, MOST_CONDITIONS + 1):
        where = query_of("", dict.fromkeys(names[:conditions], (0,)), universe).where
        assert (known.measured(where, level=0.95) is None) == (conditions > MOST_CONDITIONS)


def test_a_published_count_outside_of_its_interval_is_explained(capsys):
    inside = Answer("sex=female", 262.0, 270, 189, 335, "measured", 37.0, "count")
    _render([inside], 0.95)
    assert "outside" not in capsys.readouterr().out
    _render([inside, Answer("survived=0", 715.0, 38, 149, 340, "measured", 280.0, "count")], 0.95)
    assert "1 published number lies outside of its interval" in capsys.readouterr().out


def test_shares_and_reasons_are_shown_with_their_digits(capsys):
    of = ("replicates", 0.00213, "share")
    _render([Answer("share of a", 0.1088, 0.1088, 0.105, None, *of, reason="too few")], 0.95)
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("0.1088", "0.105 to ?", "0.0021", "share of a: too few."))


def test_a_marginal_is_what_its_cells_are_one_by_one():
    """With cells that are impossible, codes that a coarse table cuts and not, and a known total."""
    half = HierarchyLevel("half", (0, 0, 1, 2), ("x", "2", "3"))
    universe = Universe(
        (
            Attribute("a", "categorical", ("0", "1", "2", "3"), hierarchy=(half,)),
            Attribute("one", "categorical", ("only",)),
            Attribute("b", "categorical", ("0", "1", "2")),
        ),
        (Conjunction({"a": (3,), "b": (1,)}),),
    )
    generator = np.random.default_rng(9)
    tables = []
    for event in (
        TableEvent(("a", "one"), 3, 1, Fraction(1, 5), coarsening=(1, 0)),
        TableEvent(("b",), 3, 1, Fraction(1, 9)),
        TableEvent(("a", "one", "b"), 12, 1, Fraction(1, 20)),
    ):
        noisy = generator.integers(0, 99, event.cells)
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    total = PublicTotal(Conjunction({"b": (2,)}), 30, "a register")
    config = SimpleNamespace(universe=universe, public_totals=(total,))
    for several in (tables, tables[:2]):
        known = Intervals(Measurements("test", "", tuple(several)), config)
        for names in (["a"], ["b"], ["a", "b"], ["one"], ["a", "one", "b"]):
            table = known.marginal(names, level=0.9)
            sizes = [universe.attribute(name).size for name in names]
            assert table.lows.shape == tuple(sizes)
            for place in np.ndindex(*sizes):
                codes = dict(zip(names, ((code,) for code in place), strict=True))
                found = known.measured(query_of("", codes, universe).where, level=0.9)
                if found is None:
                    assert np.isnan(table.estimates[place])
                    continue
                counted, ends = found
                assert (counted.estimate, counted.sd) == (table.estimates[place], table.sds[place])
                assert ends == (table.lows[place], table.highs[place])
