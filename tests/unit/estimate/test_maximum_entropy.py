"""The quick model: iterative proportional fitting where there is no noise, least squares else."""

from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Attribute, Conjunction, Margin, Universe
from synth.estimate import maximum_entropy as module
from synth.estimate.maximum_entropy import maximum_entropy
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent

SIZES = {"a": 3, "b": 4, "c": 2, "d": 3}


def universe(impossible=()):
    attributes = tuple(
        Attribute(name, "categorical", tuple(map(str, range(size)))) for name, size in SIZES.items()
    )
    return Universe(attributes, tuple(Conjunction(rule) for rule in impossible))


def measured(counts, names, *, variances=None, noise=0.0):
    """Sums of counts with normal noise, as if measured with these variances."""
    generator = np.random.default_rng(7)
    tables = []
    for number, table in enumerate(names):
        margin = Margin(tuple(table), (0,) * len(table))
        sums = margin.sums(universe(), counts)
        noisy = np.rint(sums + noise * generator.standard_normal(sums.size)).astype(np.int64)
        event = TableEvent(tuple(table), sums.size, 1, Fraction(1))
        variance = 1.0 if variances is None else variances[number]
        tables.append(MeasuredTable(event, noisy, variance))
    return Measurements("small", "0" * 64, tuple(tables))


@pytest.fixture
def counts():
    return np.random.default_rng(3).integers(1, 500, universe().size)


def proportional_fit(counts, names):
    """The definition: scale to every table in turn until nothing moves."""
    shape = tuple(SIZES.values())
    table = np.full(shape, counts.sum() / counts.size)
    truth = counts.reshape(shape)
    for _ in range(500):
        for each in names:
            rest = tuple(i for i, name in enumerate(SIZES) if name not in each)
            table = (
                table * truth.sum(axis=rest, keepdims=True) / table.sum(axis=rest, keepdims=True)
            )
    return table.reshape(-1)


@pytest.mark.parametrize(
    "names", [["a", "b", "c", "d"], ["ab", "bc", "cd"], ["abc", "bcd", "ad"], ["abcd"], ["ac", "d"]]
)
def test_without_contradictions_it_is_proportional_fitting(counts, names, monkeypatch):
    monkeypatch.setattr(module, "SLACK", 1e-6)
    monkeypatch.setattr(module, "SWEEPS", 600)
    monkeypatch.setattr(module, "SETTLED", 1e-4)
    found = maximum_entropy(measured(counts, names), universe())
    assert found == pytest.approx(proportional_fit(counts, names), rel=1e-3)


def test_contradictions_are_settled_by_the_variances(counts, monkeypatch):
    """Two tables of one column: the mean of both, weighted by their precision."""
    monkeypatch.setattr(module, "SLACK", 50.0)
    monkeypatch.setattr(module, "SWEEPS", 3000)
    monkeypatch.setattr(module, "SETTLED", 1e-4)
    tables = measured(counts, ["a", "a"], variances=[1.0, 4.0]).tables
    shifted = MeasuredTable(tables[1].event, tables[1].noisy_counts + 100, 4.0)
    both = Measurements("small", "0" * 64, (tables[0], shifted))
    found = Margin(("a",), (0,)).sums(universe(), maximum_entropy(both, universe()))
    assert found == pytest.approx(tables[0].noisy_counts + 20, abs=5)


def test_it_is_never_negative_and_leaves_impossible_cells_empty(counts):
    rules = ({"a": (0,), "b": (1, 2)},)
    tables = measured(counts // 50, ["ab", "cd", "bd"], noise=30.0, variances=[900.0] * 3)
    found = maximum_entropy(tables, universe(rules))
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert not found[~universe(rules).possible()].any()


def test_noise_is_followed_no_further_than_other_tables_allow(counts):
    tables = measured(counts, ["ab", "bc", "cd", "ad"], noise=20.0, variances=[400.0] * 4)
    found = maximum_entropy(tables, universe())
    for table in tables.tables:
        margin = Margin(table.event.table, table.event.coarsening)
        residual = margin.sums(universe(), found) - table.noisy_counts
        assert np.sqrt(np.mean(residual**2)) < 1.5 * 20


def test_wild_counts_do_no_harm():
    zeros = np.zeros(universe().size, dtype=np.int64)
    tables = measured(zeros, ["ab", "cd"]).tables
    wild = [
        MeasuredTable(tables[0].event, tables[0].noisy_counts - 10**9, 1.0),
        MeasuredTable(tables[1].event, tables[1].noisy_counts + 10**9, 1.0),
    ]
    found = maximum_entropy(Measurements("small", "0" * 64, tuple(wild)), universe())
    assert np.isfinite(found).all()
    assert found.min() >= 0


def test_coarser_tables_are_refused():
    event = TableEvent(("a",), 3, 1, Fraction(1), coarsening=(1,))
    table = MeasuredTable(event, np.zeros(3, dtype=np.int64), 1.0)
    with pytest.raises(ValueError, match="resolution of the codes"):
        maximum_entropy(Measurements("small", "0" * 64, (table,)), universe())


def test_no_pass_over_cells_that_are_too_many_to_be_held(monkeypatch):
    """Pairs that were measured, and what follows of others, are told by the latent classes."""
    monkeypatch.setattr(module, "maximum_entropy", None)
    monkeypatch.setattr(module, "HELD_CELLS", 1_000)
    sizes = {"a": 30, "b": 30, "c": 2, "d": 10}
    attributes = (
        Attribute(name, "categorical", tuple(map(str, range(size)))) for name, size in sizes.items()
    )
    large, generator = Universe(tuple(attributes)), np.random.default_rng(5)
    kind = generator.integers(0, 2, 20_000)
    columns = [(kind + 2 * generator.integers(0, size // 2, kind.size)) for size in sizes.values()]
    tables = []
    for first, second in ((0, 2), (1, 2), (2, 3)):
        names = tuple(sizes)[first], tuple(sizes)[second]
        counts = np.bincount(
            columns[first] * large.shape[second] + columns[second],
            minlength=large.shape[first] * large.shape[second],
        )
        event = TableEvent(names, counts.size, 1, Fraction(1))
        tables.append(MeasuredTable(event, counts, 1.0))
    guess = module.quick_guess(Measurements("large", "0" * 64, tuple(tables)), large)
    measured_pair = guess(Margin(("a", "c"), (0, 0)))
    assert np.abs(measured_pair - tables[0].noisy_counts).sum() < 0.05 * kind.size
    other = guess(Margin(("a", "d"), (0, 0))).reshape(30, 10)
    unlike = np.add.outer(np.arange(30), np.arange(10)) % 2 == 1
    assert other[unlike].sum() < 0.05 * kind.size  # columns of one parity go together
