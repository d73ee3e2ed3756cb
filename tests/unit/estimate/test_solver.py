"""The solver on fields whose zero is known."""

import numpy as np

from synth.estimate.solver import Map, divided_by, solve


def test_solves_a_badly_scaled_linear_field() -> None:
    generator = np.random.default_rng(3)
    rotation = np.linalg.qr(generator.normal(size=(30, 30)))[0]
    matrix = rotation @ np.diag(np.logspace(0, 2, 30)) @ rotation.T
    target = generator.normal(size=30)
    solution = solve(
        lambda point: matrix @ (target - point),
        np.zeros(30),
        lambda _: divided_by(np.diag(matrix).copy()),
        max_iterations=500,
        tolerance=1e-14,
    )
    assert solution.stop == "promised gain below tolerance"
    assert np.allclose(solution.point, target, atol=1e-6)


def test_remembering_more_steps_takes_fewer() -> None:
    generator = np.random.default_rng(3)
    rotation = np.linalg.qr(generator.normal(size=(30, 30)))[0]
    matrix = rotation @ np.diag(np.logspace(0, 2, 30)) @ rotation.T

    def steps(memory: int) -> int:
        return solve(
            lambda point: matrix @ (1.0 - point),
            np.zeros(30),
            lambda _: divided_by(np.ones(30)),
            max_iterations=500,
            tolerance=1e-12,
            memory=memory,
        ).iterations

    assert steps(30) < 0.8 * steps(2)


def test_backtracks_where_a_full_step_overshoots() -> None:
    solution = solve(
        lambda point: 2.0 - np.exp(point),
        np.array([-2.0]),
        lambda point: divided_by(np.exp(point)),
        max_iterations=200,
        tolerance=1e-18,
    )
    assert abs(solution.point[0] - np.log(2.0)) < 1e-6


def test_a_step_much_too_far_is_found_out_in_few_trials() -> None:
    def trials(shortening: float) -> int:
        tried = []

        def field(point: np.ndarray) -> np.ndarray:
            tried.append(point[0])
            return 1e4 * (1.0 - point)

        solution = solve(
            field,
            np.zeros(1),
            lambda _: divided_by(np.ones(1)),
            max_iterations=20,
            tolerance=1e-12,
            shortening=shortening,
        )
        assert abs(solution.point[0] - 1.0) < 1e-6
        return len(tried)

    assert trials(0.25) < 0.75 * trials(0.5)


def test_a_curvature_is_renewed_as_often_as_asked() -> None:
    def renewed(refresh: int) -> int:
        asked = []

        def divider(point: np.ndarray) -> Map:
            asked.append(point)
            return divided_by(np.ones(1))

        solve(
            lambda point: 1.0 - np.exp(0.1 * point),
            np.full(1, -5.0),
            divider,
            max_iterations=5,
            tolerance=0.0,
            refresh=refresh,
        )
        return len(asked)

    assert (renewed(1), renewed(20)) == (5, 3)


def test_says_that_it_ran_out_of_iterations() -> None:
    solution = solve(
        lambda point: 1.0 - np.exp(point),
        np.array([-2.0]),
        lambda _: divided_by(np.ones(1)),
        max_iterations=2,
        tolerance=1e-12,
    )
    assert (solution.stop, solution.iterations) == ("iteration limit", 2)


def test_a_full_matrix_solves_a_linear_field_at_once() -> None:
    generator = np.random.default_rng(4)
    root = generator.normal(size=(12, 12))
    matrix = root @ root.T + np.eye(12)
    target = generator.normal(size=12)
    solution = solve(
        lambda point: matrix @ (target - point),
        np.zeros(12),
        lambda _: divided_by(matrix),
        max_iterations=5,
        tolerance=1e-12,
    )
    assert solution.iterations == 1
    assert np.allclose(solution.point, target)
