"""Data fission: what both halves of noisy tables know, and which severity they speak for."""

from itertools import combinations

import numpy as np
import pytest

from synth.estimate.listed import class_fit
from synth.estimate.listed.class_fit import fit_classes
from synth.estimate.listed.classes import ONE
from synth.estimate.listed.fission import JUDGED_VARIANCE, SEVERITIES, best_severity, halves
from synth.estimate.listed.penalty import PLAIN
from synth.estimate.listed.tables import SumTable

STRICT, LENIENT = SEVERITIES[1:]


def test_both_halves_hold_the_table_and_their_noise_has_nothing_in_common(make):
    universe = make.universe(60, 50)
    truth = [np.repeat(np.arange(60), 50), np.tile(np.arange(50), 60)]
    table = SumTable.of(make.sums(universe, truth, (0, 1), epsilon="1/20"), universe)
    (one,), (other,) = halves([table], 0)
    assert (4 * one.values + other.values) / 5 == pytest.approx(table.values)
    assert one.variance == pytest.approx(1.25 * table.variance)
    assert other.variance == pytest.approx(JUDGED_VARIANCE * table.variance)
    noise, more = one.values - 1, other.values - 1
    assert np.mean(noise**2) == pytest.approx(one.variance, rel=0.15)
    assert np.mean(more**2) == pytest.approx(other.variance, rel=0.15)
    common = np.mean(noise * more) / np.sqrt(one.variance * other.variance)
    assert abs(common) < 4 / np.sqrt(3000)
    (again,), _ = halves([table], 0)
    assert (again.values == one.values).all()
    (another,), _ = halves([table], 1)
    assert (another.values != one.values).any()


@pytest.mark.parametrize(
    ("off", "best"),
    [
        ({PLAIN: 1.2, STRICT: 1.1, LENIENT: 1.0}, LENIENT),
        ({PLAIN: 1.2, STRICT: 1.1, LENIENT: 1.095}, STRICT),
        ({PLAIN: 1.2, STRICT: 1.3, LENIENT: 1.1}, LENIENT),
        ({PLAIN: 1.2, STRICT: 1.196, LENIENT: 1.193}, PLAIN),
        ({PLAIN: 1.1, STRICT: 1.2, LENIENT: 1.3}, PLAIN),
    ],
)
def test_a_more_lenient_severity_has_to_be_clearly_better(off, best):
    assert best_severity(lambda severity, _: off[severity], 10_000, SEVERITIES) == best
    if best == LENIENT:
        found = best_severity(lambda severity, _: off[severity], 10_000, SEVERITIES[:2])
        assert found == (STRICT if off[STRICT] < off[PLAIN] else PLAIN)


def test_nothing_else_is_tried_where_there_is_nothing_to_gain():
    tried = []

    def misfit(severity, _):
        tried.append(severity)
        return 0.97

    assert best_severity(misfit, 100_000, SEVERITIES) == PLAIN
    assert tried == [PLAIN]


def test_one_trial_decides_only_where_it_has_much_to_tell():
    off = {(PLAIN, 0): 1.2, (PLAIN, 1): 1.0, (STRICT, 0): 1.3, (STRICT, 1): 1.3}
    off |= {(LENIENT, 0): 1.1, (LENIENT, 1): 1.12}
    assert best_severity(lambda *both: off[both], 100, SEVERITIES) == PLAIN
    assert best_severity(lambda *both: off[both], 10_000, SEVERITIES) == LENIENT


def distance_of_pair(model, columns, sizes, axes):
    cells = np.ravel_multi_index(
        tuple(columns[axis] for axis in axes), tuple(sizes[axis] for axis in axes)
    )
    truth = np.bincount(cells, minlength=model.table(axes).size) / len(cells)
    return 0.5 * float(np.abs(model.table(axes) - truth).sum())


def test_what_columns_tell_for_certain_is_learned_beside_what_is_weak(make):
    """Two columns that are nearly the same, five that depend on nothing."""
    sizes = (10, 10, 6, 6, 6, 6, 6)
    generator = np.random.default_rng(5)
    columns = [generator.integers(0, size, 20_000) for size in sizes]
    same = generator.random(20_000) < 0.95
    columns[1] = np.where(same, columns[0], columns[1])
    universe = make.universe(*sizes)
    pairs = list(combinations(range(7), 2))
    tables = [
        SumTable.of(make.sums(universe, columns, axes, epsilon="1/80"), universe) for axes in pairs
    ]
    model = fit_classes(tables, universe, 20_000.0)
    assert model.severity in (STRICT, LENIENT)
    plain = fit_classes(tables, universe, 20_000.0, severities=SEVERITIES[:1])
    assert plain.severity == PLAIN
    mine, before = (distance_of_pair(each, columns, sizes, (0, 1)) for each in (model, plain))
    assert mine < 0.8 * before
    others = [axes for axes in pairs if axes != (0, 1)]
    mean, mean_before = (
        np.mean([distance_of_pair(each, columns, sizes, axes) for axes in others])
        for each in (model, plain)
    )
    assert mean < 1.1 * mean_before
    again = fit_classes(tables, universe, 20_000.0, start=model)
    assert again.severity == model.severity


def test_where_a_pair_was_not_measured_or_cells_are_many_the_plain_severity_stays(
    make, monkeypatch
):
    sizes = (8, 8, 5)
    generator = np.random.default_rng(6)
    own = generator.integers(0, 8, 20_000)
    columns = [own, own, generator.integers(0, 5, 20_000)]
    universe = make.universe(*sizes)
    tables = [
        SumTable.of(make.sums(universe, columns, axes, epsilon="1/80"), universe)
        for axes in ((0, 1), (0, 2), (1, 2))
    ]
    assert fit_classes(tables, universe, 20_000.0).severity != PLAIN
    found = fit_classes(tables[:2], universe, 20_000.0)
    assert found.severity == PLAIN
    assert found.shares.sum() == ONE
    cells = 64 + 40 + 40
    monkeypatch.setattr(class_fit, "_MOST_JUDGED", cells)
    assert fit_classes(tables, universe, 20_000.0).severity != PLAIN
    monkeypatch.setattr(class_fit, "_MOST_JUDGED", cells - 1)
    assert fit_classes(tables, universe, 20_000.0).severity == PLAIN
