"""Which way the estimate takes: a public rule of sizes, of the tables and of noisy counts."""

from fractions import Fraction

import numpy as np
import pytest

from synth.estimate import rows_are_drawn
from synth.measurements import MeasuredTable, Measurements
from synth.planning.costs import HELD_CELLS
from synth.privacy import TableEvent
from tests.unit.estimate.conftest import make_config

TEN_TO_THE_SIX = (10,) * 6


def told(config, records, *, cells=100, epsilon="1/2"):
    """Tables of two and of one column; the first knows the number of records less well."""
    names = config.universe.names
    tables = []
    for columns, size, total in ((names[:2], cells, 7), (names[:1], 10, records)):
        event = TableEvent(columns, size, 1, Fraction(epsilon))
        counts = np.full(size, total // size, dtype=np.int64)
        tables.append(MeasuredTable(event, counts, 8.0))
    return Measurements("t", "0" * 64, tuple(tables))


def test_the_number_of_records_is_that_of_the_table_with_the_least_noise():
    config = make_config(TEN_TO_THE_SIX)
    assert told(config, 1_000).noisy_records == 1_000
    assert told(config, -50).noisy_records == -50
    assert Measurements("t", "0" * 64, ()).noisy_records is None


@pytest.mark.parametrize(
    ("records", "drawn"), [(-50, True), (1_000, True), (49_990, True), (50_000, False)]
)
def test_rows_are_drawn_where_most_cells_are_empty(records, drawn):
    config = make_config(TEN_TO_THE_SIX)
    assert config.universe.size > HELD_CELLS
    assert rows_are_drawn(told(config, records), config) is drawn


def test_what_is_held_and_what_has_few_columns_is_not_drawn():
    for shape in ((10,) * 5, (100, 100, 100)):
        config = make_config(shape)
        assert not rows_are_drawn(told(config, 10, cells=shape[0] * shape[1]), config)
