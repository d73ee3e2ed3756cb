"""Balanced rounding: up or down, totals exact, small tables kept, ties alone turned by digits."""

from itertools import combinations

import numpy as np
import pytest

from synth.domain.totals import Atoms
from synth.estimate import balanced, required_atoms
from synth.estimate.balanced import moved_records, whole_counts
from synth.estimate.rounding import MOST_MOVED, round_counts

SHAPE = (6, 5, 4, 7, 3)
WEIGHTS = {1: 10, 2: 3}
SEEDS = range(6)


def thin_values(seed, cells=400, shape=SHAPE):
    """Some cells of a universe with values of one record or so."""
    generator = np.random.default_rng(seed)
    places = np.sort(generator.choice(np.prod(shape), cells, replace=False))
    return np.unravel_index(places, shape), generator.gamma(2.0, 0.5, cells)


def gaps(columns, difference, order):
    """Sums of differences over the cells of all tables of so many columns."""
    found = []
    for axes in combinations(range(len(columns)), order):
        place = np.ravel_multi_index([columns[a] for a in axes], [SHAPE[a] for a in axes])
        found.append(np.bincount(place, weights=difference))
    return np.concatenate(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_value_is_rounded_up_or_down_and_the_sum_is_near(seed):
    columns, values = thin_values(seed)
    counts = whole_counts(columns, values, None, seed)
    assert np.all(np.abs(counts - values) < 1.0)
    assert abs(counts.sum() - values.sum()) < 1.0
    assert np.array_equal(counts, whole_counts(columns, values, None, seed))
    others = {whole_counts(columns, values, None, other).tobytes() for other in range(9)}
    assert len(others) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_small_tables_are_nearer_than_chance_would_have_them(seed):
    """Every decision adds to the weighed squares of the gaps no more than a fair chance would."""
    columns, values = thin_values(seed)
    left = values - np.floor(values)
    tables = {1: len(SHAPE), 2: len(SHAPE) * (len(SHAPE) - 1) // 2}
    by_chance = sum(WEIGHTS[order] * tables[order] for order in (1, 2)) + balanced._OF_ALL
    difference = whole_counts(columns, values, None, seed) - values
    squares = sum(
        WEIGHTS[order] * float((gaps(columns, difference, order) ** 2).sum()) for order in (1, 2)
    )
    assert squares <= by_chance * float((left * (1 - left)).sum())
    in_order = round_counts(values, None, seed) - values
    for order in (1, 2):
        ours, other = (np.abs(gaps(columns, each, order)).sum() for each in (difference, in_order))
        assert ours < (0.7 if order == 1 else 0.95) * other


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(1000,), (400, 3), (150, 40), (70, 5, 4)])
def test_ranges_of_many_codes_keep_what_they_hold(shape, seed):
    """A long tail of codes with parts of a record each keeps its records."""
    falls = [np.exp(-np.arange(size) / (size / 6)) for size in shape]
    values = 700 * np.prod(np.meshgrid(*falls, indexing="ij"), axis=0).reshape(-1)
    values /= np.prod([each.sum() for each in falls])
    columns = np.unravel_index(np.arange(values.size), shape)
    counts = whole_counts(columns, values, None, seed)
    assert moved_records(columns, values, None, seed, counts) == 0
    up_to = np.cumsum(np.bincount(columns[0], weights=counts - values))
    assert np.abs(up_to).max() < (1 if len(shape) == 1 else 6)
    assert np.sqrt((up_to**2).mean()) < 3


def test_crossing_totals_and_impossible_cells_hold(make_config):
    config = make_config(
        (4, 3, 2),
        impossible=[{"a0": (0,), "a1": (2,)}],
        totals=[({}, 101), ({"a0": (0, 1)}, 40), ({"a1": (1, 2)}, 77)],
    )
    universe, possible = config.universe, config.universe.possible()
    values = np.random.default_rng(3).gamma(0.4, 3.0, size=24) * possible
    columns = universe.codes(np.arange(universe.size))
    for seed in range(20):
        counts = whole_counts(columns, values, required_atoms(config), seed)
        assert np.all(counts >= 0)
        assert np.all(counts[~possible] == 0)
        for total in config.public_totals:
            assert counts[universe.members(total.where)].sum() == total.total
    nothing = whole_counts(columns, np.zeros(24), required_atoms(config), 5)
    assert nothing.sum() == 101


