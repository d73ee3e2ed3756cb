"""What last digits of an estimate can do to whole counts, and what they cannot."""

import numpy as np
import pytest

from synth.domain.totals import Atoms
from synth.estimate.rounding import LAST_DIGITS, MOST_MOVED, moved_by_last_digits, round_counts

SEED = 7


def offset_of(seed=SEED):
    return float(np.random.Generator(np.random.Philox(seed)).random())


def on_thresholds(number):
    """Values whose running sums reach a whole number, with the offset, in every other cell."""
    u = offset_of()
    return np.concatenate([[1.0 - u], np.tile([0.5, 0.5], number)])


def moved(values, found, atoms=None):
    return moved_by_last_digits(values, atoms, SEED, np.asarray(found))


def test_what_other_last_digits_give_is_accepted_and_what_is_less_alike_is_not():
    generator = np.random.default_rng(3)
    values = on_thresholds(MOST_MOVED // 2)
    seen = set()
    for _ in range(200):
        noise = generator.uniform(-1, 1, values.size) * LAST_DIGITS / 2
        found = round_counts(values * (1 + noise), None, SEED)
        if found.sum() == round_counts(values, None, SEED).sum():
            records = moved(values, found)
            assert records is not None
            seen.add(records)
    assert len(seen) > 2
    for relative in (1e-9, 1e-6):
        inside = values.copy()
        inside[0] += relative  # away from every threshold
        expected = round_counts(inside, None, SEED)
        found = expected.copy()
        place = int(np.flatnonzero(found[:-1] > found[1:])[0])
        found[place] -= 1
        found[place + 1] += 1
        assert moved(inside, found) is None


def test_no_more_records_than_the_most_are_accepted():
    values = on_thresholds(MOST_MOVED + 4)
    expected = round_counts(values, None, SEED)
    found = expected.copy()
    places = [p for p in range(1, len(values) - 1) if expected[p] == 1 and expected[p + 1] == 0]
    places += [p - 1 for p in range(2, len(values) - 1) if expected[p] == 1 > expected[p - 1]]
    done = 0
    for place in dict.fromkeys(places):
        trial = found.copy()
        trial[place], trial[place + 1] = trial[place + 1], trial[place]
        if np.abs(trial - expected).max() > 1:
            continue
        found, done = trial, done + 1
        if moved(values, found) is None:
            break
    assert done == MOST_MOVED + 1


@pytest.mark.parametrize("other", [[0, 1, 1, 0], [0, 2, 0, 0], [1, 1, 1, 0], [2, 0, 0, 0]])
def test_a_cell_of_value_nothing_stays_empty_and_a_sum_stays(other):
    u = offset_of()
    values = np.array([1.0 - u, 0.0, 1.0, 0.0])
    expected = round_counts(values, None, SEED)
    assert expected[1] == expected[3] == 0
    assert moved(values, expected) == 0
    if list(expected) != other:
        assert moved(values, other) is None


def test_records_stay_in_their_atom_and_out_of_impossible_cells():
    values = np.array([1.0, 1.0, 0.0, 2.0])
    atoms = Atoms(np.array([0, 0, -1, 1]), np.array([[True, True]]), np.array([4]))
    expected = round_counts(values, atoms, SEED)
    assert moved(values, expected, atoms) == 0
    for steps in ([0, -1, 1, 0], [-1, 0, 0, 1], [1, 0, 0, 0]):
        assert moved(values, expected + np.array(steps), atoms) is None


def test_no_cell_moves_by_two_although_both_its_edges_may_move():
    """Its first edge lies just above a threshold, its second just below the next."""
    hair = LAST_DIGITS / 10
    values = np.array([1.0 - offset_of() + hair, 1.0 - 2 * hair, 0.5])
    assert list(round_counts(values, None, SEED)) == [1, 0, 1]
    assert moved(values, [0, 1, 1]) == 1
    assert moved(values, [1, 1, 0]) == 1
    assert moved(values, [0, 2, 0]) is None
