"""Which way the estimate takes: a public rule of sizes, of the tables and of noisy counts."""

from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Margin
from synth.estimate import rows_are_drawn
from synth.measurements import MeasuredTable, Measurements
from synth.planning.costs import HELD_CELLS
from synth.privacy import TableEvent
from tests.unit.estimate.conftest import make_config


def told(config, *tables):
    measured = []
    for columns in tables:
        size = Margin(columns, (0,) * len(columns)).cells(config.universe)
        event = TableEvent(columns, size, 1, Fraction(1, 2))
        measured.append(MeasuredTable(event, np.zeros(size, dtype=np.int64), 8.0))
    return Measurements("t", "0" * 64, tuple(measured))


@pytest.mark.parametrize("shape", [(10,) * 6, (100, 100, 100)])
def test_rows_are_drawn_where_small_tables_of_many_cells_are_measured(shape):
    config = make_config(shape)
    names = config.universe.names
    assert config.universe.size > HELD_CELLS
    assert rows_are_drawn(told(config, names[:2], names[:1]), config)
    assert not rows_are_drawn(told(config, names[:2], names), config)


def test_rows_are_not_drawn_where_all_cells_are_held():
    config = make_config((10,) * 5)
    assert not rows_are_drawn(told(config, config.universe.names[:2]), config)
