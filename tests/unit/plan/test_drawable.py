"""Noise too wide to be drawn is refused while planning, before anything is charged."""

from dataclasses import replace
from fractions import Fraction

import pytest
import yaml

from synth.config import load_config
from synth.errors import ConfigError
from synth.job import pipeline
from synth.noise.discrete_gaussian import LARGEST_SIGMA_SQUARED
from synth.noise.discrete_laplace import SMALLEST_RATE
from synth.plan import forecast, plan_events, plan_schedule
from synth.plan.weighing import require_drawable
from synth.privacy import OpenTableEvent, TableEvent

LESS = Fraction(999_999, 1_000_000)
RHO = 1 / (2 * LARGEST_SIGMA_SQUARED)


def gaussian(rho):
    return OpenTableEvent(1, mechanism="discrete-gaussian", rho=rho, sensitivity_l2_squared=1)


@pytest.fixture
def too_wide(pytestconfig, tmp_path, monkeypatch):
    """The adaptive configuration with a budget that no noise fits, and a source beside it.

    Hardly any plan reaches the limit of the product, so it is lowered.
    """
    monkeypatch.setattr("synth.noise.discrete_gaussian.LARGEST_SIGMA_SQUARED", Fraction(2**34))
    made = yaml.safe_load((pytestconfig.rootpath / "tests/configs/good/adaptive.yaml").read_text())
    made["privacy"] |= {"epsilon": "0.0001", "delta": "1e-9"}
    (tmp_path / "people.csv").write_text("sex,age,height\nFemale,30,1.6\n")
    path = tmp_path / "adaptive.yaml"
    path.write_text(yaml.safe_dump(made))
    return path


@pytest.mark.parametrize(
    ("widest", "wider"),
    [
        (gaussian(RHO), gaussian(RHO * LESS)),
        (OpenTableEvent(1, SMALLEST_RATE), OpenTableEvent(1, SMALLEST_RATE * LESS)),
        (OpenTableEvent(4, 4 * SMALLEST_RATE), OpenTableEvent(4, 3 * SMALLEST_RATE)),
    ],
    ids=["gaussian", "laplace", "laplace, several records"],
)
@pytest.mark.parametrize("named", [False, True])
def test_the_limit_is_that_of_the_noise(configure, widest, wider, named):
    config = configure((2, 3))
    events = [each.over(("a", "b"), 6) if named else each for each in (widest, wider)]
    require_drawable(config, events[:1])
    with pytest.raises(ConfigError) as caught:
        require_drawable(config, events)
    (problem,) = caught.value.problems
    assert problem.path == "privacy.epsilon"
    assert ("the table of a, b" if named else "a table to be chosen") in problem.found
    assert all((problem.expected, problem.why, problem.fix))


@pytest.mark.parametrize("planned", [plan_events, plan_schedule, forecast])
def test_every_plan_is_refused(too_wide, planned):
    config = load_config(too_wide)
    with pytest.raises(ConfigError, match="too wide to be drawn"):
        planned(config)
    enough = replace(config, privacy=replace(config.privacy, epsilon=Fraction(1)))
    planned(enough)


@pytest.mark.parametrize(
    "job", [pipeline.run, lambda path, log: pipeline.measure(load_config(path), log=log)]
)
def test_nothing_is_charged(too_wide, log, job):
    with pytest.raises(ConfigError) as caught:
        job(too_wide, log=log)
    assert caught.value.exit_code == 2
    assert not any("reserved" in line for line in log.lines)
    assert not (too_wide.parent / "state").exists()
    assert (too_wide.parent / "people.csv").exists()


def test_a_table_of_laplace_noise_names_all_records(configure):
    event = TableEvent((), 1, 1, SMALLEST_RATE * LESS)
    with pytest.raises(ConfigError, match="the table of all records"):
        require_drawable(configure((2, 3)), [event])
