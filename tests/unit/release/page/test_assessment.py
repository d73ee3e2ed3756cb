"""The self-assessment: its figures, its words by unit and neighbours, and the signed errors."""

import re
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from synth.errors import VerificationError
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.privacy import Budget
from synth.privacy.meaning import at_most, largest_advantage, largest_odds_factor
from synth.release.page.assessment import render_assessment
from synth.release.page.group_bias import CLASSES, group_biases, size_classes
from synth.release.verification import verify_folder

PERSON = {"privacy": {"unit": {"column": "person", "max_records": 4}}}


def words_of(made):
    page = (made.folder / "assessment.html").read_text(encoding="utf-8")
    return " ".join(re.sub(r"<[^>]+>", " ", page.split("<body>")[1]).split())


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, 0), (Fraction(1, 10), Fraction(1, 1000)), (5, 0)]
)
def test_no_test_for_membership_has_a_larger_advantage(epsilon, delta):
    """Of all error rates that the inequalities allow, on a fine grid."""
    bound = largest_advantage(Budget(Fraction(epsilon), Fraction(delta)))
    growth = exp(epsilon)
    p = np.linspace(0, 1, 200_001)
    q = np.maximum(0, np.maximum(1 - delta - growth * p, (1 - delta - p) / growth))
    largest = (1 - q - p).max()
    assert largest - 1e-9 <= bound <= largest + 1e-4


def test_the_odds_are_rounded_up():
    assert largest_odds_factor(Fraction(1)) == 2.71829
    assert largest_advantage(Budget(Fraction(1), Fraction(0))) == 0.462118


def test_the_figures_are_those_of_the_budget(released):
    words = words_of(released())
    assert "factor of at most 2.72 , in either direction" in words
    assert f"probability {at_most(0.731059)} at most" in words
    assert "change by a factor of at most 7.39 (epsilon counts twice" in words
    assert "Delta is 0" in words
    assert "but for" not in words
    assert "A person with several records is protected less" in words
    assert "Is one record one person?" in words


def test_a_unit_of_several_records_is_told(released):
    words = words_of(released(**PERSON))
    assert "All records of one person together." in words
    assert "who has many records counts for less" in words
    assert "Is one record one person?" not in words


def test_replaced_records_change_a_value_once(released):
    everybody = [{"where": {}, "total": 120, "source": "a register"}]
    changed = {"privacy": {"neighbours": "replace-one"}, "public_totals": everybody}
    words = words_of(released(**changed))
    assert "odds between two values of a record change by a factor of at most 2.72 ." in words
    assert "How many records there are is public" in words


def test_delta_is_told_where_there_is_one(several):
    words = words_of(several)
    assert "delta = 0.000000001 is the term added" in words
    assert "w + delta" in words
    assert "times, but for delta" in words
    assert "in either direction, unless what delta allows for happens." in words
    assert "at most by all of them, but for a delta of " in words


def test_who_approved_is_told(released):
    approved = released(release={"approvals": ["Board of <Examples>, 3 May"]})
    assert "Stated: Board of &lt;Examples&gt;, 3 May." in words_of(approved)
    assert "The release names nobody." in words_of(released())


def test_verify_compares_the_bytes(released):
    made = released()
    path = made.folder / "assessment.html"
    path.write_bytes(path.read_bytes().replace(b"at most", b"at least", 1))
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert "assessment.html: is not the one that manifest and rows give" in caught.value.findings


def test_classes_are_powers_of_ten():
    counts = np.array([0, 1, 9, 10, 99, 100, 99_999, 100_000, 10**12])
    assert size_classes(counts).tolist() == [0, 1, 1, 2, 2, 3, 5, 6, 6]
    assert CLASSES == 7


def measured_again(made, published, seed):
    """Measurements of which the published table leaves 40 records of every cell of 10 out."""
    generator = np.random.default_rng(seed)
    (table,) = made.measurements.tables
    every = published.of_every_cell(made.config.universe.shape)
    truth = np.where(every >= 10, every + 40, every)
    noisy = truth + generator.laplace(scale=1, size=truth.size).round().astype(np.int64)
    event = table.event
    again = MeasuredTable(event, noisy, noise_variance(event))
    return Measurements(made.config.release.id, made.config.hash, (again,)), truth


def test_a_bias_is_found_and_its_blur_is_that_of_the_noise(released):
    """Against the sums of all groups one by one, and the spread over many draws."""
    made = released()
    derived = made.derive(made.measurements, made.config)
    universe, counts = made.config.universe, derived.counts
    draws = [measured_again(made, counts, seed) for seed in range(200)]
    found = [group_biases(made.config, measurements, counts) for measurements, _ in draws]
    shape, published = universe.shape, counts.of_every_cell(universe.shape)
    wrong, size, groups = np.zeros(CLASSES), np.zeros(CLASSES), np.zeros(CLASSES)
    axes = range(len(shape))
    for kept in [*((i,) for i in axes), *((i, j) for i in axes for j in axes if i < j)]:
        rest = tuple(axis for axis in axes if axis not in kept)
        here = published.reshape(shape).sum(axis=rest).reshape(-1)
        true = draws[0][1].reshape(shape).sum(axis=rest).reshape(-1)
        classes = size_classes(here)
        wrong += np.bincount(classes, here - true, CLASSES)
        size += np.bincount(classes, here, CLASSES)
        groups += np.bincount(classes, minlength=CLASSES)
    occupied = [each for each in range(CLASSES) if groups[each]]
    assert abs(wrong).max() > 400
    for place, each in enumerate(occupied):
        lines = [biases[place] for biases in found]
        assert lines[0].groups == groups[each]
        assert lines[0].mean_size == pytest.approx(size[each] / groups[each])
        assert lines[0].is_clear or abs(wrong[each]) < 40
        errors = np.array([line.error for line in lines])
        spread = lines[0].blur / 3
        assert abs(errors.mean() - wrong[each] / groups[each]) < 6 * spread / np.sqrt(len(lines))
        assert 0.75 < errors.std() / spread < 1.3


def test_what_no_table_answers_is_not_told(released, manifest_of):
    made = released()
    empty = Measurements(made.config.release.id, made.config.hash, ())
    derived = made.derive(made.measurements, made.config)
    assert group_biases(made.config, empty, derived.counts) == ()
    manifest = manifest_of(made)
    page = render_assessment(manifest, derived.figures, ()).decode()
    assert "Not known: no noisy table answers" in page
