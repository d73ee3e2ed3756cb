"""What is published of delta: the added term of an inequality, not the chance of a larger loss."""

import re
from fractions import Fraction

import pytest

from synth.noise import DiscreteGaussian
from synth.privacy import Budget, largest_rho
from synth.release.manifest.build import manifest_schema
from synth.release.manifest.guarantee import GUARANTEE, MEANING, build_meaning

BITS = 512
E_BELOW = sum((Fraction(1, d) for d in (1, 1, 2, 6, 24, 120, 720, 5040)), Fraction(0))
"""The first terms of the series of e: below it."""

WITHIN = r"(?:(?!\. )[^:;])*"
"""More of the same sentence."""

CHANCE_OF_LOSS = re.compile(
    rf"probability{WITHIN}\bloss\b{WITHIN}\b(larger|exceed|beyond|above|more)"
    rf"|\bloss\b{WITHIN}\b(larger|exceed|beyond|above|more){WITHIN}\bwith (a )?probability"
)
"""A sentence that gives the chance that the loss is above something."""


def sentences(value):
    """All texts in a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in sentences(item)]
    if isinstance(value, list):
        return [text for item in value for text in sentences(item)]
    return []


def test_the_search_finds_what_must_not_be_said():
    said = "with probability at most 0.001, at most once in 1,000 releases, the loss may be larger"
    assert CHANCE_OF_LOSS.search(said)
    assert CHANCE_OF_LOSS.search("The probability with which the loss may be larger.")
    assert CHANCE_OF_LOSS.search("the loss may exceed epsilon with probability delta")


def test_no_published_sentence_gives_a_chance_of_a_larger_loss(several):
    published = [*sentences(manifest_schema()), *sentences(GUARANTEE), *sentences(MEANING)]
    published += sentences(build_meaning(Budget(Fraction(1), Fraction(1, 10**6))))
    published += [
        path.read_text(encoding="utf-8")
        for path in several.folder.rglob("*")
        if path.suffix in (".md", ".json", ".html", ".txt", ".yaml")
    ]
    assert any("P(S) <= e^epsilon Q(S) + delta" in text for text in published)
    for text in published:
        assert not CHANCE_OF_LOSS.search(re.sub(r"\s+", " ", text))


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 10**9)])
def test_the_loss_of_gaussian_noise_is_above_epsilon_more_often_than_delta(delta):
    """One count of one table, which a neighbour moves by one record, at epsilon 1.

    The loss at noise k is ln P(k) / P(k - 1) = (1 - 2k) rho, above 1 for all k up to `last`. The
    sum of P(k) - e P(k - 1) over these k is the smallest delta that the inequality allows.
    """
    rho = largest_rho(Fraction(1), delta)
    law = DiscreteGaussian(rho, 1)
    assert law.rate == rho
    last = -(-((1 - 1 / rho) / 2) // 1) - 1
    assert (1 - 2 * last) * rho > 1 >= (1 - 2 * (last + 1)) * rho
    above, most = (Fraction(bound, 1 << BITS) for bound in law.cdf_bounds(last, BITS))
    least_before = Fraction(law.cdf_bounds(last - 1, BITS)[0], 1 << BITS)
    assert above > delta, "the probability of a loss above epsilon"
    assert 0 < most - E_BELOW * least_before <= delta, "what the inequality needs"
