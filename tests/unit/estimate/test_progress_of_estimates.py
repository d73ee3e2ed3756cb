"""Large estimates say how far they are: iterations of a fit, cells of a pass, points drawn."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.estimate.blocks.estimate import estimate_blocks
from synth.estimate.listed.estimate import estimate_listed
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent
from synth.progress import Stage, Step, advance, stage, watched_by

Make = Callable[..., Any]
SHAPE = (3, 4, 2, 5, 3)
CELLS = int(np.prod(SHAPE))


class Recorder:
    """Every step that was entered, with the figures that it had."""

    def __init__(self) -> None:
        self.steps: list[tuple[Step | None, list[tuple[int, int, str]]]] = []

    def entered(self, step: Step | None) -> None:
        self.steps.append((step, []))

    def advanced(self, done: int, total: int, unit: str) -> None:
        assert 0 <= done <= total
        self.steps[-1][1].append((done, total, unit))

    def of(self, part: int, parts: int) -> list[tuple[int, int, str]]:
        """The figures of one part, over all times that it was entered."""
        wanted = Step(Stage.ESTIMATION, part, parts)
        return [figures for step, told in self.steps if step == wanted for figures in told]


@contextmanager
def recorded(name: Stage) -> Any:
    recorder = Recorder()
    with watched_by(recorder), stage(name):
        yield recorder
    for _, told in recorder.steps:
        assert len({unit for *_, unit in told}) <= 1


def test_fits_of_a_large_universe_tell_iterations_and_passes_cells(
    make_config: Make, make_measurements: Make, draw_table: Make, draw_noise: Make
) -> None:
    noisy = draw_table(SHAPE, 3000, 1) + draw_noise(CELLS, decay=1.0, seed=2)
    measurements = make_measurements(make_config(SHAPE), noisy)
    with recorded(Stage.ESTIMATION) as heard:
        found = estimate_blocks(measurements, make_config(SHAPE), block_cells=7)
    for part in (1, 2, 3, 4):
        figures = heard.of(part, 4)
        assert figures[0][0] == 0
        assert {unit for *_, unit in figures} == {"iterations"}
    passes = heard.of(1, 1)  # of the whole stage: what is done before and after the fits
    assert (CELLS, CELLS, "cells") in passes
    with recorded(Stage.ROUNDING) as heard:
        found.round(1)
    [(_, told)] = [step for step in heard.steps if step[0] is not None]
    assert [done for done, *_ in told] == sorted({done for done, *_ in told})
    assert told[-1] == (CELLS, CELLS, "cells")
    assert len(told) > 3


def test_a_universe_that_cannot_be_held_tells_iterations_and_drawn_and_kept_cells(
    make_config: Make,
) -> None:
    universe = Universe(
        tuple(Attribute(f"a{i}", "categorical", levels=tuple("abcdefghij")) for i in range(12))
    )
    generator = np.random.default_rng(1)
    tables = []
    for first, second in zip(universe.names, universe.names[1:], strict=False):
        event = TableEvent((first, second), 100, 1, Fraction(1, 2))
        tables.append(MeasuredTable(event, generator.integers(0, 60, 100), 8.0))
    config = replace(make_config((2,)), universe=universe)
    with recorded(Stage.ESTIMATION) as heard:
        estimate_listed(Measurements("t", "0", tuple(tables)), config, seed=1)
    fitted = heard.of(1, 3)
    assert fitted[-1][0] == fitted[-1][1] > 100
    assert {unit for *_, unit in fitted} == {"iterations"}
    drawn, kept = heard.of(2, 3), heard.of(3, 3)
    assert drawn[-1][0] == drawn[-1][1] > 1_000
    assert kept[-1][0] == kept[-1][1] > 1_000
    assert [done for done, *_ in kept] == sorted({done for done, *_ in kept})
    assert {unit for *_, unit in drawn + kept} == {"cells"}


@pytest.mark.parametrize("names", [("cells", "rows"), ("iterations", "cells")])
def test_a_step_keeps_the_unit_of_its_first_figures(names: tuple[Any, Any]) -> None:
    with recorded(Stage.ESTIMATION) as heard:
        for done in (1, 2):
            for name in names:
                advance(done, 2, name)
        with stage(Stage.ESTIMATION, part=2, parts=2):
            advance(1, 3, names[1])
        advance(2, 2, names[1])
        advance(2, 2, names[0])
    units = [[unit for *_, unit in told] for _, told in heard.steps]
    assert units == [[names[0]] * 2, [names[1]], [names[0]], []]
