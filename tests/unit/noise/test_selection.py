"""The use of permute-and-flip: exact arguments, words of its own, one use of each."""

from fractions import Fraction

import numpy as np
import pytest

from synth.errors import BugError
from synth.noise import NoiseStream, permute_and_flip
from synth.noise import stream as stream_module

KEY = bytes(range(32))


def choose(scores, epsilon="1", sensitivity=1, *, number=0, stream=None):
    return permute_and_flip(
        scores,
        epsilon=Fraction(epsilon),
        sensitivity=sensitivity,
        stream=stream or NoiseStream(key=KEY),
        number=number,
    )


def test_a_far_better_candidate_is_chosen():
    stream = NoiseStream(key=KEY)
    for number in range(50):
        assert choose([0, 10**6, 5], number=number, stream=stream) == 1


def test_choices_depend_on_key_and_number_alone():
    scores = list(range(40))
    stream = NoiseStream(key=KEY)
    forwards = [choose(scores, "0.1", number=n, stream=stream) for n in range(30)]
    other = NoiseStream(key=KEY)
    backwards = [choose(scores, "0.1", number=n, stream=other) for n in reversed(range(30))]
    assert forwards == backwards[::-1]
    assert len(set(forwards)) > 5
    fresh = NoiseStream(key=bytes(32))
    assert forwards != [choose(scores, "0.1", number=n, stream=fresh) for n in range(30)]


def test_equal_scores_are_equally_likely():
    """8,000 choices of four: a share is off by 0.04 with probability below 1e-14."""
    stream = NoiseStream(key=KEY)
    counts = np.bincount([choose([3] * 4, number=n, stream=stream) for n in range(8000)])
    assert np.abs(counts / 8000 - 0.25).max() < 0.04


def test_the_law_of_two_candidates_is_met():
    """P(worse) = p / 2 with p = exp(-1/2): .3033; off by .04 in 8,000: below 1e-13."""
    stream = NoiseStream(key=KEY)
    worse = sum(choose([1, 0], "1", number=n, stream=stream) for n in range(8000))
    assert abs(worse / 8000 - np.exp(-0.5) / 2) < 0.04


def test_words_are_handed_out_once():
    stream = NoiseStream(key=KEY)
    choose([1, 2], stream=stream)
    with pytest.raises(BugError, match="twice"):
        choose([1, 2], stream=stream)
    with pytest.raises(BugError, match="whole number"):
        choose([1, 2], number=-1, stream=stream)


def test_words_come_from_a_lane_of_their_own(monkeypatch):
    seen = []
    exact = NoiseStream.blocks

    def blocks(self, *, lane, table, round_number, indices):
        seen.extend((lane, table, round_number, i) for i in indices.tolist())
        return exact(self, lane=lane, table=table, round_number=round_number, indices=indices)

    monkeypatch.setattr(NoiseStream, "blocks", blocks)
    stream = NoiseStream(key=KEY)
    for number in range(3):
        choose(list(range(100)), number=number, stream=stream)
    assert len(set(seen)) == len(seen) >= 3 * 100
    assert {lane for lane, *_ in seen} == {stream_module.SELECTION_LANE} == {2**16 - 1}


@pytest.mark.parametrize("scores", [[0.5], [1, 2.0], [True, 1], [None], [np.int64(3)]])
def test_inexact_scores_are_refused(scores):
    with pytest.raises(TypeError, match="exact"):
        choose(scores)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [(1, 1), (0.5, 1), (None, 1), (Fraction(1), 1.0), (Fraction(1), None)],
)
def test_inexact_parameters_are_refused(epsilon, sensitivity):
    with pytest.raises(TypeError, match="exact"):
        permute_and_flip(
            [1, 2],
            epsilon=epsilon,
            sensitivity=sensitivity,
            stream=NoiseStream(key=KEY),
            number=0,
        )


def test_parameters_without_substance_are_refused():
    for epsilon, sensitivity in (("0", 1), ("-1", 1), ("1", 0), ("1", -2)):
        with pytest.raises(ValueError, match="positive"):
            choose([1], epsilon, sensitivity)
    with pytest.raises(ValueError, match="candidates"):
        choose([])
