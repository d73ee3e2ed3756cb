"""Each measure against its slow definition, and in cases whose answer is known."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats.contingency import association, crosstab

from synth.evaluation.comparisons import (
    MOST_TABLES,
    NaiveBayes,
    associations,
    cramers_v,
    default_targets,
    distances,
    features,
    nearness,
    predictions,
)
from tests.unit.evaluation.made_up import made_up, table, universe

OVER = universe(3, 4, 2)
FIRST, SECOND, THIRD = (made_up(OVER, number, number) for number in (200, 150, 180))
TABLES = [table(OVER, rows) for rows in (FIRST, SECOND, THIRD)]


def test_total_variation_of_two_columns_by_definition():
    found = distances(*TABLES, order=2)
    for distance, axes in zip(found.tables, [(0, 1), (0, 2), (1, 2)], strict=True):
        raw, release, fresh = (
            Counter(tuple(row[a] for a in axes) for row in rows) for rows in (FIRST, SECOND, THIRD)
        )
        for other, got in ((release, distance.release), (fresh, distance.resampled)):
            cells = set(raw) | set(other)
            wanted = sum(abs(raw[c] / raw.total() - other[c] / other.total()) for c in cells) / 2
            assert math.isclose(got, wanted, rel_tol=1e-12)
    assert found.possible == 3
    assert found.worst(1)[0].release == max(table.release for table in found.tables)


def test_distances_of_equal_disjoint_and_empty_tables():
    nothing, other = table(OVER, []), table(OVER, [(2, 3, 1)])
    one = table(OVER, [(0, 0, 0)] * 5)
    (equal, *_) = distances(one, one, other, order=1).tables
    assert (equal.release, equal.resampled) == (0, 1)
    (empty, *_) = distances(nothing, nothing, one, order=1).tables
    assert (empty.release, empty.resampled) == (0, 1)


def test_of_many_tables_evenly_spaced_ones_are_compared():
    over = universe(*[2] * 25)
    rows = made_up(over, 3, 1)
    found = distances(table(over, rows), table(over, rows), table(over, rows), order=3)
    assert found.possible == 2300
    assert MOST_TABLES / 2 < len(found.tables) <= MOST_TABLES
    used = {name for one in found.tables for name in one.names}
    assert used == set(over.names)


def test_associations_are_cramers_v_of_scipy():
    found = associations(TABLES[0])
    for left, right in ((0, 1), (0, 2), (1, 2)):
        counts = crosstab([row[left] for row in FIRST], [row[right] for row in FIRST]).count
        assert math.isclose(found[left, right], association(counts), rel_tol=1e-9)
        assert found[left, right] == found[right, left]


def test_associations_of_what_goes_together_is_apart_or_constant():
    over = universe(3, 5)
    together = table(over, [(n % 3, n % 3) for n in range(30)])
    apart = table(over, [(n % 3, n // 3 % 5) for n in range(15)])
    constant = table(over, [(1, n % 5) for n in range(10)])
    found = [cramers_v(t, 0, 1) for t in (together, apart, constant, table(over, []))]
    assert found == pytest.approx([1, 0, 0, 0], abs=1e-7)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_naive_bayes_by_definition(target):
    trained = NaiveBayes.train(TABLES[0], target)
    others = features(TABLES[0], target)
    rows = np.array(sorted(set(SECOND)))

    def score(row, level):
        of_level = [r for r in FIRST if r[target] == level]
        found = math.log((len(of_level) + 1) / (len(FIRST) + OVER.shape[target]))
        for axis in others:
            equal = sum(r[axis] == row[axis] for r in of_level)
            found += math.log((equal + 1) / (len(of_level) + OVER.shape[axis]))
        return found

    for row, level in zip(rows, trained.predict(rows, others), strict=True):
        scores = [score(row, other) for other in range(OVER.shape[target])]
        assert math.isclose(scores[level], max(scores), abs_tol=1e-9)


def test_a_release_that_keeps_a_law_predicts_it_and_one_that_breaks_it_does_not():
    over = universe(4, 4)
    law = table(over, [(n % 4, (n + 1) % 4) for n in range(400)])
    broken = table(over, [(n % 4, n // 4 % 4) for n in range(400)])
    generator = np.random.default_rng(1)
    (good,) = predictions(law, law, law, [1], generator)
    (bad,) = predictions(broken, law, law, [1], generator)
    assert (good.release, good.raw, good.target) == (1, 1, "c1")
    assert bad.release < 0.5
    assert good.guess == 0.25
    assert predictions(law, law, table(over, []), [1], generator) == []
    assert default_targets(table(universe(1, 101, 2), [])) == [2]


def test_copies_of_unique_records_are_seen_and_fresh_people_are_the_measure():
    over = universe(50, 50, 50)
    raw = [(n, n, n) for n in range(40)]
    fresh = [(n, n, (n + 1) % 50) for n in range(40)]
    generator = np.random.default_rng(1)
    found = nearness(table(over, raw), table(over, raw), table(over, fresh), generator)
    assert found.release_on_unique == 1
    assert found.release_distances == (1, 0, 0, 0)
    assert found.fresh_on_unique == 0
    assert found.fresh_distances == (0, 1, 0, 0)
    assert nearness(table(over, []), table(over, raw), table(over, fresh), generator) is None
    twice = table(over, raw * 2)
    assert nearness(twice, twice, twice, generator).release_on_unique == 0
