"""Made-up records and the tables that a run with a threshold would measure of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Attribute, Margin, Universe
from synth.domain.counts import margin_sums
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import PARTITION_SELECTION


def universe_of(*sizes, impossible=()):
    return Universe(
        tuple(
            Attribute(f"a{i}", "categorical", tuple(f"l{code}" for code in range(size)))
            for i, size in enumerate(sizes)
        ),
        tuple(impossible),
    )


def noise(generator, size, epsilon):
    stop = 1 - math.exp(-float(Fraction(epsilon)))
    return generator.geometric(stop, size) - generator.geometric(stop, size)


def sums(universe, columns, axes, *, epsilon=None, seed=0, coarsening=None):
    """A table of sums; without an epsilon one without noise, that claims hardly any."""
    names = tuple(universe.names[axis] for axis in axes)
    margin = Margin(names, coarsening or (0,) * len(axes))
    counts = margin_sums(columns, np.ones(len(columns[0])), universe, margin).astype(np.int64)
    spent = Fraction(50) if epsilon is None else Fraction(epsilon)
    event = TableEvent(names, counts.size, 1, spent, coarsening=margin.coarsening)
    if epsilon is not None:
        counts = counts + noise(np.random.default_rng([5, seed, *axes]), counts.size, spent)
    return MeasuredTable(event, counts, noise_variance(event))


def listing(universe, columns, *, threshold, epsilon=1, seed=0, false_cells=0, delta=None):
    """The list of a universe: filled cells above the threshold, and so many false ones."""
    generator = np.random.default_rng([6, seed])
    rows = np.stack(columns, axis=1)
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    noisy = counts + noise(generator, counts.size, epsilon)
    kept = noisy >= threshold
    wrong = np.stack([generator.integers(0, size, false_cells) for size in universe.shape], axis=1)
    more = threshold + generator.geometric(1 - math.exp(-float(Fraction(epsilon))), false_cells) - 1
    codes = np.concatenate([cells[kept], wrong])
    noisy = np.concatenate([noisy[kept], more])
    codes, first = np.unique(codes, axis=0, return_index=True)
    named = {"mechanism": PARTITION_SELECTION, "delta": Fraction(delta)} if delta else {}
    event = TableEvent(
        universe.names, universe.size, 1, Fraction(epsilon), threshold=threshold, **named
    )
    return MeasuredTable(event, noisy[first], noise_variance(event), codes.astype(np.int64))


def chain(sizes, records, seed):
    """Records whose columns depend on the one before."""
    generator = np.random.default_rng([7, seed])
    columns = [generator.integers(0, sizes[0], records)]
    for size in sizes[1:]:
        stays = generator.random(records) < 0.7
        other = np.minimum(generator.geometric(0.4, records) - 1, size - 1)
        columns.append(np.where(stays, columns[-1] % size, other))
    return columns


class Make:
    universe = staticmethod(universe_of)
    sums = staticmethod(sums)
    listing = staticmethod(listing)
    chain = staticmethod(chain)

    @staticmethod
    def measurements(*tables):
        return Measurements("test", "0" * 64, tables)


@pytest.fixture
def make():
    return Make
