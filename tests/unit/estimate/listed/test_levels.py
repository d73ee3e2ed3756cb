"""What the noisy table of one column says about its levels: borrowed from neighbours, or empty."""

import numpy as np
import pytest

from synth.estimate.listed import levels
from synth.estimate.listed.levels import posterior_of_levels, simplex

RECORDS = 50_000
SHAPES = {
    "even": np.ones(100),
    "zipf": 1 / np.arange(1, 101),
    "falling": 0.9 ** np.arange(100),
    "bell": np.exp(-(((np.arange(100) - 40) / 12) ** 2) / 2),
    "steps": np.repeat([1.0, 5.0, 0.2], (37, 23, 40)),
    "spikes": np.where(np.isin(np.arange(100), (0, 20, 21, 40, 70)), 10.0, 0.01),
    "heaps": np.exp(-np.arange(100) / 40) * np.where(np.arange(100) % 10, 1, 10),
    "any": np.random.default_rng(3).dirichlet(np.ones(100)),
    "few": np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]),
    "two": np.array([0.7, 0.3]),
}


def counts_of(shape):
    return np.random.default_rng(2).multinomial(RECORDS, shape / shape.sum()).astype(np.float64)


def errors(counts, deviation, *, ordered, draws=4):
    """Mean total variation of the posterior means, and of the projection."""
    found = []
    for seed in range(draws):
        noisy = counts + np.rint(np.random.default_rng(seed).normal(0, deviation, counts.size))
        means = posterior_of_levels(noisy, deviation**2, float(counts.sum()), ordered=ordered).mean
        plain = simplex(noisy, float(counts.sum()))
        found.append([np.abs(each - counts).sum() / 2 / RECORDS for each in (means, plain)])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("deviation", [5.0, 100.0, 500.0])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_nowhere_much_worse_than_the_projection(shape, ordered, deviation):
    ours, plain = errors(counts_of(SHAPES[shape]), deviation, ordered=ordered, draws=1)
    assert ours < 1.1 * plain + 0.002  # the second: a few levels, of which some draws are lucky


@pytest.mark.parametrize(
    ("shape", "part"),
    [
        ("even", 0.5),
        ("zipf", 0.55),
        ("falling", 0.6),
        ("bell", 0.7),
        ("steps", 0.5),
        ("heaps", 0.6),
    ],
)
def test_neighbours_that_are_alike_take_most_of_the_noise_away(shape, part):
    ours, plain = errors(counts_of(SHAPES[shape]), 100.0, ordered=True, draws=2)
    assert ours < part * plain


@pytest.mark.parametrize("ordered", [True, False])
def test_empty_levels_are_found_with_and_without_an_order(ordered):
    ours, plain = errors(counts_of(SHAPES["spikes"]), 100.0, ordered=ordered)
    assert ours < 0.65 * plain


def test_a_spike_keeps_its_height():
    counts = np.full(99, 100.0)
    counts[39] = 20_000.0
    noisy = counts + np.random.default_rng(4).normal(0, 100, 99)
    found = posterior_of_levels(noisy, 1e4, float(counts.sum()), ordered=True).mean
    assert found[39] == pytest.approx(20_000, abs=300)
    others = np.delete(found, 39)
    assert others == pytest.approx(100, abs=60)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("deviation", [0.4, 3.0, 80.0, 1e4])
@pytest.mark.parametrize("total", [1.0, 777.5, 1e6])
def test_the_sum_is_kept_and_nothing_is_negative(ordered, deviation, total):
    generator = np.random.default_rng(5)
    noisy = generator.dirichlet(np.full(30, 0.3)) * total + generator.normal(0, deviation, 30)
    found = posterior_of_levels(noisy, deviation**2, total, ordered=ordered)
    assert found.mean.min() >= 0
    assert found.mean.sum() == pytest.approx(total)
    assert (found.variance >= 0).all()


def test_levels_without_an_order_may_come_in_any():
    generator = np.random.default_rng(6)
    noisy = counts_of(SHAPES["any"]) + np.rint(generator.normal(0, 300, 100))
    order = generator.permutation(100)
    found, other = (
        posterior_of_levels(each, 9e4, float(RECORDS), ordered=False).mean
        for each in (noisy, noisy[order])
    )
    assert other == pytest.approx(found[order], rel=1e-6, abs=1e-3)


def test_an_ordered_table_read_backwards_is_much_the_same():
    """Only where the chain starts differs, and that zero is left by jumps alone."""
    noisy = counts_of(SHAPES["bell"]) + np.random.default_rng(7).normal(0, 100, 100)
    found, other = (
        posterior_of_levels(each, 1e4, float(RECORDS), ordered=True).mean
        for each in (noisy, noisy[::-1])
    )
    assert np.abs(other[::-1] - found).sum() < 0.03 * RECORDS


