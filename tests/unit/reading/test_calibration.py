"""The calibration: its basis, and that it finds errors that redraws do not show."""

import numpy as np
import pytest

from synth.reading.calibration import Evidence, contrasts, from_contrasts, orders

SHAPE = (3, 4, 2, 5, 6)


def test_the_basis_is_orthonormal_and_sorted_by_order():
    generator = np.random.default_rng(1)
    table = generator.normal(size=SHAPE)
    found = contrasts(table)
    assert (found**2).sum() == pytest.approx((table**2).sum())
    assert from_contrasts(found) == pytest.approx(table)
    one_way = generator.normal(size=(1, 4, 1, 1, 1)) + np.zeros(SHAPE)
    kept = np.abs(contrasts(one_way)) > 1e-9
    assert set(orders(SHAPE)[kept]) == {0, 1}
    assert orders(SHAPE).max() == 5


@pytest.mark.parametrize("hidden", [0.0, 2.0])
def test_errors_that_redraws_hide_are_found(hidden):
    """Published = true + shown + hidden errors; redraws have the shown ones only, at order <= 2."""
    generator = np.random.default_rng(2)
    low = orders(SHAPE) <= 2

    def errors(size):
        return from_contrasts(generator.normal(size=SHAPE) * low * size)

    truth = generator.normal(size=SHAPE) * 10
    noisy = truth + generator.normal(size=SHAPE)
    evidence = Evidence(noisy, truth + errors(1.0) + errors(hidden), variance=1.0)
    for _ in range(20):
        evidence.add(errors(1.0), generator.normal(size=SHAPE))
    found = evidence.calibration()
    assert min(found.ratios) >= 1.0
    # the mean square is 1 + hidden^2 = 5 of the shown; 119 coefficients of order 1 and 2 show it
    # to within 5 sqrt(2 / 119) + sqrt(2 / 119) = 0.8
    assert found.ratios[2] == pytest.approx(1 + hidden**2, abs=2.4)
    enlarged = found.enlarged(errors(1.0))
    assert np.abs(contrasts(enlarged.astype(float))[~low]).max() < 1e-3
