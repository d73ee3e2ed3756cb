"""Quantities from replicates: their variance by hand, and parts inside their wholes."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t as student

from synth.domain import Attribute, Conjunction, PublicTotal, Universe
from synth.errors import QueryError
from synth.reading.quantities import Asked, Count
from synth.reading.queries import parse_query, query_of
from synth.reading.replicate_quantities import MOST_CONDITIONS, ReplicateQuantities
from synth.reading.replicate_weights import Rule
from synth.reading.weighted_table import WeightedTable

UNIVERSE = Universe(
    (
        Attribute("sex", "categorical", ("f", "m")),
        Attribute("age", "integer", edges=tuple(map(Fraction, (0, 1, 2, 3))), missing=("",)),
        Attribute("town", "categorical", tuple("abcde")),
    )
)
FACTOR, NUMBER = 1.7, 12


def replicates(generator, *, universe=UNIVERSE, mean=3.0, totals=()):
    """Of a table that is drawn at random."""
    truth = generator.poisson(mean * (generator.random(universe.size) > 0.5))
    weights = np.stack([truth, *(generator.poisson(truth + 0.5) for _ in range(NUMBER))])
    lines = np.flatnonzero(weights.any(axis=0))
    codes = np.stack(np.unravel_index(lines, universe.shape))
    table = WeightedTable(universe, codes, weights[:, lines].astype(float))
    config = SimpleNamespace(universe=universe, public_totals=totals)
    rule = Rule(((frozenset(universe.names), universe.size, 1e-6),), 2, 0.5)
    weights_of = SimpleNamespace(table=table, factor=FACTOR, rule=rule)
    release = SimpleNamespace(config=config, weights=weights_of)
    return ReplicateQuantities(release), weights.reshape(-1, *universe.shape).astype(float)


def ends_by_hand(values, level=0.9):
    sd = math.sqrt(FACTOR / NUMBER * sum((value - values[0]) ** 2 for value in values[1:]))
    width = sd * student.ppf((1 + level) / 2, NUMBER)
    return sd, values[0] - width, values[0] + width


def quantity_of(**given):
    (found,) = Asked(**given).quantities(UNIVERSE)
    return found


@pytest.mark.parametrize(
    ("given", "by_hand"),
    [
        ({"shares": ["town=a"], "within": "sex=f"}, lambda n: n[0, :, 0].sum() / n[0].sum()),
        (
            {"means": ["age"], "within": "sex=m"},
            lambda n: (n[1, 1].sum() + 2 * n[1, 2].sum()) / n[1, :3].sum(),
        ),
        ({"difference": ("sex=f", "town=b")}, lambda n: n[0].sum() - n[:, :, 1].sum()),
        ({"ratio": ("sex=f", "town=b")}, lambda n: n[0].sum() / n[:, :, 1].sum()),
    ],
)
def test_the_interval_is_the_spread_about_the_published_value(given, by_hand):
    known, tables = replicates(np.random.default_rng(1))
    found = known.of(quantity_of(**given), level=0.9)
    values = [by_hand(table) for table in tables]
    assert (found.sd, *found.ends) == pytest.approx(ends_by_hand(values))
    assert found.estimate == pytest.approx(values[0])


def test_intervals_stay_where_a_quantity_can_be():
    known, _ = replicates(np.random.default_rng(2), mean=0.3)
    for text, most in (("share", 1.0), ("mean", 2.0)):
        given = {"shares": ["town=a"]} if text == "share" else {"means": ["age"]}
        low, high = known.of(quantity_of(**given), level=0.999).ends
        assert 0 <= low <= high <= most
    nothing = known.of(quantity_of(shares=["sex=f"], within="town=a, age is missing"), level=0.9)
    assert nothing.ends == (-math.inf, math.inf)
    assert "replicates it does not exist" in nothing.reason
    three = known.of(quantity_of(ratio=("town=a, sex=f", "age=0")), level=0.9)
    assert "calibrated for 2" in three.reason or "does not exist" in three.reason


def test_a_count_without_wholes_is_its_own_interval():
    known, tables = replicates(np.random.default_rng(1))
    found = known.of(Count(parse_query("", UNIVERSE)), level=0.9)
    sd, low, high = ends_by_hand(tables.reshape(NUMBER + 1, -1).sum(axis=1))
    assert (found.sd, *found.ends) == pytest.approx((sd, math.ceil(low), math.floor(high)))


def random_where(generator, fewest=0):
    names = list(generator.permutation(UNIVERSE.names))[: generator.integers(fewest, 4)]
    codes = {}
    for name in names:
        size = UNIVERSE.attribute(name).size
        taken = generator.permutation(size)[: generator.integers(1, size)]
        codes[str(name)] = tuple(map(int, taken))
    return query_of("", codes, UNIVERSE)


def test_parts_lie_inside_their_wholes():
    generator, apart = np.random.default_rng(8), 0
    total = PublicTotal(Conjunction({"sex": (0,)}), 40, "a register")
    for number in range(12):
        known, _ = replicates(generator, totals=[total] * (number % 2))
        for _ in range(40):
            part = random_where(generator, fewest=1)
            kept = list(part.where.codes)[: generator.integers(0, len(part.where.codes))]
            whole = query_of("", {name: part.where.codes[name] for name in kept}, UNIVERSE)
            for level in (0.5, 0.95):
                inner, outer = (known.of(Count(q), level=level).ends for q in (part, whole))
                assert inner[0] <= outer[0] <= outer[1]
                assert inner[0] <= inner[1] <= outer[1]
                apart += inner != outer
    assert apart > 400


@pytest.mark.parametrize("names", [["sex"], ["town", "age"], ["sex", "age", "town"]])
def test_a_marginal_is_what_its_cells_are_one_by_one(names):
    total = PublicTotal(Conjunction({"town": (2,)}), 9, "a register")
    known, _ = replicates(np.random.default_rng(4), totals=[total])
    table, reasons = known.marginal(names, level=0.9), known.reasons(names)
    in_order = [name for name in UNIVERSE.names if name in names]
    for place in np.ndindex(table.lows.shape):
        codes = dict(zip(in_order, ((code,) for code in place), strict=True))
        found = known.of(Count(query_of("", codes, UNIVERSE)), level=0.9)
        assert found.estimate == table.estimates[place]
        assert found.sd == pytest.approx(table.sds[place])
        assert found.ends == (table.lows[place], table.highs[place])
        assert found.reason == reasons[place]
    assert bool(reasons.all()) == (len(names) > 2), "calibrated for two columns"


def test_more_conditions_than_are_held_at_once_are_refused():
    names = [f"c{number}" for number in range(MOST_CONDITIONS + 1)]
    universe = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in names))
    known, _ = replicates(np.random.default_rng(5), universe=universe)
    where = query_of("", dict.fromkeys(names, (0,)), universe)
    with pytest.raises(QueryError, match="17 conditions, more than 16"):
        known.of(Count(where), level=0.9)
