"""Weighted tables: their rows in data frames, and the sums over some of their columns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth.config import load_config
from synth.domain import Attribute, Universe
from synth.reading.weighted_table import DTYPES, WeightedTable
from synth.release.rows.columns import published_columns

GOOD = Path(__file__).parents[2] / "configs" / "good"


def table_of(universe: Universe, cells: int) -> WeightedTable:
    generator = np.random.default_rng(1)
    codes = np.stack([generator.integers(0, size, cells) for size in universe.shape])
    return WeightedTable(universe, codes, generator.integers(0, 9, (3, cells)).astype(float))


def test_rows_have_the_published_types_and_a_number_for_every_bin():
    universe = load_config(GOOD / "types.yaml").universe
    table = table_of(universe, 400)
    frame = table.labelled()
    kinds = {"integer", "boolean", "date", "text"}
    columns = published_columns(universe, "midpoint")
    assert kinds <= {column.published_type for column in columns}
    for column, codes in zip(columns, table.codes, strict=True):
        attribute = column.attribute
        values = frame[column.name]
        assert values.isna().tolist() == [code == attribute.missing_code for code in codes]
        expected = DTYPES[column.published_type]
        if column.published_type == "number":
            assert str(values.dtype) in ("Int64", "Float64"), "whole middles are whole numbers"
        else:
            assert str(values.dtype) == expected
        known = [
            (code, value) for code, value in zip(codes, values, strict=True) if pd.notna(value)
        ]
        for code, value in known:
            if column.is_numeric:
                assert column.first[code] / 10**column.decimals == value
            elif column.published_type == "boolean":
                assert str(value).lower() == column.texts[code]
            elif column.published_type == "text":
                assert value == column.texts[code]
            else:
                assert value.isoformat().startswith(column.texts[code].replace(" ", "T"))


@pytest.mark.parametrize("sizes", [(3, 2, 4), (2,) * 70])
def test_a_table_over_some_columns_has_the_sums_of_the_others(sizes):
    """Of seventy columns the cells have no number of 64 bits."""
    universe = Universe(
        tuple(
            Attribute(f"c{place}", "categorical", tuple(map(str, range(size))))
            for place, size in enumerate(sizes)
        )
    )
    table = table_of(universe, 300)
    names = universe.names[: len(sizes) - 1] if len(sizes) > 3 else ("c2", "c0")
    found = table.reduced(names)
    assert found.universe.names == tuple(name for name in universe.names if name in names)
    axes = [universe.names.index(name) for name in found.universe.names]
    sums: dict[tuple[int, ...], np.ndarray] = {}
    for codes, weights in zip(table.codes[axes].T.tolist(), table.weights.T, strict=True):
        sums[tuple(codes)] = sums.get(tuple(codes), 0) + weights
    rows = {tuple(c): w for c, w in zip(found.codes.T.tolist(), found.weights.T, strict=True)}
    assert rows.keys() == sums.keys()
    assert all(rows[key].tolist() == sums[key].tolist() for key in sums)


def test_a_table_over_no_columns_has_one_row():
    found = table_of(Universe((Attribute("a", "categorical", ("x", "y")),)), 5).reduced([])
    assert found.weights.shape == (3, 1)