def test_the_number_of_records_is_right_on_average():
    columns, values = thin_values(1, cells=3)
    seeds = range(2000)
    mean = np.mean([whole_counts(columns, values, None, seed).sum() for seed in seeds])
    assert mean == pytest.approx(values.sum(), abs=4 * 0.5 / len(seeds) ** 0.5)


@pytest.mark.parametrize("columns", [[np.zeros(0, dtype=int)], [np.zeros(3, dtype=int)]])
def test_nothing_to_decide(columns):
    values = np.arange(columns[0].size, dtype=np.float64)
    assert np.array_equal(whole_counts(columns, values, None, 1), values)


def test_very_many_cells_of_many_records_are_rounded_in_order(monkeypatch):
    columns, values = thin_values(2)
    monkeypatch.setattr(balanced, "MOST_CELLS", values.size - 1)
    in_order = round_counts(values, None, 5)
    assert np.array_equal(whole_counts(columns, values, None, 5), in_order)
    assert moved_records(columns, values, None, 5, in_order) == 0


@pytest.fixture
def many_cells(monkeypatch):
    """Every universe has very many cells, and 4 to 32 parts of a record are few."""
    monkeypatch.setattr(balanced, "MOST_CELLS", 1_000)
    return np.unravel_index(np.arange(np.prod(SHAPE)), SHAPE)


def values_of(seed, records):
    """Values of all cells, most far below one record."""
    values = np.random.default_rng(seed).gamma(0.2, size=int(np.prod(SHAPE)))
    return values * records / values.sum()


@pytest.mark.parametrize("records", [60, 150, 240.5])
@pytest.mark.parametrize("seed", SEEDS)
def test_very_many_cells_of_few_records_keep_small_tables(many_cells, seed, records):
    values = values_of(seed, records)
    few = balanced._of_few_cells(values, None, seed)
    assert np.count_nonzero(few) <= balanced.MOST_CELLS < np.count_nonzero(values)
    counts = whole_counts(many_cells, values, None, seed)
    assert np.all((np.floor(values) <= counts) & (counts <= np.ceil(values)))
    assert abs(counts.sum() - values.sum()) < 1.5
    assert moved_records(many_cells, values, None, seed, counts) == 0
    in_order = round_counts(values, None, seed)
    ours, other = (np.abs(gaps(many_cells, each - values, 1)).sum() for each in (counts, in_order))
    assert ours < 0.7 * other


def test_the_number_of_records_in_very_many_cells_is_right_on_average(many_cells):
    seeds = range(300)
    values = values_of(1, 30.3)
    numbers = [whole_counts(many_cells, values, None, seed).sum() for seed in seeds]
    assert np.mean(numbers) == pytest.approx(30.3, abs=4 * 0.5 / len(seeds) ** 0.5)


@pytest.mark.usefixtures("many_cells")
def test_every_one_of_very_many_cells_is_right_on_average():
    """Thinned to parts of a record, no cell is favoured."""
    values = values_of(2, 100)
    thinned = [balanced._of_few_cells(values, None, seed) for seed in range(1_000)]
    parts = 10  # of a record: 1,000 cells for 100 of them
    deviation = np.sqrt(1 / 4 / len(thinned)) / parts
    assert np.abs(np.mean(thinned, axis=0) - values).max() < 5 * deviation


