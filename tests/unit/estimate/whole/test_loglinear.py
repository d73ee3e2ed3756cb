"""The fit against a slow solver that knows nothing of transforms, and its symmetries."""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.optimize import root

from synth.estimate import loglinear
from synth.estimate.interactions import Interactions
from synth.estimate.loglinear import Schedule
from synth.estimate.posterior import CellPosterior
from synth.estimate.whole import model as whole_model
from synth.estimate.whole.model import WholeModel

Draw = Callable[..., NDArray[np.int64]]
VARIANCE = 0.5 / np.sinh(0.5) ** 2


@pytest.fixture(name="exact")
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglinear, "_TOLERANCE", 1e-16)
    stages = [(order, 2000) for order in range(4)]
    monkeypatch.setattr(whole_model, "_STAGES", Schedule(stages, [2000, 2000]))


def make_model(
    shape: tuple[int, ...],
    noisy: NDArray[np.int64],
    possible: NDArray[np.bool_] | None = None,
    *,
    decay: float = 1.0,
) -> WholeModel:
    allowed = np.ones(noisy.size, dtype=bool) if possible is None else possible
    return WholeModel(
        Interactions(shape),
        CellPosterior(noisy, decay=decay),
        None,
        allowed,
        noise_variance=VARIANCE,
        base=0.3,
        discount=0.3,
    )


def fitted_counts(shape: tuple[int, ...], noisy: NDArray[np.int64]) -> NDArray[np.float64]:
    model = make_model(shape, noisy.reshape(-1))
    return model.expected(model.fit().discounted)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("shape", [(3, 2, 3), (2, 2, 2, 2), (12,)])
def test_fit_is_the_solution_of_a_slow_solver(
    shape: tuple[int, ...], draw_table: Draw, draw_noise: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_model, "_STAGES", replace(whole_model._STAGES, rounds=[]))
    size = int(np.prod(shape))
    noisy = draw_table(shape, 300, 4) + draw_noise(size, decay=1.0, seed=5)
    possible = np.ones(size, dtype=bool)
    possible[size // 2] = False
    fitted = make_model(shape, noisy, possible).fit()

    basis = reduce(np.kron, [helmert(n, full=True) for n in shape])
    orders = np.zeros(size, dtype=int)
    for number, codes in enumerate(np.ndindex(*shape)):
        orders[number] = sum(code > 0 for code in codes)
    dimension = np.array(
        [
            np.prod([n - 1 for n, code in zip(shape, codes, strict=True) if code > 0])
            for codes in np.ndindex(*shape)
        ]
    )
    spread = np.array(
        [dict(enumerate(loglinear._FIRST_SPREAD)).get(order, 0.0) for order in orders]
    )
    kept = np.flatnonzero(orders <= 3)
    unit = (spread * np.sqrt(size / dimension))[kept]
    posterior = CellPosterior(noisy, decay=1.0)

    def field(point: NDArray[np.float64]) -> NDArray[np.float64]:
        log_mean = 0.3 + basis[kept].T @ (unit * point)
        pull = posterior.mean(log_mean) - np.exp(log_mean)
        return unit * (basis[kept] @ (pull * possible)) - point

    start = (basis[kept] @ (fitted.log_mean - 0.3)) / unit
    assert np.abs(field(start)).max() < 1e-5
    slow = root(field, start + 0.01, method="hybr", tol=1e-12)
    assert np.allclose(basis[kept].T @ (unit * slow.x) + 0.3, fitted.log_mean, atol=1e-4)


@pytest.mark.usefixtures("exact")
def test_order_of_attributes_and_codes_does_not_matter(draw_table: Draw, draw_noise: Draw) -> None:
    shape = (3, 4, 2)
    noisy = (draw_table(shape, 800, 6) + draw_noise(24, decay=1.0, seed=7)).reshape(shape)
    plain = fitted_counts(shape, noisy).reshape(shape)
    turned = noisy.transpose(2, 0, 1)[:, [2, 0, 1], :][:, :, [3, 1, 0, 2]]
    moved = fitted_counts(turned.shape, turned)
    wanted = plain.transpose(2, 0, 1)[:, [2, 0, 1], :][:, :, [3, 1, 0, 2]]
    assert np.allclose(moved.reshape(turned.shape), wanted, atol=1e-3)


def test_effects_that_the_noise_cannot_show_are_shrunk_by_the_evidence(draw_noise: Draw) -> None:
    shape = (4, 4, 4)
    independent = np.multiply.outer(np.multiply.outer([8, 4, 2, 1], [4, 3, 2, 1]), [1, 2, 2, 1])
    noisy = independent.reshape(-1) * 6 + draw_noise(64, decay=1.0, seed=8)
    model = make_model(shape, noisy)
    theta_start = np.zeros(64)
    spread = {int(s): 1.0 for s in np.unique(model.interactions.component)}
    theta = model._solve(theta_start, model.deviations([spread], None), 200, "all")
    [renewed] = model.weigh_evidence(theta, [spread])
    mains = [
        value
        for subset, value in renewed.items()
        if model.interactions.component_order(subset) == 1
    ]
    triples = [
        value
        for subset, value in renewed.items()
        if model.interactions.component_order(subset) == 3
    ]
    assert min(mains) > 2 * max(triples)


def test_total_of_the_discounted_means_stays(draw_table: Draw, draw_noise: Draw) -> None:
    shape = (5, 4, 3)
    noisy = draw_table(shape, 200, 9) + draw_noise(60, decay=1.0, seed=10)
    model = make_model(shape, noisy)
    spread = {int(s): 0.5 for s in np.unique(model.interactions.component)}
    theta = model._solve(np.zeros(60), model.deviations([spread], None), 50, "all")
    model.weigh_evidence(theta, [spread])
    log_mean = model._log_mean(theta)
    lowered = np.exp(log_mean - model._discount)
    assert lowered.sum() == pytest.approx(np.exp(log_mean).sum())
    assert np.ptp(model._discount) > 0.0


@pytest.mark.parametrize(("decay", "rounds"), [(1.0, 2), (0.101, 2), (0.1, 1), (0.01, 1)])
def test_steps_say_what_was_done(draw_table: Draw, decay: float, rounds: int) -> None:
    model = make_model((3, 4, 2), draw_table((3, 4, 2), 100, 11), decay=decay)
    steps = model.fit().steps
    assert [step["coefficients"] for step in steps] == [7, 18, 24, *[24] * rounds]
    assert all(step["stop"] for step in steps)
