"""Intervals of parts and wholes: a part is no larger than what it is a part of."""

from fractions import Fraction

import numpy as np
import pytest

from synth.cli.release_commands import _render
from synth.domain import Attribute, Margin, Universe
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import LIMITS_SHARE, Limits
from synth.measurements.measured_counts import MeasuredCounts
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.reading.answers import Answer
from synth.reading.queries import query_of
from synth.reading.simulated_errors import draw_noise

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


def measured(seed, noise=draw_noise, events=(ROUGH, FINE)):
    generator = np.random.default_rng(seed)
    tables = []
    for event in events:
        sums = Margin(event.table, event.coarsening).sums(UNIVERSE, TRUTH)
        noisy = sums + noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return MeasuredCounts(Measurements("test", "", tuple(tables)), UNIVERSE)


def count_of(query):
    table = TRUTH.reshape(UNIVERSE.shape)
    return int(table[np.ix_(*(query.codes.get(n, range(s)) for n, s in SIZES))].sum())


SIZES = tuple(zip(UNIVERSE.names, UNIVERSE.shape, strict=True))
PART = query_of("", {"sex": (0,), "survived": (0,)}, UNIVERSE).where
WHOLE = query_of("", {"sex": (0,)}, UNIVERSE).where


def test_a_part_is_cut_off_by_its_whole():
    """Rough noise of the part, by hand: it reaches to 491, where the whole says about 310."""

    def by_hand(_, event, size):
        return np.full(size, 634) if event is ROUGH else np.zeros(size, dtype=np.int64)

    known = measured(0, by_hand)
    own = known.count(PART).interval(0.95)
    least, most = Limits(known, UNIVERSE).of(PART, miss=0.005)
    _, whole = known.count(WHOLE).interval(0.95)
    assert own[1] > whole + 100
    assert whole <= most < whole + 60  # the whole at a stricter level
    assert least <= most


def test_a_part_is_what_the_rest_leaves_of_the_whole():
    """Without the whole of one part, it is bounded by the whole less the other part."""
    both = TableEvent(("sex", "survived"), 4, 1, Fraction(1))
    known = measured(0, lambda *of: np.zeros(of[2], dtype=np.int64), events=(both,))
    least, most = Limits(known, UNIVERSE).of(PART, miss=0.005)
    rest = known.count(query_of("", {"sex": (0,), "survived": (1,)}, UNIVERSE).where)
    whole = known.count(WHOLE)
    share = 0.005 / 5  # all records, two wholes, and two rests
    assert most == whole.interval(1 - share)[1] - rest.interval(1 - share)[0]
    assert least == max(0, whole.interval(1 - share)[0] - rest.interval(1 - share)[1])


def test_all_records_have_no_whole():
    assert Limits(measured(0), UNIVERSE).of(query_of("", {}, UNIVERSE).where, miss=0.01) == (
        0,
        None,
    )


@pytest.mark.parametrize("miss", [0.05, 0.3])
def test_the_stated_level_holds_with_the_limits(miss):
    queries = [
        query_of("", {"sex": (i,), "survived": (j,)}, UNIVERSE).where
        for i in (0, 1)
        for j in (0, 1)
    ]
    draws, cut = 300, 0
    failed = np.zeros(len(queries))
    for seed in range(draws):
        known = measured(seed)
        limits = Limits(known, UNIVERSE)
        for number, query in enumerate(queries):
            low, high = known.count(query).interval(1 - (1 - LIMITS_SHARE) * miss)
            least, most = limits.of(query, miss=LIMITS_SHARE * miss)
            cut += most < high
            failed[number] += not max(low, least) <= count_of(query) <= min(high, most)
    assert cut > draws
    assert (failed / draws <= miss + 3 * (miss / draws) ** 0.5).all()


def test_a_published_count_outside_of_its_interval_is_explained(capsys):
    inside = Answer("sex=female", 262.0, 270, 189, 335, "measured", 37.0)
    _render([inside], 0.95)
    assert "outside" not in capsys.readouterr().out
    _render([inside, Answer("survived=0", 715.0, 38, 149, 340, "measured", 280.0)], 0.95)
    assert "1 published count lies outside of its interval" in capsys.readouterr().out