def test_totals_of_very_many_cells_hold(make_config, monkeypatch):
    monkeypatch.setattr(balanced, "MOST_CELLS", 16 * 20)
    config = make_config(
        (8, 9, 10),
        impossible=[{"a0": (0,), "a1": (2,)}],
        totals=[({}, 20), ({"a0": (0, 1)}, 9), ({"a1": (1, 2)}, 7)],
    )
    universe, possible = config.universe, config.universe.possible()
    values = np.random.default_rng(3).gamma(0.1, size=universe.size) * possible
    values *= 20 / values.sum()
    columns = universe.codes(np.arange(universe.size))
    for seed in range(20):
        counts = whole_counts(columns, values, required_atoms(config), seed)
        assert np.all(counts[~possible] == 0)
        for total in config.public_totals:
            assert counts[universe.members(total.where)].sum() == total.total
        assert moved_records(columns, values, required_atoms(config), seed, counts) == 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_last_digits_may_turn_a_part_of_a_record_of_very_many_cells(many_cells, sign):
    """A running sum that is a whole number of parts but for a last digit: both are accepted."""
    seed, parts = 3, 10
    offset = float(np.random.Generator(np.random.Philox(seed).jumped(2)).random())
    values = values_of(4, 100)
    running = np.cumsum(values) * parts + offset
    values[700] += (np.ceil(running[700]) - running[700]) / parts
    values[701] -= (np.ceil(running[700]) - running[700]) / parts
    assert values[701] > 0.0
    one, other = values.copy(), values.copy()
    one[700] -= sign * 1e-12
    other[700] += sign * 1e-12
    found = whole_counts(many_cells, one, None, seed)
    thinned = (balanced._of_few_cells(each, None, seed) for each in (one, other))
    assert not np.array_equal(*thinned), "a part of a record is turned"
    assert moved_records(many_cells, other, None, seed, found) is not None


def test_what_nearly_was_a_tie_may_be_decided_otherwise():
    """All halves in one place: its gaps and that of all are 0 again after every second cell."""
    columns, seen = [np.zeros(9, dtype=int)] * 2, set()
    for seed in range(40):
        noise = np.random.default_rng(seed).uniform(-1, 1, 9) * 1e-6
        found = whole_counts(columns, 0.5 + noise, None, 3)
        moved = moved_records(columns, np.full(9, 0.5), None, 3, found)
        assert moved is not None
        seen.add(moved)
    assert len(seen) > 2


def test_other_counts_are_not_explained_by_last_digits():
    columns, values = thin_values(4)
    expected = whole_counts(columns, values, None, 3)
    assert moved_records(columns, values, None, 3, expected) == 0
    up, down = (np.flatnonzero(which)[:20] for which in (expected > values, expected < values))
    for one, other in zip(up, down, strict=True):
        found = expected.copy()
        found[one] -= 1
        found[other] += 1
        assert moved_records(columns, values, None, 3, found) is None
    assert moved_records(columns, values, None, 3, expected + 1) is None


@pytest.mark.parametrize("ties", [1, MOST_MOVED, MOST_MOVED + 1])
def test_no_more_ties_are_turned_than_the_most(ties):
    """Every second cell is a tie, and a unit more in it turns it; the next cell has a unit less."""
    keys = np.random.Generator(np.random.Philox(3)).random(1 + 2 * ties)[1:]
    values, columns = np.full(2 * ties, 0.5), [np.zeros(2 * ties, dtype=int)] * 2
    values[np.argsort(keys)] += np.tile([1.0, -1.0], ties) * 2.0**-20
    found = whole_counts(columns, values, None, 3)
    moved = moved_records(columns, np.full(2 * ties, 0.5), None, 3, found)
    assert moved == (ties if ties <= MOST_MOVED else None)


def test_a_cell_more_to_decide_leaves_the_order_of_the_others():
    """Last digits that take a value over half a unit turn what is near, not everything."""
    columns, values = thin_values(5)
    least = 2.0**-21
    for place in (0, 200):
        one, other = values.copy(), values.copy()
        one[place], other[place] = least * (1 + 1e-9), least * (1 - 1e-9)
        found = whole_counts(columns, one, None, 3)
        assert (found != whole_counts(columns, other, None, 3)).sum() <= 2


def test_of_many_columns_no_pairs_are_looked_at():
    assert balanced.looks_at_pairs(balanced.MOST_CELLS, 16)
    assert not balanced.looks_at_pairs(balanced.MOST_CELLS, 17)
    assert not balanced.looks_at_pairs(1, 200)
    columns = [np.arange(40) % 3 for _ in range(200)]
    counts = whole_counts(columns, np.full(40, 0.3), None, 1)
    assert counts.sum() == pytest.approx(12, abs=1)


def test_an_atom_without_cells_is_passed_over():
    atoms = Atoms(np.array([0, 0]), np.array([[True, True]]), np.array([3]))
    assert whole_counts([np.arange(2)], np.array([1.5, 1.5]), atoms, 1).sum() == 3
