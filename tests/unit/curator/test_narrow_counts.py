"""Counts and sums that do not fit into 32 bits: exact, or refused before a count is looked at."""

from fractions import Fraction

import numpy as np
import pytest

from synth.curator.boundary import measure_table
from synth.curator.margins import margin_counts
from synth.curator.sensitive import Sensitive
from synth.domain import Attribute, Margin, Universe
from synth.errors import BugError
from synth.noise import NoiseStream
from synth.privacy import TableEvent

KEY = bytes(range(32))
UNIVERSE = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in "ab"))
LARGEST = 2**31 - 1


def noisy(epsilon: str, kind):
    event = TableEvent(("a", "b"), 4, 1, Fraction(epsilon))
    counts = Sensitive(np.zeros(4, dtype=kind))
    return measure_table(counts, event, number=0, stream=NoiseStream(key=KEY)).noisy_counts


def test_noise_that_could_leave_32_bits_is_refused_on_narrow_counts():
    """A standard deviation above 2^24: whether it fits is a matter of the plan alone."""
    with pytest.raises(BugError, match="64 bits"):
        noisy("1e-8", np.int32)
    assert noisy("1e-7", np.int32).any()


def test_sums_beyond_32_bits_are_exact():
    counts = np.full(4, LARGEST, dtype=np.int64)
    margins = (Margin(("a",), (0,)), Margin((), ()), Margin(("a", "b"), (0, 0)))
    found = {
        number: table.consume().tolist()
        for number, table in margin_counts(Sensitive(counts), margins, UNIVERSE)
    }
    assert found == {0: [2 * LARGEST] * 2, 1: [4 * LARGEST], 2: [LARGEST] * 4}