def test_without_noise_or_with_very_many_levels_it_is_the_projection(monkeypatch):
    noisy = np.array([5.0, -1.0, 3.0, 9.0])
    exact = posterior_of_levels(noisy, 0.1, 16.0, ordered=True)
    assert exact.mean.tolist() == simplex(noisy, 16.0).tolist()
    monkeypatch.setattr(levels, "MOST_ALONE", 3)
    many = posterior_of_levels(noisy, 100.0, 16.0, ordered=True)
    assert many.mean.tolist() == simplex(noisy, 16.0).tolist()
    assert many.variance.tolist() == [100.0] * 4


@pytest.mark.parametrize("ordered", [True, False])
def test_very_many_levels_are_looked_at_in_parts_and_not_beside_each_other(monkeypatch, ordered):
    """Most are drowned: together they tell what a level holds that noise hides."""
    random = np.random.default_rng(3)
    counts = np.concatenate([np.full(20, 2000.0), random.poisson(2.0, 380)])
    noisy = counts + random.normal(0, 30, counts.size)
    total = float(counts.sum())
    at_once = posterior_of_levels(noisy, 900.0, total, ordered=False)
    monkeypatch.setattr(levels, "MOST_LEVELS", 150)
    found = posterior_of_levels(noisy, 900.0, total, ordered=ordered)
    assert found.mean == pytest.approx(at_once.mean, rel=1e-9)
    assert found.mean.sum() == pytest.approx(total)
    projected = simplex(noisy, total)
    assert np.abs(found.mean - counts).sum() < 0.5 * np.abs(projected - counts).sum()


def test_nothing_to_share_out():
    assert posterior_of_levels(np.ones(4), 9.0, 0.0, ordered=True).mean.tolist() == [0.0] * 4
    assert posterior_of_levels(np.ones(1), 9.0, 7.0, ordered=True).mean.tolist() == [7.0]


def test_the_posterior_of_the_bases_is_that_of_all_paths():
    """Against the sum over all sequences of bases of a short table with a small grid."""
    noisy = np.array([4.0, 30.0, 6.0])
    model = levels._Model(noisy, 20.0, True)
    kept = np.arange(0, model.grid.size, 3)
    model.grid = model.grid[kept]
    model._anywhere = model._anywhere[kept] / model._anywhere[kept].sum()
    model._moves = levels._moves(kept.size)
    seen, _, _ = model._seen(noisy)
    found = model._passes(seen[1])
    steps = np.tensordot(model._scales[:-1], model._moves, 1) + model._scales[-1] * model._anywhere
    paths = np.einsum(
        "a,a,ab,b,bc,c->abc", model._anywhere, seen[1][0], steps, seen[1][1], steps, seen[1][2]
    )
    paths /= paths.sum()
    for level, others in enumerate(((1, 2), (0, 2), (0, 1))):
        assert found[level] == pytest.approx(paths.sum(axis=others), rel=1e-9, abs=1e-12)
    jumps = np.einsum(
        "a,a,b,b,bc,c->b", model._anywhere, seen[1][0], model._anywhere, seen[1][1], steps,
        seen[1][2],
    )  # fmt: skip
    jumps += np.einsum(
        "a,a,ab,b,c,c->c", model._anywhere, seen[1][0], steps, seen[1][1], model._anywhere,
        seen[1][2],
    )  # fmt: skip
    total = np.einsum(
        "a,a,ab,b,bc,c->", model._anywhere, seen[1][0], steps, seen[1][1], steps, seen[1][2]
    )
    expected = model._scales[-1] * jumps / total + paths.sum(axis=(1, 2))
    assert model._counts == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("ordered", [True, False])
def test_noisy_counts_below_zero_all_of_them(ordered):
    found = posterior_of_levels(np.array([-9e4, -5e4, -7e4]), 100.0, 6.0, ordered=ordered)
    assert found.mean.sum() == pytest.approx(6.0)
    assert found.mean.min() >= 0


@pytest.mark.parametrize("total", [1e-17, 1e-9, 5e-324])
def test_a_total_that_is_lost_in_rounding_leaves_next_to_nothing(total):
    noisy = np.array([7.0, -3.0, 2.0, -9.0, 3.0])
    for found in (
        simplex(noisy, total),
        posterior_of_levels(noisy, 30.0, total, ordered=False).mean,
        posterior_of_levels(noisy, 30.0, total, ordered=True).mean,
    ):
        assert (found >= 0).all()
        assert found.sum() < 1e-6


def test_levels_that_are_known_for_certain_keep_the_total():
    """Of so many records no variance is left that a float could tell."""
    noisy = np.array([5e8, 5e8])
    found = posterior_of_levels(noisy, 2.0, 1e9, ordered=False)
    assert not found.variance.any()
    assert found.mean.tolist() == noisy.tolist()
